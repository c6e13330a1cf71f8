"""Row tracking in existing tables: ids for files without ids, and columns that keep the ids of moved rows.

Chapter "Row Tracking" of the protocol, its writer requirements. Row tracking is enabled in the steps of
delta-spark: the table feature, after which every commit assigns ids; a *backfill*, which commits older files
again to assign ids to them; and the table property, which promises ids to readers.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import orjson
import pyarrow as pa

from deltaarrow.actions import AddFile, Metadata, Protocol
from deltaarrow.columnar.kernels import pc
from deltaarrow.errors import (
    ConcurrentAppendException,
    ConcurrentDeleteReadException,
    MetadataChangedException,
    UnsupportedFeatureError,
)
from deltaarrow.features import (
    FEATURES,
    ROW_TRACKING_FIELD_IDS,
    assigns_row_ids,
    iceberg_compat_version,
    is_row_tracking_enabled,
    is_supported,
    properties,
    upgraded_protocol,
)
from deltaarrow.operations.commit.transaction_start import begin_transaction
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.scan import RowTracking, row_tracking_of
from deltaarrow.schema import Field
from deltaarrow.schema.metadata_keys import FIELD_ID_KEY, PHYSICAL_NAME_KEY
from deltaarrow.snapshot import Snapshot
from deltaarrow.transaction import (
    ROW_TRACKING_BACKFILL,
    CommitProperties,
    OptimisticTransaction,
    PostCommitHookProperties,
    add_again,
    given_properties,
)

__all__ = [
    "ROW_TRACKING_UNBACKFILL",
    "backfill_row_ids",
    "enablement_tags",
    "enables_row_tracking",
    "has_row_ids",
    "hidden_columns",
    "tracking_of",
    "unbackfill_row_ids",
]

ROW_TRACKING_UNBACKFILL = "ROW TRACKING UNBACKFILL"
"""The operation of commits that only take the row ids from existing files."""

Begin = Callable[[Snapshot], OptimisticTransaction]
"""Opens a transaction on a version."""

_MOST_FILES_OF_A_COMMIT = 100_000
_MOST_CONFLICTS = 15


def hidden_columns(tracking: RowTracking, configuration: Mapping[str, str]) -> tuple[Field, Field]:
    """Return the columns of data files that materialize the ids of moved rows: row id, row commit version.

    Their names do not depend on column mapping. They have field ids, those of Iceberg, only if the table is
    also readable as Iceberg. (Spark gives them ids under version 3 of its rules alone; pyiceberg ignores all
    ids of a file in which a column has none.)

    >>> [field.name for field in hidden_columns(RowTracking("_row-id", "_row-version"), {})]
    ['_row-id', '_row-version']
    """
    has_ids = iceberg_compat_version(configuration) is not None
    row_id, commit_version = (
        Field(
            name,
            "long",
            metadata={PHYSICAL_NAME_KEY: name, **({FIELD_ID_KEY: field_id} if has_ids else {})},
        )
        for name, field_id in zip(
            (tracking.row_id, tracking.commit_version), ROW_TRACKING_FIELD_IDS, strict=True
        )
    )
    return row_id, commit_version


def tracking_of(snapshot: Snapshot) -> RowTracking | None:
    """Return the row tracking columns of a table; None if row tracking is not enabled."""
    if not is_row_tracking_enabled(snapshot.protocol, snapshot.configuration):
        return None
    return row_tracking_of(snapshot)


def enables_row_tracking(snapshot: Snapshot, metadata: Metadata) -> bool:
    """Whether this metadata enables row tracking in the table of `snapshot`."""
    record = properties.ENABLE_ROW_TRACKING
    return record.parse(metadata.configuration) and not record.parse(snapshot.configuration)


def enablement_tags(snapshot: Snapshot, metadata: Metadata) -> dict[str, str]:
    """Return the tag of a commit that only enables row tracking: delta-spark sees no conflict with it."""
    old, new = snapshot.configuration, metadata.configuration
    changed = {name for name in (*old, *new) if old.get(name) != new.get(name)}
    is_all = changed == {properties.ENABLE_ROW_TRACKING.name}
    return {"rowTrackingEnablementOnly": "true"} if is_all else {}


def backfill_row_ids(
    snapshot: Snapshot,
    *,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    clock: Clock = system_clock,
    most_files: int = _MOST_FILES_OF_A_COMMIT,
) -> Snapshot:
    """Assign row ids to every file of a table, and return the snapshot in which all files have them.

    If the table feature is missing, it is added first, in a separate commit; from then on every writer
    assigns ids. Files without ids are then committed again without data change, at most `most_files` per
    commit. Files that concurrent commits remove or give ids to are skipped.

    Raises `UnsupportedFeatureError` for a file without numRecords, and `InvalidTablePropertyError` if row
    tracking is suspended; nothing is committed in these cases. Raises `MetadataChangedException` if a
    concurrent commit changes the metadata, which the caller relies on, and the exceptions of commits;
    commits made before stay, and a repeated call continues from there.
    """
    given = given_properties(commit_properties)
    # The progress of applications is recorded once, in the commit that sets the property.
    given = replace(given, app_transactions=None)
    configuration = {**snapshot.configuration, properties.ENABLE_ROW_TRACKING.name: "true"}
    protocol = upgraded_protocol(
        snapshot.protocol, snapshot.schema, configuration, "append", [FEATURES["rowTracking"]]
    )
    assigns_row_ids(protocol, configuration)
    _ensure_counted(snapshot)
    if not is_supported(snapshot.protocol, "rowTracking"):
        transaction = begin_transaction(snapshot, "UPGRADE PROTOCOL", given, hook_properties, clock=clock)
        transaction.parameters = {"newProtocol": _protocol_json(protocol)}
        transaction.set_protocol(protocol)
        transaction.commit()
        snapshot = snapshot.update()

    def begin(snapshot: Snapshot) -> OptimisticTransaction:
        return begin_transaction(snapshot, ROW_TRACKING_BACKFILL, given, hook_properties, clock=clock)

    return _commit_again(
        snapshot, begin, lambda table: _files(table, most_files, with_ids=False), lambda add: add
    )


def unbackfill_row_ids(
    snapshot: Snapshot, begin: Begin, *, most_files: int = _MOST_FILES_OF_A_COMMIT
) -> Snapshot:
    """Take the row ids from every file of a table whose row tracking is suspended; return the newest version.

    Files with ids are committed again without them and without data change, at most `most_files` in a
    transaction, which `begin` opens. Raises the exceptions of commits; a repeated call goes on.
    """

    def without_ids(add: AddFile) -> AddFile:
        return replace(add, base_row_id=None, default_row_commit_version=None)

    return _commit_again(snapshot, begin, lambda table: _files(table, most_files, with_ids=True), without_ids)


def _commit_again(
    snapshot: Snapshot,
    begin: Begin,
    files_left: Callable[[Snapshot], list[dict[str, Any]]],
    change: Callable[[AddFile], AddFile],
) -> Snapshot:
    """Commit files again as `change` makes them, until none is left; return the newest version."""
    known, batch, conflicts = snapshot.metadata, 0, 0
    while left := files_left(snapshot):
        transaction = begin(snapshot)
        transaction.parameters = {"batchId": str(batch)}
        transaction.read.files.update(file["path"] for file in left)
        transaction.stage([change(add_again(file, data_change=False)) for file in left])
        try:
            transaction.commit()
            batch += 1
        except (ConcurrentDeleteReadException, ConcurrentAppendException):
            conflicts += 1
            if conflicts > _MOST_CONFLICTS:
                raise
        snapshot = snapshot.update()
        if snapshot.metadata != known:
            raise MetadataChangedException(
                "a concurrent commit changed the metadata of the table while files got or lost row ids; try"
                " again"
            )
    return snapshot


def _protocol_json(protocol: Protocol) -> str:
    said = {
        "minReaderVersion": protocol.min_reader_version,
        "minWriterVersion": protocol.min_writer_version,
        "readerFeatures": protocol.reader_features,
        "writerFeatures": protocol.writer_features,
    }
    return orjson.dumps(said).decode()


def has_row_ids(files: pa.Table) -> pa.ChunkedArray:
    """Return which files have ids, given as rows of `Snapshot.files` with these two columns."""
    columns = [files.column("base_row_id"), files.column("default_row_commit_version")]
    return pc.or_(*map(pc.is_valid, columns))


def _files(snapshot: Snapshot, most: int, *, with_ids: bool) -> list[dict[str, Any]]:
    files = snapshot.files()
    mask = has_row_ids(files) if with_ids else pc.is_null(files.column("base_row_id"))
    rows: list[dict[str, Any]] = files.filter(mask).slice(0, most).to_pylist(maps_as_pydicts="strict")
    return rows


def _ensure_counted(snapshot: Snapshot) -> None:
    files = snapshot.files(columns=["path", "stats", "base_row_id"])
    for row in files.filter(pc.is_null(files.column("base_row_id"))).to_pylist():
        count = None if row["stats"] is None else orjson.loads(row["stats"]).get("numRecords")
        if type(count) is not int:
            raise UnsupportedFeatureError(
                f"row tracking cannot be enabled: {row['path']} has no numRecords in its statistics, and row"
                " ids are computed from row counts; rewrite the file first",
                feature="rowTracking",
            )
