"""Opening a table and finding the files that a query has to read; the data files do not exist.

A warm run opens the table again; in the cases of a second query it asks an open table that has already
answered another query. DuckDB stands for a query over the log, written by hand for these tables: it knows
that there is one checkpoint and that the commits only remove files of the checkpoint. Its extension and
Polars plan a query over the files and show the plan.
"""

import itertools
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, Case, Dataset, Engine, Scale, Target, short
from benchmarks.data import day, write_log_of_checkpoint, write_log_of_commits
from benchmarks.extension import EXTENSION, connect, files_wanted

__all__ = ["cases"]

_POLARS = "polars, deltalake"
_BY_HAND = "duckdb, by hand"


@dataclass(frozen=True)
class _Wanted:
    """The wanted files.

    Args:
        name: their part of the names of cases.
        argument: for ``file_uris``.
        sql: the condition on rows.
        actions_sql: the condition on the actions of a log.
    """

    name: str
    argument: Any
    sql: str
    actions_sql: str


def _partition(number: int) -> _Wanted:
    value = day(number).isoformat()
    return _Wanted(
        "one_partition",
        [("day", "=", value)],
        f"day = '{value}'::date",
        f"add.partitionValues['day'] = '{value}'",
    )


def _id_range(first: int) -> _Wanted:
    condition = f"id >= {first} AND id < {first + 20_000}"
    return _Wanted(
        "one_id_range",
        condition,
        condition,
        f"(add.stats->>'$.maxValues.id')::BIGINT >= {first}"
        f" AND (add.stats->>'$.minValues.id')::BIGINT < {first + 20_000}",
    )


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    return [*_few_files(scale.planned_adds), *_all_files(scale), *_without_checkpoint(scale)]


