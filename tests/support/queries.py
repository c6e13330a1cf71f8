"""Small tables of odd values, and queries in Spark's dialect over them, run by the compiler and DuckDB."""

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from deltaarrow.schema import ArrayType, DataType, Field, MapType, Schema, StructType
from deltaarrow.spark_sql.queries import CompiledQuery, Parameters, Relation, Travel, compile_query

__all__ = ["QUERIES", "RESULTS", "TABLES", "Known", "compared", "described", "run_here", "time"]


def time(text: str) -> datetime.datetime:
    """A time in UTC."""
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)


_DATE, _TIMES = datetime.date, pa.timestamp("us", "UTC")

TABLES: dict[str, pa.Table] = {
    "t": pa.table(
        {
            "id": pa.array([1, 2, 3, 4, 5, 6, 7], pa.int64()),
            "a": pa.array([1, 1, None, 2, 2, -5, 2147483647], pa.int32()),
            "b": pa.array([10, 20, 30, None, 10, 0, 7], pa.int32()),
            "h": pa.array([1, -1, None, 127, -128, 0, 5], pa.int8()),
            "s": pa.array(["x", "y", None, "", "añ👍é", "X", "x "], pa.string()),
            "d": pa.array([0.5, float("nan"), -0.0, 0.0, None, float("inf"), float("nan")], pa.float64()),
            "f": pa.array([1.5, -0.0, float("nan"), 0.0, None, -1.0, 1.5], pa.float32()),
            "m": pa.array(
                [
                    Decimal("1.50"),
                    Decimal("2.55"),
                    None,
                    Decimal("-99999999.99"),
                    Decimal("0.00"),
                    Decimal("1.50"),
                    Decimal("12345678.90"),
                ],
                pa.decimal128(10, 2),
            ),
            "o": pa.array([True, False, None, True, False, None, True], pa.bool_()),
            "dt": pa.array(
                [
                    _DATE(2020, 1, 1),
                    _DATE(2020, 1, 2),
                    None,
                    _DATE(1, 1, 1),
                    _DATE(9999, 12, 31),
                    _DATE(1969, 12, 31),
                    _DATE(2020, 1, 1),
                ],
                pa.date32(),
            ),
            "ts": pa.array(
                [
                    time("2020-01-01T00:00:00"),
                    time("2021-06-15T12:30:45.123456"),
                    None,
                    time("0001-01-01T00:00:00"),
                    time("9999-12-31T23:59:59.999999"),
                    time("1969-12-31T23:59:59.9"),
                    time("2020-01-01T00:00:00"),
                ],
                _TIMES,
            ),
        }
    ),
    "u": pa.table(
        {
            "id": pa.array([1, 2, 2, 4, None, 9], pa.int64()),
            "b": pa.array([10, 21, 20, None, 10, 7], pa.int32()),
            "x": pa.array(["p", "q", "q", "r", None, "x"], pa.string()),
            "d": pa.array([0.0, float("nan"), 0.5, -0.0, None, 2.5], pa.float64()),
            "m": pa.array(
                [Decimal("1.5"), Decimal("2.5"), None, Decimal("7.0"), Decimal("1.5"), Decimal("0.1")],
                pa.decimal128(5, 1),
            ),
        }
    ),
    "n": pa.table(
        {
            "id": pa.array([1, 2, 3, 4], pa.int64()),
            "ar": pa.array([[1, 2, None], [], None, [3]], pa.list_(pa.int32())),
            "st": pa.array(
                [{"a": 1, "c": "z"}, {"a": None, "c": "y"}, None, {"a": 1, "c": None}],
                pa.struct([("a", pa.int32()), ("c", pa.string())]),
            ),
            "mp": pa.array([[("k", 1), ("l", None)], [], None, [("k", 5)]], pa.map_(pa.string(), pa.int32())),
            "sts": pa.array(
                [[{"p": 1, "q": "a"}, {"p": 2, "q": None}], [], None, [None, {"p": 3, "q": "c"}]],
                pa.list_(pa.struct([("p", pa.int32()), ("q", pa.string())])),
            ),
            "tss": pa.array([[time("2020-01-01T00:00:00")], [None], None, []], pa.list_(_TIMES)),
        }
    ),
    "e": pa.table({"id": pa.array([], pa.int64()), "v": pa.array([], pa.string())}),
}
"""The tables by name."""

