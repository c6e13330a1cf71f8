"""The file actions of a version, for any number of them: chapter "Action Reconciliation" of the protocol.

Commits override an older checkpoint. They are reconciled in memory (`deltaarrow.log.tail`). The file actions
of a checkpoint stay in its files and are read with SQL that leaves out those that the commits override.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.actions import FILE_SCHEMA, REMOVE_SCHEMA, AddFile, RemoveFile
from deltaarrow.actions.arrow_tables import KEY_COLUMNS, key_table
from deltaarrow.columnar.numpy_arrays import empty_table, in_order, numbers_of
from deltaarrow.compute import files_cursor, quote_identifier
from deltaarrow.errors import CorruptLogError
from deltaarrow.log.checkpoints import CheckpointFiles, is_complete
from deltaarrow.log.row_numbers import PLACE, numbered_from
from deltaarrow.log.state import LogState

if TYPE_CHECKING:
    import duckdb

__all__ = [
    "FileSources",
    "OpenSources",
    "Source",
    "list_files",
    "list_tombstones",
    "stream_files",
]

_MOST_ORDERED = 1 << 16
"""Sorting a million file actions takes half a second and doubles their memory."""

Source = tuple[str, CheckpointFiles | None]
"""A SELECT, and the part of the checkpoint that it reads; None for the commits."""

_UNSEEN = "NOT EXISTS (FROM newer WHERE " + " AND ".join(f"newer.{n} = older.{n}" for n in KEY_COLUMNS) + ")"


@dataclass(frozen=True)
class OpenSources:
    """The file actions of one kind of a version, open for queries.

    Attributes:
        state: the replayed version.
        action: the kind, ``add`` or ``remove``.
        cursor: where the SELECTs run.
    """

    state: LogState
    action: str
    cursor: "duckdb.DuckDBPyConnection"

    @property
    def schema(self) -> pa.Schema:
        """All columns: `FILE_SCHEMA` or `REMOVE_SCHEMA`."""
        return FILE_SCHEMA if self.action == AddFile.KEY else REMOVE_SCHEMA

    @property
    def _has_newer(self) -> bool:
        tail = self.state.file_actions[0]
        return bool(tail.adds or tail.removes or tail.others)

    def select(self, files: CheckpointFiles, columns: Sequence[str], among: str | None = None) -> str | None:
        """Return a SELECT of the actions in checkpoint files that no commit overrides.

        `columns` and `among` are as for `CheckpointFiles.sql`; None if there are no such actions.
        """
        has_newer = self._has_newer
        names = [*dict.fromkeys([*columns, *(KEY_COLUMNS if has_newer else ())])]
        sql = files.sql(self.state.store, self.action, names, self.schema, among=among)
        if sql is None or not has_newer:
            return sql
        return f"SELECT {', '.join(map(quote_identifier, columns))} FROM ({sql}) older WHERE {_UNSEEN}"

    def sources(self, columns: Sequence[str]) -> list[Source]:
        """Return SELECTs that together give all actions, with these columns.

        Live files also get ``stats_parsed`` if the part of the checkpoint has it. Sources without rows may be
        left out.
        """
        sources: list[Source] = []
        tail, parts = self.state.file_actions
        for files in parts:
            has_struct = self.action == AddFile.KEY and files.stats_parsed_type is not None
            sql = self.select(files, [*columns, "stats_parsed"] if has_struct else columns)
            if sql is not None:
                sources.append((sql, files))
        recent = tail.adds if self.action == AddFile.KEY else tail.removes
        if recent:
            # In commit order.
            self.cursor.register("tail", self.state.recent_table(self.action, [*reversed(recent)], columns))
            sources.append(("FROM tail", None))
        return sources

    def table(self, parts: Iterable[tuple[CheckpointFiles, str | None]], columns: Sequence[str]) -> pa.Table:
        """Return the result of `select` for parts of the checkpoint, each with its condition `among`.

        Up to `_MOST_ORDERED` actions come in the order of the files and their rows.

        Raises `CorruptLogError`, naming the log file, when an action lacks a required field.
        """
        schema = pa.schema([self.schema.field(name) for name in columns])
        # A join does not keep the order of rows.
        names = [*columns, PLACE] if self._has_newer else columns
        selects, first = [], 0
        for files, among in parts:
            if (sql := self.select(files, names, among)) is not None:
                selects.append(numbered_from(first, sql) if self._has_newer else sql)
            first += len(files.names)
        if not selects:
            # The method of the schema would import pandas.
            return empty_table(schema)
        table = self.cursor.sql(" UNION ALL ".join(selects)).to_arrow_table()
        if self._has_newer:
            table = (in_order(table, PLACE) if len(table) <= _MOST_ORDERED else table).select(columns)
        if not is_complete(table, self.action):
            self.state.blame_checkpoint(self.action)
            raise CorruptLogError(f"a file action of {self.state.store.uri} lacks a required field")
        # A cast would load all functions of Arrow.
        return table if table.schema.equals(schema) else table.cast(schema)


class FileSources:
    """The file actions of a replayed version.

    Those of a small older checkpoint are read into memory on first use.
    """

    def __init__(self, state: LogState) -> None:
        self.state = state

    def count_rows(self) -> int:
        """Return an upper bound on the number of file actions of both kinds."""
        import pyarrow.parquet as pq

        store, (tail, parts) = self.state.store, self.state.file_actions
        filesystem = store.arrow_filesystem()
        names = [name for files in parts for name in files.names]
        rows: list[int] = [
            pq.read_metadata(store.arrow_path(name), filesystem=filesystem).num_rows for name in names
        ]
        return len(tail.adds) + len(tail.removes) + sum(rows)

    @contextlib.contextmanager
    def open(self, action: str) -> Iterator[OpenSources]:
        """Yield the live files (`add`) or the tombstones (`remove`), open for queries.

        Any failure of DuckDB in the block becomes a `CorruptLogError` that names the file.
        """
        import duckdb

        state, (tail, parts) = self.state, self.state.file_actions
        try:
            with files_cursor(state.store) as cursor:
                if parts and (newer := tail.keys):
                    cursor.register("newer", key_table(newer))
                yield OpenSources(state, action, cursor)
        except (duckdb.OutOfMemoryException, duckdb.InterruptException):
            raise
        except duckdb.Error as error:
            state.blame_checkpoint(action)
            raise CorruptLogError(
                f"the files of version {state.segment.version} cannot be listed: {error}"
            ) from error


def list_files(state: LogState, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the live files of a version as a table of `FILE_SCHEMA`, or of its named columns.

    Raises `CorruptLogError` if the version checksum counts other files.
    """

    def listed(state: LogState) -> pa.Table:
        files = _listed(state, AddFile.KEY, FILE_SCHEMA.names if columns is None else columns)
        state.ensure_counted(files)
        return files

    return state.through_cleanup(listed)


