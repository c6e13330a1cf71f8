"""File skipping: the files of a list that may hold a row on which a predicate is TRUE.

Implements *Per-file Statistics* and *Partition Value Serialization* of PROTOCOL.md for readers, modelled on
Delta's ``DataSkippingReader``. Two mutually recursive questions decide a predicate: may it be TRUE on some
row, and may it be FALSE? NOT swaps them. Undecided parts may match: an `Opaque` part, a comparison of two
columns, a column without statistics.

All evaluation of predicates on the log's file data is here, for scans, change feeds, conflict checks and
explanations. The callers differ in their evidence (`FileEvidence`): columns of a checkpoint, of commits or of
a table of files.

NaN satisfies no comparison but ``!=`` (see `deltaarrow.expressions.predicates`), and statistics may ignore
it (see `deltaarrow.statistics.bounds`). So bounds of floating-point columns decide no comparison that NaN may
satisfy, and never whether a value is NaN.
"""

import math
from collections.abc import Collection, Sequence
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
    LiteralValue,
    Not,
    Operand,
    Or,
    Predicate,
    StartsWith,
    VariantGet,
    coerce_literal,
    coerce_literals,
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
    """Tell for each file of a list whether it may hold a row on which a predicate is TRUE.

    Args:
        predicate: a predicate over logical names, bound to the schema or not. Unknown columns and literals
            that do not fit skip no file.
        files: the log's data about the files.
        schema: the logical schema of the table.
        mapping_mode: the column mapping mode, ``none``, ``name`` or ``id``.
        partition_columns: logical names.

    Returns:
        A mask with one element per file, or one bool if the data about files decides nothing.

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
    """Return the statistics that `may_match` needs, and its verdict if it needs no file.

    If partition values or statistics decide, the verdict is an empty mask.
    """
    files = _NoFiles({})
    verdict = may_match(predicate, files, schema, mapping_mode, partition_columns)
    return tuple(files.asked), verdict


class _NoFiles(NamedTuple):
    """An empty list of files that records the requested statistics."""

    asked: dict[Asked, None]

    def statistic(self, asked: Asked) -> pa.Array:
        """Return no values, in the type of the statistic."""
        self.asked[asked] = None
        if asked.what == "all_null":
            return pa.nulls(0, pa.bool_())
        if asked.field is None:
            return pa.nulls(0, pa.int64())
        assert isinstance(asked.field.type, PrimitiveType)  # as only such have bounds
        return pa.nulls(0, bound_arrow_type(asked.field.type))

    def partition_values(self, name: str) -> EncodedPartitionValues:
        """Return no values."""
        return EncodedPartitionValues(pa.nulls(0, pa.string()), np.empty(0, np.uint8))


def variant_fields(schema: StructType, part: VariantGet) -> tuple[Field, ...] | None:
    """Return the fields on the path to a variant; None if the schema has no such variant."""
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
                # NaN is greater than every number, and bounds ignore it.
                beside = self._evidence(found.left)
                if isinstance(beside, PartitionValue):
                    return any_of([self._leaf(found, wanted=True), beside.may_be_nan()])
                return ROWS_MIGHT_MATCH if beside is None else beside.may_be_nan()
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
                return self._is_in(column, values, arrow_type, wanted)
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
                if evidence is None:
                    return ROWS_MIGHT_MATCH
                return evidence.may_be_nan() if wanted else evidence.may_be_known()
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

    def _is_in(
        self, column: Column, values: Sequence[LiteralValue], arrow_type: pa.DataType | None, wanted: bool
    ) -> Verdicts:
        evidence = self._evidence(column)
        if evidence is None:
            return ROWS_MIGHT_MATCH
        own = to_arrow_type(evidence.field.type)
        # Values of the column's own type were fitted to it when the predicate was bound.
        is_fitted = arrow_type == own and evidence.field.type not in FLOATING
        members = [Literal(value, own) for value in values] if is_fitted else []
        for literal in () if is_fitted else coerce_literals(values, arrow_type, evidence.field.type):
            if literal is None or _is_nan(literal):
                return ROWS_MIGHT_MATCH
            if literal.type == own:
                members.append(literal)
            elif not isinstance(literal.value, int | Decimal):
                # pyarrow casts the IN list to the column's type, even if that is lossy.
                return evidence.may_be_known()
            # A number outside the type, such as 2.5 for an integer column, equals no value.
        if self._nan_may_give(evidence, "=", wanted):
            return evidence.may_be_known()
        return evidence.may_be_in(members) if wanted else evidence.may_not_be_in(members)

    def _nan_may_give(self, evidence: Evidence, op: CompareOp, wanted: bool) -> bool:
        """Whether a comparison of NaN with a number may have the wanted outcome, whatever the bounds."""
        return evidence.field.type in FLOATING and wanted == (op == "!=")

    def _evidence(self, operand: Operand) -> Evidence | None:
        """Return the evidence about a column, also below a lossless cast; None if there is none."""
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
        """Return the evidence about a part of a variant; like a struct field, it may be NULL in any row."""
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
    """Return the comparison in a predicate "greater than a number, or NaN"; None for any other."""
    found = is_in_total_order(predicate)
    return found if found is not None and isinstance(found.right, Literal) else None
