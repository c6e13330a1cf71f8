"""File skipping: a predicate as SQL that is FALSE for files in which no row can match.

Implements *Per-file Statistics* and *Partition Value Serialization* of PROTOCOL.md for readers, after
the example of Delta's ``DataSkippingReader``. A predicate is taken apart with two questions that call
each other: may it be TRUE on some row, and may it be FALSE? NOT swaps them. What both leave undecided
may match: a part that was not understood, a comparison of columns, a column without statistics.

NaN decides comparisons one way in Spark and DuckDB and another way in pyarrow (see
`deltaarrow.expressions.nodes`), and statistics may be silent about it (see
`deltaarrow.statistics.bounds`). So nothing is concluded from the bounds of floating point columns
about a comparison that NaN may satisfy.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa

from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions import (
    And,
    Cast,
    Column,
    Compare,
    CompareOp,
    Constant,
    IsIn,
    IsNan,
    IsNull,
    Literal,
    Not,
    Operand,
    Or,
    Predicate,
    StartsWith,
    VariantGet,
    coerce_literal,
    is_lossless_cast,
    resolve_column,
)
from deltaarrow.schema import Field, PrimitiveType, StructType, physical_name, to_arrow_type
from deltaarrow.statistics.bounds import FileStatisticsSql, lower_bound, upper_bound
from deltaarrow.statistics.evidence import (
    ROWS_CANNOT_MATCH,
    ROWS_MIGHT_MATCH,
    ColumnStatistics,
    Evidence,
    PartitionValue,
    all_of,
    any_of,
)
from deltaarrow.values import Value

__all__ = ["skipping_sql", "variant_fields"]

_NEGATED: dict[CompareOp, CompareOp] = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_MIRRORED: dict[CompareOp, CompareOp] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_FLOATS = (PrimitiveType("float"), PrimitiveType("double"))
_TRUE_FOR_GREATEST = ("!=", ">", ">=")
_TRUE_FOR_UNORDERED = ("!=",)


def skipping_sql(
    predicate: Predicate,
    schema: StructType,
    mapping_mode: str = "none",
    partition_columns: Collection[str] = (),
    *,
    stats: str | None = "stats",
    partition_values: str = "partitionValues",
    stats_parsed: str | None = None,
    stats_parsed_type: pa.DataType | None = None,
    nan_is_greatest: bool | None = None,
    variant_bounds: Mapping[VariantGet, tuple[str, str]] | None = None,
    statistics: FileStatisticsSql | None = None,
) -> str | None:
    """The DuckDB SQL of a condition on files that is FALSE only where no row can match.

    It is never NULL and never fails, whatever the texts in the log. It needs no setting of the
    connection.

    Args:
        predicate: a predicate over logical names, bound to the schema or not; columns that the schema
            does not have and literals that do not fit prune nothing.
        schema: the logical schema of the table.
        mapping_mode: the column mapping mode, ``none``, ``name`` or ``id``.
        partition_columns: logical names.
        stats: the SQL of the statistics of a file as JSON text, None where there is none.
        partition_values: the SQL of its partition values, a map from physical names to texts.
        stats_parsed: the SQL of the same statistics as a struct (physical names); it is asked first.
        stats_parsed_type: the Arrow type of that struct, by which it is known what it has.
        nan_is_greatest: how the rows will be compared with NaN: True as DuckDB and Spark do, False as
            pyarrow does. None is right for both, and prunes less.
        variant_bounds: the SQL of the least and the greatest value of parts of variants, as
            `deltaarrow.statistics.variants` decodes them; see `deltaarrow.statistics.variant_skipping`.
        statistics: the SQL of what the statistics tell, in place of `stats` and `stats_parsed`.

    Returns:
        The SQL, or None where no file can be left out.

    >>> from deltaarrow.expressions import from_sql
    >>> from deltaarrow.schema import Field, Schema
    >>> schema = Schema([Field("p", "long"), Field("a", "long")])
    >>> print(skipping_sql(from_sql("p IS NULL"), schema, "none", ["p"]))
    coalesce(partitionValues['p'], '') = ''
    """
    if statistics is None:
        statistics = FileStatisticsSql(stats, stats_parsed, stats_parsed_type)
    reader = _Reader(
        schema,
        mapping_mode,
        frozenset(partition_columns),
        statistics,
        partition_values,
        nan_is_greatest,
        variant_bounds or {},
    )
    found = reader.may_be_true(predicate)
    return None if found == ROWS_MIGHT_MATCH else found


def variant_fields(schema: StructType, part: VariantGet) -> tuple[Field, ...] | None:
    """The fields on the way to a variant; None where there is no such one."""
    try:
        fields = resolve_column(schema, part.variant.path)
    except InvalidPredicateError:
        return None
    return fields if fields[-1].type == PrimitiveType("variant") else None


@dataclass(frozen=True)
class _VariantStatistics(FileStatisticsSql):
    """The statistics of a file with the SQL of the bounds of a part of a variant, where there are some."""

    bounds: tuple[str, str] | None = None

    def lower_bound(self, path: tuple[str, ...], field: Field) -> str | None:
        return None if self.bounds is None else lower_bound(field, self.bounds[0])

    def upper_bound(self, path: tuple[str, ...], field: Field) -> str | None:
        return None if self.bounds is None else upper_bound(field, self.bounds[1])


class _Reader(Value):
    schema: StructType
    mapping_mode: str
    partition_columns: frozenset[str]
    statistics: FileStatisticsSql
    partition_values: str
    nan_is_greatest: bool | None
    variant_bounds: Mapping[VariantGet, tuple[str, str]]

    def may_be_true(self, predicate: Predicate) -> str:
        """A row on which AND is TRUE makes all parts TRUE; one on which OR is TRUE makes one TRUE."""
        match predicate:
            case And(operands):
                return all_of([self.may_be_true(each) for each in operands])
            case Or(operands):
                return any_of([self.may_be_true(each) for each in operands])
            case Not(operand):
                return self.may_be_false(operand)
            case Constant(value):
                return ROWS_MIGHT_MATCH if value is True else ROWS_CANNOT_MATCH
            case _:
                return self._leaf(predicate, wanted=True)

    def may_be_false(self, predicate: Predicate) -> str:
        """A row on which AND is FALSE makes one part FALSE; one on which OR is FALSE makes all FALSE."""
        match predicate:
            case And(operands):
                return any_of([self.may_be_false(each) for each in operands])
            case Or(operands):
                return all_of([self.may_be_false(each) for each in operands])
            case Not(operand):
                return self.may_be_true(operand)
            case Constant(value):
                return ROWS_MIGHT_MATCH if value is False else ROWS_CANNOT_MATCH
            case _:
                return self._leaf(predicate, wanted=False)

    def _leaf(self, predicate: Predicate, wanted: bool) -> str:
        match predicate:
            case Compare(op, left, right):
                return self._compare(op, left, right, wanted)
            case IsIn(column, values, arrow_type):
                return self._is_in(column, [Literal(value, arrow_type) for value in values], wanted)
            case StartsWith(column, prefix):
                evidence = self._evidence(column)
                if evidence is None or evidence.field.type != PrimitiveType("string"):
                    return ROWS_MIGHT_MATCH
                return evidence.may_start_with(prefix) if wanted else evidence.may_not_start_with(prefix)
            case IsNull((Column() | VariantGet()) as column):
                evidence = self._evidence(column)
                if evidence is None:
                    return ROWS_MIGHT_MATCH
                return evidence.may_be_null() if wanted else evidence.may_be_known()
            case IsNan(column):
                evidence = self._evidence(column)
                return ROWS_MIGHT_MATCH if evidence is None else evidence.may_be_known()
            case _:
                return ROWS_MIGHT_MATCH

    def _compare(self, op: CompareOp, left: Operand, right: Operand, wanted: bool) -> str:
        if Literal(None) in (_untyped(left), _untyped(right)):
            # A comparison with NULL is NULL.
            return ROWS_CANNOT_MATCH
        if isinstance(left, Literal):
            left, right, op = right, left, _MIRRORED[op]
        evidence = self._evidence(left)
        if evidence is None:
            return ROWS_MIGHT_MATCH
        if not isinstance(right, Literal):
            other = self._evidence(right)
            known = ROWS_MIGHT_MATCH if other is None else other.may_be_known()
            return all_of([evidence.may_be_known(), known])
        literal = coerce_literal(right, evidence.field.type)
        if literal is None or _is_nan(literal):
            return ROWS_MIGHT_MATCH
        if self._nan_may_give(evidence, op, wanted):
            return evidence.may_be_known()
        return evidence.may_compare(op if wanted else _NEGATED[op], literal)

    def _is_in(self, column: Column, values: list[Literal], wanted: bool) -> str:
        evidence = self._evidence(column)
        if evidence is None:
            return ROWS_MIGHT_MATCH
        own = to_arrow_type(evidence.field.type)
        members: list[Literal] = []
        for value in values:
            literal = coerce_literal(value, evidence.field.type)
            if literal is None or _is_nan(literal):
                return ROWS_MIGHT_MATCH
            if literal.type == own:
                members.append(literal)
            elif not isinstance(literal.value, int | Decimal):
                # pyarrow turns the members into the column's type, whatever that loses.
                return evidence.may_be_known()
            # Another number, 2.5 among integers, equals no value of the column.
        if self._nan_may_give(evidence, "=", wanted):
            return evidence.may_be_known()
        return evidence.may_be_in(members) if wanted else evidence.may_not_be_in(members)

    def _nan_may_give(self, evidence: Evidence, op: CompareOp, wanted: bool) -> bool:
        """Whether comparing NaN with a number may have that outcome, bounds or not."""
        if evidence.field.type not in _FLOATS:
            return False
        outcomes = []
        if self.nan_is_greatest is not False:
            outcomes.append(op in _TRUE_FOR_GREATEST)
        if self.nan_is_greatest is not True:
            outcomes.append(op in _TRUE_FOR_UNORDERED)
        return wanted in outcomes

    def _evidence(self, operand: Operand) -> Evidence | None:
        """What is known of a column, of whatever is cast without loss as well; None for what is not there."""
        if isinstance(operand, Literal):
            return None
        if isinstance(operand, VariantGet):
            return self._variant_evidence(operand)
        column = operand.operand if isinstance(operand, Cast) else operand
        try:
            fields = resolve_column(self.schema, column.path)
        except InvalidPredicateError:
            return None
        field = fields[-1]
        if isinstance(operand, Cast) and not is_lossless_cast(to_arrow_type(field.type), operand.type):
            return None
        path = tuple(physical_name(each, self.mapping_mode) for each in fields)
        if fields[0].name in self.partition_columns:
            return PartitionValue(field, path[0], self.partition_values) if len(fields) == 1 else None
        return ColumnStatistics(fields, path, self.statistics)

    def _variant_evidence(self, part: VariantGet) -> Evidence | None:
        """What is known of a part of a variant; like a field of a struct it may be NULL in any row."""
        fields = variant_fields(self.schema, part)
        if fields is None:
            return None
        path = tuple(physical_name(each, self.mapping_mode) for each in fields)
        known = self.statistics
        bounds = self.variant_bounds.get(part)
        statistics = _VariantStatistics(known.json, known.parsed, known.parsed_type, bounds)
        return ColumnStatistics((*fields, Field(part.json_path, part.type)), path, statistics)


def _untyped(operand: Operand) -> Operand:
    return Literal(operand.value) if isinstance(operand, Literal) else operand


def _is_nan(literal: Literal) -> bool:
    return isinstance(literal.value, float) and math.isnan(literal.value)
