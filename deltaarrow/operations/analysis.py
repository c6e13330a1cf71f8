"""ANALYZE: replaces missing and wide statistics of data files by tight ones; rewrites no file.

The log tells which files need it. Their footers are read, and the live rows of columns that a footer does not
tell exactly. Files whose statistics change are added again under their paths, without a change of data, as
delta-spark's recomputation does; their vectors, tags, row ids and clustering provider stay. Chapters *Add
File and Remove File* and *Per-file Statistics* of the protocol.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.columnar.numpy_arrays import integers
from deltaarrow.errors import ConcurrentAppendException, ConcurrentDeleteReadException, SchemaMismatchError
from deltaarrow.features import ensure_writable, is_supported
from deltaarrow.operations.commit.transaction_start import begin_transaction
from deltaarrow.operations.optimize import Selection, plan_files
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.runtime.executors import TaskLimits, executor_in_use
from deltaarrow.scan import RecountTask, RowCondition, ScanPlan, table_layout
from deltaarrow.schema import render_path
from deltaarrow.snapshot import Snapshot
from deltaarrow.statistics import (
    StatisticsColumn,
    are_tight,
    parse_column_names,
    statistics_columns,
    string_prefix_length,
)
from deltaarrow.transaction import CommitProperties, PostCommitHookProperties, add_again

__all__ = ["AnalysisPlan", "analyze_files", "plan_analysis"]

_MOST_CONFLICTS = 15
_REMOTE_FILES_AT_ONCE = 16
_OPERATION = "COMPUTE STATS"
_EVERYTHING = '["true"]'
"""How delta-spark's history spells that all files are meant."""

Progress = Callable[[int, int], None]
"""Called with the number of bytes of data files examined so far and the total."""


_Staged = tuple[dict[str, Any], str]
"""A row of `Snapshot.files` and the new statistics of the file."""


@dataclass(frozen=True)
class AnalysisPlan:
    """What an ANALYZE is going to examine, decided from the log: nothing is opened for it.

    Attributes:
        scan: the files to examine.
        columns: the columns that get statistics, by physical paths.
        names: their logical paths.
        considered: how many files of the table the choice was made from.
        keeps_others: whether statistics of other columns stay.
        predicate: which partitions are meant, as history spells it.
    """

    scan: ScanPlan
    columns: tuple[StatisticsColumn, ...]
    names: tuple[tuple[str, ...], ...]
    considered: int
    keeps_others: bool
    predicate: str

    @property
    def num_files(self) -> int:
        """How many files are examined."""
        return len(self.scan.tasks)

    @property
    def num_bytes(self) -> int:
        """How many bytes these files have; of most files only the footer is read."""
        return self.scan.size

    @property
    def paths(self) -> list[str]:
        """The files, by their names in the table."""
        found: list[str] = self.scan.files.column("path").to_pylist()
        return found

    def __repr__(self) -> str:
        columns = [render_path(path) for path in self.names]
        return f"AnalysisPlan(files={self.num_files}, bytes={self.num_bytes}, columns={columns})"


def plan_analysis(
    snapshot: Snapshot,
    columns: Sequence[str] | None,
    conditions: tuple[RowCondition, ...] = (),
    predicate: str | None = None,
    *,
    full: bool = False,
) -> AnalysisPlan:
    """Plan which files to examine.

    Args:
        snapshot: the table.
        columns: names in Spark's notation; all columns with statistics if None.
        conditions: which partitions are meant, on partition columns alone.
        predicate: their SQL text.
        full: whether files are examined whose statistics look tight.

    Raises `SchemaMismatchError` for a column that has no statistics, and `InvalidPredicateError` for a
    condition that is not on partition columns.
    """
    ensure_writable(snapshot.protocol, snapshot.metadata, "append")
    given = (snapshot.schema, snapshot.partition_columns, snapshot.configuration)
    physical = statistics_columns(*given, snapshot.mapping_mode)
    logical = tuple(each.path for each in statistics_columns(*given))
    pairs = list(zip(physical, logical, strict=True))
    if columns is not None:
        pairs = _chosen(pairs, columns)
    chosen = tuple(each for each, _ in pairs)
    keeps_others = len(chosen) < len(physical)
    selection = Selection(conditions, predicate)
    planned = plan_files(snapshot, selection)
    planned = replace(planned, layout=table_layout(snapshot).as_stored)
    needs = [
        full
        or not are_tight(
            task.stats,
            chosen,
            None if task.deletion_vector is None else task.deletion_vector.cardinality,
            alone=not keeps_others,
        )
        for task in planned.tasks
    ]
    files = planned.files.filter(pa.array(needs, pa.bool_()))
    return AnalysisPlan(
        ScanPlan(planned.layout, planned.version, planned.columns, files),
        chosen,
        tuple(path for _, path in pairs),
        planned.files.num_rows,
        keeps_others,
        selection.text if conditions else _EVERYTHING,
    )


