"""The live files in which two versions of a table differ: chapter "Action Reconciliation" of the protocol.

The commits between two versions name every file that may differ, so only these are looked up in the older
version, however many files the table has. If the log no longer has these commits, both versions are listed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from deltaarrow.actions import FILE_SCHEMA, AddFile, FileActionKey, file_table
from deltaarrow.actions.arrow_tables import KEY_COLUMNS, key_table
from deltaarrow.columnar.numpy_arrays import booleans, numbers_of
from deltaarrow.deletion_vectors import DeletionVectorDescriptor
from deltaarrow.errors import CorruptLogError
from deltaarrow.log.checkpoints import CheckpointFiles
from deltaarrow.log.file_names import LogFile, LogFileKind
from deltaarrow.log.file_sources import FileSources, OpenSources, list_files
from deltaarrow.log.listing import list_log
from deltaarrow.log.row_numbers import PLACE, files_and_rows, row_condition
from deltaarrow.log.state import LogState
from deltaarrow.log.tail import read_tail

__all__ = ["FileDifferences", "find_differences", "keys_of"]


@dataclass(frozen=True)
class FileDifferences:
    """Live files that only one of two versions has, as tables of `FILE_SCHEMA`.

    One data file with two deletion vectors is two logical files.
    """

    only_older: pa.Table
    only_newer: pa.Table


def find_differences(older: LogState, newer: LogState) -> FileDifferences:
    """Return the live files in which two versions of one table differ.

    Raises `CorruptLogError` for a log that cannot be read.
    """
    commits = _commits_between(older, newer)
    return _of_lists(older, newer) if commits is None else _of_commits(older, newer, commits)


def _commits_between(older: LogState, newer: LogState) -> list[LogFile] | None:
    """The commits after the older version up to the newer one; None if the log lacks one."""
    first, last = older.segment.version + 1, newer.segment.version
    listed = {file.version: file for file in list_log(newer.store, first) if file.kind is LogFileKind.COMMIT}
    versions = range(first, last + 1)
    return [listed[version] for version in versions] if all(map(listed.__contains__, versions)) else None


def _of_commits(older: LogState, newer: LogState, commits: Sequence[LogFile]) -> FileDifferences:
    tail = read_tail(newer.store, commits)
    named = [*tail.adds, *tail.removes]
    before = older.through_cleanup(lambda state: _live_among(state, named))
    keys = keys_of(before)
    held = set(keys)
    added = [key for key in reversed(tail.adds) if key not in held]
    is_gone = np.fromiter((key in tail.removes for key in keys), bool, len(keys))
    return FileDifferences(
        only_older=before.filter(booleans(is_gone)),
        only_newer=file_table([tail.adds[key] for key in added], added),
    )


def _of_lists(older: LogState, newer: LogState) -> FileDifferences:
    before, after = list_files(older), list_files(newer)
    keys_before, keys_after = keys_of(before), keys_of(after)
    held_before, held_after = set(keys_before), set(keys_after)
    is_gone = np.fromiter((key not in held_after for key in keys_before), bool, len(keys_before))
    is_new = np.fromiter((key not in held_before for key in keys_after), bool, len(keys_after))
    return FileDifferences(before.filter(booleans(is_gone)), after.filter(booleans(is_new)))


def keys_of(files: pa.Table) -> list[FileActionKey]:
    """Return the keys of live files, given with the columns ``path`` and ``deletion_vector``."""
    paths, vectors = (files.column(name).to_pylist() for name in ("path", "deletion_vector"))
    return [
        FileActionKey(path, "" if vector is None else DeletionVectorDescriptor(**vector).unique_id)
        for path, vector in zip(paths, vectors, strict=True)
    ]


def _live_among(state: LogState, keys: Sequence[FileActionKey]) -> pa.Table:
    """The live files of a version that have one of the keys; a large checkpoint stays on disk.

    Raises `CorruptLogError` if a checkpoint file was replaced meanwhile.
    """
    tail, parts = state.file_actions
    found = [state.recent_table(AddFile.KEY, [key for key in keys if key in tail.adds])]
    parts = [files for files in parts if files.holds(AddFile.KEY)]
    wanted = {key for key in keys if key not in tail.adds and key not in tail.removes}
    if parts and wanted:
        with FileSources(state).open(AddFile.KEY) as sources:
            sources.cursor.register("wanted", key_table([*wanted]))
            for files in parts:
                places = _places(sources, files)
                table = _at(sources, files, places)
                if len(table) != len(places) or not wanted.issuperset(keys_of(table)):
                    raise CorruptLogError(f"a checkpoint of {state.store.uri} was replaced while it was read")
                found.append(table)
    return pa.concat_tables(found)


def _places(sources: OpenSources, files: CheckpointFiles) -> np.ndarray:
    """The ascending places of the actions on the files of the table ``wanted``, found by keys alone."""
    sql = sources.select(files, [*KEY_COLUMNS, PLACE])
    same = " AND ".join(f"wanted.{name} = listed.{name}" for name in KEY_COLUMNS)
    found = sources.cursor.sql(
        f"SELECT {PLACE} FROM ({sql}) listed WHERE EXISTS (FROM wanted WHERE {same})"
    ).to_arrow_table()
    return np.sort(numbers_of(found.column(PLACE)))


def _at(sources: OpenSources, files: CheckpointFiles, places: np.ndarray) -> pa.Table:
    """The actions at ascending places, with all columns; other rows are not read."""
    numbers, rows = files_and_rows(places)
    most = sources.state.limits.numbered_rows
    among = [
        (
            CheckpointFiles((files.names[number],), files.schema),
            row_condition(sources.cursor, rows[numbers == number], most) + " AND add.path IS NOT NULL",
        )
        for number in np.unique(numbers).tolist()
    ]
    return sources.table(among, FILE_SCHEMA.names)
