"""Candidates from an inventory: a table of paths, such as the inventory of a bucket.

The columns are Spark's: ``path`` (string), ``length`` (long), ``isDir`` (boolean) and ``modificationTime``
(long, milliseconds since the epoch). Paths are absolute and not percent-encoded. What is not below the table,
is hidden or is a folder does not count.
"""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.actions.arrow_tables import build_array
from deltaarrow.columnar.numpy_arrays import scalar_of
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.operations.vacuum.candidates import CANDIDATES, Candidates, Decision, distinct
from deltaarrow.operations.vacuum.folder_listing import HiddenNames
from deltaarrow.operations.vacuum.listing_names import listed_names
from deltaarrow.operations.vacuum.reasons import Reason
from deltaarrow.snapshot import Snapshot

__all__ = ["candidates_of_inventory"]

_TEXTS: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
)
_COLUMNS: dict[str, tuple[str, Callable[[pa.DataType], bool]]] = {
    "path": ("string", lambda data_type: any(each(data_type) for each in _TEXTS)),
    "length": ("int64", pa.types.is_int64),
    "isDir": ("bool", pa.types.is_boolean),
    "modificationTime": ("int64", pa.types.is_int64),
}


def candidates_of_inventory(snapshot: Snapshot, inventory: Any, *, with_kept: bool) -> Candidates:
    """Return the files of an inventory that are in the folder of a table.

    `inventory` is a `pyarrow.Table`, or anything with Arrow's C stream. Raises `SchemaMismatchError` unless
    it has the columns.
    """
    files = _files(inventory)
    names = pa.concat_arrays(
        [
            build_array([], pa.string()),
            *(listed_names(snapshot.store, chunk) for chunk in files.column("path").chunks),
        ]
    )
    absolute = pc.not_equal(names, files.column("path"))
    inside = files.set_column(0, "path", names).filter(absolute)
    hidden = HiddenNames.of(snapshot)
    is_hidden = build_array(
        [hidden.hides_path(path) for path in inside.column("path").to_pylist()], pa.bool_()
    )
    kept = [Decision.begin(inside.filter(is_hidden), Reason.HIDDEN)] if with_kept else []
    return Candidates(
        files=distinct(inside.filter(pc.invert(is_hidden))),
        default=Reason.UNREFERENCED,
        kept=kept,
        has_absolute=True,
    )


def _files(inventory: Any) -> pa.Table:
    """The files of an inventory as candidates; names as a store takes them."""
    table = inventory if isinstance(inventory, pa.Table) else pa.table(inventory)
    wanted = ", ".join(f"{name}: {kind}" for name, (kind, _) in _COLUMNS.items())
    for name, (_, fits) in _COLUMNS.items():
        if table.schema.get_field_index(name) < 0 or not fits(table.schema.field(name).type):
            raise SchemaMismatchError(
                f"an inventory has the columns {wanted}; this one has"
                f" {', '.join(f'{field.name}: {field.type}' for field in table.schema)}"
                " (Spark: DELTA_INVALID_INVENTORY_SCHEMA)"
            )
    # Few functions of Arrow know the younger kinds of texts.
    texts = table.column("path").cast(pa.string())
    paths = pc.replace_substring_regex(texts, "^file:/+", "/")
    columns = [paths, table.column("length"), table.column("modificationTime")]
    is_file = pc.invert(pc.fill_null(table.column("isDir"), scalar_of(True, pa.bool_())))
    return pa.Table.from_arrays(columns, schema=CANDIDATES).filter(pc.and_(is_file, pc.is_valid(paths)))
