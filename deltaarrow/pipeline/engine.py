"""`Engine`: the interface that runs the statements of a script, and their reports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

__all__ = ["Engine", "MaintenanceReport", "MergeReport", "StatementReport"]


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

    @property
    def is_idle(self) -> bool:
        """Whether nothing was done."""
        return self.metrics is None


@dataclass(frozen=True)
class MaintenanceReport:
    """What an OPTIMIZE, a REORG or a VACUUM has done.

    Attributes:
        table: the path of the table.
        operation: the first word of the statement.
        metrics: those of `DeltaTable.optimize`; of a VACUUM ``numDeletedFiles``, or ``numFilesToDelete`` if
            it only says what would be deleted.
        files: the files that a VACUUM would delete, by their names in the table; none if it has deleted them.
    """

    table: str
    operation: str
    metrics: Mapping[str, Any]
    files: Sequence[str] = ()

    @property
    def is_idle(self) -> bool:
        """Whether no file was rewritten, deleted or found."""
        counts = ("numFilesRemoved", "numDeletedFiles", "numFilesToDelete")
        return not any(self.metrics.get(name) for name in counts)


StatementReport: TypeAlias = MergeReport | MaintenanceReport


class Engine(Protocol):
    """What runs statements of Spark SQL, one at a time."""

    def run(self, statement: str) -> StatementReport | None:
        """Run one statement to its end, or raise; a statement that raises may be run again."""

    def is_conflict(self, error: Exception) -> bool:
        """Whether another writer of a table was quicker, so that the statement may be run again."""