_FILE = Path(__file__).with_name("queries.sql")

RESULTS = Path(__file__).with_name("queries_of_spark.json")
"""Spark's results for `QUERIES`."""

QUERIES = [each for each in _FILE.read_text().splitlines() if each.strip() and not each.startswith("--")]
"""Queries that Spark runs too, one a line; `OR: ` begins those that Spark refuses as well."""


class Known:
    """The relations of `TABLES`, of which the travels are noted."""

    def __init__(self) -> None:
        self.travels: list[tuple[tuple[str, ...], Travel | None]] = []
        self.schemas = {name: Schema.from_arrow(table.schema) for name, table in TABLES.items()}

    def table(self, names: tuple[str, ...], travel: Travel | None) -> Relation:
        self.travels.append((names, travel))
        return Relation(f'"{names[-1]}"', self.schemas[names[-1].lower()])

    def function(self, name: str, arguments: tuple[object, ...]) -> Relation | None:
        return None


_connections: list[duckdb.DuckDBPyConnection] = []


def run_here(text: str, parameters: Parameters | None = None) -> tuple[CompiledQuery, pa.Table]:
    """Compile a query and run it over `TABLES`."""
    if not _connections:
        connection = duckdb.connect()
        # No value may depend on the time zone of the connection.
        connection.execute("SET timezone = 'America/New_York'")
        for name, table in TABLES.items():
            connection.register(f"given_{name}", table)
            connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM given_{name}')
        _connections.append(connection)
    compiled = compile_query(text, Known(), parameters)
    return compiled, _connections[0].sql(compiled.sql).to_arrow_table()


def compared(table: pa.Table, *, is_ordered: bool) -> list[tuple[str, ...]]:
    """The rows as texts that tell the zeros of floating numbers apart; sorted if their order is open."""
    columns = [
        [repr(value) for value in column.cast(_countable(column.type)).to_pylist()]
        for column in table.columns
    ]
    rows = list(zip(*columns, strict=True))
    return rows if is_ordered else sorted(rows)


def _countable(data_type: pa.DataType) -> pa.DataType:
    """The type with numbers in place of times, of which Python does not have all."""
    if pa.types.is_timestamp(data_type):
        return pa.int64()
    if pa.types.is_map(data_type):
        return pa.map_(_countable(data_type.key_type), _countable(data_type.item_type))
    if pa.types.is_list(data_type):
        return pa.list_(_countable(data_type.value_type))
    if pa.types.is_struct(data_type):
        return pa.struct([(each.name, _countable(each.type)) for each in data_type])
    return data_type


def described(text: str, rows: pa.Table, schema: StructType | None = None) -> dict[str, Any]:
    """Names, types and rows of a query's result, as they are recorded."""
    fields = (Schema.from_arrow(rows.schema) if schema is None else schema).fields
    is_ordered = "ORDER BY" in text.rpartition(")")[2]
    return {
        "names": [each.name for each in fields],
        "types": [json.loads(_shape(each.type).to_json()) for each in fields],
        "rows": [list(row) for row in compared(rows, is_ordered=is_ordered)],
    }


def _shape(data_type: DataType) -> DataType:
    if isinstance(data_type, ArrayType):
        return ArrayType(_shape(data_type.element_type))
    if isinstance(data_type, MapType):
        return MapType(_shape(data_type.key_type), _shape(data_type.value_type))
    if isinstance(data_type, StructType):
        return StructType([Field(each.name, _shape(each.type)) for each in data_type.fields])
    return data_type
