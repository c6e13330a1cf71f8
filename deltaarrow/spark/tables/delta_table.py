"""The front door of delta-spark's Python API for tables: `DeltaTable`."""

from collections.abc import Callable, Mapping
from dataclasses import replace as replaced
from functools import cache
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.features import properties as table_properties
from deltaarrow.schema import Field, Schema
from deltaarrow.spark.tables import operations
from deltaarrow.spark.tables.argument_checks import assigned, condition_of, ensure_type
from deltaarrow.spark.tables.column_sql import ColumnTexts
from deltaarrow.spark.tables.data_frames import arrow_frame, empty_frame, table_frame
from deltaarrow.spark.tables.merge_builder import DeltaMergeBuilder, MergeScope
from deltaarrow.spark.tables.optimize_builder import DeltaOptimizeBuilder
from deltaarrow.spark.tables.table_builder import Creation, DeltaTableBuilder
from deltaarrow.spark.tables.table_reference import TableReference, reference_of_name, reference_of_path
from deltaarrow.spark.type_conversion import FrameColumns
from deltaarrow.spark_sql import Words, declared_columns
from deltaarrow.sql.maintain.statements import Convert
from deltaarrow.table import DeltaTable as OneNodeTable

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["DeltaTable"]

_HADOOP = ("fs.", "dfs.")


