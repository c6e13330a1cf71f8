"""A condition leaves the same files, in the same order, from the log and from memory."""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow.errors import CorruptLogError, SchemaMismatchError
from deltaarrow.expressions import Column, Compare, IsIn, Literal
from deltaarrow.live_files import file_list
from deltaarrow.live_files.checkpoint_source import CheckpointRows
from deltaarrow.log.limits import DEFAULT_LIMITS, LogLimits
from deltaarrow.runtime import cache
from deltaarrow.runtime.cache import set_cache_limit
from deltaarrow.scan import plan_scan
from deltaarrow.snapshot import Snapshot
from deltaarrow.statistics import listed
from tests.support.conditions import predicate_of
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


@pytest.mark.parametrize("where", CONDITIONS)
def test_a_condition_leaves_the_same_files_whenever_it_is_asked(snapshot, where):
    predicate = predicate_of(where, snapshot.schema)
    first = plan_scan(snapshot, predicate, ["id"]).files
    again = Snapshot(snapshot.state)
    for other in ["id = 3", "p = 1", where]:
        plan_scan(
            again, predicate_of(other, snapshot.schema), ["id"]
        )  # from the second question on the files are in memory
    assert plan_scan(again, predicate, ["id"]).files.equals(first)
    from_the_log = replace(snapshot.state, limits=LogLimits(listed_bytes=-1))
    assert plan_scan(Snapshot(from_the_log), predicate, ["id"]).files.equals(first)


def test_statistics_of_a_column_are_parsed_once(snapshot, monkeypatch):
    reads = []
    read = listed.read_statistics
    monkeypatch.setattr(
        listed, "read_statistics", lambda *given, **named: reads.append(1) or read(*given, **named)
    )
    assert snapshot.files(predicate_of("p = 1", snapshot.schema), ["size"]).num_rows == 1
    for where, count in [("id = 25", 1), ("id > 18 AND id <= 30", 3), ("id IN (1, 39)", 2), ("id = 99", 0)]:
        assert plan_scan(snapshot, predicate_of(where, snapshot.schema), ["id"]).files.num_rows == count
    assert len(reads) == 1


def test_of_a_small_table_the_log_is_asked_twice_at_most(snapshot, monkeypatch):
    predicates = [predicate_of(f"p = {number}", snapshot.schema) for number in range(5)]
    for predicate in predicates[:2]:
        snapshot.files(predicate)
    monkeypatch.setattr(file_list, "list_files", lambda *given: pytest.fail("the log was asked"))
    monkeypatch.setattr(CheckpointRows, "table", lambda *given: pytest.fail("the log was asked"))
    assert [snapshot.files(predicate).num_rows for predicate in predicates] == [0, 1, 2, 0, 0]


def test_equal_questions_about_unlike_values_are_not_mistaken_for_each_other(snapshot):
    column = Column(("p",))
    for value, count in [(1, 1), (True, 4), (1.0, 1), (1, 1)]:
        assert snapshot.files(Compare("=", column, Literal(value))).num_rows == count, repr(value)


@pytest.fixture
def limit():
    """A cache of 1 MB; all that it holds, as a function."""
    set_cache_limit("1MB")
    yield lambda: [entry.value for entry in cache._cache.entries.values()]
    set_cache_limit()


def test_answers_without_files_count_in_the_cache(snapshot, limit):
    column = Column(("p",))
    for number in range(100, 250):
        assert not snapshot.files(Compare("=", column, Literal(number))).num_rows
    assert len(limit()) < 100
    members = IsIn(column, tuple(range(100, 100_000)))
    assert not snapshot.files(members).num_rows
    assert len(limit()) < 100 and all(repr(members) not in key for _, key in cache._cache.entries)


