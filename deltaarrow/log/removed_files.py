"""Removed files in commits: data files, their deletion vectors, and change data files.

Few lines of a commit are about them, so the others are not parsed. The tombstones of a version
(`deltaarrow.log.file_sources`) are those that a checkpoint has kept; the commits have all of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.actions.arrow_tables import build_array
from deltaarrow.columnar.numpy_arrays import empty_table, scalar_of
from deltaarrow.errors import CorruptLogError
from deltaarrow.log.commits import parse_commit, read_commit
from deltaarrow.log.file_names import LogFile
from deltaarrow.storage import Store, decode_path

__all__ = ["NAMED_SCHEMA", "expired_in", "read_named_files", "read_removed_files", "removed_before"]

NAMED_SCHEMA = pa.schema(
    [
        ("action", pa.string()),
        ("path", pa.string()),
        ("size", pa.int64()),
        ("deletion_timestamp", pa.int64()),
        ("deletion_vector", pa.struct([("storage_type", pa.string()), ("path_or_inline_dv", pa.string())])),
    ]
)
"""A file action a row: its kind, and of its fields those that say which files it is about."""

_LEAVING = ("remove", "cdc")
_FILE_ACTIONS = ("add", "remove", "cdc")
_REQUESTS = 16


class _Removed(NamedTuple):
    version: int
    files: pa.Table


def removed_before(store: Store, commits: Sequence[LogFile], cutoff_ms: int) -> _Removed | None:
    """Return what left the table in commits, ascending, and the last version of which nothing is missing.

    A commit with a tombstone that is not older than the cut-off ends it: its files are for a later VACUUM.
    None where that is the first commit already.
    """
    found, last = [], None
    for commit, table in zip(commits, _read_in_turn(store, commits), strict=False):
        times = table.column("deletion_timestamp").to_pylist()
        if any(time is not None and time >= cutoff_ms for time in times):
            break
        found.append(table)
        last = commit.version
    return None if last is None else _Removed(last, pa.concat_tables(found).combine_chunks())


def expired_in(store: Store, commits: Sequence[LogFile], cutoff_ms: int) -> pa.Table:
    """Return what left the table in commits, and whose tombstones are older than the cut-off."""
    found = pa.concat_tables([empty_table(NAMED_SCHEMA), *_read_in_turn(store, commits)])
    is_expired = pc.less(found.column("deletion_timestamp"), scalar_of(cutoff_ms, pa.int64()))
    return found.filter(pc.fill_null(is_expired, scalar_of(False, pa.bool_())))


def _read_in_turn(store: Store, commits: Sequence[LogFile]) -> Iterator[pa.Table]:
    """Read what left the table in each commit, several at a time where the store is remote."""
    names = [commit.name for commit in commits]
    if store.is_local:
        yield from (read_removed_files(store, name) for name in names)
        return
    with ThreadPoolExecutor(_REQUESTS) as pool:
        for start in range(0, len(names), _REQUESTS):
            some = names[start : start + _REQUESTS]
            yield from pool.map(lambda name: read_removed_files(store, name), some)


def read_removed_files(store: Store, name: str) -> pa.Table:
    """Return the files that left the table in a commit, a table of `NAMED_SCHEMA`."""
    return _named_files(_read_lines(store, name, _LEAVING), name, _LEAVING)


def read_named_files(store: Store, names: Sequence[str]) -> pa.Table:
    """Return all files that commits name in any action, a table of `NAMED_SCHEMA`."""
    tables = [_named_files(read_commit(store, name), name, _FILE_ACTIONS) for name in names]
    return pa.concat_tables([empty_table(NAMED_SCHEMA), *tables])


def _read_lines(store: Store, name: str, kinds: Sequence[str]) -> list[dict[str, Any]]:
    """Read those actions of a commit that may be of some kinds."""
    try:
        data = store.read(name)
    except FileNotFoundError as error:
        raise CorruptLogError(f"{name} was listed and is gone; the log was cleaned up meanwhile") from error
    lines = data.split(b"\n")
    wanted = [f'"{kind}"'.encode() for kind in kinds]
    some = [line for line in lines if any(word in line for word in wanted)]
    try:
        actions = [orjson.loads(line) for line in some]
    except orjson.JSONDecodeError:
        # One action over several lines, or a broken file, which is named.
        return parse_commit(data, name)
    if not all(isinstance(action, dict) for action in actions):
        return parse_commit(data, name)
    return actions


def _named_files(actions: Iterable[dict[str, Any]], name: str, kinds: Sequence[str]) -> pa.Table:
    """Return the files in actions of some kinds; `name` is that of the commit, for errors."""
    try:
        rows = list(_rows(actions, kinds))
        columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in NAMED_SCHEMA]
        arrays = [
            build_array(values, field.type) for values, field in zip(columns, NAMED_SCHEMA, strict=True)
        ]
    except (KeyError, TypeError, OverflowError, AttributeError) as error:
        raise CorruptLogError(f"{name} holds an ill-formed file action: {error!r}") from error
    return pa.Table.from_arrays(arrays, schema=NAMED_SCHEMA)


def _rows(actions: Iterable[dict[str, Any]], kinds: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    for action in actions:
        for kind in kinds:
            if (body := action.get(kind)) is not None:
                vector = body.get("deletionVector")
                path = decode_path(body["path"])
                yield kind, path, body.get("size"), body.get("deletionTimestamp"), vector
