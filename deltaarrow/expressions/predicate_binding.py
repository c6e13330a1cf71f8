"""Binding of a predicate to a schema: columns get the table's spelling, literals the column's type.

A literal without a type is interpreted as Spark would next to that column: ``'2020-01-31'`` is a date beside
a date, ``1`` a decimal beside a decimal. A literal that the column's type cannot hold exactly, such as 2.5
beside an integer, keeps its own type and is compared as a number.
"""

import ctypes
import datetime
from collections.abc import Sequence
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, InvalidOperation

import pyarrow as pa

from deltaarrow.errors import InvalidPredicateError, SchemaMismatchError
from deltaarrow.expressions.literals import decimal_digits
from deltaarrow.expressions.predicates import (
    MIRRORED,
    And,
    Cast,
    Column,
    Compare,
    IsIn,
    IsNan,
    IsNull,
    Literal,
    LiteralValue,
    Not,
    Opaque,
    Operand,
    Or,
    Predicate,
    StartsWith,
    VariantGet,
)
from deltaarrow.expressions.temporal import parse_timestamp
from deltaarrow.schema import (
    FLOATING,
    DataType,
    Field,
    PrimitiveType,
    StructType,
    resolve_path,
    to_arrow_type,
)

__all__ = [
    "bind",
    "coerce_literal",
    "coerce_literals",
    "compares_own_types",
    "is_lossless_cast",
    "resolve_column",
]

_INTEGER_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_EXACT_IN_DOUBLE = 2**53
_LONG_DIGITS = 19
_UNBOUNDED = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX)
_KINDS = dict.fromkeys(("date", "timestamp", "timestamp_ntz"), "time")
_LITERAL_KINDS: dict[str, type | tuple[type, ...]] = {
    "boolean": bool,
    "number": (int, float, Decimal),
    "string": str,
    "binary": bytes,
    "time": datetime.date,
}


def bind(predicate: Predicate, schema: StructType) -> Predicate:
    """Bind a predicate to the columns of a table.

    Columns get the spelling of the schema, literals the type of the column beside them; comparisons get their
    column on the left, and casts that change no value disappear.

    Args:
        predicate: a predicate tree.
        schema: the logical schema of the table.

    Raises:
        InvalidPredicateError: a column does not exist, or cannot be compared with its other operand.

    >>> from deltaarrow.schema import Field, Schema
    >>> bind(Compare("=", Column(("DAY",)), Literal("2020-01-31")), Schema([Field("day", "date")]))
    Compare(op='=', left=Column(path=('day',)), right=Literal(value=datetime.date(2020, 1, 31), \
type=DataType(date32[day])))
    """
    match predicate:
        case Compare(op, Literal() as left, (Column() | Cast() | VariantGet()) as right):
            return bind(Compare(MIRRORED[op], right, left), schema)
        case Compare(op, left, right):
            left_operand, left_type = _bind_operand(left, schema)
            right_operand, right_type = _bind_operand(right, schema)
            if isinstance(right_operand, Literal) and left_type is not None:
                right_operand = _bound_literal(right_operand, left_type, left_operand)
            else:
                _ensure_same_kind(left_operand, left_type, right_operand, right_type)
            return Compare(op, left_operand, right_operand)
        case IsIn(column, values, arrow_type):
            column, data_type = _bind_column(column, schema)
            coerced = coerce_literals(values, arrow_type, data_type)
            found = [
                _ensure_comparable(each, value, data_type, column)
                for each, value in zip(coerced, values, strict=True)
            ]
            # An exact number outside the column's type matches no row. Floats may, by rounding.
            own = to_arrow_type(data_type)
            kept = [each for each in found if each.type == own or not isinstance(each.value, int | Decimal)]
            types = {each.type for each in kept}
            return IsIn(column, tuple(each.value for each in kept), types.pop() if len(types) == 1 else None)
        case StartsWith(column, prefix):
            beside, known_type = _bind_operand(column, schema)
            if known_type != PrimitiveType("string"):
                assert known_type is not None
                raise InvalidPredicateError(f"column {_shown(beside)} is {_named(known_type)}, not a string")
            assert isinstance(beside, Column | VariantGet)
            _bound_literal(Literal(prefix), known_type, beside)
            return StartsWith(beside, prefix)
        case IsNan(column):
            beside, known_type = _bind_operand(column, schema)
            assert isinstance(beside, Column | VariantGet) and known_type is not None
            if _kind(beside, known_type) != "number":
                raise InvalidPredicateError(f"column {_shown(beside)} is {_named(known_type)}, not a number")
            return IsNan(beside)
        case IsNull(operand):
            if isinstance(operand, Column):
                return IsNull(_bind_column(operand, schema, comparable=False)[0])
            if isinstance(operand, VariantGet):
                return IsNull(_bind_variant(operand, schema))
            return IsNull(bind(operand, schema))
        case Not(operand):
            return Not(bind(operand, schema))
        case And(operands) | Or(operands):
            return type(predicate)(tuple(bind(each, schema) for each in operands))
        case Opaque(reason, columns):
            bound = tuple(_bind_column(each, schema, comparable=False)[0] for each in columns)
            return Opaque(reason, bound)
        case _:
            return predicate


