"""Verification of tables: a healthy one of every kind, and one broken on purpose for every check."""

import json
import os
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import CorruptLogError, DeltaError
from deltaarrow.verify import Check, Severity
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("p", pa.int32())])
ROWS = pa.table({"id": [1, 2, 3, None], "name": ["a", "b", None, "d" * 50]})
MORE = pa.table({"id": [10, 11, 12, 13], "name": ["x", "y", "z", None]})
TRACKED = {"delta.enableRowTracking": "true"}


class Case:
    """A small table that has everything: partitions, a deletion vector, row ids, a checkpoint, a checksum."""

    def __init__(self, path: Path) -> None:
        self.table = table = TableBuilder(path)
        table.features("deletionVectors", writer_only=["rowTracking", "domainMetadata"])
        table.metadata(SCHEMA, ["p"], TRACKED)
        table.commit([table.txn("etl", 3), table.domain("delta.rowTracking", '{"rowIdHighWaterMark":7}')])
        self.one = table.add_file(ROWS, {"p": "1"}, baseRowId=0, defaultRowCommitVersion=1)
        self.two = table.add_file(MORE, {"p": None}, baseRowId=4, defaultRowCommitVersion=1)
        table.commit([self.one, self.two]).checkpoint()
        self.vector = table.deletion_vector([0])
        table.commit(table.with_deletion_vector(self.two, self.vector))
        self.checksum()

    def add(self, **changes: object) -> "Case":
        """Commit file one again, with other fields."""
        self.one = {"add": self.one["add"] | changes}
        self.table.commit([self.one])
        return self

    def file(self, action: dict) -> Path:
        return self.table.path / action["add"]["path"]

    def vector_file(self) -> Path:
        (file,) = self.table.path.glob("*.bin")
        return file

    def checksum(self, **changes: object) -> None:
        """Write the version checksum of the newest version, `changes` in it."""
        adds = list(self.table.live_files().values())
        sizes = [add["size"] for add in adds]
        vectors = [add["deletionVector"]["cardinality"] for add in adds if "deletionVector" in add]
        first = self.table.commits[0]
        content = {
            "txnId": "x",
            "tableSizeBytes": sum(sizes),
            "numFiles": len(adds),
            "numMetadata": 1,
            "numProtocol": 1,
            "setTransactions": [line["txn"] for line in first if "txn" in line],
            "domainMetadata": [line["domainMetadata"] for line in first if "domainMetadata" in line],
            "metadata": next(line["metaData"] for line in first if "metaData" in line),
            "protocol": next(line["protocol"] for line in first if "protocol" in line),
            "fileSizeHistogram": {
                "sortedBinBoundaries": [0, 10_000],
                "fileCounts": [len(adds), 0],
                "totalBytes": [sum(sizes), 0],
            },
            "allFiles": adds,
            "numDeletedRecordsOpt": sum(vectors),
            "numDeletionVectorsOpt": len(vectors),
            "deletedRecordCountsHistogramOpt": {
                "deletedRecordCounts": [len(adds) - len(vectors), len(vectors), *[0] * 8]
            },
        }
        file = self.table.log / f"{self.table.version:020d}.crc"
        file.write_text(json.dumps(content | changes))

    def verify(self, *, deep: bool = False):
        return DeltaTable(self.table.path).verify(deep=deep)

    def finding(self, check: Check, *, deep: bool = False):
        """The one finding there is, which is of `check`."""
        (finding,) = self.verify(deep=deep)
        assert finding.check is check
        return finding


@pytest.fixture
def case(tmp_path):
    return Case(tmp_path)


def torn(file: Path, *, at: int = -1) -> None:
    """Flip a byte of a file."""
    content = bytearray(file.read_bytes())
    content[at] ^= 0xFF
    file.write_bytes(content)


def test_nothing_is_found_in_a_healthy_table(case):
    for deep in (False, True):
        report = case.verify(deep=deep)
        assert list(report) == []
        assert report.ok
        assert report.checked == {
            Check.LAST_CHECKPOINT: 1,
            Check.COMMIT_INFO: case.table.version + 1,
            Check.CHECKPOINT: 1,
            Check.VERSION_CHECKSUM: 1,
            Check.DATA_FILE: 2,
            Check.DELETION_VECTOR: 1,
            Check.PARTITION_VALUES: 2,
            Check.STATISTICS: 2,
            Check.ROW_IDS: 2,
        }


