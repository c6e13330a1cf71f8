"""Version checksums of new commits: chapter "Version Checksum File" of the protocol.

The checksum of a version is computed from the previous one and the actions of the commit, so its cost does
not depend on the size of the table. If that is impossible, because there is no previous checksum or an action
does not state what it removes, the live files are counted. The files themselves are not listed in it
(`allFiles`), as in delta-spark beyond a few files.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import orjson
import pyarrow as pa

from deltaarrow.actions import (
    Action,
    AddFile,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Protocol,
    RemoveFile,
    SetTransaction,
    render_action,
)
from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import numbers_of
from deltaarrow.features import is_supported, properties
from deltaarrow.log.checksums import FileSizeHistogram, VersionChecksum

__all__ = ["count_checksum", "next_checksum", "render_version_checksum"]

_MB = 1 << 20
_SIZE_BINS = (
    *(0, *(1 << power for power in range(13, 23))),
    *range(8 * _MB, 40 * _MB, 4 * _MB),
    *range(40 * _MB, 120 * _MB, 8 * _MB),
    *range(120 * _MB, 144 * _MB, 4 * _MB),
    *range(144 * _MB, 576 * _MB, 16 * _MB),
    *range(576 * _MB, 1408 * _MB, 64 * _MB),
    *range(1408 * _MB, 2048 * _MB, 128 * _MB),
    *range(2048 * _MB, 4096 * _MB, 256 * _MB),
    *(1 << power for power in range(32, 39)),
)
"""delta-spark's bin boundaries: finest around 128 MiB, the recommended file size."""
_DELETED_BINS = (0, 1, *(10**power for power in range(1, 8)), (1 << 31) - 1)
# With more than this delta-spark writes none of them.
_MOST_TRANSACTIONS = 100
_MOST_DOMAINS = 10


