"""`RowCondition`: a condition on rows of a scan, in one of the notations of users.

=====================  =========================================================  ======================
notation               class and semantics                                        rows are evaluated by
=====================  =========================================================  ======================
SQL text               `deltaarrow.spark_sql.Condition`, Spark's semantics        its parts, see there
pyarrow expressions    `ArrowCondition`, pyarrow's semantics                      pyarrow
tuples                 `TreeCondition`, semantics of the predicate tree           pyarrow, from the tree
=====================  =========================================================  ======================

Each condition has a predicate for skipping files, and filters batches. Parts that the scan of a file has
already evaluated are not evaluated again.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import pyarrow as pa

from deltaarrow.expressions import And, Predicate, conjuncts, from_arrow, to_arrow
from deltaarrow.runtime.fork_safety import cached_property

if TYPE_CHECKING:
    import pyarrow.compute as pc

__all__ = [
    "ArrowCondition",
    "Given",
    "RowCondition",
    "TreeCondition",
    "joined_predicate",
    "row_conditions",
    "undecided_conditions",
]


class RowCondition(Protocol):
    """A condition on rows; picklable."""

    @property
    def predicate(self) -> Predicate:
        """The condition as a predicate tree, with `Opaque` for parts that the tree cannot express."""
        ...

    @property
    def conjuncts(self) -> "Sequence[RowCondition]":
        """The conjuncts of the condition."""
        ...

    @property
    def arrow(self) -> "pc.Expression | None":
        """The condition as a pyarrow expression; None if pyarrow cannot evaluate it."""
        ...

    def select(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a batch that satisfy the condition."""
        ...


Given: TypeAlias = "RowCondition | pc.Expression | Iterable[RowCondition | pc.Expression] | None"
"""One condition, several or none."""


@dataclass(frozen=True)
class ArrowCondition:
    """A pyarrow expression."""

    arrow: "pc.Expression"

    @cached_property
    def predicate(self) -> Predicate:
        """The expression as a tree."""
        return from_arrow(self.arrow)

    @property
    def conjuncts(self) -> "Sequence[RowCondition]":
        """The whole expression."""
        return (self,)

    def select(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a batch that pyarrow keeps."""
        return batch.filter(self.arrow)


@dataclass(frozen=True)
class TreeCondition:
    """A predicate tree without `Opaque` parts."""

    predicate: Predicate

    @property
    def conjuncts(self) -> "Sequence[RowCondition]":
        """The parts of the tree."""
        return [TreeCondition(each) for each in conjuncts(self.predicate)]

    @cached_property
    def arrow(self) -> "pc.Expression":
        """The tree as an expression."""
        return to_arrow(self.predicate)

    def select(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a batch for which the tree is TRUE."""
        return batch.filter(self.arrow)


def row_conditions(given: Given) -> tuple[RowCondition, ...]:
    """Normalize conditions for a scan; raises `TypeError` for SQL text and tuples, which need a schema."""
    if given is None:
        return ()
    if isinstance(given, tuple | list):
        return tuple(found for each in given for found in row_conditions(each))
    import pyarrow.compute as pc

    if isinstance(given, str):
        raise TypeError(
            "the filter of a dataset is a pyarrow expression; pass SQL text or tuples as `filters` to"
            " DeltaTable.to_pyarrow_table"
        )
    if isinstance(given, pc.Expression):
        return (ArrowCondition(given),)
    if isinstance(given, Iterable):
        return tuple(found for each in given for found in row_conditions(each))
    return (given,)


def joined_predicate(conditions: Sequence[RowCondition]) -> Predicate | None:
    """Return the conjunction of conditions as one predicate; None without conditions."""
    if len(conditions) == 1:
        return conditions[0].predicate
    return And(tuple(each.predicate for each in conditions)) if conditions else None


def undecided_conditions(
    conditions: Iterable[RowCondition], decided: Collection[Predicate]
) -> list[RowCondition]:
    """Return the conditions with a part that is not among the decided predicates."""
    return [each for each in conditions if any(part not in decided for part in conjuncts(each.predicate))]