def resolve_column(schema: StructType, path: Sequence[str]) -> tuple[Field, ...]:
    """The fields on the path to a column; see `deltaarrow.schema.resolve_path`.

    Raises:
        InvalidPredicateError: the column does not exist.
    """
    try:
        return resolve_path(schema, path)
    except SchemaMismatchError as error:
        raise InvalidPredicateError(str(error)) from error


def coerce_literal(literal: Literal, data_type: DataType) -> Literal | None:
    """Convert a literal for comparison with a column of a type.

    Returns:
        A literal of the column's Arrow type if that holds the value exactly; the value with a type of its own
        if not; None if the two cannot be compared.
    """
    if not isinstance(data_type, PrimitiveType):
        return None
    if literal.value is None:
        return Literal(None, to_arrow_type(data_type))
    name = "decimal" if data_type.decimal else data_type.type
    if name in _INTEGER_BITS:
        return _as_integer(literal, data_type)
    if data_type in FLOATING:
        return _as_float(literal, data_type)
    convert = {
        "decimal": _as_decimal,
        "string": _as_string,
        "binary": _as_binary,
        "boolean": _as_boolean,
        "date": _as_date,
        "timestamp": _as_timestamp,
        "timestamp_ntz": _as_timestamp_ntz,
    }.get(name)
    return None if convert is None else convert(literal, data_type)


def coerce_literals(
    values: Sequence[LiteralValue], arrow_type: pa.DataType | None, data_type: DataType
) -> list[Literal | None]:
    """Return `coerce_literal` of each value."""
    return [coerce_literal(Literal(value, arrow_type), data_type) for value in values]


def compares_own_types(predicate: Predicate, schema: StructType) -> bool:
    """Whether a bound predicate only compares columns with values of their own types.

    Between different types, engines round in different ways, or refuse.

    >>> from deltaarrow.schema import Field, Schema
    >>> schema = Schema([Field("a", "decimal(3,1)")])
    >>> [compares_own_types(bind(Compare("<", Column(("a",)), Literal(x)), schema), schema) for x in (1, 1.0)]
    [True, False]
    """
    match predicate:
        case And(operands) | Or(operands):
            return all(compares_own_types(each, schema) for each in operands)
        case Compare(_, Column(path), Literal(_, arrow_type)):
            return bool(arrow_type == _own_type(path, schema))
        case IsIn(Column(path), values, arrow_type):
            return not values or bool(arrow_type == _own_type(path, schema))
        case Compare() | Opaque():
            return False
        case Not(operand) | IsNull(operand) if not isinstance(operand, Column | VariantGet):
            return compares_own_types(operand, schema)
        case _:
            return True


def _own_type(path: Sequence[str], schema: StructType) -> pa.DataType:
    return to_arrow_type(resolve_column(schema, path)[-1].type)