def test_an_answer_keeps_no_more_files_in_memory_than_it_has(tmp_path, limit):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p"])
    table.commit([table.add_file(1, {"p": str(number // 10)}, name=f"f{number}") for number in range(3000)])
    table.checkpoint()
    snapshot = open_snapshot(tmp_path, limits=LogLimits(replayed_bytes=-1))
    for number in range(40):
        assert snapshot.files(Compare("=", Column(("p",)), Literal(number)), ["path", "stats"]).num_rows == 10
    held = [value.get_total_buffer_size() for value in limit() if isinstance(value, pa.Table)]
    assert held and sum(held) < 1_000_000


@pytest.mark.parametrize("kind", ["classic", "multipart"])
def test_files_stand_in_the_order_of_the_log_wherever_it_is_read(tmp_path, kind):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p"])
    adds = [table.add_file(1, {"p": str(number % 3)}, name=f"f{number:02}") for number in range(20)]
    table.commit(adds)
    for path in table.checkpoint(kind=kind):
        pq.write_table(pq.read_table(path), path, row_group_size=2)
    newer = [table.add_file(1, {"p": str(number % 3)}, name=f"g{number:02}") for number in range(40)]
    table.commit([*newer, *map(table.remove, adds[5:8])])
    of_parts = adds if kind == "classic" else [*adds[::2], *adds[1::2]]
    expected = [each["add"]["path"] for each in (*of_parts, *newer) if each not in adds[5:8]]
    asked = {"p = 1": [name for name in expected if int(name[1:]) % 3 == 1], "id = 1": expected}
    for replayed in (DEFAULT_LIMITS.replayed_bytes, -1):
        for listed_bytes in (DEFAULT_LIMITS.listed_bytes, -1):
            limits = LogLimits(replayed_bytes=replayed, listed_bytes=listed_bytes)
            snapshot = open_snapshot(tmp_path, limits=limits)
            for _ in range(2):
                assert snapshot.files().column("path").to_pylist() == expected
                for where, names in asked.items():
                    found = snapshot.files(predicate_of(where, snapshot.schema), ["path"])
                    assert found.column("path").to_pylist() == names
                snapshot = Snapshot(snapshot.state)


@pytest.mark.parametrize("limits", [DEFAULT_LIMITS, LogLimits(replayed_bytes=-1)], ids=["small", "large"])
def test_statistics_that_are_a_struct_and_no_text_are_files_statistics(tmp_path, limits):
    """Some writers have the column of texts and leave it empty."""
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA)
    table.commit([table.add_file(pa.table({"id": [number]}), name=f"f{number}") for number in range(4)])
    (path,) = table.checkpoint(stats="both")
    written = pq.read_table(path)
    place = written.schema.get_field_index("add")
    adds = written.column(place).combine_chunks()
    members = {field.name: adds.field(field.name) for field in adds.type}
    members["stats"] = pa.nulls(len(adds), pa.string())
    structs = pa.StructArray.from_arrays([*members.values()], [*members], mask=adds.is_null())
    pq.write_table(written.set_column(place, "add", structs), path)
    table.delete_commits(0)
    snapshot = open_snapshot(tmp_path, limits=limits)
    found = snapshot.files().column("stats").to_pylist()
    assert [json.loads(text)["numRecords"] for text in found] == [1] * 4
    found = snapshot.files(predicate_of("id = 2", snapshot.schema), ["path"])
    assert found.column("path").to_pylist() == ["f2"]


def test_a_file_that_is_there_twice_is_refused(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA)
    add = table.add_file(pa.table({"id": [1]}))
    other = {"add": add["add"] | {"path": f"{tmp_path}/{add['add']['path']}"}}
    table.commit([add, other])
    snapshot = open_snapshot(tmp_path)
    with pytest.raises(CorruptLogError, match="twice"):
        plan_scan(snapshot, predicate_of("id = 1", snapshot.schema), ["id"])


def test_a_column_that_is_not_there_is_refused_at_every_plan(snapshot):
    for _ in range(3):
        with pytest.raises(SchemaMismatchError):
            plan_scan(snapshot, Compare("=", Column(("nowhere",)), Literal(1)), ["id"])
        with pytest.raises(SchemaMismatchError):
            plan_scan(snapshot, None, ["nowhere"])


@pytest.mark.parametrize("text", ["10000-01-01", "nonsense"])
def test_a_partition_value_that_is_none_is_left_to_who_reads_the_file(tmp_path, text):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p", "d"])
    values = [{"p": "1", "d": "2026-01-01"}, {"p": "2", "d": text}]
    table.commit([table.add_file(pa.table({"id": [n]}), each) for n, each in enumerate(values)])
    snapshot = open_snapshot(tmp_path)
    for where, count in [("p = 1", 1), ("id = 0", 1), ("d = '2026-01-01'", 2), ("p = 2 AND d IS NULL", 0)]:
        for _ in range(2):
            assert plan_scan(snapshot, predicate_of(where, snapshot.schema), ["id"]).files.num_rows == count


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
    snapshot = open_snapshot(tmp_path)
    assert plan_scan(snapshot, predicate_of(where, snapshot.schema), ["id"]).files.num_rows == 1
