"""What is known of one column in one file, and which conditions it rules out.

Two kinds of evidence answer the same questions: the statistics of a data column bound its values, the
partition value of a partition column is its value. Every method returns DuckDB SQL over one row per
file that is FALSE only if no row of the file is as the method says; the docstring of each rule
argues why no such row is lost. ``may_compare("<", v)`` asks for a row on which ``column < v`` is TRUE.
All of these imply that the column is not NULL, except `may_be_null`.
"""

from collections.abc import Sequence
from typing import Protocol

from deltaarrow.compute import quote_literal
from deltaarrow.expressions import CompareOp, Literal, literal_sql
from deltaarrow.partitions import duckdb_type
from deltaarrow.schema import Field, PrimitiveType, StructType, to_arrow_type
from deltaarrow.statistics.bounds import FileStatisticsSql
from deltaarrow.values import Value

__all__ = [
    "ROWS_CANNOT_MATCH",
    "ROWS_MIGHT_MATCH",
    "ColumnStatistics",
    "Evidence",
    "PartitionValue",
    "all_of",
    "any_of",
]

ROWS_MIGHT_MATCH = "TRUE"
"""The answer for a file that has to be read."""

ROWS_CANNOT_MATCH = "FALSE"
"""The answer for a file that holds no matching row."""

_MAX_LISTED = 256
"""Members of an IN list that are compared one by one; of longer lists only the extremes are."""

_SQL_OPERATORS = {"!=": "<>"}
_DAY = "^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}$"
_LOCAL = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?$"
_ZONED = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})$"
)
"""Texts of partition values that DuckDB and `parse_partition_value` read alike."""

_RELAXED: dict[CompareOp, CompareOp] = {"<": "<=", ">": ">="}


def all_of(parts: Sequence[str]) -> str:
    """The conjunction of answers."""
    known = [part for part in dict.fromkeys(parts) if part != ROWS_MIGHT_MATCH]
    if ROWS_CANNOT_MATCH in known:
        return ROWS_CANNOT_MATCH
    return _joined(known, "AND") if known else ROWS_MIGHT_MATCH


def any_of(parts: Sequence[str]) -> str:
    """The disjunction of answers."""
    known = [part for part in dict.fromkeys(parts) if part != ROWS_CANNOT_MATCH]
    if ROWS_MIGHT_MATCH in known:
        return ROWS_MIGHT_MATCH
    return _joined(known, "OR") if known else ROWS_CANNOT_MATCH


def _joined(parts: Sequence[str], connective: str) -> str:
    return parts[0] if len(parts) == 1 else f"({f' {connective} '.join(parts)})"


def _unless_false(condition: str) -> str:
    """TRUE unless the condition is known to be FALSE; NULL or an error, such as an overflow, is unknown."""
    return f"coalesce(TRY({condition}), TRUE)"


def _unless_true(condition: str) -> str:
    """TRUE unless the condition is known to be TRUE."""
    return f"NOT coalesce(TRY({condition}), FALSE)"


class Evidence(Protocol):
    """What is known of a column."""

    @property
    def field(self) -> Field:
        """The column in the schema."""

    def may_be_null(self) -> str:
        """The column is NULL."""

    def may_be_known(self) -> str:
        """The column is not NULL."""

    def may_compare(self, op: CompareOp, literal: Literal) -> str:
        """The comparison with a literal, which is neither NULL nor NaN, is TRUE."""

    def may_be_in(self, literals: Sequence[Literal]) -> str:
        """The column equals one of the literals, all of the column's type and none of them NULL or NaN."""

    def may_not_be_in(self, literals: Sequence[Literal]) -> str:
        """The column equals none of them."""

    def may_start_with(self, prefix: str) -> str:
        """The column, a string, has the prefix."""

    def may_not_start_with(self, prefix: str) -> str:
        """The column has another beginning."""