def is_lossless_cast(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether a cast of Arrow types keeps every value, and so the result of every comparison."""
    types = pa.types
    if source == target:
        return True
    if types.is_signed_integer(source) and types.is_signed_integer(target):
        return bool(source.bit_width <= target.bit_width)
    if types.is_floating(source) and types.is_floating(target):
        return bool(source.bit_width <= target.bit_width)
    if types.is_decimal(target):
        whole = target.precision - target.scale
        if types.is_decimal(source):
            return bool(source.scale <= target.scale and source.precision - source.scale <= whole)
        return bool(types.is_signed_integer(source) and whole >= _LONG_DIGITS)
    return bool(types.is_string(source) and types.is_large_string(target))


def _bind_operand(operand: Operand, schema: StructType) -> tuple[Operand, DataType | None]:
    match operand:
        case Literal():
            return operand, None
        case Column():
            return _bind_column(operand, schema)
        case VariantGet():
            return _bind_variant(operand, schema), operand.type
        case Cast(column, target):
            column, data_type = _bind_column(column, schema)
            if is_lossless_cast(to_arrow_type(data_type), target):
                return column, data_type
            return Cast(column, target), None


def _bind_variant(part: VariantGet, schema: StructType) -> VariantGet:
    column, data_type = _bind_column(part.variant, schema, comparable=False)
    if data_type != PrimitiveType("variant"):
        raise InvalidPredicateError(f"column {_shown(column)} is {_named(data_type)}, not a variant")
    return VariantGet(column, part.json_path, part.type)


def _bind_column(column: Column, schema: StructType, *, comparable: bool = True) -> tuple[Column, DataType]:
    fields = resolve_column(schema, column.path)
    data_type = fields[-1].type
    if comparable and (not isinstance(data_type, PrimitiveType) or data_type.type == "variant"):
        raise InvalidPredicateError(f"column {_shown(column)} is {_named(data_type)} and cannot be compared")
    return Column(tuple(field.name for field in fields)), data_type


def _bound_literal(literal: Literal, data_type: DataType, beside: Operand) -> Literal:
    return _ensure_comparable(coerce_literal(literal, data_type), literal.value, data_type, beside)


def _ensure_comparable(
    found: Literal | None, value: LiteralValue, data_type: DataType, beside: Operand
) -> Literal:
    if found is None:
        raise InvalidPredicateError(
            f"column {_shown(beside)} is {_named(data_type)} and cannot be compared with {value!r}"
        )
    return found


def _ensure_same_kind(
    left: Operand, left_type: DataType | None, right: Operand, right_type: DataType | None
) -> None:
    """Raise if a comparison would need an implicit cast, which engines choose differently."""
    kinds = {_kind(left, left_type), _kind(right, right_type)} - {None}
    if len(kinds) > 1:
        raise InvalidPredicateError(
            f"{_shown(left)} cannot be compared with {_shown(right)}: cast one of them"
        )


def _kind(operand: Operand, data_type: DataType | None) -> str | None:
    """The kind of value an operand is compared as; None if unknown, or if it fits anything."""
    if isinstance(operand, Literal):
        for kind, types in _LITERAL_KINDS.items():
            if isinstance(operand.value, types):
                return kind
        return None
    if not isinstance(data_type, PrimitiveType):
        return None
    is_number = data_type.decimal or data_type.type in _INTEGER_BITS or data_type in FLOATING
    return "number" if is_number else _KINDS.get(data_type.type, data_type.type)


def _shown(operand: Operand) -> str:
    column = operand.operand if isinstance(operand, Cast) else operand
    if isinstance(column, VariantGet):
        return f"{'.'.join(column.variant.path)!r} at {column.json_path!r}"
    return repr(".".join(column.path)) if isinstance(column, Column) else repr(column.value)


def _named(data_type: DataType) -> str:
    return data_type.type if isinstance(data_type, PrimitiveType) else type(data_type).__name__.lower()


def _number(value: LiteralValue) -> int | float | Decimal | None:
    """The value as a number; texts count, as they do beside a number in Spark, booleans do not."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            return Decimal(value.strip())
        except InvalidOperation:
            return None
    return value if isinstance(value, int | float | Decimal) else None


def _as_integer(literal: Literal, data_type: PrimitiveType) -> Literal | None:
    number = _number(literal.value)
    if number is None or (isinstance(number, Decimal) and not number.is_finite()):
        return None
    if isinstance(number, float) and not abs(number) <= _EXACT_IN_DOUBLE:
        # Rounding decides what it equals, so the comparison stays as it is.
        return Literal(number, literal.type)
    bound = 1 << (_INTEGER_BITS[data_type.type] - 1)
    if number == int(number) and -bound <= number < bound:
        return Literal(int(number), to_arrow_type(data_type))
    return Literal(number, None if isinstance(literal.value, str) else literal.type)


def _as_float(literal: Literal, data_type: PrimitiveType) -> Literal | None:
    number = _number(literal.value)
    if number is None:
        return None
    try:
        value = float(number)
    except OverflowError:
        return None
    # A number that a float cannot hold exactly is compared with a float column as a double.
    single = data_type.type == "float" and (value != value or ctypes.c_float(value).value == value)
    return Literal(value, pa.float32() if single else pa.float64())


def _as_decimal(literal: Literal, data_type: PrimitiveType) -> Literal | None:
    number = _number(literal.value)
    if number is None or isinstance(number, float):
        return None if number is None else Literal(number, literal.type)
    exact = Decimal(number)
    if not exact.is_finite():
        return None
    assert data_type.decimal is not None
    precision, scale = data_type.decimal
    exact = _UNBOUNDED.normalize(exact)  # zeros at the end are no digits that the column lacks
    digits, places = decimal_digits(exact)
    if places <= scale and digits - places <= precision - scale:
        return Literal(exact, pa.decimal128(precision, scale))
    return Literal(exact)


def _as_string(literal: Literal, _data_type: PrimitiveType) -> Literal | None:
    if not isinstance(literal.value, str) or _utf8(literal.value) is None:
        return None
    return Literal(literal.value, pa.string())


def _as_binary(literal: Literal, _data_type: PrimitiveType) -> Literal | None:
    value = _utf8(literal.value) if isinstance(literal.value, str) else literal.value
    return Literal(value, pa.binary()) if isinstance(value, bytes) else None


def _utf8(text: str) -> bytes | None:
    """The bytes of a text; None if it contains a lone surrogate, which no column holds."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


def _as_boolean(literal: Literal, _data_type: PrimitiveType) -> Literal | None:
    value = literal.value
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value.strip().lower())
    return Literal(value, pa.bool_()) if isinstance(value, bool) else None


def _as_date(literal: Literal, _data_type: PrimitiveType) -> Literal | None:
    time = _time(literal.value)
    if time is None or time.tzinfo is not None:
        return None
    if time.time() == datetime.time():
        return Literal(time.date(), pa.date32())
    return Literal(time, pa.timestamp("us"))


def _as_timestamp(literal: Literal, _data_type: PrimitiveType) -> Literal | None:
    time = _time(literal.value)
    if time is None or (
        literal.type is not None and pa.types.is_timestamp(literal.type) and not literal.type.tz
    ):
        return None
    try:
        utc = time.replace(tzinfo=datetime.UTC) if time.tzinfo is None else time.astimezone(datetime.UTC)
    except OverflowError:  # outside the years 1 to 9999 in UTC
        return None
    return Literal(utc, pa.timestamp("us", "UTC"))


def _as_timestamp_ntz(literal: Literal, _data_type: PrimitiveType) -> Literal | None:
    time = _time(literal.value)
    return None if time is None or time.tzinfo is not None else Literal(time, pa.timestamp("us"))


def _time(value: LiteralValue) -> datetime.datetime | None:
    """The value as a time: a date gives its midnight, a text is parsed."""
    if isinstance(value, str):
        try:
            return parse_timestamp(value)
        except ValueError:
            return None
    if isinstance(value, datetime.datetime):
        return value
    if isinstance(value, datetime.date):
        return datetime.datetime.combine(value, datetime.time())
    return None
