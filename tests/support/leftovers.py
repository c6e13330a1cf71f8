"""Files that a table needs and files that exist: the remains of a failed writer."""

import json
import os
from pathlib import Path

from deltaarrow import DeltaTable
from deltaarrow.deletion_vectors import DeletionVectorDescriptor

__all__ = ["files_of_log", "files_of_version", "files_on_disk"]


def files_on_disk(path: str | os.PathLike[str]) -> set[str]:
    """The files below a local table but those of its log, by their paths in it."""
    found = (os.path.relpath(each, path) for each in Path(path).rglob("*") if each.is_file())
    return {each for each in found if not each.startswith("_delta_log")}


def files_of_version(table: DeltaTable) -> set[str]:
    """The data files and the files of deletion vectors that the rows of the table's version are in."""
    files = table.snapshot.files().to_pylist()
    vectors = [DeletionVectorDescriptor(**vector) for each in files if (vector := each["deletion_vector"])]
    return {each["path"] for each in files} | {name for each in vectors if (name := each.file_name())}


def files_of_log(table: DeltaTable) -> set[str]:
    """The files that the table has use for, be it for tombstones or the change feed.

    Its log has to go back to the first version.
    """
    kept = [*table.snapshot.files().to_pylist(), *table.snapshot.tombstones().to_pylist()]
    vectors = [DeletionVectorDescriptor(**vector) for each in kept if (vector := each["deletion_vector"])]
    changes = [
        action["cdc"]["path"]
        for version in range(table.version() + 1)
        for line in table.snapshot.store.read(f"_delta_log/{version:020d}.json").splitlines()
        if "cdc" in (action := json.loads(line))
    ]
    return {each["path"] for each in kept} | {each.file_name() for each in vectors} | {*changes}
