"""Incremental checkpoint: the previous rows plus new adds. Chapter "Checkpoints" of the protocol.

If files were only added, the rows of the older checkpoint are kept as they are, and rows for the few newer
commits are built from their JSON. This is faster than a query that reads and parses all rows again, which
appends of a few rows would pay for at every tenth commit. The query handles everything else, such as a
removed file or a value of another type.
"""

import pyarrow as pa

from deltaarrow.actions import AddFile, FileActionKey, RemoveFile, file_table
from deltaarrow.log.checkpoint_writing.layout import CheckpointLayout
from deltaarrow.log.checkpoint_writing.row_stream import conformed
from deltaarrow.log.checkpoints import CheckpointFiles
from deltaarrow.log.state import LogState
from deltaarrow.storage import Store

__all__ = ["incremental_adds"]

_SMALL_CHECKPOINT = 256 * 1024
_FEW_COMMITTED = 200
_REQUIRED = ("path", "size", "partitionValues")


def incremental_adds(state: LogState, layout: CheckpointLayout, add_type: pa.StructType) -> pa.Array | None:
    """Return the live files of a version as the checkpoint column `add` of this type.

    None means that a query has to find them: there are many, some were removed, or the older checkpoint has
    other members than this one.
    """
    adds, parts = state.tail.adds, state.checkpoint_files
    is_small = len(adds) <= _FEW_COMMITTED and state.checkpoint_bytes <= _SMALL_CHECKPOINT
    if not is_small or state.is_part or state.tail.removes or len(parts) > 1:
        return None
    older = _older_adds(state.store, parts[0], add_type) if parts else pa.nulls(0, add_type)
    if older is None or not adds.keys().isdisjoint(_keys(older)):
        return None
    # In commit order.
    files = file_table([*reversed(adds.values())], [*reversed(adds)], lambda key: state.name_of("add", key))
    newer = layout.adds_of(files)
    return None if newer is None else pa.concat_arrays([older, conformed(newer, add_type)])


def _older_adds(store: Store, files: CheckpointFiles, add_type: pa.StructType) -> pa.Array | None:
    if len(files.names) > 1 or AddFile.KEY not in files.schema.names:
        return None
    if not _are_alike(files.schema.field(AddFile.KEY).type, add_type):
        return None
    import pyarrow.parquet as pq

    (name,) = files.names
    try:
        with pq.ParquetFile(store.arrow_path(name), filesystem=store.arrow_filesystem()) as file:
            columns = file.read(columns=list(files.schema.names))
    except (pa.ArrowException, OSError):
        return None  # The query fails as well and says why.
    if RemoveFile.KEY in columns.column_names and columns[RemoveFile.KEY].null_count < columns.num_rows:
        return None
    adds = columns[AddFile.KEY].combine_chunks().drop_null()
    if any(adds.field(member).null_count for member in _REQUIRED):
        return None
    vectors = adds.field("deletionVector")
    if vectors.field("storageType").null_count > vectors.null_count:
        return None  # A struct without members is not a deletion vector.
    return conformed(adds, add_type)


def _are_alike(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether two types differ at most in field names inside maps and in nullability."""
    if pa.types.is_struct(found) and pa.types.is_struct(wanted):
        return [f.name for f in found] == [f.name for f in wanted] and all(
            _are_alike(one.type, other.type) for one, other in zip(found, wanted, strict=True)
        )
    if pa.types.is_map(found) and pa.types.is_map(wanted):
        return _are_alike(found.key_type, wanted.key_type) and _are_alike(found.item_type, wanted.item_type)
    same: bool = found.equals(wanted)
    return same


def _keys(adds: pa.Array) -> list[FileActionKey]:
    paths, vectors = adds.field("path").to_pylist(), adds.field("deletionVector").to_pylist()
    return [
        FileActionKey.from_json({"path": path, "deletionVector": vector})
        for path, vector in zip(paths, vectors, strict=True)
    ]
