"""`connect`: a DuckDB connection whose statements read and change Delta tables by name."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import duckdb

from deltaarrow.catalogs import NamespaceCatalog, given_catalog
from deltaarrow.engines import Catalog, DeltaConnection, Dialect
from deltaarrow.sql.front_end import FrontEnd

__all__ = ["connect"]

_DEFAULT = "default"
"""The namespace in which a session of Spark begins."""


def connect(
    database: str | os.PathLike[str] | duckdb.DuckDBPyConnection = ":memory:",
    read_only: bool = False,
    config: Mapping[str, Any] | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
    catalog: str | os.PathLike[str] | NamespaceCatalog | None = None,
    dialect: Dialect = "duckdb",
    progress: Callable[[int, int], None] | None = None,
) -> DeltaConnection:
    """Connect to a DuckDB database in whose statements Delta tables can be used by name.

    A statement names a table as ``delta.`/data/orders` `` (a path or URI in quotes of any kind, at its newest
    version), by a registered name, as ``lake.orders`` if the folder ``/data`` is attached as ``lake``, or as
    ``namespace.table`` of a catalog. Such a name never refers to a variable of the caller.
    Before DuckDB plans, files that cannot match the statement's conditions on the table, in WHERE and ON, are
    skipped by partition values and statistics; DuckDB sees only the columns that the statement references.
    This applies to queries, ``CREATE TABLE ... AS``, ``INSERT INTO ... SELECT``, ``COPY (...) TO`` and
    ``EXPLAIN`` of one. Conditions that are not understood skip no file. The values of parameters are used.

    Args:
        database: a DuckDB file or ``":memory:"``; or an open connection, which is used unchanged.
        read_only: open the file for reading.
        config: DuckDB settings. ``python_scan_all_frames`` is enabled unless set here, because otherwise
            statements would not see the variables of the caller.
        storage_options: storage options of the paths and folders in statements and `DeltaConnection.attach`.
        catalog: the catalog of namespaces and tables: an object, or a string for `open_catalog`, such as the
            folder of a `FileCatalog`, or the address of a Unity Catalog server with the name of a catalog,
            as ``https://unity.example/main``. A table name may include the catalog: ``main.shop.orders``.
            Tables of the namespace ``default`` are found by their names alone, unless DuckDB has a table of
            that name or USE names another namespace. In DuckDB's dialect
            CREATE TABLE and DROP TABLE mean DuckDB's own tables until USE names a namespace.
        dialect: the SQL dialect of statements, unless a call sets its own: ``duckdb`` or ``spark``. With
            ``spark``, a database that is opened here shows timestamps in UTC, the session time zone.
        progress: called during maintenance statements with the amount of work done so far and the total.

    >>> import deltaarrow, tempfile, pyarrow as pa
    >>> folder = tempfile.mkdtemp()
    >>> for year in (2025, 2026):
    ...     rows = pa.table({"year": [year], "id": [year * 2]})
    ...     _ = deltaarrow.write_deltalake(folder, rows, mode="append")
    >>> con = deltaarrow.connect()
    >>> con.sql(f"SELECT id FROM delta.'{folder}' WHERE year = 2026").fetchall()
    [(4052,)]
    >>> [found] = con.explain(f"SELECT id FROM delta.'{folder}' WHERE year = 2026")
    >>> found.left_files, found.files
    (1, 2)
    """
    known = None if catalog is None else given_catalog(catalog, storage_options)
    names = Catalog(storage_options, known)
    if known is not None:
        names.fallback = _DEFAULT
    if known is not None and dialect == "spark" and known.namespace(_DEFAULT) is not None:
        names.current = _DEFAULT
    front_end = FrontEnd(dialect, progress)
    if isinstance(database, duckdb.DuckDBPyConnection):
        return DeltaConnection(database, names, front_end=front_end)
    connection = duckdb.connect(os.fspath(database), read_only=read_only, config=dict(config or {}))
    if dialect == "spark":
        connection.execute("SET GLOBAL TimeZone = 'UTC'")  # Times are shown in the session time zone.
    scans_frames = "python_scan_all_frames" not in (config or {})
    return DeltaConnection(connection, names, scans_frames=scans_frames, front_end=front_end)
