"""RESTORE: makes an older version of a table the newest, by a commit that can itself be restored.

The commit adds the files that only the older version has and removes those that only the newest one has.
Schema and properties are those of the older version. What has to grow does not fall: the protocol, unless the
caller allows it, the high water marks of identity columns and the highest column id. Row ids come back with
their files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import SupportsIndex

import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.actions import DomainMetadata, Metadata, Protocol
from deltaarrow.actions.domain_names import CLUSTERING_DOMAIN
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import MissingFilesError, VersionNotFoundError
from deltaarrow.features import ensure_writable, is_supported, merged_protocol, properties
from deltaarrow.log.file_differences import find_differences
from deltaarrow.log.version_arguments import parse_moment, parse_version
from deltaarrow.operations.commit.transaction_start import begin_transaction
from deltaarrow.operations.define.clustering_domain import render_clustering
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.schema import Schema, physical_name
from deltaarrow.snapshot import Snapshot
from deltaarrow.transaction import CommitProperties, PostCommitHookProperties, descriptor_of
from deltaarrow.write import identity_column, with_marks

__all__ = ["RestorePlan", "plan_restore", "restore_table"]

_MOST_NAMED = 100
_KEPT = (properties.COLUMN_MAPPING_MAX_COLUMN_ID, properties.REQUIRE_CHECKPOINT_PROTECTION_BEFORE_VERSION)
"""Properties that never fall, because later ids and protected checkpoints are in the log."""


@dataclass(frozen=True)
class RestorePlan:
    """What a RESTORE commits.

    Attributes:
        version: the version that comes back.
        newest: the version that is replaced.
        restored: the files that come back, a table of the columns of `Snapshot.files`.
        removed: the files that go, likewise.
        metadata: the metadata of the commit.
        protocol: its protocol.
        domains: the domains that it sets.
        num_files: the number of files after it.
        num_bytes: their size.
    """

    version: int
    newest: int
    restored: pa.Table
    removed: pa.Table
    metadata: Metadata
    protocol: Protocol
    domains: Sequence[DomainMetadata]
    num_files: int
    num_bytes: int

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to commit: the newest version itself needs nothing."""
        return self.version != self.newest

    @property
    def metrics(self) -> dict[str, int]:
        """The metrics under Spark's names."""
        return {
            "numRestoredFiles": len(self.restored),
            "restoredFilesSize": _total(self.restored),
            "numRemovedFiles": len(self.removed),
            "removedFilesSize": _total(self.removed),
            "numOfFilesAfterRestore": self.num_files,
            "tableSizeAfterRestore": self.num_bytes,
        }

    def __repr__(self) -> str:
        return (
            f"RestorePlan(version={self.version}, restored={len(self.restored)}, removed={len(self.removed)})"
        )


def restore_table(
    snapshot: Snapshot,
    target: SupportsIndex | str | date,
    *,
    ignore_missing_files: bool = False,
    protocol_downgrade_allowed: bool = False,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    clock: Clock = system_clock,
) -> RestorePlan:
    """Commit an older version of a table as its newest one, and return what was committed.

    `snapshot` is any version; the newest one is replaced.

    Raises the exceptions of `plan_restore` and those of commits. Any commit that others make meanwhile and
    that changes files, schema, properties or protocol is a conflict.
    """
    newest = snapshot.update()
    plan = plan_restore(
        newest,
        target,
        ignore_missing_files=ignore_missing_files,
        protocol_downgrade_allowed=protocol_downgrade_allowed,
    )
    if not plan.is_needed:
        return plan
    transaction = begin_transaction(newest, "RESTORE", commit_properties, hook_properties, clock=clock)
    transaction.tags_row_tracking = False
    transaction.parameters = _parameters(target)
    transaction.metrics = {name: str(number) for name, number in plan.metrics.items()}
    transaction.read_whole_table()
    transaction.set_metadata(plan.metadata)
    transaction.stage(plan.domains)
    transaction.restore_files(plan.restored, instead_of=plan.removed)
    transaction.set_protocol(plan.protocol)
    transaction.commit()
    return plan


def plan_restore(
    newest: Snapshot,
    target: SupportsIndex | str | date,
    *,
    ignore_missing_files: bool = False,
    protocol_downgrade_allowed: bool = False,
) -> RestorePlan:
    """Return what it takes to restore an older version; only the log is read.

    Raises `VersionNotFoundError` for a version or time that the log does not have, `MissingFilesError` if
    files of the version are gone, and `UnsupportedFeatureError` for a table that this release cannot write or
    a catalog manages.
    """
    _ensure_restorable(newest)
    version = _version(newest, target)
    older = _older(newest, version)
    ensure_writable(older.protocol, older.metadata, "append")
    differences = find_differences(older.state, newest.state)
    if not ignore_missing_files:
        _ensure_present(older, differences.only_older)
    protocol = merged_protocol(newest.protocol, older.protocol)
    if protocol_downgrade_allowed:
        protocol = older.protocol
    metadata = _metadata(older, newest)
    ensure_writable(protocol, metadata, "append")
    num_files, num_bytes = _totals(newest)
    return RestorePlan(
        version=version,
        newest=newest.version,
        restored=differences.only_older,
        removed=differences.only_newer,
        metadata=metadata,
        protocol=protocol,
        domains=_domains(older, newest, protocol),
        num_files=num_files + len(differences.only_older) - len(differences.only_newer),
        num_bytes=num_bytes + _total(differences.only_older) - _total(differences.only_newer),
    )


def _ensure_restorable(newest: Snapshot) -> None:
    ensure_writable(newest.protocol, newest.metadata, "append")


# --- the version ------------------------------------------------------------------------------------


