"""Iceberg metadata of a version of a table, beside its data.

======================================  ==========================================================
file in ``metadata/``                   content
======================================  ==========================================================
``v12.metadata.json``                   the Iceberg table as of version 12
``snap-<snapshot id>-1-<uuid>.avro``    the manifests of a snapshot
``<uuid>-m1.avro``                      data files with their partitions and statistics
``version-hint.text``                   the newest of these versions, for readers by path
======================================  ==========================================================

Only one writer creates ``v12.metadata.json``, as only one commits version 12. A version may have no metadata,
because its writer was killed: the next one takes up its changes. Metadata of an older version is not written
once there is a newer one, and the hint, which two writers may replace in any order, is compared with the
folder until it names the newest.

The table properties ``delta-version`` and ``delta-timestamp`` are those that delta-spark writes.
"""

import contextlib
import posixpath
import re
import secrets
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from deltaarrow.errors import CorruptLogError, StorageError
from deltaarrow.features import properties
from deltaarrow.iceberg.file_io import METADATA_FOLDER, StoreFiles
from deltaarrow.iceberg.manifests import (
    Counts,
    Manifests,
    ManifestWriter,
    MetadataLimits,
    read_file_changes,
    read_manifests,
)
from deltaarrow.iceberg.schema_fields import iceberg_schema, name_mapping, partition_spec
from deltaarrow.runtime.optional import require
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store
from deltaarrow.version import ENGINE_INFO

_metadata = require("pyiceberg.table.metadata")
_snapshots = require("pyiceberg.table.snapshots")
_refs = require("pyiceberg.table.refs")
_index_by_id = require("pyiceberg.schema").index_by_id
_UNSORTED = require("pyiceberg.table.sorting").UNSORTED_SORT_ORDER
_ValidationError = require("pyiceberg.exceptions").ValidationError

__all__ = ["write_iceberg_metadata"]

_HINT = f"{METADATA_FOLDER}/version-hint.text"
_NAME = re.compile(r"v(0|[1-9][0-9]{0,18})\.metadata\.json")
_DELTA_VERSION = "delta-version"
_DELTA_TIMESTAMP = "delta-timestamp"
_NAME_MAPPING = "schema.name-mapping.default"


def write_iceberg_metadata(snapshot: Snapshot, limits: MetadataLimits | None = None) -> bool:
    """Write the Iceberg metadata of a version; return False if it, or that of a newer one, is there.

    Raises:
        UnsupportedFeatureError: a file has a deletion vector or no row count, or a column a type that
            Iceberg's format version 2 does not have.
        StorageError: the folder ``metadata`` belongs to another table.
    """
    store = snapshot.store
    files = StoreFiles(store)
    newest = max(_versions(store), default=None)
    base = None if newest is None else _read_base(files, snapshot, newest)
    if newest is not None and newest >= snapshot.version:
        _point_to_newest(store)
        return False
    try:
        metadata = _Conversion(snapshot, files, base, limits or MetadataLimits()).metadata()
    except BaseException:
        _delete(store, files.written)
        raise
    data = metadata.model_dump_json().encode()
    try:
        store.put_if_absent(_name(snapshot.version), data)
    except FileExistsError:
        if store.read(_name(snapshot.version)) != data:
            _delete(store, files.written)
            _point_to_newest(store)
            return False
    _point_to_newest(store)
    if base is not None and metadata.metadata_log:
        _clean_up(files, base, metadata)
    return True


def _name(version: int) -> str:
    return f"{METADATA_FOLDER}/v{version}.metadata.json"


def _versions(store: Store) -> list[int]:
    names = (posixpath.basename(entry.name) for entry in store.list_from(METADATA_FOLDER, "v"))
    return sorted(int(found[1]) for name in names if (found := _NAME.fullmatch(name)))


def _table_uuid(snapshot: Snapshot) -> uuid.UUID:
    try:
        return uuid.UUID(snapshot.metadata.id)
    except ValueError:
        return uuid.uuid5(uuid.NAMESPACE_URL, snapshot.metadata.id)


def _read_base(files: StoreFiles, snapshot: Snapshot, newest: int) -> Any:
    """Return the newest metadata of the table; None for one that cannot be built upon."""
    try:
        found = _metadata.TableMetadataUtil.parse_raw(files.store.read(_name(newest)).decode())
    except (_ValidationError, ValueError, FileNotFoundError):
        found = None
    is_own = found is not None and found.table_uuid == _table_uuid(snapshot)
    if newest >= snapshot.version and not is_own:
        raise StorageError(
            f"{files.store.uri} has Iceberg metadata of version {newest} of another table, which was there"
            f" before; delete the folder {METADATA_FOLDER}, so that it is written anew"
        )
    is_usable = is_own and found.format_version == 2 and found.properties.get(_DELTA_VERSION) == str(newest)
    # In a table that was moved, the files of older snapshots are where it was before.
    if not is_usable or not all(files.is_inside(each.manifest_list) for each in found.snapshots):
        return None
    return found


