"""The rows of an INSERT: the target column of each value, and the options for writing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.operations import assigned_rows, cast_rows, evolve_for_values
from deltaarrow.schema import ArrayType, DataType, Field, MapType, Schema, StructType
from deltaarrow.schema.metadata_keys import DEFAULT_KEY, GENERATION_KEY, IDENTITY_STEP_KEY
from deltaarrow.sql.query_rows import QueryRows
from deltaarrow.sql.rows.spark import quoted
from deltaarrow.sql.rows.value_rows import refusing_placement, without_defaults
from deltaarrow.sql.session_settings import (
    NULLS_FOR_MISSING,
    OPTIMIZE_WRITE,
    OVERWRITE_MODE,
    REPLACEMENT_CHECK,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from deltaarrow.snapshot import Snapshot
    from deltaarrow.sql.rows.statements import Insert
    from deltaarrow.sql.session import Session

__all__ = ["InsertedRows", "write_options"]

_SELF_FILLED = {DEFAULT_KEY, GENERATION_KEY, IDENTITY_STEP_KEY}
"""What the metadata of a column says that gets a value where it is left out."""


class InsertedRows:
    """The rows that an INSERT finds, with the columns that its table takes them in.

    Args:
        session: runs the query.
        statement: the INSERT.
        table: the version of the table that is inserted into.
        evolves: whether columns that the table lacks are added.

    Attributes:
        query: the rows as the query finds them.
        columns: the column of the table that each of its columns is for; None for one that is added.
        reads_table: whether it reads this version of the table.

    Raises `SchemaMismatchError` for columns that do not fit those of the table.
    """

    def __init__(self, session: "Session", statement: "Insert", table: "Snapshot", evolves: bool) -> None:
        self._statement, self._table, self._evolves = statement, table, evolves
        self._schema = table.schema
        self._is_spark = session.dialect == "spark"
        self._partition = {self._column(name): text for name, text in statement.partition.items()}
        self._ensure_partition(table)
        text, columns = without_defaults(statement, self._wanted(), session.dialect)
        with refusing_placement(text):
            self.query = QueryRows(session, text)
        names = self.query.names
        self.columns = self._by_name(names) if statement.by_name else self._by_position(names, columns)
        if not session.settings[NULLS_FOR_MISSING]:
            self._ensure_filled(self.columns if statement.by_name else self._wanted())
        self.reads_table = self.query.reads(table)

    def reader(self) -> "pa.RecordBatchReader":
        """Return the rows as a stream."""
        query = self.query
        if not self._is_spark:
            own = [column for column in self.columns if column is not None]
            return query.reader(cast_rows(query.sql, own))
        constants = {column: text for column, text in self._partition.items() if text is not None}
        columns = self._assigned_columns()
        sql = assigned_rows(
            query.sql,
            query.schema,
            columns,
            constants,
            fills=self._evolves,
            by_position=self._matches_fields_by_position,
        )
        return query.reader(sql, [column.type for column in columns])

    @property
    def static_partition(self) -> dict[Field, str]:
        """The partition columns that the statement gives a value, with its text."""
        return {column: text for column, text in self._partition.items() if text is not None}

    def _assigned_columns(self) -> list[Field]:
        """The columns that the table has after the INSERT, for those of the query."""
        by_position = self._matches_fields_by_position
        named = [
            given if column is None else _named_as(column, given, fields_too=by_position)
            for given, column in zip(self.query.schema.fields, self.columns, strict=True)
        ]
        found = evolve_for_values(self._table, Schema(named)) if self._evolves else None
        schema = self._schema if found is None else Schema.from_json(found[0].schema_string)
        return [schema.field(each.name) for each in named]

    @property
    def _matches_fields_by_position(self) -> bool:
        """Whether fields of structs go to those of the table by their position, as in delta-spark.

        They do if the INSERT names columns, and as soon as a column of the query has another type than that
        of the table, or another name, which BY NAME excludes. Else they go by name.
        """
        if self._statement.columns is not None:
            return True
        pairs = [
            (column, given)
            for column, given in zip(self.columns, self.query.schema.fields, strict=True)
            if column is not None
        ]
        return any(
            not _is_read_as(column.type, given.type)
            or not (self._statement.by_name or column.name == given.name)
            for column, given in pairs
        )

    def _column(self, name: str, error_class: str = "DELTA_MISSING_COLUMN") -> Field:
        found = self._schema.find(name)
        if found is None:
            raise SchemaMismatchError(
                f"[{error_class}] {self._statement.table.text} has no column {name}"
                f" (columns: {', '.join(self._schema.names)})"
            )
        return found

    def _ensure_partition(self, table: "Snapshot") -> None:
        for column in self._partition:
            if column.name not in table.partition_columns:
                raise SchemaMismatchError(
                    f"[NON_PARTITION_COLUMN] PARTITION names {column.name}, which is no partition column of"
                    f" {self._statement.table.text} ({', '.join(table.partition_columns) or 'it has none'})"
                )

    def _ensure_filled(self, given: Sequence[Field | None]) -> None:
        """Raise for a column that is left out and has neither a default nor values of its own."""
        filled = {column.name for column in (*given, *self._partition) if column is not None}
        for column in self._schema.fields:
            if column.name not in filled and not _SELF_FILLED & column.metadata.keys():
                raise SchemaMismatchError(
                    f"[DELTA_INSERT_COLUMN_MISMATCH] the INSERT leaves out the column {column.name} of"
                    f" {self._statement.table.text}, which has no default: give it a value, or RESET"
                    f" {NULLS_FOR_MISSING.name}"
                )

    def _wanted(self) -> list[Field]:
        """The columns that those of the query are for by their position."""
        given = self._statement.columns
        constant = {column.name for column, text in self._partition.items() if text is not None}
        if given is None:
            return [each for each in self._schema.fields if each.name not in constant]
        found = [self._column(name, "UNRESOLVED_COLUMN.WITH_SUGGESTION") for name in given]
        for place, column in enumerate(found):
            if column in found[:place] or column.name in constant:
                raise SchemaMismatchError(
                    f"[COLUMN_ALREADY_EXISTS] the INSERT names the column {column.name} more than once"
                )
        return found

    def _by_position(self, names: Sequence[str], wanted: Sequence[Field]) -> list[Field | None]:
        extra = len(names) - len(wanted)
        if extra > 0 and self._evolves and self._statement.columns is None:
            return [*wanted, *([None] * extra)]
        if extra:
            raise SchemaMismatchError(
                f"[{self._arity_class(extra)}] the INSERT fills {len(wanted)} columns of"
                f" {self._statement.table.text} ({', '.join(column.name for column in wanted)}), the query"
                f" has {len(names)}"
            )
        return list(wanted)

    def _arity_class(self, extra: int) -> str:
        """Spark's class for a query with so many columns more than the INSERT fills, or less."""
        if self._statement.columns is not None:
            kind = "TOO_MANY" if extra > 0 else "NOT_ENOUGH"
            return f"INSERT_COLUMN_ARITY_MISMATCH.{kind}_DATA_COLUMNS"
        return "DELTA_METADATA_MISMATCH" if extra > 0 else "DELTA_INSERT_COLUMN_ARITY_MISMATCH"

    def _by_name(self, names: Sequence[str]) -> list[Field | None]:
        folded = [name.lower() for name in names]
        for place, name in enumerate(folded):
            if name in folded[:place]:
                raise SchemaMismatchError(
                    f"[DELTA_DUPLICATE_COLUMNS_FOUND.READ_SCHEMA] the query of the INSERT BY NAME has two"
                    f" columns {names[place]}"
                )
        if self._evolves:
            return [self._schema.find(name) for name in names]
        return [self._column(name, "DELTA_METADATA_MISMATCH") for name in names]


