"""The file actions of a new checkpoint, as tables of its rows: `CheckpointContent`, and their `Totals`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from deltaarrow.actions import AddFile, RemoveFile
from deltaarrow.columnar.numpy_arrays import numbers_of
from deltaarrow.log.checkpoint_writing.incremental import incremental_adds
from deltaarrow.log.checkpoint_writing.layout import CheckpointLayout
from deltaarrow.log.checkpoint_writing.row_stream import CheckpointSizes, add_rows, file_rows, remove_rows
from deltaarrow.log.file_sources import FileSources
from deltaarrow.log.state import LogState

__all__ = ["CheckpointContent", "Totals", "parquet_writer"]


@dataclass(frozen=True)
class CheckpointContent:
    """What a new checkpoint has of the file actions of a version; picklable.

    Args:
        layout: the columns.
        sizes: how many rows its parts have.
        tombstones_since: older tombstones are left out; in ms since the epoch.
    """

    layout: CheckpointLayout
    sizes: CheckpointSizes
    tombstones_since: int

    def tables(self, state: LogState, schema: pa.Schema, at_once: int) -> Iterator[tuple[str, pa.Table]]:
        """Yield tables of about `at_once` file actions of `state`, each with its kind of action."""
        carried = incremental_adds(state, self.layout, schema.field(AddFile.KEY).type)
        if carried is not None:
            yield AddFile.KEY, file_rows(AddFile.KEY, carried, schema)
            return
        files, batch_rows = FileSources(state), self.sizes.batch_rows
        for rows in add_rows(files, self.layout, schema, at_once, batch_rows):
            yield AddFile.KEY, rows
        since = self.tombstones_since
        for rows in remove_rows(files, self.layout, schema, at_once, batch_rows, tombstones_since=since):
            yield RemoveFile.KEY, rows


@dataclass
class Totals:
    """How many file actions of each kind a checkpoint has, and the bytes of its live files."""

    rows: dict[str, int] = field(default_factory=lambda: {AddFile.KEY: 0, RemoveFile.KEY: 0})
    live_bytes: int = 0

    def counting(self, tables: Iterable[tuple[str, pa.Table]]) -> Iterator[tuple[str, pa.Table]]:
        """Yield `tables` unchanged, and count them."""
        for action, rows in tables:
            self.rows[action] += rows.num_rows
            if action == AddFile.KEY:
                sizes = rows.column(action).combine_chunks().field("size")
                self.live_bytes += int(numbers_of(sizes).sum())
            yield action, rows

    def add(self, other: "Totals") -> None:
        """Add the totals of another part of the checkpoint."""
        for action, rows in other.rows.items():
            self.rows[action] += rows
        self.live_bytes += other.live_bytes

    def ensure_agree(self, state: LogState) -> None:
        """Raise `CorruptLogError` if the version checksum of `state` counts other live files.

        This keeps damage in an older checkpoint out of the new one.
        """
        state.ensure_totals(self.rows[AddFile.KEY], self.live_bytes)


def parquet_writer(sink: Any, schema: pa.Schema) -> Any:
    """Return a writer of the rows of a checkpoint."""
    import pyarrow.parquet as pq

    # As in Spark: decimals of up to 18 digits are integers; the Arrow schema adds nothing.
    return pq.ParquetWriter(
        sink, schema, compression="snappy", store_decimal_as_integer=True, store_schema=False
    )
