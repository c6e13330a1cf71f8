"""The facts of a report, from columns of the log. No data file is opened or listed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import deltaarrow.operations as operations
from deltaarrow.columnar.numpy_arrays import numbers_of
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import DeltaError
from deltaarrow.features import properties
from deltaarrow.operations.optimize import CompactionRules, FileFigures, compaction_bins, number_partitions
from deltaarrow.schema import render_path
from deltaarrow.snapshot import Snapshot
from deltaarrow.table.inspector import TableInspector
from deltaarrow.table.report.column_skipping import ColumnSkipping, measure_skipping
from deltaarrow.table.report.recent_commits import CommitBytes, read_commit_bytes

__all__ = ["Forecast", "TableFacts", "VacuumForecast", "gather_facts"]

_MOST_COMMITS = 1000


class Forecast(NamedTuple):
    """How many files OPTIMIZE would rewrite, their bytes, and how many files would replace them."""

    num_files: int
    num_bytes: int
    num_new_files: int


@dataclass(frozen=True)
class VacuumForecast:
    """How many files a VACUUM by the log would delete, and their bytes; or why that is not known."""

    num_files: int = 0
    num_bytes: int = 0
    refusal: str | None = None


@dataclass(frozen=True)
class TableFacts:
    """The contents of a report.

    Attributes:
        location: the table, without secrets.
        name: the name of the table.
        version: the open version.
        time: of its commit, in milliseconds since the epoch.
        num_partitions: how many partitions have files.
        partition_columns: their names.
        clustering_columns: their names.
        sizes: the bytes of each file.
        records: the rows of each file, deleted ones included; 0 where not known.
        deleted: the deleted rows of each file.
        uncounted: how many files have no row count.
        loose: how many files have loose statistics.
        history: the newest commits, newest first, as `TableInspector.history`.
        commits_left_out: whether older commits are there.
        bytes_by_version: what the newest versions wrote and removed.
        skipping: how well columns skip.
        compaction: what OPTIMIZE would do; None for a clustered table, which it would cluster.
        vacuum: what VACUUM would do.
        commits_since_checkpoint: how many commits every reader reads.
        checkpoint_interval: after how many commits a checkpoint is due.
    """

    location: str
    name: str | None
    version: int
    time: int
    num_partitions: int
    partition_columns: Sequence[str]
    clustering_columns: Sequence[str]
    sizes: np.ndarray
    records: np.ndarray
    deleted: np.ndarray
    uncounted: int
    loose: int
    history: pa.Table
    commits_left_out: bool
    bytes_by_version: Sequence[CommitBytes]
    skipping: Sequence[ColumnSkipping]
    compaction: Forecast | None
    vacuum: VacuumForecast
    commits_since_checkpoint: int
    checkpoint_interval: int

    @property
    def num_files(self) -> int:
        """How many files are live."""
        return int(self.sizes.size)

    @property
    def num_bytes(self) -> int:
        """The bytes of live files."""
        return _total(self.sizes)

    @property
    def num_rows(self) -> int:
        """The live rows of the files that have a row count."""
        return _total(self.records) - self.num_deleted

    @property
    def num_deleted(self) -> int:
        """The deleted rows that files still hold."""
        return _total(self.deleted)


def _total(numbers: np.ndarray) -> int:
    """Return the sum, however large."""
    listed: list[int] = numbers.tolist()
    return sum(listed)


def gather_facts(snapshot: Snapshot) -> TableFacts:
    """Return the facts of a version, from its log. Raises the errors of reading the log."""
    inspector = TableInspector(snapshot)
    files = inspector.files()
    partitions = {}
    if snapshot.partition_columns:
        struct = files.column("partition").combine_chunks()
        partitions = {
            name: pa.chunked_array([struct.field(place)])
            for place, name in enumerate(snapshot.partition_columns)
        }
    numbers = number_partitions(partitions.values(), files.num_rows)
    sizes = numbers_of(files.column("size_bytes")).astype(np.int64)
    known = files.column("num_records")
    records = np.maximum(0, numbers_of(pc.fill_null(known, 0)).astype(np.int64))
    deleted = np.maximum(0, numbers_of(files.column("deleted_rows")).astype(np.int64))
    clustering = [render_path(path) for path in operations.clustering_columns(snapshot)]
    history = inspector.history(_MOST_COMMITS)
    checkpoint = snapshot.segment.checkpoint
    return TableFacts(
        location=redacted(snapshot.store.uri),
        name=snapshot.metadata.name,
        version=snapshot.version,
        time=history.column("timestamp")[0].value if history.num_rows else snapshot.timestamp_ms,
        num_partitions=len(np.unique(numbers)),
        partition_columns=snapshot.partition_columns,
        clustering_columns=clustering,
        sizes=sizes,
        records=records,
        deleted=deleted,
        uncounted=known.null_count,
        loose=_count_loose(snapshot),
        history=history,
        commits_left_out=history.num_rows == _MOST_COMMITS,
        bytes_by_version=read_commit_bytes(snapshot),
        skipping=measure_skipping(snapshot, partitions),
        compaction=None if clustering else _forecast(snapshot, FileFigures(sizes, records, deleted, numbers)),
        vacuum=_vacuum(snapshot),
        commits_since_checkpoint=snapshot.version - (-1 if checkpoint is None else checkpoint.version),
        checkpoint_interval=properties.CHECKPOINT_INTERVAL.parse(snapshot.configuration),
    )


def _count_loose(snapshot: Snapshot) -> int:
    """Return how many files have lost rows since their statistics were collected."""
    files = snapshot.files(columns=["stats", "deletion_vector"])
    stats = files.filter(pc.is_valid(files.column("deletion_vector"))).column("stats")
    is_tight = pc.match_substring_regex(stats, r'"tightBounds"\s*:\s*true')
    return len(stats) - int(pc.sum(is_tight).as_py() or 0)


def _forecast(snapshot: Snapshot, files: FileFigures) -> Forecast:
    bins = compaction_bins(snapshot, files, CompactionRules())
    return Forecast(sum(len(each.places) for each in bins), sum(each.size for each in bins), len(bins))


def _vacuum(snapshot: Snapshot) -> VacuumForecast:
    try:
        outcome = operations.vacuum_files(snapshot, operations.VacuumOptions(dry_run=True))
    except DeltaError as error:
        return VacuumForecast(refusal=str(error))
    going = outcome.decision.going()
    return VacuumForecast(going.num_rows, int(pc.sum(going.column("size")).as_py() or 0))
