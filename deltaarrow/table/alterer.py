"""`TableAlterer`: what ``table.alter`` offers, with the names and meanings of ``deltalake``.

Every method is one call downward and commits once; the table then stands at the version that was made.
Chapters *Change Metadata* and *Protocol Evolution* of the protocol.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import deltaarrow.operations as operations
from deltaarrow.operations import Alteration, CommitProperties, PostCommitHookProperties
from deltaarrow.schema import Field
from deltaarrow.table.target import StatementTarget

__all__ = ["TableAlterer"]


class TableAlterer:
    """Changes of one table, which moves to the version that each of them makes.

    Every method raises the exceptions of commits, and `UnsupportedFeatureError` for a table that this release
    does not write to.

    Args:
        table: the table.
    """

    def __init__(self, table: StatementTarget) -> None:
        self.table = table

    def _commit(
        self,
        alteration: Alteration,
        commit_properties: CommitProperties | None,
        hook_properties: PostCommitHookProperties | None,
    ) -> None:
        operations.commit_alteration(
            self.table.snapshot,
            alteration,
            commit_properties=commit_properties,
            hook_properties=hook_properties,
        )
        self.table.follow_commit()

    # --- protocol and properties ------------------------------------------------------------------

    def add_feature(
        self,
        feature: str | Sequence[str],
        allow_protocol_versions_increase: bool = False,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Add table features, with those that they require.

        Args:
            feature: the names, as texts or as `TableFeatures`.
            allow_protocol_versions_increase: whether the protocol may get higher versions for it.
            commit_properties: what else goes into the commit.
            post_commithook_properties: what happens after it.

        Raises:
            UnsupportedFeatureError: there is no such feature, or this release does not write it.
            DeltaProtocolError: higher versions are needed, and not allowed.

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

    def set_table_properties(
        self,
        properties: Mapping[str, str],
        raise_if_not_exists: bool = True,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Set table properties, as Spark's ``ALTER TABLE ... SET TBLPROPERTIES`` does.

        A property that makes use of a table feature adds it. ``delta.feature.<name>`` = ``supported`` adds a
        feature by name; the protocol is never made less.

        Args:
            properties: texts by name; names in ``delta.`` count in any case.
            raise_if_not_exists: whether an unknown name in ``delta.`` is refused.
            commit_properties: what else goes into the commit.
            post_commithook_properties: what happens after it.

        Raises:
            InvalidTablePropertyError: a name that is unknown, a value that is impossible, or a property
                that users do not set, or not like this.
            SchemaMismatchError: the columns of the table contradict the properties.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable
        >>> table = DeltaTable.create(tempfile.mkdtemp(), pa.schema([("id", pa.int64())]))
        >>> table.alter.set_table_properties({"delta.enableChangeDataFeed": "true"})
        >>> table.metadata().configuration
        {'delta.enableChangeDataFeed': 'true'}
        """
        alteration = operations.set_properties(
            self.table.snapshot, properties, known_only=raise_if_not_exists
        )
        self._commit(alteration, commit_properties, post_commithook_properties)

    def unset_table_properties(
        self,
        names: str | Sequence[str],
        raise_if_not_exists: bool = True,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Unset table properties, as Spark's ``ALTER TABLE ... UNSET TBLPROPERTIES`` does.

        Features that they have added stay.

        Args:
            names: the properties.
            raise_if_not_exists: whether a property that the table does not have is an error.
            commit_properties: what else goes into the commit.
            post_commithook_properties: what happens after it.

        Raises:
            InvalidTablePropertyError: the table has no such property, or cannot be without it.
        """
        alteration = operations.unset_properties(
            self.table.snapshot,
            (names,) if isinstance(names, str) else names,
            raise_if_not_exists=raise_if_not_exists,
        )
        self._commit(alteration, commit_properties, post_commithook_properties)

    def set_table_name(
        self,
        name: str,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Give the table a name for people."""
        alteration = operations.set_name(self.table.snapshot, name)
        self._commit(alteration, commit_properties, post_commithook_properties)

    def set_table_description(
        self,
        description: str,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Describe the table for people, as Spark's ``COMMENT ON TABLE`` does."""
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
        """Keep a text of a user with the table, under the name of a domain.

        Raises:
            InvalidTablePropertyError: the name begins with ``delta.``: such domains are the engines'.
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
        """Remove the text of a user's domain.

        Raises:
            InvalidTablePropertyError: there is no such domain, or it is an engine's.
        """
        alteration = operations.set_domain(self.table.snapshot, domain, None)
        self._commit(alteration, commit_properties, post_commithook_properties)

    # --- constraints ------------------------------------------------------------------------------

    def add_constraint(
        self,
        constraints: Mapping[str, str],
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Have every row meet a condition, those that are there included.

        Args:
            constraints: one condition in Spark SQL, by its name.
            commit_properties: what else goes into the commit.
            post_commithook_properties: what happens after it.

        Raises:
            ValueError: it is not one constraint.
            ConstraintViolationError: rows of the table break it.
            InvalidTablePropertyError: there is a constraint of that name already.
            UnsupportedFeatureError: the condition holds what is not supported.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable
        >>> table = DeltaTable.create(tempfile.mkdtemp(), pa.schema([("id", pa.int64())]))
        >>> table.alter.add_constraint({"positive": "id > 0"})
        >>> table.metadata().configuration
        {'delta.constraints.positive': 'id > 0'}
        """
        if len(constraints) != 1:
            raise ValueError(f"one constraint is added at a time, not {len(constraints)}")
        ((name, expression),) = constraints.items()
        operations.add_constraint(
            self.table.snapshot,
            name,
            expression,
            commit_properties=commit_properties,
            hook_properties=post_commithook_properties,
        )
        self.table.follow_commit()

    def drop_constraint(
        self,
        name: str,
        raise_if_not_exists: bool = True,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Free rows from a condition.

        Args:
            name: the name of the constraint, in any case.
            raise_if_not_exists: whether it is an error where there is none.
            commit_properties: what else goes into the commit.
            post_commithook_properties: what happens after it.

        Raises:
            InvalidTablePropertyError: there is no such constraint.
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

    def add_columns(
        self,
        fields: Field | Sequence[Field],
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Add columns, and members to structs that are there, where NULL is allowed.

        Args:
            fields: the columns; a struct that the table has takes in the members that it lacks.
            commit_properties: what else goes into the commit.
            post_commithook_properties: what happens after it.

        Raises:
            SchemaMismatchError: a column is there already, is NOT NULL, or has a name that it may not have.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable, Field
        >>> table = DeltaTable.create(tempfile.mkdtemp(), pa.schema([("id", pa.int64())]))
        >>> table.alter.add_columns([Field("name", "string")])
        >>> table.schema().names
        ['id', 'name']
        """
        given = (fields,) if isinstance(fields, Field) else tuple(fields)
        alteration = operations.add_columns(self.table.snapshot, given)
        self._commit(alteration, commit_properties, post_commithook_properties)

    def rename_column(
        self,
        column: str,
        new_name: str,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Rename a column, or a member of a struct, in a table with column mapping.

        Args:
            column: the path to it in Spark's spelling, such as ``s.x`` or ``a.element.x``.
            new_name: its new name, not a path.
            commit_properties: what else goes into the commit.
            post_commithook_properties: what happens after it.

        Raises:
            SchemaMismatchError: there is no such column, the name is taken, or a constraint or a
                generated column speaks of it.
            UnsupportedFeatureError: the table has no column mapping.
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
        """Drop columns, or members of structs, in a table with column mapping; no file is rewritten.

        Args:
            columns: the paths to them in Spark's spelling.
            raise_if_not_exists: whether a column that is not there is an error; otherwise nothing is
                committed where none is.
            commit_properties: what else goes into the commit.
            post_commithook_properties: what happens after it.

        Raises:
            SchemaMismatchError: there is no such column, the table is partitioned or clustered by it, a
                constraint or a generated column speaks of it, or nothing is left beside it.
            UnsupportedFeatureError: the table has no column mapping.
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
        """Let a column, or a member of a struct, hold NULL.

        Raises:
            SchemaMismatchError: there is no such column.
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
        """Have OPTIMIZE lay the rows out by other columns from now on; chapter *Clustered Table*.

        Args:
            columns: up to four, members of structs with a dot between; None or none for no clustering.
            commit_properties: what else goes into the commit.
            post_commithook_properties: what happens after it.

        Raises:
            SchemaMismatchError: a column is not there, has no statistics or no order, or the table is
                partitioned.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable
        >>> table = DeltaTable.create(tempfile.mkdtemp(), pa.schema([("id", pa.int64())]))
        >>> table.alter.cluster_by("id")
        >>> table.detail()["clusteringColumns"]
        ['id']
        """
        chosen = (columns,) if isinstance(columns, str) else tuple(columns or ())
        alteration = operations.cluster_by(self.table.snapshot, chosen)
        self._commit(alteration, commit_properties, post_commithook_properties)

    def sync_identity(
        self,
        column: str,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Have an identity column go on after the numbers that rows have, as Spark's ``SYNC IDENTITY`` does.

        Args:
            column: the identity column.
            commit_properties: what else goes into the commit.
            post_commithook_properties: what happens after it.

        Raises:
            SchemaMismatchError: it is no identity column.
            ConstraintViolationError: no number is left.
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
        """Set keys of the metadata of a column, or of a member of a struct; None removes one.

        Args:
            column: the path to it in Spark's spelling.
            metadata: ``comment`` describes the column for people; ``CURRENT_DEFAULT`` is, in Spark SQL, the
                value of rows that give none, where the table has the feature ``allowColumnDefaults``.
            commit_properties: what else goes into the commit.
            post_commithook_properties: what happens after it.

        Raises:
            SchemaMismatchError: there is no such column.
            UnsupportedFeatureError: a key that only engines set.
        """
        alteration = operations.set_column_metadata(self.table.snapshot, column, metadata)
        self._commit(alteration, commit_properties, post_commithook_properties)
