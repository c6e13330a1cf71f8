"""Filters and columns that reads accept; everything else is refused by name."""

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import InvalidPredicateError

ROWS = pa.table({"id": [1, 2, 3, 4, None], "p": ["a", "a", "b", "b", "b"]})


@pytest.fixture
def table(tmp_path):
    write_deltalake(tmp_path, ROWS, partition_by=["p"])
    return DeltaTable(tmp_path)


@pytest.mark.parametrize(
    "filters",
    ["id > 2", [("id", ">", 2)], (("id", ">", 2),), [[("id", "=", 3)], [("id", "=", 4)]], pc.field("id") > 2],
)
def test_filters_are_sql_tuples_or_an_expression(table, filters):
    assert sorted(table.to_pyarrow_table(filters=filters)["id"].to_pylist()) == [3, 4]
    assert sorted(table.to_pandas(filters=filters)["id"]) == [3, 4]
    with pytest.warns(DeprecationWarning, match="use `filters`"):
        found = table.to_pyarrow_table(partitions=[("p", "=", "a")], filters=filters)
    assert found.num_rows == 0


def test_sql_names_columns_of_the_table_alone(table):
    with pytest.raises(InvalidPredicateError):
        table.to_pyarrow_table(filters="nothing = 1")


@pytest.mark.parametrize("filters", [pl.col("id") > 2, True, 3, {"id": 3}])
def test_other_filters_are_refused(table, filters):
    for read in (table.to_pyarrow_table, table.to_pandas):
        with pytest.raises(TypeError, match=r"SQL text, .* tuples or a pyarrow expression, not "):
            read(filters=filters)
    with pytest.raises(TypeError, match=r"SQL text or .* tuples, not "):
        table.file_uris(file_pruning_predicate=filters)
    with pytest.warns(DeprecationWarning), pytest.raises(TypeError, match=r"SQL text or .* tuples, not "):
        table.to_pyarrow_table(partitions=filters)


def test_the_filters_that_deltalake_deprecates_warn_their_caller(table):
    wanted = [("p", "=", "a")]
    for read in (table.to_pyarrow_table, table.to_pandas):
        with pytest.warns(DeprecationWarning, match="use `filters`") as caught:
            assert len(read(partitions=wanted)) == 2
        assert [each.filename for each in caught] == [__file__]
    for call, name in (
        (table.to_pyarrow_dataset, "partitions"),
        (table.file_uris, "partition_filters"),
        (table.partitions, "partition_filters"),
    ):
        with pytest.warns(DeprecationWarning, match=f"`{name}` .* use `file_pruning_predicate`") as caught:
            call(wanted)
        assert [each.filename for each in caught] == [__file__]
        with pytest.raises(ValueError, match=f"`{name}` is deprecated"):
            call(wanted, file_pruning_predicate="id = 1")


@pytest.mark.parametrize("columns", ["id", b"id", 3])
def test_columns_are_a_list_of_names(table, columns):
    for read in (table.to_pyarrow_table, table.to_pandas):
        with pytest.raises(TypeError, match="columns is a list of names, not "):
            read(columns=columns)


def test_columns_may_be_any_list(table):
    assert table.to_pyarrow_table(columns=("p",)).column_names == ["p"]
    assert table.to_pyarrow_table(columns=[]).num_rows == 5


def test_a_negative_limit_of_the_history_is_refused(table):
    assert table.history(0) == []
    with pytest.raises(ValueError, match="-1"):
        table.history(-1)
