"""Functions on variants that the SQL of expressions calls: Python over Arrow, given to a DuckDB connection.

Inside expressions a variant is a struct of the bytes of its metadata and its value, so that a variant that is
null differs from NULL, and every value keeps its type.
"""

import json
from typing import Any

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import integers
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.spark_sql.tree.kernel_calls import (
    ELEMENTS,
    FIELDS,
    JSON,
    KIND,
    LEAF,
    MAKE,
    PARSE,
    PART,
    SCHEMA,
    Kernel,
)
from deltaarrow.spark_sql.types.inferred_types import schema_of_variants
from deltaarrow.spark_sql.types.type_rules import VARIANT, sql_type
from deltaarrow.variant import (
    VARIANT_NULL,
    VARIANT_TYPE,
    Primitive,
    build,
    parse_json,
    to_json,
    variant_elements,
    variant_extract,
    visit,
)
from deltaarrow.variant.binary import python_value
from deltaarrow.variant.containers import basic_types
from deltaarrow.variant.decoding import decode
from deltaarrow.variant.encoding_numbers import Basic
from deltaarrow.variant.ragged import is_valid, spans

__all__ = ["KERNELS"]

_LEAF_TYPE = "STRUCT(kind VARCHAR, whole BIGINT, number DOUBLE, text VARCHAR, bytes BLOB)"
_UNSURE = {"metadata": b"", "value": b""}


def _part(variants: Any, paths: Any) -> pa.Array:
    return variant_extract(_array(variants), paths[0].as_py()) if len(variants) else _array(variants)


def _json(variants: Any) -> pa.Array:
    return to_json(variants)


_OF_BASIC = np.array(["plain", "plain", "object", "array"])
"""The kind by the basic type of a value."""


def _kinds(variants: Any) -> pa.Array:
    variants = _array(variants)
    values = variants.field("value").cast(pa.large_binary())
    rows = np.flatnonzero(is_valid(values) & is_valid(variants))
    found = spans(values).where(rows)
    kinds = np.full(len(values), None, object)
    kinds[rows] = _OF_BASIC[basic_types(found)]
    kinds[rows[found.data[found.starts] == VARIANT_NULL[0]]] = "null"
    return pa.array(kinds, pa.string())


def _elements(variants: Any) -> pa.Array:
    return variant_elements(_array(variants), Basic.ARRAY)


def _fields(variants: Any) -> pa.Array:
    return variant_elements(_array(variants), Basic.OBJECT)


def _made(keys: Any, variants: Any) -> pa.Array:
    rows = zip(keys.to_pylist(), variants.to_pylist(), strict=True)
    return pa.array(
        [None if values is None else _made_one(names, values) for names, values in rows], VARIANT_TYPE
    )


def _made_one(names: list[str] | None, variants: list[dict[str, bytes] | None]) -> dict[str, bytes]:
    values = _values(variants)
    return build(values if names is None else dict(zip(names, values, strict=True)))._asdict()


def _values(variants: list[dict[str, bytes] | None]) -> list[Any]:
    """The values of variants, in which the two kinds of floating numbers differ."""
    return [None if v is None else visit(v["metadata"], v["value"], _value, list, dict) for v in variants]


def _value(kind: Primitive, content: Any) -> Any:
    return np.float32(content) if kind == Primitive.FLOAT else python_value(kind, content)


def _schemas(lists: Any) -> pa.Array:
    return pa.array([schema_of_variants(each or []) for each in lists.to_pylist()], pa.string())


def _parsed(texts: Any) -> pa.Array:
    try:
        return parse_json(_array(texts))
    except SchemaMismatchError:
        kind = parse_json(pa.array([], pa.string())).type
        return pa.array([_parsed_one(each.as_py()) for each in texts], kind)


def _parsed_one(text: str | None) -> dict[str, bytes] | None:
    if text is None:
        return None
    try:
        (found,) = parse_json(pa.array([text])).to_pylist()
    except SchemaMismatchError:
        return _UNSURE if _begins_with_json(text) else None
    value: dict[str, bytes] = found
    return value