def test_nothing_is_found_in_what_we_write(tmp_path):
    rows = pa.table(
        {
            "f": [1.5, float("nan"), None, -0.0],
            "s": [{"a": 1, "b": "é" * 60}, None, {"a": None, "b": ""}, {"a": -1, "b": None}],
            "l": [[1, None], [], None, [2]],
            "t": pa.array([-1, 1_700_000_000_000_001, None, 5], pa.timestamp("us", "UTC")),
            "d": pa.array([None, 1, 2, 3], pa.int64()).cast(pa.decimal128(38, 3)),
            "p": ["a b", "a b", None, "%"],
        }
    )
    for _ in range(12):
        write_deltalake(tmp_path, rows, mode="append", partition_by=["p"])
    report = DeltaTable(tmp_path).verify(deep=True)
    assert list(report) == []
    assert report.checked[Check.CHECKPOINT] == 1


def test_tables_that_are_not_local_are_verified():
    where = "memory://verify/t"
    for _ in range(2):
        write_deltalake(where, MORE, mode="append", partition_by=["name"])
    table = DeltaTable(where)
    assert list(table.verify(deep=True)) == []
    (lost, *_) = table.snapshot.files(columns=["path"])["path"].to_pylist()
    table.snapshot.store.delete(lost)
    assert [finding.where for finding in table.verify()] == [lost]


def test_an_empty_table_is_healthy(tmp_path):
    TableBuilder(tmp_path).protocol().metadata(SCHEMA).commit()
    assert list(DeltaTable(tmp_path).verify(deep=True)) == []


# --- the hint, checkpoints and the version checksum ------------------------------------------------


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("torn", "not a JSON object"),
        ('{"version":1,"size":3,"checksum":"0"}', "not a JSON object"),
        ('{"version":0,"size":3}', "names a checkpoint of version 0, but no complete one exists"),
        ('{"version":9,"size":3}', "names a checkpoint of version 9, but no complete one exists"),
    ],
)
def test_a_broken_hint_is_a_warning(case, text, what):
    case.table.last_checkpoint(1, text=text)
    finding = case.finding(Check.LAST_CHECKPOINT)
    assert what in finding.what
    assert (finding.severity, finding.where) == (Severity.WARNING, "_delta_log/_last_checkpoint")
    assert case.verify().ok


def test_a_stale_hint_is_a_warning(case):
    case.table.checkpoint(2, hint=False)
    assert "but one of version 2 exists" in case.finding(Check.LAST_CHECKPOINT).what


@pytest.mark.parametrize(
    ("action", "what"),
    [
        (lambda t: t.txn("etl", 4), "'etl' is 4, but the commits say 3"),
        (lambda t: t.txn("other", 4), "'other' is 4, but the commits say None"),
        (lambda t: t.domain("delta.rowTracking", "{}"), "'delta.rowTracking'"),
        (lambda t: t.add_file(1, {"p": "1"}, name="z"), "lists files that the commits do not.*'z'"),
    ],
)
def test_a_checkpoint_that_disagrees_with_the_commits_is_an_error(case, action, what):
    kept = case.table.commits[1]
    case.table.commits[1] = [*kept, action(case.table)]
    case.table.checkpoint(1)
    case.table.commits[1] = kept
    case.table.commit([]).checkpoint(0, hint=False)
    found = [f for f in case.verify() if f.check is Check.CHECKPOINT]
    assert len(found) == 1
    assert found[0].where == f"_delta_log/{1:020d}.checkpoint.parquet"
    assert re.search(what, found[0].what)


def test_a_checkpoint_without_a_file_of_the_commits_is_an_error(case):
    table = case.table
    table.commits[1] = [line for line in table.commits[1] if line != case.one]
    table.checkpoint(1)
    found = [f.what for f in case.verify() if f.check is Check.CHECKPOINT]
    what = "it lacks files that the commits list, or lists them differently"
    assert found == [f"{what}: {case.one['add']['path']!r}"]


