"""Overwriting part of a table: by a condition, or the partitions of the data."""

import datetime
from decimal import Decimal

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import ConstraintViolationError, DeltaTable, write_deltalake
from deltaarrow.errors import (
    ConcurrentAppendException,
    DeltaError,
    InvalidPredicateError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from deltaarrow.schema import Field, Schema
from tests.support.examples import examples

DELETION_VECTORS = {"delta.enableDeletionVectors": "true"}
WAYS = pytest.mark.parametrize("properties", [{}, DELETION_VECTORS], ids=["copied", "marked"])


def rows(table) -> list[tuple]:
    data = (
        DeltaTable(table).to_pyarrow_table()
        if not isinstance(table, DeltaTable)
        else table.to_pyarrow_table()
    )
    return sorted(map(tuple, (r.values() for r in data.to_pylist())), key=repr)


def actions(path, version: int) -> list[dict]:
    text = (path / "_delta_log" / f"{version:020d}.json").read_bytes()
    return [orjson.loads(line) for line in text.splitlines()]


def days(*pairs) -> pa.Table:
    return pa.table(
        {
            "id": pa.array([i for i, _ in pairs], pa.int64()),
            "day": pa.array([d for _, d in pairs], pa.string()),
        }
    )


# --- by a condition --------------------------------------------------------------------------------


@WAYS
def test_a_condition_replaces_its_rows_and_keeps_the_others(tmp_path, properties):
    write_deltalake(tmp_path, days((1, "a"), (2, "b"), (3, None), (4, "b")), configuration=properties)
    result = write_deltalake(tmp_path, days((9, "b")), mode="overwrite", predicate="day = 'b'")
    assert rows(tmp_path) == sorted([(1, "a"), (3, None), (9, "b")], key=repr)
    assert (result.version, result.num_rows, result.num_deleted_rows) == (1, 1, 2)


@WAYS
def test_rows_for_which_the_condition_is_null_stay(tmp_path, properties):
    write_deltalake(tmp_path, days((1, None), (2, "b")), configuration=properties)
    write_deltalake(tmp_path, days((9, "c")), mode="overwrite", predicate="day <> 'a'")
    assert rows(tmp_path) == sorted([(1, None), (9, "c")], key=repr)


def test_files_stay_whose_rows_do_not_match(tmp_path):
    write_deltalake(tmp_path, days((1, "a")))
    write_deltalake(tmp_path, days((2, "b"), (3, "c")), mode="append")
    write_deltalake(tmp_path, days((4, "b")), mode="overwrite", predicate="id BETWEEN 2 AND 4")
    kinds = [next(iter(action)) for action in actions(tmp_path, 2)]
    assert kinds == ["commitInfo", "add", "remove"]
    assert rows(tmp_path) == [(1, "a"), (4, "b")]


def test_a_partition_is_replaced_without_reading_a_file(tmp_path):
    write_deltalake(tmp_path, days((1, "a"), (2, "b")), partition_by="day")
    for file in tmp_path.glob("day=*/*.parquet"):
        file.write_bytes(b"")  # whoever opens it finds out
    result = write_deltalake(tmp_path, days((9, "b")), mode="overwrite", predicate="day = 'b'")
    assert result.num_removed_files == 1
    assert [action["remove"]["partitionValues"] for action in actions(tmp_path, 1) if "remove" in action] == [
        {"day": "b"}
    ]


def test_marked_rows_of_all_files_share_one_vector_file(tmp_path):
    write_deltalake(tmp_path, days((1, "a"), (2, "b")), configuration=DELETION_VECTORS)
    write_deltalake(tmp_path, days((3, "a"), (4, "b")), mode="append")
    write_deltalake(tmp_path, days((9, "b")), mode="overwrite", predicate="day = 'b'")
    write_deltalake(tmp_path, days(), mode="overwrite", predicate="id = 3")
    assert len(list(tmp_path.glob("deletion_vector_*.bin"))) == 1
    assert rows(tmp_path) == [(1, "a"), (9, "b")]
    adds = [action["add"] for action in actions(tmp_path, 2) if "add" in action]
    assert [orjson.loads(add["stats"])["tightBounds"] for add in adds if "deletionVector" in add] == [
        False
    ] * 2


def test_rows_that_do_not_fulfil_the_condition_are_refused(tmp_path):
    write_deltalake(tmp_path, days((1, "a")))
    before = sorted(tmp_path.rglob("*.parquet"))
    for data in (days((2, "a")), days((2, None)), days((1, "b"), (2, "a"))):
        with pytest.raises(ConstraintViolationError, match="day = 'b'"):
            write_deltalake(tmp_path, data, mode="overwrite", predicate="day = 'b'")
    assert sorted(tmp_path.rglob("*.parquet")) == before
    assert DeltaTable(tmp_path).version() == 0


@pytest.mark.parametrize("condition", ["nowhere = 1", "day =", "rand() < id", "id"])
def test_a_condition_that_is_not_understood_is_refused_before_a_file_is_written(tmp_path, condition):
    write_deltalake(tmp_path, days((1, "a")))
    before = sorted(tmp_path.rglob("*.parquet"))
    with pytest.raises(InvalidPredicateError):
        write_deltalake(tmp_path, days((1, "a")), mode="overwrite", predicate=condition)
    assert sorted(tmp_path.rglob("*.parquet")) == before


def test_an_overwrite_of_a_condition_conflicts_with_what_it_should_have_read(tmp_path):
    write_deltalake(tmp_path, days((1, "a"), (2, "b")), partition_by="day")
    stale, fresh = DeltaTable(tmp_path), DeltaTable(tmp_path)
    write_deltalake(tmp_path, days((3, "a")), mode="append")
    write_deltalake(stale, days((9, "b")), mode="overwrite", predicate="day = 'b'")
    with pytest.raises(ConcurrentAppendException):
        write_deltalake(fresh, days((9, "a")), mode="overwrite", predicate="day = 'a'")
    assert rows(tmp_path) == [(1, "a"), (3, "a"), (9, "b")]


@settings(max_examples=examples(5), deadline=None)
@given(
    before=st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["a", "b", None])), max_size=12),
    cut=st.integers(0, 9),
    partitioned=st.booleans(),
    marked=st.booleans(),
    twice=st.booleans(),
)
def test_any_overwrite_is_a_deletion_and_an_insertion(
    tmp_path_factory, before, cut, partitioned, marked, twice
):
    path = tmp_path_factory.mktemp("t")
    properties = DELETION_VECTORS if marked else {}
    write_deltalake(path, days(), partition_by=["day"] if partitioned else None, configuration=properties)
    for half in (before[::2], before[1::2]):
        write_deltalake(path, days(*half), mode="append")
    model = list(before)
    for limit in [cut, cut // 2] if twice else [cut]:
        new = [(limit + 20, "b")]
        write_deltalake(path, days(*new), mode="overwrite", predicate=f"id >= {limit} AND day = 'b'")
        model = [(i, d) for i, d in model if not (i >= limit and d == "b")] + new
    assert rows(path) == sorted(model, key=repr)


# --- by the partitions that are written to ---------------------------------------------------------


def test_only_partitions_that_are_written_to_are_replaced(tmp_path):
    write_deltalake(tmp_path, days((1, "a"), (2, "b"), (3, None)), partition_by="day")
    write_deltalake(tmp_path, days((8, "b"), (9, None)), mode="overwrite", partition_overwrite_mode="dynamic")
    assert rows(tmp_path) == sorted([(1, "a"), (8, "b"), (9, None)], key=repr)


VALUES = {
    "date": [datetime.date(2026, 1, 1), None, datetime.date(1, 1, 1)],
    "double": [1.5, float("nan"), -0.0, None],
    "decimal": [Decimal("1.50"), Decimal("-1.00"), None],
    "timestamp": [datetime.datetime(2026, 1, 1, 0, 0, 0, 1, datetime.UTC), None],
    "binary": [b"\x01", b"a", None],
    "boolean": [True, False, None],
    "string": ["a b", "a%20b", "=", None],
}


@pytest.mark.parametrize("kind", VALUES)
def test_partitions_of_every_type_are_told_apart(tmp_path, kind):
    values = VALUES[kind]
    numbers = pa.array(range(len(values)), pa.int64())
    old = pa.table({"p": pa.array(values), "id": numbers})
    write_deltalake(tmp_path, old, partition_by="p")
    new = pa.table({"p": old.column("p").slice(0, 1), "id": [99]})
    write_deltalake(tmp_path, new, mode="overwrite", partition_overwrite_mode="dynamic")
    assert sorted(DeltaTable(tmp_path).to_pyarrow_table()["id"].to_pylist()) == [*range(1, len(values)), 99]


def test_partitions_of_two_columns(tmp_path):
    data = pa.table({"a": [1, 1, 2, 2], "b": ["x", "y", "x", None], "id": [1, 2, 3, 4]})
    write_deltalake(tmp_path, data, partition_by=["a", "b"])
    new = pa.table({"a": [1, 2], "b": ["y", None], "id": [20, 40]})
    write_deltalake(tmp_path, new, mode="overwrite", partition_overwrite_mode="dynamic")
    assert sorted(DeltaTable(tmp_path).to_pyarrow_table()["id"].to_pylist()) == [1, 3, 20, 40]


def chars(tmp_path):
    """A table of CHAR(3) in a column and in the partition column."""
    padded = {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}
    fields = [
        Field("id", "long"),
        Field("c", "string", metadata=padded),
        Field("k", "string", metadata=padded),
    ]
    DeltaTable.create(tmp_path, Schema(fields), partition_by=["k"])
    strings = ["x", "x\x01", "xyz", None]
    write_deltalake(tmp_path, pa.table({"id": [1, 2, 3, 4], "c": strings, "k": strings}), mode="append")


def test_partitions_of_char_are_those_of_their_padded_strings(tmp_path):
    chars(tmp_path)
    new = pa.table({"id": [10, 40], "c": ["x", "x"], "k": ["x", None]})
    write_deltalake(tmp_path, new, mode="overwrite", partition_overwrite_mode="dynamic")
    data = DeltaTable(tmp_path).to_pyarrow_table().sort_by("id")
    assert data["id"].to_pylist() == [2, 3, 10, 40]
    assert data["k"].to_pylist() == ["x\x01 ", "xyz", "x  ", None]


@pytest.mark.parametrize("condition", ["c = 'x'", "k = 'x'", "c = 'x  ' AND k IN ('x', 'y')"])
def test_a_condition_compares_rows_of_char_as_the_table_shows_them(tmp_path, condition):
    chars(tmp_path)
    new = pa.table({"id": [10], "c": ["x"], "k": ["x"]})
    for _ in range(2):
        write_deltalake(tmp_path, new, mode="overwrite", predicate=condition)
        data = DeltaTable(tmp_path).to_pyarrow_table().sort_by("id")
        assert data["id"].to_pylist() == [2, 3, 4, 10]
    with pytest.raises(ConstraintViolationError, match="1 rows of the data"):
        write_deltalake(
            tmp_path, pa.table({"id": [10], "c": ["y"], "k": ["z"]}), mode="overwrite", predicate=condition
        )


def test_no_rows_replace_no_partition(tmp_path):
    write_deltalake(tmp_path, days((1, "a")), partition_by="day")
    write_deltalake(tmp_path, days(), mode="overwrite", partition_overwrite_mode="dynamic")
    assert rows(tmp_path) == [(1, "a")]


def test_a_table_without_partitions_is_replaced_whole(tmp_path):
    write_deltalake(tmp_path, days((1, "a")))
    write_deltalake(tmp_path, days((2, "b")), mode="overwrite", partition_overwrite_mode="dynamic")
    assert rows(tmp_path) == [(2, "b")]


def test_a_condition_takes_an_overwrite_of_the_schema_that_changes_none(tmp_path):
    write_deltalake(tmp_path, days((1, "a"), (2, "b")))
    options = {"mode": "overwrite", "schema_mode": "overwrite", "predicate": "id = 2"}
    write_deltalake(tmp_path, days((2, "c")), **options)
    assert rows(tmp_path) == [(1, "a"), (2, "c")]
    others = days((2, "d"))
    for data in (
        others.append_column("new", pa.array([1])),
        others.select(["id"]),
        others.set_column(0, "id", pa.array(["2"])),
    ):
        with pytest.raises(SchemaMismatchError, match="predicate keeps rows"):
            write_deltalake(tmp_path, data, **options)
    with pytest.raises(SchemaMismatchError, match="partitioned by"):
        write_deltalake(tmp_path, others, partition_by=["id"], **options)
    assert rows(tmp_path) == [(1, "a"), (2, "c")]


# --- what does not go together ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {"mode": "append", "predicate": "id = 1"},
        {"mode": "append", "partition_overwrite_mode": "dynamic"},
        {"mode": "append", "schema_mode": "overwrite"},
        {"mode": "overwrite", "predicate": "id = 1", "partition_overwrite_mode": "dynamic"},
        {"mode": "overwrite", "schema_mode": "overwrite", "partition_overwrite_mode": "dynamic"},
        {"mode": "overwrite", "partition_overwrite_mode": "sometimes"},
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path, arguments):
    write_deltalake(tmp_path, days((1, "a")))
    with pytest.raises(ValueError, match=r"mode|predicate") as refusal:
        write_deltalake(tmp_path, days((1, "a")), **arguments)
    assert isinstance(refusal.value, DeltaError) or "sometimes" in arguments.values()
    assert DeltaTable(tmp_path).version() == 0


