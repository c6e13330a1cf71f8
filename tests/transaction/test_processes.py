"""Many processes write to one table at once; every reported commit is there exactly once."""

import contextlib
import multiprocessing
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pytest

from deltaarrow import CommitProperties, DeltaTable, write_deltalake
from deltaarrow.errors import CommitFailedError
from tests.support.leftovers import files_of_log, files_on_disk

WORKERS, STEPS = 8, 7
SCHEMA = pa.schema([("worker", pa.int64()), ("id", pa.int64()), ("seen", pa.int64())])
EVERYBODY = -1
"""The worker of the one row that all of them change."""

Row = tuple[int, int, int]
SHARED: list[Row] = [
    *((worker, 1000 + 10 * worker + place, 0) for worker in range(WORKERS) for place in range(6)),
    (EVERYBODY, 0, 0),
]
"""The rows of the first file, which has some of every worker."""


def table_of(rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA)


class Write(NamedTuple):
    """What one step does with the rows of its worker, or with the table."""

    worker: int
    step: int
    kind: str

    @property
    def rows(self) -> list[Row]:
        """The rows that it brings."""
        first = (self.worker * STEPS + self.step) * 10
        return [(self.worker, first, 0), (self.worker, first + 1, 0)]

    @property
    def source(self) -> list[Row]:
        """The rows that it merges: its own and some of the first file."""
        return [*self.rows, *((self.worker, 1000 + 10 * self.worker + place, 7) for place in (1, 2))]

    @property
    def told(self) -> str:
        return f"{self.worker} {self.step}"

    @property
    def condition(self) -> str:
        """The rows that it changes."""
        match self.kind:
            case "count":
                return f"worker = {EVERYBODY}"
            case "delete":
                return f"worker = {self.worker} AND id % 2 = 1"
        return f"worker = {self.worker}"

    def changes(self, row: Row) -> bool:
        worker, key, _ = row
        if self.kind == "count":
            return worker == EVERYBODY
        return worker == self.worker and (self.kind != "delete" or key % 2 == 1)

    def run(self, path: str) -> bool:
        """Return whether there was something to do; after an overwrite there may be nothing left."""
        properties = CommitProperties({"told": self.told})
        match self.kind:
            case "delete":
                metrics = DeltaTable(path).delete(self.condition, commit_properties=properties)
                return metrics["num_deleted_rows"] > 0
            case "update" | "count":
                changes, table = {"seen": "seen + 1"}, DeltaTable(path)
                metrics = table.update(changes, predicate=self.condition, commit_properties=properties)
                return metrics["num_updated_rows"] > 0
            case "merge":
                source, on = table_of(self.source), "t.worker = s.worker AND t.id = s.id"
                merger = DeltaTable(path).merge(source, on, "s", "t", commit_properties=properties)
                merger = merger.when_matched_update({"seen": "t.seen + s.seen"})
                merger.when_not_matched_insert_all().execute()
            case _:
                write_deltalake(
                    path,
                    table_of(self.rows),
                    mode="append" if self.kind == "append" else "overwrite",
                    predicate=self.condition if self.kind == "replace" else None,
                    commit_properties=properties,
                )
        return True

    def apply(self, rows: list[Row]) -> list[Row]:
        match self.kind:
            case "append":
                return rows + self.rows
            case "overwrite":
                return self.rows
            case "replace":
                return [row for row in rows if not self.changes(row)] + self.rows
            case "delete":
                return [row for row in rows if not self.changes(row)]
            case "update" | "count":
                return [(*row[:2], row[2] + self.changes(row)) for row in rows]
        given = {row[:2]: row[2] for row in self.source}
        merged = [(*row[:2], row[2] + given.pop(row[:2], 0)) for row in rows]
        return merged + [(*key, seen) for key, seen in given.items()]


def plan(worker: int) -> list[Write]:
    kinds = ["append", "count", "merge", "delete", "update", "merge", "replace"]
    if worker < 2:
        kinds[4] = "overwrite"
    return [Write(worker, step, kind) for step, kind in enumerate(kinds)]


def work(path: str, writes: Sequence[Write], barrier, results) -> None:
    """Run writes, each again after a conflict, and tell of each whether it had something to do."""
    barrier.wait(60)
    for write in writes:
        for _ in range(50):
            with contextlib.suppress(CommitFailedError):
                results.put((write, write.run(path)))
                break


