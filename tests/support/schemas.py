"""Random schemas, and data that nearly, but not quite, fits a table's schema."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaarrow.schema import (
    ArrayType,
    DataType,
    Field,
    MapType,
    PrimitiveType,
    Schema,
    StructType,
    to_arrow_type,
)

__all__ = ["pairs", "sample_rows"]

_FAMILIES = [
    ["byte", "short", "integer", "long"],
    ["float", "double"],
    ["decimal(6,2)", "decimal(9,3)", "decimal(12,3)", "decimal(7,4)"],
    ["date", "timestamp_ntz"],
    ["string"],
    ["boolean"],
]
"""Types that data and table may have of one column; a timestamp alone is not to be stored as a date."""

_VALUES = {
    "float": 0.5,
    "double": 0.5,
    "string": "s",
    "boolean": True,
    "date": dt.date(2020, 1, 2),
    "timestamp_ntz": dt.datetime(2020, 1, 2),
}


@st.composite
def _data_types(draw: st.DrawFn, depth: int = 2) -> DataType:
    kind = draw(st.integers(0, 6 if depth else 3))
    if kind <= 3:
        return PrimitiveType(draw(st.sampled_from(draw(st.sampled_from(_FAMILIES)))))
    if kind == 4:
        return ArrayType(draw(_data_types(depth - 1)))
    if kind == 5:
        return MapType(draw(st.sampled_from(["string", "integer"])), draw(_data_types(depth - 1)))
    return StructType(draw(_field_lists("abc", depth - 1)))


@st.composite
def _field_lists(draw: st.DrawFn, names: str, depth: int = 2, least: int = 1) -> list[Field]:
    chosen = draw(st.lists(st.sampled_from(names), unique=True, min_size=least))
    return [Field(name, draw(_data_types(depth))) for name in chosen]


@st.composite
def _variations(draw: st.DrawFn, data_type: DataType) -> DataType:
    """What data for a column of a type may look like."""
    match data_type:
        case PrimitiveType():
            family = next(family for family in _FAMILIES if data_type.type in family)
            return PrimitiveType(draw(st.sampled_from(family)))
        case ArrayType():
            return ArrayType(draw(_variations(data_type.element_type)))
        case MapType():
            return MapType(draw(_variations(data_type.key_type)), draw(_variations(data_type.value_type)))
    kept = [field for field in data_type.fields if draw(st.integers(0, 3))]
    fields = [
        Field(draw(st.sampled_from([field.name, field.name.upper()])), draw(_variations(field.type)))
        for field in kept
    ]
    fields += draw(_field_lists("xy", 1, least=0 if fields else 1))
    return StructType(draw(st.permutations(fields)))


def _value(data_type: DataType) -> Any:
    match data_type:
        case ArrayType():
            return [_value(data_type.element_type), None]
        case MapType():
            return [(_value(data_type.key_type), _value(data_type.value_type))]
        case StructType():
            return {field.name: _value(field.type) for field in data_type.fields}
    if data_type.decimal:
        return Decimal("0.5")
    return _VALUES.get(data_type.type, 1)


def sample_rows(schema: StructType) -> pa.RecordBatch:
    """A row with a value in every column and every part of it, and a row of NULLs."""
    columns = [pa.array([_value(f.type), None], to_arrow_type(f.type)) for f in schema.fields]
    return pa.RecordBatch.from_arrays(columns, names=schema.names)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Schema, Schema]:
    """A table's schema, and one of data for it: columns left out, added, in other cases, orders and types."""
    table = Schema(draw(_field_lists("abc")))
    data = draw(_variations(table))
    assert isinstance(data, StructType)
    return table, Schema(data.fields)
