"""Writing classic checkpoints: chapters "Checkpoints" and "Checkpoint Schema" of the protocol.

A checkpoint is the replayed state of a version: its protocol and metadata, the newest `txn` of every
application, the domains, the live files and the tombstones that have not expired. The hint in
``_last_checkpoint`` follows only once the checkpoint is in place. A checkpoint has the columns that we
know, so where an action has a field that we do not know none is written: commits keep such fields, and
may be cleaned up once a checkpoint stands for them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from deltaarrow.actions import CHECKPOINT_SCHEMA, Action, render_action
from deltaarrow.actions.arrow import build_array
from deltaarrow.actions.codec import camel_case
from deltaarrow.compute import files_cursor, quote_file, quote_identifier
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.log.checkpoints import CheckpointFiles
from deltaarrow.log.last_checkpoint import read_hint, render_hint, write_hint
from deltaarrow.log.names import checkpoint_name
from deltaarrow.log.replay import LogState

__all__ = ["write_classic_checkpoint"]

_COLUMNS = ("txn", "add", "remove", "metaData", "protocol", "domainMetadata")
_SCHEMA = pa.schema([CHECKPOINT_SCHEMA.field(name) for name in _COLUMNS])
_ROWS_A_GROUP = 100_000


def _row_table(column: str, values: pa.Array) -> pa.Table:
    """Return the rows of one kind of action; the columns of the other kinds are NULL."""
    arrays = [values if f.name == column else pa.nulls(len(values), f.type) for f in _SCHEMA]
    return pa.Table.from_arrays(arrays, schema=_SCHEMA)


def _action_rows(actions: list[Action]) -> Iterator[pa.Table]:
    for action in actions:
        rendered = render_action(action)
        for key, value in rendered.items():
            yield _row_table(key, build_array([value], _SCHEMA.field(key).type))


def _file_rows(column: str, files: pa.Table) -> Iterator[pa.Table]:
    """Turn a table of files, which has snake_case columns, into rows of a checkpoint."""
    wanted = _SCHEMA.field(column).type
    sources = {camel_case(name): name for name in files.column_names} | {"path": "log_path"}
    for batch in files.to_batches(max_chunksize=_ROWS_A_GROUP):
        children = []
        for child in wanted:
            source = batch.column(sources[child.name])
            # Deletion vectors differ in the names of their fields alone.
            children.append(_renamed(source, child.type) if pa.types.is_struct(child.type) else source)
        yield _row_table(column, pa.StructArray.from_arrays(children, fields=list(wanted)))


def _renamed(array: pa.StructArray, data_type: pa.DataType) -> pa.StructArray:
    return pa.StructArray.from_arrays(
        [array.field(i) for i in range(array.type.num_fields)],
        fields=list(data_type),
        mask=array.is_null() if array.null_count else None,
    )


# What says nothing that the other fields do not say; delta-spark leaves these out as well.
_DERIVED = {
    "add": frozenset({"stats_parsed", "partitionValues_parsed"}),
    "remove": frozenset({"stats_parsed", "partitionValues_parsed"}),
    "deletionVector": frozenset({"maxRowIndex"}),
}


def _lost_fields(name: str, value: Mapping[str, Any], data_type: pa.StructType) -> Iterator[str]:
    """Name the fields of an object, given as JSON, that a column of this type has no place for."""
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
    """Name the members of a column of an older checkpoint that the new one has no place for."""
    known = {field.name: field.type for field in wanted}
    for field in found:
        inner = (*path, field.name)
        if field.name not in known:
            if field.name not in _DERIVED.get(path[-1], ()):
                yield inner
        elif pa.types.is_struct(known[field.name]) and pa.types.is_struct(field.type):
            yield from _unplaced(inner, field.type, known[field.name])


def _lost_columns(state: LogState, files: CheckpointFiles) -> Iterator[str]:
    """Name the unknown fields that file actions of an older checkpoint have, in whichever row."""
    paths = [
        path
        for column in files.schema
        if column.name in ("add", "remove")
        for path in _unplaced((column.name,), column.type, _SCHEMA.field(column.name).type)
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


def _ensure_nothing_is_lost(state: LogState, head: Iterable[Action], tombstones_since: int) -> None:
    removes = (
        each for each in state.recent_removes() if (each.get("deletionTimestamp") or 0) > tombstones_since
    )
    actions: list[Mapping[str, Any]] = [render_action(action) for action in head]
    actions += [{"add": add} for add in state.recent_adds()] + [{"remove": remove} for remove in removes]
    lost = {
        field
        for action in actions
        for key, value in action.items()
        for field in _lost_fields(key, value, _SCHEMA.field(key).type)
    }
    lost.update(field for files in state.checkpoint_files for field in _lost_columns(state, files))
    if lost:
        names = ", ".join(sorted(lost))
        raise UnsupportedFeatureError(
            f"no checkpoint of version {state.segment.version} of {state.store.uri} can be written: it"
            f" would lose fields that this release does not know: {names}",
            feature=names,
        )


def write_classic_checkpoint(state: LogState, *, tombstones_since: int) -> str:
    """Write the checkpoint of a replayed segment and the hint to it; return its store name.

    Tombstones older than `tombstones_since` (milliseconds since the epoch) are left out. A checkpoint
    that another writer has put there first is as good and is replaced by the same content.

    Raises `UnsupportedFeatureError`, naming them, when actions have fields that are not known here.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    version = state.segment.version
    name = checkpoint_name(version)
    files = state.query_files()
    tombstones = state.query_tombstones()
    # A tombstone without a time counts as one of the epoch, as in delta-spark.
    times = pc.fill_null(tombstones.column("deletion_timestamp"), 0)
    tombstones = tombstones.filter(pc.greater(times, tombstones_since))
    head: list[Action] = [state.protocol, state.metadata]
    head += [*state.transactions.values(), *state.domains.values()]
    # Last, because by now every file of the older checkpoint has been found to be readable.
    _ensure_nothing_is_lost(state, head, tombstones_since)
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, _SCHEMA, compression="snappy") as writer:
        writer.write_table(pa.concat_tables(_action_rows(head)))
        for rows in (*_file_rows("add", files), *_file_rows("remove", tombstones)):
            writer.write_table(rows)
    data = sink.getvalue().to_pybytes()
    state.store.write(name, data)
    hinted = read_hint(state.store)
    if hinted is None or hinted <= version:
        size = len(head) + files.num_rows + tombstones.num_rows
        hint = render_hint(
            version=version, size=size, size_in_bytes=len(data), num_of_add_files=files.num_rows
        )
        write_hint(state.store, hint)
    return name
