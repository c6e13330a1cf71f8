"""Writers that keep a ledger, and maintainers, in processes of their own on one table.

Each writer changes rows of its own, and one row that all of them count up. Its ledger is the rows that it has
been told are committed. Maintainers rewrite files and delete old ones until the writers are done.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from deltaarrow import CommitProperties, DeltaTable, write_deltalake
from deltaarrow.errors import CommitFailedError
from deltaarrow.operations import clustering_columns
from deltaarrow.scan.row_id_columns import ROW_ID

__all__ = ["EVERYBODY", "KINDS", "Change", "Ledger", "Team", "check_ledgers", "create", "plan", "table_of"]

SCHEMA = pa.schema([("worker", pa.int64()), ("id", pa.int64()), ("seen", pa.int64())])
EVERYBODY = -1
"""The worker of the one row that all writers count up."""

KINDS = ("append", "update", "merge", "delete", "append", "count")
_TRIES = 100

Rows = dict[tuple[int, int], int]
"""How often each row was changed, by its worker and its id."""


def table_of(rows: Rows) -> pa.Table:
    """The rows in Arrow."""
    found = [{"worker": worker, "id": number, "seen": seen} for (worker, number), seen in rows.items()]
    return pa.Table.from_pylist(found, schema=SCHEMA)


class Change(NamedTuple):
    """What a writer does in one round."""

    worker: int
    round: int
    kind: str

    @property
    def told(self) -> str:
        """How the commit is called in history."""
        return f"{self.worker} {self.round}"

    @property
    def rows(self) -> Rows:
        """The rows that it brings, or merges: two are new, and two may be there."""
        first = 10 * self.round
        return {(self.worker, number): 1 for number in (first, first + 1, first - 20, first - 39)}

    @property
    def news(self) -> Rows:
        """The rows that it appends."""
        return {(self.worker, 10 * self.round + number): 0 for number in range(5, 9)}

    @property
    def condition(self) -> str:
        """The rows that it updates or deletes, in SQL."""
        match self.kind:
            case "count":
                return f"worker = {EVERYBODY}"
            case "delete":
                return f"worker = {self.worker} AND (id < {10 * self.round - 90} OR id % 7 = 3)"
        return f"worker = {self.worker} AND id % 3 = {self.round % 3}"

    def _changes(self, worker: int, number: int) -> bool:
        match self.kind:
            case "count":
                return worker == EVERYBODY
            case "delete":
                return worker == self.worker and (number < 10 * self.round - 90 or number % 7 == 3)
        return worker == self.worker and number % 3 == self.round % 3

    def apply(self, rows: Rows) -> Rows:
        """What becomes of the rows of a table."""
        match self.kind:
            case "append":
                return rows | self.news
            case "merge":
                return rows | {key: rows.get(key, 0) + seen for key, seen in self.rows.items()}
            case "delete":
                return {key: seen for key, seen in rows.items() if not self._changes(*key)}
        return {key: seen + self._changes(*key) for key, seen in rows.items()}

    def run(self, path: str) -> bool:
        """Do it, and return whether there was something to do."""
        table, properties = DeltaTable(path), CommitProperties({"userMetadata": self.told})
        match self.kind:
            case "append":
                write_deltalake(path, table_of(self.news), mode="append", commit_properties=properties)
            case "merge":
                on = "t.worker = s.worker AND t.id = s.id"
                merger = table.merge(table_of(self.rows), on, "s", "t", commit_properties=properties)
                merger = merger.when_matched_update({"seen": "t.seen + s.seen"})
                merger.when_not_matched_insert_all().execute()
            case "delete":
                return table.delete(self.condition, commit_properties=properties)["num_deleted_rows"] > 0
            case _:
                changes = {"seen": "seen + 1"}
                metrics = table.update(changes, predicate=self.condition, commit_properties=properties)
                return metrics["num_updated_rows"] > 0
        return True


def plan(worker: int, rounds: int) -> list[Change]:
    """The rounds of a writer."""
    return [Change(worker, number, KINDS[(number + worker) % len(KINDS)]) for number in range(rounds)]


@dataclass
class Ledger:
    """What a writer has been told: its rows, how often it counted, and its commits."""

    rows: Rows = field(default_factory=dict)
    counted: int = 0
    told: list[Change] = field(default_factory=list)

    def carry_out(
        self,
        change: Change,
        run: Callable[[], bool],
        is_conflict: Callable[[Exception], bool] = lambda error: isinstance(error, CommitFailedError),
    ) -> None:
        """Do one round, again after each conflict, and note that it is done."""
        for _ in range(_TRIES):
            try:
                is_done = run()
            except Exception as error:
                if not is_conflict(error):
                    raise
            else:
                break
        else:
            raise AssertionError(f"{change} has had {_TRIES} conflicts")
        self.rows = change.apply(self.rows)
        self.counted += change.kind == "count"
        if is_done:
            self.told.append(change)


def _write(path: str, changes: Sequence[Change], go: Any, barrier: Any, results: Any) -> None:
    ledger = Ledger()
    barrier.wait(60)
    for change in changes:
        go.wait()
        ledger.carry_out(change, lambda change=change: change.run(path))
    results.put((changes[0].worker, ledger))


def _maintain(
    path: str, retention_hours: float, number: int, go: Any, barrier: Any, results: Any, stop: Any
) -> None:
    """Rewrite files and delete old ones until all writers are done; tell what was committed."""
    works = (
        ("purge", lambda table: table.optimize.purge()["numFilesRemoved"]),
        ("vacuum", lambda table: len(table.vacuum(retention_hours, False, False, full=True))),
        ("compact", lambda table: table.optimize.compact()["numFilesRemoved"]),
        ("optimize", lambda table: table.optimize()["numFilesRemoved"]),
        ("vacuum", lambda table: len(table.vacuum(retention_hours, False, False))),
        ("lay out", _lay_out),
    )
    done = dict.fromkeys(["conflict", *(name for name, _ in works)], 0)
    barrier.wait(60)
    while not stop.is_set() or not sum(done.values()):
        name, work = works[number % len(works)]
        number += 1
        go.wait()
        try:
            done[name] += work(DeltaTable(path)) > 0
        except CommitFailedError:
            done["conflict"] += 1
    results.put((None, done))


def _lay_out(table: DeltaTable) -> int:
    """Lay all files out, by clustering columns if there are any."""
    if clustering_columns(table.snapshot):
        return table.optimize.full()["numFilesRemoved"]
    return table.optimize.z_order(["id", "seen"])["numFilesRemoved"]


def create(path: str, *, is_clustered: bool) -> None:
    """Make the table, with the row that everybody counts up."""
    configuration = {
        "delta.enableDeletionVectors": "true",
        "delta.enableRowTracking": "true",
        "delta.checkpointInterval": "20",
    }
    layout = {"cluster_by": ["id", "seen"]} if is_clustered else {}
    write_deltalake(path, table_of({(EVERYBODY, 0): 0}), configuration=configuration, **layout)


class Team:
    """Writers and two maintainers, at work from `start` on until `ledgers` has those of the writers.

    While `go` is not set they rest, so that a slower one has its chance.
    """

    def __init__(self, path: str, plans: Sequence[Sequence[Change]], retention_hours: float) -> None:
        context = multiprocessing.get_context("spawn")
        self._barrier, self._results = context.Barrier(len(plans) + 3), context.Queue()
        self._stop, self._writers = context.Event(), len(plans)
        self.go = context.Event()
        self.go.set()
        shared = (self.go, self._barrier, self._results)
        self._processes = [
            *(context.Process(target=_write, args=(path, changes, *shared)) for changes in plans),
            *(
                context.Process(target=_maintain, args=(path, retention_hours, number, *shared, self._stop))
                for number in (0, 2)
            ),
        ]

    def start(self) -> None:
        """Start all, and return once they begin."""
        for process in self._processes:
            process.start()
        self._barrier.wait(60)

    def is_writing(self) -> bool:
        """Whether a writer has yet to finish."""
        return self._results.qsize() < self._writers and self._is_well()

    def _is_well(self) -> bool:
        return all(process.exitcode in (None, 0) for process in self._processes)

    def ledgers(self) -> tuple[list[Ledger], dict[str, int]]:
        """Wait for the writers and end the maintainers; return the ledgers, and what the latter did."""
        while self.is_writing():
            time.sleep(0.05)
        self._stop.set()
        self.go.set()
        try:
            assert self._is_well(), [process.exitcode for process in self._processes]
            results = [self._results.get(timeout=60) for _ in self._processes]
        finally:
            for process in self._processes:
                process.join(60)
                process.kill()
        assert self._is_well()
        maintained = [done for worker, done in results if worker is None]
        total = {name: sum(done[name] for done in maintained) for name in maintained[0]}
        return [ledger for worker, ledger in results if worker is not None], total


def check_ledgers(path: str, ledgers: Sequence[Ledger], retention_hours: float) -> None:
    """The table is what the ledgers say, each retained version what the commits up to it make."""
    table = DeltaTable(path)
    wanted = {(EVERYBODY, 0): sum(ledger.counted for ledger in ledgers)}
    for ledger in ledgers:
        wanted |= ledger.rows
    told = {change.told: change for ledger in ledgers for change in ledger.told}
    rows = _rows(path, table.version())
    assert rows == wanted
    states = dict(_states(table, told))
    assert told == {}, "confirmed, and not in history"
    assert states[table.version()] == wanted
    for version in retained_versions(table, retention_hours):
        assert _rows(path, version) == states[version], version
    assert list(table.verify(deep=True)) == []


def _rows(path: str, version: int) -> Rows:
    columns = [*SCHEMA.names, ROW_ID]
    found = DeltaTable(path, version=version).to_pyarrow_table(columns=columns)
    *keys, seen, ids = (column.to_pylist() for column in found.columns)
    assert len(set(ids)) == found.num_rows
    rows = dict(zip(zip(*keys, strict=True), seen, strict=True))
    assert len(rows) == found.num_rows
    return rows


def _states(table: DeltaTable, told: dict[str, Change]) -> Iterator[tuple[int, Rows]]:
    """Yield the rows of each version by its commits; take those out of `told` that are there."""
    rows = {(EVERYBODY, 0): 0}
    for commit in reversed(table.history()):
        name = commit.get("userMetadata")
        if name is not None:
            rows = told.pop(name).apply(rows)
        yield commit["version"], rows


def retained_versions(table: DeltaTable, retention_hours: float) -> list[int]:
    """The versions that are not older than the retention of the last VACUUM, less two seconds."""
    history = table.history()
    times = [commit["timestamp"] for commit in history if commit["operation"] == "VACUUM START"]
    oldest = max(times, default=0) - round(retention_hours * 3_600_000) + 2000
    return [commit["version"] for commit in history if commit["timestamp"] >= oldest]
