"""Writing classic checkpoints: chapters "Checkpoints" and "Checkpoint Schema" of the protocol.

A checkpoint is the replayed state of a version: its protocol and metadata, the newest `txn` of every
application, the domains, the live files and the tombstones that have not expired. The hint in
``_last_checkpoint`` follows only once the checkpoint is in place.
"""

from collections.abc import Iterator

import pyarrow as pa

from deltaarrow.actions import CHECKPOINT_SCHEMA, Action, render_action
from deltaarrow.actions.arrow import build_array
from deltaarrow.actions.codec import camel_case
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


def write_classic_checkpoint(state: LogState, *, tombstones_since: int) -> str:
    """Write the checkpoint of a replayed segment and the hint to it; return its store name.

    Tombstones older than `tombstones_since` (milliseconds since the epoch) are left out. A checkpoint
    that another writer has put there first is as good and is replaced by the same content.
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
