"""Version checksums: chapters "Version Checksum File" and "State Validation" of the protocol.

``N.crc`` is what the writer of version N states about the whole table: its protocol, metadata, transactions
and domains, and the number and sizes of its files. It is advisory: a file that cannot be read or understood
is ignored, never an error. A good one saves reading a long log, and is compared with the log once the log is
read, since nothing else reveals a damaged checkpoint. Rows never depend on it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import orjson

from deltaarrow.actions import (
    AddFile,
    DomainMetadata,
    FileActionKey,
    Metadata,
    Protocol,
    SetTransaction,
    parse_fields,
)
from deltaarrow.errors import CorruptLogError, DeltaProtocolError, StorageError
from deltaarrow.log.file_names import checksum_name
from deltaarrow.log.segment import LogSegment
from deltaarrow.schema import schema_of_log
from deltaarrow.storage import Store

__all__ = [
    "FileSizeHistogram",
    "VersionChecksum",
    "ensure_agreement",
    "ensure_counted",
    "find_contradiction",
    "parse_version_checksum",
    "read_held_checksum",
    "read_shortcut",
    "read_version_checksum",
]

_LONG_TAIL = 16
"""Reading this many commits takes longer than reading the checksum of the last one."""
_CHECKPOINT_BYTES = 64_000
"""Opening a checkpoint takes at least as long as reading this many bytes of JSON."""

T = TypeVar("T")


class FileSizeHistogram(NamedTuple):
    """File counts and total bytes per bin; each of the ascending boundaries begins a bin."""

    sorted_bin_boundaries: tuple[int, ...]
    file_counts: tuple[int, ...]
    total_bytes: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class VersionChecksum:
    """The totals that a writer states for a version; None for what it does not state.

    Sizes are in bytes, `in_commit_timestamp` is in milliseconds since the epoch. The ten members of
    `deleted_record_counts` count the files with 0, 1 to 9, 10 to 99 and so on deleted rows, the last one
    those with 2147483647 or more. Unknown keys are kept in `extra`.
    """

    table_size_bytes: int
    num_files: int
    num_metadata: int
    num_protocol: int
    txn_id: str | None = None
    in_commit_timestamp: int | None = None
    transactions: Mapping[str, SetTransaction] | None = None
    domains: Mapping[str, DomainMetadata] | None = None
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    file_size_histogram: FileSizeHistogram | None = None
    all_files: Mapping[FileActionKey, AddFile] | None = None
    num_deleted_records: int | None = None
    num_deletion_vectors: int | None = None
    deleted_record_counts: tuple[int, ...] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


_KEYS = {
    "txnId",
    "tableSizeBytes",
    "numFiles",
    "numMetadata",
    "numProtocol",
    "inCommitTimestampOpt",
    "setTransactions",
    "domainMetadata",
    "metadata",
    "protocol",
    "fileSizeHistogram",
    # The histogram's name before it was in the protocol.
    "histogramOpt",
    "allFiles",
    "numDeletedRecordsOpt",
    "numDeletionVectorsOpt",
    "deletedRecordCountsHistogramOpt",
}
_DELETED_RECORD_BINS = 10


def _of_type(cls: type[T], value: Any) -> T:
    if not isinstance(value, cls) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not of type {cls.__name__}")
    return value


def _optional(cls: type[T], value: Any) -> T | None:
    return None if value is None else _of_type(cls, value)


def _counts(value: Any, length: int) -> tuple[int, ...]:
    counts = tuple(_of_type(list, value))
    if not {int}.issuperset(map(type, counts)):
        raise TypeError("a count that is not an integer")
    if len(counts) != length:
        raise ValueError(f"{len(counts)} counts for {length} bins")
    return counts


def _histogram(value: Mapping[str, Any]) -> FileSizeHistogram:
    boundaries = _counts(bounds := value["sortedBinBoundaries"], len(bounds))
    if list(boundaries) != sorted(set(boundaries)) or boundaries[:1] != (0,):
        raise ValueError("the bin boundaries do not ascend from 0")
    return FileSizeHistogram(
        boundaries,
        _counts(value["fileCounts"], len(boundaries)),
        _counts(value["totalBytes"], len(boundaries)),
    )


def _parse(obj: dict[str, Any]) -> VersionChecksum:
    transactions = _optional(list, obj.get("setTransactions"))
    domains = _optional(list, obj.get("domainMetadata"))
    files = _optional(list, obj.get("allFiles"))
    metadata = _optional(dict, obj.get("metadata"))
    protocol = _optional(dict, obj.get("protocol"))
    histogram = _optional(dict, obj.get("fileSizeHistogram", obj.get("histogramOpt")))
    deleted = _optional(dict, obj.get("deletedRecordCountsHistogramOpt"))
    return VersionChecksum(
        table_size_bytes=_of_type(int, obj["tableSizeBytes"]),
        num_files=_of_type(int, obj["numFiles"]),
        num_metadata=_of_type(int, obj["numMetadata"]),
        num_protocol=_of_type(int, obj["numProtocol"]),
        txn_id=_optional(str, obj.get("txnId")),
        in_commit_timestamp=_optional(int, obj.get("inCommitTimestampOpt")),
        transactions=None
        if transactions is None
        else {_of_type(str, txn["appId"]): parse_fields(SetTransaction, txn) for txn in transactions},
        domains=None
        if domains is None
        else {_of_type(str, each["domain"]): parse_fields(DomainMetadata, each) for each in domains},
        metadata=None if metadata is None else parse_fields(Metadata, metadata),
        protocol=None if protocol is None else parse_fields(Protocol, protocol),
        file_size_histogram=None if histogram is None else _histogram(histogram),
        all_files=None
        if files is None
        else {FileActionKey.from_json(add): parse_fields(AddFile, add) for add in files},
        num_deleted_records=_optional(int, obj.get("numDeletedRecordsOpt")),
        num_deletion_vectors=_optional(int, obj.get("numDeletionVectorsOpt")),
        deleted_record_counts=None
        if deleted is None
        else _counts(deleted["deletedRecordCounts"], _DELETED_RECORD_BINS),
        extra={key: value for key, value in obj.items() if key not in _KEYS},
    )


def parse_version_checksum(data: bytes) -> VersionChecksum | None:
    """Parse a version checksum; None unless it is one JSON object of the expected form.

    >>> parse_version_checksum(b'{"tableSizeBytes":7,"numFiles":1,"numMetadata":1,"numProtocol":1}').num_files
    1
    >>> parse_version_checksum(b"torn") is None
    True
    """
    try:
        return _parse(_of_type(dict, orjson.loads(data)))
    except (ValueError, TypeError, KeyError, AttributeError, DeltaProtocolError):
        return None


def read_version_checksum(store: Store, version: int) -> VersionChecksum | None:
    """Read the checksum of a version; None when there is none that can be read and parsed."""
    name = checksum_name(version)
    try:
        data = store.read(name)
    except FileNotFoundError:
        return None
    except (OSError, StorageError) as error:
        import logging

        logging.getLogger(__name__).warning("%s is ignored: %s", name, error)
        return None
    return parse_version_checksum(data)


def read_held_checksum(
    store: Store, segment: LogSegment, protocol: Protocol, metadata: Metadata
) -> VersionChecksum | None:
    """Read the checksum of a segment and compare it with the log.

    None without a checksum, or if it contradicts itself. Raises `CorruptLogError` when its protocol or
    metadata differ from the log's.
    """
    said = None if segment.checksum is None else read_version_checksum(store, segment.version)
    if said is None or _contradicts_itself(said) is not None:
        return None
    ensure_agreement(said, segment, protocol, metadata)
    return said


def ensure_agreement(
    said: VersionChecksum,
    segment: LogSegment,
    protocol: Protocol,
    metadata: Metadata,
    *,
    version: int | None = None,
) -> None:
    """Raise `CorruptLogError` when the protocol or metadata of a checksum differ from the log's.

    `version` is the version of the checksum; None means that of the segment.
    """
    if (what := find_contradiction(said, protocol, metadata)) is not None:
        raise _contradiction(segment, f"another {what} than", version)


def ensure_counted(said: VersionChecksum, segment: LogSegment, files: int, size: int | None = None) -> None:
    """Raise `CorruptLogError` unless the checksum counts the live files of its version correctly.

    `files` is their number, `size` their total bytes if known.
    """
    if said.num_files != files:
        raise _contradiction(segment, f"{said.num_files} files, but there are {files} in")
    if size is not None and said.table_size_bytes != size:
        raise _contradiction(segment, f"{said.table_size_bytes} bytes, but there are {size} in")


def _contradiction(segment: LogSegment, what: str, version: int | None = None) -> CorruptLogError:
    base = "" if segment.checkpoint is None else f", read from {segment.checkpoint.files[0].name} on"
    name = checksum_name(segment.version if version is None else version)
    return CorruptLogError(
        f"{name} says {what} the log{base}: one of them is damaged. Compare both with the commits; the"
        " checksum is advisory: if you delete it, the table is read without it"
    )


def read_shortcut(
    store: Store, segment: LogSegment, *, needs_files: bool
) -> tuple[VersionChecksum, Protocol, Metadata] | None:
    """Read the checksum of a segment if that is much cheaper than reading its log.

    A reader `needs_files` sooner or later and therefore the checkpoint; a writer that only adds files does
    not. None if the checksum is no cheaper, or lacks protocol or metadata.
    """
    said = read_version_checksum(store, segment.version) if _is_shortcut(segment, needs_files) else None
    if said is None or said.protocol is None or said.metadata is None:
        return None
    if find_contradiction(said, said.protocol, said.metadata) is not None:
        return None
    return said, said.protocol, said.metadata


def _is_shortcut(segment: LogSegment, needs_files: bool) -> bool:
    if segment.checksum is None:
        return False
    commits = sum(file.entry.size for file in segment.deltas)
    if not needs_files and segment.checkpoint is not None:
        return segment.checksum.entry.size < _CHECKPOINT_BYTES + commits
    return len(segment.deltas) >= _LONG_TAIL and segment.checksum.entry.size < commits


def _contradicts_itself(checksum: VersionChecksum) -> str | None:
    histogram = checksum.file_size_histogram
    if checksum.num_protocol != 1 or checksum.num_metadata != 1:
        return "number of protocols or metadata"
    if checksum.num_files < 0 or checksum.table_size_bytes < 0:
        return "size"
    if histogram is not None and (
        sum(histogram.file_counts) != checksum.num_files
        or sum(histogram.total_bytes) != checksum.table_size_bytes
    ):
        return "size in its histogram"
    return None


def find_contradiction(checksum: VersionChecksum, protocol: Protocol, metadata: Metadata) -> str | None:
    """Name what contradicts the log, or the checksum itself; None if nothing does."""
    if (what := _contradicts_itself(checksum)) is not None:
        return what
    if checksum.protocol is not None and _signs(checksum.protocol) != _signs(protocol):
        return "protocol"
    said = checksum.metadata
    if said is None or said == metadata:
        return None
    if (said.id, said.partition_columns) != (metadata.id, metadata.partition_columns):
        return "table id or partitioning"
    if dict(said.configuration) != dict(metadata.configuration):
        return "configuration"
    # The same schema may be written with other whitespace or key order.
    if said.schema_string != metadata.schema_string and schema_of_log(said.schema_string) != schema_of_log(
        metadata.schema_string
    ):
        return "schema"
    return None


def _signs(protocol: Protocol) -> tuple[object, ...]:
    features = (frozenset(names or ()) for names in (protocol.reader_features, protocol.writer_features))
    return (protocol.min_reader_version, protocol.min_writer_version, *features)
