"""The live files of a log by one statement, which judges those of the checkpoint by the whole condition.

Chapter "Action Reconciliation" of the protocol: of the actions of a checkpoint those count of which the
commits after it say nothing.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.actions import FileActionKey
from deltaarrow.actions.arrow import KEY_COLUMNS, key_table
from deltaarrow.compute import quote_identifier
from deltaarrow.log.checkpoints import CheckpointFiles
from deltaarrow.log.choice import Choice, FileCondition
from deltaarrow.log.few_files import with_looked_at
from deltaarrow.storage.store import Store

if TYPE_CHECKING:
    import duckdb

__all__ = ["condition_on", "list_many"]


def list_many(
    cursor: "duckdb.DuckDBPyConnection",
    store: Store,
    chosen: Sequence[tuple[CheckpointFiles, Choice]],
    newer: Sequence[FileActionKey],
    read_tail: Callable[[list[str]], pa.Table],
    action: str,
    schema: pa.Schema,
    names: Sequence[str],
    condition: FileCondition | None,
) -> pa.Table:
    """Return columns of the actions of a kind, `add` or `remove`, of files that a condition leaves.

    Args:
        cursor: where the rows to read are known.
        store: where the files are.
        chosen: the files of the checkpoint, with the rows to read of them.
        newer: the logical files of which the commits after it say something.
        read_tail: gives columns of the actions that are left of the commits.
        action: the kind.
        schema: all columns.
        names: those to return.
        condition: what is false for files to leave out.
    """
    kept = None
    if condition is not None:
        kept = condition.whole(stats="stats", partition_values="partition_values")
    cursor.register("tail", read_tail(with_looked_at(names, schema, [kept])))
    unseen = []
    if newer:
        cursor.register("newer", key_table(newer))
        match_keys = " AND ".join(f"newer.{name} = older.{name}" for name in KEY_COLUMNS)
        unseen = [f"NOT EXISTS (FROM newer WHERE {match_keys})"]
    listed = ", ".join(map(quote_identifier, names))
    branches = []
    for files, choice in chosen:
        own, more = condition_on(files, condition)
        conditions = [*unseen] if choice.is_exact else [*unseen, own]
        columns = [*names, *KEY_COLUMNS, *([] if choice.is_exact else more)]
        columns = with_looked_at(columns, schema, conditions)
        for part in choice.parts:
            sql = part.files.sql(store, action, columns, schema, among=part.rows)
            branches.append(_select(listed, f"({sql}) older", conditions))
    query = " UNION ALL ".join([*branches, _select(listed, "tail", [kept])])
    return cursor.sql(query).to_arrow_table()


def condition_on(files: CheckpointFiles, condition: FileCondition | None) -> tuple[str | None, Sequence[str]]:
    """The condition on the files of a checkpoint, and the columns that it needs beside the usual ones."""
    if condition is None:
        return None, ()
    parsed_type = files.stats_parsed_type
    if parsed_type is None:
        return condition.whole(stats="stats", partition_values="partition_values"), ()
    found = condition.whole(
        stats="stats" if files.has_json_statistics else None,
        partition_values="partition_values",
        stats_parsed="stats_parsed",
        stats_parsed_type=parsed_type,
    )
    return found, () if found is None else ("stats_parsed",)


def _select(columns: str, source: str, conditions: Sequence[str | None]) -> str:
    kept = " AND ".join(f"({each})" for each in conditions if each is not None)
    return f"SELECT {columns} FROM {source}" + (f" WHERE {kept}" if kept else "")
