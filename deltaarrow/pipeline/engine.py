"""What the statements of a script run on: `Engine`, and what a statement may say of itself, `MergeReport`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Engine", "MergeReport"]


@dataclass(frozen=True)
class MergeReport:
    """What a MERGE has done.

    Attributes:
        table: the path of the table that was merged into.
        changes: the first and the last version of which it took in the changes, by the path of a table.
        metrics: those of the merge; None where there were no new changes, and nothing was done.
    """

    table: str
    changes: Mapping[str, tuple[int, int]]
    metrics: Mapping[str, Any] | None


class Engine(Protocol):
    """What runs statements of Spark SQL, one at a time."""

    def run(self, statement: str) -> MergeReport | None:
        """Run one statement to its end, or raise; a statement that raises has done nothing."""

    def is_conflict(self, error: Exception) -> bool:
        """Whether another writer of a table was quicker, so that the statement may be run again."""