def _chosen(
    pairs: Sequence[tuple[StatisticsColumn, tuple[str, ...]]], columns: Sequence[str]
) -> list[tuple[StatisticsColumn, tuple[str, ...]]]:
    if isinstance(columns, str):
        raise TypeError("columns is a list of names, not one text")
    wanted: set[tuple[str, ...]] = set()
    for name in columns:
        for path in parse_column_names(name):
            folded = tuple(part.lower() for part in path)
            if not any(tuple(map(str.lower, each))[: len(folded)] == folded for _, each in pairs):
                known = ", ".join(render_path(each) for _, each in pairs)
                raise SchemaMismatchError(
                    f"the table keeps no statistics of {name!r} (it does of: {known or 'no column'}); set"
                    " delta.dataSkippingStatsColumns or delta.dataSkippingNumIndexedCols first"
                )
            wanted.add(folded)
    return [
        (each, path)
        for each, path in pairs
        if any(tuple(map(str.lower, path))[: len(folded)] == folded for folded in wanted)
    ]


def analyze_files(
    snapshot: Snapshot,
    plan: AnalysisPlan,
    *,
    max_concurrent_tasks: int | None = None,
    progress: Progress | None = None,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    clock: Clock = system_clock,
) -> dict[str, int]:
    """Carry out a plan and return how many files were considered, examined, read and updated.

    Nothing is committed if no statistics change. A file that another writer removes meanwhile, or adds again
    with other deleted rows or statistics, is left out.

    Raises what reading files raises, `MetadataChangedException` if another writer changes the metadata, and
    the exceptions of commits.
    """
    news, read = _recounted(snapshot, plan, max_concurrent_tasks, progress or (lambda done, total: None))
    given, updated = commit_properties, 0
    rows = plan.scan.files.take(integers(sorted(news))).to_pylist(maps_as_pydicts="strict")
    staged = [(row, news[place]) for place, row in zip(sorted(news), rows, strict=True)]
    for attempt in range(_MOST_CONFLICTS + 1):
        if not staged:
            break
        transaction = begin_transaction(snapshot, _OPERATION, given, hook_properties, clock=clock)
        transaction.parameters = {"predicate": plan.predicate}
        transaction.read.files.update(row["path"] for row, _ in staged)
        transaction.stage([replace(add_again(row, data_change=False), stats=stats) for row, stats in staged])
        try:
            transaction.commit()
            updated = len(staged)
            break
        except (ConcurrentDeleteReadException, ConcurrentAppendException):
            if attempt == _MOST_CONFLICTS:
                raise
        snapshot = snapshot.update()
        staged = _still_there(snapshot, staged)
    return {
        "numFilesConsidered": plan.considered,
        "numFilesExamined": plan.num_files,
        "numFilesRead": read,
        "numFilesUpdated": updated,
    }


def _recounted(
    snapshot: Snapshot, plan: AnalysisPlan, threads: int | None, progress: Progress
) -> tuple[Mapping[int, str], int]:
    """Return the statistics that change, by place in the plan, and of how many files rows were read."""
    news: dict[int, str] = {}
    read = done = 0
    threads = threads or (os.cpu_count() or 1 if snapshot.store.is_local else _REMOTE_FILES_AT_ONCE)
    calls = [task.run for task in _tasks(snapshot, plan)]
    limits = TaskLimits(threads, "deltaarrow-analyze", [task.size for task in plan.scan.tasks])
    with contextlib.closing(executor_in_use().run(calls, limits)) as results:
        for place, found in results:
            task = plan.scan.tasks[place]
            read += found.columns_read > 0
            done += task.size
            if _object_of(task.stats) != orjson.loads(found.stats):
                news[place] = found.stats
            progress(done, plan.num_bytes)
    return news, read


def _tasks(snapshot: Snapshot, plan: AnalysisPlan) -> Iterator[RecountTask]:
    prefix = string_prefix_length(snapshot.configuration)
    flag = True if is_supported(snapshot.protocol, "deletionVectors") else None
    for task in plan.scan.tasks:
        tight, keeps = flag, False
        if plan.keeps_others and (present := _object_of(task.stats)) is not None:
            # The flag is true of all columns, or of none.
            said = present.get("tightBounds")
            tight, keeps = said if isinstance(said, bool) else None, True
        yield RecountTask(plan.scan.layout, task, plan.columns, plan.names, prefix, tight, keeps)


def _object_of(stats: str | None) -> dict[str, Any] | None:
    try:
        found = orjson.loads(stats or "null")
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _still_there(snapshot: Snapshot, staged: Sequence[_Staged]) -> list[_Staged]:
    """Return the files that are as they were: with the same deleted rows and statistics."""
    # A checkpoint keeps no dataChange.
    files = snapshot.files(columns=[name for name in staged[0][0] if name != "data_change"])
    files = files.filter(pc.is_in(files.column("path"), pa.array([row["path"] for row, _ in staged])))
    newest = {row["path"]: row for row in files.to_pylist(maps_as_pydicts="strict")}
    return [
        (row, stats)
        for row, stats in staged
        if (found := newest.get(row["path"])) is not None and found.items() <= row.items()
    ]
