"""Locations of the data files of a snapshot, with a warning where the files alone are not the rows."""

import warnings
from typing import TYPE_CHECKING

from deltaarrow.errors import DeltaWarning
from deltaarrow.features import is_supported
from deltaarrow.snapshot import Snapshot

if TYPE_CHECKING:
    from deltaarrow.expressions import Predicate

__all__ = ["list_file_uris"]


def list_file_uris(
    snapshot: Snapshot, predicate: "Predicate | None" = None, *, stacklevel: int = 3
) -> list[str]:
    """Return the locations of the data files that may hold matching rows.

    Warns with `DeltaWarning` if a reader that opens these files by itself sees other rows or names than the
    table has: if one of them has a deletion vector, or if the table maps columns.
    """
    reasons = []
    columns = ["path"]
    if is_supported(snapshot.protocol, "deletionVectors"):
        columns.append("deletion_vector")
    files = snapshot.files(predicate, columns)
    if len(columns) > 1 and files["deletion_vector"].null_count < files.num_rows:
        reasons.append("deletion vectors say which of their rows are deleted")
    if snapshot.mapping_mode != "none":
        reasons.append("column mapping gives their columns other names")
    if reasons and files.num_rows:
        warnings.warn(
            f"the data files alone are not the rows of the table, because {' and '.join(reasons)}; read"
            " to_pyarrow_dataset() or its get_fragments() instead",
            DeltaWarning,
            stacklevel=stacklevel,
        )
    return [snapshot.store.location(path) for path in files["path"].to_pylist()]
