"""`Use`, one reference of a statement to a Delta table, and `Source`, its replacement in FROM."""

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from cachetools import LRUCache

from deltaarrow.engines.duckdb.table_references import Reference
from deltaarrow.expressions import Predicate
from deltaarrow.scan import ScanPlan
from deltaarrow.schema import StructType, has_known_type
from deltaarrow.snapshot import Snapshot

__all__ = ["Source", "Sources", "Use", "with_data_columns"]


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


def with_data_columns(columns: Collection[str], snapshot: Snapshot) -> list[str]:
    """Return the columns, and those of the data files, without any of which DuckDB cannot read a file."""
    partitions = set(snapshot.partition_columns)
    stored = {each.name for each in snapshot.schema.fields if has_known_type(each.type)} - partitions
    return [name for name in snapshot.schema.names if name in columns or name in stored or not stored]