def _point_to_newest(store: Store) -> None:
    """Let the hint name the newest metadata, also if other writers are about to do so."""
    written = None
    while (newest := max(_versions(store), default=None)) is not None and newest != written:
        store.write(_HINT, str(newest).encode())
        written = newest


def _delete(store: Store, names: list[str]) -> None:
    with contextlib.suppress(Exception):
        store.delete_all(names)


@dataclass
class _Conversion:
    """The conversion of a version, given the metadata of an earlier one or None."""

    snapshot: Snapshot
    files: StoreFiles
    base: Any
    limits: MetadataLimits

    def metadata(self) -> Any:
        """Write the manifests, and return the ``TableMetadataV2``."""
        snapshot, base = self.snapshot, self.base
        spec = partition_spec(snapshot)
        sequence_number = 0 if base is None else base.last_sequence_number
        if base is not None and _sources(base.spec()) != _sources(spec):
            # The rows are those of an overwrite; older snapshots have other partitions.
            base = self.base = None
        schema, schemas = self._schemas()
        now = snapshot.timestamp_ms if base is None else max(snapshot.timestamp_ms, base.last_updated_ms)
        current = None if base is None else base.current_snapshot()
        new = self._snapshot(schema, spec, sequence_number + 1, now)
        kept = self._kept(now)
        if new is not None:
            kept.append(new)
            current = new
        known = {each.snapshot_id for each in kept}
        log = [] if base is None else [each for each in base.snapshot_log if each.snapshot_id in known]
        if new is not None:
            log.append(_snapshots.SnapshotLogEntry(snapshot_id=new.snapshot_id, timestamp_ms=now))
        used = {schema.schema_id, *(each.schema_id for each in kept)}
        maximum = properties.COLUMN_MAPPING_MAX_COLUMN_ID.parse(snapshot.configuration)
        highest = max(schema.highest_field_id, maximum, 0 if base is None else base.last_column_id)
        refs = {}
        if current is not None:
            branch = _refs.SnapshotRefType.BRANCH
            refs["main"] = _refs.SnapshotRef(snapshot_id=current.snapshot_id, snapshot_ref_type=branch)
        return _metadata.TableMetadataV2(
            location=self.files.store.location("").rstrip("/"),
            table_uuid=_table_uuid(snapshot),
            last_updated_ms=now,
            last_column_id=highest,
            schemas=[each for each in schemas if each.schema_id in used],
            current_schema_id=schema.schema_id,
            partition_specs=[spec],
            default_spec_id=spec.spec_id,
            last_partition_id=spec.last_assigned_field_id,
            properties={
                _DELTA_VERSION: str(snapshot.version),
                _DELTA_TIMESTAMP: str(snapshot.timestamp_ms),
                "converter": ENGINE_INFO,
                _NAME_MAPPING: name_mapping(
                    snapshot, None if base is None else base.properties.get(_NAME_MAPPING)
                ),
            },
            current_snapshot_id=None if current is None else current.snapshot_id,
            snapshots=kept,
            snapshot_log=log,
            metadata_log=self._metadata_log(),
            sort_orders=[_UNSORTED],
            default_sort_order_id=0,
            refs=refs,
            last_sequence_number=sequence_number + (new is not None),
        )

    def _schemas(self) -> tuple[Any, list[Any]]:
        """Return the schema of the version, and all schemas that the table has had."""
        schema = iceberg_schema(self.snapshot.schema)
        if self.base is None:
            return schema, [schema]
        schemas = list(self.base.schemas)
        for each in schemas:
            if each.as_struct() == schema.as_struct():
                return each, schemas
        schema = iceberg_schema(self.snapshot.schema, max(each.schema_id for each in schemas) + 1)
        return schema, [*schemas, schema]

    def _kept(self, now: int) -> list[Any]:
        """Return the snapshots whose data files a VACUUM leaves, the newest ones."""
        if self.base is None:
            return []
        retention = properties.DELETED_FILE_RETENTION.parse(self.snapshot.configuration)
        oldest = now - retention // timedelta(milliseconds=1)
        current = self.base.current_snapshot_id
        kept = [
            each for each in self.base.snapshots if each.timestamp_ms >= oldest or each.snapshot_id == current
        ]
        return kept[1 - self.limits.versions :]

    def _metadata_log(self) -> list[Any]:
        if self.base is None:
            return []
        location = self.files.store.location(_name(int(self.base.properties[_DELTA_VERSION])))
        entry = _snapshots.MetadataLogEntry(metadata_file=location, timestamp_ms=self.base.last_updated_ms)
        return [*self.base.metadata_log, entry][-self.limits.versions :]

    def _snapshot(self, schema: Any, spec: Any, sequence_number: int, now: int) -> Any:
        """Write the manifests and their list; return the new snapshot, or None if no file has changed."""
        parent = None if self.base is None else self.base.current_snapshot()
        snapshot_id = secrets.randbits(63)
        writer = ManifestWriter(self.snapshot, self.files, schema, spec, snapshot_id, self.limits)
        found = self._changed(writer, schema)
        if found is None:
            operation, manifests = "append" if parent is None else "overwrite", writer.anew()
            if parent is not None:
                manifests.removed = _totals(parent) or Counts()
            elif not manifests.listed:
                return None
            totals = manifests.added
        else:
            operation, manifests, totals = found
            if not manifests.added.files and not manifests.removed.files:
                return None
        parent_id = None if parent is None else parent.snapshot_id
        summary = _snapshots.Summary(_snapshots.Operation(operation), **self._summary(manifests, totals))
        return _snapshots.Snapshot(
            snapshot_id=snapshot_id,
            parent_snapshot_id=parent_id,
            sequence_number=sequence_number,
            timestamp_ms=now,
            manifest_list=writer.write_list(manifests.listed, parent_id, sequence_number),
            summary=summary,
            schema_id=schema.schema_id,
        )

    def _changed(self, writer: ManifestWriter, schema: Any) -> tuple[str, Manifests, Counts] | None:
        """Write what has changed since the base; None if all has to be written anew."""
        if self.base is None or _has_other_types(self.base.schema(), schema):
            return None
        parent = self.base.current_snapshot()
        totals = Counts() if parent is None else _totals(parent)
        since = int(self.base.properties[_DELTA_VERSION])
        if totals is None or self.snapshot.version - since > self.limits.commits:
            return None
        if (changes := read_file_changes(self.snapshot, since)) is None:
            return None
        try:
            listed = [] if parent is None else read_manifests(self.files, parent.manifest_list)
            manifests = writer.changed(listed, changes)
        except (FileNotFoundError, CorruptLogError):
            return None
        if manifests is None:
            return None
        added, removed = manifests.added, manifests.removed
        totals = Counts(
            totals.files + added.files - removed.files,
            totals.rows + added.rows - removed.rows,
            totals.size + added.size - removed.size,
        )
        if (totals.files, totals.size) != self.snapshot.totals():
            return None
        if not changes.data_change:
            operation = "replace"
        elif removed.files:
            operation = "overwrite" if added.files else "delete"
        else:
            operation = "append"
        return operation, manifests, totals

    def _summary(self, manifests: Manifests, totals: Counts) -> dict[str, str]:
        added, removed = manifests.added, manifests.removed
        counts = {
            "added-data-files": added.files,
            "added-records": added.rows,
            "added-files-size": added.size,
            "deleted-data-files": removed.files,
            "deleted-records": removed.rows,
            "removed-files-size": removed.size,
        }
        return {
            **{name: str(count) for name, count in counts.items() if count},
            "total-data-files": str(totals.files),
            "total-records": str(totals.rows),
            "total-files-size": str(totals.size),
            "total-delete-files": "0",
            "total-position-deletes": "0",
            "total-equality-deletes": "0",
            _DELTA_VERSION: str(self.snapshot.version),
            _DELTA_TIMESTAMP: str(self.snapshot.timestamp_ms),
        }


