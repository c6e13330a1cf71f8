"""Literal values: as DuckDB SQL, as Arrow scalars, and from Arrow scalars.

A `Literal` holds a plain Python value and, if it came with one, its Arrow type. Its types are those in which
a column of a Delta table can be compared; times of day, durations and nested values are not among them.
"""

import datetime
import math
from decimal import Decimal

import pyarrow as pa

from deltaarrow.columnar.numpy_arrays import array_of
from deltaarrow.compute import quote_literal
from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions.predicates import Literal, LiteralValue

__all__ = [
    "decimal_digits",
    "literal_from_scalar",
    "literal_scalar",
    "literal_sql",
    "literal_type",
    "literal_values",
    "negated",
]

_MAX_PRECISION = 38
_LONG = range(-(2**63), 2**63)
_TIMESTAMP = pa.timestamp("us")
_TIMESTAMP_UTC = pa.timestamp("us", "UTC")


def decimal_digits(value: Decimal) -> tuple[int, int]:
    """The smallest precision and scale of a decimal type that holds the number.

    >>> decimal_digits(Decimal("-12.50")), decimal_digits(Decimal("1E+3")), decimal_digits(Decimal("0.001"))
    ((4, 2), (4, 0), (3, 3))
    """
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int), "a decimal literal is a finite number"
    scale = max(-exponent, 0)
    return max(len(digits) + max(exponent, 0), scale, 1), scale


def negated(value: int | float | Decimal) -> int | float | Decimal:
    """The negated number with all of its digits; the operator ``-`` keeps 28 digits of a `Decimal`.

    >>> negated(Decimal("1234567890123456789012345678.9")), negated(Decimal("0.0"))
    (Decimal('-1234567890123456789012345678.9'), Decimal('0.0'))
    """
    if isinstance(value, Decimal):
        return value.copy_negate() if value else value
    return -value


def literal_type(literal: Literal) -> pa.DataType:
    """The Arrow type of a literal, inferred from the value if it has none.

    Raises:
        InvalidPredicateError: the number has more than 38 digits.
    """
    if literal.type is not None:
        return literal.type
    match literal.value:
        case None:
            return pa.null()
        case bool():
            return pa.bool_()
        case int(value):
            return pa.int64() if value in _LONG else _decimal_type(Decimal(value))
        case float():
            return pa.float64()
        case Decimal() as value:
            return _decimal_type(value)
        case str():
            return pa.string()
        case bytes():
            return pa.binary()
        case datetime.datetime() as value:
            return _TIMESTAMP if value.tzinfo is None else _TIMESTAMP_UTC
        case datetime.date():
            return pa.date32()


def literal_scalar(literal: Literal) -> pa.Scalar:
    """The literal as an Arrow scalar of `literal_type`."""
    value, arrow_type = literal.value, literal_type(literal)
    if isinstance(value, int) and pa.types.is_decimal(arrow_type):
        value = Decimal(value)
    is_whole = isinstance(value, int) or not pa.types.is_integer(arrow_type)
    if value is None or not is_whole or arrow_type != _plain_type(arrow_type):
        return pa.scalar(value, arrow_type)
    return array_of([value], arrow_type)[0]


def literal_from_scalar(scalar: pa.Scalar) -> Literal | None:
    """The literal for an Arrow scalar; None if the tree has no such value.

    There is none for types in which no table column is compared, for times more precise than a microsecond
    and for times outside the years that Python supports.
    """
    if isinstance(scalar, pa.DictionaryScalar):
        scalar = scalar.value
    plain = _plain_type(scalar.type)
    if plain is None:
        return None
    try:
        return Literal(_in_utc(scalar.cast(plain).as_py()), plain)
    except (pa.ArrowInvalid, ValueError, OverflowError):
        return None


def literal_values(array: pa.Array) -> tuple[tuple[LiteralValue, ...], pa.DataType, bool] | None:
    """The values of an array without its NULLs, their type, and whether there were NULLs.

    None if `literal_from_scalar` returns None for one of the values.
    """
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    plain = _plain_type(array.type)
    if plain is None:
        return None
    try:
        values = array.cast(plain).drop_null().to_pylist()
    except (pa.ArrowInvalid, ValueError, OverflowError):
        return None
    return tuple(_in_utc(value) for value in values), plain, array.null_count > 0


def literal_sql(literal: Literal) -> str:
    """The literal as a DuckDB expression of the same type, independent of connection settings.

    >>> print(literal_sql(Literal(Decimal("1.50"))), literal_sql(Literal("it's")))
    CAST('1.50' AS DECIMAL(3, 2)) 'it''s'
    """
    value = literal.value
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int() if literal.type is None or pa.types.is_integer(literal.type):
            return str(value) if value in _LONG else f"CAST('{value}' AS HUGEINT)"
        case int() | Decimal():
            arrow_type = literal_type(literal)
            return f"CAST('{Decimal(value):f}' AS DECIMAL({arrow_type.precision}, {arrow_type.scale}))"
        case float():
            single = literal.type is not None and literal.type.bit_width == 32
            return f"CAST('{_float_text(value)}' AS {'FLOAT' if single else 'DOUBLE'})"
        case str():
            return quote_literal(value)
        case bytes():
            return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"
        case datetime.datetime() if value.tzinfo is None:
            return f"TIMESTAMP '{value.isoformat(' ')}'"
        case datetime.datetime():
            return f"TIMESTAMPTZ '{value.astimezone(datetime.UTC).isoformat(' ')}'"
        case datetime.date():
            return f"DATE '{value.isoformat()}'"


def _in_utc(value: LiteralValue) -> LiteralValue:
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.UTC)
    return value


def _float_text(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _decimal_type(value: Decimal) -> pa.DataType:
    precision, scale = decimal_digits(value)
    if precision > _MAX_PRECISION:
        raise InvalidPredicateError(f"the number {value} has more than {_MAX_PRECISION} digits")
    return pa.decimal128(precision, scale)


def _plain_type(arrow_type: pa.DataType) -> pa.DataType | None:
    types = pa.types
    if types.is_boolean(arrow_type) or types.is_integer(arrow_type) or types.is_null(arrow_type):
        return arrow_type
    if types.is_floating(arrow_type):
        return pa.float64() if types.is_float64(arrow_type) else pa.float32()
    if types.is_string(arrow_type) or types.is_large_string(arrow_type) or types.is_string_view(arrow_type):
        return pa.string()
    if types.is_binary(arrow_type) or types.is_large_binary(arrow_type) or types.is_binary_view(arrow_type):
        return pa.binary()
    if types.is_fixed_size_binary(arrow_type):
        return pa.binary()
    if types.is_decimal(arrow_type) and 0 <= arrow_type.scale <= arrow_type.precision <= _MAX_PRECISION:
        return pa.decimal128(arrow_type.precision, arrow_type.scale)
    if types.is_date(arrow_type):
        return pa.date32()
    if types.is_timestamp(arrow_type):
        return _TIMESTAMP if arrow_type.tz is None else _TIMESTAMP_UTC
    return None
