"""A long log opened by its version checksum: which files are read, and that the log decides."""

import json

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable
from deltaarrow.errors import CorruptLogError
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64())])
LONG = 40


@pytest.fixture
def reads(monkeypatch):
    """The base names of what is read from local stores, but for the hint."""
    seen = []
    cls = type(open_store("/"))
    read = cls.read

    def reading(self, name):
        if not name.endswith("_last_checkpoint"):
            seen.append(name.rpartition("/")[2])
        return read(self, name)

    monkeypatch.setattr(cls, "read", reading)
    return seen


def build(path, versions=LONG):
    table = TableBuilder(path).protocol(1, 7, writer_features=["domainMetadata"]).metadata(SCHEMA).commit()
    table.commit([table.txn("etl", 7), table.domain("d", "{}"), table.add_file(1)])
    while table.version < versions:
        table.commit([table.add_file(1)])
    return table


def checksum(table, version=None, **fields):
    """Write the checksum of a version as Spark does, but for `fields`; those that are None are left out."""
    version = table.version if version is None else version
    files = table.live_files(version)
    by_key = {key: body for line in table.commits[0] for key, body in line.items()}
    said = {
        "tableSizeBytes": sum(add["size"] for add in files.values()),
        "numFiles": len(files),
        "numMetadata": 1,
        "numProtocol": 1,
        "protocol": by_key["protocol"],
        "metadata": by_key["metaData"],
    } | fields
    text = json.dumps({key: value for key, value in said.items() if value is not None})
    (table.log / f"{version:020d}.crc").write_text(text)
    return f"{version:020d}.crc"


def test_a_long_log_is_opened_by_its_checksum_alone(tmp_path, reads):
    table = build(tmp_path)
    name = checksum(table)
    opened = DeltaTable(tmp_path)
    assert opened.schema().to_arrow() == SCHEMA
    assert opened.protocol().min_writer_version == 7
    assert opened.metadata().id == "5fba94ed-9794-4965-ba6e-6ee3c0d22af9"
    assert reads == [name]


def test_files_transactions_and_domains_are_those_of_the_log(tmp_path, reads):
    table = build(tmp_path)
    checksum(table)
    opened = DeltaTable(tmp_path)
    assert len(opened.file_uris()) == LONG
    assert opened.transaction_version("etl") == 7
    assert list(opened.snapshot.domains) == ["d"]
    assert len(reads) == 1 + table.version + 1  # nothing twice


def test_a_short_log_is_replayed(tmp_path, reads):
    table = build(tmp_path, 5)
    name = checksum(table)
    DeltaTable(tmp_path)
    assert name not in reads
    assert len(reads) == 6


def test_a_checksum_of_another_version_is_not_read(tmp_path, reads):
    table = build(tmp_path)
    checksum(table, LONG - 1)
    assert DeltaTable(tmp_path).version() == LONG
    assert not [name for name in reads if name.endswith(".crc")]
    reads.clear()
    DeltaTable(tmp_path, version=LONG - 1)
    assert reads == [f"{LONG - 1:020d}.crc"]


@pytest.mark.parametrize(
    "fields",
    [
        {"protocol": None},
        {"metadata": None},
        {"metadata": {"id": 7}},
        {"protocol": {"minReaderVersion": "x"}},
        {"numProtocol": 0},
        {"numMetadata": 2},
        {"numFiles": None},
    ],
    ids=str,
)
def test_without_protocol_and_metadata_it_is_no_shortcut(tmp_path, fields):
    table = build(tmp_path)
    checksum(table, **fields)
    opened = DeltaTable(tmp_path)
    assert opened.schema().to_arrow() == SCHEMA
    assert opened.detail()["numFiles"] == LONG


@pytest.mark.parametrize("text", [b"", b"torn {", b"[]", b"\xff\xfe", b"null"])
def test_a_garbled_checksum_falls_back_to_the_log(tmp_path, text):
    table = build(tmp_path)
    (table.log / checksum(table)).write_bytes(text)
    opened = DeltaTable(tmp_path)
    assert opened.detail()["numFiles"] == LONG
    assert opened.count() == LONG


def test_a_checksum_that_is_longer_than_the_log_is_not_worth_reading(tmp_path, reads):
    table = build(tmp_path)
    name = checksum(table, padding="x" * 100_000)
    DeltaTable(tmp_path)
    assert name not in reads


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, "protocol"),
        ({"metadata": None}, None),
    ],
)
def test_a_checksum_that_the_log_contradicts_is_found_out_before_a_row_is_read(tmp_path, fields, what):
    table = build(tmp_path)
    name = checksum(table, **fields)
    opened = DeltaTable(tmp_path)
    if what is None:
        assert opened.count() == LONG
        return
    with pytest.raises(CorruptLogError, match=f"{name} says another {what}"):
        opened.count()


def test_a_checksum_with_another_schema_is_found_out(tmp_path):
    table = build(tmp_path)
    (metadata,) = (line["metaData"] for line in table.commits[0] if "metaData" in line)
    other = metadata["schemaString"].replace("long", "integer")
    checksum(table, metadata=metadata | {"schemaString": other})
    with pytest.raises(CorruptLogError, match="another schema"):
        DeltaTable(tmp_path).to_pyarrow_table()
    spaced = json.dumps(json.loads(metadata["schemaString"]), indent=2)
    checksum(table, metadata=metadata | {"schemaString": spaced})
    assert DeltaTable(tmp_path).count() == LONG


