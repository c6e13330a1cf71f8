"""What is known of one column in each of a list of files, and which files that rules out.

Two kinds of evidence answer the same questions: the statistics of a data column bound its values, the
partition value of a partition column is its value. Every method returns verdicts that are False only for
files without a row that is as the method says; the docstring of each rule argues why no such row is lost.
``may_compare("<", v)`` asks for a row on which ``column < v`` is TRUE. All of these imply that the column
is not NULL, except `may_be_null`.
"""

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Any, Final, Literal as OneOf, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.arrays import array_of, booleans, integers, texts, truths, validity
from deltaarrow.expressions import CompareOp, Literal, literal_scalar
from deltaarrow.partitions import EncodedPartitionValues
from deltaarrow.schema import Field, PrimitiveType, StructType, to_arrow_type
from deltaarrow.statistics.bounds import has_bounds

if TYPE_CHECKING:
    import pyarrow.compute as pc

__all__ = [
    "ROWS_CANNOT_MATCH",
    "ROWS_MIGHT_MATCH",
    "Asked",
    "ColumnStatistics",
    "Evidence",
    "FileEvidence",
    "PartitionValue",
    "Verdicts",
    "all_of",
    "any_of",
]

Verdicts: TypeAlias = np.ndarray | bool
"""For each file whether a row may match; a bool where that is the same for every file."""

ROWS_MIGHT_MATCH: Final = True
"""The verdict on files that have to be read."""

ROWS_CANNOT_MATCH: Final = False
"""The verdict on files that hold no matching row."""

_MAX_LISTED = 256
"""Members of an IN list that are compared one by one; of longer lists only the extremes are."""

_RELAXED: dict[CompareOp, CompareOp] = {"<": "<=", ">": ">="}
_WIDE = Context(prec=76)
_DOUBLE_MARGIN = Decimal("1e-15")


class Asked(NamedTuple):
    """What a condition asks of the statistics of a file.

    Attributes:
        what: a bound of a column, its count of NULLs, or whether all rows are NULL.
        path: the names of the column in the data files.
        field: the column, but where its NULLs are counted.
        json_path: the path into a variant, where a bound of a part of it is asked for.
    """

    what: OneOf["lower", "upper", "null_count", "all_null"]
    path: tuple[str, ...]
    field: Field | None = None
    json_path: str | None = None


class FileEvidence(Protocol):
    """What the log says of a list of files, in columns with a row for each file."""

    def statistic(self, asked: Asked) -> pa.Array:
        """A bound as a value that compares with the column's, a count or a truth; NULL where not known."""

    def partition_values(self, name: str) -> EncodedPartitionValues:
        """The values of a partition column, which is given by its physical name."""


def all_of(parts: Sequence[Verdicts]) -> Verdicts:
    """The conjunction of verdicts."""
    found: Verdicts = True
    for part in parts:
        if part is False:
            return False
        if part is not True:
            found = part if found is True else found & part
    return found


def any_of(parts: Sequence[Verdicts]) -> Verdicts:
    """The disjunction of verdicts."""
    found: Verdicts = False
    for part in parts:
        if part is True:
            return True
        if part is not False:
            found = part if found is False else found | part
    return found


class Evidence(Protocol):
    """What is known of a column."""

    @property
    def field(self) -> Field:
        """The column in the schema."""

    def may_be_null(self) -> Verdicts:
        """The column is NULL."""

    def may_be_known(self) -> Verdicts:
        """The column is not NULL."""

    def may_compare(self, op: CompareOp, literal: Literal) -> Verdicts:
        """The comparison with a literal, which is neither NULL nor NaN, is TRUE."""

    def may_be_in(self, literals: Sequence[Literal]) -> Verdicts:
        """The column equals one of the literals, all of the column's type and none of them NULL or NaN."""

    def may_not_be_in(self, literals: Sequence[Literal]) -> Verdicts:
        """The column equals none of them."""

    def may_start_with(self, prefix: str) -> Verdicts:
        """The column, a string, has the prefix."""

    def may_not_start_with(self, prefix: str) -> Verdicts:
        """The column has another beginning."""