def test_an_append_only_table_keeps_its_rows(tmp_path):
    write_deltalake(tmp_path, days((1, "a")), configuration={"delta.appendOnly": "true"})
    with pytest.raises(UnsupportedFeatureError, match="appendOnly"):
        write_deltalake(tmp_path, days((1, "a")), mode="overwrite", predicate="id = 1")


# --- with another schema ---------------------------------------------------------------------------


def test_columns_that_are_new_are_added_by_an_append(tmp_path):
    write_deltalake(tmp_path, days((1, "a")))
    more = pa.table({"ID": [2], "at": [Decimal("1.50")]})
    write_deltalake(tmp_path, more, mode="append", schema_mode="merge")
    assert rows(tmp_path) == [(1, "a", None), (2, None, Decimal("1.50"))]
    assert [next(iter(action)) for action in actions(tmp_path, 1)] == ["commitInfo", "metaData", "add"]


def test_columns_that_are_new_may_come_with_the_rows_of_a_condition(tmp_path):
    write_deltalake(tmp_path, days((1, "a"), (2, "b")))
    data = pa.table({"id": [3], "day": ["b"], "more": [True]})
    write_deltalake(tmp_path, data, mode="overwrite", predicate="day = 'b'", schema_mode="merge")
    assert rows(tmp_path) == [(1, "a", None), (3, "b", True)]


