"""Symlink manifests: the live files of a table as lists of names, for engines that do not read the Delta log.

``_symlink_format_manifest/manifest`` lists the files of a table, ``_symlink_format_manifest/p=1/manifest``
those of a partition, one absolute URI a line. A manifest appears whole, in the place of the one before. They
are files beside the log: no version has them.
"""

import posixpath
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from deltaarrow.actions import AddFile, Metadata, RemoveFile
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.features import properties
from deltaarrow.operations.commit.partition_predicate import partitions_predicate
from deltaarrow.partitions import DEFAULT_PARTITION, escape_path_name
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store
from deltaarrow.transaction import CommittedTransaction

__all__ = ["MANIFEST_FOLDER", "generate_manifests", "update_manifests"]

MANIFEST_FOLDER = "_symlink_format_manifest"
_MANIFEST = "manifest"


def generate_manifests(snapshot: Snapshot) -> list[str]:
    """Write the manifests of a version, and delete those of partitions that it has not; return their names.

    Raises `UnsupportedFeatureError` for a table with column mapping, for a version with deletion vectors, and
    for a file whose name has a line break.
    """
    manifests = _manifests(snapshot, _files(snapshot, None))
    if not snapshot.partition_columns:
        manifests.setdefault(f"{MANIFEST_FOLDER}/{_MANIFEST}", [])
    _write(snapshot.store, manifests)
    present = snapshot.store.list_recursive(MANIFEST_FOLDER)
    gone = [entry.name for entry in present if posixpath.basename(entry.name) == _MANIFEST]
    _delete(snapshot.store, [name for name in gone if name not in manifests])
    return sorted(manifests)


def update_manifests(done: CommittedTransaction) -> None:
    """Post-commit hook that writes the manifests of the partitions of a commit, if the property is on.

    All manifests are written where it was off before, or the metadata
    changed.
    """
    configuration = {} if done.previous is None else done.previous.configuration
    was_on = properties.SYMLINK_FORMAT_MANIFEST_ENABLED.parse(configuration)
    changed = next((each for each in done.actions if isinstance(each, Metadata)), None)
    if changed is not None:
        configuration = changed.configuration
    if not properties.SYMLINK_FORMAT_MANIFEST_ENABLED.parse(configuration):
        return
    files = [each for each in done.actions if isinstance(each, AddFile | RemoveFile)]
    if done.previous is None and not files:
        return
    # The newest version, so that a hook of an earlier commit that comes late does no harm.
    snapshot = Snapshot.load(done.store, known=done.previous)
    touched = [each.partition_values for each in files if each.partition_values is not None]
    is_partial = was_on and changed is None and len(touched) == len(files)
    if not is_partial or not snapshot.partition_columns:
        if files or not is_partial:
            generate_manifests(snapshot)
        return
    found = _manifests(snapshot, _files(snapshot, touched))
    names = {_name(snapshot, each) for each in touched}
    _write(snapshot.store, {name: found[name] for name in names & found.keys()})
    _delete(snapshot.store, sorted(names - found.keys()))


def _files(snapshot: Snapshot, touched: Sequence[Mapping[str, str | None]] | None) -> pa.Table:
    """Return the live files, or those of the partitions of some files at least."""
    if snapshot.mapping_mode != "none":
        raise UnsupportedFeatureError(
            f"{snapshot.store.uri} has column mapping, so readers of manifests would not find its columns;"
            " drop"
            " it first (Spark: DELTA_UNSUPPORTED_MANIFEST_GENERATION_WITH_COLUMN_MAPPING)",
            feature="columnMapping",
        )
    vectors = snapshot.files(columns=["deletion_vector"]).column("deletion_vector")
    if vectors.null_count != len(vectors):
        raise UnsupportedFeatureError(
            f"{snapshot.store.uri} has files with deletion vectors, so readers of manifests would see"
            " deleted rows;"
            " set delta.enableDeletionVectors to false and run optimize.purge"
            " (Spark: DELTA_UNSUPPORTED_GENERATE_WITH_DELETION_VECTORS)",
            feature="deletionVectors",
        )
    predicate = None if touched is None else partitions_predicate(snapshot, touched)
    return snapshot.files(predicate, columns=["path", "partition_values"])


def _manifests(snapshot: Snapshot, files: pa.Table) -> dict[str, list[str]]:
    """Return the lines of each manifest, by its name."""
    manifests: dict[str, list[str]] = {}
    names: dict[tuple[tuple[str, str | None], ...], str] = {}
    values = files.column("partition_values").to_pylist(maps_as_pydicts="strict")
    for path, partition in zip(files.column("path").to_pylist(), values, strict=True):
        key = tuple(partition.items())
        name = names.get(key)
        if name is None:
            name = names[key] = _name(snapshot, partition)
        manifests.setdefault(name, []).append(_line(snapshot.store, path))
    return manifests


def _line(store: Store, path: str) -> str:
    location = store.location(path)
    if "\n" in location or "\r" in location:
        raise UnsupportedFeatureError(
            f"a file of {store.uri} has a line break in its name, {path!r}, and a manifest has one name a"
            " line",
            feature="line breaks in names of manifests",
        )
    return f"file:{location}" if store.is_local else location


def _name(snapshot: Snapshot, partition: Mapping[str, str | None]) -> str:
    """Return the name of the manifest of a partition: as in Spark, folders have the texts of the log."""
    folders = [
        f"{escape_path_name(column)}={escape_path_name(partition.get(column) or DEFAULT_PARTITION)}"
        for column in snapshot.partition_columns
    ]
    return posixpath.join(MANIFEST_FOLDER, *folders, _MANIFEST)


def _write(store: Store, manifests: Mapping[str, Sequence[str]]) -> None:
    for name, lines in manifests.items():
        store.write(name, "".join(f"{line}\n" for line in sorted(lines)).encode())


def _delete(store: Store, names: Iterable[str]) -> None:
    """Delete manifests, and the folders that are empty without them."""
    for name in names:
        store.delete(name)
        folder = posixpath.dirname(name)
        while folder != MANIFEST_FOLDER and folder and store.delete_folder(folder):
            folder = posixpath.dirname(folder)
