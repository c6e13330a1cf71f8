"""File skipping: which files of a list may hold a row on which a predicate is TRUE.

Implements *Per-file Statistics* and *Partition Value Serialization* of PROTOCOL.md for readers, after
the example of Delta's ``DataSkippingReader``. A predicate is taken apart with two questions that call
each other: may it be TRUE on some row, and may it be FALSE? NOT swaps them. What both leave undecided
may match: an `Opaque` part, a comparison of columns, a column without statistics.

This is the one place where a predicate meets what the log says of files, whoever asks: a scan, a change
feed, a conflict check or an explanation. What differs is the evidence (`FileEvidence`): columns of a
checkpoint, of commits or of a table of files.

NaN meets no comparison but ``!=`` (see `deltaarrow.expressions.nodes`), and statistics may be silent about
it (see `deltaarrow.statistics.bounds`). So nothing is concluded from the bounds of floating point columns
about a comparison that NaN may satisfy, and nothing at all about whether a value is NaN.
"""

import math
from collections.abc import Collection
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions import (
    MIRRORED,
    NEGATED,
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
    is_in_total_order,
    is_lossless_cast,
    resolve_column,
)
from deltaarrow.partitions import EncodedPartitionValues
from deltaarrow.schema import FLOATING, Field, PrimitiveType, StructType, physical_name, to_arrow_type
from deltaarrow.statistics.bounds import bound_arrow_type
from deltaarrow.statistics.evidence import (
    ROWS_CANNOT_MATCH,
    ROWS_MIGHT_MATCH,
    Asked,
    ColumnStatistics,
    Evidence,
    FileEvidence,
    PartitionValue,
    Verdicts,
    all_of,
    any_of,
)

__all__ = ["may_match", "statistics_asked", "variant_fields"]


def may_match(
    predicate: Predicate,
    files: FileEvidence,
    schema: StructType,
    mapping_mode: str = "none",
    partition_columns: Collection[str] = (),
) -> Verdicts:
    """For each file of a list whether it may hold a row on which a predicate is TRUE.

    Args:
        predicate: a predicate over logical names, bound to the schema or not; columns that the schema
            does not have and literals that do not fit rule out nothing.
        files: what is known of the files.
        schema: the logical schema of the table.
        mapping_mode: the column mapping mode, ``none``, ``name`` or ``id``.
        partition_columns: logical names.

    Returns:
        A mask, or a bool where nothing that is known of a file decides.

    >>> from deltaarrow.schema import Field, Schema
    >>> from deltaarrow.statistics.listed import ListedFiles
    >>> maps = pa.array([[("p", "1")], [("p", None)]], pa.map_(pa.string(), pa.string()))
    >>> files = ListedFiles.of(pa.table({"partition_values": maps, "stats": pa.array(["{}", None])}))
    >>> schema = Schema([Field("p", "long"), Field("a", "long")])
    >>> may_match(IsNull(Column(("p",))), files, schema, "none", ["p"]).tolist()
    [False, True]
    """
    return _Walk(schema, mapping_mode, frozenset(partition_columns), files).may_be_true(predicate)


def statistics_asked(
    predicate: Predicate,
    schema: StructType,
    mapping_mode: str = "none",
    partition_columns: Collection[str] = (),
) -> tuple[tuple[Asked, ...], Verdicts]:
    """What `may_match` asks of the statistics of files, and its verdict where no file is needed for that.

    The verdict is a mask over no files where partition values or statistics decide.
    """
    files = _NoFiles({})
    verdict = may_match(predicate, files, schema, mapping_mode, partition_columns)
    return tuple(files.asked), verdict


class _NoFiles(NamedTuple):
    """A list without files, which notes what is asked of their statistics."""

    asked: dict[Asked, None]

    def statistic(self, asked: Asked) -> pa.Array:
        """No values, of the type that they would have."""
        self.asked[asked] = None
        if asked.what == "all_null":
            return pa.nulls(0, pa.bool_())
        if asked.field is None:
            return pa.nulls(0, pa.int64())
        assert isinstance(asked.field.type, PrimitiveType)  # as only such have bounds
        return pa.nulls(0, bound_arrow_type(asked.field.type))

    def partition_values(self, name: str) -> EncodedPartitionValues:
        """No values."""
        return EncodedPartitionValues(pa.nulls(0, pa.string()), np.empty(0, np.uint8))


