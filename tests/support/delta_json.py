"""The protocol's JSON spellings of Arrow types, statistics and values, for `tests.support.tables`.

Written independently of the package, so that a test compares two opinions.
"""

import datetime
import decimal
import json
import math
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["bounds_type", "counts_type", "delta_schema", "delta_type", "file_statistics", "typed"]


def delta_schema(schema: pa.Schema) -> dict[str, Any]:
    """The protocol's JSON form of an Arrow schema; field metadata values that are JSON are decoded."""
    return delta_type(pa.struct(list(schema)))


def delta_type(data_type: pa.DataType) -> Any:
    """The protocol's JSON form of an Arrow type."""
    if pa.types.is_struct(data_type):
        return {
            "type": "struct",
            "fields": [
                {
                    "name": field.name,
                    "type": delta_type(field.type),
                    "nullable": field.nullable,
                    "metadata": _field_metadata(field),
                }
                for field in data_type
            ],
        }
    if pa.types.is_map(data_type):
        return {
            "type": "map",
            "keyType": delta_type(data_type.key_type),
            "valueType": delta_type(data_type.item_type),
            "valueContainsNull": data_type.item_field.nullable,
        }
    if pa.types.is_list(data_type):
        return {
            "type": "array",
            "elementType": delta_type(data_type.value_type),
            "containsNull": data_type.value_field.nullable,
        }
    if pa.types.is_decimal(data_type):
        return f"decimal({data_type.precision},{data_type.scale})"
    if pa.types.is_timestamp(data_type):
        return "timestamp" if data_type.tz else "timestamp_ntz"
    return {
        pa.int8(): "byte",
        pa.int16(): "short",
        pa.int32(): "integer",
        pa.int64(): "long",
        pa.float32(): "float",
        pa.float64(): "double",
        pa.bool_(): "boolean",
        pa.string(): "string",
        pa.binary(): "binary",
        pa.date32(): "date",
        pa.null(): "void",
    }[data_type]


def file_statistics(rows: pa.Table) -> dict[str, Any]:
    """Statistics of `rows`: exact strings, timestamps cut to milliseconds, no bounds where there is NaN."""
    low, high, nulls = _column_statistics(rows.combine_chunks().to_struct_array().combine_chunks())
    return {"numRecords": rows.num_rows, "minValues": low, "maxValues": high, "nullCount": nulls}


def _column_statistics(column: pa.StructArray) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    for index, field in enumerate(column.type):
        values = column.flatten()[index]  # unlike .field(), NULL where the parent is
        if pa.types.is_struct(field.type):
            low[field.name], high[field.name], nulls[field.name] = _column_statistics(values)
            continue
        nulls[field.name] = values.null_count
        skipped = pa.types.is_nested(field.type) or field.type in (pa.bool_(), pa.binary(), pa.null())
        if skipped or values.null_count == len(values):
            continue
        least, most = pc.min(values).as_py(), pc.max(values).as_py()
        if not (isinstance(least, float) and pc.any(pc.is_nan(values)).as_py()):
            low[field.name], high[field.name] = _json_bound(least), _json_bound(most)
    return low, high, nulls


def _json_bound(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        text = value.replace(tzinfo=None).isoformat(timespec="milliseconds")
        return text + ("Z" if value.tzinfo else "")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return float(value) if value % 1 else int(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    return value


def bounds_type(fields: Iterable[pa.Field]) -> pa.DataType | None:
    """The type of `minValues` in ``stats_parsed``, or None where no column has bounds."""
    kept = []
    for field in fields:
        if pa.types.is_struct(field.type):
            inner = bounds_type(field.type)
            kept += [] if inner is None else [pa.field(field.name, inner)]
        elif not pa.types.is_nested(field.type) and field.type not in (pa.bool_(), pa.binary(), pa.null()):
            kept.append(pa.field(field.name, field.type))
    return pa.struct(kept) if kept else None


def counts_type(fields: Iterable[pa.Field]) -> pa.DataType:
    """The type of `nullCount` in ``stats_parsed``."""
    return pa.struct(
        [
            (field.name, counts_type(field.type) if pa.types.is_struct(field.type) else pa.int64())
            for field in fields
        ]
    )


def typed(value: Any, wanted: pa.DataType) -> Any:
    """`value` out of JSON as `pa.array(..., wanted)` takes it."""
    if value is None:
        return None
    if pa.types.is_struct(wanted):
        return {field.name: typed(value.get(field.name), field.type) for field in wanted}
    if pa.types.is_map(wanted):
        return list(value.items())
    if pa.types.is_timestamp(wanted):
        parsed = datetime.datetime.fromisoformat(value)
        return parsed.replace(tzinfo=None if wanted.tz is None else parsed.tzinfo or datetime.UTC)
    if pa.types.is_date(wanted):
        return datetime.date.fromisoformat(value)
    if pa.types.is_decimal(wanted):
        return decimal.Decimal(str(value)).quantize(decimal.Decimal(1).scaleb(-wanted.scale))
    if pa.types.is_integer(wanted):
        return int(value)
    if pa.types.is_floating(wanted):
        return float(value)
    if pa.types.is_boolean(wanted):
        return value if isinstance(value, bool) else value == "true"
    if pa.types.is_binary(wanted):
        return value.encode()
    return value


def _field_metadata(field: pa.Field) -> dict[str, Any]:
    found = {}
    for key, value in (field.metadata or {}).items():
        text = value.decode()
        try:
            found[key.decode()] = json.loads(text)
        except ValueError:
            found[key.decode()] = text
    return found