def write_options(
    session: "Session", statement: "Insert", rows: InsertedRows, evolves: bool
) -> dict[str, Any]:
    """Return the arguments of `deltaarrow.write_deltalake` that write the rows as a statement says."""
    options: dict[str, Any] = {"mode": "overwrite" if statement.overwrites else "append", "dialect": "spark"}
    if statement.replaced is not None:
        options["predicate"] = f"({statement.replaced})"
    elif statement.overwrites and session.settings[OVERWRITE_MODE] == "dynamic":
        options["partition_overwrite_mode"] = "dynamic"
    elif statement.overwrites and rows.static_partition:
        options["predicate"] = " AND ".join(_equals(*each) for each in rows.static_partition.items())
    written: dict[str, Any] = {}
    if (optimizes := session.settings[OPTIMIZE_WRITE]) is not None:
        written["optimizeWrite"] = optimizes
    if not session.settings[REPLACEMENT_CHECK]:
        written[REPLACEMENT_CHECK.name] = False
    if written:
        options["options"] = written
    if evolves:
        options["schema_mode"] = "merge"
    return options


def _equals(column: Field, text: str) -> str:
    return f"({column.name if column.name.isidentifier() else quoted(column.name)} <=> {text})"


def _named_as(column: Field, given: Field, *, fields_too: bool) -> Field:
    """A column of the query under the name of a column of the table, and its fields too, by position."""
    return Field(column.name, _type_as(column.type, given.type) if fields_too else given.type, given.nullable)


def _type_as(column: DataType, given: DataType) -> DataType:
    if isinstance(column, StructType) and isinstance(given, StructType):
        shared = zip(column.fields, given.fields, strict=False)
        named = [_named_as(*pair, fields_too=True) for pair in shared]
        return StructType([*named, *given.fields[len(named) :]])
    if isinstance(column, ArrayType) and isinstance(given, ArrayType):
        return replace(given, element_type=_type_as(column.element_type, given.element_type))
    if isinstance(column, MapType) and isinstance(given, MapType):
        key = _type_as(column.key_type, given.key_type)
        return replace(given, key_type=key, value_type=_type_as(column.value_type, given.value_type))
    return given


def _is_read_as(column: DataType, given: DataType) -> bool:
    """Whether values are of the type of a column, but for further fields of structs and their order."""
    if isinstance(column, StructType) and isinstance(given, StructType):
        found = {each.name: each.type for each in given.fields}
        return all(each.name in found and _is_read_as(each.type, found[each.name]) for each in column.fields)
    if isinstance(column, ArrayType) and isinstance(given, ArrayType):
        return _is_read_as(column.element_type, given.element_type)
    if isinstance(column, MapType) and isinstance(given, MapType):
        keys = _is_read_as(column.key_type, given.key_type)
        return keys and _is_read_as(column.value_type, given.value_type)
    return column == given
