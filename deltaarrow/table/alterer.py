"""`TableAlterer`: the methods of ``table.alter``, with the names and semantics of ``deltalake``.

Every method is one call into `deltaarrow.operations` and commits once; the table then moves to the committed
version. Chapters *Change Metadata* and *Protocol Evolution* of the protocol.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import deltaarrow.operations as operations
from deltaarrow.operations import Alteration, CommitProperties, PostCommitHookProperties
from deltaarrow.operations.optimize import switches_mapping_off
from deltaarrow.schema import Field
from deltaarrow.schema.metadata_keys import MAPPING_MODE
from deltaarrow.spark_sql import spark_text
from deltaarrow.table.absent_table_names import TellingTableNames
from deltaarrow.table.column_alterer import ColumnAlterer
from deltaarrow.table.deltalake_arguments import tells_old_arguments
from deltaarrow.table.feature_dropper import FeatureDropper

__all__ = ["TableAlterer"]


class TableAlterer(ColumnAlterer, FeatureDropper, TellingTableNames):
    """Metadata changes of one table, which moves to the version of each change.

    Every method takes `commit_properties` (metadata and options of the commit) and
    `post_commithook_properties` (whether the commit writes checkpoints and deletes expired log files).
    Every method raises `CommitFailedError` or `CommitStateUnknownError` if the commit fails, and
    `UnsupportedFeatureError` for a table that this release cannot write.

    Args:
        table: the table.
    """

    # --- protocol and properties ------------------------------------------------------------------

    @tells_old_arguments
    def add_feature(
        self,
        feature: str | Sequence[str],
        allow_protocol_versions_increase: bool = False,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Add table features and the features that they require.

        Args:
            feature: one name or several, as strings or as `TableFeatures`.
            allow_protocol_versions_increase: whether the reader and writer versions may rise.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.

        Raises:
            UnsupportedFeatureError: the feature does not exist, or this release does not write it.
            DeltaProtocolError: the feature needs higher versions, and
                `allow_protocol_versions_increase` is False.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable, TableFeatures
        >>> table = DeltaTable.create(tempfile.mkdtemp(), pa.schema([("id", pa.int64())]))
        >>> table.alter.add_feature(TableFeatures.DomainMetadata, allow_protocol_versions_increase=True)
        >>> table.protocol().writer_features
        ['domainMetadata', 'invariants', 'appendOnly']
        """
        alteration = operations.add_features(
            self.table.snapshot,
            (feature,) if isinstance(feature, str) else feature,
            may_raise_versions=allow_protocol_versions_increase,
        )
        self._commit(alteration, commit_properties, post_commithook_properties)

    @tells_old_arguments
    def set_table_properties(
        self,
        properties: Mapping[str, str],
        raise_if_not_exists: bool = True,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Set table properties, like Spark's ``ALTER TABLE ... SET TBLPROPERTIES``.

        A property that needs a table feature adds the feature. ``delta.feature.<name>`` = ``supported`` adds
        a feature by name. The protocol is never downgraded. ``delta.columnMapping.mode`` = ``none`` ends
        column mapping, by a commit of its own that rewrites every data file.

        Args:
            properties: values by property name. Names that begin with ``delta.`` are case-insensitive.
            raise_if_not_exists: whether an unknown name that begins with ``delta.`` is an error.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.

        Raises:
            InvalidTablePropertyError: a name is unknown, a value is invalid, or users cannot set the property
                or this value.
            SchemaMismatchError: the properties and the columns of the table contradict each other.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable
        >>> table = DeltaTable.create(tempfile.mkdtemp(), pa.schema([("id", pa.int64())]))
        >>> table.alter.set_table_properties({"delta.enableChangeDataFeed": "true"})
        >>> table.metadata().configuration
        {'delta.enableChangeDataFeed': 'true'}
        """
        given: object = properties
        if not isinstance(given, Mapping):
            raise TypeError(
                "set_table_properties takes a dict of names and texts, such as {'delta.appendOnly': 'true'},"
                f" not {given!r}"
            )

        def plan(changes: Mapping[str, str]) -> Alteration:
            return operations.set_properties(self.table.snapshot, changes, known_only=raise_if_not_exists)

        if switches_mapping_off(self.table.snapshot, properties):
            rest = {name: text for name, text in properties.items() if name.lower() != MAPPING_MODE.lower()}
            plan(rest)  # refuses before files are rewritten
            self._remove_mapping(
                commit_properties, post_commithook_properties, keep_mode=True, is_last=not rest
            )
            if not rest:
                return
        self._commit(plan(properties), commit_properties, post_commithook_properties)

    def unset_table_properties(
        self,
        names: str | Sequence[str],
        raise_if_not_exists: bool = True,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Unset table properties, like Spark's ``ALTER TABLE ... UNSET TBLPROPERTIES``.

        Table features that the properties added stay. Without ``delta.columnMapping.mode`` there is no
        column mapping: a commit of its own rewrites every data file first.

        Args:
            names: one property name or several.
            raise_if_not_exists: whether a property that the table does not have is an error.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.

        Raises:
            InvalidTablePropertyError: the table does not have the property, or requires it.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable
        >>> schema, properties = pa.schema([("id", pa.int64())]), {"delta.appendOnly": "true"}
        >>> table = DeltaTable.create(tempfile.mkdtemp(), schema, configuration=properties)
        >>> table.alter.unset_table_properties("delta.appendOnly")
        >>> table.metadata().configuration
        {}
        """

        def plan(changes: Sequence[str]) -> Alteration:
            return operations.unset_properties(
                self.table.snapshot, changes, raise_if_not_exists=raise_if_not_exists
            )

        given = (names,) if isinstance(names, str) else tuple(names)
        if switches_mapping_off(self.table.snapshot, dict.fromkeys(given)):
            rest = tuple(name for name in given if name.lower() != MAPPING_MODE.lower())
            plan(rest)  # refuses before files are rewritten
            self._remove_mapping(
                commit_properties, post_commithook_properties, keep_mode=False, is_last=not rest
            )
            if not rest:
                return
            given = rest
        self._commit(plan(given), commit_properties, post_commithook_properties)

    def set_table_name(
        self,
        name: str,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Set the name of the table, which is for display only.

        Args:
            name: the name, which may not be empty.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.

        Raises:
            InvalidTablePropertyError: the name is empty.
        """
        alteration = operations.set_name(self.table.snapshot, name)
        self._commit(alteration, commit_properties, post_commithook_properties)

    def set_table_description(
        self,
        description: str,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Set the description of the table, like Spark's ``COMMENT ON TABLE``.

        Args:
            description: the description.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.
        """
        alteration = operations.set_description(self.table.snapshot, description)
        self._commit(alteration, commit_properties, post_commithook_properties)

    def set_domain_metadata(
        self,
        domain: str,
        configuration: str,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Set the domain metadata of a user domain; chapter *Domain Metadata*.

        Args:
            domain: the name of the domain.
            configuration: the string to store, in any format.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.

        Raises:
            InvalidTablePropertyError: the name begins with ``delta.``, which is reserved for engines.
            UnsupportedFeatureError: the table lacks the feature ``domainMetadata``.
        """
        alteration = operations.set_domain(self.table.snapshot, domain, configuration)
        self._commit(alteration, commit_properties, post_commithook_properties)

    def remove_domain_metadata(
        self,
        domain: str,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Remove the domain metadata of a user domain.

        Args:
            domain: the name of the domain.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.

        Raises:
            InvalidTablePropertyError: the domain does not exist, or is reserved for engines.
        """
        alteration = operations.set_domain(self.table.snapshot, domain, None)
        self._commit(alteration, commit_properties, post_commithook_properties)

    # --- constraints ------------------------------------------------------------------------------

    @tells_old_arguments
    def add_constraint(
        self,
        constraints: Mapping[str, str],
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Add CHECK constraints, which all present and future rows must satisfy, in one commit.

        Args:
            constraints: conditions by the names of the constraints, in the SQL of the table's `dialect`; the
                table stores Spark SQL.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.

        Raises:
            ValueError: `constraints` is empty.
            ConstraintViolationError: a row of the table violates a constraint.
            InvalidTablePropertyError: a constraint of this name exists.
            UnsupportedFeatureError: the condition uses SQL that is not supported.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable
        >>> table = DeltaTable.create(tempfile.mkdtemp(), pa.schema([("id", pa.int64())]))
        >>> table.alter.add_constraint({"positive": "id > 0"})
        >>> table.metadata().configuration
        {'delta.constraints.positive': 'id > 0'}
        """
        named: object = constraints
        if not isinstance(named, Mapping):
            raise TypeError(f"a constraint has a name: write {{'name': {named!r}}}")
        dialect = self.table.dialect
        operations.add_constraints(
            self.table.snapshot,
            {name: spark_text(expression, dialect) for name, expression in constraints.items()},
            commit_properties=commit_properties,
            hook_properties=post_commithook_properties,
        )
        self.table.follow_commit()

    @tells_old_arguments
    def drop_constraint(
        self,
        name: str,
        raise_if_not_exists: bool = True,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Drop a CHECK constraint.

        Args:
            name: the name of the constraint, case-insensitive.
            raise_if_not_exists: whether a constraint that does not exist is an error.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.

        Raises:
            InvalidTablePropertyError: the constraint does not exist.
        """
        operations.drop_constraint(
            self.table.snapshot,
            name,
            raise_if_not_exists,
            commit_properties=commit_properties,
            hook_properties=post_commithook_properties,
        )
        self.table.follow_commit()

    # --- columns ----------------------------------------------------------------------------------

    @tells_old_arguments
    def add_columns(
        self,
        fields: Field | Sequence[Field],
        *,
        positions: Mapping[str, str] | None = None,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Add nullable columns, or nullable fields to existing structs.

        Args:
            fields: the new columns. An existing struct column gets the fields that it lacks.
            positions: the positions of new columns by path: ``FIRST`` or ``AFTER name``, applied in the order
                of `fields`. Other columns become the last of the table or of their struct.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.

        Raises:
            SchemaMismatchError: a column exists, is NOT NULL, or has a name that is not allowed.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable, Field
        >>> table = DeltaTable.create(tempfile.mkdtemp(), pa.schema([("id", pa.int64())]))
        >>> table.alter.add_columns([Field("name", "string")], positions={"name": "FIRST"})
        >>> table.schema().names
        ['name', 'id']
        """
        given = (fields,) if isinstance(fields, Field) else tuple(fields)
        other: object = next((each for each in given if not isinstance(each, Field)), None)
        if other is not None:
            raise TypeError(f"a new column must be a Field, such as Field('price', 'double'), not {other!r}")
        alteration = operations.add_columns(self.table.snapshot, given, positions)
        self._commit(alteration, commit_properties, post_commithook_properties)

    def rename_column(
        self,
        column: str,
        new_name: str,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Rename a column, or a field of a struct, in a table with column mapping.

        Args:
            column: the path of the column in Spark's notation, such as ``s.x`` or ``a.element.x``.
            new_name: the new name, not a path.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.

        Raises:
            SchemaMismatchError: the column does not exist, the new name is taken, or a constraint or a
                generated column refers to the column.
            UnsupportedFeatureError: the table has no column mapping.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable
        >>> schema, mapping = pa.schema([("id", pa.int64())]), {"delta.columnMapping.mode": "name"}
        >>> table = DeltaTable.create(tempfile.mkdtemp(), schema, configuration=mapping)
        >>> table.alter.rename_column("id", "key")
        >>> table.schema().names
        ['key']
        """
        alteration = operations.rename_column(self.table.snapshot, column, new_name)
        self._commit(alteration, commit_properties, post_commithook_properties)

    def drop_columns(
        self,
        columns: str | Iterable[str],
        raise_if_not_exists: bool = True,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Drop columns, or fields of structs, in a table with column mapping. No data file is rewritten.

        Args:
            columns: the path of the column, or several paths, in Spark's notation, such as ``s.x``.
            raise_if_not_exists: whether a column that does not exist is an error. If False and none of the
                columns exists, nothing is committed.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.

        Raises:
            SchemaMismatchError: the column does not exist, partitions or clusters the table, is used by a
                constraint or a generated column, or is the last one of its table or struct.
            UnsupportedFeatureError: the table has no column mapping, or a CHAR or VARCHAR is in the column.
        """
        alteration = operations.drop_columns(
            self.table.snapshot,
            (columns,) if isinstance(columns, str) else columns,
            raise_if_not_exists=raise_if_not_exists,
        )
        if alteration is not None:
            self._commit(alteration, commit_properties, post_commithook_properties)

    def drop_column_not_null(
        self,
        column_name: str,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Make a column, or a field of a struct, nullable.

        Args:
            column_name: the path of the column in Spark's notation, such as ``s.x``.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.

        Raises:
            SchemaMismatchError: the column does not exist.
        """
        alteration = operations.drop_not_null(self.table.snapshot, column_name)
        self._commit(alteration, commit_properties, post_commithook_properties)

    def cluster_by(
        self,
        columns: Sequence[str] | str | None,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Set the clustering columns; chapter *Clustered Table*. `DeltaTable.optimize` lays rows out by them.

        Args:
            columns: up to four columns; a field of a struct is named with dots, such as ``address.city``.
                None or an empty sequence turns clustering off; if it is off, nothing is committed.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.

        Raises:
            SchemaMismatchError: a column does not exist, has no statistics or cannot be ordered, or the table
                is partitioned.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable
        >>> table = DeltaTable.create(tempfile.mkdtemp(), pa.schema([("id", pa.int64())]))
        >>> table.alter.cluster_by("id")
        >>> table.detail()["clusteringColumns"]
        ['id']
        """
        chosen = (columns,) if isinstance(columns, str) else tuple(columns or ())
        alteration = operations.cluster_by(self.table.snapshot, chosen)
        if alteration is not None:
            self._commit(alteration, commit_properties, post_commithook_properties)

    def sync_identity(
        self,
        column: str,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Continue an identity column after the values that rows have, like Spark's ``SYNC IDENTITY``.

        Args:
            column: the identity column.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.

        Raises:
            SchemaMismatchError: `column` is not an identity column.
            ConstraintViolationError: the column has no value left in the range of its type.
        """
        operations.sync_identity(
            self.table.snapshot,
            column,
            commit_properties=commit_properties,
            hook_properties=post_commithook_properties,
        )
        self.table.follow_commit()

    def set_column_metadata(
        self,
        column: str,
        metadata: Mapping[str, Any],
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Set metadata keys of a column, or of a field of a struct.

        Args:
            column: the path of the column in Spark's notation, such as ``s.x``.
            metadata: values by key; None removes a key. ``comment`` is the description of the column.
                ``CURRENT_DEFAULT`` is the default value of the column as a Spark SQL expression; it needs the
                table feature ``allowColumnDefaults``.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.

        Raises:
            SchemaMismatchError: the column does not exist.
            UnsupportedFeatureError: only engines may set the key.
        """
        alteration = operations.set_column_metadata(self.table.snapshot, column, metadata)
        self._commit(alteration, commit_properties, post_commithook_properties)
