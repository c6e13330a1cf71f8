"""`QueryBuilder`: DuckDB's SQL over several tables, with the methods of ``deltalake``'s class."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Self

import duckdb
import pyarrow as pa

from deltaarrow.engines.duckdb.view import query_all
from deltaarrow.errors import DeltaError, UnsupportedFeatureError
from deltaarrow.schema import without_column_ids

if TYPE_CHECKING:
    from deltaarrow.snapshot import Snapshot
    from deltaarrow.table import DeltaTable

__all__ = ["QueryBuilder"]

_WHOLE_TABLE = re.compile(
    r"""\s*select\s+\*\s+from\s+("(?P<quoted>[^"]+)"|(?P<name>\w+))"""
    r"(\s+(where|order\s+by|limit)\s[^;]*)?\s*;?\s*",
    re.IGNORECASE,
)
_SEVERAL = re.compile(r"\b(union|intersect|except|join)\b|--|/\*", re.IGNORECASE)
"""What may put rows of elsewhere into a result; comments hide it."""


class QueryBuilder:
    """Runs queries in DuckDB's SQL over tables that are registered by name.

    Each query has a DuckDB of its own, so streams may be read at the same time. For views, tables of one's
    own and statements that write, use `deltaarrow.connect`.

    Args:
        session_config: settings of DuckDB by name, such as ``{"threads": "2"}``.

    Raises:
        UnsupportedFeatureError: a setting is DataFusion's.
        DeltaError: DuckDB does not know a setting, or its value.

    >>> import deltaarrow, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = deltaarrow.write_deltalake(folder, pa.table({"id": [1, 2]}))
    >>> queries = QueryBuilder().register("numbers", deltaarrow.DeltaTable(folder))
    >>> queries.execute("SELECT max(id) AS newest FROM numbers").read_all().to_pylist()
    [{'newest': 2}]
    """

    def __init__(self, session_config: Mapping[str, str] | None = None) -> None:
        self._options = dict(session_config or {})
        self._tables: dict[str, Snapshot] = {}
        for key in self._options:
            if key.startswith("datafusion."):
                raise UnsupportedFeatureError(
                    f"{key} is a setting of DataFusion, and queries run in DuckDB; leave it out, or give the"
                    " setting that DuckDB has for it",
                    feature=key,
                )
        with _of_package():
            duckdb.connect(":memory:", config={**self._options}).close()

    def register(self, table_name: str, delta_table: "DeltaTable") -> Self:
        """Show a table, at its open version, to the queries that follow.

        Args:
            table_name: the name in queries; a table of the same name is replaced.
            delta_table: the table.
        """
        self._tables[table_name] = delta_table.snapshot
        return self

    def execute(self, sql: str) -> pa.RecordBatchReader:
        """Run a query, and return its rows as a stream; texts and binaries are views.

        The columns of ``SELECT * FROM t``, also with WHERE, ORDER BY or LIMIT, are NOT NULL where those of
        the table are, and have their metadata; columns of other queries may be NULL.

        Args:
            sql: a query in DuckDB's SQL; times are in UTC.

        Raises:
            DeltaError: the query is wrong, or a row cannot be computed.
            CorruptDataFileError: a file is missing, broken, or contradicts the schema of a table.
        """
        named = {name: each for name, each in self._tables.items() if _may_name(sql, name)}
        with _of_package():
            rows = query_all(named, sql, has_views=True, options=self._options)
        schema = _schema_of(rows.schema, _shown_table(sql, named))
        return pa.RecordBatchReader.from_batches(schema, _read(rows, schema))


def _may_name(sql: str, table: str) -> bool:
    return '"' in table or table.casefold() in sql.casefold()


def _shown_table(sql: str, tables: "Mapping[str, Snapshot]") -> "Snapshot | None":
    """The table that a query shows with all its columns as they are; None for another query."""
    found = _WHOLE_TABLE.fullmatch(sql)
    if found is None or _SEVERAL.search(sql) is not None:
        return None
    name = found["quoted"] or found["name"]
    chosen = [each for known, each in tables.items() if known.casefold() == name.casefold()]
    return chosen[0] if len(chosen) == 1 else None


def _schema_of(found: pa.Schema, table: "Snapshot | None") -> pa.Schema:
    """The schema of a result, with what the table that it shows says of its columns."""
    if table is None:
        return found
    declared = without_column_ids(table.schema).to_arrow()
    if declared.names != found.names:
        return found
    return pa.schema(
        [
            pa.field(name, kind, field.nullable, field.metadata)
            for name, kind, field in zip(found.names, found.types, declared, strict=True)
        ]
    )


def _read(rows: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    with _of_package(), rows:
        for batch in rows:
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


@contextlib.contextmanager
def _of_package() -> Iterator[None]:
    """A block in which DuckDB's errors become errors of this package."""
    try:
        yield
    except duckdb.Error as error:
        raise DeltaError(str(error)) from error