def test_a_checkpoint_with_another_schema_is_an_error(case):
    table, kept = case.table, case.table.commits[0]
    (table.log / f"{table.version:020d}.crc").unlink()
    changed = [json.loads(json.dumps(line).replace('\\"id\\"', '\\"ID\\"')) for line in kept]
    table.commits[0] = changed
    table.checkpoint(1)
    found = [f.what for f in case.verify() if f.check is Check.CHECKPOINT]
    assert len(found) == 1
    assert found[0].startswith("the schema is")


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7}}, "another protocol"),
        ({"metadata": {"id": "x", "schemaString": "{}"}}, "another table id or partitioning"),
    ],
)
def test_a_table_whose_checkpoint_and_checksum_contradict_each_other_is_not_opened(case, changes, what):
    case.checksum(**changes)
    with pytest.raises(CorruptLogError, match=what):
        DeltaTable(case.table.path)


def test_only_a_deep_run_examines_checkpoints_that_are_not_read(case):
    table, kept = case.table, case.table.commits[0]
    table.commits[0] = [line for line in kept if "txn" not in line]
    table.checkpoint(0, hint=False)
    table.commits[0] = kept
    assert list(case.verify()) == []
    assert "'etl' is None" in str(next(iter(case.verify(deep=True))))


def test_a_checkpoint_is_compared_from_an_older_one_on_where_commits_are_gone(case):
    table = case.table
    table.commit([table.txn("etl", 4)]).checkpoint(0, hint=False)
    table.commits[2] = [*table.commits[2], table.txn("etl", 5)]
    table.checkpoint(2)
    table.delete_commits(0)
    findings = list(case.verify(deep=True))
    assert [f.what for f in findings if f.check is Check.CHECKPOINT] == [
        "the transaction version of 'etl' is 5, but the commits say 3 (from the checkpoint of version 0 on)"
    ]


def test_a_checkpoint_whose_commits_are_gone_has_nothing_to_be_compared_with(case):
    case.table.delete_commits(0, 1)
    report = case.verify(deep=True)
    assert list(report) == []
    assert Check.CHECKPOINT not in report.checked


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"numFiles": 3}, "numFiles is 3, but the log says 2"),
        ({"tableSizeBytes": 1}, "tableSizeBytes is 1"),
        ({"numProtocol": 2}, "numProtocol is 2"),
        ({"numMetadata": 0}, "numMetadata is 0"),
        ({"numDeletedRecordsOpt": 0}, "numDeletedRecordsOpt is 0, but the log says 1"),
        ({"numDeletionVectorsOpt": 2}, "numDeletionVectorsOpt is 2"),
        ({"setTransactions": []}, "'etl' is None, but the commits say 3"),
        ({"domainMetadata": []}, "'delta.rowTracking' is None"),
        ({"allFiles": []}, "allFiles and the log disagree on"),
        (
            {
                "fileSizeHistogram": {
                    "sortedBinBoundaries": [0, 1],
                    "fileCounts": [2, 0],
                    "totalBytes": [9, 0],
                }
            },
            "the histogram of file sizes",
        ),
        (
            {"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [2, *[0] * 9]}},
            "the histogram of deleted rows",
        ),
    ],
)
def test_a_checksum_that_disagrees_with_replay_is_an_error(case, changes, what):
    case.checksum(**changes)
    findings = list(case.verify())
    assert what in findings[0].what
    assert {f.check for f in findings} == {Check.VERSION_CHECKSUM}
    assert {f.where for f in findings} == {f"_delta_log/{2:020d}.crc"}
    assert not case.verify().ok


def test_a_checksum_that_cannot_be_understood_is_a_warning(case):
    (case.table.log / f"{2:020d}.crc").write_text("{")
    assert case.finding(Check.VERSION_CHECKSUM).severity is Severity.WARNING


def test_expired_transactions_may_be_absent(tmp_path):
    table = TableBuilder(tmp_path).protocol()
    table.metadata(SCHEMA, configuration={"delta.setTransactionRetentionDuration": "interval 1 day"})
    table.commit([table.txn("etl", 3)])
    kept = table.commits[0]
    table.commits[0] = [line for line in kept if "txn" not in line]
    table.checkpoint()
    assert list(DeltaTable(tmp_path).verify()) == []


