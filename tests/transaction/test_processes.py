"""Eight processes write to one table at once; every commit that was told of is there, and once."""

import multiprocessing
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest

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


def start(path: str, workers: int):
    """Start the workers and return them, the queue of what they tell, and what they wait at.

    The last has to outlive their start: they look it up by name.
    """
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(workers), context.Queue()
    processes = [
        context.Process(target=work, args=(path, plan(worker), barrier, results)) for worker in range(workers)
    ]
    for process in processes:
        process.start()
    return processes, results, barrier


def finish(processes, results, barrier) -> set[Write]:
    told = {results.get(timeout=60)[0] for _ in range(len(processes) * STEPS)}
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    return told


def check(path: str, told: set[Write]) -> None:
    """Every write was committed once, and the table is what they make in the order of their versions."""
    table = DeltaTable(path)
    assert table.version() == len(told)
    by_name = {f"{write.worker} {write.step}": write for write in told}
    rows: list[tuple[int, int]] = []
    for info in reversed(table.history(len(told))):
        rows = by_name.pop(info.get("told") or info["userMetadata"]).apply(rows)
    assert by_name == {}
    found = table.to_pyarrow_table()
    assert sorted(zip(*(column.to_pylist() for column in found.columns), strict=True)) == sorted(rows)
    assert table.verify(deep=True).ok
    kept = table.snapshot.files()["path"].to_pylist() + table.snapshot.tombstones()["path"].to_pylist()
    assert {file.name for file in Path(path).glob("*.parquet")} == set(kept)


def create(path: str) -> None:
    configuration = {"delta.enableDeletionVectors": "true", "delta.checkpointInterval": "10"}
    DeltaTable.create(path, SCHEMA, configuration=configuration)


def test_eight_processes_append_overwrite_and_replace_in_one_table(tmp_path):
    create(str(tmp_path))
    told = finish(*start(str(tmp_path), WORKERS))
    assert told == {write for worker in range(WORKERS) for write in plan(worker)}
    check(str(tmp_path), told)


@pytest.mark.spark
def test_spark_appends_and_replaces_beside_three_processes(spark, tmp_path):
    path = str(tmp_path)
    create(path)
    writes = [write for write in plan(7) if write.kind != "overwrite"]
    started = start(path, 3)
    for write in writes:
        frame = spark.createDataFrame(write.rows, "worker BIGINT, id BIGINT").coalesce(1)
        writer = frame.write.format("delta").option("userMetadata", f"{write.worker} {write.step}")
        if write.kind == "append":
            writer = writer.mode("append")
        else:
            writer = writer.mode("overwrite").option("replaceWhere", f"worker = {write.worker}")
        for _ in range(50):
            try:
                writer.save(path)
            except Exception as error:  # Py4J gives conflicts a class of their own, or names it in the text
                assert "Concurrent" in f"{type(error).__name__} {error}", error
            else:
                break
    told = finish(*started)
    check(path, told | set(writes))
