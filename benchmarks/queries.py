"""Engines that run a query of ``sql/queries``: deltaarrow in DuckDB and in Polars, and their peers.

Each function takes the text of a query and, by table name, the folders of the tables in the
dataset; for bare files these are file patterns. A cold run opens the tables and runs the query; a warm
run repeats the query on the open tables.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.case import Engine
from benchmarks.extension import connect

__all__ = [
    "DUCKDB_DELTALAKE",
    "DUCKDB_FILES",
    "POLARS_DELTALAKE",
    "POLARS_FILES",
    "connection_in_duckdb",
    "deltalake_in_duckdb",
    "deltalake_in_polars",
    "extension_of_duckdb",
    "files_in_duckdb",
    "files_in_polars",
    "read_query",
    "scan_in_polars",
    "texts_of_rows",
    "view_in_duckdb",
]

DUCKDB_FILES, DUCKDB_DELTALAKE = "duckdb, bare files", "duckdb, deltalake"
POLARS_FILES, POLARS_DELTALAKE = "polars, bare files", "polars, deltalake"
"""The names of these engines in cases."""

_FOLDER = Path(__file__).parents[1] / "sql" / "queries"


def read_query(name: str, **values: object) -> str:
    """Return the query in a file, given its path without the ending, with `values` in its placeholders.

    >>> read_query("orders/id_range", first=3, last=5)[-24:]
    'WHERE id BETWEEN 3 AND 5'
    """
    text = (_FOLDER / f"{name}.sql").read_text().rstrip().removesuffix(";")
    return text.format(**values) if values else text


def texts_of_rows(rows: list[tuple[Any, ...]]) -> list[list[str]]:
    """Return the rows as text; doubles have nine digits, because engines add them up in different orders."""
    return [[f"{value:.9g}" if isinstance(value, float) else str(value) for value in row] for row in rows]


# --- DuckDB ----------------------------------------------------------------------------------------


def view_in_duckdb(query: str, tables: Mapping[str, str]) -> Engine:
    """Deltaarrow's tables as views of a DuckDB connection."""

    def run(data: Path, _: Path) -> Iterator[Any]:
        import duckdb

        from deltaarrow import DeltaTable, register

        yield
        con = duckdb.connect()
        for name, folder in tables.items():
            register(con, name, DeltaTable(data / folder))
        while True:
            yield con.sql(query).fetchall()

    return run


def connection_in_duckdb(query: str, tables: Mapping[str, str]) -> Engine:
    """The same through deltaarrow's connection, which reads the conditions of the query."""

    def run(data: Path, _: Path) -> Iterator[Any]:
        import duckdb  # noqa: F401
        import sqlglot  # noqa: F401

        from deltaarrow import DeltaTable, connect

        yield
        con = connect()
        for name, folder in tables.items():
            con.register(name, DeltaTable(data / folder))
        while True:
            yield con.sql(query).fetchall()

    return run


def files_in_duckdb(query: str, patterns: Mapping[str, str]) -> Engine:
    """DuckDB's Parquet reader over files."""

    def run(data: Path, _: Path) -> Iterator[Any]:
        import duckdb

        yield
        con = duckdb.connect()
        for name, pattern in patterns.items():
            con.execute(f"CREATE VIEW {name} AS FROM read_parquet('{data / pattern}')")
        while True:
            yield con.sql(query).fetchall()

    return run


def deltalake_in_duckdb(query: str, tables: Mapping[str, str], *, has_vectors: bool = False) -> Engine:
    """DuckDB over ``deltalake``: its datasets, or its streams if deletion vectors delete rows."""

    def run(data: Path, _: Path) -> Iterator[Any]:
        import duckdb
        import pyarrow.dataset  # noqa: F401
        from deltalake import DeltaTable

        yield
        con = duckdb.connect()
        opened = {name: DeltaTable(data / folder) for name, folder in tables.items()}
        if not has_vectors:
            for name, table in opened.items():
                con.register(name, table.to_pyarrow_dataset())
        while True:
            if has_vectors:
                # Its datasets refuse deletion vectors; its streams can be read once.
                for name, table in opened.items():
                    con.register(name, table.scan())
            yield con.sql(query).fetchall()

    return run


def extension_of_duckdb(query: str, tables: Mapping[str, str]) -> Engine:
    """DuckDB's own extension, in its environment."""

    def run(data: Path, _: Path) -> Iterator[Any]:
        import duckdb  # noqa: F401

        con = connect({})
        yield
        for name, folder in tables.items():
            con.execute(f"ATTACH '{data / folder}' AS {name} (TYPE delta, PIN_SNAPSHOT)")
        while True:
            yield con.sql(query).fetchall()

    return run


# --- Polars ----------------------------------------------------------------------------------------


def scan_in_polars(query: str, tables: Mapping[str, str]) -> Engine:
    """Deltaarrow's Polars frames."""

    def run(data: Path, _: Path) -> Iterator[Any]:
        import duckdb  # noqa: F401  answers which files to read
        import polars as pl

        from deltaarrow import scan_delta

        yield
        context = pl.SQLContext({name: scan_delta(data / folder) for name, folder in tables.items()})
        while True:
            yield context.execute(query).collect().rows()

    return run


def files_in_polars(query: str, patterns: Mapping[str, str]) -> Engine:
    """Polars' Parquet reader over files."""

    def run(data: Path, _: Path) -> Iterator[Any]:
        import polars as pl

        yield
        frames = {
            name: pl.scan_parquet(sorted(data.glob(pattern)), hive_partitioning="=" in pattern)
            for name, pattern in patterns.items()
        }
        context = pl.SQLContext(frames)
        while True:
            yield context.execute(query).collect().rows()

    return run


def deltalake_in_polars(query: str, tables: Mapping[str, str]) -> Engine:
    """``polars.scan_delta``, which opens the table through ``deltalake``."""

    def run(data: Path, _: Path) -> Iterator[Any]:
        import deltalake  # noqa: F401
        import polars as pl

        yield
        context = pl.SQLContext({name: pl.scan_delta(data / folder) for name, folder in tables.items()})
        while True:
            yield context.execute(query).collect().rows()

    return run
