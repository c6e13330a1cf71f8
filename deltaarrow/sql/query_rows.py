"""`QueryRows`: the rows that a query in a statement finds, as a stream."""

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaarrow.engines import QueryErrors
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.operations.dml import computing_rows
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.scan import Explanation
from deltaarrow.schema import (
    ArrayType,
    DataType,
    IntervalType,
    MapType,
    PrimitiveType,
    StructType,
    from_arrow_schema,
    types_within,
)
from deltaarrow.snapshot import Snapshot
from deltaarrow.sql.error_positions import query_error
from deltaarrow.variant import holds_variant
from deltaarrow.write import checked_reader, ensure_duckdb_types

if TYPE_CHECKING:
    from deltaarrow.sql.session import Session

__all__ = ["QueryRows"]

_lazily = lazy_attributes(__name__, {"annotated_schema": "deltaarrow.engines.duckdb.arrow_datasets"})
"""What loads pyarrow's datasets, and with them pandas; only variants need it."""

_BATCH_ROWS = 1 << 15
"""Larger batches are slower: DuckDB fills 100,000 rows of 16 columns in 16.5 ms as one, else in 11.5 ms."""


class QueryRows:
    """The rows of a query in the dialect of the statement that runs.

    Args:
        session: runs the query.
        text: the query.

    Attributes:
        sql: the query as DuckDB runs it, over the files of the Delta tables that it names.

    Raises what `Session.query` raises, and `TableNotFoundError` for a path without a table.
    """

    def __init__(self, session: "Session", text: str) -> None:
        self._session, text = session, session.with_names(text)
        self._connection = session.connection
        compiled = session.compiled(text) if session.dialect == "spark" else None
        self._query = text if compiled is None else compiled.sql
        self._schema = None if compiled is None else compiled.schema
        self._parameters = session.parameters if session.dialect == "duckdb" else ()
        self.sql, self._plans = self._connection.planned(self._query, self._parameters or session.variables)
        row_error = None if compiled is None else functools.partial(query_error, text, compiled.calls)
        self._errors = QueryErrors(self._plans, row_error, statement=text)

    def reads(self, table: Snapshot) -> bool:
        """Whether the query reads this version of a table."""
        versions = {(plan.store.uri, plan.version) for plan in self._plans}
        return (table.store.uri, table.version) in versions

    def explained(self) -> list[Explanation]:
        """Return which files the query reads of each Delta table."""
        connection, query = self._connection, self._query
        if not connection.reads_tables(query):
            return []
        return connection.explain(query, self._parameters or self._session.variables)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        if self._schema is not None:
            return self._schema.names
        with self._errors.named():
            names: list[str] = self._relation(self.sql).columns
        return names

    @property
    def schema(self) -> StructType:
        """The names and types of the columns, in Delta's types.

        Raises `UnsupportedFeatureError` for a type of DuckDB that Delta lacks.
        """
        if self._schema is not None:
            return self._schema
        with self._errors.named():
            found = self._relation(f"FROM (\n{self.sql}\n) LIMIT 0")
            ensure_duckdb_types(found.columns, found.types)
            return from_arrow_schema(found.to_arrow_table().schema)

    def reader(self, sql: str | None = None, types: Sequence[DataType] | None = None) -> pa.RecordBatchReader:
        """Return the rows, or those of a query over this one, as a stream while the statement runs.

        Args:
            sql: the query over this one.
            types: those of its columns; only columns of ``void`` need to be told.

        Raises `UnsupportedFeatureError` for a type of DuckDB that Delta lacks. Reading raises
        `ConstraintViolationError` for a row that cannot be computed.
        """
        if sql is None and self._schema is not None:
            _ensure_stored(self._schema)
        with self._errors.named(), computing_rows():
            relation = self._relation(sql or self.sql)
            if self._schema is None:
                ensure_duckdb_types(relation.columns, relation.types)
            found = relation.to_arrow_reader(_BATCH_ROWS)
        self._session.opened.append(found)
        schema = self._marked(found.schema) if sql is None else found.schema
        if sql is None and self._schema is not None:
            types = [field.type for field in self._schema.fields]
        schema = _without_values(schema, types or ())
        return pa.RecordBatchReader.from_batches(schema, self._batches(found, schema))

    def _marked(self, schema: pa.Schema) -> pa.Schema:
        """The schema with variants marked, also those that an expression makes."""
        if self._schema is None or not holds_variant(self._schema):
            return schema
        marked: pa.Schema = _lazily("annotated_schema")(schema, self._schema)
        return marked

    def _batches(self, found: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        batches = found if self._schema else checked_reader(found)
        while True:
            with self._errors.named(), computing_rows():
                batch = next(batches, None)
                if batch is not None and schema is not found.schema:
                    batch = _with_schema(batch, schema)
            if batch is None:
                return
            yield batch

    def _relation(self, sql: str) -> Any:
        return self._connection.connection.sql(sql, params=self._parameters or None)


def _ensure_stored(schema: StructType) -> None:
    for each in schema.fields:
        interval = next((part for part in types_within(each.type) if isinstance(part, IntervalType)), None)
        if interval is not None:
            raise UnsupportedFeatureError(
                f"[DELTA_UNSUPPORTED_DATA_TYPES] column {each.name!r} holds an {interval.type}, which no"
                " Delta table stores; cast it to a string, or to a number of seconds",
                feature=interval.type,
            )


def _without_values(schema: pa.Schema, types: Sequence[DataType]) -> pa.Schema:
    """The schema with columns and struct fields of ``void``, to which DuckDB gives a type."""
    for index, each in enumerate(types):
        field = schema.field(index)
        kind = _arrow_type(field.type, each)
        if kind != field.type:
            # A column of NULLs loses what its field says of its type.
            field = pa.field(field.name, kind) if pa.types.is_null(kind) else field.with_type(kind)
            schema = schema.set(index, field)
    return schema


def _arrow_type(found: pa.DataType, wanted: DataType) -> pa.DataType:
    """The Arrow type of a column with ``pa.null()`` wherever the Delta type is ``void``."""
    match wanted:
        case PrimitiveType("void"):
            return pa.null()
        case StructType() if pa.types.is_struct(found):
            pairs = zip(found, wanted.fields, strict=True)
            return pa.struct([each.with_type(_arrow_type(each.type, own.type)) for each, own in pairs])
        case ArrayType() if pa.types.is_list(found):
            element = found.value_field
            return pa.list_(element.with_type(_arrow_type(element.type, wanted.element_type)))
        case MapType() if pa.types.is_map(found):
            key = found.key_field.with_type(_arrow_type(found.key_type, wanted.key_type))
            item = found.item_field.with_type(_arrow_type(found.item_type, wanted.value_type))
            return pa.map_(key, item)
    return found


def _with_schema(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    arrays = [_with_type(array, kind) for array, kind in zip(batch.columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _with_type(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if array.type == kind:
        return array
    if pa.types.is_null(kind):
        return pa.nulls(len(array))
    if not (pa.types.is_struct(kind) and pa.types.is_struct(array.type)):
        return array.cast(kind)
    members = [_with_type(array.field(index), each.type) for index, each in enumerate(kind)]
    return pa.StructArray.from_arrays(members, fields=list(kind), mask=array.is_null())