def start(path: str, workers: Sequence[int]):
    """Start the workers and return them, the queue of what they tell, and what they wait at.

    The last has to outlive their start: they look it up by name.
    """
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(len(workers)), context.Queue()
    processes = [
        context.Process(target=work, args=(path, plan(worker), barrier, results)) for worker in workers
    ]
    for process in processes:
        process.start()
    return workers, processes, results, barrier


def finish(workers, processes, results, barrier) -> set[Write]:
    told = dict(results.get(timeout=60) for _ in range(len(processes) * STEPS))
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert told.keys() == {write for worker in workers for write in plan(worker)}
    return {write for write, is_done in told.items() if is_done}


def check(path: str, told: set[Write]) -> None:
    """Every write was committed once, and the table is what they make in the order of their versions."""
    table = DeltaTable(path)
    assert table.version() == len(told)
    by_name = {write.told: write for write in told}
    rows = SHARED
    for info in reversed(table.history(len(told))):
        before, rows = rows, by_name.pop(info.get("told") or info["userMetadata"]).apply(rows)
        feed = table.load_cdf(info["version"], info["version"]).read_all().to_pylist()
        changes = Counter()
        for row in feed:
            sign = 1 if row["_change_type"] in ("insert", "update_postimage") else -1
            changes[row["worker"], row["id"], row["seen"]] += sign
        # The feed tells of rows that are replaced by the same as well.
        difference = Counter(rows)
        difference.subtract(before)
        assert {row: n for row, n in changes.items() if n} == {row: n for row, n in difference.items() if n}
    assert by_name == {}
    found = table.to_pyarrow_table(columns=[*SCHEMA.names, "_metadata.row_id"])
    *columns, row_ids = (column.to_pylist() for column in found.columns)
    assert sorted(zip(*columns, strict=True)) == sorted(rows)
    assert len(set(row_ids)) == len(row_ids)
    assert table.verify(deep=True).ok


def create(path: str) -> None:
    configuration = {
        "delta.enableDeletionVectors": "true",
        "delta.enableChangeDataFeed": "true",
        "delta.enableRowTracking": "true",
        "delta.checkpointInterval": "10",
    }
    write_deltalake(path, table_of(SHARED), configuration=configuration)


@pytest.mark.parametrize("workers", [4, pytest.param(WORKERS, marks=pytest.mark.slow)])
def test_processes_append_overwrite_replace_delete_update_and_merge_in_one_table(tmp_path, workers):
    create(str(tmp_path))
    told = finish(*start(str(tmp_path), range(workers)))
    check(str(tmp_path), told)
    assert files_on_disk(tmp_path) == files_of_log(DeltaTable(tmp_path))


def run_in_spark(spark, path: str, write: Write) -> None:
    table = f"delta.`{path}`"
    if write.kind in ("append", "replace"):
        frame = spark.createDataFrame(table_of(write.rows)).coalesce(1)
        writer = frame.write.format("delta").option("userMetadata", write.told)
        if write.kind == "append":
            writer.mode("append").save(path)
        else:
            writer.mode("overwrite").option("replaceWhere", write.condition).save(path)
        return
    spark.conf.set("spark.databricks.delta.commitInfo.userMetadata", write.told)
    try:
        match write.kind:
            case "delete":
                spark.sql(f"DELETE FROM {table} WHERE {write.condition}")
            case "update" | "count":
                spark.sql(f"UPDATE {table} SET seen = seen + 1 WHERE {write.condition}")
            case "merge":
                spark.createDataFrame(table_of(write.source)).coalesce(1).createOrReplaceTempView("given")
                spark.sql(
                    f"MERGE INTO {table} AS t USING given AS s ON t.worker = s.worker AND t.id = s.id"
                    " WHEN MATCHED THEN UPDATE SET seen = t.seen + s.seen WHEN NOT MATCHED THEN INSERT *"
                )
    finally:
        spark.conf.unset("spark.databricks.delta.commitInfo.userMetadata")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("kinds", "workers"),
    [
        pytest.param(["merge", "delete"], [2], id="few"),
        pytest.param(
            ["append", "count", "replace", "merge", "delete", "update"],
            [2, 3, 4],
            id="all",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_spark_changes_rows_beside_processes(spark, tmp_path, kinds, workers):
    path = str(tmp_path)
    create(path)
    writes = [Write(7, step, kind) for step, kind in enumerate(kinds)]
    started = start(path, workers)
    for write in writes:
        for _ in range(50):
            try:
                run_in_spark(spark, path, write)
            except Exception as error:  # Py4J gives conflicts a class of their own, or names it in the text
                assert "Concurrent" in f"{type(error).__name__} {error}", error
            else:
                break
    told = finish(*started)
    check(path, told | set(writes))