def _version(newest: Snapshot, target: SupportsIndex | str | date) -> int:
    wanted = parse_version(target)
    if not isinstance(wanted, int):
        return _version_at(newest, parse_moment(wanted))
    if not 0 <= wanted <= newest.version:
        raise VersionNotFoundError(
            f"cannot restore {newest.store.uri} to version {wanted}: its newest version is {newest.version};"
            " choose that or an older one (Spark: DELTA_CANNOT_RESTORE_TABLE_VERSION)"
        )
    return wanted


def _older(newest: Snapshot, version: int) -> Snapshot:
    if version == newest.version:
        return newest
    try:
        return Snapshot.load(newest.store, version, known=newest)
    except VersionNotFoundError as error:
        raise VersionNotFoundError(f"{error} (Spark: DELTA_CANNOT_RESTORE_TABLE_VERSION)") from error


def _version_at(newest: Snapshot, moment: int) -> int:
    times = newest.commit_times()
    try:
        version = times.version_at(moment)
    except VersionNotFoundError as error:
        raise VersionNotFoundError(f"{error} (Spark: DELTA_CANNOT_RESTORE_TIMESTAMP_EARLIER)") from error
    if version >= newest.version and moment > times.timestamp(version):
        raise VersionNotFoundError(
            f"cannot restore {newest.store.uri} to a time after its newest version {version}, which is of"
            f" {_time_text(times.timestamp(version))} UTC; choose that time or an earlier one"
            " (Spark: DELTA_CANNOT_RESTORE_TIMESTAMP_GREATER)"
        )
    return version


def _parameters(target: SupportsIndex | str | date) -> Mapping[str, object]:
    wanted = parse_version(target)
    if isinstance(wanted, int):
        return {"version": wanted, "timestamp": None}
    return {"version": None, "timestamp": _time_text(parse_moment(wanted))}


def _time_text(moment: int) -> str:
    """Spell milliseconds since the epoch in UTC as Java spells a timestamp: with at least one decimal."""
    found = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=moment)
    return f"{found:%Y-%m-%d %H:%M:%S}." + (f"{found.microsecond:06d}".rstrip("0") or "0")


# --- files ------------------------------------------------------------------------------------------


def _ensure_present(older: Snapshot, files: pa.Table) -> None:
    """Raise unless the files, and those of their deletion vectors, are in storage."""
    rows = files.select(["path", "deletion_vector"]).to_pylist()
    vectors = (vector.file_name() for row in rows if (vector := descriptor_of(row)) is not None)
    names = [
        *dict.fromkeys([*(row["path"] for row in rows), *(name for name in vectors if name is not None)])
    ]
    statuses = older.store.statuses(names)
    gone = [name for name, status in zip(names, statuses, strict=True) if status is None]
    if gone:
        more = f" and {len(gone) - _MOST_NAMED} more" if len(gone) > _MOST_NAMED else ""
        raise MissingFilesError(
            f"version {older.version} of {redacted(older.store.uri)} cannot be restored, as files of it are"
            f" gone: {', '.join(gone[:_MOST_NAMED])}{more}; restore a later version, or pass"
            " ignore_missing_files=True and put the files back, as reading the table fails until then",
            files=gone,
        )


def _totals(newest: Snapshot) -> tuple[int, int]:
    """The number of live files and their bytes."""
    if newest.checksum is not None:
        return newest.checksum.num_files, newest.checksum.table_size_bytes
    # The version checksum of the commit needs the same columns, and finds them in the cache.
    files = newest.files(columns=["size", "deletion_vector"])
    return len(files), _total(files)


def _total(files: pa.Table) -> int:
    return int(pc.sum(files.column("size")).as_py() or 0)


# --- metadata and domains ---------------------------------------------------------------------------


def _metadata(older: Snapshot, newest: Snapshot) -> Metadata:
    """The metadata of the older version, but for what never falls."""
    marks = {}
    # The physical name stays when a column is renamed.
    numbered = {physical_name(field, newest.mapping_mode): field for field in newest.schema.fields}
    for field in older.schema.fields:
        before, present = identity_column(field), numbered.get(physical_name(field, older.mapping_mode))
        after = None if present is None else identity_column(present)
        if before is None or after is None or after.high_water_mark is None or before.step != after.step:
            continue
        is_farther = (
            before.high_water_mark is None
            or (after.high_water_mark - before.high_water_mark) * before.step > 0
        )
        if is_farther and (after.high_water_mark - before.start) % before.step == 0:
            marks[field.name] = after.high_water_mark
    schema_string = older.metadata.schema_string
    if marks:
        schema_string = with_marks(Schema.from_json(schema_string), marks).to_json()
    configuration = dict(older.configuration)
    for record in _KEPT:
        if record.name in newest.configuration and not (
            record is properties.COLUMN_MAPPING_MAX_COLUMN_ID and record.name not in configuration
        ):
            highest = max(record.parse(configuration), record.parse(newest.configuration))
            configuration[record.name] = str(highest)
    return replace(
        older.metadata, id=newest.metadata.id, schema_string=schema_string, configuration=configuration
    )


def _domains(older: Snapshot, newest: Snapshot, protocol: Protocol) -> list[DomainMetadata]:
    """The clustering columns of the older version; all other domains stay as they are."""
    if not is_supported(protocol, "domainMetadata"):
        return []
    before, after = (each.domains.get(CLUSTERING_DOMAIN) for each in (older, newest))
    if before is not None:
        return [before]
    if after is None:
        return []
    text = render_clustering(older.schema, [], older.mapping_mode)
    return [DomainMetadata(domain=CLUSTERING_DOMAIN, configuration=text, removed=False)]
