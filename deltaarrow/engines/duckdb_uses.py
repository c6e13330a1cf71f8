"""`Use`, one reference of a statement to a Delta table, and `Source`, its replacement in FROM."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from cachetools import LRUCache

from deltaarrow.engines.duckdb_references import Reference
from deltaarrow.expressions import Predicate
from deltaarrow.scan import ScanPlan
from deltaarrow.schema import StructType
from deltaarrow.snapshot import Snapshot

__all__ = ["Source", "Sources", "Use"]


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
    limit: int | None = None
    """How many rows are enough, whichever they are; None for all."""


class Source(NamedTuple):
    """The replacement of a table in FROM."""

    text: str
    helper: str | None
    """The name under which its temporary objects are kept; None if it needs none."""
    plan: ScanPlan | None = None


Sources: TypeAlias = "LRUCache[Hashable, Source]"
"""The sources for one snapshot, by condition and columns."""