class ColumnStatistics(Value):
    """A data column, of which the file's statistics tell something.

    Attributes:
        fields: the fields from the top to the column.
        path: their names in the data files.
        statistics: the SQL of the file's statistics.
    """

    fields: tuple[Field, ...]
    path: tuple[str, ...]
    statistics: FileStatisticsSql

    @property
    def field(self) -> Field:
        """The column."""
        return self.fields[-1]

    @property
    def lower(self) -> str | None:
        """The SQL of a lower bound."""
        return self.statistics.lower_bound(self.path, self.field)

    @property
    def upper(self) -> str | None:
        """The SQL of an upper bound."""
        return self.statistics.upper_bound(self.path, self.field)

    def may_be_null(self) -> str:
        """A count of 0 says that no row is NULL, with wide bounds as well.

        Of a field of a struct it may not count the rows whose struct is NULL, and structs have no count.
        """
        if len(self.fields) > 1 or isinstance(self.field.type, StructType):
            return ROWS_MIGHT_MATCH
        return _unless_false(f"{self.statistics.null_count(self.path)} <> 0")

    def may_be_known(self) -> str:
        """As many NULLs as records say that every row is NULL, with wide bounds as well."""
        if isinstance(self.field.type, StructType):
            return ROWS_MIGHT_MATCH
        return _unless_false(f"{self.statistics.null_count(self.path)} <> {self.statistics.num_records()}")

    def may_compare(self, op: CompareOp, literal: Literal) -> str:
        """All values lie between the bounds, so one beyond the literal needs a bound beyond it.

        A literal that is not of the column's type is compared by rounding on one side or the other. That
        keeps the order but may make equal what is not, so its strict comparisons count as the others,
        and nothing is concluded from ``!=``.
        """
        if self.lower is None or self.upper is None:
            return self.may_be_known()
        value = literal_sql(literal)
        if literal.type != to_arrow_type(self.field.type):
            op = _RELAXED.get(op, op)
            if op == "!=":
                return self.may_be_known()
        below, above = f"{self.lower} {op} {value}", f"{self.upper} {op} {value}"
        match op:
            case "=":
                parts = [_unless_false(f"{self.lower} <= {value}"), _unless_false(f"{self.upper} >= {value}")]
            case "!=":
                parts = [_unless_true(f"{self.lower} = {value} AND {self.upper} = {value}")]
            case "<" | "<=":
                parts = [_unless_false(below)]
            case ">" | ">=":
                parts = [_unless_false(above)]
        return all_of([*parts, self.may_be_known()])

    def may_be_in(self, literals: Sequence[Literal]) -> str:
        """One of the literals lies between the bounds; before that, their extremes overlap with them."""
        if not literals:
            return ROWS_CANNOT_MATCH
        if self.lower is None or self.upper is None:
            return self.may_be_known()
        ordered = sorted(literals, key=lambda each: each.value)  # type: ignore[arg-type,return-value]
        first, last = literal_sql(ordered[0]), literal_sql(ordered[-1])
        parts = [_unless_false(f"{self.lower} <= {last}"), _unless_false(f"{self.upper} >= {first}")]
        if 1 < len(literals) <= _MAX_LISTED:
            # A lambda, so that the bounds are computed once and not for every member.
            listed = ", ".join(map(literal_sql, literals))
            between = f"list_filter([{listed}], lambda v: v BETWEEN b.lower AND b.upper)"
            found = f"b.lower IS NULL OR b.upper IS NULL OR len({between}) > 0"
            bounds = f"{{'lower': {self.lower}, 'upper': {self.upper}}}"
            parts.append(_unless_false(f"list_transform([{bounds}], lambda b: {found})[1]"))
        return all_of([*parts, self.may_be_known()])

    def may_not_be_in(self, literals: Sequence[Literal]) -> str:
        """If both bounds are one of the literals, every value is that literal."""
        if self.lower is None or self.upper is None or not literals:
            return self.may_be_known()
        members = ", ".join(map(literal_sql, literals[:_MAX_LISTED]))
        outside = _unless_true(f"{self.lower} = {self.upper} AND {self.lower} IN ({members})")
        return all_of([outside, self.may_be_known()])

    def may_start_with(self, prefix: str) -> str:
        """The texts with a prefix follow each other, the prefix itself first.

        So the upper bound is not before the prefix, and the lower bound, cut to its length, not after it.
        """
        if self.lower is None or self.upper is None:
            return self.may_be_known()
        value = quote_literal(prefix)
        reaches = [f"left({self.lower}, {len(prefix)}) <= {value}", f"{self.upper} >= {value}"]
        return all_of([*map(_unless_false, reaches), self.may_be_known()])

    def may_not_start_with(self, prefix: str) -> str:
        """If both bounds have the prefix, everything between them has it."""
        if self.lower is None or self.upper is None:
            return self.may_be_known()
        value = quote_literal(prefix)
        both = f"starts_with({self.lower}, {value}) AND starts_with({self.upper}, {value})"
        return all_of([_unless_true(both), self.may_be_known()])


