"""Operations whose tasks run on the executors of Spark: `on_executors`.

The tasks are those that threads run on one node. One Spark job runs them: each row of a frame is a pickled
list of tasks, `mapInArrow` carries it out, and pickled results come back to the driver. Spark may run a task
twice: after it lost an executor, or as a speculative copy. Each attempt names its files anew, and Spark
returns the result of one attempt alone, so only its files can become part of the table. Files of other
attempts stay behind until VACUUM deletes them, as files of Spark's own writer do.

A task that fails is an answer, too, once Spark would not try it again: the driver then raises its error and
deletes the files of the other tasks.
"""

import pickle
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from deltaarrow.errors import DeltaError
from deltaarrow.runtime.executors import TaskLimits, using
from deltaarrow.runtime.optional import require
from deltaarrow.spark.python_of_spark import ensure_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkExecutor", "on_executors"]

_Result = TypeVar("_Result")

_ANSWER = "place INT, answer BINARY"
_FAILURES = "4"
"""The default of ``spark.task.maxFailures``."""

_LEAST_BYTES, _MOST_BYTES = 16 << 20, 128 << 20
_FILE_BYTES = 1 << 20
"""The cost of a further file in a part, in bytes: less than that of a task of Spark."""

_UNKNOWN_CORES = 8


def on_executors(spark: "SparkSession") -> AbstractContextManager[None]:
    """Let operations inside a ``with`` block run their tasks on the executors of Spark.

    The driver plans and commits as on one node; commits, their history and errors are the same. OPTIMIZE with
    all its forms, REORG, DELETE, UPDATE, MERGE, the deletions of VACUUM, ANALYZE, deep clones and the reading
    of footers for a conversion run on executors, by methods of `deltaarrow.DeltaTable` and by statements of
    `deltaarrow.connect`. So do the listing of folders for a full VACUUM of many files and, of tables with
    millions of files, the sidecars of checkpoints and the choice of files by a condition. Everything else
    runs in this process, such as `write_deltalake`, which reads its data here. Without a ``with`` block, all
    operations run in this process.

    Arguments such as ``max_concurrent_tasks`` count threads of this process, and have no meaning for Spark. A
    limit of memory or of temporary files holds for each task.
    With ``min_commit_interval`` there is one commit all the same, because results come back together.

    Args:
        spark: the session, a classic one or one of Spark Connect, of Spark 4.1 or later. Executors need
            `deltaarrow` installed, and must reach the table by the path that the driver uses.

    Raises:
        MissingDependencyError: as `deltaarrow.spark.register` does.

    Inside the block, operations raise what they raise on one node, and Spark's own errors if Spark cannot run
    a job. Nothing is committed then.

    Example::

        with deltaarrow.spark.on_executors(spark):
            table.delete("day < '2020-01-01'")
            table.optimize.compact()
    """
    return using(SparkExecutor(spark))


