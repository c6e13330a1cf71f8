"""OPTIMIZE, REORG and VACUUM on one node: each is one call of a method of `DeltaTable`.

===============================  ==================================================================
statement                        what it does
===============================  ==================================================================
``OPTIMIZE t``                   `DeltaTable.optimize`: clusters a table with clustering columns, and
                                 compacts any other, or the partitions that meet its WHERE
``OPTIMIZE t FULL``              `TableOptimizer.full`
``OPTIMIZE t ZORDER BY (x)``     `TableOptimizer.z_order`
``REORG TABLE t APPLY (PURGE)``  `TableOptimizer.purge`
the same with UPGRADE UNIFORM    `TableOptimizer.upgrade_uniform`
``VACUUM t``                     `DeltaTable.vacuum` by a listing of the storage, as Spark's FULL
``VACUUM t LITE``                the same by the log
===============================  ==================================================================

``RETAIN n HOURS`` is obeyed. delta-spark obeys no other number than 0, and takes the retention of the table.
"""

from deltaarrow.pipeline.engine import MaintenanceReport
from deltaarrow.spark_sql import OptimizeText, ReorgText, VacuumText
from deltaarrow.table import DeltaTable

__all__ = ["run_optimize", "run_reorg", "run_vacuum"]


def run_optimize(text: OptimizeText) -> MaintenanceReport:
    """Run an OPTIMIZE; raises what the methods of `DeltaTable.optimize` raise."""
    optimize = DeltaTable(text.path).optimize
    if text.is_full:
        metrics = optimize.full()
    elif text.z_order:
        metrics = optimize.z_order(text.z_order, predicate=text.condition)
    else:
        metrics = optimize(predicate=text.condition)
    return MaintenanceReport(text.path, "OPTIMIZE", metrics)


def run_reorg(text: ReorgText) -> MaintenanceReport:
    """Run a REORG TABLE; raises what `TableOptimizer.purge` or `TableOptimizer.upgrade_uniform` raises."""
    optimize = DeltaTable(text.path).optimize
    if text.iceberg_compat_version is None:
        return MaintenanceReport(text.path, "REORG", optimize.purge(predicate=text.condition))
    metrics = optimize.upgrade_uniform(text.iceberg_compat_version)
    return MaintenanceReport(text.path, "REORG", metrics)


def run_vacuum(text: VacuumText, *, checks_retention: bool) -> MaintenanceReport:
    """Run a VACUUM; raises what `DeltaTable.vacuum` raises."""
    files = DeltaTable(text.path).vacuum(
        text.retain_hours, text.is_dry_run, checks_retention, full=not text.is_lite, lite=text.is_lite
    )
    if text.is_dry_run:
        return MaintenanceReport(text.path, "VACUUM", {"numFilesToDelete": len(files)}, files)
    return MaintenanceReport(text.path, "VACUUM", {"numDeletedFiles": len(files)})
