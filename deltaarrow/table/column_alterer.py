"""`ColumnAlterer`: the methods of ``table.alter`` that change columns which exist.

Chapters *Change Metadata*, *Type Widening* and *Default Columns* of the protocol.
"""

from collections.abc import Mapping, Sequence

import deltaarrow.operations as operations
from deltaarrow.operations import Alteration, ColumnChange, CommitProperties, PostCommitHookProperties
from deltaarrow.schema import DataType, Field
from deltaarrow.table.statement_target import StatementTarget

__all__ = ["ColumnAlterer"]


class ColumnAlterer:
    """Changes of the columns of one table, which moves to the version of each change.

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

    def change_column(
        self,
        column: str,
        *,
        type: DataType | str | None = None,
        comment: str | None = None,
        default: str | None = None,
        drop_default: bool = False,
        nullable: bool | None = None,
        position: str | None = None,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Change a column, or a field of a struct, like Spark's ``ALTER COLUMN``. No data file is rewritten.

        Args:
            column: the path of the column in Spark's notation, such as ``s.x`` or ``a.element.x``. With
                `type` alone also an array element or a map key or value, such as ``a.element``.
            type: the new type, which holds all values of the old one, such as ``long`` for ``integer``. The
                property ``delta.enableTypeWidening`` must be true. ``varchar(n)`` makes a longer string of a
                shorter ``varchar``, ``string`` takes its limit away.
            comment: the new description.
            default: the new default value, an expression in Spark SQL. It counts for later writes, and needs
                the table feature ``allowColumnDefaults``.
            drop_default: whether the column loses its default value.
            nullable: whether the column may hold NULL. False, which Spark refuses, reads the files whose
                statistics do not exclude NULL.
            position: the new position among its siblings: ``FIRST`` or ``AFTER name``.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.

        Raises:
            SchemaMismatchError: the column does not exist, cannot have this type, or a constraint or a
                generated column relies on its type.
            UnsupportedFeatureError: the table does not widen types, or has no feature for defaults.
            ConstraintViolationError: a row has NULL in the column, which therefore stays nullable.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable
        >>> schema, widening = pa.schema([("a", pa.int32()), ("b", pa.int32())]), "delta.enableTypeWidening"
        >>> table = DeltaTable.create(tempfile.mkdtemp(), schema, configuration={widening: "true"})
        >>> table.alter.change_column("b", type="long", comment="number", position="FIRST")
        >>> table.schema().names, table.schema().field("b").type
        (['b', 'a'], PrimitiveType("long"))
        """
        change = ColumnChange(
            type=type,
            comment=comment,
            default=default,
            drop_default=drop_default,
            nullable=nullable,
            position=position,
        )
        self.change_columns(
            {column: change},
            commit_properties=commit_properties,
            post_commithook_properties=post_commithook_properties,
        )

    def change_columns(
        self,
        changes: Mapping[str, ColumnChange],
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Change several columns in one commit, one after the other.

        Args:
            changes: the changes by the path of the column; see `change_column`.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.

        Raises:
            SchemaMismatchError: as for `change_column`, or a column is given twice, itself or with a field of
                it.
            UnsupportedFeatureError: as for `change_column`.
            ConstraintViolationError: as for `change_column`.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import ColumnChange, DeltaTable
        >>> schema = pa.schema([("a", pa.int32()), ("b", pa.int32())])
        >>> table = DeltaTable.create(tempfile.mkdtemp(), schema)
        >>> table.alter.change_columns(
        ...     {"a": ColumnChange(comment="key"), "b": ColumnChange(position="FIRST")}
        ... )
        >>> table.schema().names
        ['b', 'a']
        """
        alteration = operations.change_columns(self.table.snapshot, changes)
        if alteration is not None:
            self._commit(alteration, commit_properties, post_commithook_properties)

    def replace_columns(
        self,
        fields: Sequence[Field],
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Give the table exactly these columns, in this order, like Spark's ``REPLACE COLUMNS``.

        Columns and fields of structs match by name. One that stays keeps its values and metadata, but takes a
        comment that is given. One that is not given is dropped, which needs column mapping.

        Args:
            fields: all columns of the table.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.

        Raises:
            SchemaMismatchError: the table cannot have these columns in this way: it has identity columns, a
                dropped column partitions or clusters the table or is used by an expression, a new one is NOT
                NULL, a type would lose values, or columns are dropped and added at once.
            UnsupportedFeatureError: a type is wider, and the table does not widen types.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable, Field
        >>> schema = pa.schema([("a", pa.int32()), ("b", pa.int32())])
        >>> table = DeltaTable.create(tempfile.mkdtemp(), schema)
        >>> table.alter.replace_columns([Field("b", "integer"), Field("c", "string"), Field("a", "integer")])
        >>> table.schema().names
        ['b', 'c', 'a']
        """
        alteration = operations.replace_columns(self.table.snapshot, fields)
        self._commit(alteration, commit_properties, post_commithook_properties)
