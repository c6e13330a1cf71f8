"""Types inferred from documents, as in ``schema_of_json`` and ``schema_of_variant``.

The type of a document is that of its parts. Where the elements of an array differ, they have the narrowest
type that holds them all; what that is for values that have nothing in common, the caller says.
"""

import json
import re
from decimal import Decimal
from typing import Any

from deltaarrow.schema import ArrayType, DataType, Field, PrimitiveType, StructType
from deltaarrow.spark_sql.types.column_ddl import spark_type_name
from deltaarrow.spark_sql.types.type_rules import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    VOID,
    as_decimal,
    decimal_of,
)
from deltaarrow.variant import Primitive, visit
from deltaarrow.variant.encoding_numbers import DECIMAL_DIGITS

__all__ = ["merged", "schema_of_json", "schema_of_variants", "written"]

_MOST_DIGITS = 38
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_RISING = ((LONG, FLOAT, DOUBLE), (DATE, TIMESTAMP_NTZ, TIMESTAMP))
"""Types of which each holds the values of those before it."""

_LEAVES = {
    **dict.fromkeys((Primitive.INT8, Primitive.INT16, Primitive.INT32, Primitive.INT64), LONG),
    **dict.fromkeys((Primitive.TRUE, Primitive.FALSE), BOOLEAN),
    Primitive.NULL: VOID,
    Primitive.FLOAT: FLOAT,
    Primitive.DOUBLE: DOUBLE,
    Primitive.STRING: STRING,
    Primitive.BINARY: PrimitiveType("binary"),
    Primitive.DATE: DATE,
    Primitive.TIMESTAMP: TIMESTAMP,
    Primitive.TIMESTAMP_NTZ: TIMESTAMP_NTZ,
}


def merged(one: DataType, other: DataType, mixed: DataType) -> DataType:
    """The narrowest type of values of two types; `mixed` for types that have nothing in common.

    >>> merged(LONG, PrimitiveType("decimal(3,1)"), VARIANT)
    PrimitiveType("decimal(21,1)")
    """
    if one == other or other == VOID:
        return one
    if one == VOID:
        return other
    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return ArrayType(merged(one.element_type, other.element_type, mixed))
    if isinstance(one, StructType) and isinstance(other, StructType):
        return _with_fields([*one.fields, *other.fields], mixed)
    for types in _RISING:
        if one in types and other in types:
            return max(one, other, key=types.index)
    if {one, other} & {FLOAT, DOUBLE} and (decimal_of(one) or decimal_of(other)):
        return DOUBLE
    digits = [as_decimal(each) for each in (one, other)]
    if None in digits:
        return mixed
    whole, places = (max(part) for part in zip(*((p - s, s) for p, s in digits), strict=True))  # type: ignore[misc]
    return DOUBLE if whole + places > _MOST_DIGITS else PrimitiveType(f"decimal({whole + places},{places})")


def _with_fields(fields: list[Field], mixed: DataType) -> StructType:
    """A struct of the fields, those of one name merged, in the order in which Spark lists them."""
    types: dict[str, DataType] = {}
    for each in fields:
        types[each.name] = merged(types.get(each.name, VOID), each.type, mixed)
    names = sorted(types, key=lambda name: name.encode("utf-16-be"))
    return StructType([Field(name, types[name]) for name in names])


def _elements(types: list[DataType], mixed: DataType) -> ArrayType:
    found: DataType = VOID
    for each in types:
        found = merged(found, each, mixed)
    return ArrayType(found)


def written(data_type: DataType, struct: str = "STRUCT") -> str:
    """A type as Spark writes it, with this word for structs.

    >>> written(StructType([Field("a b", ArrayType("long"))]), "OBJECT")
    'OBJECT<`a b`: ARRAY<BIGINT>>'
    """
    if isinstance(data_type, ArrayType):
        return f"ARRAY<{written(data_type.element_type, struct)}>"
    if isinstance(data_type, StructType):
        members = (f"{_name(each.name)}: {written(each.type, struct)}" for each in data_type.fields)
        return f"{struct}<{', '.join(members)}>"
    return spark_type_name(data_type).upper()


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"


def schema_of_variants(variants: list[dict[str, bytes] | None]) -> str | None:
    """The type of all variants together; None if one holds a value of a type that Spark does not have."""
    found: DataType = VOID
    try:
        for each in variants:
            if each is not None:
                kind = visit(each["metadata"], each["value"], _leaf, _array, _object)
                found = merged(found, kind, VARIANT)
    except KeyError:
        return None
    return written(found, "OBJECT")


def _array(types: list[DataType]) -> DataType:
    return _elements(types, VARIANT)


def _object(fields: list[tuple[str, DataType]]) -> DataType:
    return _with_fields([Field(*each) for each in fields], VARIANT)


def _leaf(kind: Primitive, content: Any) -> DataType:
    return _decimal(content) if kind in DECIMAL_DIGITS else _LEAVES[kind]


def _decimal(value: Decimal) -> DataType:
    """The type with the digits of a decimal, but zeros at its end."""
    text = format(value, "f")
    whole, _, places = text.lstrip("-").partition(".")
    places = places.rstrip("0")
    count = len((whole + places).lstrip("0")) or 1
    return PrimitiveType(f"decimal({max(count, len(places))},{len(places)})")


def schema_of_json(text: str) -> str:
    """The type of a JSON text.

    Raises `ValueError` for a text that Spark may read in a way of its own.

    >>> schema_of_json('{"b": [1, 2.5], "a": null}')
    'STRUCT<a: STRING, b: ARRAY<DOUBLE>>'
    """
    found = json.loads(
        text,
        parse_int=_whole,
        parse_float=lambda _: DOUBLE,
        parse_constant=_no_constant,
        object_pairs_hook=_members,
    )
    return written(_known(_of_json(found)))


def _of_json(value: Any) -> DataType:
    if isinstance(value, DataType):
        return value
    if isinstance(value, list):
        return _elements([_of_json(each) for each in value], STRING)
    if value is None:
        return VOID
    return BOOLEAN if isinstance(value, bool) else STRING


def _whole(digits: str) -> DataType:
    if -(1 << 63) <= int(digits) < 1 << 63:
        return LONG
    count = len(digits.lstrip("-"))
    return DOUBLE if count > _MOST_DIGITS else PrimitiveType(f"decimal({count},0)")


def _no_constant(word: str) -> DataType:
    raise ValueError(f"{word} in JSON")


def _members(pairs: list[tuple[str, Any]]) -> DataType:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("an object with two fields of one name")
    return _with_fields([Field(name, _of_json(value)) for name, value in pairs], STRING)


def _known(data_type: DataType) -> DataType:
    """The type with texts for values of which nothing but null is known."""
    if isinstance(data_type, ArrayType):
        return ArrayType(_known(data_type.element_type))
    if isinstance(data_type, StructType):
        return StructType([Field(each.name, _known(each.type)) for each in data_type.fields])
    return STRING if data_type == VOID else data_type