def test_the_in_commit_timestamp_of_a_checksum_is_that_of_the_commit(tmp_path):
    table = TableBuilder(tmp_path).protocol(1, 7, None, ["inCommitTimestamp"])
    table.metadata(SCHEMA, configuration={"delta.enableInCommitTimestamps": "true"})
    table.commit(info={"inCommitTimestamp": 5})
    counts = {"tableSizeBytes": 0, "numFiles": 0, "numMetadata": 1, "numProtocol": 1}
    file = table.log / f"{0:020d}.crc"
    file.write_text(json.dumps(counts | {"inCommitTimestampOpt": 5}))
    assert list(DeltaTable(tmp_path).verify()) == []
    file.write_text(json.dumps(counts | {"inCommitTimestampOpt": 6}))
    assert "inCommitTimestampOpt is 6, but the log says 5" in str(next(iter(DeltaTable(tmp_path).verify())))


# --- data files and deletion vectors ---------------------------------------------------------------


def test_a_missing_data_file_is_an_error(case):
    case.file(case.one).unlink()
    finding = case.finding(Check.DATA_FILE, deep=True)
    assert finding.where == case.one["add"]["path"]
    assert "not in storage" in finding.what


def test_a_data_file_of_another_size_is_an_error(case):
    with case.file(case.one).open("ab") as file:
        file.write(b"x")
    assert "bytes, but the log says" in case.finding(Check.DATA_FILE, deep=True).what


def test_a_data_file_that_is_no_parquet_is_an_error(case):
    torn(case.file(case.one))
    assert "cannot be read" in case.finding(Check.DATA_FILE, deep=True).what


def test_only_a_deep_run_finds_pages_that_cannot_be_read(case):
    torn(case.file(case.one), at=4)
    assert list(case.verify()) == []
    assert "the rows cannot be read" in case.finding(Check.DATA_FILE, deep=True).what


def test_a_data_file_elsewhere_is_looked_for_there(case, tmp_path_factory):
    other = tmp_path_factory.mktemp("elsewhere") / "f.parquet"
    pq.write_table(MORE, other)
    add = case.table.add_file(MORE, {"p": "1"}, baseRowId=8)
    add["add"] |= {"path": other.as_uri(), "size": other.stat().st_size}
    case.table.commit([add, case.table.domain("delta.rowTracking", '{"rowIdHighWaterMark":11}')])
    assert list(case.verify(deep=True)) == []
    other.unlink()
    assert case.finding(Check.DATA_FILE).where == str(other)


