"""`TableRewriter`: the base of the methods of `deltaarrow.table.optimizer.TableOptimizer`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import deltaarrow.operations.optimize as optimize
from deltaarrow.compute import memory_bytes
from deltaarrow.expressions import Filters
from deltaarrow.operations.optimize import OptimizePlan, Progress
from deltaarrow.runtime.sizes import ensure_sizes
from deltaarrow.spark_sql import spark_text
from deltaarrow.table.absent_table_names import TellingTableNames
from deltaarrow.table.filters import table_conditions
from deltaarrow.table.statement_target import StatementTarget

if TYPE_CHECKING:
    from deltaarrow.operations import CommitProperties, PostCommitHookProperties
    from deltaarrow.write import WriterProperties

__all__ = ["TableRewriter", "rewriting_options", "sort_limits"]


@dataclass(frozen=True)
class TableRewriter(TellingTableNames):
    """Carries out plans to rewrite files of a table, which moves to the version that is made."""

    table: StatementTarget

    def _cluster(
        self,
        clustering: optimize.Clustering,
        options: optimize.RewritingOptions,
        limits: optimize.SortLimits,
        progress: Progress | None,
        *,
        dry_run: bool,
    ) -> OptimizePlan | dict[str, Any]:
        """Cluster the table and return the metrics, or the plan for it."""
        plan = clustering.plan()
        if dry_run:
            return plan
        parameters = optimize.clustering_parameters(clustering)
        return self._rewrite(plan, "OPTIMIZE", parameters, options, progress, clustering.sorting(limits))

    def _selection(self, partition_filters: Filters | None, predicate: str | None) -> optimize.Selection:
        """Return which partitions are meant."""
        predicate = spark_text(predicate, self.table.dialect)
        conditions = table_conditions(self.table.snapshot, partition_filters, predicate)
        return optimize.Selection(conditions, predicate)

    def _rewrite(
        self,
        plan: OptimizePlan,
        operation: str,
        parameters: Mapping[str, Any],
        options: optimize.RewritingOptions,
        progress: Progress | None,
        sorting: optimize.Sorting | None = None,
    ) -> dict[str, Any]:
        """Carry out a plan, move the table to the new version and return the metrics."""
        rewriting = optimize.Rewriting(
            self.table.snapshot, plan, operation, parameters, options, sorting=sorting
        )
        metrics = rewriting.run(progress or (lambda done, total: None))
        self.table.follow_commit()
        return metrics


def rewriting_options(
    max_concurrent_tasks: int | None,
    min_commit_interval: int | timedelta | None,
    writer_properties: "WriterProperties | None",
    commit_properties: "CommitProperties | None",
    hook_properties: "PostCommitHookProperties | None",
) -> optimize.RewritingOptions:
    """Return how files are rewritten and committed."""
    interval = min_commit_interval
    return optimize.RewritingOptions(
        max_concurrent_tasks=max_concurrent_tasks,
        min_commit_interval=interval.total_seconds() if isinstance(interval, timedelta) else interval,
        writer_properties=writer_properties,
        commit_properties=commit_properties,
        hook_properties=hook_properties,
    )


def sort_limits(
    max_spill_size: int | None, max_temp_directory_size: int | None, memory_limit: str | None
) -> optimize.SortLimits:
    """Return what a sort may take: half of `memory_limit`, since reading and writing need the rest.

    Raises `ValueError` for a size that is none.
    """
    ensure_sizes(max_spill_size=max_spill_size, max_temp_directory_size=max_temp_directory_size)
    memory = [] if max_spill_size is None else [max_spill_size]
    if memory_limit is not None:
        memory.append(max(1, memory_bytes(memory_limit) // 2))
    default = optimize.SortLimits()
    return optimize.SortLimits(min(memory, default=default.memory), max_temp_directory_size)
