"""Tables on an object store that answers each request after 20 milliseconds.

The server counts the requests of a run, the longest row of requests one after another, and the bytes that it
sends. It is a process of its own, the same for both libraries. The counts are those of the first run of a
process, for which no library has anything at hand. Those of an append and of VACUUM are of the last run: the
first write of a process proves with three more requests that the server honours the condition of a put.
"""

import importlib
import itertools
import json
import os
import shutil
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.case import OURS, READY, Case, Dataset, Engine, Scale, Target, short
from benchmarks.data import day, write_log_of_checkpoint, write_orders_table, write_small_table
from benchmarks.data_maintenance import write_folder_of_files
from benchmarks.extension import HTTPFS, connect_to
from benchmarks.object_server import Traffic, serving

__all__ = ["NEEDED", "cases"]

NEEDED = "needed bytes alone"
"""Plain requests for the columns of the log that hold the answer, by a client that knows where they are."""

_MILLISECONDS = 20
_COMMITS = 20
_FILES = 20
_DAY = day(307).isoformat()


class _Done(NamedTuple):
    """What a run found, asked for after the run, and what the server was asked in the run that counts."""

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
        _case(
            "open",
            log,
            _open,
            *(Target(plus=8, of="one after another"), _LITTLE_MORE),
            peers={NEEDED: partial(_needed_of_log, is_planned=False)},
        ),
        _case(
            "plan_one_day",
            log,
            _plan,
            _LITTLE_MORE,
            peers={NEEDED: partial(_needed_of_log, is_planned=True)},
        ),
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
_LITTLE_MORE = Target(NEEDED, 1.3, of="sent MB")


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

        counted = None
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
                traffic = server.traffic()
                counted = traffic if changes or counted is None else counted
                yield _Done(found, counted)

    return run


def _files_in_duckdb(data: Path, _: Path) -> Iterator[Any]:
    """DuckDB's own reader over the data files of the table; a connection keeps what it has read of them."""
    (commit,) = (data / "_delta_log").glob("*.json")
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    files = [f"s3://{data.name}/{action['add']['path']}" for action in actions if "add" in action]
    counted = None
    with serving(data.parent, _MILLISECONDS) as server:
        while True:
            con = connect_to(server.storage_options)
            server.traffic()
            yield READY
            found = con.execute(f"SELECT sum(id)::BIGINT FROM read_parquet({files})").fetchall()[0][0]
            counted = counted or server.traffic()
            yield _Done(partial(int, found), counted)


def _needed_of_log(data: Path, _: Path, *, is_planned: bool) -> Iterator[Any]:
    """The listing, the commits, and of the checkpoint the footer and the actions that are not about files.

    For the plan of a day also the partition values of all files, and the paths in the row groups that have
    files of the day.
    """
    import pyarrow.parquet as pq

    log = data / "_delta_log"
    (checkpoint,) = log.glob("*.parquet")
    metadata = pq.read_metadata(checkpoint)
    of_day = _rows_of_day(checkpoint) if is_planned else []
    spans = [(checkpoint.stat().st_size - 8 - metadata.serialized_size, metadata.serialized_size + 8)]
    first = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        wanted = [] if number else ["protocol.", "metaData.", "txn."]
        if is_planned:
            wanted.append("add.partitionValues.")
        if any(first <= row < first + group.num_rows for row in of_day):
            wanted.append("add.path")
        spans += _spans(group, tuple(wanted))
        first += group.num_rows
    commits = sorted(path.name for path in log.glob("*.json"))
    folder = f"{data.name}/_delta_log"
    with serving(data.parent, _MILLISECONDS) as server:

        def get(name: str, span: tuple[int, int] | None = None) -> bytes:
            asked = {} if span is None else {"Range": f"bytes={span[0]}-{span[0] + span[1] - 1}"}
            request = urllib.request.Request(f"http://127.0.0.1:{server.port}/{name}", headers=asked)
            with urllib.request.urlopen(request) as answer:
                return bytes(answer.read())

        while True:
            server.traffic()
            yield READY
            get(f"{folder}/_last_checkpoint")
            get(
                f"{data.name}?list-type=2&prefix=_delta_log/&delimiter=/&start-after=_delta_log/{checkpoint.name}"
            )
            with ThreadPoolExecutor() as pool:
                texts = list(pool.map(lambda name: get(f"{folder}/{name}"), commits))
                list(pool.map(partial(get, f"{folder}/{checkpoint.name}"), spans))
            found = int(commits[-1].removesuffix(".json"))
            if is_planned:
                found = len(of_day) + sum(
                    _change_of_day(line) for text in texts for line in text.splitlines()
                )
            yield _Done(partial(int, found), server.traffic())


def _spans(group: Any, wanted: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """The places and lengths of the columns of a row group whose names begin so."""
    for column in map(group.column, range(group.num_columns)):
        if column.path_in_schema.startswith(wanted):
            places = (column.dictionary_page_offset, column.data_page_offset)
            yield min(place for place in places if place is not None), column.total_compressed_size


def _rows_of_day(checkpoint: Path) -> list[int]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(checkpoint) as file:
        values = file.read(columns=["add.partitionValues"])["add"].to_pylist()
    return [row for row, add in enumerate(values) if add and dict(add["partitionValues"])["day"] == _DAY]


def _change_of_day(line: bytes) -> int:
    """How many more files of the day there are after a line of a commit."""
    action = json.loads(line)
    if "add" in action:
        return int(action["add"]["partitionValues"]["day"] == _DAY)
    return -int("remove" in action and f"day={_DAY}/" in action["remove"]["path"])


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
    condition = f"day = '{_DAY}'"
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
