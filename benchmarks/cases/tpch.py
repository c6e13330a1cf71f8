"""The 22 queries of TPC-H in DuckDB and in Polars, against the same engine over the bare files.

Three of them, and a row count, also run on a ``lineitem`` with 5 percent of the rows of every file deleted,
and on one with as many rows of a single file deleted. Their peers are the same table without deletions,
DuckDB's extension, and bare files without the deleted rows.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, Case, Dataset, Engine, Scale, Target
from benchmarks.data_tpch import DELETED, DELETED_IN_ONE, LIVE, TABLES, write_tpch
from benchmarks.extension import EXTENSION, connect
from benchmarks.queries import (
    DUCKDB_FILES,
    POLARS_DELTALAKE,
    POLARS_FILES,
    deltalake_in_polars,
    extension_of_duckdb,
    files_in_duckdb,
    files_in_polars,
    read_query,
    scan_in_polars,
    texts_of_rows,
    view_in_duckdb,
)

__all__ = ["cases"]

_QUERIES = tuple(f"q{number:02}" for number in range(1, 23))
_OF_DELETED = ("q01", "q03", "q06")
"""An aggregation of most rows, a join, and an aggregation of few."""

_NOTHING_DELETED = "deltaarrow, nothing deleted"
_TABLES = {table: table for table in TABLES}
_FILES = {table: f"{table}/*.parquet" for table in TABLES}


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    name = f"tpch_sf{scale.tpch:g}".replace(".", "_")
    dataset = Dataset(name, partial(write_tpch, scale_factor=scale.tpch))
    scattered, single = f"{name}_5_percent_deleted", f"{name}_5_percent_of_one_file_deleted"
    return [
        *(_in_duckdb(dataset, query) for query in _QUERIES),
        *(_in_polars(dataset, query) for query in _QUERIES),
        *(_deleted_in_duckdb(dataset, scattered, DELETED, query, 1.25) for query in _OF_DELETED),
        *(_deleted_in_duckdb(dataset, single, DELETED_IN_ONE, query, 1.1) for query in _OF_DELETED),
        *(_deleted_in_polars(dataset, scattered, DELETED, query) for query in _OF_DELETED),
        *(_deleted_in_polars(dataset, single, DELETED_IN_ONE, query) for query in _OF_DELETED),
        _count(dataset, scattered),
    ]


def _in_duckdb(dataset: Dataset, query: str) -> Case:
    text = read_query(f"tpch/{query}")
    engines = {OURS: view_in_duckdb(text, _TABLES), DUCKDB_FILES: files_in_duckdb(text, _FILES)}
    targets = (Target(DUCKDB_FILES, 1.2, mean=1.05),)
    return Case(f"{dataset.name}_{query}_in_duckdb", dataset, engines, texts_of_rows, targets=targets)


def _in_polars(dataset: Dataset, query: str) -> Case:
    text = read_query(f"tpch/{query}")
    engines = {
        OURS: scan_in_polars(text, _TABLES),
        POLARS_FILES: files_in_polars(text, _FILES),
        POLARS_DELTALAKE: deltalake_in_polars(text, _TABLES),
    }
    targets = (Target(POLARS_FILES, mean=1.05),)
    return Case(f"{dataset.name}_{query}_in_polars", dataset, engines, texts_of_rows, targets=targets)


def _deleted_in_duckdb(dataset: Dataset, shape: str, lineitem: str, query: str, times: float) -> Case:
    text, tables = read_query(f"tpch/{query}"), _TABLES | {"lineitem": lineitem}
    engines = {
        OURS: view_in_duckdb(text, tables),
        _NOTHING_DELETED: view_in_duckdb(text, _TABLES),
        EXTENSION: extension_of_duckdb(text, tables),
    }
    if lineitem == DELETED:
        engines[DUCKDB_FILES] = files_in_duckdb(text, _FILES | {"lineitem": f"{LIVE}/*.parquet"})
    return _deleted(f"{shape}_{query}_in_duckdb", dataset, engines, times)


def _deleted_in_polars(dataset: Dataset, shape: str, lineitem: str, query: str) -> Case:
    text, tables = read_query(f"tpch/{query}"), _TABLES | {"lineitem": lineitem}
    engines = {
        OURS: scan_in_polars(text, tables),
        _NOTHING_DELETED: scan_in_polars(text, _TABLES),
        EXTENSION: extension_of_duckdb(text, tables),
        POLARS_DELTALAKE: deltalake_in_polars(text, tables),
    }
    if lineitem == DELETED:
        engines[POLARS_FILES] = files_in_polars(text, _FILES | {"lineitem": f"{LIVE}/*.parquet"})
    return _deleted(f"{shape}_{query}_in_polars", dataset, engines, 1.1)


def _deleted(name: str, dataset: Dataset, engines: dict[str, Engine], times: float) -> Case:
    targets = (Target(_NOTHING_DELETED, times), Target(EXTENSION, 1))
    yardsticks = frozenset({_NOTHING_DELETED})
    return Case(name, dataset, engines, texts_of_rows, targets=targets, yardsticks=yardsticks)


# --- counting --------------------------------------------------------------------------------------


def _count(dataset: Dataset, shape: str) -> Case:
    """The row count of an open table; ``deltalake`` counts deleted rows too."""
    engines = {
        OURS: _counting(_ours),
        EXTENSION: _counting(_extension),
        POLARS_DELTALAKE: _counting(_polars),
    }
    targets = (Target(plus=0.002, of="cold"), Target(plus=0.002), Target(EXTENSION, 1))
    return Case(f"{shape}_count", dataset, engines, int, targets=targets)


def _counting(load: Callable[[Path], Callable[[], int]]) -> Engine:
    """The table that `load` opens, with its way to count."""

    def run(data: Path, _: Path) -> Iterator[Any]:
        count = load(data / DELETED)
        yield
        while True:
            yield count()

    return run


def _ours(table: Path) -> Callable[[], int]:
    from deltaarrow import DeltaTable
    from deltaarrow.scan import count_rows  # noqa: F401  at first use else

    return DeltaTable(table).count


def _extension(table: Path) -> Callable[[], int]:
    con = connect({"lineitem": table})

    def count() -> int:
        ((found,),) = con.sql("SELECT count(*) FROM lineitem").fetchall()
        return int(found)

    return count


def _polars(table: Path) -> Callable[[], int]:
    import polars as pl

    frame = pl.scan_delta(table)
    return lambda: frame.select(pl.len()).collect().item()