@dataclass
class _Totals:
    """Counts of live files and their deleted rows."""

    files: int = 0
    bytes: int = 0
    counts: list[int] = field(default_factory=lambda: [0] * len(_SIZE_BINS))
    sizes: list[int] = field(default_factory=lambda: [0] * len(_SIZE_BINS))
    vectors: int = 0
    deleted: int = 0
    deleted_counts: list[int] = field(default_factory=lambda: [0] * len(_DELETED_BINS))

    @classmethod
    def of_checksum(cls, said: VersionChecksum) -> Self | None:
        """The counts in a checksum; None if it lacks some or has other bins."""
        histogram = said.file_size_histogram
        if histogram is None or histogram.sorted_bin_boundaries != _SIZE_BINS:
            return None
        assert said.protocol is not None
        if not is_supported(said.protocol, "deletionVectors"):
            vectors, deleted, deleted_counts = 0, 0, (said.num_files, *[0] * (len(_DELETED_BINS) - 1))
        elif (
            said.num_deletion_vectors is None
            or said.num_deleted_records is None
            or said.deleted_record_counts is None
        ):
            return None
        else:
            vectors, deleted = said.num_deletion_vectors, said.num_deleted_records
            deleted_counts = said.deleted_record_counts
        if sum(deleted_counts) != said.num_files:
            return None
        return cls(
            said.num_files,
            said.table_size_bytes,
            list(histogram.file_counts),
            list(histogram.total_bytes),
            vectors,
            deleted,
            list(deleted_counts),
        )

    @classmethod
    def of_files(cls, files: pa.Table) -> Self:
        """Count live files, given with the columns `size` and `deletion_vector`."""
        sizes = numbers_of(files.column("size"))
        vectors = files.column("deletion_vector").combine_chunks()
        deleted = np.zeros(len(sizes), np.int64)
        if vectors.null_count < len(vectors):
            marked = numbers_of(pc.struct_field(vectors.drop_null(), "cardinality"))
            deleted[: len(marked)] = marked  # their order does not matter
        bins = np.searchsorted(_SIZE_BINS, sizes, side="right") - 1
        # Summed as integers: the `weights` of `bincount` would convert them to floats.
        totals = np.zeros(len(_SIZE_BINS), np.int64)
        np.add.at(totals, bins, sizes)
        deleted_bins = np.searchsorted(_DELETED_BINS, deleted, side="right") - 1
        return cls(
            len(sizes),
            int(sizes.sum()),
            np.bincount(bins, minlength=len(_SIZE_BINS)).tolist(),
            totals.tolist(),
            len(vectors) - vectors.null_count,
            int(deleted.sum()),
            np.bincount(deleted_bins, minlength=len(_DELETED_BINS)).tolist(),
        )

    def count(self, file: AddFile | RemoveFile, sign: int) -> bool:
        """Add a file (sign 1) or subtract it (sign -1); False if its counts are unknown or negative."""
        vector = file.deletion_vector
        deleted = 0 if vector is None else vector.cardinality
        if file.size is None or file.size < 0 or deleted < 0:
            return False
        size_bin, deleted_bin = (
            bisect_right(_SIZE_BINS, file.size) - 1,
            bisect_right(_DELETED_BINS, deleted) - 1,
        )
        self.files += sign
        self.bytes += sign * file.size
        self.counts[size_bin] += sign
        self.sizes[size_bin] += sign * file.size
        self.vectors += sign * (vector is not None)
        self.deleted += sign * deleted
        self.deleted_counts[deleted_bin] += sign
        return True

    def take(self, more: Self) -> None:
        """Add the counts of other files."""
        self.files += more.files
        self.bytes += more.bytes
        self.counts = [a + b for a, b in zip(self.counts, more.counts, strict=True)]
        self.sizes = [a + b for a, b in zip(self.sizes, more.sizes, strict=True)]
        self.vectors += more.vectors
        self.deleted += more.deleted
        self.deleted_counts = [a + b for a, b in zip(self.deleted_counts, more.deleted_counts, strict=True)]

    @property
    def are_possible(self) -> bool:
        """Whether no count is below zero; one is if more was subtracted than was there."""
        return min(self.deleted, self.vectors, *self.counts, *self.sizes, *self.deleted_counts) >= 0

    def checksum(self, protocol: Protocol, metadata: Metadata) -> VersionChecksum:
        """The checksum of a version with these files; it counts deleted rows if the protocol allows any."""
        tells_deleted = is_supported(protocol, "deletionVectors")
        return VersionChecksum(
            table_size_bytes=self.bytes,
            num_files=self.files,
            num_metadata=1,
            num_protocol=1,
            metadata=metadata,
            protocol=protocol,
            file_size_histogram=FileSizeHistogram(_SIZE_BINS, tuple(self.counts), tuple(self.sizes)),
            num_deleted_records=self.deleted if tells_deleted else None,
            num_deletion_vectors=self.vectors if tells_deleted else None,
            deleted_record_counts=tuple(self.deleted_counts) if tells_deleted else None,
        )


def count_checksum(
    files: pa.Table,
    protocol: Protocol,
    metadata: Metadata,
    transactions: Mapping[str, SetTransaction],
    domains: Mapping[str, DomainMetadata],
) -> VersionChecksum:
    """Compute the checksum of a version from its complete content.

    Args:
        files: the live files, with the columns `size` and `deletion_vector`.
        protocol: the protocol of the version.
        metadata: the metadata of the version.
        transactions: the `txn` actions, by application.
        domains: the domains that are not removed, by name.
    """
    checksum = _Totals.of_files(files).checksum(protocol, metadata)
    return _with_accounts(checksum, transactions, domains)


