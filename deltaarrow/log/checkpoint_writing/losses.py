"""Unknown fields that a checkpoint would lose.

A checkpoint has columns for known fields only. If an action has another field, no checkpoint is written: the
commits keep that field, but they may be deleted once a checkpoint replaces them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from deltaarrow.actions import CHECKPOINT_SCHEMA, Action, render_action
from deltaarrow.compute import files_cursor, quote_file, quote_identifier
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.log.checkpoints import CheckpointFiles
from deltaarrow.log.state import LogState

__all__ = ["ensure_nothing_is_lost"]

# Fields that repeat other fields; delta-spark leaves them out as well.
_DERIVED = {
    "add": frozenset({"stats_parsed", "partitionValues_parsed"}),
    "remove": frozenset({"stats_parsed", "partitionValues_parsed"}),
    "deletionVector": frozenset({"maxRowIndex"}),
}


def _lost_fields(name: str, value: Mapping[str, Any], data_type: pa.StructType) -> Iterator[str]:
    """Name the fields of a JSON object for which a column of this type has no place."""
    known = {field.name: field.type for field in data_type}
    for key, item in value.items():
        if key not in known:
            if item is not None and key not in _DERIVED.get(name, ()):
                yield f"{name}.{key}"
        elif pa.types.is_struct(known[key]) and isinstance(item, Mapping):
            yield from _lost_fields(key, item, known[key])


def _unplaced(
    path: tuple[str, ...], found: pa.StructType, wanted: pa.StructType
) -> Iterator[tuple[str, ...]]:
    """Name the members of an older checkpoint's column for which the new column has no place."""
    known = {field.name: field.type for field in wanted}
    for field in found:
        inner = (*path, field.name)
        if field.name not in known:
            if field.name not in _DERIVED.get(path[-1], ()):
                yield inner
        elif pa.types.is_struct(known[field.name]) and pa.types.is_struct(field.type):
            yield from _unplaced(inner, field.type, known[field.name])


def _lost_columns(state: LogState, files: CheckpointFiles) -> Iterator[str]:
    """Name the unknown fields that the file actions of an older checkpoint have in any row."""
    paths = [
        path
        for column in files.schema
        if column.name in ("add", "remove")
        for path in _unplaced((column.name,), column.type, CHECKPOINT_SCHEMA.field(column.name).type)
    ]
    if not paths:
        return
    counts = ", ".join(f"count({'.'.join(map(quote_identifier, path))})" for path in paths)
    listed = ", ".join(quote_file(state.store.location(name)) for name in files.names)
    with files_cursor(state.store) as cursor:
        query = f"SELECT {counts} FROM read_parquet([{listed}], hive_partitioning = false)"
        (row,) = cursor.sql(query).fetchall()
    for path, count in zip(paths, row, strict=True):
        if count:
            yield ".".join(path[-2:])


def ensure_nothing_is_lost(state: LogState, head: Iterable[Action], tombstones_since: int) -> None:
    """Raise `UnsupportedFeatureError`, naming the fields, if actions have fields unknown to this release.

    Checked are the actions in `head` and the files and tombstones of `state`, except tombstones not newer
    than `tombstones_since`.
    """
    removes = (
        each for each in state.recent_removes() if (each.get("deletionTimestamp") or 0) > tombstones_since
    )
    actions: list[Mapping[str, Any]] = [render_action(action) for action in head]
    actions += [{"add": add} for add in state.recent_adds()] + [{"remove": remove} for remove in removes]
    lost = {
        field
        for action in actions
        for key, value in action.items()
        for field in _lost_fields(key, value, CHECKPOINT_SCHEMA.field(key).type)
    }
    lost.update(field for files in state.checkpoint_files for field in _lost_columns(state, files))
    if lost:
        names = ", ".join(sorted(lost))
        raise UnsupportedFeatureError(
            f"cannot write a checkpoint of version {state.segment.version} of {state.store.uri}: it would"
            f" lose fields that this release does not know: {names}",
            feature=names,
        )