def variant_fields(schema: StructType, part: VariantGet) -> tuple[Field, ...] | None:
    """The fields on the way to a variant; None where there is no such one."""
    try:
        fields = resolve_column(schema, part.variant.path)
    except InvalidPredicateError:
        return None
    return fields if fields[-1].type == PrimitiveType("variant") else None


class _Walk(NamedTuple):
    schema: StructType
    mapping_mode: str
    partition_columns: frozenset[str]
    files: FileEvidence

    def may_be_true(self, predicate: Predicate) -> Verdicts:
        """A row on which AND is TRUE makes all parts TRUE; one on which OR is TRUE makes one TRUE."""
        match predicate:
            case And(operands):
                return all_of([self.may_be_true(each) for each in operands])
            case Or() if (found := _beyond_a_number(predicate)) is not None:
                # NaN, of which bounds say nothing, is beyond every number.
                beside = self._evidence(found.left)
                return ROWS_MIGHT_MATCH if beside is None else beside.may_be_known()
            case Or(operands):
                return any_of([self.may_be_true(each) for each in operands])
            case Not(operand):
                return self.may_be_false(operand)
            case Constant(value):
                return ROWS_MIGHT_MATCH if value is True else ROWS_CANNOT_MATCH
            case _:
                return self._leaf(predicate, wanted=True)

    def may_be_false(self, predicate: Predicate) -> Verdicts:
        """A row on which AND is FALSE makes one part FALSE; one on which OR is FALSE makes all FALSE."""
        match predicate:
            case And(operands):
                return any_of([self.may_be_false(each) for each in operands])
            case Or() if (found := _beyond_a_number(predicate)) is not None:
                return self.may_be_true(Compare(NEGATED[found.op], found.left, found.right))
            case Or(operands):
                return all_of([self.may_be_false(each) for each in operands])
            case Not(operand):
                return self.may_be_true(operand)
            case Constant(value):
                return ROWS_MIGHT_MATCH if value is False else ROWS_CANNOT_MATCH
            case _:
                return self._leaf(predicate, wanted=False)

    def _leaf(self, predicate: Predicate, wanted: bool) -> Verdicts:
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

    def _compare(self, op: CompareOp, left: Operand, right: Operand, wanted: bool) -> Verdicts:
        if Literal(None) in (_untyped(left), _untyped(right)):
            # A comparison with NULL is NULL.
            return ROWS_CANNOT_MATCH
        if isinstance(left, Literal):
            left, right, op = right, left, MIRRORED[op]
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
        return evidence.may_compare(op if wanted else NEGATED[op], literal)

    def _is_in(self, column: Column, values: list[Literal], wanted: bool) -> Verdicts:
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
        return evidence.field.type in FLOATING and wanted == (op == "!=")

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
            return PartitionValue(field, path[0], self.files) if len(fields) == 1 else None
        return ColumnStatistics(fields, path, self.files)

    def _variant_evidence(self, part: VariantGet) -> Evidence | None:
        """What is known of a part of a variant; like a field of a struct it may be NULL in any row."""
        fields = variant_fields(self.schema, part)
        if fields is None:
            return None
        path = tuple(physical_name(each, self.mapping_mode) for each in fields)
        member = Field(part.json_path, part.type)
        return ColumnStatistics((*fields, member), path, self.files, part.json_path)


def _untyped(operand: Operand) -> Operand:
    return Literal(operand.value) if isinstance(operand, Literal) else operand


def _is_nan(literal: Literal) -> bool:
    return isinstance(literal.value, float) and math.isnan(literal.value)


def _beyond_a_number(predicate: Predicate) -> Compare | None:
    """What is greater than a number, NaN included, as a comparison of a column with it; None for all else."""
    found = is_in_total_order(predicate)
    return found if found is not None and isinstance(found.right, Literal) else None