def test_a_file_behind_a_link_is_there(case, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (case.table.path / "link").symlink_to(elsewhere)
    add = case.table.add_file(MORE, {"p": "1"}, name="link/f.parquet", baseRowId=8)
    case.table.commit([add, case.table.domain("delta.rowTracking", '{"rowIdHighWaterMark":11}')])
    assert list(case.verify(deep=True)) == []


def test_a_file_that_is_live_twice_is_an_error(case):
    case.table.commit([case.two])
    found = {f.check: f.what for f in case.verify()}
    assert "live twice" in found[Check.DATA_FILE]


def test_a_missing_deletion_vector_is_an_error(case):
    case.vector_file().unlink()
    finding = case.finding(Check.DELETION_VECTOR, deep=True)
    assert (finding.where, "does not exist" in finding.what) == (case.two["add"]["path"], True)


def test_a_deletion_vector_with_a_wrong_checksum_is_an_error(case):
    torn(case.vector_file())
    assert "CRC-32" in case.finding(Check.DELETION_VECTOR).what


def test_a_deletion_vector_of_another_cardinality_is_an_error(case):
    masked = {"add": case.two["add"] | {"deletionVector": case.vector}}
    case.table.commit(case.table.with_deletion_vector(masked, case.vector | {"cardinality": 2}))
    assert "deletes 1 rows, but its descriptor says 2" in case.finding(Check.DELETION_VECTOR).what


def test_a_deletion_vector_that_reaches_beyond_its_file_is_an_error(case):
    masked = {"add": case.two["add"] | {"deletionVector": case.vector}}
    case.table.commit(case.table.with_deletion_vector(masked, case.table.deletion_vector([4])))
    assert "deletes row 4 of a file with only 4 rows" in case.finding(Check.DELETION_VECTOR, deep=True).what


def test_one_broken_deletion_vector_does_not_hide_the_others(case):
    inline = case.table.deletion_vector([1], "i")
    case.table.commit(case.table.with_deletion_vector(case.one, inline | {"pathOrInlineDv": "^Bg9^"}))
    case.vector_file().unlink()
    findings = list(case.verify())
    assert {f.where for f in findings} == {case.one["add"]["path"], case.two["add"]["path"]}
    assert {f.check for f in findings} == {Check.DELETION_VECTOR}


def test_a_file_with_a_deletion_vector_needs_num_records(case):
    bare = {"add": {key: value for key, value in case.one["add"].items() if key != "stats"}}
    case.table.commit([case.table.remove(case.one)]).commit(
        [{"add": bare["add"] | {"deletionVector": case.table.deletion_vector([1], "i")}}]
    )
    assert "no numRecords" in case.finding(Check.DELETION_VECTOR).what


# --- partition values and row ids ------------------------------------------------------------------


@pytest.mark.parametrize("text", ["x", "1.5", "99999999999"])
def test_a_partition_value_that_is_none_of_its_type_is_an_error(case, text):
    finding = case.add(partitionValues={"p": text}).finding(Check.PARTITION_VALUES)
    assert finding.where == case.one["add"]["path"]
    assert repr(text) in finding.what


def test_a_missing_partition_value_is_an_error(case):
    assert (
        "no value for the partition column 'p'"
        in case.add(partitionValues={}).finding(Check.PARTITION_VALUES).what
    )


@pytest.mark.parametrize(("base", "first"), [(4, 4), (1, 4), (3, 4)])
def test_row_ids_given_twice_are_an_error(case, base, first):
    finding = case.add(baseRowId=base).finding(Check.ROW_IDS)
    assert f"its row ids from {first} on are also those of" in finding.what


def test_row_ids_of_a_long_file_are_compared_with_all_after_it(tmp_path):
    table = TableBuilder(tmp_path).protocol(1, 7, None, ["rowTracking", "domainMetadata"]).metadata(SCHEMA)
    one = table.add_file(pa.table({"id": range(100)}), baseRowId=0)
    table.commit([one, *(table.add_file(MORE, baseRowId=base) for base in (10, 20, 200))])
    findings = list(DeltaTable(tmp_path).verify())
    assert {f.check for f in findings} == {Check.ROW_IDS}
    assert sorted(f.what for f in findings) == [
        f"its row ids from {base} on are also those of {one['add']['path']!r}" for base in (10, 20)
    ]


def test_row_ids_above_the_high_water_mark_are_an_error(case):
    assert (
        "last row id is 103, above the high-water mark" in case.add(baseRowId=100).finding(Check.ROW_IDS).what
    )


def test_a_high_water_mark_that_is_none_is_an_error(case):
    case.table.commit([case.table.domain("delta.rowTracking", "[]")])
    assert "rowIdHighWaterMark" in case.finding(Check.ROW_IDS).what


def test_a_missing_base_row_id_is_an_error_where_row_tracking_is_on(case):
    assert "no base row id" in case.add(baseRowId=None).finding(Check.ROW_IDS).what
    case.table.metadata(SCHEMA, ["p"]).commit()
    assert list(case.verify()) == []


# --- statistics ------------------------------------------------------------------------------------


def stats_of(case: Case) -> dict:
    return json.loads(case.one["add"]["stats"])


def test_num_records_that_is_not_that_of_the_footer_is_an_error(case):
    finding = case.add(stats=json.dumps(stats_of(case) | {"numRecords": 5}), baseRowId=20)
    findings = {f.check: f.what for f in finding.verify()}
    assert findings[Check.STATISTICS] == "numRecords is 5, but the file has 4 rows"


def test_statistics_that_are_no_json_are_a_warning(case):
    finding = case.add(stats="{").finding(Check.STATISTICS)
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("part", "value", "what"),
    [
        ("minValues", {"id": 2, "name": "a"}, "id: the least value is '1', below the minimum '2'"),
        ("maxValues", {"id": 2, "name": "e"}, "id: the greatest value is '3', above the maximum '2'"),
        ("minValues", {"id": 1, "name": "b"}, "name: the least value is 'a', below the minimum 'b'"),
        ("nullCount", {"id": 0, "name": 1}, "id: nullCount is 0 of 4 rows; 1 of 4 live ones are NULL"),
        ("nullCount", {"id": 2, "name": 1}, "id: nullCount is 2 of 4 rows; 1 of 4 live ones are NULL"),
        ("nullCount", {"id": 4, "name": 1}, "id: nullCount is 4 of 4 rows; 1 of 4 live ones are NULL"),
    ],
)
def test_only_a_deep_run_finds_bounds_that_leave_rows_out(case, part, value, what):
    case.add(stats=json.dumps(stats_of(case) | {part: value}))
    assert list(case.verify()) == []
    finding = case.finding(Check.STATISTICS, deep=True)
    assert (finding.what, finding.where) == (what, case.one["add"]["path"])


