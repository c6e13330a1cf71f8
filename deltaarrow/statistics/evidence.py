"""Evidence about one column in a list of files, and the verdicts that it gives on the files.

There are two kinds of evidence: statistics bound the values of a data column; the partition value is the
value of a partition column. Each method of `Evidence` asks whether a file may have a row with the property
that the method names: ``may_compare("<", v)`` asks for a row on which ``column < v`` is TRUE. A verdict is
False only if the file has no such row; the docstring of each rule gives the argument. Except for
`may_be_null`, the property implies that the column is not NULL.
"""

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Any, Final, Literal as OneOf, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.kernels import pc as kernels
from deltaarrow.columnar.numpy_arrays import (
    array_of,
    booleans,
    integers,
    lengths,
    raw_numbers,
    texts,
    truths,
    validity,
)
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
"""Whether a row may match, for each file; one bool if the answer is the same for all files."""

ROWS_MIGHT_MATCH: Final = True
"""The verdict on files that must be read."""

ROWS_CANNOT_MATCH: Final = False
"""The verdict on files without a matching row."""

_MAX_LISTED = 256
"""The longest IN list that is compared value by value; for longer lists, only the extremes are compared."""

_RELAXED: dict[CompareOp, CompareOp] = {"<": "<=", ">": ">="}
_WIDE = Context(prec=76)
_DOUBLE_MARGIN = Decimal("1e-15")


class Asked(NamedTuple):
    """One statistic that a condition needs.

    Attributes:
        what: a bound of a column, its NULL count, or whether all rows are NULL.
        path: the physical path of the column.
        field: the column; None for a NULL count.
        json_path: the path into a variant, for a bound of a part of it; else None.
    """

    what: OneOf["lower", "upper", "null_count", "all_null"]
    path: tuple[str, ...]
    field: Field | None = None
    json_path: str | None = None


class FileEvidence(Protocol):
    """The log's data about a list of files, in columns with one row per file."""

    def statistic(self, asked: Asked) -> pa.Array:
        """Return a statistic: a bound comparable with the column, a count or a bool; NULL if unknown."""

    def partition_values(self, name: str) -> EncodedPartitionValues:
        """Return the values of a partition column, given its physical name."""


def all_of(parts: Sequence[Verdicts]) -> Verdicts:
    """Return the conjunction of verdicts."""
    found: Verdicts = True
    for part in parts:
        if part is False:
            return False
        if part is not True:
            found = part if found is True else found & part
    return found


def any_of(parts: Sequence[Verdicts]) -> Verdicts:
    """Return the disjunction of verdicts."""
    found: Verdicts = False
    for part in parts:
        if part is True:
            return True
        if part is not False:
            found = part if found is False else found | part
    return found


class Evidence(Protocol):
    """The evidence about one column; each method says for which rows it asks."""

    @property
    def field(self) -> Field:
        """The schema field of the column."""

    def may_be_null(self) -> Verdicts:
        """The column is NULL."""

    def may_be_known(self) -> Verdicts:
        """The column is not NULL."""

    def may_be_nan(self) -> Verdicts:
        """The column, of floating point numbers, is NaN."""

    def may_compare(self, op: CompareOp, literal: Literal) -> Verdicts:
        """The comparison with a literal is TRUE; the literal is neither NULL nor NaN."""

    def may_be_in(self, literals: Sequence[Literal]) -> Verdicts:
        """The column equals one of the literals, which have its type and are neither NULL nor NaN."""

    def may_not_be_in(self, literals: Sequence[Literal]) -> Verdicts:
        """The column equals none of the literals."""

    def may_start_with(self, prefix: str) -> Verdicts:
        """The column, a string, starts with the prefix."""

    def may_not_start_with(self, prefix: str) -> Verdicts:
        """The column, a string, does not start with the prefix."""


