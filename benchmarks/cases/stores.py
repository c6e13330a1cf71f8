"""Tables on an object store that answers each request after 20 milliseconds.

The server counts the requests of a run, the longest row of requests one after another, and the bytes that it
sends. It is a process of its own, the same for both libraries.
"""

import importlib
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.case import OURS, READY, Case, Dataset, Engine, Scale, Target, short
from benchmarks.data import day, write_log_of_checkpoint, write_orders_table, write_small_table
from benchmarks.data_maintenance import write_folder_of_files
from benchmarks.extension import HTTPFS, connect_to
from benchmarks.object_server import Traffic, serving

__all__ = ["cases"]

_MILLISECONDS = 20
_COMMITS = 20
_FILES = 20


class _Done(NamedTuple):
    """What a run found, asked for after the run, and what the server was asked meanwhile."""

    found: Callable[[], Any]
    traffic: Traffic


Work = Callable[[Any, str, dict[str, str]], Iterator[Any]]
"""Takes a library, the location of a table and storage options. It yields twice: after what is not measured,
and after the work, with a call that tells the answer."""


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    adds = scale.planned_adds
    log = Dataset(
        f"adds_{short(adds)}_commits_{_COMMITS}_since_classic_checkpoint",
        partial(write_log_of_checkpoint, adds=adds, commits=_COMMITS),
    )
    orders = Dataset(
        f"orders_{short(scale.rows)}_files_{_FILES}",
        partial(write_orders_table, rows=scale.rows, files=_FILES),
    )
    small = Dataset("rows_1k", partial(write_small_table, rows=1000))
    listed = scale.small_files * 50
    folder = Dataset(
        f"files_{short(listed)}_unneeded_10_percent", partial(write_folder_of_files, files=listed)
    )
    return [
        _case("open", log, _open, Target(plus=8, of="one after another")),
        _case("plan_one_day", log, _plan),
        _case("scan_one_column", orders, _scan, _LIKE_DUCKDB, peers={HTTPFS: _files_in_duckdb}),
        Case(
            f"scan_one_column_in_duckdb_{orders.name}",
            orders,
            {OURS: _engine("deltaarrow", _scan_in_duckdb, changes=False), HTTPFS: _files_in_duckdb},
            _answer,
            _figures,
            targets=(_LIKE_DUCKDB,),
        ),
        _case("append_one_file", small, _append, Target(plus=5, of="requests"), changes=True),
        # 110 pages of the listing, and ten requests that delete a thousand files each.
        _case("vacuum", folder, _vacuum, Target(plus=150, of="requests"), changes=True),
    ]


_LIKE_DUCKDB = Target(HTTPFS, 1.2, of="requests")


def _case(
    what: str,
    dataset: Dataset,
    work: Work,
    *targets: Target,
    changes: bool = False,
    peers: Mapping[str, Engine] | None = None,
) -> Case:
    libraries = {OURS: "deltaarrow", "deltalake": "deltalake"}
    engines = {name: _engine(library, work, changes=changes) for name, library in libraries.items()}
    engines |= peers or {}
    return Case(f"{what}_{dataset.name}", dataset, engines, _answer, _figures, targets=targets)


def _engine(library: str, work: Work, *, changes: bool) -> Engine:
    """An engine of both; each run that `changes` the table has its own, of links to the files."""

    def run(data: Path, scratch: Path) -> Iterator[Any]:
        package = importlib.import_module(library)
        import pyarrow.dataset  # noqa: F401

        with serving(scratch if changes else data.parent, _MILLISECONDS) as server:
            for number in itertools.count():
                table = data.name
                if changes:
                    table = f"runs/{number}"
                    shutil.copytree(data, scratch / table, copy_function=os.link)
                steps = work(package, f"s3://{table}", server.storage_options)
                next(steps)
                server.traffic()
                yield READY
                found = next(steps)
                yield _Done(found, server.traffic())

    return run


def _files_in_duckdb(data: Path, _: Path) -> Iterator[Any]:
    """DuckDB's own reader over the data files of the table; a connection keeps what it has read of them."""
    (commit,) = (data / "_delta_log").glob("*.json")
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    files = [f"s3://{data.name}/{action['add']['path']}" for action in actions if "add" in action]
    with serving(data.parent, _MILLISECONDS) as server:
        while True:
            con = connect_to(server.storage_options)
            server.traffic()
            yield READY
            found = con.execute(f"SELECT sum(id)::BIGINT FROM read_parquet({files})").fetchall()[0][0]
            yield _Done(partial(int, found), server.traffic())


def _answer(done: _Done) -> Any:
    return done.found()


def _figures(done: _Done) -> dict[str, float]:
    traffic = done.traffic
    return {
        "requests": traffic.requests,
        "one after another": traffic.one_after_another,
        "sent MB": traffic.sent_bytes / 1e6,
    }


# --- work ------------------------------------------------------------------------------------------


def _open(library: Any, uri: str, options: dict[str, str]) -> Iterator[Any]:
    yield
    yield library.DeltaTable(uri, storage_options=options).version


def _plan(library: Any, uri: str, options: dict[str, str]) -> Iterator[Any]:
    yield
    condition = f"day = '{day(307).isoformat()}'"
    files = library.DeltaTable(uri, storage_options=options).file_uris(file_pruning_predicate=condition)
    yield lambda: len(files)


def _scan(library: Any, uri: str, options: dict[str, str]) -> Iterator[Any]:
    import pyarrow.compute as pc

    table = library.DeltaTable(uri, storage_options=options)
    yield
    found = table.to_pyarrow_table(columns=["id"])
    yield lambda: pc.sum(found["id"]).as_py()


def _scan_in_duckdb(library: Any, uri: str, options: dict[str, str]) -> Iterator[Any]:
    import duckdb

    con = duckdb.connect()
    library.register(con, "orders", library.DeltaTable(uri, storage_options=options))
    yield
    found = con.execute("SELECT sum(id)::BIGINT FROM orders").fetchall()[0][0]
    yield partial(int, found)


def _append(library: Any, uri: str, options: dict[str, str]) -> Iterator[Any]:
    table = library.DeltaTable(uri, storage_options=options)
    rows = table.to_pyarrow_table().slice(0, 1)
    yield
    library.write_deltalake(table, rows, mode="append")
    yield lambda: library.DeltaTable(uri, storage_options=options).to_pyarrow_table().num_rows


def _vacuum(library: Any, uri: str, options: dict[str, str]) -> Iterator[Any]:
    table = library.DeltaTable(uri, storage_options=options)
    yield
    deleted = table.vacuum(dry_run=False, full=True)
    yield lambda: len(deleted)
