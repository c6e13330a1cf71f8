"""Types of Polars and DuckDB whose Arrow export is not their value: refused by name before a row is read.

============================ =========================================
a column of                  its Arrow export
============================ =========================================
Polars' ``Object``           the addresses of Python objects, as bytes
Polars' 128-bit integers     a format that only Polars reads
DuckDB's ``BIT``             bytes of DuckDB's own form
DuckDB's ``UHUGEINT``        a signed number: 2^128 - 1 is -1
DuckDB's ``HUGEINT``         ``decimal(38,0)``, also for 39 digits
DuckDB's ``infinity``        the last microsecond or day of Arrow's type
============================ =========================================

The last two are values of types that have other values: `checked_batches` looks at the rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError

__all__ = ["checked_reader", "ensure_duckdb_types", "ensure_polars_types"]

_OF_POLARS = {
    "Object": "it has addresses of Python objects; cast the values to a type, as by"
    " pl.Series(name, values, dtype=...)",
    "Int128": "cast it, as by .cast(pl.Decimal(38, 0)) or .cast(pl.Int64)",
    "UInt128": "cast it, as by .cast(pl.Decimal(38, 0)) or .cast(pl.Int64)",
}
_OF_DUCKDB = {
    "bit": "cast it, as by CAST({name} AS VARCHAR)",
    "uhugeint": "cast it, as by CAST({name} AS DECIMAL(38,0))",
}
_PARTS = frozenset({"array", "list", "map", "struct", "union"})
_DIGITS = 38
_MOST = 10**_DIGITS - 1


def ensure_polars_types(schema: Any) -> None:
    """Raise `UnsupportedFeatureError` for a Polars schema with a type whose export is not its value."""
    for name, dtype in schema.items():
        for each in _polars_types(dtype):
            remedy = _OF_POLARS.get(str(each))
            if remedy is not None:
                raise UnsupportedFeatureError(
                    f"column {name!r}: Delta has no type for Polars' {each}; {remedy}", feature=str(each)
                )


def _polars_types(dtype: Any) -> Iterator[Any]:
    yield dtype
    inner = getattr(dtype, "inner", None)
    if inner is not None:
        yield from _polars_types(inner)
    for field in getattr(dtype, "fields", ()):
        yield from _polars_types(field.dtype)


def ensure_duckdb_types(names: Sequence[str], types: Sequence[Any]) -> None:
    """Raise `UnsupportedFeatureError` for columns of DuckDB with a type whose export is not its value.

    Args:
        names: of the columns.
        types: their types, as ``relation.types`` has them.
    """
    for name, dtype in zip(names, types, strict=True):
        for each in _duckdb_types(dtype):
            remedy = _OF_DUCKDB.get(each.id)
            if remedy is not None:
                raise UnsupportedFeatureError(
                    f"column {name!r}: Delta has no type for DuckDB's {each}; {remedy.format(name=name)}",
                    feature=str(each),
                )


def _duckdb_types(dtype: Any) -> Iterator[Any]:
    yield dtype
    if dtype.id in _PARTS:
        # The size of an array stands beside its element.
        yield from (part for _, each in dtype.children if hasattr(each, "id") for part in _duckdb_types(each))


def checked_reader(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Return DuckDB's rows; reading raises `SchemaMismatchError` for a value that only DuckDB has."""
    if not any(_is_checked(part) for each in reader.schema.types for part in _arrow_types(each)):
        return reader
    return pa.RecordBatchReader.from_batches(reader.schema, _checked(reader))


def _checked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            for array in _leaves(column):
                _ensure_values(name, array)
        yield batch


def _is_checked(arrow_type: pa.DataType) -> bool:
    types = pa.types
    if types.is_decimal128(arrow_type):
        return bool(arrow_type.precision == _DIGITS and arrow_type.scale == 0)
    return bool(types.is_timestamp(arrow_type) or types.is_date32(arrow_type))


def _ensure_values(name: str, array: pa.Array) -> None:
    if not _is_checked(array.type) or array.null_count == len(array):
        return
    is_decimal = pa.types.is_decimal(array.type)
    found = pc.min_max(array if is_decimal else array.view(f"int{array.type.bit_width}"))
    least, most = found["min"], found["max"]
    if is_decimal:
        if most.as_py() > _MOST or least.as_py() < -_MOST:
            raise SchemaMismatchError(
                f"column {name!r} has a HUGEINT of 39 digits; Delta's decimals have at most 38: cast the"
                " column, as by CAST(... AS VARCHAR)"
            )
        return
    last = 2 ** (array.type.bit_width - 1) - 1
    if most.as_py() == last or least.as_py() == -last:
        raise SchemaMismatchError(
            f"column {name!r} has the value infinity, which only DuckDB's dates and timestamps have; replace"
            " it, as by CASE WHEN isfinite(...) THEN ... END"
        )


def _arrow_types(arrow_type: pa.DataType) -> Iterator[pa.DataType]:
    yield arrow_type
    for place in range(arrow_type.num_fields):
        yield from _arrow_types(arrow_type.field(place).type)


def _leaves(array: pa.Array) -> Iterator[pa.Array]:
    """The arrays of simple values in an array; the values that slices and NULL lists hide are left out."""
    types = pa.types
    if types.is_struct(array.type):
        for each in array.flatten():
            yield from _leaves(each)
    elif types.is_map(array.type):
        entries = array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))
        yield from _leaves(entries.flatten())
    elif types.is_list(array.type) or types.is_large_list(array.type) or types.is_fixed_size_list(array.type):
        yield from _leaves(array.flatten())
    else:
        yield array