def _few_files(adds: int) -> list[Case]:
    """The cases of few files out of a million, by partition and by statistics alone."""
    shape = f"adds_{short(adds)}_commits_20_since"
    write = partial(write_log_of_checkpoint, adds=adds, commits=20)
    classic = Dataset(f"{shape}_classic_checkpoint", write)
    sidecars = Dataset(f"{shape}_v2_checkpoint_sidecars_4", partial(write, policy="v2", sidecars=4))
    struct = Dataset(
        f"{shape}_classic_checkpoint_struct_statistics", partial(write, has_struct_statistics=True)
    )
    partition, ids = _partition(307), _id_range(adds // 2 * 1_000)
    by_partition = (*_beside(EXTENSION, 0.2), Target(plus=160e6, of="peak"))
    by_statistics = (*_beside(EXTENSION, 0.35), Target(plus=400e6, of="peak"))
    return [
        _opening(classic, partition, by_partition),
        _opening(classic, ids, by_statistics),
        _opening(sidecars, partition, by_partition, without=(_BY_HAND, _POLARS)),
        _opening(struct, partition, by_partition),
        _opening(struct, ids, by_statistics),
        _second_query(classic, [_partition(number) for number in range(307, 407)]),
        _second_query(classic, [_id_range((adds // 2 + number) * 1_000) for number in range(100)]),
    ]


def _all_files(scale: Scale) -> list[Case]:
    found = []
    for adds in scale.checkpoint_adds:
        shape = f"adds_{short(adds)}_commits_20_since_classic_checkpoint"
        log = Dataset(shape, partial(write_log_of_checkpoint, adds=adds, commits=20))
        by_hand: dict[str, Engine] = {_BY_HAND: _by_hand("true")}
        statistics = _delta_engines("get_add_actions", flatten=True)
        found += [
            Case(f"{shape}_all_files", log, _delta_engines("file_uris") | by_hand, _describe_paths),
            Case(f"{shape}_all_statistics", log, statistics, _describe_statistics),
        ]
    return found


def _without_checkpoint(scale: Scale) -> list[Case]:
    commits = min(200, scale.tail_adds)
    shape = f"adds_{short(scale.tail_adds)}_commits_{commits}_no_checkpoint"
    log = Dataset(shape, partial(write_log_of_commits, adds=scale.tail_adds, commits=commits))
    return [_opening(log, _partition(307), _beside("deltalake", 0.5))]


def _beside(engine: str, times: float) -> tuple[Target, ...]:
    """The targets for the first run of a process and for later ones."""
    return (Target(engine, times, of="cold"), Target(engine, times))


def _opening(
    log: Dataset, wanted: _Wanted, targets: tuple[Target, ...], without: tuple[str, ...] = ()
) -> Case:
    """The case in which every run opens the table."""
    engines: dict[str, Engine] = _delta_engines("file_uris", file_pruning_predicate=wanted.argument)
    engines |= {
        EXTENSION: _extension(wanted),
        _POLARS: _polars(wanted),
        _BY_HAND: _by_hand(wanted.actions_sql),
    }
    engines = {name: engine for name, engine in engines.items() if name not in without}
    return Case(f"{log.name}_{wanted.name}", log, engines, _describe_paths, targets=targets)


def _second_query(log: Dataset, wanted: list[_Wanted]) -> Case:
    """The case of an open table; no two runs ask for the same files."""
    engines = {OURS: _ours_open(wanted), "deltalake": _deltalake_open(wanted), EXTENSION: _attached(wanted)}
    targets = (Target(plus=0.040, of="cold"), Target(plus=0.040))
    name = f"{log.name}_{wanted[0].name}_second_query"
    return Case(name, log, engines, _describe_paths, targets=targets)


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


def _ours_open(wanted: list[_Wanted]) -> Engine:
    def load() -> Any:
        import duckdb  # noqa: F401

        from deltaarrow import DeltaTable

        return DeltaTable

    return _open_table(load, wanted)


def _deltalake_open(wanted: list[_Wanted]) -> Engine:
    def load() -> Any:
        from deltalake import DeltaTable

        return DeltaTable

    return _open_table(load, wanted)


def _open_table(load: Callable[[], Any], wanted: list[_Wanted]) -> Engine:
    """A table that is opened, and asked for the last of the wanted files, before anything is timed."""

    def run(data: Path, _: Path) -> Iterator[Any]:
        table = load()(data)
        table.file_uris(file_pruning_predicate=wanted[-1].argument)
        yield
        for each in itertools.cycle(wanted[:-1]):
            yield table.file_uris(file_pruning_predicate=each.argument)

    return run


def _extension(wanted: _Wanted) -> Engine:
    def run(data: Path, _: Path) -> Iterator[Any]:
        con = connect({})
        query = f"EXPLAIN SELECT count(id) FROM delta_scan('{data}') WHERE {wanted.sql}"
        yield
        while True:
            con.execute(query).fetchall()
            yield partial(files_wanted, con, query)

    return run


def _attached(wanted: list[_Wanted]) -> Engine:
    def run(data: Path, _: Path) -> Iterator[Any]:
        con = connect({"files": data})
        queries = [f"EXPLAIN SELECT count(id) FROM files WHERE {each.sql}" for each in wanted]
        con.execute(queries[-1]).fetchall()
        yield
        for query in itertools.cycle(queries[:-1]):
            con.execute(query).fetchall()
            yield partial(files_wanted, con, query)

    return run


def _polars(wanted: _Wanted) -> Engine:
    def run(data: Path, _: Path) -> Iterator[Any]:
        import deltalake  # noqa: F401
        import polars as pl

        def shown_files(plan: str) -> int:
            (others,) = re.findall(r"Parquet SCAN \[[^\n]*\.parquet(?:, \.\.\. (\d+) other sources)?\]", plan)
            return 1 + int(others or 0)

        yield
        while True:
            plan = pl.scan_delta(data).filter(pl.sql_expr(wanted.sql)).explain()
            yield partial(shown_files, plan)

    return run


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


def _describe_paths(paths: list[str] | Callable[[], int]) -> dict[str, int]:
    """The files, or only their number for an engine that reports no more."""
    if callable(paths):
        return {"files": paths()}
    names = sorted(path.rpartition("/")[2] for path in paths)
    return {"files": len(names), "crc": zlib.crc32("\n".join(names).encode())}


def _describe_statistics(actions: Any) -> dict[str, int]:
    import pyarrow as pa
    import pyarrow.compute as pc

    table = pa.table(actions)
    sums = ("size_bytes", "num_records", "min.id", "max.id", "max.cents", "null_count.status")
    found = {name: int(pc.sum(table.column(name)).as_py()) for name in sums}
    return {"files": table.num_rows, **found}
