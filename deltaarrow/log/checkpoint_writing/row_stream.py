"""The rows of a checkpoint, as a stream of bounded memory: chapter "Checkpoints" of the protocol.

One query turns the file actions of an older checkpoint's Parquet files into record batches; they are never
all in memory.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from deltaarrow.actions import Action, AddFile, RemoveFile, render_action
from deltaarrow.actions.arrow_tables import REQUIRED_OF_DELETION_VECTORS, build_array
from deltaarrow.errors import CorruptLogError
from deltaarrow.log.checkpoint_writing.layout import CheckpointLayout
from deltaarrow.log.file_sources import FileSources

__all__ = ["CheckpointSizes", "action_rows", "add_rows", "conformed", "file_rows", "remove_rows"]


@dataclass(frozen=True)
class CheckpointSizes:
    """How many rows the parts of a checkpoint have, about."""

    group_rows: int = 16_000
    """Of a row group of a classic checkpoint; while it is written there are several copies of them."""

    sidecar_rows: int = 50_000
    """Of a sidecar; as many as delta-spark gives it."""

    batch_rows: int = 10_000
    """So many at a time are taken from DuckDB, which holds several of such batches."""


_MOST_SORTED = 250_000
"""Sorting this many file actions takes about 150 MB of memory."""


def action_rows(actions: Iterable[Action], schema: pa.Schema) -> pa.Table:
    """Return actions as rows of a checkpoint of this schema."""
    return pa.concat_tables(
        file_rows(key, build_array([value], schema.field(key).type), schema)
        for action in actions
        for key, value in render_action(action).items()
    )


def add_rows(
    files: FileSources, layout: CheckpointLayout, schema: pa.Schema, at_once: int, batch_rows: int
) -> Iterator[pa.Table]:
    """Yield the live files of a version as rows of a checkpoint, about `at_once` per table.

    They come from batches of `batch_rows`.
    They are sorted by partition values, so that the statistics of a row group narrow down its partitions;
    more than `_MOST_SORTED` keep the order of the older checkpoint.
    """
    with files.open(AddFile.KEY) as opened:
        if sources := opened.sources(opened.schema.names):
            query = " UNION ALL ".join(layout.select_adds(sql, part) for sql, part in sources)
            if layout.partitions and at_once < files.count_rows() <= _MOST_SORTED:
                query = f'FROM ({query}) ORDER BY "partitionValues_parsed"'
            batches = opened.cursor.sql(query).to_arrow_reader(batch_rows)
            yield from _file_rows(files, AddFile.KEY, batches, schema, at_once)


def remove_rows(
    files: FileSources,
    layout: CheckpointLayout,
    schema: pa.Schema,
    at_once: int,
    batch_rows: int,
    *,
    tombstones_since: int,
) -> Iterator[pa.Table]:
    """Yield tombstones newer than `tombstones_since`, in ms since the epoch, as rows like `add_rows`."""
    with files.open(RemoveFile.KEY) as opened:
        if sources := opened.sources(opened.schema.names):
            query = " UNION ALL ".join(layout.select_removes(sql, part) for sql, part in sources)
            # A tombstone without a time counts as deleted at the epoch, as in delta-spark.
            query = f'FROM ({query}) WHERE coalesce("deletionTimestamp", 0) > {int(tombstones_since)}'
            batches = opened.cursor.sql(query).to_arrow_reader(batch_rows)
            yield from _file_rows(files, RemoveFile.KEY, batches, schema, at_once)


def _file_rows(
    files: FileSources, action: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema, at_once: int
) -> Iterator[pa.Table]:
    for batch in _regrouped(batches, at_once):
        if not _is_complete(batch):
            files.state.blame_checkpoint(action)
            raise CorruptLogError(f"an {action} action of {files.state.store.uri} lacks a required field")
        yield file_rows(action, conformed(batch.to_struct_array(), schema.field(action).type), schema)


_REQUIRED = ("path", "size", "partitionValues")


def _is_complete(batch: pa.RecordBatch) -> bool:
    """Whether every file action has all required fields."""
    required = _REQUIRED if "clusteringProvider" in batch.schema.names else _REQUIRED[:1]
    if any(batch.column(name).null_count for name in required):
        return False
    vectors = batch.column("deletionVector").drop_null()
    return not any(vectors.field(name).null_count for name in REQUIRED_OF_DELETION_VECTORS)


def _regrouped(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Combine batches into batches of about `rows` rows, without splitting any."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if held and sum(each.num_rows for each in held) + batch.num_rows > rows * 5 // 4:
            yield pa.concat_batches(held)
            held = []
        if batch.num_rows:
            held.append(batch)
    if held:
        yield pa.concat_batches(held)


def conformed(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Return an array cast to a type that differs from its own only in field names or nullability."""
    if array.type.equals(data_type):
        return array
    if not pa.types.is_struct(data_type):
        return array.cast(data_type)
    children = [conformed(array.field(i), field.type) for i, field in enumerate(data_type)]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(data_type), mask=mask)


def file_rows(column: str, values: pa.Array, schema: pa.Schema) -> pa.Table:
    """Return the rows of one kind of action; the columns of the other kinds are NULL."""
    arrays = [values if f.name == column else pa.nulls(len(values), f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)