def _begins_with_json(text: str) -> bool:
    """Whether there is text behind a value, which Spark drops."""
    try:
        _, end = json.JSONDecoder().raw_decode(text.lstrip())
    except ValueError:
        return False
    return bool(text.lstrip()[end:].strip())


def _leaf(variants: Any) -> pa.Array:
    variants = _array(variants)
    values = variants.field("value").cast(pa.large_binary())
    rows = np.flatnonzero(is_valid(values) & is_valid(variants))
    sources = np.zeros(len(values), np.int64)
    blocks, filled = [pa.nulls(1, _LEAF_ARROW)], 1
    for chosen, decoded in decode(spans(values).where(rows)):
        places = rows[chosen]
        sources[places] = filled + np.arange(len(chosen))
        filled += len(chosen)
        blocks.append(_leaves(decoded))
    return pc.take(pa.concat_arrays(blocks), integers(sources))


_LEAF_ARROW = pa.struct(
    [
        ("kind", pa.string()),
        ("whole", pa.int64()),
        ("number", pa.float64()),
        ("text", pa.string()),
        ("bytes", pa.binary()),
    ]
)


def _leaves(decoded: pa.Array) -> pa.Array:
    """Values of one kind; of objects and arrays the kind alone."""
    kind, member, held = _held(decoded)
    count = len(decoded)
    columns = [
        pa.array([kind] * count, pa.string()) if field.name == "kind"
        else held.cast(field.type) if field.name == member
        else pa.nulls(count, field.type)
        for field in _LEAF_ARROW
    ]  # fmt: skip
    return pa.StructArray.from_arrays(columns, fields=list(_LEAF_ARROW))


def _held(decoded: pa.Array) -> tuple[str, str, pa.Array]:
    """The kind of some values, the member that holds them, and they in its type."""
    kind, types = decoded.type, pa.types
    if types.is_struct(kind):
        return "nested", "text", pa.nulls(len(decoded), pa.string())
    if types.is_boolean(kind):
        return "boolean", "whole", decoded
    if types.is_integer(kind):
        return "long", "whole", decoded
    if types.is_float32(kind):
        return "float", "number", decoded
    if types.is_float64(kind):
        return "double", "number", decoded
    if types.is_decimal(kind):
        return "decimal", "text", pa.array([_plain(each.as_py()) for each in decoded], pa.string())
    if types.is_large_string(kind) or types.is_string(kind):
        return "string", "text", decoded
    if types.is_date32(kind):
        return "date", "whole", decoded.view(pa.int32())
    if types.is_timestamp(kind) and kind.unit == "us":
        return "timestamp" if kind.tz else "timestamp_ntz", "whole", decoded.view(pa.int64())
    if types.is_fixed_size_binary(kind) or not (types.is_binary(kind) or types.is_large_binary(kind)):
        return "other", "whole", pa.nulls(len(decoded), pa.int64())
    return "binary", "bytes", decoded


def _plain(value: Any) -> str:
    """A decimal without zeros at the end, as Spark reads it."""
    text = format(value, "f")
    return "0" if not value else text.rstrip("0").rstrip(".") if "." in text else text


def _array(column: Any) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)
    return column


_BYTES = sql_type(VARIANT)
_KEYED = f"STRUCT(key VARCHAR, value {_BYTES})[]"
KERNELS = {
    PART: Kernel(_part, (_BYTES, "VARCHAR"), _BYTES),
    LEAF: Kernel(_leaf, (_BYTES,), _LEAF_TYPE),
    JSON: Kernel(_json, (_BYTES,), "VARCHAR"),
    PARSE: Kernel(_parsed, ("VARCHAR",), _BYTES),
    KIND: Kernel(_kinds, (_BYTES,), "VARCHAR"),
    ELEMENTS: Kernel(_elements, (_BYTES,), _KEYED),
    FIELDS: Kernel(_fields, (_BYTES,), _KEYED),
    MAKE: Kernel(_made, ("VARCHAR[]", f"{_BYTES}[]"), _BYTES),
    SCHEMA: Kernel(_schemas, (f"{_BYTES}[]",), "VARCHAR"),
}
"""Each function by its name."""
