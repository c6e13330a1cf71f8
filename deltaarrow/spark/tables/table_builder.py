"""`DeltaTableBuilder` and `IdentityGenerator`: the definition of a new table."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from pyspark.sql.types import DataType, StructField, StructType

from deltaarrow.schema import Field, Schema
from deltaarrow.schema.metadata_keys import (
    COMMENT_KEY,
    GENERATION_KEY,
    IDENTITY_EXPLICIT_KEY,
    IDENTITY_START_KEY,
    IDENTITY_STEP_KEY,
)
from deltaarrow.spark.tables import operations
from deltaarrow.spark.tables.argument_checks import column_list, refuse_types
from deltaarrow.spark.tables.table_reference import TableReference, reference_of_name, reference_of_path
from deltaarrow.spark_sql import Words, parse_column_options, parse_type
from deltaarrow.sql.define.statements import CreateTable, TableClauses

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Creation", "DeltaTableBuilder", "IdentityGenerator"]

T = TypeVar("T")


@dataclass
class IdentityGenerator:
    """How an identity column is numbered.

    Args:
        start: the first number.
        step: the difference of one number to the next; not 0.
    """

    start: int = 1
    step: int = 1


@dataclass(frozen=True)
class Creation:
    """Whether a builder creates a table, replaces one, or leaves one that is there."""

    may_create: bool = True
    may_replace: bool = False
    if_not_exists: bool = False


class DeltaTableBuilder(Generic[T]):
    """The definition of a table; `deltaarrow.spark.tables.DeltaTable.create` begins one.

    Each method changes this builder and returns it. ``execute`` makes the table::

        orders = (
            DeltaTable.create(spark)
            .location("/data/orders")
            .addColumn("id", "BIGINT", generatedAlwaysAs=IdentityGenerator())
            .addColumn("time", "TIMESTAMP", nullable=False)
            .addColumn("day", "DATE", generatedAlwaysAs="CAST(time AS DATE)")
            .clusterBy("day")
            .property("delta.enableDeletionVectors", "true")
            .execute()
        )
    """

    def __init__(
        self,
        spark: "SparkSession",
        creation: Creation,
        opened: "Callable[[SparkSession, TableReference], T]",
    ) -> None:
        self._spark, self._creation, self._opened = spark, creation, opened
        self._name: str | None = None
        self._columns: list[Field] = []
        self._clauses = TableClauses()

    def tableName(self, identifier: str) -> Self:
        """Set the name of the table, with or without its schema. Raises `TypeError` if it is not a string.

        The name is kept in the file catalog of the session; see `deltaarrow.spark.tables.DeltaTable.forName`.
        """
        if type(identifier) is not str:
            refuse_types("Identifier must be str.", [identifier])
        self._name = identifier
        return self

    def location(self, location: str) -> Self:
        """Set the folder of the table, a path or a URI. Raises `TypeError` if it is not a string."""
        if type(location) is not str:
            refuse_types("Location must be str.", [location])
        self._clauses = replace(self._clauses, location=location)
        return self

    def comment(self, comment: str) -> Self:
        """Set the comment of the table. Raises `TypeError` if it is not a string."""
        if type(comment) is not str:
            refuse_types("Table comment must be str.", [comment])
        self._clauses = replace(self._clauses, comment=comment)
        return self

    def addColumn(
        self,
        colName: str,
        dataType: str | DataType,
        nullable: bool = True,
        generatedAlwaysAs: str | IdentityGenerator | None = None,
        generatedByDefaultAs: IdentityGenerator | None = None,
        comment: str | None = None,
    ) -> Self:
        """Add a column.

        Args:
            colName: its name.
            dataType: its type, as Spark SQL or as PySpark's.
            nullable: whether it may be NULL.
            generatedAlwaysAs: the expression in Spark SQL that computes it, or how it is numbered.
            generatedByDefaultAs: how it is numbered where a row has no value of its own.
            comment: what it means.

        Raises:
            TypeError: an argument is of another type.
            ValueError: both ways to generate it are given, or a step is 0.
            UnsupportedFeatureError: the type is none of Delta's.
        """
        if type(colName) is not str:
            refuse_types("Column name must be str.", [colName])
        if type(dataType) is not str and not isinstance(dataType, DataType):
            refuse_types("Column data type must be str or DataType.", [dataType])
        if type(nullable) is not bool:
            refuse_types("Column nullable must be bool.", [nullable])
        if generatedAlwaysAs is not None and generatedByDefaultAs is not None:
            raise ValueError(
                "generatedByDefaultAs and generatedAlwaysAs cannot both be set:"
                f" {generatedByDefaultAs}, {generatedAlwaysAs}"
            )
        if comment is not None and type(comment) is not str:
            refuse_types("Column comment must be str.", [comment])
        field = _field(colName, dataType)
        metadata = {**field.metadata, **_generation(generatedAlwaysAs, generatedByDefaultAs)}
        if comment is not None:
            metadata[COMMENT_KEY] = comment
        self._columns.append(Field(colName, field.type, nullable, metadata))
        return self

    def addColumns(self, cols: StructType | list[StructField]) -> Self:
        """Add the columns of a schema. `TypeError` for what is neither a schema nor a list of fields."""
        if isinstance(cols, list):
            for each in cols:
                if type(each) is not StructField:
                    refuse_types("Column in existing schema must be StructField.", [each])
            cols = StructType(cols)
        if type(cols) is not StructType:
            refuse_types("Schema must be StructType or a list of StructField.", [cols])
        self._columns += Schema.from_json(cols.json()).fields
        return self

    def partitionedBy(self, *cols: str | list[str] | tuple[str, ...]) -> Self:
        """Partition the table by columns, one by one or in one list. `TypeError` for what is no name."""
        self._clauses = replace(self._clauses, partition_by=column_list(cols, "Partitioning"))
        return self

    def clusterBy(self, *cols: str | list[str] | tuple[str, ...]) -> Self:
        """Cluster the table by columns, one by one or in one list. `TypeError` for what is no name."""
        self._clauses = replace(self._clauses, cluster_by=column_list(cols, "Clustering"))
        return self

    def property(self, key: str, value: str) -> Self:
        """Set a table property. Raises `TypeError` if name or value is not a string."""
        if type(key) is not str or type(value) is not str:
            refuse_types("Key and value of property must be string.", [key, value])
        self._clauses = replace(self._clauses, properties={**self._clauses.properties, key: value})
        return self

    def execute(self) -> T:
        """Make the table and return it.

        Raises:
            ValueError: the table has neither a name nor a folder.
            VersionExistsError: there is such a table, which may neither be replaced nor stay.
            TableNotFoundError: there is no table to replace, or no schema of that name.
            SchemaMismatchError: there are no columns, or they and the layout contradict each other.
            InvalidTablePropertyError: a property is unknown, or its value is invalid.
        """
        location = self._clauses.location
        if self._name is not None:
            reference, clauses = reference_of_name(self._name), self._clauses
        elif location is not None:
            reference, clauses = reference_of_path(location), replace(self._clauses, location=None)
        else:
            raise ValueError("a new table needs a name or a folder: call tableName or location")
        how = self._creation
        operations.define(
            self._spark,
            CreateTable(
                reference.name,
                tuple(self._columns),
                clauses,
                None,
                how.may_create,
                how.may_replace,
                how.if_not_exists,
            ),
        )
        return self._opened(self._spark, reference)


def _field(name: str, data_type: str | DataType) -> Field:
    if isinstance(data_type, DataType):
        schema = StructType([StructField(name, data_type)])
        return Schema.from_json(json.dumps(schema.jsonValue())).fields[0]
    words = Words(data_type)
    found, text = parse_type(words)
    words.expect_end()
    return parse_column_options(words, name, found, text).field


def _generation(always: Any, by_default: Any) -> dict[str, Any]:
    """The metadata that says how a column is generated; none for one that is not."""
    if isinstance(always, str):
        return {GENERATION_KEY: always}
    if always is not None and not isinstance(always, IdentityGenerator):
        refuse_types("Generated always as expression must be str or IdentityGenerator.", [always])
    if by_default is not None and not isinstance(by_default, IdentityGenerator):
        refuse_types("Generated by default expression must be IdentityGenerator.", [by_default])
    found = always or by_default
    if found is None:
        return {}
    if found.step == 0:
        raise ValueError("Column identity generation requires step to be non-zero.")
    return {
        IDENTITY_START_KEY: found.start,
        IDENTITY_STEP_KEY: found.step,
        IDENTITY_EXPLICIT_KEY: by_default is not None,
    }
