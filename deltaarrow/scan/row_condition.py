"""What rows of a scan must meet, in whichever notation a user has said it.

=====================  =========================================================  ======================
notation               value                                                      rows are decided on by
=====================  =========================================================  ======================
SQL text               `deltaarrow.spark_sql.Condition`, with Spark's values      its parts, see there
pyarrow expressions    `ArrowCondition`, with pyarrow's values                    pyarrow
tuples                 `TreeCondition`, with the values of the predicate tree     pyarrow, from the tree
=====================  =========================================================  ======================

Each says by a predicate what it leaves out, and gives the matching rows of a batch. Parts that the scan of a
file has decided already are not evaluated again.
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
        """What it says of rows, with `Opaque` parts for what the tree cannot say."""
        ...

    @property
    def conjuncts(self) -> "Sequence[RowCondition]":
        """The conditions that it consists of, all of which have to be met."""
        ...

    @property
    def arrow(self) -> "pc.Expression | None":
        """The condition for pyarrow to evaluate; None where that cannot."""
        ...

    def select(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch that meet it."""
        ...


Given: TypeAlias = "RowCondition | pc.Expression | Iterable[RowCondition | pc.Expression] | None"
"""Conditions as callers have them: one, several or none."""


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
        """The expression as a whole."""
        return (self,)

    def select(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch that pyarrow keeps."""
        return batch.filter(self.arrow)


@dataclass(frozen=True)
class TreeCondition:
    """A predicate tree all of whose parts are understood."""

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
        """The rows of a batch for which the tree is TRUE."""
        return batch.filter(self.arrow)


def row_conditions(given: Given) -> tuple[RowCondition, ...]:
    """Return conditions as a scan takes them; `TypeError` for SQL text and tuples, which need a schema."""
    import pyarrow.compute as pc

    if given is None:
        return ()
    if isinstance(given, str):
        raise TypeError(
            "the filter of a dataset is a pyarrow expression; SQL text and tuples are for a table's `filters`"
        )
    if isinstance(given, pc.Expression):
        return (ArrowCondition(given),)
    if isinstance(given, Iterable):
        return tuple(found for each in given for found in row_conditions(each))
    return (given,)


def joined_predicate(conditions: Sequence[RowCondition]) -> Predicate | None:
    """Return what rows must meet as one predicate; None where that is nothing."""
    if len(conditions) == 1:
        return conditions[0].predicate
    return And(tuple(each.predicate for each in conditions)) if conditions else None


def undecided_conditions(
    conditions: Iterable[RowCondition], decided: Collection[Predicate]
) -> list[RowCondition]:
    """Return those of some conditions of which not all parts are among the decided ones."""
    return [each for each in conditions if any(part not in decided for part in conjuncts(each.predicate))]