class ColumnStatistics(NamedTuple):
    """A data column, of which the statistics of files tell something.

    Attributes:
        fields: the fields from the top to the column.
        path: their names in the data files.
        files: what is known of the files.
        json_path: the path of a part of a variant; the last of the fields is that part then.
    """

    fields: tuple[Field, ...]
    path: tuple[str, ...]
    files: FileEvidence
    json_path: str | None = None

    @property
    def field(self) -> Field:
        """The column."""
        return self.fields[-1]

    @property
    def _has_bounds(self) -> bool:
        return has_bounds(self.field.type)

    @property
    def _lower(self) -> pa.Array:
        return self.files.statistic(Asked("lower", self.path, self.field, self.json_path))

    @property
    def _upper(self) -> pa.Array:
        return self.files.statistic(Asked("upper", self.path, self.field, self.json_path))

    @property
    def _null_count(self) -> pa.Array:
        return self.files.statistic(Asked("null_count", self.path))

    def may_be_null(self) -> Verdicts:
        """A count of 0 says that no row is NULL, with wide bounds as well.

        Of a field of a struct it may not count the rows whose struct is NULL, and structs have no count.
        """
        if len(self.fields) > 1 or isinstance(self.field.type, StructType):
            return ROWS_MIGHT_MATCH
        return _unless_false(_compared(self._null_count, "!=", integers([0])[0]))

    def may_be_known(self) -> Verdicts:
        """As many NULLs as records say that every row is NULL, with wide bounds as well."""
        if isinstance(self.field.type, StructType):
            return ROWS_MIGHT_MATCH
        column = self.fields[-1] if self.json_path is None else self.fields[-2]
        return ~truths(self.files.statistic(Asked("all_null", self.path, column)))

    def may_compare(self, op: CompareOp, literal: Literal) -> Verdicts:
        """All values lie between the bounds, so one beyond the literal needs a bound beyond it.

        A literal that is not of the column's type is compared by rounding on one side or the other. That
        keeps the order but may make equal what is not, so its strict comparisons count as the others,
        and nothing is concluded from ``!=``.
        """
        if not self._has_bounds:
            return self.may_be_known()
        if literal.type != to_arrow_type(self.field.type):
            op = _RELAXED.get(op, op)
            if op == "!=":
                return self.may_be_known()
        parts: list[Verdicts]
        match op:
            case "=":
                parts = [
                    _unless_false(_compared_with(self._lower, "<=", literal)),
                    _unless_false(_compared_with(self._upper, ">=", literal)),
                ]
            case "!=":
                parts = [self._unless_both(lambda bound: _compared_with(bound, "=", literal))]
            case "<" | "<=":
                parts = [_unless_false(_compared_with(self._lower, op, literal))]
            case ">" | ">=":
                parts = [_unless_false(_compared_with(self._upper, op, literal))]
        return all_of([*parts, self.may_be_known()])

    def may_be_in(self, literals: Sequence[Literal]) -> Verdicts:
        """One of the literals lies between the bounds; before that, their extremes overlap with them."""
        if not literals:
            return ROWS_CANNOT_MATCH
        if not self._has_bounds:
            return self.may_be_known()
        lower, upper = self._lower, self._upper
        ordered = sorted(literals, key=lambda each: each.value)  # type: ignore[arg-type,return-value]
        overlaps = all_of(
            [
                _unless_false(_compared_with(lower, "<=", ordered[-1])),
                _unless_false(_compared_with(upper, ">=", ordered[0])),
            ]
        )
        if isinstance(overlaps, np.ndarray) and 1 < len(literals) <= _MAX_LISTED:
            rows = np.flatnonzero(overlaps)
            chosen = booleans(overlaps)
            least, most = lower.filter(chosen), upper.filter(chosen)
            between = any_of(
                [
                    all_of(
                        [
                            _unless_false(_compared_with(least, "<=", each)),
                            _unless_false(_compared_with(most, ">=", each)),
                        ]
                    )
                    for each in literals
                ]
            )
            overlaps = overlaps.copy()
            overlaps[rows] = between
        return all_of([overlaps, self.may_be_known()])

    def may_not_be_in(self, literals: Sequence[Literal]) -> Verdicts:
        """If both bounds are one of the literals, every value is that literal."""
        if not self._has_bounds or not literals:
            return self.may_be_known()
        outside = [
            self._unless_both(lambda bound, each=each: _compared_with(bound, "=", each))  # type: ignore[misc]
            for each in literals[:_MAX_LISTED]
        ]
        return all_of([*outside, self.may_be_known()])

    def may_start_with(self, prefix: str) -> Verdicts:
        """The texts with a prefix follow each other, the prefix itself first.

        So the upper bound is not before the prefix, and the lower bound, cut to its length, not after it.
        """
        if not self._has_bounds:
            return self.may_be_known()
        import pyarrow.compute as pc

        beginning = texts([prefix])[0]
        reaches = [
            _unless_false(_compared(pc.utf8_slice_codeunits(self._lower, 0, len(prefix)), "<=", beginning)),
            _unless_false(_compared(self._upper, ">=", beginning)),
        ]
        return all_of([*reaches, self.may_be_known()])

    def may_not_start_with(self, prefix: str) -> Verdicts:
        """If both bounds have the prefix, everything between them has it."""
        if not self._has_bounds:
            return self.may_be_known()
        return all_of([self._unless_both(lambda bound: _starting_with(bound, prefix)), self.may_be_known()])

    def _unless_both(self, test: "Callable[[pa.Array], pa.BooleanArray | None]") -> Verdicts:
        """True unless both bounds are known to pass a test."""
        lower, upper = test(self._lower), test(self._upper)
        return ROWS_MIGHT_MATCH if lower is None or upper is None else ~(truths(lower) & truths(upper))


