"""Checks of the log against itself: hint, checkpoints and version checksum against the commits."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.actions import find_commit_info_faults
from deltaarrow.columnar.numpy_arrays import numbers_of
from deltaarrow.compute import sandbox_cursor
from deltaarrow.deletion_vectors import DeletionVectorDescriptor
from deltaarrow.errors import DeltaError
from deltaarrow.features import properties
from deltaarrow.log import (
    LogFile,
    LogFileKind,
    LogSegment,
    LogState,
    VersionChecksum,
    checksum_name,
    list_log,
    read_version_checksum,
    replay,
)
from deltaarrow.log.checksums import FileSizeHistogram
from deltaarrow.log.commits import read_commit
from deltaarrow.log.file_names import LAST_CHECKPOINT
from deltaarrow.log.file_sources import list_files
from deltaarrow.log.last_checkpoint import read_hint
from deltaarrow.log.segment import complete_checkpoints
from deltaarrow.snapshot import Snapshot
from deltaarrow.verify.accounts import (
    domain_differences,
    metadata_differences,
    protocol_differences,
    transaction_differences,
)
from deltaarrow.verify.report import Check, Examination

if TYPE_CHECKING:
    import duckdb

__all__ = ["examine_checkpoints", "examine_checksum", "examine_commit_infos", "examine_hint"]

_EXAMPLES = 3
# The deleted-row count at which each bin of the protocol's histogram begins.
_DELETED_BINS = np.array([0, 1, *(10**n for n in range(1, 8)), 2**31 - 1])


# --- the hint --------------------------------------------------------------------------------------


def examine_hint(found: Examination, snapshot: Snapshot) -> None:
    """Check ``_last_checkpoint``."""
    if not snapshot.store.exists(LAST_CHECKPOINT):
        return
    found.checked[Check.LAST_CHECKPOINT] += 1
    hint = read_hint(snapshot.store, checked=True)
    if hint is None:
        found.warning(Check.LAST_CHECKPOINT, "it is not a JSON object with a valid checksum", LAST_CHECKPOINT)
        return
    versions = {checkpoint.version for checkpoint in complete_checkpoints(list_log(snapshot.store))}
    if hint not in versions:
        what = f"it names a checkpoint of version {hint}, but no complete one exists"
        found.warning(Check.LAST_CHECKPOINT, what, LAST_CHECKPOINT)
    elif hint < max(versions):
        what = f"it names the checkpoint of version {hint}, but one of version {max(versions)} exists"
        found.warning(Check.LAST_CHECKPOINT, what, LAST_CHECKPOINT)


# --- commits ---------------------------------------------------------------------------------------


def examine_commit_infos(found: Examination, snapshot: Snapshot) -> None:
    """Check for every remaining commit whether delta-spark can parse its `commitInfo`."""
    for file in list_log(snapshot.store):
        if file.kind is not LogFileKind.COMMIT or file.version > snapshot.version:
            continue
        found.checked[Check.COMMIT_INFO] += 1
        try:
            actions = read_commit(snapshot.store, file.name)
        except DeltaError as error:
            found.error(Check.COMMIT_INFO, f"the commit cannot be read: {error}", file.name)
            continue
        for info in (action["commitInfo"] for action in actions if action.get("commitInfo") is not None):
            for fault in find_commit_info_faults(info):
                told = found.error if fault.hides_table else found.warning
                what = "the table" if fault.hides_table else "its history"
                told(
                    Check.COMMIT_INFO,
                    f"{fault.key} is not {fault.wanted}, so delta-spark cannot read {what}",
                    file.name,
                )


# --- checkpoints -----------------------------------------------------------------------------------


def examine_checkpoints(found: Examination, snapshot: Snapshot, *, deep: bool) -> None:
    """Compare checkpoints with the commits up to them, if those commits exist."""
    files = list_log(snapshot.store)
    known: LogState | None = None
    # Newer checkpoints than the one that was read are broken.
    read = snapshot.segment.checkpoint
    for checkpoint in complete_checkpoints(files):
        is_wanted = deep or read is None or checkpoint.version >= read.version
        if not is_wanted or checkpoint.version > snapshot.version:
            continue
        commits = _commits_up_to(checkpoint.version, files)
        if commits is None:
            continue
        found.checked[Check.CHECKPOINT] += 1
        where = checkpoint.files[0].name
        base = ""
        if commits.checkpoint is not None:
            base = f" (from the checkpoint of version {commits.checkpoint.version} on)"
        alone = LogSegment(checkpoint.version, checkpoint, (), commits.last_commit)
        try:
            known = expected = replay(snapshot.store, commits, known, by_checksum=False)
            for what in _state_differences(replay(snapshot.store, alone, falls_back=False), expected):
                found.error(Check.CHECKPOINT, f"{what}{base}", where)
        except DeltaError as error:
            found.error(Check.CHECKPOINT, f"it cannot be compared with the commits: {error}", where)


def _commits_up_to(version: int, files: Sequence[LogFile]) -> LogSegment | None:
    """The commits that make a version, on top of the oldest checkpoint from which they continue.

    Log compactions are left out, because they cannot testify against a checkpoint. None if commits are
    missing.
    """
    commits = {file.version: file for file in files if file.kind is LogFileKind.COMMIT}
    first = version + 1
    while first - 1 in commits:
        first -= 1
    base = None
    if first > 0:
        older = (c for c in complete_checkpoints(files) if first - 1 <= c.version < version)
        if (base := next(older, None)) is None:
            return None
        first = base.version + 1
    deltas = tuple(commits[each] for each in range(first, version + 1))
    return LogSegment(version, base, deltas, commits.get(version))


def _state_differences(said: LogState, expected: LogState) -> Iterator[str]:
    yield from protocol_differences(said.protocol, expected.protocol)
    yield from metadata_differences(said.metadata, expected.metadata)
    configuration = expected.metadata.configuration
    yield from transaction_differences(said.transactions, expected.transactions, configuration)
    yield from domain_differences(said.domains, expected.domains)
    yield from _file_differences(said, expected)


_FILE_COLUMNS = (
    "path",
    "size",
    "partition_values",
    "deletion_vector",
    "base_row_id",
    "default_row_commit_version",
)
# Maps are compared as sorted entries, because the order of entries has no meaning.
_FILES_SQL = """
    SELECT path, size, list_sort(map_entries(partition_values)), deletion_vector, base_row_id,
        default_row_commit_version
    FROM {}
