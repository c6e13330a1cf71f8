"""FSCK: removes files from the log that are missing in storage.

Files are found by one listing of the folder; what is not in it is looked for by its name. Only an answer that
there is no such file counts: any other failure ends the repair before there is a commit.
"""

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import pyarrow as pa

from deltaarrow.columnar.numpy_arrays import booleans
from deltaarrow.columnar.parquet_footers import footer_length, parse_footer
from deltaarrow.deletion_vectors import DeletionVectorDescriptor
from deltaarrow.errors import StorageError
from deltaarrow.features import ensure_writable
from deltaarrow.operations.commit.transaction_start import begin_transaction
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store, encode_path
from deltaarrow.storage.failures import expecting_file
from deltaarrow.transaction import CommitProperties, PostCommitHookProperties

__all__ = ["repair_table"]

GONE = "gone"
_FRAME_BYTES = 8
"""Around a vector in its file: its size and its checksum."""


def repair_table(
    snapshot: Snapshot,
    *,
    dry_run: bool = False,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    clock: Clock = system_clock,
) -> dict[str, Any]:
    """Remove the lost files of a version from the log in one commit; return their paths and what is wrong.

    Nothing is committed if no file is lost. Raises `StorageError` for a file that cannot be reached, and
    `UnsupportedFeatureError` for a table whose rows must not be removed.
    """
    ensure_writable(snapshot.protocol, snapshot.metadata, "change")
    transaction = begin_transaction(snapshot, "FSCK", commit_properties, hook_properties, clock=clock)
    files = snapshot.files()
    lost = _lost_files(snapshot.store, files)
    names = {name: encode_path(name) for name in lost}
    if lost and not dry_run:
        mask = [name in lost for name in files.column("path").to_pylist()]
        removed = files.filter(booleans(_mask(mask)))
        transaction.metrics = {
            "dry_run": "false",
            "files_removed": orjson.dumps(list(names.values())).decode(),
        }
        transaction.read.files.update(lost)
        transaction.remove_files(removed)
        transaction.commit()
    return {
        "dry_run": dry_run,
        "files_removed": list(names.values()),
        "reasons": {names[name]: reason for name, reason in lost.items()},
    }


def _lost_files(store: Store, files: pa.Table) -> dict[str, str]:
    """Return what is wrong with each lost file, by the name of the data file."""
    names = files.column("path").to_pylist()
    sizes = files.column("size").to_pylist()
    vectors = _vectors(files)
    storage = _Storage.of(store, [*names, *(name for name, _ in vectors.values())])
    lost: dict[str, str] = {}
    for name, size in zip(names, sizes, strict=True):
        found = storage.sizes[name]
        vector = vectors.get(name)
        if found is None:
            lost[name] = GONE
        elif found != size and (wrong := _footer_fault(store, name, found)) is not None:
            lost[name] = f"truncated to {found} of {size} bytes: {wrong}"
        elif vector is not None and (wrong := _vector_fault(storage, *vector)) is not None:
            lost[name] = wrong
    return lost


def _mask(values: Sequence[bool]) -> Any:
    import numpy as np

    return np.array(values, np.bool_)


def _vectors(files: pa.Table) -> dict[str, tuple[str, int]]:
    """Return the file of each vector that is in one, and where it ends in it, by the data file."""
    found: dict[str, tuple[str, int]] = {}
    rows = files.select(["path", "deletion_vector"]).to_pylist(maps_as_pydicts="strict")
    for row in rows:
        if row["deletion_vector"] is None:
            continue
        vector = DeletionVectorDescriptor(**row["deletion_vector"])
        name = vector.file_name()
        if name is not None:
            found[row["path"]] = name, (vector.offset or 0) + vector.size_in_bytes + _FRAME_BYTES
    return found


@dataclass(frozen=True)
class _Storage:
    """The sizes of files; None for one that is gone for certain."""

    sizes: Mapping[str, int | None]

    @classmethod
    def of(cls, store: Store, names: Sequence[str]) -> "_Storage":
        listed = {entry.name: entry.size for entry in store.list_recursive()}
        sizes: dict[str, int | None] = {name: listed.get(name) for name in names}
        # Elsewhere, behind a link, or gone: only a look at the name itself tells.
        unlisted = [name for name, size in sizes.items() if size is None]
        for name, status in zip(unlisted, store.statuses(unlisted), strict=True):
            if status is not None:
                with expecting_file(name, store.uri):
                    sizes[name] = store.size(name)
            else:
                _ensure_folder(store, name)
        return cls(sizes)


def _ensure_folder(store: Store, name: str) -> None:
    """Raise if the folder of a file outside of the table is gone too: its disk may not be mounted."""
    if not (store.is_local and name.startswith("/")):
        return
    folder = posixpath.dirname(name)
    (found,) = store.statuses([folder])
    if found is None:
        raise StorageError(
            f"neither {name} nor its folder is there: its disk may not be mounted. Mount it; or create the"
            " folder"
            f" {folder}, if its files are lost"
        )


def _footer_fault(store: Store, name: str, size: int) -> str | None:
    """Return why a file of another size than the log says is not whole; None if it is."""
    try:
        length = footer_length(store.read_range(name, max(0, size - 8), 8), size)
        parse_footer(store.read_range(name, size - 8 - length, length), size - 8 - length)
    except ValueError as error:
        return str(error)
    return None


def _vector_fault(storage: _Storage, name: str, end: int) -> str | None:
    """Return what is wrong with a deletion vector that ends at a byte of a file; None if nothing is."""
    size = storage.sizes[name]
    if size is None:
        return f"its deletion vector in {name} is {GONE}"
    return None if size >= end else f"its deletion vector in {name} is truncated to {size} bytes"
