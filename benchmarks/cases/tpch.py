"""The 22 queries of TPC-H in DuckDB and in Polars, against the same engine over the bare files.

The queries are those of ``sql/queries/tpch``. Three of them are asked again of a ``lineitem`` with 5 percent
of its rows deleted; the bare engine then reads files that do not hold these rows.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, Case, Dataset, Engine, Scale
from benchmarks.data_tpch import DELETED, LIVE, TABLES, write_tpch

__all__ = ["cases"]

_QUERIES = Path(__file__).parents[2] / "sql" / "queries" / "tpch"
_OF_DELETED = ("q01", "q03", "q06")


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale: every query in each engine."""
    name = f"tpch_sf{scale.tpch:g}".replace(".", "_")
    dataset = Dataset(name, partial(write_tpch, scale_factor=scale.tpch))
    queries = {
        file.stem: file.read_text().rstrip().removesuffix(";") for file in sorted(_QUERIES.glob("*.sql"))
    }
    whole = {table: (table, table) for table in TABLES}
    deleted = whole | {"lineitem": (DELETED, LIVE)}
    wanted = [(f"{name}_{query}", queries[query], whole) for query in queries]
    wanted += [(f"{name}_5_percent_deleted_{query}", queries[query], deleted) for query in _OF_DELETED]
    return [
        Case(f"{title}_in_{engine}", dataset, engines(query, folders), _rows)
        for title, query, folders in wanted
        for engine, engines in (("duckdb", _duckdb), ("polars", _polars))
    ]


# --- engines ---------------------------------------------------------------------------------------


def _duckdb(query: str, folders: dict[str, tuple[str, str]]) -> dict[str, Engine]:
    """A query in DuckDB; `folders` has by name those of a table and of the bare files."""

    def ours(data: Path, _: Path) -> Iterator[Any]:
        import duckdb

        from deltaarrow import DeltaTable, register

        yield
        con = duckdb.connect()
        for name, (folder, _) in folders.items():
            register(con, name, DeltaTable(data / folder))
        while True:
            yield con.sql(query).fetchall()

    def raw(data: Path, _: Path) -> Iterator[Any]:
        import duckdb

        yield
        con = duckdb.connect()
        for name, (_, folder) in folders.items():
            con.execute(f"CREATE VIEW {name} AS FROM read_parquet('{data / folder}/*.parquet')")
        while True:
            yield con.sql(query).fetchall()

    return {OURS: ours, "duckdb, bare files": raw}


def _polars(query: str, folders: dict[str, tuple[str, str]]) -> dict[str, Engine]:
    """A query in Polars."""

    def ours(data: Path, _: Path) -> Iterator[Any]:
        import duckdb  # noqa: F401  answers which files to read
        import polars as pl

        from deltaarrow import scan_delta

        yield
        context = pl.SQLContext({name: scan_delta(data / folder) for name, (folder, _) in folders.items()})
        while True:
            yield context.execute(query).collect().rows()

    def raw(data: Path, _: Path) -> Iterator[Any]:
        import polars as pl

        yield
        context = pl.SQLContext(
            {
                name: pl.scan_parquet(sorted((data / folder).glob("*.parquet")))
                for name, (_, folder) in folders.items()
            }
        )
        while True:
            yield context.execute(query).collect().rows()

    return {OURS: ours, "polars, bare files": raw}


# --- answers ---------------------------------------------------------------------------------------


def _rows(rows: list[tuple[Any, ...]]) -> list[list[str]]:
    """The rows as text; doubles to nine digits, since engines add them up in whatever order."""
    return [[f"{value:.9g}" if isinstance(value, float) else str(value) for value in row] for row in rows]
