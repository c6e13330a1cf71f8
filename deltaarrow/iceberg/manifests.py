"""Iceberg manifests of a version: reused from an earlier version where possible, otherwise written anew.

A manifest lists data files. Manifests without changed files are taken over as they are; one with a removed
file is written again. When there are many of them, or when the log does not tell what has changed, all files
are listed anew.
"""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from deltaarrow.actions import FileActionKey, file_table
from deltaarrow.iceberg.file_io import StoreFiles
from deltaarrow.iceberg.iceberg_files import COLUMNS, data_files
from deltaarrow.log import LogFileKind, list_log, read_commits
from deltaarrow.runtime.optional import require
from deltaarrow.snapshot import Snapshot

_manifest = require("pyiceberg.manifest")

__all__ = [
    "Counts",
    "FileChanges",
    "ManifestWriter",
    "Manifests",
    "MetadataLimits",
    "read_file_changes",
    "read_manifests",
]

_COMPRESSION = "gzip"


@dataclass(frozen=True)
class MetadataLimits:
    """How much metadata there may be.

    Attributes:
        versions: how many snapshots and files of metadata are kept.
        manifests: how many manifests a snapshot may have beside full ones, before all are written anew.
        files: how many data files a manifest lists.
        commits: how many commits are read to find what has changed, before all files are listed anew.
    """

    versions: int = 100
    manifests: int = 100
    files: int = 10_000
    commits: int = 100


@dataclass(frozen=True)
class FileChanges:
    """What commits have done to the list of files.

    Attributes:
        added: the bodies of the `add` actions that are left, by path.
        stale: paths that an earlier version may list, and that it lists otherwise.
        data_change: whether rows were added or removed, not only rewritten.
        removes: whether there was a `remove`.
    """

    added: dict[str, Any]
    stale: frozenset[str]
    data_change: bool
    removes: bool


def read_file_changes(snapshot: Snapshot, since: int) -> FileChanges | None:
    """Return what the commits after version `since` have done; None if one of them is gone."""
    commits = {
        file.version: file.name
        for file in list_log(snapshot.store, since + 1)
        if file.kind is LogFileKind.COMMIT and file.version <= snapshot.version
    }
    if len(commits) != snapshot.version - since:
        return None
    added: dict[str, Any] = {}
    seen: set[str] = set()
    stale: set[str] = set()
    data_change = removes = False
    for actions in read_commits(snapshot.store, [commits[version] for version in sorted(commits)]):
        # Within a commit the order has no meaning: what is added stays.
        for kind in ("remove", "add"):
            for action in actions:
                if (body := action.get(kind)) is None:
                    continue
                path = FileActionKey.from_json(body).path
                is_change = body.get("dataChange", True)
                if path not in seen and (kind == "remove" or not is_change):
                    stale.add(path)
                seen.add(path)
                added.pop(path, None)
                if kind == "add":
                    added[path] = body
                removes |= kind == "remove"
                data_change |= is_change
    return FileChanges(added, frozenset(stale), data_change, removes)


@dataclass
class Counts:
    """Data files, their rows and their bytes."""

    files: int = 0
    rows: int = 0
    size: int = 0

    def take(self, file: Any) -> None:
        """Count a ``DataFile``."""
        self.files += 1
        self.rows += file.record_count
        self.size += file.file_size_in_bytes


@dataclass
class Manifests:
    """The manifests of a version, and how it differs from the one before."""

    listed: list[Any] = field(default_factory=list)
    added: Counts = field(default_factory=Counts)
    removed: Counts = field(default_factory=Counts)


def read_manifests(files: StoreFiles, manifest_list: str) -> list[Any]:
    """Return the manifests of a manifest list that have live files.

    Raises `CorruptLogError` if one is not in the folder of the table.
    """
    listed = list(_manifest.read_manifest_list(files.new_input(manifest_list)))
    for each in listed:
        files.name_of(each.manifest_path)
    return [each for each in listed if each.has_added_files() or each.has_existing_files()]


@dataclass
class ManifestWriter:
    """Writes the manifests of one version.

    Attributes:
        snapshot: the version.
        files: where manifests are.
        schema: its Iceberg schema.
        spec: its partition spec.
        snapshot_id: the id of the Iceberg snapshot.
        limits: how many manifests there may be, and their size.
    """

    snapshot: Snapshot
    files: StoreFiles
    schema: Any
    spec: Any
    snapshot_id: int
    limits: MetadataLimits
    _prefix: str = field(default_factory=lambda: str(uuid.uuid4()), init=False)
    _count: int = field(default=0, init=False)

    def anew(self) -> Manifests:
        """Write manifests of all live files."""
        found = Manifests()
        table = self.snapshot.files(columns=list(COLUMNS))
        for first in range(0, table.num_rows, self.limits.files):
            self._add(found, data_files(self.snapshot, table.slice(first, self.limits.files)))
        return found

    def changed(self, manifests: Sequence[Any], changes: FileChanges) -> Manifests | None:
        """Write the manifests that have changed; None if it is time to write all of them anew."""
        live = sum(each.added_files_count + each.existing_files_count for each in manifests)
        if len(manifests) > self.limits.manifests + live // self.limits.files:
            return None
        found = Manifests()
        stale = {self.snapshot.store.location(path) for path in changes.stale}
        for manifest in manifests:
            found.listed.append(self._without(manifest, stale, found.removed) if stale else manifest)
        bodies = list(changes.added.values())
        for first in range(0, len(bodies), self.limits.files):
            part = bodies[first : first + self.limits.files]
            table = file_table(part, [FileActionKey.from_json(body) for body in part], columns=COLUMNS)
            self._add(found, data_files(self.snapshot, table))
        return found

    def write_list(self, manifests: Sequence[Any], parent: int | None, sequence_number: int) -> str:
        """Write the manifest list; return its location."""
        location = self.files.in_metadata(f"snap-{self.snapshot_id}-1-{self._prefix}.avro")
        with _manifest.write_manifest_list(
            format_version=2,
            output_file=self.files.new_output(location),
            snapshot_id=self.snapshot_id,
            parent_snapshot_id=parent,
            sequence_number=sequence_number,
            avro_compression=_COMPRESSION,
        ) as writer:
            if manifests:
                writer.add_manifests(list(manifests))
        return location

    def _without(self, manifest: Any, stale: set[str], removed: Counts) -> Any:
        """Return the manifest, or one that says that it does not list the stale files any more."""
        entries = manifest.fetch_manifest_entry(self.files, discard_deleted=True)
        if not any(entry.data_file.file_path in stale for entry in entries):
            return manifest
        with self._writer() as writer:
            for entry in entries:
                if entry.data_file.file_path in stale:
                    stale.discard(entry.data_file.file_path)
                    removed.take(entry.data_file)
                    writer.delete(entry)
                else:
                    writer.existing(entry)
        return writer.to_manifest_file()

    def _add(self, found: Manifests, files: Iterable[Any]) -> None:
        with self._writer() as writer:
            for file in files:
                found.added.take(file)
                writer.add(_manifest.ManifestEntry.from_args(data_file=file))
        found.listed.append(writer.to_manifest_file())

    def _writer(self) -> Any:
        self._count += 1
        output = self.files.new_output(self.files.in_metadata(f"{self._prefix}-m{self._count}.avro"))
        return _manifest.write_manifest(2, self.spec, self.schema, output, self.snapshot_id, _COMPRESSION)
