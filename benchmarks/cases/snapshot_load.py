"""Opening a table and learning which files a query has to read; the data files do not exist.

A warm run opens the table again. DuckDB stands for a query over the log, written by hand for these very
tables: it knows that there is one checkpoint and that the commits only remove files of the checkpoint.
"""

import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, Case, Dataset, Engine, Scale, short
from benchmarks.data import day, write_log_of_checkpoint, write_log_of_commits

__all__ = ["cases"]

_DAY = day(307).isoformat()


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    found = []
    for adds in scale.checkpoint_adds:
        shape = f"adds_{short(adds)}_commits_20_since_classic_checkpoint"
        log = Dataset(shape, partial(write_log_of_checkpoint, adds=adds, commits=20))
        first = adds // 2 * 1_000
        ids = f"id >= {first} AND id < {first + 20_000}"
        ids_sql = (
            f"(add.stats->>'$.maxValues.id')::BIGINT >= {first}"
            f" AND (add.stats->>'$.minValues.id')::BIGINT < {first + 20_000}"
        )
        found += [
            _one_partition(log),
            _files_case(log, "one_id_range", ids_sql, file_pruning_predicate=ids),
            _files_case(log, "all_files", "true"),
            Case(
                f"{shape}_all_statistics",
                log,
                _delta_engines("get_add_actions", flatten=True),
                _describe_statistics,
            ),
        ]
    commits = min(200, scale.tail_adds)
    shape = f"adds_{short(scale.tail_adds)}_commits_{commits}_no_checkpoint"
    found.append(
        _one_partition(Dataset(shape, partial(write_log_of_commits, adds=scale.tail_adds, commits=commits)))
    )
    small = Dataset("adds_1_commits_1", partial(write_log_of_commits, adds=1, commits=1))
    return [*found, Case(f"{small.name}_open", small, _delta_engines("version"), int)]


def _one_partition(log: Dataset) -> Case:
    condition = f"add.partitionValues['day'] = '{_DAY}'"
    return _files_case(log, "one_partition", condition, file_pruning_predicate=[("day", "=", _DAY)])


def _files_case(log: Dataset, wanted: str, condition: str, **arguments: Any) -> Case:
    """Which files: by the arguments of ``file_uris``, and by a condition on the actions of the log."""
    engines = _delta_engines("file_uris", **arguments) | {"duckdb, by hand": _by_hand(condition)}
    return Case(f"{log.name}_{wanted}", log, engines, _describe_paths)


# --- engines ---------------------------------------------------------------------------------------


def _delta_engines(method: str, **arguments: Any) -> dict[str, Engine]:
    """The two libraries with a `DeltaTable`, whose methods have the same names and arguments."""

    def ours(data: Path, _: Path) -> Iterator[Any]:
        import duckdb  # noqa: F401  the package loads it at its first query

        from deltaarrow import DeltaTable

        yield
        while True:
            yield getattr(DeltaTable(data), method)(**arguments)

    def deltalake(data: Path, _: Path) -> Iterator[Any]:
        from deltalake import DeltaTable

        yield
        while True:
            yield getattr(DeltaTable(data), method)(**arguments)

    return {OURS: ours, "deltalake": deltalake}


def _by_hand(condition: str) -> Engine:
    def run(data: Path, _: Path) -> Iterator[Any]:
        import duckdb

        con = duckdb.connect()
        log = data / "_delta_log"
        tail = (
            f"FROM read_json('{log}/*.json', format = 'newline_delimited', columns = {{"
            " add: 'STRUCT(path VARCHAR, \"partitionValues\" MAP(VARCHAR, VARCHAR), stats VARCHAR)',"
            " remove: 'STRUCT(path VARCHAR)'})"
        )
        selects = [f"SELECT add.path FROM tail WHERE add.path IS NOT NULL AND {condition}"]
        if any(log.glob("*.checkpoint.parquet")):
            selects.append(
                f"SELECT add.path FROM read_parquet('{log}/*.checkpoint.parquet')"
                f" WHERE add.path IS NOT NULL AND {condition}"
                " AND add.path NOT IN (SELECT remove.path FROM tail WHERE remove.path IS NOT NULL)"
            )
        query = f"WITH tail AS MATERIALIZED ({tail}) {' UNION ALL '.join(selects)}"
        yield
        while True:
            yield [path for (path,) in con.sql(query).fetchall()]

    return run


# --- answers ---------------------------------------------------------------------------------------


def _describe_paths(paths: list[str]) -> dict[str, int]:
    names = sorted(path.rpartition("/")[2] for path in paths)
    return {"files": len(names), "crc": zlib.crc32("\n".join(names).encode())}


def _describe_statistics(actions: Any) -> dict[str, int]:
    import pyarrow as pa
    import pyarrow.compute as pc

    table = pa.table(actions)
    sums = ("size_bytes", "num_records", "min.id", "max.id", "max.cents", "null_count.status")
    found = {name: int(pc.sum(table.column(name)).as_py()) for name in sums}
    return {"files": table.num_rows, **found}