def test_an_overwrite_may_give_the_table_another_schema_and_partitioning(tmp_path):
    write_deltalake(tmp_path, days((1, "a")), partition_by="day")
    data = pa.table({"day": [datetime.date(2026, 1, 1)], "n": ["x"]})
    write_deltalake(tmp_path, data, mode="overwrite", schema_mode="overwrite", partition_by="n")
    assert rows(tmp_path) == [(datetime.date(2026, 1, 1), "x")]
    assert DeltaTable(tmp_path).metadata().partition_columns == ["n"]


def test_a_merge_that_changes_nothing_commits_no_metadata(tmp_path):
    write_deltalake(tmp_path, days((1, "a")))
    write_deltalake(tmp_path, days((2, "a")), mode="append", schema_mode="merge")
    assert [next(iter(action)) for action in actions(tmp_path, 1)] == ["commitInfo", "add"]


@WAYS
@pytest.mark.parametrize("name", ["__file", "__ROW"])
def test_a_condition_on_a_column_named_as_the_places_of_rows_is_refused(tmp_path, properties, name):
    held = pa.table({"id": [1, 2, 3], name: [2, 0, 0]})
    write_deltalake(tmp_path, held, configuration=properties)
    with pytest.raises(UnsupportedFeatureError, match="a column is named __"):
        write_deltalake(tmp_path, held.slice(0, 0), mode="overwrite", predicate=f"{name} = 2")
    assert rows(tmp_path) == [(1, 2), (2, 0), (3, 0)]