def _sources(spec: Any) -> list[int]:
    return [field.source_id for field in spec.fields]


def _has_other_types(old: Any, new: Any) -> bool:
    """Whether a column has changed its type, so that bounds in manifests are of the old one."""
    before, after = _index_by_id(old), _index_by_id(new)
    return any(
        before[number].field_type != field.field_type
        for number, field in after.items()
        if number in before and field.field_type.is_primitive
    )


def _totals(snapshot: Any) -> Counts | None:
    """Return what a snapshot says of its files; None if it does not."""
    summary = snapshot.summary or {}
    names = ("total-data-files", "total-records", "total-files-size")
    texts: list[Any] = [summary.get(name) for name in names]
    if not all(isinstance(text, str) and text.isdecimal() for text in texts):
        return None
    return Counts(*map(int, texts))


def _clean_up(files: StoreFiles, old: Any, new: Any) -> None:
    """Delete what only snapshots use that are not kept, and old metadata; what cannot be deleted stays."""
    kept = {each.snapshot_id for each in new.snapshots}
    expired = [each.manifest_list for each in old.snapshots if each.snapshot_id not in kept]
    names = set(expired)
    if expired:
        # A manifest is in the lists of snapshots that follow each other.
        used: set[str] = set()
        for each in new.snapshots[:1]:
            used = {manifest.manifest_path for manifest in read_manifests(files, each.manifest_list)}
        for each in expired:
            with contextlib.suppress(FileNotFoundError, CorruptLogError):
                names |= {manifest.manifest_path for manifest in read_manifests(files, each)} - used
    logged = {entry.metadata_file for entry in new.metadata_log}
    names |= {entry.metadata_file for entry in old.metadata_log} - logged
    folder = files.store.location(METADATA_FOLDER)
    _delete(files.store, [name for name in names if posixpath.dirname(name) == folder])
