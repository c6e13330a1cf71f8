"""A compaction between its plan and its commit, for tests of what happens meanwhile."""

from deltaarrow import DeltaTable
from deltaarrow.operations.optimize import (
    CompactionRules,
    Rewriting,
    RewritingOptions,
    Selection,
    compaction_parameters,
    plan_compaction,
)

__all__ = ["rewriting"]


def rewriting(table: DeltaTable) -> Rewriting:
    """Plan to compact the open version of a table."""
    selection = Selection()
    plan = plan_compaction(table.snapshot, selection, CompactionRules())
    return Rewriting(table.snapshot, plan, "OPTIMIZE", compaction_parameters(selection), RewritingOptions())
