"""One table twice, for an operation here and by an executor, and what the two have in common afterwards."""

import pickle
import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import cloudpickle
import pyarrow as pa

import deltaarrow as da
from deltaarrow.runtime.executors import TaskLimits
from deltaarrow.scan.row_id_columns import ROW_COMMIT_VERSION, ROW_ID
from tests.support.commits import commit, comparable

__all__ = ["COPYING", "EVERYTHING", "OnceExecutor", "TwiceExecutor", "Twins", "tracked"]

EVERYTHING = {
    "delta.enableDeletionVectors": "true",
    "delta.enableChangeDataFeed": "true",
    "delta.enableRowTracking": "true",
    "delta.columnMapping.mode": "name",
    "delta.constraints.small": "id < 100000",
}
COPYING = {"delta.enableChangeDataFeed": "true", "delta.enableRowTracking": "true"}


class TwiceExecutor:
    """Runs each pickled task twice, as Spark may, and takes the result of the second attempt alone."""

    def __init__(self, files: int = 2) -> None:
        self.files, self.runs = files, 0

    def run(
        self,
        tasks: Sequence[Callable[[], Any]],
        limits: TaskLimits,
        discard: Callable[[Any], object] = lambda result: None,
    ) -> Generator[tuple[int, Any], None, None]:
        """Run tasks one after another."""
        done = []
        try:
            for task in tasks:
                done.append(self.result_of(task))
                self.runs += 1
        except BaseException:
            for result in done:
                discard(result)
            raise
        yield from enumerate(done)

    def result_of(self, task: Callable[[], Any]) -> Any:
        """The result of the second run."""
        pickled = cloudpickle.dumps(task)
        pickle.loads(pickled)()
        return pickle.loads(cloudpickle.dumps(pickle.loads(pickled)()))

    def parts(self, sizes: Sequence[int]) -> list[list[int]]:
        """Give a task so many files."""
        places = range(len(sizes))
        return [list(places[first : first + self.files]) for first in places[:: self.files]]

    def tasks_at_once(self) -> int:
        """Pretend to run two."""
        return 2

    def threads_of_task(self, threads: int, at_once: int) -> int:
        """One thread."""
        return 1


class OnceExecutor(TwiceExecutor):
    """Runs each task once, in this process."""

    def result_of(self, task: Callable[[], Any]) -> Any:
        """The result."""
        return task()


class Twins:
    """Two copies of a table with files of 100 rows, ``id``, ``n`` and ``p``, each in a commit."""

    def __init__(
        self,
        folder: Path,
        configuration: Mapping[str, str],
        *,
        files: int = 2,
        partition_by: str | None = None,
    ) -> None:
        self.here, self.there, self.first = folder / "here", folder / "there", files
        for number in range(files):
            ids = range(number * 100, number * 100 + 100)
            rows = pa.table({"id": ids, "n": [id % 7 for id in ids], "p": [f"p{id % 2}" for id in ids]})
            given = {"configuration": configuration, "partition_by": partition_by} if not number else {}
            da.write_deltalake(self.here, rows, mode="append", **given)
        shutil.copytree(self.here, self.there)

    def run(self, block: AbstractContextManager[Any], operation: Callable[[da.DeltaTable], Any]) -> list[Any]:
        """Run an operation on both copies, on the second one inside a block, and return what each said."""
        said = [operation(da.DeltaTable(self.here))]
        with block:
            return [*said, operation(da.DeltaTable(self.there))]

    def assert_same_commits(self) -> None:
        """The operations have made the same commits."""
        versions = [da.DeltaTable(path).version() for path in (self.here, self.there)]
        assert versions[0] == versions[1] >= self.first
        for version in range(self.first, versions[0] + 1):
            assert _same(commit(self.there, version)) == _same(commit(self.here, version))


def _same(actions: list[dict]) -> list[tuple[str, list[str], dict]]:
    """What two commits have in common: no names, no times, and no order of new files."""
    found = comparable(actions)
    for kind, _, values in found:
        if kind == "commitInfo":
            metrics = values["operationMetrics"]
            # Random names compress to one byte more or less.
            by_nature = ("Time", "FileSize")
            values["operationMetrics"] = {
                name: each for name, each in metrics.items() if not any(word in name for word in by_nature)
            }
        if kind == "cdc":
            del values["path"], values["size"]
        values.pop("baseRowId", None)
        for tag in (values.get("tags") or {}).values():
            if isinstance(tag, dict):
                tag.pop("id", None)
        if values.get("deletionVector"):
            # Vectors stand in one file in the order of data files, whose names are random.
            values["deletionVector"] = {
                name: each
                for name, each in values["deletionVector"].items()
                if name not in ("pathOrInlineDv", "offset")
            }
    return sorted(found, key=repr)


def tracked(path: Path) -> pa.Table:
    """The rows of a copy with their ids and the versions that last changed them."""
    return da.DeltaTable(path).to_pyarrow_table(columns=["id", "n", "p", ROW_ID, ROW_COMMIT_VERSION])
