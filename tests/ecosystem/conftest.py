"""The tables that every call reads."""

import duckdb
import pyarrow as pa
import pytest

import deltaarrow as da
from tests.ecosystem.calls import Given

PARTITIONS = ["a", "b", None]
DELETED = "id % 10 = 3"


FEATURES = {"delta.enableDeletionVectors": "true", "delta.columnMapping.mode": "name"}


def _flat(path):
    """Numbers and texts, one column renamed."""
    for place, partition in enumerate(PARTITIONS):
        numbers = range(place * 10, place * 10 + 10)
        rows = pa.table(
            {
                "id": pa.array(numbers, pa.int64()),
                "name": [None if number % 7 == 0 else f"n{number}" for number in numbers],
                "p": pa.array([partition] * 10, pa.string()),
            }
        )
        da.write_deltalake(path, rows, mode="append", partition_by=["p"], configuration=FEATURES)
    da.DeltaTable(path).delete(DELETED)
    da.DeltaTable(path).alter.rename_column("name", "full name")


def _nested(path):
    """Variants and structs."""
    for place, partition in enumerate(PARTITIONS):
        rows = duckdb.sql(
            "SELECT i AS id, concat('[', i, ']')::JSON::VARIANT AS v, {'a': i % 4} AS inner, $p::VARCHAR AS p"
            f" FROM range({place * 10}, {place * 10 + 10}) r(i)",
            params={"p": partition},
        )
        da.write_deltalake(path, rows, mode="append", partition_by=["p"], configuration=FEATURES)
    da.DeltaTable(path).delete(DELETED)


SHAPES = {"flat": _flat, "nested": _nested}
"""Columns of a table with column mapping, a partition of NULL, and a deletion vector in every file."""


@pytest.fixture(scope="session", params=SHAPES)
def table_of_shape(request, tmp_path_factory):
    path = tmp_path_factory.mktemp(request.param) / "t"
    SHAPES[request.param](path)
    return request.param, da.DeltaTable(path)


@pytest.fixture
def given(table_of_shape, tmp_path):
    _, table = table_of_shape
    return Given(table, table.to_pyarrow_dataset(), tmp_path)
