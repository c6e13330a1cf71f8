"""COPY: the rows of a query into a table that may be new."""

from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.catalogs import TableLocation
from deltaarrow.errors import TableNotFoundError
from deltaarrow.sql.duckdb_grammar.copying import parse_copy
from deltaarrow.sql.kind import StatementKind
from deltaarrow.sql.query_rows import QueryRows
from deltaarrow.sql.statements.rows import CopyTo
from deltaarrow.table import write_deltalake

if TYPE_CHECKING:
    from deltaarrow.catalogs import Namespace
    from deltaarrow.sql.session import Session

__all__ = ["KINDS"]


def _copy_to(session: "Session", statement: CopyTo) -> pa.Table:
    location, namespace = _place(session, statement)
    rows = QueryRows(session, statement.query)
    written = write_deltalake(
        location.uri,
        rows.reader(),
        mode=statement.mode,
        partition_by=statement.partition_by,
        schema_mode=statement.schema_mode,
        storage_options=None if location.storage_options is None else dict(location.storage_options),
        commit_properties=session.settings.commit_properties(),
        post_commithook_properties=session.settings.hook_properties(),
    )
    if namespace is not None:
        namespace.add(statement.table.parts[-1], location)
    return pa.table({"num_affected_rows": [written.num_rows], "num_inserted_rows": [written.num_rows]})


def _place(session: "Session", statement: CopyTo) -> "tuple[TableLocation, Namespace | None]":
    """Where the table is, and the namespace that is to learn of it if it is new."""
    catalog, parts = session.connection.catalog, statement.table.parts
    found = catalog.locate(parts)
    if found is not None:
        return found, None
    schema = catalog.schema_of(parts)
    namespace = None if schema is None else catalog.namespace(schema)
    if namespace is None:
        raise TableNotFoundError(
            f"{statement.table.text} is no place for a table: name a table of an attached folder or of a"
            f" namespace ({', '.join(catalog.namespaces()) or 'there are none'}), or a path in quotes"
        )
    return namespace.place_for(parts[-1]), namespace


KINDS = (StatementKind("COPY TO", (("COPY",),), CopyTo, _copy_to, duckdb=parse_copy),)