class DeltaTable:
    """A Delta table in a Spark session, at its newest version.

    Make one with `forPath`, `forName`, `convertToDelta`, or a builder of `create` and its like.
    """

    def __init__(
        self, spark: SparkSession, table: TableReference, shown: "list[DataFrame] | None" = None
    ) -> None:
        self._spark, self._table = spark, table
        # The frame that was shown last, whose columns may come back in expressions.
        self._shown: list[DataFrame] = [] if shown is None else shown

    @classmethod
    def _opened(cls, spark: SparkSession, table: TableReference) -> "DeltaTable":
        operations.open_table(spark, table)
        return cls(spark, table)

    # --- opening ---------------------------------------------------------------------------------

    @classmethod
    def forPath(
        cls,
        sparkSession: SparkSession,
        path: str,
        hadoopConf: Mapping[str, str] = {},
    ) -> "DeltaTable":
        """Open the table in a folder.

        Args:
            sparkSession: the session.
            path: the folder, a path or a URI.
            hadoopConf: storage options, as for `deltaarrow.DeltaTable`; they may hold credentials.

        Raises:
            TableNotFoundError: the folder has no Delta log.
            UnsupportedFeatureError: `hadoopConf` has a key of Hadoop, such as ``fs.s3a.access.key``; or the
                table has a feature that this release does not read.
        """
        if foreign := [key for key in hadoopConf if key.startswith(_HADOOP)]:
            raise UnsupportedFeatureError(
                f"hadoopConf takes storage options of deltaarrow here, and {', '.join(foreign)} are Hadoop's:"
                " give AWS_ACCESS_KEY_ID and the like",
                feature="hadoopConf",
            )
        return cls._opened(sparkSession, reference_of_path(path, dict(hadoopConf) or None))

    @classmethod
    def forName(
        cls,
        sparkSession: SparkSession,
        tableOrViewName: str,
    ) -> "DeltaTable":
        """Open the table of a name, such as ``orders``, ``shop.orders`` or ``delta.`/data/orders` ``.

        The name is looked up in the file catalog of the session (`deltaarrow.catalogs.FileCatalog`), in the
        folder that the setting ``spark.deltaarrow.catalog`` names, or else in the session's warehouse. Then
        Spark's own catalog is asked where a table of provider ``delta`` is.

        Args:
            sparkSession: the session.
            tableOrViewName: the name of a table. The name of a view is refused, as delta-spark does.

        Raises `TableNotFoundError` for a name that is not that of a Delta table.
        """
        return cls._opened(sparkSession, reference_of_name(tableOrViewName))

    @classmethod
    def isDeltaTable(cls, sparkSession: SparkSession, identifier: str) -> bool:
        """Return whether a folder has a Delta log, or is inside a folder that has one.

        Args:
            sparkSession: the session.
            identifier: the folder, a path or a URI.
        """
        folder = identifier.rstrip("/")
        while folder and not folder.endswith((":", ":/")):
            if OneNodeTable.is_deltatable(folder):
                return True
            folder = folder.rpartition("/")[0]
        return False

    @classmethod
    def convertToDelta(
        cls,
        sparkSession: SparkSession,
        identifier: str,
        partitionSchema: str | StructType | None = None,
    ) -> "DeltaTable":
        """Make a table of the Parquet files in a folder, where they are; a Delta table stays as it is.

        Args:
            sparkSession: the session.
            identifier: the folder, as ``parquet.`/data/days` ``.
            partitionSchema: the partition columns, such as ``day DATE, hour INT``, or as PySpark's schema. If
                None, the folders may not be partitioned.

        Raises:
            SchemaMismatchError: there is no file, the types of a column differ, or the folders do not fit the
                partition columns.
            CorruptDataFileError: a file is not Parquet.
            UnsupportedFeatureError: `identifier` is not such a folder, or a column has a type that Delta has
                not.
        """
        parts = reference_of_name(identifier).name.parts
        if len(parts) != 2 or parts[0].lower() not in ("parquet", "iceberg", "delta"):
            raise UnsupportedFeatureError(
                f"{identifier} is not the folder of Parquet files: write parquet.`/path`",
                feature="CONVERT TO DELTA",
            )
        source_format, path = parts[0].lower(), parts[1]
        if source_format != "delta":
            columns = _partition_columns(partitionSchema)
            operations.convert(sparkSession, Convert(source_format, path, partition_by=columns))
        return cls._opened(sparkSession, reference_of_path(path))

    # --- defining --------------------------------------------------------------------------------

    @classmethod
    def create(cls, sparkSession: SparkSession | None = None) -> "DeltaTableBuilder[DeltaTable]":
        """Begin the definition of a table that must not be there.

        Args:
            sparkSession: the session; the active one if None.
        """
        return cls._builder(sparkSession, Creation())

    @classmethod
    def createIfNotExists(
        cls,
        sparkSession: SparkSession | None = None,
    ) -> "DeltaTableBuilder[DeltaTable]":
        """Begin the definition of a table that stays as it is if it is there."""
        return cls._builder(sparkSession, Creation(if_not_exists=True))

    @classmethod
    def replace(cls, sparkSession: SparkSession | None = None) -> "DeltaTableBuilder[DeltaTable]":
        """Begin the definition that replaces a table, with its rows."""
        return cls._builder(sparkSession, Creation(may_create=False, may_replace=True))

    @classmethod
    def createOrReplace(
        cls,
        sparkSession: SparkSession | None = None,
    ) -> "DeltaTableBuilder[DeltaTable]":
        """Begin the definition of a table that replaces the one that is there, with its rows."""
        return cls._builder(sparkSession, Creation(may_replace=True))

    @classmethod
    def _builder(cls, spark: SparkSession | None, creation: Creation) -> "DeltaTableBuilder[DeltaTable]":
        session = SparkSession.getActiveSession() if spark is None else spark
        assert session is not None, "there is no active session: give one"
        return DeltaTableBuilder(session, creation, cls._opened)

    # --- reading ---------------------------------------------------------------------------------

    def toDF(self) -> DataFrame:
        """Return the newest version as a frame, by ``format("deltaarrow")``; a frame stays at its version."""
        frame = table_frame(self._spark, operations.locate(self._spark, self._table))
        self._shown[:] = [frame]
        alias = self._table.qualifier
        return frame if alias is None else frame.alias(alias)

    def alias(self, aliasName: str) -> "DeltaTable":
        """Return the table under another name for conditions, such as ``t`` for ``t.id = s.id``."""
        return DeltaTable(self._spark, replaced(self._table, alias=aliasName), self._shown)

    def history(self, limit: int | None = None) -> DataFrame:
        """Return the commits with Spark's columns, the newest first.

        Args:
            limit: how many commits; all of them if None.
        """
        return arrow_frame(self._spark, operations.history(self._spark, self._table, limit))

    def detail(self) -> DataFrame:
        """Return one row about the table: location, properties, protocol, number and size of files."""
        return arrow_frame(self._spark, operations.detail(self._spark, self._table))

    # --- changing rows ---------------------------------------------------------------------------

    def delete(self, condition: "str | Column | None" = None) -> None:
        """Delete rows and commit.

        Args:
            condition: which rows, as Spark SQL or a column of PySpark; all rows if None.

        Raises:
            TypeError: the condition is neither.
            UnsupportedFeatureError: a column cannot be converted to SQL, or the condition or a feature of the
                table is not supported.
            SchemaMismatchError: the condition names an unknown column.
            CommitFailedError: another writer has changed what was read.
        """
        texts = self._texts()
        operations.delete(self._spark, self._table, condition_of(condition, texts))

    def update(
        self,
        condition: "str | Column | None" = None,
        set: "dict[str, str | Column] | None" = None,
    ) -> None:
        """Update rows and commit.

        Args:
            condition: which rows, as for `delete`.
            set: values by column name, as Spark SQL or columns of PySpark; needed.

        Raises:
            ValueError: `set` is missing.
            ConstraintViolationError: a row breaks a constraint, or a value cannot be computed.
            TypeError, UnsupportedFeatureError, SchemaMismatchError, CommitFailedError: as for `delete`.
        """
        texts = self._texts()
        values = assigned(set, texts, "'set'")
        operations.update(self._spark, self._table, values, condition_of(condition, texts))

    def merge(self, source: DataFrame, condition: "str | Column") -> DeltaMergeBuilder:
        """Begin a merge of a frame into the table; the `DeltaMergeBuilder` takes the clauses.

        Args:
            source: the frame, with an alias if expressions qualify its columns. It is read once.
            condition: which of its rows match which of the table, as Spark SQL or a column of PySpark.

        Raises:
            ValueError: an argument is None.
            TypeError: an argument is of another type.
        """
        if source is None:
            raise ValueError("'source' in merge cannot be None")
        if not isinstance(source, DataFrame):
            raise TypeError("Type of 'source' in merge must be DataFrame.")
        if condition is None:
            raise ValueError("'condition' in merge cannot be None")
        scope = MergeScope(self._frame_maker(), source, self._qualifier)
        return DeltaMergeBuilder.begin(self._spark, self._table, scope, condition)

    # --- files and versions ----------------------------------------------------------------------

    def optimize(self) -> DeltaOptimizeBuilder:
        """Begin an OPTIMIZE; the `DeltaOptimizeBuilder` takes the partitions and carries it out."""
        return DeltaOptimizeBuilder(self._spark, self._table)

    def vacuum(self, retentionHours: float | None = None) -> DataFrame:
        """Delete the files that no version within the retention needs; return an empty frame.

        Args:
            retentionHours: how long removed files stay; the retention of the table if None.

        Raises `VacuumError` for a retention shorter than the table's, unless the session's setting
        ``spark.databricks.delta.retentionDurationCheck.enabled`` is ``false``.
        """
        hours = None if retentionHours is None else float(retentionHours)
        operations.vacuum(self._spark, self._table, hours)
        return self._spark.createDataFrame([], StructType([]))

    def generate(self, mode: str) -> None:
        """Write manifests of the live files for engines that read those.

        Args:
            mode: ``symlink_format_manifest``.

        Raises `ValueError` for another mode.
        """
        operations.generate(self._spark, self._table, mode)

    def restoreToVersion(self, version: int) -> DataFrame:
        """Make an older version the newest one again, by a commit.

        Args:
            version: its number.

        Returns:
            One row with Spark's metrics; none if the version is the newest already.

        Raises:
            ValueError: `version` is no number.
            VersionNotFoundError: the log does not have the version.
            MissingFilesError: files of the version are gone; nothing was committed.
        """
        ensure_type(version, int, "version")
        return arrow_frame(self._spark, operations.restore(self._spark, self._table, version))

    def restoreToTimestamp(self, timestamp: str) -> DataFrame:
        """Make the version of a time the newest one again; see `restoreToVersion`.

        Args:
            timestamp: the time in the session time zone, such as ``2026-01-31 12:00:00``.
        """
        ensure_type(timestamp, str, "timestamp")
        return arrow_frame(self._spark, operations.restore(self._spark, self._table, timestamp))

    def clone(
        self,
        target: str,
        isShallow: bool = False,
        replace: bool = False,
        properties: dict[str, str] | None = None,
    ) -> "DeltaTable":
        """Make another table of the newest version.

        Args:
            target: the absolute path or the URI of its folder, or its name.
            isShallow: whether it refers to the files of this table, and has no copies of them.
            replace: whether it may replace a table without rows, or an earlier deep clone of this table.
            properties: table properties of the clone, besides those of this table.

        Returns:
            The clone.

        Raises:
            ValueError: an argument is of another type.
            VersionExistsError: there is a table that may not become the clone.
            MissingFilesError: files are gone that a deep clone would copy.
        """
        return self._cloned(None, target, isShallow, replace, properties)

    def cloneAtVersion(
        self,
        version: int,
        target: str,
        isShallow: bool = False,
        replace: bool = False,
        properties: dict[str, str] | None = None,
    ) -> "DeltaTable":
        """Make another table of a version; see `clone`. `VersionNotFoundError` if there is none."""
        ensure_type(version, int, "version")
        return self._cloned(version, target, isShallow, replace, properties)

    def cloneAtTimestamp(
        self,
        timestamp: str,
        target: str,
        isShallow: bool = False,
        replace: bool = False,
        properties: dict[str, str] | None = None,
    ) -> "DeltaTable":
        """Make another table of the version of a time in the session time zone; see `clone`."""
        ensure_type(timestamp, str, "timestamp")
        return self._cloned(timestamp, target, isShallow, replace, properties)

    # --- protocol --------------------------------------------------------------------------------

    def upgradeTableProtocol(self, readerVersion: int, writerVersion: int) -> None:
        """Raise the protocol of the table; it is never lowered.

        Args:
            readerVersion: the least version of the protocol for readers.
            writerVersion: the least version for writers.

        Raises `ValueError` for what is no number, and `InvalidTablePropertyError` for versions that the
        protocol does not have.
        """
        for name, given in (("readerVersion", readerVersion), ("writerVersion", writerVersion)):
            if not isinstance(given, int):
                raise ValueError(f"The {name} needs to be an integer but got '{type(given)}'.")
        versions = {
            table_properties.MIN_READER_VERSION.name: str(readerVersion),
            table_properties.MIN_WRITER_VERSION.name: str(writerVersion),
        }
        operations.set_properties(self._spark, self._table, versions)

    def addFeatureSupport(self, featureName: str) -> None:
        """Add a table feature, and raise the protocol to versions that have features.

        Raises `ValueError` for any other type, and `UnsupportedFeatureError` for an unknown feature.
        """
        ensure_type(featureName, str, "featureName")
        operations.add_feature(self._spark, self._table, featureName)

    def dropFeatureSupport(
        self,
        featureName: str,
        truncateHistory: bool | None = None,
    ) -> None:
        """Drop a table feature, with what uses it; see `deltaarrow.table.TableAlterer.drop_feature`.

        Args:
            featureName: the feature.
            truncateHistory: whether versions that need the feature are deleted, once they are old enough.

        Raises `ValueError` for an argument of another type, and `FeatureDropError` for a feature that cannot
        be dropped, or not yet.
        """
        ensure_type(featureName, str, "featureName")
        if truncateHistory is not None:
            ensure_type(truncateHistory, bool, "truncateHistory")
        operations.drop_feature(
            self._spark, self._table, featureName, truncates_history=bool(truncateHistory)
        )

    # --- within ----------------------------------------------------------------------------------

    @property
    def _qualifier(self) -> str:
        return self._table.qualifier or operations.NO_ALIAS

    def _frame_maker(self) -> Callable[[], DataFrame]:
        """What makes a frame with the columns of the table under its alias, whose rows nobody reads."""

        def make() -> DataFrame:
            schema = operations.open_table(self._spark, self._table).schema()
            columns = FrameColumns.of_table(schema)
            shown = [each for each in self._shown if each.schema == columns.spark_schema]
            frame = shown[0] if shown else empty_frame(self._spark, columns)
            return frame.alias(self._qualifier)

        return cache(make)

    def _texts(self) -> ColumnTexts:
        return ColumnTexts([self._frame_maker()])

    def _cloned(
        self,
        version: int | str | None,
        target: str,
        is_shallow: bool,
        replaces: bool,
        properties: Any,
    ) -> "DeltaTable":
        ensure_type(target, str, "target")
        ensure_type(is_shallow, bool, "isShallow")
        ensure_type(replaces, bool, "replace")
        if properties is not None:
            ensure_type(properties, dict, "properties")
            for key, text in properties.items():
                ensure_type(key, str, f"All property keys including {key}")
                ensure_type(text, str, f"All property values including {text}")
        is_place = target.startswith(("/", "file:/")) or "://" in target
        clone = reference_of_path(target) if is_place else reference_of_name(target)
        operations.clone(
            self._spark,
            self._table,
            clone,
            version=version,
            is_shallow=is_shallow,
            replaces=replaces,
            properties=properties or {},
        )
        return self._opened(self._spark, clone)


def _partition_columns(given: str | StructType | None) -> tuple[Field, ...]:
    if given is None:
        return ()
    if isinstance(given, str):
        words = Words(given)
        columns = declared_columns(words)
        words.expect_end()
        return tuple(each.field for each in columns)
    return tuple(Schema.from_json(given.json()).fields)
