"""The live files of a snapshot that may hold a row matching a predicate.

A very large checkpoint is weighed in tasks, if an executor is in use that runs tasks elsewhere: each task
weighs the files in its part of the checkpoint and answers with row numbers. This process then reads the
wanted columns of these rows.
"""

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from deltaarrow.actions import FILE_SCHEMA
from deltaarrow.expressions import TRUE, And, Predicate, columns_of, conjuncts, variant_paths
from deltaarrow.live_files.checkpoint_source import CheckpointRows, UnreadableRowsError
from deltaarrow.live_files.sources import CommitRows, FileRows, LoadedEvidence, TableRows
from deltaarrow.log import LogState
from deltaarrow.log.file_sources import list_files
from deltaarrow.log.parts import divided
from deltaarrow.runtime.cache import CacheSpace
from deltaarrow.runtime.executors import TaskLimits, run_all
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.schema import StructType
from deltaarrow.statistics import Asked, Verdicts, may_match, statistics_asked

__all__ = ["LiveFiles"]

_COLUMN_BYTES = 2 << 10
"""The memory that Python and Arrow take per table column, however few rows it has."""

_TRIES = 3

_Left = tuple[FileRows, np.ndarray | None]
"""A source, and the rows of it that a predicate keeps; None for all."""


class LiveFiles:
    """The live files of a version; safe to share among threads.

    Args:
        state: the replayed log.
        schema: the logical schema of the table.
        mapping_mode: its column mapping mode.
        partition_columns: their logical names.
    """

    def __init__(
        self, state: LogState, schema: StructType, mapping_mode: str, partition_columns: Sequence[str]
    ) -> None:
        self._state = state
        self._table = schema, mapping_mode, tuple(partition_columns)
        self._partitions = {name.casefold() for name in partition_columns}
        self._cache = CacheSpace()
        self._asked = itertools.count()

    def table(self, predicate: Predicate | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the live files as a table of `FILE_SCHEMA`, or of its named columns.

        With a `predicate`, files that provably hold no matching row are left out; the others may hold some.
        """
        names = list(FILE_SCHEMA.names if columns is None else columns)
        # Equal predicates may have values of different types: 1, 1.0 and true.
        question = repr(predicate)
        return self._cache.find(
            (*names, question),
            lambda: self._left(predicate, names),
            nbytes=lambda table: table.nbytes + len(question) + len(names) * _COLUMN_BYTES,
        )

    def some(self, num_rows: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Return live files that together have so many rows; all of them unless a server tells some."""
        limited = None if self._state.limited is None else self._state.limited(num_rows)
        if limited is None:
            return self.table(None, columns)
        return list_files(limited, list(FILE_SCHEMA.names if columns is None else columns))

    def _left(self, predicate: Predicate | None, columns: Sequence[str]) -> pa.Table:
        if predicate is None:
            return list_files(self._state, columns)
        narrowed = None if self._state.narrowed is None else self._state.narrowed(predicate)
        if narrowed is not None:
            return self._left_in(narrowed, predicate, columns)
        return self._state.through_cleanup(lambda state: self._left_in(state, predicate, columns))

    def _left_in(self, state: LogState, predicate: Predicate, columns: Sequence[str]) -> pa.Table:
        is_in_memory = not state.file_actions[1]
        is_small = state.checkpoint_bytes <= state.limits.listed_bytes
        if is_in_memory or not (is_small and next(self._asked)):
            for _ in range(_TRIES):
                try:
                    left = self._left_in_tasks(state, predicate) or [
                        (each, self._rows_left(each, predicate)) for each in _checkpoint_rows(state, state)
                    ]
                    if (commits := self._recent(state)) is not None:
                        left.append((commits, self._rows_left(commits, predicate)))
                    sources = [source for source, _ in left]
                    tables = [source.table(rows, columns) for source, rows in left]
                    if all(each.are_current() for each in sources if isinstance(each, CheckpointRows)):
                        return pa.concat_tables(tables) if tables else list_files(state, columns)
                except UnreadableRowsError:
                    break
        listed = self._listed() if is_small else TableRows(list_files(state))
        return listed.table(self._rows_left(listed, predicate), columns)

    def _recent(self, state: LogState) -> CommitRows | None:
        """The rows of the commits after the checkpoint; None if there are none."""
        if not state.file_actions[0].adds:
            return None
        return self._commits if state is self._state else CommitRows(state)

    def rows_left(self, predicate: Predicate) -> "list[_RowsLeft] | None":
        """Return the rows that a predicate keeps of each group of checkpoint files.

        None if the files must be listed for an answer.
        """
        try:
            sources = _checkpoint_rows(self._state, self._state)
            found = [_RowsLeft(each.identity, self._rows_left(each, predicate)) for each in sources]
        except UnreadableRowsError:
            return None
        return found if all(each.are_current() for each in sources) else None

    def _left_in_tasks(self, state: LogState, predicate: Predicate) -> list[_Left]:
        """The rows of the checkpoint that tasks of an executor keep; none if there are no such tasks."""
        parts = divided(state) if self._weighs(predicate) else []
        if not parts:
            return []
        tasks = [_PartTask(part, self._table, predicate) for part in parts]
        limits = TaskLimits(len(tasks), "deltaarrow-files")
        found = run_all(tasks, limits)
        left: list[_Left] = []
        for place, part in enumerate(parts):
            answers, sources = found[place], _checkpoint_rows(state, part)
            if answers is None or [each.identity for each in answers] != [each.identity for each in sources]:
                return []
            left += [(source, each.rows) for source, each in zip(sources, answers, strict=True)]
        return left

    def _weighs(self, predicate: Predicate) -> bool:
        """Whether a predicate looks at partition values or statistics of files."""
        return any(
            not isinstance(statistics_asked(stage, *self._table)[1], bool)
            for stage in self._stages(predicate)
        )

    @cached_property
    def _commits(self) -> CommitRows:
        return CommitRows(self._state)

    def _listed(self) -> TableRows:
        """All files, in memory."""
        return self._cache.find("listed", lambda: TableRows(list_files(self._state)))

    def _rows_left(self, source: FileRows, predicate: Predicate) -> np.ndarray | None:
        """The rows of a source that the predicate keeps; None for all.

        Conditions on partition values come first. Statistics are read for all rows and cached, or only for
        the remaining rows if these are few. Statistics of variants are decoded one by one and read only for
        the rows that all other conditions keep.
        """
        stages, evidence = self._stages(predicate), source.evidence
        rows: np.ndarray | None = None
        for stage in stages:
            asked, verdict = statistics_asked(stage, *self._table)
            if isinstance(verdict, bool):
                rows = _rows(verdict, rows)
                continue
            is_some = rows is not None and len(rows) <= len(source) * self._state.limits.selective
            is_variant = stage is stages[-1]
            if rows is None or not (is_variant or is_some) or evidence.holds(asked):
                verdicts = self._verdicts(stage, asked, evidence)
                if rows is not None and not isinstance(verdicts, bool):
                    verdicts = verdicts[rows]
                rows = _rows(verdicts, rows)
            elif len(rows):
                rows = _rows(self._verdicts(stage, asked, evidence.at(rows)), rows)
        return rows

    def _stages(self, predicate: Predicate) -> tuple[Predicate, Predicate, Predicate]:
        """The conjuncts on partition values alone, those on data columns, and those on variants."""
        stages: tuple[list[Predicate], list[Predicate], list[Predicate]] = ([], [], [])
        for part in conjuncts(predicate):
            names = {path[0].casefold() for path in columns_of(part)}
            stages[2 if variant_paths(part) else 0 if names <= self._partitions else 1].append(part)
        by_partitions, by_statistics, by_variants = (And(tuple(parts)) if parts else TRUE for parts in stages)
        return by_partitions, by_statistics, by_variants

    def _verdicts(self, predicate: Predicate, asked: Sequence[Asked], evidence: LoadedEvidence) -> Verdicts:
        evidence.load(asked)
        return may_match(predicate, evidence, *self._table)


def _checkpoint_rows(state: LogState, part: LogState) -> list[CheckpointRows]:
    """The rows of those checkpoint files of a version that a part of it has."""
    return [CheckpointRows(state, files) for files in part.file_actions[1] if files.holds("add")]


@dataclass(frozen=True)
class _RowsLeft:
    """The rows that a predicate keeps of checkpoint files of one schema.

    Args:
        identity: that of the files, as `CheckpointRows.identity`.
        rows: the numbers of the rows; None for all.
    """

    identity: tuple[Hashable, ...]
    rows: np.ndarray | None


@dataclass(frozen=True)
class _PartTask:
    """Weighs the files in a part of a checkpoint; picklable.

    Args:
        part: the part.
        table: what `LiveFiles` takes besides: schema, column mapping mode and partition columns.
        predicate: the predicate.
    """

    part: LogState
    table: tuple[StructType, str, tuple[str, ...]]
    predicate: Predicate

    def __call__(self) -> list[_RowsLeft] | None:
        return LiveFiles(self.part, *self.table).rows_left(self.predicate)


def _rows(verdicts: Verdicts, among: np.ndarray | None) -> np.ndarray | None:
    """The rows for which the verdicts are true, out of `among` or of all (None)."""
    if verdicts is True:
        return among
    if verdicts is False:
        return np.empty(0, np.int64)
    return np.flatnonzero(verdicts) if among is None else among[verdicts]
