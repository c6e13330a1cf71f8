"""`ChangeReader`: reads the rows of a change data feed as Arrow batches.

`deltaarrow.scan.batches` reads the files, with one layout for change data files and another for added and
removed files. A data file may occur in several versions with different rows, so files are read in runs
without repeated paths.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from deltaarrow.errors import CorruptDataFileError
from deltaarrow.expressions import Predicate
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.scan.batches import DEFAULT_BATCH_SIZE, BatchReader, Scanned
from deltaarrow.scan.change_feed.plan import ChangePlan, is_recorded
from deltaarrow.scan.tasks import FileTask, TableLayout
from deltaarrow.schema import CHANGE_TYPE

__all__ = ["ChangeReader"]

_LONGEST_RUN = 256


@dataclass(frozen=True)
class ChangeReader:
    """Reader of the columns of a `ChangePlan`; picklable. The options are those of `BatchReader`."""

    plan: ChangePlan
    pushdown: Predicate | None = None
    batch_size: int = DEFAULT_BATCH_SIZE
    use_threads: bool = True

    @property
    def layout(self) -> TableLayout:
        """The layout of added and removed files."""
        return self.plan.layout

    @property
    def schema(self) -> pa.Schema:
        """The schema of the batches."""
        return self._derived.schema

    @cached_property
    def _derived(self) -> BatchReader:
        return self._reader(self.plan.layout)

    @cached_property
    def _recorded(self) -> BatchReader:
        return self._reader(self.plan.recorded_layout)

    def _reader(self, layout: TableLayout) -> BatchReader:
        return BatchReader(layout, self.plan.columns, self.pushdown, self.batch_size, self.use_threads)

    def scan(self, tasks: Sequence[FileTask]) -> Iterator[Scanned]:
        """Yield the changed rows of the files, roughly in version order."""
        for run in _runs(tasks):
            for scanned in self._recorded.scan([task for task in run if is_recorded(task)]):
                if CHANGE_TYPE in self.plan.columns and scanned.batch.column(CHANGE_TYPE).null_count:
                    raise CorruptDataFileError(
                        f"a change data file of {self.plan.store.uri} has a row without {CHANGE_TYPE}"
                    )
                yield scanned
            yield from self._derived.scan([task for task in run if not is_recorded(task)])

    def count(self, tasks: Sequence[FileTask]) -> int:
        """Return the number of changed rows in the files, from footers and deletion vectors."""
        return self._derived.count(tasks)


def _runs(tasks: Sequence[FileTask]) -> Iterator[list[FileTask]]:
    run: list[FileTask] = []
    paths: set[str] = set()
    for task in tasks:
        if task.path in paths or len(run) == _LONGEST_RUN:
            yield run
            run, paths = [], set()
        run.append(task)
        paths.add(task.path)
    if run:
        yield run
