"""Version checksums of commits: each equals a full count, whatever came before."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pyroaring import BitMap64

from deltaarrow import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltaarrow.actions import AddFile, RemoveFile
from deltaarrow.log.checksums import VersionChecksum, parse_version_checksum
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from tests.support.examples import examples
from tests.support.tables import TableBuilder

ROWS = pa.table({"id": pa.array(range(10), pa.int64()), "day": ["a", "b"] * 5})
VECTORS = {"delta.enableDeletionVectors": "true"}


def written(path, version: int) -> VersionChecksum:
    found = parse_version_checksum((path / "_delta_log" / f"{version:020d}.crc").read_bytes())
    assert found is not None
    return found


def counted(path, version: int) -> dict:
    """What the checksum of a version has to say, by the log alone."""
    snapshot = Snapshot.load(open_store(path), version).replayed()
    files = snapshot.files(columns=["size", "deletion_vector"]).to_pylist()
    sizes = [file["size"] for file in files]
    deleted = [(file["deletion_vector"] or {"cardinality": 0})["cardinality"] for file in files]
    tells = "deletionVectors" in (snapshot.protocol.writer_features or ())
    edges = [0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 2**31 - 1, 2**63 - 1]
    return {
        "table_size_bytes": sum(sizes),
        "num_files": len(sizes),
        "num_metadata": 1,
        "num_protocol": 1,
        "metadata": snapshot.metadata,
        "protocol": snapshot.protocol,
        "transactions": snapshot.transactions,
        "domains": snapshot.domains,
        "num_deleted_records": sum(deleted) if tells else None,
        "num_deletion_vectors": sum(f["deletion_vector"] is not None for f in files) if tells else None,
        "deleted_record_counts": tuple(np.histogram(deleted, edges)[0].tolist()) if tells else None,
        "sizes": sorted(sizes),
    }


def ensure_exact(path, version: int) -> None:
    said, expected = written(path, version), counted(path, version)
    sizes = expected.pop("sizes")
    assert {name: getattr(said, name) for name in expected} == expected
    histogram = said.file_size_histogram
    assert histogram is not None
    edges = [*histogram.sorted_bin_boundaries, 2**63 - 1]
    assert histogram.file_counts == tuple(np.histogram(sizes, edges)[0].tolist())
    assert sum(histogram.total_bytes) == sum(sizes)


# --- what happens to a table -----------------------------------------------------------------------


def append(path, number):
    write_deltalake(path, ROWS.slice(0, 1 + number % 10), mode="append")


def overwrite(path, number):
    write_deltalake(path, ROWS.slice(number % 9), mode="overwrite")


def overwrite_some(path, number):
    write_deltalake(path, ROWS.filter(pc.equal(ROWS["day"], "a")), mode="overwrite", predicate="day = 'a'")


def add_column(path, number):
    rows = ROWS.append_column(f"c{number}", pa.array([number] * 10, pa.int64()))
    write_deltalake(path, rows, mode="append", schema_mode="merge")


def delete_rows(path, number):
    with DeltaTable(path).transaction("DELETE") as transaction:
        files = transaction.read_files().to_pylist(maps_as_pydicts="strict")
        for file in files[:2]:
            count = json.loads(file["stats"])["numRecords"]
            transaction.remove_rows(file, BitMap64([number % count]))


def replay_application(path, number):
    properties = CommitProperties(app_transactions=[Transaction(f"app-{number % 3}", number)])
    write_deltalake(path, ROWS, mode="append", commit_properties=properties)


def describe_file_anew(path, number):
    """Add a live file again, as one does to give it other statistics: it counts once."""
    with DeltaTable(path).transaction() as transaction:
        for file in transaction.read_files().to_pylist(maps_as_pydicts="strict")[:1]:
            if file["deletion_vector"] is None:
                again = AddFile(
                    path=file["log_path"],
                    partition_values=file["partition_values"],
                    size=file["size"],
                    modification_time=0,
                    data_change=False,
                    stats=file["stats"],
                )
                transaction.stage([again])


def remove_what_is_gone(path, number):
    with DeltaTable(path).transaction() as transaction:
        transaction.stage([RemoveFile(path=f"gone-{number}.parquet", data_change=True, deletion_timestamp=1)])


def lose_checksum(path, number):
    (path / "_delta_log" / f"{DeltaTable(path).version():020d}.crc").unlink(missing_ok=True)


def let_older_writer_commit(path, number):
    """As of a writer that knows no checksums."""
    version = DeltaTable(path).version() + 1
    line = json.dumps({"txn": {"appId": "older", "version": version}})
    (path / "_delta_log" / f"{version:020d}.json").write_text(line + "\n")


EVENTS = [
    append,
    overwrite,
    overwrite_some,
    add_column,
    delete_rows,
    replay_application,
    describe_file_anew,
    remove_what_is_gone,
    lose_checksum,
    let_older_writer_commit,
]


@settings(
    max_examples=examples(4), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sampled_from(EVENTS), min_size=3, max_size=9), st.sampled_from(["1", "3", "100"]))
def test_every_checksum_equals_a_full_count(tmp_path_factory, events, interval):
    path = tmp_path_factory.mktemp("table")
    properties = VECTORS | {"delta.checkpointInterval": interval}
    write_deltalake(path, ROWS, configuration=properties)
    ensure_exact(path, 0)
    for number, event in enumerate(events, 1):
        before = DeltaTable(path).version()
        event(path, number)
        if DeltaTable(path).version() > before and event is not let_older_writer_commit:
            ensure_exact(path, before + 1)
    assert DeltaTable(path).verify().ok


# --- single cases ----------------------------------------------------------------------------------


def test_a_new_table_begins_with_a_checksum(tmp_path):
    DeltaTable.create(tmp_path, ROWS.schema)
    ensure_exact(tmp_path, 0)
    assert written(tmp_path, 0).num_files == 0


def test_a_checksum_follows_from_the_one_before_and_no_file_is_listed(tmp_path, monkeypatch):
    write_deltalake(tmp_path, ROWS)
    monkeypatch.setattr(Snapshot, "files", None)
    write_deltalake(tmp_path, ROWS, mode="append")
    assert written(tmp_path, 1).num_files == 2


def test_it_names_the_transaction(tmp_path):
    write_deltalake(tmp_path, ROWS)
    log = tmp_path / "_delta_log"
    (info,) = [
        line["commitInfo"]
        for line in map(json.loads, (log / f"{0:020d}.json").read_text().splitlines())
        if "commitInfo" in line
    ]
    assert written(tmp_path, 0).txn_id == info["txnId"]


def test_a_checksum_that_contradicts_itself_is_not_led_on(tmp_path):
    write_deltalake(tmp_path, ROWS)
    file = tmp_path / "_delta_log" / f"{0:020d}.crc"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"numFiles": 7}))
    write_deltalake(tmp_path, ROWS, mode="append")
    ensure_exact(tmp_path, 1)


def test_bins_of_others_are_not_led_on(tmp_path):
    write_deltalake(tmp_path, ROWS)
    file = tmp_path / "_delta_log" / f"{0:020d}.crc"
    said = json.loads(file.read_text())
    size = said["tableSizeBytes"]
    said["fileSizeHistogram"] = {"sortedBinBoundaries": [0], "fileCounts": [1], "totalBytes": [size]}
    file.write_text(json.dumps(said))
    write_deltalake(tmp_path, ROWS, mode="append")
    ensure_exact(tmp_path, 1)
    assert len(written(tmp_path, 1).file_size_histogram.file_counts) == 95


def test_checksums_that_spark_wrote_are_led_on(tmp_path, monkeypatch):
    """Under the name that the histogram had before it was in the protocol."""
    write_deltalake(tmp_path, ROWS, configuration=VECTORS)
    file = tmp_path / "_delta_log" / f"{0:020d}.crc"
    said = json.loads(file.read_text())
    said["histogramOpt"] = said.pop("fileSizeHistogram")
    file.write_text(json.dumps(said))
    monkeypatch.setattr(Snapshot, "files", None)
    write_deltalake(tmp_path, ROWS, mode="append")
    assert written(tmp_path, 1).num_files == 2


def test_transactions_that_may_have_expired_are_not_told(tmp_path):
    write_deltalake(tmp_path, ROWS, configuration={"delta.setTransactionRetentionDuration": "interval 1 day"})
    replay_application(tmp_path, 1)
    assert written(tmp_path, 1).transactions is None


@pytest.mark.parametrize(("applications", "told"), [(100, True), (101, False)])
def test_transactions_are_told_all_or_none(tmp_path, applications, told):
    properties = CommitProperties(app_transactions=[Transaction(f"a{n}", 1) for n in range(applications)])
    write_deltalake(tmp_path, ROWS, commit_properties=properties)
    assert (written(tmp_path, 0).transactions is not None) == told


def test_a_table_of_others_is_counted_once(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("id", pa.int64())]))
    table.commit([table.add_file(3), table.add_file(3)]).commit([table.add_file(3)])
    for version in (2, 3):
        write_deltalake(tmp_path, pa.table({"id": pa.array([1], pa.int64())}), mode="append")
        ensure_exact(tmp_path, version)


def test_a_checksum_that_cannot_be_written_fails_no_commit(tmp_path, caplog):
    write_deltalake(tmp_path, ROWS)
    (tmp_path / "_delta_log" / f"{1:020d}.crc").mkdir()
    assert write_deltalake(tmp_path, ROWS, mode="append").version == 1
    assert "write_checksum failed after version 1" in caplog.text