class ColumnStatistics(NamedTuple):
    """Evidence about a data column from statistics.

    Attributes:
        fields: the fields on the path to the column, from the top.
        path: the physical names of these fields.
        files: the log's data about the files.
        json_path: the path of a part of a variant, which is then the last of `fields`; else None.
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
        """A NULL count of 0 proves that no row is NULL, even with wide bounds.

        This does not apply to struct fields, whose count may not include rows with a NULL struct, nor to
        structs, which have no count.
        """
        if len(self.fields) > 1 or isinstance(self.field.type, StructType):
            return ROWS_MIGHT_MATCH
        return _unless_false(_compared(self._null_count, "!=", integers([0])[0]))

    def may_be_known(self) -> Verdicts:
        """A NULL count equal to numRecords proves that every row is NULL, even with wide bounds."""
        if isinstance(self.field.type, StructType):
            return ROWS_MIGHT_MATCH
        column = self.fields[-1] if self.json_path is None else self.fields[-2]
        return ~truths(self.files.statistic(Asked("all_null", self.path, column)))

    def may_be_nan(self) -> Verdicts:
        """Bounds ignore NaN, so that only a column without values has none."""
        return self.may_be_known()

    def may_compare(self, op: CompareOp, literal: Literal) -> Verdicts:
        """All values lie between the bounds, so a value beyond the literal implies a bound beyond it.

        A literal of another type is compared after rounding one side. Rounding keeps the order but may make
        different values equal, so ``<`` counts as ``<=``, ``>`` counts as ``>=``, and ``!=`` proves nothing.
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
        """One of the literals must lie between the bounds, and before that, their range must overlap them."""
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
            least, most = lower, upper
            if len(rows) < len(overlaps):
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
        """If both bounds equal one literal, every value is that literal."""
        if not self._has_bounds or not literals:
            return self.may_be_known()
        outside = [
            self._unless_both(lambda bound, each=each: _compared_with(bound, "=", each))  # type: ignore[misc]
            for each in literals[:_MAX_LISTED]
        ]
        return all_of([*outside, self.may_be_known()])

    def may_start_with(self, prefix: str) -> Verdicts:
        """Texts with a prefix are contiguous in sort order, and the prefix itself is the first.

        So the upper bound must be at or after the prefix, and the lower bound, truncated to the length of the
        prefix, at or before it.
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
        """If both bounds have the prefix, every value between them has it."""
        if not self._has_bounds:
            return self.may_be_known()
        return all_of([self._unless_both(lambda bound: _starting_with(bound, prefix)), self.may_be_known()])

    def _unless_both(self, test: "Callable[[pa.Array], pa.BooleanArray | None]") -> Verdicts:
        """True unless both bounds are known to pass a test."""
        lower, upper = test(self._lower), test(self._upper)
        return ROWS_MIGHT_MATCH if lower is None or upper is None else ~(truths(lower) & truths(upper))


class PartitionValue(NamedTuple):
    """Evidence about a partition column: every row of a file has the value in the log.

    Attributes:
        field: the column.
        name: the name of the column in ``partitionValues``.
        files: the log's data about the files.
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
        """Whether each text means NULL; in the protocol, an empty text is NULL for every type."""
        empty: np.ndarray = lengths(self._encoded.texts) == 0
        return empty

    def _is_known(self) -> np.ndarray:
        """Whether each text is a value; some readers treat an empty text as an empty string or binary."""
        has_empty = self._type in (PrimitiveType("string"), PrimitiveType("binary"))
        return np.ones(len(self._encoded.texts), bool) if has_empty else ~self._is_null

    def _may(self, test: "Callable[[pa.Array], pa.BooleanArray | None]") -> Verdicts:
        """The value is known and does not fail the test.

        A file may match if its text is not a valid value or the log does not have the column at all: reading
        the file then raises the error, unless another condition skips it.
        """
        encoded = self._encoded
        typed = encoded.typed(self._type)
        passed = _unless_false(test(typed.values))
        return encoded.spread(self._is_known() & (passed | ~typed.is_readable), of_null=False, of_untold=True)

    def may_be_null(self) -> Verdicts:
        """An absent or empty text means NULL."""
        return self._encoded.spread(self._is_null, of_null=True, of_untold=True)

    def may_be_known(self) -> Verdicts:
        """An absent text means NULL, unless the log does not have the column at all."""
        return self._encoded.spread(self._is_known(), of_null=False, of_untold=True)

    def may_be_nan(self) -> Verdicts:
        """Every row has the same value, so all rows are NaN, or none."""
        return self._may(kernels.is_nan)

    def may_compare(self, op: CompareOp, literal: Literal) -> Verdicts:
        """Every row has the same value, so the comparison holds for all rows or for none.

        For a literal of another type, see `ColumnStatistics.may_compare`.
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
        """Every row has the same value, so it is among the literals for all rows or for none."""
        if not literals:
            return ROWS_CANNOT_MATCH
        return self._may(lambda values: _membership(values, literals))

    def may_not_be_in(self, literals: Sequence[Literal]) -> Verdicts:
        """See `may_be_in`."""
        if not literals:
            return self.may_be_known()
        return self._may(lambda values: _kernels().invert(_membership(values, literals)))

    def may_start_with(self, prefix: str) -> Verdicts:
        """Every row has the same value, so all rows have the prefix or none has."""
        return self._may(lambda values: _starting_with(values, prefix))

    def may_not_start_with(self, prefix: str) -> Verdicts:
        """See `may_start_with`."""
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


_COMPARISONS: dict[CompareOp, np.ufunc] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def _unless_false(found: "pa.BooleanArray | None") -> Verdicts:
    """Return True unless a test is known to be false; NULL and a failed test (None) are unknown."""
    if found is None:
        return ROWS_MIGHT_MATCH
    known = validity(found)
    passed = truths(found)
    return passed if known is None else passed | ~known


def _compared(values: pa.Array, op: CompareOp, other: pa.Scalar) -> "pa.BooleanArray | None":
    """Compare each value; None if pyarrow cannot compare the types."""
    if values.type == other.type and _is_whole(values.type) and other.is_valid:
        return _whole_compared(values, op, other)
    try:
        return getattr(_kernels(), _NAMES[op])(values, other)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return None


def _is_whole(data_type: pa.DataType) -> bool:
    """Whether values are whole numbers: integers, days and microseconds."""
    types = pa.types
    return bool(types.is_integer(data_type) or types.is_date32(data_type) or types.is_timestamp(data_type))


def _whole_compared(values: pa.Array, op: CompareOp, other: pa.Scalar) -> pa.BooleanArray:
    # Arrow's kernels take 30 ms and 9 MB to load, and most tables are partitioned by days or numbers.
    number = other.as_py() if pa.types.is_integer(other.type) else other.value
    found, known = _COMPARISONS[op](raw_numbers(values), number), validity(values)
    bits = [
        None if each is None else pa.py_buffer(np.packbits(each, bitorder="little"))
        for each in (known, found)
    ]
    return pa.Array.from_buffers(pa.bool_(), len(found), bits)


def _compared_with(values: pa.Array, op: CompareOp, literal: Literal) -> "pa.BooleanArray | None":
    """Compare each value with a literal; a literal of another type is rounded outwards."""
    value, types = literal.value, pa.types
    if types.is_integer(values.type) and isinstance(value, float):
        # Engines compare these as doubles.
        return _compared(values.cast(pa.float64(), safe=False), op, _scalar(value, pa.float64()))
    if types.is_integer(values.type) and isinstance(value, Decimal | int):
        return _compared(values, op, _integer_beside(value, values.type, op))
    if types.is_decimal(values.type) and isinstance(value, Decimal | int | float):
        return _compared(values, op, _decimal_beside(value, values.type, op))
    if types.is_floating(values.type) and isinstance(value, Decimal | int):
        return _compared(values, op, _scalar(float(value), pa.float64()))
    return _compared(values, op, literal_scalar(literal))


def _integer_beside(value: Decimal | int, data_type: pa.DataType, op: CompareOp) -> pa.Scalar:
    """Return the integer that compares with all integers by ``<=`` or ``>=`` as the number does."""
    whole = math.floor(value) if op in ("<", "<=") else math.ceil(value)
    last = (1 << (data_type.bit_width - 1)) - 1
    return _scalar(min(max(whole, ~last), last), data_type)


def _decimal_beside(value: Decimal | float, data_type: pa.DataType, op: CompareOp) -> pa.Scalar:
    """Like `_integer_beside`, for decimals; a double is moved outwards by more than its rounding error."""
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
    """Whether each value is among literals of its type; 0.0 equals -0.0."""
    members: list[Any] = [each.value for each in literals]
    zeros = [-each for each in members if isinstance(each, float) and each == 0]
    return _kernels().is_in(values, value_set=array_of([*members, *zeros], values.type))


def _starting_with(values: pa.Array, prefix: str) -> pa.BooleanArray:
    return _kernels().starts_with(values, pattern=prefix)