class PartitionValue(NamedTuple):
    """A partition column: every row of the file has the one value that the log gives.

    Attributes:
        field: the column.
        name: its name in ``partitionValues``.
        files: what is known of the files.
    """

    field: Field
    name: str
    files: FileEvidence

    @property
    def _encoded(self) -> EncodedPartitionValues:
        return self.files.partition_values(self.name)

    @property
    def _type(self) -> PrimitiveType:
        assert isinstance(self.field.type, PrimitiveType)
        return self.field.type

    @property
    def _is_null(self) -> np.ndarray:
        """The texts that say NULL: to the protocol an empty one, of whatever type."""
        return truths(_kernels().equal(self._encoded.texts, texts([""])[0]))

    def _is_known(self) -> np.ndarray:
        """The texts that are values: readers take an empty one for an empty string or binary all the same."""
        has_empty = self._type in (PrimitiveType("string"), PrimitiveType("binary"))
        return np.ones(len(self._encoded.texts), bool) if has_empty else ~self._is_null

    def _may(self, test: "Callable[[pa.Array], pa.BooleanArray | None]") -> Verdicts:
        """The value is known, and does not fail the test.

        A text that is no value is for whoever reads the file, as is a file that does not mention the column,
        not even as NULL: another part may judge it.
        """
        encoded = self._encoded
        typed = encoded.typed(self._type)
        passed = _unless_false(test(typed.values))
        return encoded.spread(self._is_known() & (passed | ~typed.is_readable), of_null=False, of_untold=True)

    def may_be_null(self) -> Verdicts:
        """NULL is an absent or empty text."""
        return self._encoded.spread(self._is_null, of_null=True, of_untold=True)

    def may_be_known(self) -> Verdicts:
        """NULL is an absent text, unless the log does not mention the column at all."""
        return self._encoded.spread(self._is_known(), of_null=False, of_untold=True)

    def may_compare(self, op: CompareOp, literal: Literal) -> Verdicts:
        """Every row has the value, so the comparison holds for it or for no row.

        A literal of another type: see `ColumnStatistics.may_compare`.
        """
        if literal.type == to_arrow_type(self.field.type):
            return self._may(lambda values: _compared_with(values, op, literal))
        match op:
            case "!=":
                return self.may_be_known()
            case "=":
                return all_of([self.may_compare("<=", literal), self.may_compare(">=", literal)])
        return self._may(lambda values: _compared_with(values, _RELAXED.get(op, op), literal))

    def may_be_in(self, literals: Sequence[Literal]) -> Verdicts:
        """Every row has the value, so it is among the literals for all rows or for none."""
        if not literals:
            return ROWS_CANNOT_MATCH
        return self._may(lambda values: _membership(values, literals))

    def may_not_be_in(self, literals: Sequence[Literal]) -> Verdicts:
        """As `may_be_in`."""
        if not literals:
            return self.may_be_known()
        return self._may(lambda values: _kernels().invert(_membership(values, literals)))

    def may_start_with(self, prefix: str) -> Verdicts:
        """Every row has the value, so the prefix too, or none has."""
        return self._may(lambda values: _starting_with(values, prefix))

    def may_not_start_with(self, prefix: str) -> Verdicts:
        """As `may_start_with`."""
        return self._may(lambda values: _kernels().invert(_starting_with(values, prefix)))


