"""`DeltaOptimizeBuilder`: OPTIMIZE with conditions on partitions, compaction and Z-order."""

from typing import TYPE_CHECKING

from deltaarrow.spark.tables import operations
from deltaarrow.spark.tables.argument_checks import column_list
from deltaarrow.spark.tables.data_frames import arrow_frame
from deltaarrow.spark.tables.table_reference import TableReference

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["DeltaOptimizeBuilder"]


class DeltaOptimizeBuilder:
    """An OPTIMIZE; `deltaarrow.spark.tables.DeltaTable.optimize` begins one.

    ::

        metrics = table.optimize().where("day = '2026-01-31'").executeZOrderBy("customer", "product")
    """

    def __init__(
        self, spark: "SparkSession", table: TableReference, conditions: tuple[str, ...] = ()
    ) -> None:
        self._spark, self._table, self._conditions = spark, table, conditions

    def where(self, partitionFilter: str) -> "DeltaOptimizeBuilder":
        """Choose partitions by a condition on partition columns; several conditions have to hold together.

        Args:
            partitionFilter: the condition, in Spark SQL.
        """
        return DeltaOptimizeBuilder(self._spark, self._table, (*self._conditions, partitionFilter))

    def executeCompaction(self) -> "DataFrame":
        """Compact small files, or cluster a table that has clustering columns, and commit.

        Returns:
            One row: the ``path`` of the table, and the ``metrics`` in Spark's columns.

        Raises:
            UnsupportedFeatureError: the condition is not on partition columns, or the table has a feature
                that is not supported.
            CommitFailedError: another writer has changed the files meanwhile.
        """
        return self._execute(())

    def executeZOrderBy(self, *cols: str | list[str] | tuple[str, ...]) -> "DataFrame":
        """Rewrite files so that rows which are near in all these columns are in one file, and commit.

        Args:
            cols: names of columns, one by one or in one list.

        Raises `TypeError` for what is no name, and otherwise as `executeCompaction`.
        """
        return self._execute(column_list(cols, "Z-order"))

    def _execute(self, z_order: tuple[str, ...]) -> "DataFrame":
        condition = self._conditions[0] if len(self._conditions) == 1 else None
        if len(self._conditions) > 1:
            condition = " AND ".join(f"({each})" for each in self._conditions)
        return arrow_frame(self._spark, operations.optimize(self._spark, self._table, condition, z_order))