class PartitionValue(Value):
    """A partition column: every row of the file has the one value that the log gives.

    Attributes:
        field: the column.
        name: its name in ``partitionValues``.
        values: the SQL of the map of partition values.
    """

    field: Field
    name: str
    values: str

    @property
    def _key(self) -> str:
        return quote_literal(self.name)

    @property
    def _text(self) -> str:
        return f"{self.values}[{self._key}]"

    @property
    def _is_known(self) -> str:
        # To the protocol an empty text is NULL; readers take it for an empty string or binary all the same.
        empty_is_null = self.field.type not in (PrimitiveType("string"), PrimitiveType("binary"))
        return f"coalesce({self._text}, '') <> ''" if empty_is_null else f"{self._text} IS NOT NULL"

    @property
    def _is_absent(self) -> str:
        """The log says nothing, not even NULL, of the column: a fault that another part may judge."""
        return f"NOT coalesce(map_contains({self.values}, {self._key}), FALSE)"

    def _value(self) -> str:
        """The typed value; NULL also where SQL reads the text otherwise than `parse_partition_value`."""
        assert isinstance(self.field.type, PrimitiveType)
        text = self._text
        match self.field.type.type:
            case "string":
                return text
            case "binary":
                return f"encode({text})"
            case "boolean":
                return f"CASE lower({text}) WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE END"
            case "float":
                return f"CAST(TRY_CAST({text} AS DOUBLE) AS FLOAT)"
            case "timestamp":
                # Without a zone the text is in UTC, whatever the zone of the connection.
                local = f"TRY_CAST(regexp_extract({text}, {quote_literal(_LOCAL)})||'+00' AS TIMESTAMPTZ)"
                zoned = f"TRY_CAST(regexp_extract({text}, {quote_literal(_ZONED)}) AS TIMESTAMPTZ)"
                return f"coalesce({zoned}, {local})"
            case "timestamp_ntz":
                return f"TRY_CAST(regexp_extract({text}, {quote_literal(_LOCAL)}) AS TIMESTAMP)"
            case "date":
                return f"TRY_CAST(regexp_extract({text}, {quote_literal(_DAY)}) AS DATE)"
            case _:
                return f"TRY_CAST({text} AS {duckdb_type(self.field.type)})"

    def _may(self, condition: str) -> str:
        """Known, and the condition on the value is not FALSE."""
        return f"CASE WHEN {self._is_known} THEN {_unless_false(condition)} ELSE {self._is_absent} END"

    def may_be_null(self) -> str:
        """NULL is an absent or empty text."""
        return f"coalesce({self._text}, '') = ''"

    def may_be_known(self) -> str:
        """NULL is an absent text, unless the log does not mention the column at all."""
        return f"({self._is_known} OR {self._is_absent})"

    def may_compare(self, op: CompareOp, literal: Literal) -> str:
        """Every row has the value, so the comparison holds for it or for no row.

        A literal of another type: see `ColumnStatistics.may_compare`.
        """
        if literal.type != to_arrow_type(self.field.type):
            op = _RELAXED.get(op, op)
            if op == "!=":
                return self.may_be_known()
        return self._may(f"{self._value()} {_SQL_OPERATORS.get(op, op)} {literal_sql(literal)}")

    def may_be_in(self, literals: Sequence[Literal]) -> str:
        """Every row has the value, so it is among the literals for all rows or for none."""
        members = ", ".join(map(literal_sql, literals))
        return self._may(f"{self._value()} IN ({members})") if members else ROWS_CANNOT_MATCH

    def may_not_be_in(self, literals: Sequence[Literal]) -> str:
        """As `may_be_in`."""
        members = ", ".join(map(literal_sql, literals))
        return self._may(f"{self._value()} NOT IN ({members})") if members else self.may_be_known()

    def may_start_with(self, prefix: str) -> str:
        """Every row has the value, so the prefix too, or none has."""
        return self._may(f"starts_with({self._value()}, {quote_literal(prefix)})")

    def may_not_start_with(self, prefix: str) -> str:
        """As `may_start_with`."""
        return self._may(f"NOT starts_with({self._value()}, {quote_literal(prefix)})")
