"""The live files of a large checkpoint and the commits after it, where it is known in which few rows.

Chapter "Action Reconciliation" of the protocol. One statement over all of it takes longer to prepare than a
few files to read: so the rows are fetched as they are, what the commits say of them is looked up here, and
a condition is asked once, of those that it was not asked of before.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from deltaarrow.actions import FILE_SCHEMA, AddFile, FileActionKey
from deltaarrow.actions.arrow import KEY_COLUMNS, build_array
from deltaarrow.compute import quote_identifier
from deltaarrow.log.checkpoints import CheckpointFiles
from deltaarrow.log.choice import Choice
from deltaarrow.log.tail import LogTail
from deltaarrow.storage.paths import decode_path
from deltaarrow.storage.store import Store

if TYPE_CHECKING:
    import duckdb

__all__ = ["list_few", "rows_of", "with_looked_at"]

_FEW = 10_000


def list_few(
    cursor: "duckdb.DuckDBPyConnection",
    store: Store,
    chosen: Sequence[tuple[CheckpointFiles, Choice]],
    tail: LogTail,
    answer_tail: Callable[[], pa.Table | None],
    read_tail: Callable[[list[str]], pa.Table],
    names: Sequence[str],
    condition: str,
) -> pa.Table | None:
    """Return columns of the live files that a condition leaves; None where they may be many.

    Args:
        cursor: where the rows to read are known.
        store: where the files are.
        chosen: the files of the checkpoint, with the rows to read of them.
        tail: the commits after it.
        answer_tail: gives the columns of those of its files that the condition leaves, if that is known.
        read_tail: gives columns of its live files, newest last.
        names: those of the columns.
        condition: the condition as SQL over the columns of `FILE_SCHEMA`.
    """
    counts = [part.rows_count for _, choice in chosen for part in choice.parts]
    if None in counts or sum(count for count in counts if count is not None) > _FEW:
        return None
    if any(not choice.is_exact and files.stats_parsed_type is not None for files, choice in chosen):
        return None
    looked_at = with_looked_at(names, FILE_SCHEMA, [condition])
    told = _fetched(cursor, store, [choice for _, choice in chosen if choice.is_exact], names)
    others = _fetched(cursor, store, [choice for _, choice in chosen if not choice.is_exact], looked_at)
    tables = [] if told is None else [_unseen(told, tail).select(names)]
    judged = [] if others is None else [_unseen(others, tail)]
    of_tail = answer_tail()
    if of_tail is None:
        judged.append(read_tail(looked_at))
    if judged:
        for number, table in enumerate(judged):
            cursor.register(f"judged_{number}", table)
        columns = ", ".join(map(quote_identifier, looked_at))
        rows = " UNION ALL ".join(f"SELECT {columns} FROM judged_{number}" for number in range(len(judged)))
        listed = ", ".join(map(quote_identifier, names))
        tables.append(cursor.sql(f"SELECT {listed} FROM ({rows}) WHERE {condition}").to_arrow_table())
    if of_tail is not None:
        tables.append(of_tail)
    schema = pa.schema([FILE_SCHEMA.field(name) for name in names])
    return pa.concat_tables(
        [table if table.schema.equals(schema) else table.cast(schema) for table in tables]
    )


def with_looked_at(names: Sequence[str], schema: pa.Schema, conditions: Sequence[str | None]) -> list[str]:
    """Return names, and those of the columns that conditions look at: the ones that their texts name.

    To bind all columns would cost a query some milliseconds.
    """
    texts = [each for each in conditions if each is not None]
    return [*dict.fromkeys([*names, *(name for name in schema.names if any(name in text for text in texts))])]


def _fetched(
    cursor: "duckdb.DuckDBPyConnection", store: Store, choices: Sequence[Choice], names: Sequence[str]
) -> pa.Table | None:
    # SQL that makes paths canonical costs more than to read them.
    columns = ["log_path" if name == "path" else name for name in dict.fromkeys([*names, *KEY_COLUMNS])]
    found = [
        part.files.sql(store, AddFile.KEY, columns, FILE_SCHEMA, among=part.rows)
        for choice in choices
        for part in choice.parts
    ]
    selects = [sql for sql in found if sql is not None]
    return _canonical(cursor.sql(" UNION ALL ".join(selects)).to_arrow_table()) if selects else None


def _canonical(table: pa.Table) -> pa.Table:
    """Return a table with ``path``, as `decode_path` gives it, in the place of ``log_path``."""
    place = table.column_names.index("log_path")
    texts = table.column(place)
    paths = texts.to_pylist()
    listed = "\n".join(["", *paths])
    if "%" in listed or "\nfile:" in listed:
        texts = build_array([*map(decode_path, paths)], pa.string())
    return table.set_column(place, "path", texts)


def _unseen(table: pa.Table, tail: LogTail) -> pa.Table:
    """The files of which the commits say nothing."""
    newer = {key.path for key in tail.adds} | {key.path for key in tail.removes}
    paths = table.column("path").to_pylist()
    seen = [row for row, path in enumerate(paths) if path in newer]
    if not seen:
        return table
    is_left = np.ones(len(paths), bool)
    identities = table.column("deletion_vector_id")
    for row in seen:
        key = FileActionKey(paths[row], identities[row].as_py())
        is_left[row] = key not in tail.adds and key not in tail.removes
    return rows_of(table, is_left)


def rows_of(table: pa.Table, mask: np.ndarray) -> pa.Table:
    """The rows that a mask leaves, as slices: to filter them would load all functions of Arrow."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).view(np.int8)))
    slices = [table.slice(start, end - start) for start, end in edges.reshape(-1, 2).tolist()]
    return pa.concat_tables(slices) if slices else table.slice(0, 0)
