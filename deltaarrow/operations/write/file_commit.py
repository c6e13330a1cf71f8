"""A commit of files that a caller wrote or rewrote: `commit_files`.

The files are taken as they are. What can be told without reading them is checked: that they are there, have
their sizes, and have a value for each partition column.
"""

from collections.abc import Sequence
from typing import Any

import orjson

from deltaarrow.actions import AddFile
from deltaarrow.columnar.numpy_arrays import integers
from deltaarrow.errors import MissingFilesError, SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.expressions import Predicate
from deltaarrow.features import ensure_writable, properties
from deltaarrow.operations.commit.transaction_start import begin_transaction
from deltaarrow.operations.write.replaced_rows import stage_removal, stage_removal_of_all
from deltaarrow.partitions import parse_partition_value
from deltaarrow.schema import PrimitiveType, Schema
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import decode_path, encode_path
from deltaarrow.transaction import (
    AddAction,
    CommitProperties,
    OptimisticTransaction,
    PostCommitHookProperties,
    RemoveAction,
)

__all__ = ["commit_files"]


def commit_files(
    snapshot: Snapshot,
    actions: Sequence[AddAction | RemoveAction],
    mode: str,
    schema: Schema,
    partition_by: Sequence[str] | None = None,
    replaced: Predicate | None = None,
    *,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
) -> int:
    """Commit added and removed files, and return the version; see `DeltaTable.create_write_transaction`.

    `replaced` says which partitions the mode ``overwrite`` replaces: all if None.
    """
    adds, removes = _divided(actions, mode)
    if replaced is not None and mode != "overwrite":
        raise ValueError("partition_filters say what mode='overwrite' replaces; mode='append' takes none")
    _ensure_same_table(snapshot, schema, partition_by, bool(adds))
    takes_rows = mode == "overwrite" or any(each.data_change for each in removes)
    ensure_writable(snapshot.protocol, snapshot.metadata, "overwrite" if takes_rows else "append")
    files = [_add_file(each, snapshot) for each in adds]
    _ensure_present(snapshot, adds, files)
    transaction = begin_transaction(snapshot, "WRITE", commit_properties, hook_properties)
    transaction.parameters = {
        "mode": mode.capitalize(),
        "partitionBy": orjson.dumps(snapshot.partition_columns).decode(),
    }
    with transaction:
        if mode == "overwrite" and replaced is None:
            stage_removal_of_all(transaction)
        elif replaced is not None:
            stage_removal(transaction, snapshot, replaced)
        _stage_removes(transaction, snapshot, removes)
        transaction.stage(files)
        return transaction.commit()


def _divided(
    actions: Sequence[AddAction | RemoveAction], mode: str
) -> tuple[list[AddAction], list[RemoveAction]]:
    if mode not in ("append", "overwrite"):
        raise ValueError(f"mode is 'append' or 'overwrite', not {mode!r}")
    for action in actions:
        if not isinstance(action, AddAction | RemoveAction):
            raise TypeError(f"actions are AddAction and RemoveAction, not {type(action).__qualname__}")
    adds = [each for each in actions if isinstance(each, AddAction)]
    removes = [each for each in actions if isinstance(each, RemoveAction)]
    if removes and mode == "overwrite":
        raise ValueError("mode='overwrite' removes files by itself; give RemoveAction with mode='append'")
    if both := {_name(each.path) for each in adds} & {_name(each.path) for each in removes}:
        raise ValueError(f"actions add and remove the same file path: {', '.join(sorted(both))}")
    return adds, removes


def _name(path: str) -> str:
    """The name of a file in the folder of the table; raises `ValueError` for a file elsewhere."""
    name = path.lstrip("/")
    if not name or "://" in name or ".." in name.split("/"):
        raise ValueError(f"{path!r} is no file in the folder of the table")
    return name


def _ensure_same_table(
    snapshot: Snapshot, schema: Schema, partition_by: Sequence[str] | None, has_files: bool
) -> None:
    present = {field.name: field.type for field in snapshot.schema.fields}
    if {field.name: field.type for field in schema.fields} != present:
        raise SchemaMismatchError(
            f"the schema of the files, {[each.name for each in schema.fields]}, has other columns or types"
            f" than the table, {list(present)}; change the table first"
        )
    if partition_by and list(partition_by) != list(snapshot.partition_columns):
        raise SchemaMismatchError(
            f"the table is partitioned by {list(snapshot.partition_columns)}, not by {list(partition_by)}"
        )
    if has_files and properties.COLUMN_MAPPING_MODE.parse(snapshot.configuration) != "none":
        raise UnsupportedFeatureError(
            "the table maps columns to other names in its files, and files written elsewhere lack these;"
            " write the rows with write_deltalake",
            feature="columnMapping",
        )


def _add_file(action: AddAction, snapshot: Snapshot) -> AddFile:
    """The action of the log; raises `SchemaMismatchError` and `CorruptLogError` for partition values."""
    columns = snapshot.partition_columns
    if set(action.partition_values) != set(columns):
        raise SchemaMismatchError(
            f"{action.path} has partition values for {sorted(action.partition_values)}, and the table is"
            f" partitioned by {list(columns)}"
        )
    for column, text in action.partition_values.items():
        data_type = snapshot.schema.field(column).type
        assert isinstance(data_type, PrimitiveType)
        parse_partition_value(text, data_type, column)
    return AddFile(
        path=encode_path(_name(action.path)),
        partition_values=dict(action.partition_values),
        size=action.size,
        modification_time=action.modification_time,
        data_change=action.data_change,
        stats=_statistics(action),
    )


def _statistics(action: AddAction) -> str | None:
    if not action.stats:
        return None
    try:
        found: Any = orjson.loads(action.stats)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"the statistics of {action.path} are not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"the statistics of {action.path} are not an object of JSON")
    return action.stats if found else None


def _ensure_present(snapshot: Snapshot, adds: Sequence[AddAction], files: Sequence[AddFile]) -> None:
    statuses = snapshot.store.statuses([decode_path(each.path) for each in files])
    gone = [each.path for each, status in zip(adds, statuses, strict=True) if status is None]
    if gone:
        raise MissingFilesError(
            f"no such file in {snapshot.store.uri}: {', '.join(gone[:10])}; write files before the commit",
            files=gone,
        )
    for each, status in zip(adds, statuses, strict=True):
        if status is not None and status.size != each.size:
            raise ValueError(f"{each.path} has {status.size} bytes, not {each.size}")


def _stage_removes(
    transaction: OptimisticTransaction, snapshot: Snapshot, removes: Sequence[RemoveAction]
) -> None:
    """Stage tombstones of live files; another commit that removes one of them, or rows of it, conflicts."""
    if not removes:
        return
    live = snapshot.files()
    places = {path: place for place, path in enumerate(live.column("path").to_pylist())}
    escaped = {path: place for place, path in enumerate(live.column("log_path").to_pylist())}
    for data_change in (False, True):
        wanted = [each.path for each in removes if each.data_change is data_change]
        found = [places.get(_name(each), escaped.get(each)) for each in wanted]
        if unknown := [each for each, place in zip(wanted, found, strict=True) if place is None]:
            raise MissingFilesError(
                f"not among the files of the table at this version: {', '.join(unknown[:10])}", files=unknown
            )
        rows = live.take(integers([each for each in found if each is not None]))
        removed = transaction.remove_files(rows, data_change=data_change)
        transaction.read.files.update(decode_path(each.path) for each in removed)