def test_verify_reports_what_is_not_so(tmp_path):
    table = build(tmp_path)
    checksum(table, protocol={"minReaderVersion": 1, "minWriterVersion": 2}, numFiles=1)
    report = DeltaTable(tmp_path).verify()
    said = " ".join(map(str, report.errors))
    assert "numFiles is 1" in said
    assert "minWriterVersion" in said or "writer" in said


def test_details_are_answered_by_the_checksum(tmp_path, reads):
    table = build(tmp_path, 5)
    table.checkpoint()
    name = checksum(table)
    opened = DeltaTable(tmp_path)
    details = opened.detail()
    assert (details["numFiles"], details["sizeInBytes"]) == (5, 5000)
    assert name in reads


def test_details_of_a_long_log_need_no_commit(tmp_path, reads):
    name = checksum(build(tmp_path))
    details = DeltaTable(tmp_path).detail()
    assert (details["numFiles"], details["sizeInBytes"]) == (LONG, 1000 * LONG)
    assert set(reads) == {name}


@pytest.mark.parametrize(
    "fields",
    [
        {"numFiles": -1},
        {"tableSizeBytes": -5},
        {"fileSizeHistogram": {"sortedBinBoundaries": [0], "fileCounts": [4], "totalBytes": [5000]}},
    ],
    ids=str,
)
def test_details_are_not_those_of_a_checksum_that_contradicts_itself(tmp_path, fields):
    table = build(tmp_path, 5)
    table.checkpoint()
    checksum(table, **fields)
    details = DeltaTable(tmp_path).detail()
    assert (details["numFiles"], details["sizeInBytes"]) == (5, 5000)


# --- held against a checkpoint ---------------------------------------------------------------------

DAMAGED = [
    ({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, "another protocol"),
    ({"metadata": {"id": "other", "schemaString": "{}"}}, "another table id"),
]
MISCOUNTED = [({"numFiles": 4}, "4 files, but there are 5"), ({"tableSizeBytes": 7}, "7 bytes, but there")]


@pytest.mark.parametrize(("fields", "what"), DAMAGED, ids=["protocol", "metadata"])
def test_a_checkpoint_that_says_otherwise_than_the_checksum_is_refused(tmp_path, fields, what):
    table = build(tmp_path, 5)
    table.checkpoint(4)
    name = checksum(table, **fields)
    with pytest.raises(CorruptLogError, match=f"{name} says {what}"):
        DeltaTable(tmp_path)


@pytest.mark.parametrize(("fields", "what"), MISCOUNTED, ids=["files", "bytes"])
def test_files_of_a_checkpoint_that_the_checksum_counts_otherwise_are_refused(tmp_path, fields, what):
    table = build(tmp_path, 5)
    table.checkpoint(4)
    name = checksum(table, **fields)
    opened = DeltaTable(tmp_path)
    with pytest.raises(CorruptLogError, match=f"{name} says {what}"):
        opened.to_pyarrow_table()
    assert what.split(",")[0].split()[0] in " ".join(map(str, opened.verify().errors))
    (table.log / name).unlink()
    assert len(DeltaTable(tmp_path).file_uris()) == 5


@pytest.mark.parametrize("kind", ["classic", "v2-parquet"])
@pytest.mark.parametrize(("fields", "what"), MISCOUNTED, ids=["files", "bytes"])
def test_no_checkpoint_is_written_of_files_that_the_checksum_counts_otherwise(tmp_path, fields, what, kind):
    table = TableBuilder(tmp_path).features("v2Checkpoint")
    policy = {} if kind == "classic" else {"delta.checkpointPolicy": "v2"}
    table.metadata(SCHEMA, configuration=policy).commit()
    for _ in range(5):
        table.commit([table.add_file(1)])
    table.checkpoint(4, kind, sidecars=0 if kind == "classic" else 1)
    name = checksum(table, **fields)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(CorruptLogError, match=f"{name} says {what}"):
        DeltaTable(tmp_path).create_checkpoint()
    assert sorted(tmp_path.rglob("*")) == before
    checksum(table)
    DeltaTable(tmp_path).create_checkpoint()
    assert len(DeltaTable(tmp_path).file_uris()) == 5


def test_a_checksum_is_read_once_to_open_and_list_a_checkpoint(tmp_path, reads):
    table = build(tmp_path, 5)
    table.checkpoint(4)
    name = checksum(table)
    opened = DeltaTable(tmp_path)
    assert len(opened.file_uris()) == 5
    assert opened.detail()["numFiles"] == 5
    assert reads.count(name) == 1


def test_an_update_reads_no_checksum_once_the_files_are_known(tmp_path, reads):
    table = build(tmp_path)
    checksum(table)
    snapshot = Snapshot.load(open_store(tmp_path))
    snapshot.files()
    table.commit([table.add_file(1)])
    checksum(table)
    reads.clear()
    newer = snapshot.update()
    assert newer.files().num_rows == LONG + 1
    assert reads == [f"{LONG + 1:020d}.json"]


def test_an_update_stays_lazy_until_files_are_asked_for(tmp_path, reads):
    table = build(tmp_path)
    checksum(table)
    snapshot = Snapshot.load(open_store(tmp_path))
    table.commit([table.add_file(1)])
    name = checksum(table)
    reads.clear()
    newer = snapshot.update()
    assert newer.version == LONG + 1
    assert reads == [name]


def test_a_checksum_that_comes_later_makes_no_newer_version(tmp_path):
    table = build(tmp_path)
    snapshot = Snapshot.load(open_store(tmp_path))
    checksum(table)
    assert snapshot.update() is snapshot