def _kernels() -> "pc":
    import pyarrow.compute as pc

    return pc


_NAMES: dict[CompareOp, str] = {
    "=": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}


def _unless_false(found: "pa.BooleanArray | None") -> Verdicts:
    """True unless a test is known to be false: NULL, and a test that failed (None), are not known."""
    if found is None:
        return ROWS_MIGHT_MATCH
    known = validity(found)
    passed = truths(found)
    return passed if known is None else passed | ~known


def _compared(values: pa.Array, op: CompareOp, other: "pa.Scalar | pa.Array") -> "pa.BooleanArray | None":
    """The comparison of each value; None where pyarrow does not compare the types."""
    try:
        return getattr(_kernels(), _NAMES[op])(values, other)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return None


def _compared_with(values: pa.Array, op: CompareOp, literal: Literal) -> "pa.BooleanArray | None":
    """The comparison of each value with a literal, which another type rounds outwards."""
    value, types = literal.value, pa.types
    if types.is_integer(values.type) and isinstance(value, float):
        # As engines compare them: as doubles.
        return _compared(values.cast(pa.float64(), safe=False), op, _scalar(value, pa.float64()))
    if types.is_integer(values.type) and isinstance(value, Decimal | int):
        return _compared(values, op, _integer_beside(value, values.type, op))
    if types.is_decimal(values.type) and isinstance(value, Decimal | int | float):
        return _compared(values, op, _decimal_beside(value, values.type, op))
    if types.is_floating(values.type) and isinstance(value, Decimal | int):
        return _compared(values, op, _scalar(float(value), pa.float64()))
    return _compared(values, op, literal_scalar(literal))


def _integer_beside(value: Decimal | int, data_type: pa.DataType, op: CompareOp) -> pa.Scalar:
    """The integer that compares with all others as a number does, by ``<=`` or ``>=``."""
    whole = math.floor(value) if op in ("<", "<=") else math.ceil(value)
    last = (1 << (data_type.bit_width - 1)) - 1
    return _scalar(min(max(whole, ~last), last), data_type)


def _decimal_beside(value: Decimal | float, data_type: pa.DataType, op: CompareOp) -> pa.Scalar:
    """As `_integer_beside`, of decimals; a double is moved outwards by more than casts to double round."""
    if isinstance(value, float) and not math.isfinite(value):
        return _scalar(value, pa.float64())
    exact = Decimal(value)
    is_upper = op in ("<", "<=")
    if isinstance(value, float):
        margin = _WIDE.multiply(abs(exact), _DOUBLE_MARGIN)
        exact = _WIDE.add(exact, margin if is_upper else -margin)
    last = Decimal(10**data_type.precision - 1).scaleb(-data_type.scale, _WIDE)
    limited = min(max(exact, -last), last)
    rounding = ROUND_FLOOR if is_upper else ROUND_CEILING
    fitted = limited.quantize(Decimal(1).scaleb(-data_type.scale), rounding, context=_WIDE)
    return _scalar(fitted, data_type)


def _scalar(value: Any, data_type: pa.DataType) -> pa.Scalar:
    return array_of([value], data_type)[0]


def _membership(values: pa.Array, literals: Sequence[Literal]) -> pa.BooleanArray:
    """Whether each value is among literals of its type; zeros are equal whatever their sign."""
    members: list[Any] = [each.value for each in literals]
    zeros = [-each for each in members if isinstance(each, float) and each == 0]
    return _kernels().is_in(values, value_set=array_of([*members, *zeros], values.type))


def _starting_with(values: pa.Array, prefix: str) -> pa.BooleanArray:
    return _kernels().starts_with(values, pattern=prefix)
