"""Spark's rules for types of operands and results: ANSI type coercion and decimal arithmetic."""

from collections.abc import Mapping

from deltaarrow.compute import quote_identifier
from deltaarrow.schema import (
    INTERVAL_TYPES,
    ArrayType,
    DataType,
    Field,
    IntervalType,
    MapType,
    PrimitiveType,
    StructType,
)
from deltaarrow.spark_sql.tree.nodes import mismatched, refused

__all__ = [
    "BINARY",
    "BOOLEAN",
    "BYTE",
    "DATE",
    "DOUBLE",
    "FLOAT",
    "INTEGER",
    "INTEGRAL",
    "LONG",
    "MAX_PRECISION",
    "SHORT",
    "STRING",
    "TIMESTAMP",
    "TIMESTAMPS",
    "TIMESTAMP_NTZ",
    "VARIANT",
    "VOID",
    "adjusted_type",
    "as_decimal",
    "bounded_type",
    "decimal_of",
    "decimal_type",
    "has_same_shape",
    "is_numeric",
    "mixes_text",
    "native_sql_type",
    "simple_string",
    "sql_type",
    "type_name",
    "wider_type",
]

BYTE, SHORT, INTEGER, LONG = (PrimitiveType(name) for name in ("byte", "short", "integer", "long"))
FLOAT, DOUBLE = PrimitiveType("float"), PrimitiveType("double")
STRING, BINARY, BOOLEAN = PrimitiveType("string"), PrimitiveType("binary"), PrimitiveType("boolean")
DATE, TIMESTAMP, TIMESTAMP_NTZ = (PrimitiveType(name) for name in ("date", "timestamp", "timestamp_ntz"))
VOID, VARIANT = PrimitiveType("void"), PrimitiveType("variant")

INTEGRAL = (BYTE, SHORT, INTEGER, LONG)
TIMESTAMPS = (TIMESTAMP, TIMESTAMP_NTZ)
_RANK = {data_type: rank for rank, data_type in enumerate((*INTEGRAL, FLOAT, DOUBLE))}
_INTEGRAL_DIGITS = {BYTE: 3, SHORT: 5, INTEGER: 10, LONG: 20}
_SQL_TYPES: dict[PrimitiveType, str] = {
    BYTE: "TINYINT",
    SHORT: "SMALLINT",
    INTEGER: "INTEGER",
    LONG: "BIGINT",
    FLOAT: "FLOAT",
    DOUBLE: "DOUBLE",
    STRING: "VARCHAR",
    BINARY: "BLOB",
    BOOLEAN: "BOOLEAN",
    DATE: "DATE",
    TIMESTAMP: "TIMESTAMP",
    TIMESTAMP_NTZ: "TIMESTAMP",
    VARIANT: "STRUCT(metadata BLOB, value BLOB)",
    VOID: "BOOLEAN",
    **dict.fromkeys(INTERVAL_TYPES, "BIGINT"),
}
_NATIVE_SQL_TYPES: dict[PrimitiveType, str] = {
    **_SQL_TYPES,
    TIMESTAMP: "TIMESTAMPTZ",
    **dict.fromkeys(INTERVAL_TYPES, "INTERVAL"),
}
_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
"""Spark's names of types, where Delta's differ."""

MAX_PRECISION = 38
_MIN_ADJUSTED_SCALE = 6


def type_name(data_type: DataType) -> str:
    """The name of a type in messages: of a nested one, Spark's."""
    return data_type.type if isinstance(data_type, PrimitiveType) else simple_string(data_type)


def simple_string(data_type: DataType) -> str:
    """The name of a type in Spark.

    >>> simple_string(MapType(BYTE, ArrayType(LONG)))
    'map<tinyint,array<bigint>>'
    """
    if isinstance(data_type, ArrayType):
        return f"array<{simple_string(data_type.element_type)}>"
    if isinstance(data_type, MapType):
        return f"map<{simple_string(data_type.key_type)},{simple_string(data_type.value_type)}>"
    if isinstance(data_type, StructType):
        members = (f"{each.name}:{simple_string(each.type)}" for each in data_type.fields)
        return f"struct<{','.join(members)}>"
    return _NAMES.get(data_type.type, data_type.type)


def sql_type(data_type: DataType) -> str:
    """The DuckDB type in which values of a Delta type are computed; timestamps have no zone, in UTC."""
    return _sql_type(data_type, _SQL_TYPES)


def native_sql_type(data_type: DataType) -> str:
    """DuckDB's own type for values of a Delta type; timestamps have a zone."""
    return _sql_type(data_type, _NATIVE_SQL_TYPES)


def _sql_type(data_type: DataType, names: Mapping[PrimitiveType, str]) -> str:
    if isinstance(data_type, ArrayType):
        return f"{_sql_type(data_type.element_type, names)}[]"
    if isinstance(data_type, MapType):
        return f"MAP({_sql_type(data_type.key_type, names)}, {_sql_type(data_type.value_type, names)})"
    if isinstance(data_type, StructType):
        members = (
            f"{quote_identifier(each.name)} {_sql_type(each.type, names)}" for each in data_type.fields
        )
        return f"STRUCT({', '.join(members)})"
    if isinstance(data_type, PrimitiveType):
        digits = data_type.decimal
        if digits is not None:
            return f"DECIMAL({digits[0]},{digits[1]})"
        if data_type in names:
            return names[data_type]
    raise refused(f"a value of type {type_name(data_type)}")


