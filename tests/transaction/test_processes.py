"""Eight processes write to one table at once; every commit that was told of is there, and once."""

import multiprocessing
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from deltaarrow import CommitProperties, DeltaTable, write_deltalake
from deltaarrow.errors import CommitFailedError

WORKERS, STEPS = 8, 6
SCHEMA = pa.schema([("worker", pa.int64()), ("id", pa.int64())])


class Write(NamedTuple):
    """What one step does: it appends, replaces the rows of its worker, or overwrites the table."""

    worker: int
    step: int
    kind: str

    @property
    def rows(self) -> list[tuple[int, int]]:
        first = (self.worker * STEPS + self.step) * 10
        return [(self.worker, first), (self.worker, first + 1)]

    def run(self, path: str) -> None:
        data = pa.Table.from_pylist([{"worker": w, "id": each} for w, each in self.rows], schema=SCHEMA)
        write_deltalake(
            path,
            data,
            mode="append" if self.kind == "append" else "overwrite",
            predicate=f"worker = {self.worker}" if self.kind == "replace" else None,
            commit_properties=CommitProperties({"told": f"{self.worker} {self.step}"}),
        )

    def apply(self, rows: list[tuple[int, int]]) -> list[tuple[int, int]]:
        if self.kind == "overwrite":
            return self.rows
        kept = [row for row in rows if self.kind == "append" or row[0] != self.worker]
        return kept + self.rows


def plan(worker: int) -> list[Write]:
    kinds = ["append", "append", "replace"] * (STEPS // 3)
    if worker < 2:
        kinds[3] = "overwrite"
    return [Write(worker, step, kind) for step, kind in enumerate(kinds)]


def work(path: str, writes: Sequence[Write], barrier, results) -> None:
    """Run writes, each again after a conflict, and tell how often each of them was refused."""
    barrier.wait(60)
    for write in writes:
        for refusals in range(50):
            try:
                write.run(path)
            except CommitFailedError:
                continue
            results.put((write, refusals))
            break


def test_eight_processes_append_overwrite_and_replace_in_one_table(tmp_path):
    path = str(tmp_path)
    configuration = {"delta.enableDeletionVectors": "true", "delta.checkpointInterval": "10"}
    DeltaTable.create(path, SCHEMA, configuration=configuration)
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(WORKERS), context.Queue()
    processes = [
        context.Process(target=work, args=(path, plan(worker), barrier, results)) for worker in range(WORKERS)
    ]
    for process in processes:
        process.start()
    told = dict(results.get(timeout=60) for _ in range(WORKERS * STEPS))
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert told.keys() == {write for worker in range(WORKERS) for write in plan(worker)}

    table = DeltaTable(path)
    assert table.version() == WORKERS * STEPS
    by_name = {f"{write.worker} {write.step}": write for write in told}
    rows: list[tuple[int, int]] = []
    for info in reversed(table.history(WORKERS * STEPS)):
        rows = by_name.pop(info["told"]).apply(rows)
    assert by_name == {}
    found = table.to_pyarrow_table()
    assert sorted(zip(*(column.to_pylist() for column in found.columns), strict=True)) == sorted(rows)
    assert table.verify(deep=True).ok
    kept = table.snapshot.files()["path"].to_pylist() + table.snapshot.tombstones()["path"].to_pylist()
    assert {file.name for file in tmp_path.glob("*.parquet")} == set(kept)
