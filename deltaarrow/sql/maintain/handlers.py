"""The handlers of maintenance statements: each is one call of a method of `DeltaTable`.

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
``VACUUM t USING INVENTORY i``   the same by the rows of a table or a query
``RESTORE t TO ...``             `DeltaTable.restore`
``CONVERT TO DELTA p``           `convert_to_deltalake`
``GENERATE m FOR TABLE t``       `DeltaTable.generate`
``FSCK REPAIR TABLE t``          `DeltaTable.repair`
``ANALYZE TABLE t COMPUTE ...``  `DeltaTable.analyze`
===============================  ==================================================================

``RETAIN n HOURS`` is obeyed. delta-spark obeys no other number than 0, and takes the retention of the table.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa

from deltaarrow.display.redaction import redacted
from deltaarrow.operations.optimize import OptimizePlan
from deltaarrow.sql.kind import StatementKind
from deltaarrow.sql.maintain.duckdb import vacuum_subject
from deltaarrow.sql.maintain.spark import (
    parse_analyze,
    parse_convert,
    parse_generate,
    parse_optimize,
    parse_reorg,
    parse_repair,
    parse_restore,
    parse_vacuum,
)
from deltaarrow.sql.maintain.statements import (
    Analyze,
    Convert,
    Generate,
    Optimize,
    Reorg,
    Repair,
    Restore,
    Vacuum,
)
from deltaarrow.sql.results import NOTHING, OPTIMIZE, PATH, RESTORE, with_metrics
from deltaarrow.sql.session_settings import MAX_FILE_SIZE, RETENTION_CHECK
from deltaarrow.sql.statement_plan import StatementPlan, new_version
from deltaarrow.sql.timestamps import moment
from deltaarrow.table import DeltaTable, convert_to_deltalake

if TYPE_CHECKING:
    from deltaarrow.sql.session import Session

__all__ = ["KINDS"]

_CAPITAL = re.compile("(?=[A-Z])")


def _optimize(session: "Session", statement: Optimize) -> pa.Table:
    table = session.table(statement.table)
    metrics = _optimizing(session, table, statement)(**_options(session))
    return _of_optimize(table, metrics, z_orders=bool(statement.z_order))


def _plan_optimize(session: "Session", statement: Optimize) -> StatementPlan:
    table = session.table(statement.table)
    return _rewriting("OPTIMIZE", table, _optimizing(session, table, statement)(dry_run=True))


def _optimizing(session: "Session", table: DeltaTable, statement: Optimize) -> Callable[..., Any]:
    """The method that an OPTIMIZE calls, with the arguments that the statement gives it."""
    size = session.settings[MAX_FILE_SIZE]
    if statement.is_full:
        return partial(table.optimize.full, target_size=size)
    if statement.z_order:
        condition = statement.condition
        return partial(table.optimize.z_order, statement.z_order, predicate=condition, target_size=size)
    return partial(table.optimize, predicate=statement.condition, target_size=size)


def _reorg(session: "Session", statement: Reorg) -> pa.Table:
    table = session.table(statement.table)
    return _of_optimize(table, _reorganizing(table, statement)(**_options(session)))


def _plan_reorg(session: "Session", statement: Reorg) -> StatementPlan:
    table = session.table(statement.table)
    return _rewriting("REORG", table, _reorganizing(table, statement)(dry_run=True))


def _reorganizing(table: DeltaTable, statement: Reorg) -> Callable[..., Any]:
    """The method that a REORG calls, with the arguments that the statement gives it."""
    if statement.iceberg_compat_version is None:
        return partial(table.optimize.purge, predicate=statement.condition)
    return partial(table.optimize.upgrade_uniform, statement.iceberg_compat_version)


def _rewriting(name: str, table: DeltaTable, plan: OptimizePlan) -> StatementPlan:
    """What a statement would do that rewrites files."""
    if not plan.bins:
        return StatementPlan([f"{name} makes no version of {redacted(table.table_uri)}: no file needs it"])
    effect = (
        f"rewrites {plan.num_files} of {plan.considered} files, {plan.num_bytes} bytes, as {len(plan.bins)}"
    )
    return StatementPlan([new_version(name, table), effect])


def _of_optimize(table: DeltaTable, metrics: dict[str, Any], *, z_orders: bool = False) -> pa.Table:
    sizes = {name: orjson.loads(metrics[name]) for name in ("filesAdded", "filesRemoved")}
    for each in sizes.values():
        if not each["totalFiles"]:
            each.update(min=None, max=None)
    vectors = {"numDeletionVectorsRemoved": metrics["numDeletionVectorsRemoved"]}
    row = metrics | sizes | {"deletionVectorStats": vectors}
    if z_orders:
        row["zOrderStats"] = _z_order_stats(metrics["partitionsOptimized"], sizes["filesRemoved"])
    rows = pa.Table.from_pylist([{"path": redacted(table.table_uri), "metrics": row}], OPTIMIZE)
    return with_metrics(rows, metrics)


def _z_order_stats(partitions: int, removed: Mapping[str, Any]) -> dict[str, Any]:
    """What Spark tells of a Z-order: all files of a partition become one cube."""
    merged = {"num": removed["totalFiles"], "size": removed["totalSize"]}
    return {
        "strategyName": "all",
        "inputCubeFiles": {"num": 0, "size": 0},
        "inputOtherFiles": merged,
        "inputNumCubes": 0,
        "mergedFiles": merged,
        "numOutputCubes": partitions,
    }


def _vacuum(session: "Session", statement: Vacuum) -> pa.Table:
    table = session.table(statement.table)
    names = _vacuumed(session, table, statement, is_dry_run=statement.is_dry_run)
    root = table.table_uri
    if not statement.is_dry_run:
        return with_metrics(_paths([root]), {"numDeletedFiles": len(names)})
    found = _paths([f"{root.rstrip('/')}/{name}" for name in names])
    return with_metrics(found, {"numFilesToDelete": len(names), "files": names})


def _plan_vacuum(session: "Session", statement: Vacuum) -> StatementPlan:
    table = session.table(statement.table)
    names = _vacuumed(session, table, statement, is_dry_run=True)
    verb = "lists" if statement.is_dry_run else "deletes"
    return StatementPlan([f"VACUUM {verb} {len(names)} files of {redacted(table.table_uri)}"])


def _vacuumed(session: "Session", table: DeltaTable, statement: Vacuum, *, is_dry_run: bool) -> list[str]:
    """The files that a VACUUM deletes, or would delete."""
    inventory = None
    if statement.inventory is not None:
        inventory = _inventory(session, statement.inventory)
    return table.vacuum(
        statement.retain_hours,
        is_dry_run,
        session.settings[RETENTION_CHECK],
        commit_properties=session.settings.commit_properties(is_write=False),
        full=not statement.is_lite and inventory is None,
        lite=statement.is_lite,
        inventory=inventory,
        progress=session.progress,
    )


def _inventory(session: "Session", inventory: Any) -> pa.Table:
    if not isinstance(inventory, str):
        return session.table(inventory).to_pyarrow_table()
    connection = session.connection
    rows: pa.Table = connection.sql(session.query(inventory), dialect="duckdb").to_arrow_table()
    return rows


def _paths(paths: list[str]) -> pa.Table:
    return pa.Table.from_pydict({"path": list(map(redacted, paths))}, PATH)


def _restore(session: "Session", statement: Restore) -> pa.Table:
    table = session.table(statement.table)
    before = table.version()
    found: Any = table.restore(moment(statement.target), **_commit_options(session))
    row = {
        "table_size_after_restore": found["tableSizeAfterRestore"],
        "num_of_files_after_restore": found["numOfFilesAfterRestore"],
        "num_removed_files": found["numRemovedFiles"],
        "num_restored_files": found["numRestoredFiles"],
        "removed_files_size": found["removedFilesSize"],
        "restored_files_size": found["restoredFilesSize"],
    }
    # As in Spark, nothing is told of a version that is the newest already.
    return pa.Table.from_pylist([] if table.version() == before else [row], RESTORE)


def _plan_restore(session: "Session", statement: Restore) -> StatementPlan:
    table = session.table(statement.table)
    plan: Any = table.restore(moment(statement.target), dry_run=True)
    if not plan.is_needed:
        return StatementPlan([f"RESTORE makes no version: {plan.version} is the newest already"])
    effect = f"{len(plan.restored)} files come back, and {len(plan.removed)} files are removed"
    return StatementPlan([new_version("RESTORE", table), effect])


def _convert(session: "Session", statement: Convert) -> pa.Table:
    plan = convert_to_deltalake(
        statement.path,
        "ignore",  # As in Spark, what is a table already stays as it is.
        list(statement.partition_by) or None,
        storage_options=session.connection.catalog.storage_options,
        source_format=statement.source_format,
        collect_stats=statement.collects_statistics,
        configuration=session.settings.default_properties(),
        progress=session.progress,
        commit_properties=session.settings.commit_properties(is_write=False),
    )
    return NOTHING if plan is None else with_metrics(NOTHING, {"numConvertedFiles": plan.num_files})


def _generate(session: "Session", statement: Generate) -> pa.Table:
    session.table(statement.table).generate(statement.mode)
    return NOTHING


def _repair(session: "Session", statement: Repair) -> pa.Table:
    found = session.table(statement.table).repair(statement.is_dry_run, **_commit_options(session))
    reasons = found["reasons"]
    rows = {"path": list(reasons), "reason": list(reasons.values())}
    return pa.Table.from_pydict(rows, pa.schema([*PATH, pa.field("reason", pa.string())]))


def _analyze(session: "Session", statement: Analyze) -> pa.Table:
    found = session.table(statement.table).analyze(
        statement.columns, full=statement.is_full, **_options(session)
    )
    names = {_CAPITAL.sub("_", name).lower(): pa.array([count], pa.int64()) for name, count in found.items()}
    return pa.table(names)


def _options(session: "Session") -> dict[str, Any]:
    return _commit_options(session) | {"progress": session.progress}


def _commit_options(session: "Session") -> dict[str, Any]:
    return {"commit_properties": session.settings.commit_properties(is_write=False)}


KINDS = (
    StatementKind(
        "OPTIMIZE",
        (("OPTIMIZE",),),
        Optimize,
        _optimize,
        spark=parse_optimize,
        duckdb=parse_optimize,
        plan=_plan_optimize,
    ),
    StatementKind(
        "REORG", (("REORG",),), Reorg, _reorg, spark=parse_reorg, duckdb=parse_reorg, plan=_plan_reorg
    ),
    StatementKind(
        "VACUUM",
        (("VACUUM",),),
        Vacuum,
        _vacuum,
        spark=parse_vacuum,
        duckdb=parse_vacuum,
        subject=vacuum_subject,
        plan=_plan_vacuum,
    ),
    StatementKind(
        "RESTORE",
        (("RESTORE",),),
        Restore,
        _restore,
        spark=parse_restore,
        duckdb=parse_restore,
        plan=_plan_restore,
    ),
    StatementKind(
        "CONVERT TO DELTA", (("CONVERT",),), Convert, _convert, spark=parse_convert, duckdb=parse_convert
    ),
    StatementKind(
        "GENERATE", (("GENERATE",),), Generate, _generate, spark=parse_generate, duckdb=parse_generate
    ),
    StatementKind("FSCK REPAIR", (("FSCK",),), Repair, _repair, spark=parse_repair, duckdb=parse_repair),
    StatementKind(
        "ANALYZE", (("ANALYZE", "TABLE"),), Analyze, _analyze, spark=parse_analyze, duckdb=parse_analyze
    ),
)