"""


def _file_differences(said: LogState, expected: LogState) -> Iterator[str]:
    with sandbox_cursor() as cursor:
        cursor.register("said", list_files(said, _FILE_COLUMNS))
        cursor.register("expected", list_files(expected, _FILE_COLUMNS))
        for one, other, what in (
            ("said", "expected", "it lists files that the commits do not list, or list differently"),
            ("expected", "said", "it lacks files that the commits list, or lists them differently"),
        ):
            paths = _paths_apart(cursor, one, other)
            if paths:
                named = ", ".join(map(repr, paths[:_EXAMPLES]))
                more = f" and {len(paths) - _EXAMPLES} more" if len(paths) > _EXAMPLES else ""
                yield f"{what}: {named}{more}"


def _paths_apart(cursor: "duckdb.DuckDBPyConnection", one: str, other: str) -> list[str]:
    query = f"SELECT path FROM ({_FILES_SQL.format(one)} EXCEPT {_FILES_SQL.format(other)}) ORDER BY path"
    return [path for (path,) in cursor.execute(query).fetchall()]


# --- the version checksum --------------------------------------------------------------------------


def examine_checksum(found: Examination, snapshot: Snapshot, files: pa.Table) -> None:
    """Compare the version checksum with replay; `files` are the live files."""
    name = checksum_name(snapshot.version)
    checksum = read_version_checksum(snapshot.store, snapshot.version)
    if checksum is None:
        if snapshot.store.exists(name):
            found.checked[Check.VERSION_CHECKSUM] += 1
            found.warning(Check.VERSION_CHECKSUM, "it is not a valid version checksum", name)
        return
    found.checked[Check.VERSION_CHECKSUM] += 1
    for what in _checksum_differences(checksum, snapshot, files):
        found.error(Check.VERSION_CHECKSUM, what, name)


def _checksum_differences(checksum: VersionChecksum, snapshot: Snapshot, files: pa.Table) -> Iterator[str]:
    if checksum.protocol is not None:
        yield from protocol_differences(checksum.protocol, snapshot.protocol)
    if checksum.metadata is not None:
        yield from metadata_differences(checksum.metadata, snapshot.metadata)
    if checksum.transactions is not None:
        yield from transaction_differences(
            checksum.transactions, snapshot.transactions, snapshot.configuration
        )
    if checksum.domains is not None:
        yield from domain_differences(checksum.domains, snapshot.domains)
    sizes = numbers_of(files.column("size"))
    vectors = files.column("deletion_vector").combine_chunks()
    deleted = numbers_of(pc.fill_null(pc.struct_field(vectors, "cardinality"), 0))
    dated = properties.ENABLE_IN_COMMIT_TIMESTAMPS.parse(snapshot.configuration)
    in_commit_timestamp = snapshot.timestamp_ms if dated and snapshot.segment.last_commit else None
    for key, said, actual in (
        ("numProtocol", checksum.num_protocol, 1),
        ("numMetadata", checksum.num_metadata, 1),
        ("numFiles", checksum.num_files, len(sizes)),
        ("tableSizeBytes", checksum.table_size_bytes, int(sizes.sum())),
        ("numDeletionVectorsOpt", checksum.num_deletion_vectors, len(vectors) - vectors.null_count),
        ("numDeletedRecordsOpt", checksum.num_deleted_records, int(deleted.sum())),
        ("inCommitTimestampOpt", checksum.in_commit_timestamp, in_commit_timestamp),
    ):
        if said is not None and actual is not None and said != actual:
            yield f"{key} is {said}, but the log says {actual}"
    if checksum.deleted_record_counts is not None:
        bins = np.searchsorted(_DELETED_BINS, deleted, side="right") - 1
        counts = np.bincount(bins, minlength=len(_DELETED_BINS))
        if checksum.deleted_record_counts != tuple(counts.tolist()):
            yield "the histogram of deleted rows differs from that of the files in the log"
    if checksum.file_size_histogram is not None and not _is_histogram_of(checksum.file_size_histogram, sizes):
        yield "the histogram of file sizes differs from that of the files in the log"
    if checksum.all_files is not None:
        yield from _listed_differences(checksum, files)


def _is_histogram_of(histogram: FileSizeHistogram, sizes: np.ndarray) -> bool:
    boundaries = np.array(histogram.sorted_bin_boundaries)
    bins = np.searchsorted(boundaries, sizes, side="right") - 1
    if len(bins) and bins.min() < 0:
        return False
    counts = np.bincount(bins, minlength=len(boundaries))
    # Summed as integers: weights would turn them into doubles.
    totals = np.zeros(len(boundaries), np.int64)
    np.add.at(totals, bins, sizes)
    return histogram.file_counts == tuple(counts.tolist()) and histogram.total_bytes == tuple(totals.tolist())


def _listed_differences(checksum: VersionChecksum, files: pa.Table) -> Iterator[str]:
    assert checksum.all_files is not None
    said = {
        (key.path, key.deletion_vector_id): (add.size, dict(add.partition_values))
        for key, add in checksum.all_files.items()
    }
    rows = files.select(["path", "size", "partition_values", "deletion_vector"]).to_pylist(
        maps_as_pydicts="strict"
    )
    found = {
        (row["path"], _vector_id(row["deletion_vector"])): (row["size"], row["partition_values"])
        for row in rows
    }
    different = sorted(key[0] for key in {*said, *found} if said.get(key) != found.get(key))
    if different:
        yield f"allFiles and the log disagree on {', '.join(map(repr, different[:_EXAMPLES]))}"


def _vector_id(vector: dict[str, Any] | None) -> str:
    return "" if vector is None else DeletionVectorDescriptor(**vector).unique_id
