"""Reads of rows in DuckDB and in Polars, against the bare engine over the same files.

If rows are deleted, the bare engine reads files without them; if one partition is wanted, it
gets only the files of this partition.
"""

from functools import partial

from benchmarks.case import OURS, Case, Dataset, Engine, Scale, Target, short
from benchmarks.data import day, write_orders_table, write_partitioned_table
from benchmarks.extension import EXTENSION
from benchmarks.queries import (
    DUCKDB_DELTALAKE,
    DUCKDB_FILES,
    POLARS_DELTALAKE,
    POLARS_FILES,
    connection_in_duckdb,
    deltalake_in_duckdb,
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

_FILES = 8
_DELETED_PERCENT = 5
_TABLES = {"orders": ""}
_WANTED_FILES = f"day={day(7)}/*.parquet"
_OVER_THE_FILES_ALONE = 0.010
"""Seconds allowed for finding the files of a partition."""


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    shape = f"rows_{short(scale.rows)}_columns_8_files_{_FILES}"
    write = partial(write_orders_table, rows=scale.rows, files=_FILES)
    masked = Dataset(
        f"{shape}_deleted_{_DELETED_PERCENT}_percent", partial(write, deleted_percent=_DELETED_PERCENT)
    )
    bounds = {"first": scale.rows // 3, "last": scale.rows // 3 + scale.rows // 50}
    queries = {
        "group_by": read_query("orders/group_by"),
        "id_range": read_query("orders/id_range", **bounds),
    }
    return [
        *_whole_table(Dataset(shape, write), queries, "*.parquet"),
        *_whole_table(masked, queries, "live/*.parquet", has_vectors=True),
        *_one_partition(scale.small_files, has_deltalake=True),
        # A dataset of deltalake takes many seconds for so many files.
        *_one_partition(scale.small_files * 10, has_deltalake=False),
    ]


def _whole_table(
    dataset: Dataset, queries: dict[str, str], files: str, *, has_vectors: bool = False
) -> list[Case]:
    patterns = {"orders": files}
    found = []
    for name, query in queries.items():
        duckdb = {
            OURS: view_in_duckdb(query, _TABLES),
            DUCKDB_FILES: files_in_duckdb(query, patterns),
            DUCKDB_DELTALAKE: deltalake_in_duckdb(query, _TABLES, has_vectors=has_vectors),
            EXTENSION: extension_of_duckdb(query, _TABLES),
        }
        polars = {
            OURS: scan_in_polars(query, _TABLES),
            POLARS_FILES: files_in_polars(query, patterns),
            POLARS_DELTALAKE: deltalake_in_polars(query, _TABLES),
        }
        found += [
            Case(f"{dataset.name}_{name}_in_duckdb", dataset, duckdb, texts_of_rows),
            Case(f"{dataset.name}_{name}_in_polars", dataset, polars, texts_of_rows),
        ]
    return found


def _one_partition(files: int, *, has_deltalake: bool) -> list[Case]:
    """One of many partitions, two files in each."""
    name = f"rows_{short(files * 100)}_files_{short(files)}_partitions_{short(files // 2)}"
    dataset = Dataset(name, partial(write_partitioned_table, files=files))
    query, patterns = read_query("orders/one_partition"), {"orders": _WANTED_FILES}
    duckdb: dict[str, Engine] = {
        DUCKDB_FILES: files_in_duckdb(query, patterns),
        EXTENSION: extension_of_duckdb(query, _TABLES),
    }
    polars: dict[str, Engine] = {
        OURS: scan_in_polars(query, _TABLES),
        POLARS_FILES: files_in_polars(query, patterns),
    }
    if has_deltalake:
        duckdb[DUCKDB_DELTALAKE] = deltalake_in_duckdb(query, _TABLES)
        polars[POLARS_DELTALAKE] = deltalake_in_polars(query, _TABLES)
    by_view = {OURS: view_in_duckdb(query, _TABLES), **duckdb}
    by_connection = {OURS: connection_in_duckdb(query, _TABLES), **duckdb}

    def case(engine: str, engines: dict[str, Engine], bare: str) -> Case:
        targets = (Target(bare, 1, plus=_OVER_THE_FILES_ALONE),)
        return Case(f"{name}_one_partition_in_{engine}", dataset, engines, texts_of_rows, targets=targets)

    return [
        case("duckdb", by_view, DUCKDB_FILES),
        case("duckdb_by_connection", by_connection, DUCKDB_FILES),
        case("polars", polars, POLARS_FILES),
    ]
