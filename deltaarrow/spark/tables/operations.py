"""The operations on a table, each as one function of the Spark session and the table.

`deltaarrow.spark.tables` calls nothing else to change a table. Each function plans, carries out and commits
on the driver, with the statements that do the same on one node; the settings of the Spark session hold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.catalogs import TableLocation
from deltaarrow.features import FEATURE_PREFIX
from deltaarrow.operations.dml import MergeClause
from deltaarrow.spark.tables.data_frames import source_stream
from deltaarrow.spark.tables.statement_session import run, statements_of
from deltaarrow.spark.tables.table_reference import TableReference
from deltaarrow.sql.define.statements import CloneTable, CreateTable, TableClauses
from deltaarrow.sql.describe.statements import DescribeDetail, DescribeHistory
from deltaarrow.sql.maintain.statements import Convert, Generate, Optimize, Restore, Vacuum
from deltaarrow.sql.results import merged
from deltaarrow.sql.rows.statements import Delete, Update
from deltaarrow.sql.session_settings import AUTO_MERGE
from deltaarrow.table import DeltaTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "NO_ALIAS",
    "Merging",
    "add_feature",
    "clone",
    "convert",
    "define",
    "delete",
    "detail",
    "drop_feature",
    "generate",
    "history",
    "locate",
    "merge",
    "open_table",
    "optimize",
    "restore",
    "set_properties",
    "update",
    "vacuum",
]

NO_ALIAS = "__deltaarrow_target"
"""The name of a table without one, which no condition has."""


@dataclass(frozen=True)
class Merging:
    """What a MERGE does, besides its table.

    Attributes:
        source: the frame whose rows it reads.
        source_alias: the name of the source in the condition and the clauses.
        condition: which rows of the source match which of the table.
        clauses: what becomes of them.
        evolves: whether clauses may add columns of the source that the table lacks.
    """

    source: "DataFrame"
    source_alias: str
    condition: str
    clauses: Sequence[MergeClause]
    evolves: bool = False


# --- rows ----------------------------------------------------------------------------------------


def delete(spark: "SparkSession", table: TableReference, condition: str | None) -> None:
    """Delete the rows that meet a condition, or all rows, and commit."""
    with statements_of(spark, table.storage_options, computes=True) as session:
        run(session, Delete(table.name, table.qualifier or NO_ALIAS, condition=condition))


def update(
    spark: "SparkSession", table: TableReference, values: Mapping[str, str], condition: str | None
) -> None:
    """Update the rows that meet a condition, or all rows, and commit."""
    with statements_of(spark, table.storage_options, computes=True) as session:
        run(session, Update(table.name, values, table.qualifier or NO_ALIAS, condition=condition))


def merge(spark: "SparkSession", table: TableReference, merging: Merging) -> pa.Table:
    """Merge a frame into a table, commit, and return the counts of changed rows as Spark does.

    The frame may have been computed from the table, so the merge is not run again if another writer was
    first.
    """
    with statements_of(spark, table.storage_options, computes=True) as session:
        merger = session.table(table.name).merge(
            source_stream(merging.source),
            merging.condition,
            merging.source_alias,
            table.qualifier or NO_ALIAS,
            merging.evolves or session.settings[AUTO_MERGE],
            commit_properties=session.settings.commit_properties(),
            post_commithook_properties=session.settings.hook_properties(),
        )
        metrics = replace(merger, clauses=tuple(merging.clauses), reads_table=True).execute()
        session.settings.finish_write()
        return merged(metrics)


# --- files ---------------------------------------------------------------------------------------


def optimize(
    spark: "SparkSession", table: TableReference, condition: str | None, z_order: Sequence[str] = ()
) -> pa.Table:
    """Compact, cluster or sort the files of the partitions that meet a condition; return Spark's metrics."""
    with statements_of(spark, table.storage_options) as session:
        return run(session, Optimize(table.name, condition=condition, z_order=tuple(z_order)))


def vacuum(spark: "SparkSession", table: TableReference, retention_hours: float | None) -> None:
    """Delete the files that no version within the retention needs."""
    with statements_of(spark, table.storage_options) as session:
        run(session, Vacuum(table.name, retain_hours=retention_hours))


def generate(spark: "SparkSession", table: TableReference, mode: str) -> None:
    """Write manifests of the files of a table."""
    with statements_of(spark, table.storage_options) as session:
        run(session, Generate(table.name, mode))


def convert(spark: "SparkSession", statement: Convert) -> None:
    """Make a table of Parquet files where they are; what is a table already stays as it is."""
    with statements_of(spark) as session:
        run(session, statement)


# --- versions ------------------------------------------------------------------------------------


def restore(spark: "SparkSession", table: TableReference, target: int | str) -> pa.Table:
    """Make a version, or that of a time, the newest one again; return Spark's metrics."""
    with statements_of(spark, table.storage_options) as session:
        return run(session, Restore(table.name, target))


def clone(
    spark: "SparkSession",
    table: TableReference,
    target: TableReference,
    *,
    version: int | str | None,
    is_shallow: bool,
    replaces: bool,
    properties: Mapping[str, str],
) -> None:
    """Make another table of the rows of a version, or of a time; of the newest version if it is None."""
    with statements_of(spark, table.storage_options) as session:
        clauses = TableClauses(properties=properties)
        run(
            session,
            CloneTable(target.name, table.name, is_shallow, version, clauses, may_replace=replaces),
        )


def history(spark: "SparkSession", table: TableReference, limit: int | None) -> pa.Table:
    """Return the newest commits, or all of them, as ``DESCRIBE HISTORY`` shows them."""
    with statements_of(spark, table.storage_options) as session:
        return run(session, DescribeHistory(table.name, limit))


def detail(spark: "SparkSession", table: TableReference) -> pa.Table:
    """Return what ``DESCRIBE DETAIL`` shows."""
    with statements_of(spark, table.storage_options) as session:
        return run(session, DescribeDetail(table.name))


# --- definition ----------------------------------------------------------------------------------


def define(spark: "SparkSession", statement: CreateTable) -> None:
    """Create or replace a table."""
    with statements_of(spark) as session:
        run(session, statement)


def set_properties(spark: "SparkSession", table: TableReference, properties: Mapping[str, str]) -> None:
    """Set table properties, which may raise the protocol."""
    with statements_of(spark, table.storage_options) as session:
        session.table(table.name).alter.set_table_properties(
            properties, commit_properties=session.settings.commit_properties(is_write=False)
        )


def add_feature(spark: "SparkSession", table: TableReference, feature: str) -> None:
    """Add a table feature, and raise the protocol to versions that have features."""
    set_properties(spark, table, {f"{FEATURE_PREFIX}{feature}": "supported"})


def drop_feature(
    spark: "SparkSession", table: TableReference, feature: str, *, truncates_history: bool
) -> None:
    """Drop a table feature, with what uses it."""
    with statements_of(spark, table.storage_options) as session:
        session.table(table.name).alter.drop_feature(
            feature,
            truncates_history,
            commit_properties=session.settings.commit_properties(is_write=False),
        )


# --- places --------------------------------------------------------------------------------------


def locate(spark: "SparkSession", table: TableReference) -> TableLocation:
    """Return where a table is. `TableNotFoundError` for an unknown name."""
    with statements_of(spark, table.storage_options) as session:
        return session.location(table.name)


def open_table(spark: "SparkSession", table: TableReference) -> DeltaTable:
    """Open the newest version of a table on the driver. `TableNotFoundError` if there is none."""
    with statements_of(spark, table.storage_options) as session:
        return session.table(table.name)
