"""What a statement reads of a Delta table, and the sources that were made for statements before."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

from deltaarrow.engines.duckdb_references import Reference
from deltaarrow.expressions import Predicate
from deltaarrow.scan import ScanPlan
from deltaarrow.schema import StructType
from deltaarrow.snapshot import Snapshot

__all__ = ["Opened", "Use"]


@dataclass(frozen=True)
class Use:
    """One reference of a statement to a Delta table, with the condition and columns that it needs."""

    reference: Reference
    snapshot: Snapshot
    predicate: Predicate | None
    columns: tuple[str, ...]
    changes: range | None = None
    """The versions whose changes are read instead of the rows."""
    metadata: StructType | None = None
    """The type of the further column `METADATA`; None if the statement does not read it."""
    inspection: str | None = None
    """Which of `INSPECTIONS` is read instead of the rows."""


class Opened:
    """The sources in FROM for a snapshot, by condition and columns.

    Each source comes with its plan and the name under which the temporary objects that it may need are kept.
    """

    def __init__(self) -> None:
        self.sources: OrderedDict[Hashable, tuple[str, str, ScanPlan | None]] = OrderedDict()