def decimal_of(data_type: DataType) -> tuple[int, int] | None:
    """Precision and scale of a decimal type, None for other types."""
    return data_type.decimal if isinstance(data_type, PrimitiveType) else None


def decimal_type(precision: int, scale: int) -> PrimitiveType:
    """A decimal type; refused beyond 38 digits."""
    if precision > MAX_PRECISION:
        raise refused(f"a decimal of {precision} digits")
    return PrimitiveType(f"decimal({precision},{scale})")


def adjusted_type(precision: int, scale: int) -> PrimitiveType:
    """The decimal type of a result that needs these digits.

    Of more than 38 digits, the last ones behind the point are dropped, but not below a scale of 6.

    >>> adjusted_type(40, 10), adjusted_type(60, 20)
    (PrimitiveType("decimal(38,8)"), PrimitiveType("decimal(38,6)"))
    """
    if precision > MAX_PRECISION:
        scale = max(MAX_PRECISION - (precision - scale), min(scale, _MIN_ADJUSTED_SCALE))
    return decimal_type(min(precision, MAX_PRECISION), scale)


def bounded_type(precision: int, scale: int) -> PrimitiveType:
    """The decimal type of these digits, or of 38 if they are more."""
    return decimal_type(min(precision, MAX_PRECISION), min(scale, MAX_PRECISION))


def as_decimal(data_type: DataType) -> tuple[int, int] | None:
    """Precision and scale of a decimal that holds every value of a decimal or integral type."""
    if isinstance(data_type, PrimitiveType) and data_type in _INTEGRAL_DIGITS:
        return _INTEGRAL_DIGITS[data_type], 0
    return decimal_of(data_type)


def is_numeric(data_type: DataType) -> bool:
    """Whether the type can be used in arithmetic without a cast."""
    return data_type in _RANK or decimal_of(data_type) is not None


def has_same_shape(one: DataType, other: DataType, *, by_name: bool = True) -> bool:
    """Whether two types differ only in nullability, field metadata and, unless `by_name`, names of fields."""
    if isinstance(one, StructType) and isinstance(other, StructType):
        pairs = zip(one.fields, other.fields, strict=False)
        return len(one.fields) == len(other.fields) and all(
            (not by_name or a.name == b.name) and has_same_shape(a.type, b.type, by_name=by_name)
            for a, b in pairs
        )
    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return has_same_shape(one.element_type, other.element_type, by_name=by_name)
    if isinstance(one, MapType) and isinstance(other, MapType):
        keys = has_same_shape(one.key_type, other.key_type, by_name=by_name)
        return keys and has_same_shape(one.value_type, other.value_type, by_name=by_name)
    return one == other


def mixes_text(one: DataType, other: DataType) -> bool:
    """Whether one of two types is text and the other is not, which Spark would cast."""
    return (one == STRING) != (other == STRING) and VOID not in (one, other)


def wider_type(left: DataType, right: DataType, kind: str = "DATA_DIFF_TYPES") -> DataType:
    """The least common type of two operands; `kind` is that of Spark's error if there is none.

    A float with an integral type or a decimal gives a double. Text is cast to the other operand: to long for
    integral types, to double for other numbers. Refused if there is no common type, as for structs with
    different fields.
    """
    if has_same_shape(left, right):
        return left
    if VOID in (left, right):
        return right if left == VOID else left
    if isinstance(left, ArrayType) and isinstance(right, ArrayType):
        return ArrayType(wider_type(left.element_type, right.element_type, kind))
    if isinstance(left, MapType) and isinstance(right, MapType):
        keys = wider_type(left.key_type, right.key_type, kind)
        return MapType(keys, wider_type(left.value_type, right.value_type, kind))
    if isinstance(left, StructType) and isinstance(right, StructType) and left.names == right.names:
        pairs = zip(left.fields, right.fields, strict=True)
        return StructType([Field(one.name, wider_type(one.type, two.type, kind)) for one, two in pairs])
    if isinstance(left, IntervalType) and isinstance(right, IntervalType):
        return left.wider(right)
    if STRING in (left, right):
        other = right if left == STRING else left
        if other in INTEGRAL:
            return LONG
        if is_numeric(other):
            return DOUBLE
        if isinstance(other, PrimitiveType) and other != VARIANT:
            return other
    elif is_numeric(left) and is_numeric(right):
        if left in _RANK and right in _RANK:
            wider = max(left, right, key=lambda each: _RANK[each])
            return DOUBLE if wider == FLOAT else wider
        if {left, right} & {FLOAT, DOUBLE}:
            return DOUBLE
        one, two = as_decimal(left), as_decimal(right)
        assert one is not None and two is not None
        scale = max(one[1], two[1])
        whole = max(one[0] - one[1], two[0] - two[1])
        # Of more than 38 digits, those before the point are kept.
        return bounded_type(whole + scale, min(scale, MAX_PRECISION - whole))
    elif {left, right} == {DATE, TIMESTAMP_NTZ}:
        return TIMESTAMP_NTZ
    elif left in (DATE, *TIMESTAMPS) and right in (DATE, *TIMESTAMPS):
        return TIMESTAMP
    raise mismatched(kind, f"{type_name(left)} together with {type_name(right)} without a cast")