class SparkExecutor:
    """An `Executor` that runs tasks as one job of Spark."""

    def __init__(self, spark: "SparkSession") -> None:
        require("pyspark")
        ensure_python(spark)
        self._spark = spark

    def run(
        self,
        tasks: Sequence[Callable[[], _Result]],
        limits: TaskLimits,
        discard: Callable[[_Result], object] = lambda result: None,
    ) -> Generator[tuple[int, _Result], None, None]:
        """Run tasks: see `Executor.run`. After an error, other tasks of the job still run to their end."""
        if not tasks:
            return
        bundles = [[place] for place in range(len(tasks))]
        if limits.sizes is not None:
            bundles = self.parts(limits.sizes)
        answers = self._answers([[(place, tasks[place]) for place in bundle] for bundle in bundles])
        results: dict[int, _Result] = {}
        failures: list[BaseException] = []
        for place, result, failure in answers:
            if failure is not None:
                failures.append(failure)
            else:
                results[place] = result
        try:
            if failures:
                raise failures[0]
            if sorted(results) != list(range(len(tasks))):
                raise AssertionError(f"{len(results)} of {len(tasks)} tasks came back from Spark")
            for place in sorted(results):
                yield place, results.pop(place)
        except BaseException:
            for result in results.values():
                discard(result)
            raise

    def _answers(self, bundles: Sequence[Sequence[tuple[int, Any]]]) -> list[tuple[int, Any, Any]]:
        places = pa.array(range(len(bundles)), pa.int32())
        texts = pa.array([_pickled(bundle) for bundle in bundles], pa.binary())
        with warnings.catch_warnings():
            # Spark warns of releases of pandas, which takes no part in this.
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            frame = self._spark.createDataFrame(pa.table({"place": places, "tasks": texts}))
            # Each row is a partition of its own: Spark runs it as a task of its own.
            frame = frame.repartitionById(len(bundles), frame["place"])
            found = frame.mapInArrow(partial(_carried_out, attempts=self._attempts), _ANSWER).collect()
        if sorted(row["place"] for row in found) != list(range(len(bundles))):
            raise AssertionError(f"{len(found)} of {len(bundles)} parts of a job came back from Spark")
        # These bytes are from the executors, which run code of this program anyway.
        return [answer for row in found for answer in pickle.loads(bytes(row["answer"]))]

    @property
    def _attempts(self) -> int:
        """How often Spark tries a task; it tries once on a local master, whatever the setting says."""
        master = self._spark.conf.get("spark.master", "") or ""
        if master.startswith("local") and not master.startswith("local-cluster"):
            _, _, failures = master.rstrip("]").partition(",")
            return int(failures) if failures.isdigit() else 1
        return int(self._spark.conf.get("spark.task.maxFailures", _FAILURES) or _FAILURES)

    def parts(self, sizes: Sequence[int]) -> list[list[int]]:
        """Group files into two parts for each core, but of 16 to 128 MiB: see `Executor.parts`."""
        total = sum(size + _FILE_BYTES for size in sizes)
        limit = min(max(total // (2 * self.tasks_at_once()) + 1, _LEAST_BYTES), _MOST_BYTES)
        parts: list[list[int]] = []
        room = 0
        for place, size in enumerate(sizes):
            cost = size + _FILE_BYTES
            if not parts or cost > room:
                parts.append([])
                room = limit
            parts[-1].append(place)
            room -= cost
        return parts

    def tasks_at_once(self) -> int:
        """Return how many tasks Spark runs at once; unknown on Spark Connect."""
        from pyspark.errors import PySparkAttributeError

        try:
            return int(self._spark.sparkContext.defaultParallelism)
        except PySparkAttributeError:
            return _UNKNOWN_CORES

    def threads_of_task(self, threads: int, at_once: int) -> int:
        """Let a task use one thread: Spark gives it one core."""
        return 1


def _carried_out(batches: Iterator[pa.RecordBatch], attempts: int) -> Iterator[pa.RecordBatch]:
    """Run the tasks in rows, on an executor, and yield a row with their results for each."""
    for batch in batches:
        for row in batch.to_pylist():
            answers = _pickled(list(_answered(pickle.loads(row["tasks"]), attempts)))
            columns = {
                "place": pa.array([row["place"]], pa.int32()),
                "answer": pa.array([answers], pa.binary()),
            }
            yield pa.RecordBatch.from_pydict(columns)


def _answered(
    tasks: Sequence[tuple[int, Callable[[], Any]]], attempts: int
) -> Iterator[tuple[int, Any, BaseException | None]]:
    from pyspark import TaskContext

    context = TaskContext.get()
    is_last = context is None or context.attemptNumber() + 1 >= attempts
    for place, task in tasks:
        try:
            result = task()
        except Exception as error:
            # An error of the package says what is wrong with the data; trying again would not help.
            if not is_last and (not isinstance(error, DeltaError) or isinstance(error, OSError)):
                raise
            yield place, None, _told(error)
            return
        yield place, result, None


def _told(error: Exception) -> Exception:
    """Return an error as the driver can raise it, with the trace of the executor as a note."""
    where = "".join(traceback.format_exception(error))
    try:
        told: Exception = pickle.loads(_pickled(error.with_traceback(None)))
    except Exception:
        told = RuntimeError(f"{type(error).__name__}: {error}")
    told.add_note(f"on an executor of Spark:\n{where}")
    return told


def _pickled(value: object) -> bytes:
    from pyspark import cloudpickle

    found: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    return found