def next_checksum(
    previous: VersionChecksum | None, actions: Sequence[Action], files: pa.Table | None = None
) -> VersionChecksum | None:
    """Compute the checksum of the version that a commit makes from the previous one.

    Every added file must be new to the table, and every removed file must be live in it.

    Args:
        previous: the checksum of the previous version; None if the commit creates the table.
        actions: the commit, with its `commitInfo`.
        files: added files that are not among the actions, with the columns `size` and `deletion_vector`.

    Returns:
        None if the new checksum cannot be computed this way; use `count_checksum` then.
    """
    totals = _Totals() if previous is None else _Totals.of_checksum(previous)
    protocol = None if previous is None else previous.protocol
    metadata = None if previous is None else previous.metadata
    transactions = {} if previous is None else previous.transactions
    domains = {} if previous is None else previous.domains
    new_transactions: dict[str, SetTransaction] = {}
    new_domains: dict[str, DomainMetadata] = {}
    info = CommitInfo()
    if totals is None:
        return None
    if files is not None and len(files):
        totals.take(_Totals.of_files(files))
    for action in actions:
        match action:
            case AddFile():
                if not totals.count(action, 1):
                    return None
            case RemoveFile():
                if not totals.count(action, -1):
                    return None
            case Protocol():
                protocol = action
            case Metadata():
                metadata = action
            case SetTransaction():
                new_transactions[action.app_id] = action
            case DomainMetadata():
                new_domains[action.domain] = action
            case CommitInfo():
                info = action
    if protocol is None or metadata is None or not totals.are_possible:
        return None
    checksum = _with_accounts(
        totals.checksum(protocol, metadata),
        None if transactions is None else {**transactions, **new_transactions},
        None
        if domains is None
        else {name: each for name, each in {**domains, **new_domains}.items() if not each.removed},
    )
    return replace(checksum, txn_id=info.txn_id, in_commit_timestamp=info.in_commit_timestamp)


def _with_accounts(
    checksum: VersionChecksum,
    transactions: Mapping[str, SetTransaction] | None,
    domains: Mapping[str, DomainMetadata] | None,
) -> VersionChecksum:
    """Add transactions and domains; each kind is written in full or not at all."""
    assert checksum.metadata is not None
    if transactions is not None and (
        len(transactions) > _MOST_TRANSACTIONS
        # Which of them have expired depends on the time of reading.
        or properties.SET_TRANSACTION_RETENTION.name in checksum.metadata.configuration
    ):
        transactions = None
    if domains is not None and len(domains) > _MOST_DOMAINS:
        domains = None
    return replace(checksum, transactions=transactions, domains=domains)


def render_version_checksum(checksum: VersionChecksum) -> bytes:
    """Return the text of the file, with keys in delta-spark's order; members that are None are left out.

    `all_files` and unknown keys are not written.
    """
    histogram, deleted = checksum.file_size_histogram, checksum.deleted_record_counts
    members: dict[str, Any] = {
        "txnId": checksum.txn_id,
        "tableSizeBytes": checksum.table_size_bytes,
        "numFiles": checksum.num_files,
        "numDeletedRecordsOpt": checksum.num_deleted_records,
        "numDeletionVectorsOpt": checksum.num_deletion_vectors,
        "numMetadata": checksum.num_metadata,
        "numProtocol": checksum.num_protocol,
        "inCommitTimestampOpt": checksum.in_commit_timestamp,
        "setTransactions": _bodies(checksum.transactions),
        "domainMetadata": _bodies(checksum.domains),
        "metadata": _body(checksum.metadata),
        "protocol": _body(checksum.protocol),
        "fileSizeHistogram": None
        if histogram is None
        else {
            "sortedBinBoundaries": histogram.sorted_bin_boundaries,
            "fileCounts": histogram.file_counts,
            "totalBytes": histogram.total_bytes,
        },
        "deletedRecordCountsHistogramOpt": None if deleted is None else {"deletedRecordCounts": deleted},
    }
    return orjson.dumps({key: value for key, value in members.items() if value is not None}) + b"\n"


def _bodies(actions: Mapping[str, Action] | None) -> list[Any] | None:
    return None if actions is None else [_body(action) for action in actions.values()]


def _body(action: Action | None) -> Any:
    return None if action is None else render_action(action)[action.KEY]
