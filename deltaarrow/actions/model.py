"""The actions of a commit: one dataclass each, chapter "Actions" of the protocol.

Fields are in the order in which delta-spark writes them. Unknown fields of newer writers are kept in `extra`
and written again, so that rewriting an action loses nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from deltaarrow.deletion_vectors import DeletionVectorDescriptor

__all__ = [
    "Action",
    "AddCDCFile",
    "AddFile",
    "CheckpointMetadata",
    "CommitInfo",
    "DomainMetadata",
    "Format",
    "Metadata",
    "Protocol",
    "RemoveFile",
    "SetTransaction",
    "Sidecar",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Format:
    """The encoding of data files; only ``parquet`` is in use."""

    provider: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Protocol:
    """The versions and table features that readers and writers must support."""

    KEY: ClassVar[str] = "protocol"

    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] | None = None
    writer_features: tuple[str, ...] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Metadata:
    """Schema, partition columns and properties of a table."""

    KEY: ClassVar[str] = "metaData"

    id: str
    name: str | None = None
    description: str | None = None
    format: Format = field(default_factory=Format)
    schema_string: str
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    created_time: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class AddFile:
    """A logical file of the table: a data file and possibly a deletion vector.

    `path` is the text in the log (a percent-encoded URI reference), `stats` the JSON text.
    """

    KEY: ClassVar[str] = "add"

    path: str
    partition_values: Mapping[str, str | None]
    size: int
    modification_time: int
    data_change: bool
    stats: str | None = None
    tags: Mapping[str, str] | None = None
    deletion_vector: DeletionVectorDescriptor | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    clustering_provider: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoveFile:
    """The tombstone of a logical file."""

    KEY: ClassVar[str] = "remove"

    path: str
    deletion_timestamp: int | None = None
    data_change: bool
    extended_file_metadata: bool | None = None
    partition_values: Mapping[str, str | None] | None = None
    size: int | None = None
    stats: str | None = None
    tags: Mapping[str, str] | None = None
    deletion_vector: DeletionVectorDescriptor | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class AddCDCFile:
    """A change data file; it belongs to one version and never to a snapshot."""

    KEY: ClassVar[str] = "cdc"

    path: str
    partition_values: Mapping[str, str | None]
    size: int
    data_change: bool = False
    tags: Mapping[str, str] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class SetTransaction:
    """The progress of an application, by which it can repeat a write without duplicating it."""

    KEY: ClassVar[str] = "txn"

    app_id: str
    version: int
    last_updated: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class DomainMetadata:
    """A named text that a feature or a user stores in the table."""

    KEY: ClassVar[str] = "domainMetadata"

    domain: str
    configuration: str
    removed: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitInfo:
    """Who committed what and when; informative, except for the in-commit timestamp."""

    KEY: ClassVar[str] = "commitInfo"

    in_commit_timestamp: int | None = None
    timestamp: int | None = None
    user_id: str | None = None
    user_name: str | None = None
    operation: str | None = None
    operation_parameters: Mapping[str, Any] | None = None
    read_version: int | None = None
    isolation_level: str | None = None
    is_blind_append: bool | None = None
    operation_metrics: Mapping[str, Any] | None = None
    user_metadata: str | None = None
    tags: Mapping[str, Any] | None = None
    engine_info: str | None = None
    txn_id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointMetadata:
    """The header of a V2 checkpoint."""

    KEY: ClassVar[str] = "checkpointMetadata"

    version: int
    tags: Mapping[str, str] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sidecar:
    """A Parquet file with file actions that belongs to a V2 checkpoint."""

    KEY: ClassVar[str] = "sidecar"

    path: str
    size_in_bytes: int
    modification_time: int
    tags: Mapping[str, str] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


Action = (
    Protocol
    | Metadata
    | AddFile
    | RemoveFile
    | AddCDCFile
    | SetTransaction
    | DomainMetadata
    | CommitInfo
    | CheckpointMetadata
    | Sidecar
)
