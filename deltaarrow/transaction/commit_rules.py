"""Rules for every commit, from any operation: chapter "Actions" of the protocol.

A commit that breaks one of these rules could not be reconciled or read, so it is never written.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import orjson

import deltaarrow.write as write
from deltaarrow.actions import (
    Action,
    AddCDCFile,
    AddFile,
    DomainMetadata,
    Metadata,
    Protocol,
    RemoveFile,
    SetTransaction,
)
from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import texts
from deltaarrow.deletion_vectors import DeletionVectorDescriptor
from deltaarrow.errors import (
    AppendOnlyError,
    DeltaProtocolError,
    InvalidTablePropertyError,
    UnsupportedFeatureError,
)
from deltaarrow.features import ensure_readable, iceberg_compat_version, is_supported, properties
from deltaarrow.schema import Schema
from deltaarrow.schema.metadata_keys import IDENTITY_HIGH_WATER_MARK_KEY, TABLE_PREFIX
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import decode_path

__all__ = [
    "ensure_live",
    "ensure_marks_stay",
    "ensure_replaced_files_are_removed",
    "ensure_user_domain",
    "ensure_valid_commit",
    "has_row_count",
]

_UNIQUE: dict[type, Callable[[Any], str]] = {
    Metadata: lambda action: "the table",
    Protocol: lambda action: "the table",
    SetTransaction: lambda action: str(action.app_id),
    DomainMetadata: lambda action: str(action.domain),
    AddFile: lambda action: decode_path(action.path),
    RemoveFile: lambda action: decode_path(action.path),
    AddCDCFile: lambda action: decode_path(action.path),
}
"""The kinds of action that may be staged, each with the key that must be unique in a commit."""


def ensure_user_domain(domain: str) -> None:
    """Raise `InvalidTablePropertyError` for a domain that users may not set or remove.

    >>> ensure_user_domain("delta.rowTracking")
    Traceback (most recent call last):
    ...
    deltaarrow.errors.InvalidTablePropertyError: the domain 'delta.rowTracking' is not a user's: engines ...
    """
    if not domain or domain.lower().startswith(TABLE_PREFIX):
        raise InvalidTablePropertyError(
            f"the domain {domain!r} is not a user's: engines keep delta.*; choose another name"
        )


def ensure_marks_stay(staged: Metadata, metadata: Metadata) -> None:
    """Raise `DeltaProtocolError` if new metadata lowers a high water mark that was staged.

    Rows are numbered up to that mark, and later rows would get the same numbers.
    """
    if IDENTITY_HIGH_WATER_MARK_KEY not in staged.schema_string:
        return
    columns = Schema.from_json(metadata.schema_string)
    for field in Schema.from_json(staged.schema_string).fields:
        before, kept = write.identity_column(field), columns.find(field.name)
        if before is None or before.high_water_mark is None or kept is None:
            continue
        after = write.identity_column(kept)
        mark = None if after is None else after.high_water_mark
        if mark is None or (mark - before.high_water_mark) * before.step < 0:
            raise DeltaProtocolError(
                f"the identity column {field.name!r} has numbered rows up to {before.high_water_mark}, but"
                f" the new metadata sets its mark back to {mark}: set metadata before the rows are written"
            )


def ensure_valid_commit(
    actions: Sequence[Action],
    protocol: Protocol | None = None,
    metadata: Metadata | None = None,
    *,
    through_catalog: bool = False,
) -> None:
    """Raise `DeltaProtocolError`, naming the fault, unless `actions` may stand in one commit.

    A commit has at most one `metaData` and one `protocol`; one `txn` per application and one `domainMetadata`
    per domain; one `add` and one `remove` per path, and not both for the same logical file. The table must
    support what the actions need: see the functions below. `protocol` and `metadata` are those of the
    previous version; the commit of a new table must contain both. `through_catalog` says whether a catalog
    manages the table.

    >>> twice = [SetTransaction(app_id="etl", version=version) for version in (1, 2)]
    >>> ensure_valid_commit(twice, Protocol(min_reader_version=1, min_writer_version=2))
    Traceback (most recent call last):
    ...
    deltaarrow.errors.DeltaProtocolError: a commit has two txn actions of etl
    """
    by_kind: dict[type, dict[str, Any]] = {kind: {} for kind in _UNIQUE}
    for action in actions:
        kind = type(action)
        if kind not in _UNIQUE:
            raise DeltaProtocolError(f"a {kind.__name__} cannot be staged for a commit")
        name = _UNIQUE[kind](action)
        if name in by_kind[kind]:
            raise DeltaProtocolError(f"a commit has two {action.KEY} actions of {name}")
        by_kind[kind][name] = action
    adds, removes = by_kind[AddFile], by_kind[RemoveFile]
    for path in adds.keys() & removes.keys():
        if _vector_id(adds[path].deletion_vector) == _vector_id(removes[path].deletion_vector):
            raise DeltaProtocolError(f"a commit adds and removes {path} with the same deletion vector")
    (new_metadata,) = by_kind[Metadata].values() or (None,)
    (new_protocol,) = by_kind[Protocol].values() or (None,)
    # A commit that makes the table append-only may still remove rows, and one that ends it may not yet.
    previous = metadata or new_metadata
    metadata, protocol = new_metadata or metadata, new_protocol or protocol
    if protocol is None or metadata is None or previous is None:
        missing = "protocol" if protocol is None else "metaData"
        raise DeltaProtocolError(f"the first commit of a table has no {missing} action")
    if new_metadata is not None or new_protocol is not None:
        Schema.from_json(metadata.schema_string)
        ensure_readable(protocol, metadata, through_catalog=through_catalog)
        if through_catalog and not is_supported(protocol, "catalogManaged"):
            raise UnsupportedFeatureError(
                "a catalog manages the table, so its protocol must have the table feature catalogManaged",
                feature="catalogManaged",
            )
    _ensure_supported(protocol, adds.values(), by_kind[DomainMetadata])
    _ensure_partition_values(metadata, adds)
    _ensure_iceberg_compatible(metadata, adds)
    if properties.APPEND_ONLY.parse(previous.configuration):
        _ensure_no_rows_are_removed(removes.values())


def _ensure_supported(
    protocol: Protocol, adds: Collection[AddFile], domains: Mapping[str, DomainMetadata]
) -> None:
    """Raise unless the protocol lists the features that the actions use."""
    if domains and not is_supported(protocol, "domainMetadata"):
        raise DeltaProtocolError(
            f"the metadata of the domain {min(domains)} needs the table feature domainMetadata"
        )
    if any(add.deletion_vector for add in adds) and not is_supported(protocol, "deletionVectors"):
        raise DeltaProtocolError("a deletion vector needs the table feature deletionVectors")


def _ensure_partition_values(metadata: Metadata, adds: Mapping[str, AddFile]) -> None:
    """Raise unless every file has one value for each partition column."""
    columns = set(metadata.partition_columns)
    is_mapped = properties.COLUMN_MAPPING_MODE.parse(metadata.configuration) != "none"
    for path, add in adds.items():
        if len(add.partition_values) != len(columns) or not (
            is_mapped or columns == add.partition_values.keys()
        ):
            raise DeltaProtocolError(
                f"{path} has partition values for {sorted(add.partition_values)},"
                f" and the table is partitioned by {sorted(columns)}"
            )


def _ensure_iceberg_compatible(metadata: Metadata, adds: Mapping[str, AddFile]) -> None:
    """Raise if an added file cannot be read as Iceberg, in a table with an icebergCompat version."""
    version = iceberg_compat_version(metadata.configuration)
    if version is None:
        return
    for path, add in adds.items():
        if version < 3 and add.deletion_vector is not None:
            raise DeltaProtocolError(
                f"icebergCompatV{version} does not allow the deletion vector of {path}; rewrite the file"
                " without it"
            )
        if not has_row_count(add.stats):
            raise DeltaProtocolError(f"icebergCompatV{version} needs numRecords in the statistics of {path}")


def has_row_count(stats: str | None) -> bool:
    """Whether the statistics of a file hold its row count.

    >>> has_row_count('{"numRecords":3}'), has_row_count('{}'), has_row_count(None)
    (True, False, False)
    """
    parsed = {} if stats is None else orjson.loads(stats)
    return isinstance(parsed, dict) and isinstance(parsed.get("numRecords"), int)


def _ensure_no_rows_are_removed(removes: Iterable[RemoveFile]) -> None:
    if any(remove.data_change for remove in removes):
        raise AppendOnlyError(
            "the table is append-only (delta.appendOnly): rows cannot be deleted or overwritten; set the"
            " property to false first"
        )


def ensure_live(files: Collection[Mapping[str, Any]], snapshot: Snapshot) -> None:
    """Raise `DeltaProtocolError` unless the given rows of `Snapshot.files` are among those of `snapshot`.

    Deleting rows of a file as another version had it would put the file into the table twice.
    """
    if not files:
        return
    live = snapshot.files(columns=["path", "deletion_vector"])
    live = live.filter(pc.is_in(live.column("path"), texts([file["path"] for file in files])))
    present = {row["path"]: row["deletion_vector"] for row in live.to_pylist()}
    for file in files:
        if file["path"] not in present or present[file["path"]] != file["deletion_vector"]:
            raise DeltaProtocolError(
                f"{file['path']} is not live in version {snapshot.version} with the given deletion vector;"
                " read the files of this version again"
            )


def ensure_replaced_files_are_removed(
    actions: Sequence[Action], newest: Snapshot, known: Collection[str]
) -> None:
    """Raise if a live file is added with another deletion vector and its present one is not removed.

    Both logical files would be live, and the table would have the rows twice. `known` are the names of files
    for which this cannot happen, such as new files; the live files need not be listed for them.
    """
    adds = {
        path: _vector_id(action.deletion_vector)
        for action in actions
        if isinstance(action, AddFile) and (path := decode_path(action.path)) not in known
    }
    if not adds:
        return
    removed = {
        (decode_path(action.path), _vector_id(action.deletion_vector))
        for action in actions
        if isinstance(action, RemoveFile)
    }
    files = newest.files(columns=["path", "deletion_vector"])
    live = files.filter(pc.is_in(files.column("path"), texts(list(adds))))
    for row in live.to_pylist():
        path, vector = row["path"], row["deletion_vector"]
        present = _vector_id(None if vector is None else DeletionVectorDescriptor(**vector))
        if adds[path] != present and (path, present) not in removed:
            raise DeltaProtocolError(
                f"{path} is live and is added with another deletion vector; the commit must also remove it"
                " with the present one"
            )


def _vector_id(vector: DeletionVectorDescriptor | None) -> str:
    return "" if vector is None else vector.unique_id
