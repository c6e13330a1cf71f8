"""What dbt asks about the lake, and what it may ask of its tables."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import agate
import pyarrow as pa
from dbt.adapters.base import available
from dbt.adapters.base.impl import ConstraintSupport
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.deltaarrow.column import DeltaarrowColumn
from dbt.adapters.deltaarrow.connections import DeltaarrowConnectionManager
from dbt.adapters.deltaarrow.credentials import DATABASE
from dbt.adapters.deltaarrow.relation import DeltaarrowRelation
from dbt.adapters.duckdb.impl import DuckDBAdapter, DuckDBConfig
from dbt_common.contracts.constraints import ColumnLevelConstraint, ConstraintType, ModelLevelConstraint

from deltaarrow.schema import StructType
from deltaarrow.schema.metadata_keys import COMMENT_KEY, CONSTRAINT_PREFIX

__all__ = ["DeltaarrowAdapter", "DeltaarrowConfig"]

_CATALOG = (
    *("table_database", "table_schema", "table_name", "table_type", "table_comment"),
    *("column_name", "column_index", "column_type", "column_comment", "table_owner"),
)
"""The columns of what dbt's documentation knows of a project's tables."""


@dataclass
class DeltaarrowConfig(DuckDBConfig):
    """What a model may say of its Delta table.

    Attributes:
        partition_by: a partition column, or several.
        cluster_by: a clustering column, or several.
        tblproperties: table properties.
        replace_where: which rows the strategy ``replace_where`` replaces, as a condition in Spark SQL.
    """

    partition_by: str | list[str] | None = None
    cluster_by: str | list[str] | None = None
    tblproperties: dict[str, Any] | None = None
    replace_where: str | None = None


class DeltaarrowAdapter(DuckDBAdapter):
    """dbt-duckdb's adapter, for relations of the lake; it leaves those of other databases to dbt-duckdb."""

    ConnectionManager = DeltaarrowConnectionManager
    Column = DeltaarrowColumn
    Relation = DeltaarrowRelation
    AdapterSpecificConfigs = DeltaarrowConfig

    CONSTRAINT_SUPPORT = {  # noqa: RUF012 - dbt reads a class attribute
        ConstraintType.check: ConstraintSupport.ENFORCED,
        ConstraintType.not_null: ConstraintSupport.ENFORCED,
        ConstraintType.unique: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.primary_key: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.foreign_key: ConstraintSupport.NOT_SUPPORTED,
    }

    # Batches of one model change one table, and would conflict.
    _capabilities = CapabilityDict(
        {Capability.SchemaMetadataByRelations: CapabilitySupport(support=Support.Full)}
    )

    # --- schemas ---

    @property
    def _lake(self) -> Any:
        """The `deltaarrow.DeltaConnection` of this thread."""
        return self.connections.get_thread_connection().handle.cursor()

    def list_schemas(self, database: str) -> list[str]:
        """Return the names of the schemas of a database."""
        if database.strip('"') != DATABASE:
            return super().list_schemas(database)
        return self._lake.catalog.namespaces()

    def check_schema_exists(self, database: str, schema: str) -> bool:
        """Whether there is a schema."""
        if database != DATABASE:
            return super().check_schema_exists(database, schema)
        return self._lake.catalog.namespace(schema) is not None

    # --- relations ---

    def list_relations_without_caching(self, schema_relation: DeltaarrowRelation) -> list[DeltaarrowRelation]:
        """Return the tables and views of a schema."""
        if schema_relation.database != DATABASE:
            return super().list_relations_without_caching(schema_relation)
        namespace = self._lake.catalog.namespace(schema_relation.schema)
        if namespace is None:
            return []
        found = [(name, RelationType.Table) for name in namespace.tables()]
        found += [(name, RelationType.View) for name in namespace.views()]
        return [
            self.Relation.create(database=DATABASE, schema=schema_relation.schema, identifier=name, type=kind)
            for name, kind in found
        ]

    def rename_relation(self, from_relation: DeltaarrowRelation, to_relation: DeltaarrowRelation) -> None:
        """Refuse: the files of a table are in the folder of its name."""
        raise NotImplementedError(
            f"{from_relation} cannot be renamed: its files are in the folder of its name"
        )

    @available
    def comments(self, relation: DeltaarrowRelation) -> dict[str | None, str]:
        """Return the comments of the columns of a relation, and its own under None."""
        own, schema = self._described(relation)
        found: dict[str | None, str] = {
            field.name: str(field.metadata[COMMENT_KEY])
            for field in schema.fields
            if COMMENT_KEY in field.metadata
        }
        return {**found, None: own or ""}

    def _described(self, relation: DeltaarrowRelation) -> tuple[str | None, StructType]:
        """The comment and the columns of a relation of the lake."""
        names = (relation.schema, relation.identifier)
        catalog = self._lake.catalog
        view = catalog.view(names)
        if view is not None:
            return None, view.schema
        snapshot = catalog.find(names)
        if snapshot is None:
            return None, StructType([])
        return snapshot.metadata.description, snapshot.schema

    # --- seeds ---

    @available
    def show_seed(self, identifier: str, rows: agate.Table) -> str:
        """Show the rows of a seed to statements, as texts; return the name."""
        name = f"__dbt_seed:{identifier}"
        texts = {column.name: [_text(value) for value in column] for column in rows.columns}
        self._lake.register(
            name, pa.table({key: pa.array(found, pa.string()) for key, found in texts.items()})
        )
        return name

    @available
    def hide_seed(self, name: str) -> None:
        """Forget the rows of a seed."""
        self._lake.unregister(name)

    # --- constraints ---

    @available
    def check_properties(self, model: Mapping[str, Any]) -> dict[str, str]:
        """Return the CHECK constraints of a model with a contract, as table properties."""
        if not model["config"].get("contract", {}).get("enforced"):
            return {}
        listed = [*model.get("constraints", ())]
        for column in model["columns"].values():
            listed += column.get("constraints", ())
        checks = [each for each in listed if each["type"] == ConstraintType.check]
        return {
            f"{CONSTRAINT_PREFIX}{each.get('name') or f'check_{number}'}": each["expression"]
            for number, each in enumerate(checks, 1)
        }

    @classmethod
    def render_column_constraint(cls, constraint: ColumnLevelConstraint) -> str | None:
        """Return what a column declares; a CHECK is a table property."""
        return (
            None if constraint.type == ConstraintType.check else super().render_column_constraint(constraint)
        )

    @classmethod
    def render_model_constraint(cls, constraint: ModelLevelConstraint) -> str | None:
        """Return what a table declares; a CHECK is a table property."""
        return (
            None if constraint.type == ConstraintType.check else super().render_model_constraint(constraint)
        )

    # --- incremental models ---

    @available
    def valid_incremental_strategies(self) -> list[str]:
        """Return the strategies that a model may choose from."""
        return ["append", "delete+insert", "merge", "microbatch", "replace_where"]

    # --- documentation ---

    def _get_one_catalog(
        self, information_schema: Any, schemas: Iterable[str], used_schemas: Any
    ) -> agate.Table:
        if information_schema.database != DATABASE:
            return super()._get_one_catalog(information_schema, schemas, used_schemas)
        relations = [each for schema in schemas for each in self.list_relations(DATABASE, schema)]
        return self._catalog_filter_table(self._catalog_table(relations), used_schemas)

    def _get_one_catalog_by_relations(
        self, information_schema: Any, relations: Iterable[DeltaarrowRelation], used_schemas: Any
    ) -> agate.Table:
        if information_schema.database != DATABASE:
            return super()._get_one_catalog_by_relations(information_schema, relations, used_schemas)
        there = (self.get_relation(each.database, each.schema, each.identifier) for each in relations)
        return self._catalog_filter_table(self._catalog_table(filter(None, there)), used_schemas)

    def _catalog_table(self, relations: Iterable[DeltaarrowRelation]) -> agate.Table:
        return agate.Table([row for each in relations for row in self._catalog_rows(each)], _CATALOG)

    def _catalog_rows(self, relation: DeltaarrowRelation) -> Iterator[tuple[Any, ...]]:
        """A row for each column of a relation."""
        comments = self.comments(relation)
        kind = "VIEW" if relation.is_view else "BASE TABLE"
        table = (relation.database, relation.schema, relation.identifier, kind, comments[None] or None)
        for place, column in enumerate(self.get_columns_in_relation(relation), 1):
            yield (*table, column.name, place, column.dtype, comments.get(column.name), None)


def _text(value: Any) -> str | None:
    """A value of a seed as DuckDB casts it to its type."""
    return None if value is None else str(value)