def list_tombstones(state: LogState) -> pa.Table:
    """Return the removed files that the log of a version still lists, as a table of `REMOVE_SCHEMA`."""
    return state.through_cleanup(lambda state: _listed(state, RemoveFile.KEY, REMOVE_SCHEMA.names))


def stream_files(state: LogState, action: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the live files (`add`) or the tombstones (`remove`) of a version, a part at a time, in no order.

    What has been yielded counts once the last part has: `CorruptLogError` is raised before it ends where an
    action lacks a field, or the version checksum counts other live files. For a query of
    `LogState.through_cleanup`.
    """
    files, size = 0, 0
    for table in _streamed(state, action, columns):
        files += len(table)
        if action == AddFile.KEY and "size" in columns:
            size += int(numbers_of(table.column("size")).sum())
        yield table
    if action == AddFile.KEY:
        state.ensure_totals(files, size if "size" in columns else None)


def _streamed(state: LogState, action: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    tail, parts = state.file_actions
    rows = state.limits.streamed_rows
    recent = [*(tail.adds if action == AddFile.KEY else tail.removes)]
    for start in range(0, len(recent), rows):
        yield state.recent_table(action, recent[start : start + rows], columns)
    with FileSources(state).open(action) as sources:
        schema = pa.schema([sources.schema.field(name) for name in columns])
        for files in parts if any(files.holds(action) for files in parts) else ():
            if (sql := sources.select(files, columns)) is None:
                continue
            for batch in sources.cursor.sql(sql).to_arrow_reader(rows):
                table = pa.Table.from_batches([batch])
                if not is_complete(table, action):
                    state.blame_checkpoint(action)
                    raise CorruptLogError(
                        f"a file action of {state.store.uri} lacks a field that it must have"
                    )
                yield table if table.schema.equals(schema) else table.cast(schema)


def _listed(state: LogState, action: str, columns: Sequence[str]) -> pa.Table:
    tail, parts = state.file_actions
    recent = [*reversed(tail.adds if action == AddFile.KEY else tail.removes)]
    of_commits = state.recent_table(action, recent, columns)
    if not any(files.holds(action) for files in parts):
        return of_commits
    with FileSources(state).open(action) as sources:
        of_checkpoint = sources.table([(files, None) for files in parts], columns)
        return pa.concat_tables([of_checkpoint, of_commits])
