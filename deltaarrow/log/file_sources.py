"""The file actions of a version as SQL, for whoever passes all of them on and needs few at a time.

Chapter "Action Reconciliation" of the protocol: what the commits say of a logical file stands, whatever
an older checkpoint says of it.
"""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from deltaarrow.actions import FILE_SCHEMA, REMOVE_SCHEMA, AddFile
from deltaarrow.actions.arrow import KEY_COLUMNS, key_table
from deltaarrow.compute import files_cursor
from deltaarrow.errors import CorruptLogError
from deltaarrow.log.checkpoints import CheckpointFiles
from deltaarrow.log.replay import LogState

if TYPE_CHECKING:
    import duckdb

__all__ = ["FileSources", "Source"]

Source = tuple[str, CheckpointFiles | None]
"""A SELECT, and the part of the checkpoint that it reads; None for the commits."""

_UNSEEN = " AND ".join(f"newer.{name} = older.{name}" for name in KEY_COLUMNS)


class FileSources:
    """The file actions of a replayed version.

    Where they are few, those of an older checkpoint are in memory once they were asked for.
    """

    def __init__(self, state: LogState) -> None:
        self.state = state

    def count_rows(self) -> int:
        """Return how many file actions there are at most, of both kinds."""
        import pyarrow.parquet as pq

        store, (tail, parts) = self.state.store, self.state.held
        filesystem = store.arrow_filesystem()
        names = [name for files in parts for name in files.names]
        rows: list[int] = [
            pq.read_metadata(store.arrow_path(name), filesystem=filesystem).num_rows for name in names
        ]
        return len(tail.adds) + len(tail.removes) + sum(rows)

    @contextlib.contextmanager
    def open(self, action: str) -> "Iterator[tuple[duckdb.DuckDBPyConnection, list[Source]]]":
        """Yield a cursor, and SELECTs that together give the live files (`add`) or tombstones (`remove`).

        Their columns are those of `FILE_SCHEMA` or `REMOVE_SCHEMA`, and ``stats_parsed`` where the part
        of the checkpoint has it. A source without rows may be missing. Whatever DuckDB fails at in the
        block becomes a `CorruptLogError` that names the file.
        """
        import duckdb

        state, (tail, parts) = self.state, self.state.held
        is_add = action == AddFile.KEY
        schema = FILE_SCHEMA if is_add else REMOVE_SCHEMA
        names = [*dict.fromkeys([*schema.names, *KEY_COLUMNS])]
        recent = tail.adds if is_add else tail.removes
        newer = [*tail.adds, *tail.removes] if parts else []
        sources: list[Source] = []
        with files_cursor(state.store) as cursor:
            if newer:
                cursor.register("newer", key_table(newer))
            for files in parts:
                more = ["stats_parsed"] if is_add and files.stats_parsed_type is not None else []
                sql = files.sql(state.store, action, [*names, *more], schema)
                if sql is not None:
                    unseen = f" WHERE NOT EXISTS (FROM newer WHERE {_UNSEEN})" if newer else ""
                    sources.append((f"FROM ({sql}) older{unseen}", files))
            if recent:
                # In the order in which they were committed.
                cursor.register("tail", state.held_table(action, [*reversed(recent)]))
                sources.append(("FROM tail", None))
            try:
                yield cursor, sources
            except (duckdb.OutOfMemoryException, duckdb.InterruptException):
                raise
            except duckdb.Error as error:
                state.blame_checkpoint(action)
                raise CorruptLogError(
                    f"the files of version {state.segment.version} cannot be listed: {error}"
                ) from error
