"""The files of a snapshot in memory leave the files that the log itself would."""

import pyarrow as pa
import pytest

from deltaarrow.errors import CorruptLogError, SchemaMismatchError
from deltaarrow.expressions import from_sql
from deltaarrow.scan import file_index, plan_scan
from deltaarrow.scan.file_index import FileIndex, RepeatedPlans
from deltaarrow.snapshot import Snapshot
from deltaarrow.statistics import HeldStatistics
from tests.support.engines import open_snapshot
from tests.support.tables import TableBuilder

SCHEMA = pa.schema(
    [("id", pa.int64()), ("p", pa.int32()), ("s", pa.string()), ("d", pa.date32()), ("x", pa.float64())]
)
VALUES = [
    ("1", "a", "2026-01-01", "NaN"),
    ("2", "c", "2026-01-02", "1.5"),
    (None, "a'b", None, "-0.0"),
    ("2", None, "2026-01-02", None),
]

CONDITIONS = [
    "p = 2", "p = 2 AND id < 15", "p IS NULL", "NOT (p = 2)", "p = 2 OR id = 3", "p = 1.5", "p = 'two'",
    "s = 'a''b'", "s IS NULL", "s LIKE 'a%'", "d = '2026-01-02'", "d > TIMESTAMP_NTZ'2026-01-01 12:00:00'",
    "d IN ('2026-01-01', NULL)", "x > 2", "x = 1.5", "p IS NOT NULL AND d IS NOT NULL AND id >= 10",
    "id = 25", "id IS NULL", "id >= 12 AND id < 31", "NOT (id < 30)", "id IN (3, 33) AND s = 'c'",
]  # fmt: skip


@pytest.fixture(params=["commits", "checkpoint"])
def snapshot(tmp_path, request):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p", "s", "d", "x"])
    for first, values in zip(range(0, 40, 10), VALUES, strict=True):
        rows = pa.table({"id": range(first, first + 10)})
        table.commit([table.add_file(rows, dict(zip("psdx", values, strict=True)))])
    if request.param == "checkpoint":
        table.checkpoint()
        table.delete_commits(*range(table.version))
    return open_snapshot(tmp_path)


@pytest.mark.parametrize("files", ["few", "many", "too many"])
@pytest.mark.parametrize("where", CONDITIONS)
def test_conditions_leave_the_files_that_the_log_says(snapshot, where, files, monkeypatch):
    if files != "few":
        monkeypatch.setattr(file_index, "_FEW_FILES", 0)
    if files == "too many":
        monkeypatch.setattr(file_index, "_MOST_BYTES", -1)
    predicate = from_sql(where)
    index = FileIndex(snapshot)
    for _ in range(2):
        assert index.plan(predicate, ["id"]).files.equals(plan_scan(snapshot, predicate, ["id"]).files)
    assert index.plan(None, ["id"]).files.equals(plan_scan(snapshot, None, ["id"]).files)


def test_statistics_are_parsed_once(snapshot, monkeypatch):
    read, reads = HeldStatistics._read, []
    monkeypatch.setattr(HeldStatistics, "_read", lambda *given: reads.append(given[-1]) or read(*given))
    monkeypatch.setattr(Snapshot, "pruning_sql", lambda *given: pytest.fail("judged one by one"))
    index = FileIndex(snapshot)
    for where, count in [("id = 25", 1), ("id > 18 AND id <= 30", 3), ("id IN (1, 39)", 2), ("id = 99", 0)]:
        assert index.plan(from_sql(where), ["id"]).files.num_rows == count
    assert len(reads) == 1


def test_columns_that_are_not_there_and_files_that_are_there_twice(snapshot, tmp_path):
    with pytest.raises(SchemaMismatchError):
        FileIndex(snapshot).plan(None, ["unknown"])
    table = TableBuilder(tmp_path / "twice").protocol().metadata(SCHEMA)
    add = table.add_file(pa.table({"id": [1]}))
    other = {"add": add["add"] | {"path": f"{tmp_path}/twice/{add['add']['path']}"}}
    table.commit([add, other])
    with pytest.raises(CorruptLogError, match="twice"):
        FileIndex(open_snapshot(tmp_path / "twice")).plan(from_sql("id = 5"), ["id"])


def test_plans_that_are_repeated_are_those_of_the_log(snapshot):
    plans = RepeatedPlans(snapshot)
    for where in CONDITIONS:
        predicate = from_sql(where)
        expected = plan_scan(snapshot, predicate, ["id", "p"])
        for _ in range(2):
            assert plans.plan(predicate, ["id", "p"]).files.equals(expected.files)


def test_a_second_plan_asks_the_log_no_more(snapshot, monkeypatch):
    plans, asked = RepeatedPlans(snapshot), []
    files = Snapshot.files
    monkeypatch.setattr(
        Snapshot, "files", lambda self, *given, **named: asked.append(1) or files(self, *given, **named)
    )
    predicates = [from_sql(f"p = {number}") for number in range(5)]
    counts = [len(asked) for predicate in predicates if plans.plan(predicate, ["id"])]
    assert counts == [1, 2, 2, 2, 2]


def test_a_column_that_is_not_there_is_refused_at_every_plan(snapshot):
    plans = RepeatedPlans(snapshot)
    for _ in range(3):
        with pytest.raises(SchemaMismatchError):
            plans.plan(from_sql("nowhere = 1"), ["id"])
        with pytest.raises(SchemaMismatchError):
            plans.plan(None, ["nowhere"])


@pytest.mark.parametrize("text", ["10000-01-01", "nonsense"])
def test_a_partition_value_that_is_none_is_left_to_who_reads_the_file(tmp_path, text):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p", "d"])
    values = [{"p": "1", "d": "2026-01-01"}, {"p": "2", "d": text}]
    table.commit([table.add_file(pa.table({"id": [n]}), each) for n, each in enumerate(values)])
    plans = RepeatedPlans(open_snapshot(tmp_path))
    for where, count in [("p = 1", 1), ("id = 0", 1), ("d = '2026-01-01'", 2), ("p = 2 AND d IS NULL", 0)]:
        for _ in range(2):
            assert plans.plan(from_sql(where), ["id"]).files.num_rows == count


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("money", "0.35", "money = 0.35e0"),
        ("money", "0.35", "NOT (money <> 0.35e0)"),
        ("long", "9007199254740993", "long > 2.5e0"),
        ("long", "9007199254740993", "long IN (2.5e0, 9007199254740993)"),
    ],
)
def test_numbers_of_unlike_types_are_not_compared_by_pyarrow(tmp_path, name, text, where):
    """Of decimals it makes doubles that are off by a digit, and of large integers none."""
    schema = pa.schema([("id", pa.int64()), ("money", pa.decimal128(10, 2)), ("long", pa.int64())])
    table = TableBuilder(tmp_path).protocol().metadata(schema, ["money", "long"])
    values = {"money": None, "long": None, name: text}
    table.commit([table.add_file(pa.table({"id": [1]}), values)])
    index = FileIndex(open_snapshot(tmp_path))
    assert index.plan(from_sql(where), ["id"]).files.num_rows == 1