@pytest.mark.parametrize(
    ("changes", "lies"),
    [
        ({"minValues": {"id": 11}}, False),  # row 0, which is 10, is deleted
        ({"minValues": {"id": 12}}, True),
        ({"nullCount": {"name": 3}, "tightBounds": False}, False),
        ({"nullCount": {"name": 0}, "tightBounds": False}, True),
        ({"nullCount": {"name": 4}, "tightBounds": False}, True),
    ],
)
def test_under_a_deletion_vector_statistics_are_about_live_rows(case, changes, lies):
    masked = {"add": case.two["add"] | {"deletionVector": case.vector}}
    stats = json.loads(case.two["add"]["stats"]) | changes
    case.table.commit([case.table.remove(masked), {"add": masked["add"] | {"stats": json.dumps(stats)}}])
    assert [f.check for f in case.verify(deep=True)] == [Check.STATISTICS] * lies


def test_nested_columns_and_odd_names_are_examined(tmp_path):
    rows = pa.table({"a b": [{"x'y": 1, 'z"': 1.5}, {"x'y": 5, 'z"': float("nan")}, None]})
    table = TableBuilder(tmp_path).protocol().metadata(rows.schema)
    add = table.add_file(rows)
    table.commit([add])
    assert list(DeltaTable(tmp_path).verify(deep=True)) == []
    stats = json.loads(add["add"]["stats"])
    stats["maxValues"]["a b"]["x'y"] = 4
    table.commit([{"add": add["add"] | {"stats": json.dumps(stats)}}])
    (finding,) = DeltaTable(tmp_path).verify(deep=True)
    assert finding.what == "a b.x'y: the greatest value is '5', above the maximum '4'"


def test_statistics_are_found_by_physical_names(tmp_path):
    field = pa.field("id", pa.int64())
    schema = {
        "type": "struct",
        "fields": [
            {
                "name": "id",
                "type": "long",
                "nullable": True,
                "metadata": {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"},
            }
        ],
    }
    table = TableBuilder(tmp_path).protocol(2, 5)
    table.metadata(schema, configuration={"delta.columnMapping.mode": "name"})
    rows = pa.table({"col-1": [1, 2]}, schema=pa.schema([field.with_name("col-1")]))
    stats = {"numRecords": 2, "minValues": {"col-1": 2}, "maxValues": {"col-1": 2}, "nullCount": {"col-1": 0}}
    table.commit([table.add_file(rows, stats=stats)])
    (finding,) = DeltaTable(tmp_path).verify(deep=True)
    assert finding.what == "id: the least value is '1', below the minimum '2'"


# --- the report ------------------------------------------------------------------------------------


def test_a_report_is_short_in_text_and_whole_in_html_and_json(case):
    case.file(case.one).unlink()
    case.table.last_checkpoint(1, text="<b>")
    report = case.verify()
    assert repr(report) == (
        f"VerifyReport({str(case.table.path)!r}, version=2, ok=False, errors=1, warnings=1)"
    )
    html = report._repr_html_()
    assert case.one["add"]["path"] in html
    assert "checked: data_file" in html
    found = json.loads(json.dumps(report.to_dict()))
    assert (found["ok"], found["version"], len(found["findings"])) == (False, 2, 2)
    assert set(found["findings"][0]) == {"severity", "check", "what", "where"}
    assert str(next(iter(report))).startswith("warning: _delta_log/_last_checkpoint: ")


def test_an_older_version_is_verified_as_it_was(case):
    case.file(case.one).unlink()
    assert DeltaTable(case.table.path, version=0).verify().ok
    assert not DeltaTable(case.table.path, version=1).verify().ok


def test_verifying_changes_nothing(case):
    case.file(case.one).unlink()
    before = {path: os.stat(path).st_mtime_ns for path in case.table.path.rglob("*")}
    case.verify(deep=True)
    assert before == {path: os.stat(path).st_mtime_ns for path in case.table.path.rglob("*")}


def test_a_table_that_cannot_be_opened_is_an_error_of_opening(case):
    (case.table.log / f"{2:020d}.json").write_text("torn")
    with pytest.raises(DeltaError):
        case.verify()
