"""Files that no VACUUM deletes: the log, files behind links, files of other tables.

A listing leaves all of that out. Names in the log or in an inventory are looked at here.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.actions.arrow_tables import build_array
from deltaarrow.log import LOG_FOLDER
from deltaarrow.operations.vacuum.candidates import Decision
from deltaarrow.operations.vacuum.reasons import Reason
from deltaarrow.storage import Store

__all__ = ["mark_guarded"]

_REQUESTS = 16


def mark_guarded(store: Store, decision: Decision, *, has_absolute: bool) -> None:
    """Mark files of the log, behind links, and in folders with a log of their own.

    For the last an object store is asked about each folder, and only if some names were absolute: what a log
    names relatively is its own.
    """
    paths = decision.files.column("path")
    folders = pc.replace_substring_regex(paths, "/?[^/]*$", "")
    distinct = pc.unique(folders).to_pylist()
    nested = _tables_among(store, distinct) if store.is_local or has_absolute else set()
    reasons: dict[Reason, list[str]] = {Reason.OTHER_TABLE: [], Reason.LINK: [], Reason.LOG: []}
    for folder in distinct:
        if any(above in nested for above in _upwards(folder)):
            reasons[Reason.OTHER_TABLE].append(folder)
        if store.real_folder(folder) != folder:
            reasons[Reason.LINK].append(folder)
        if folder.partition("/")[0] == LOG_FOLDER:
            reasons[Reason.LOG].append(folder)
    for reason, some in reasons.items():
        if some:
            is_there = pc.is_in(folders, value_set=build_array(some, pa.string()))
            decision.mark_named(paths.filter(is_there).combine_chunks(), reason)


def _upwards(folder: str) -> Iterable[str]:
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def _tables_among(store: Store, folders: Iterable[str]) -> set[str]:
    """The folders with a log, of some and those above them; the root is not one of them."""
    asked = sorted({above for folder in folders for above in _upwards(folder)} - {LOG_FOLDER})

    def has_log(folder: str) -> bool:
        return next(iter(store.list_from(f"{folder}/{LOG_FOLDER}")), None) is not None

    if store.is_local:
        logs = store.statuses([f"{folder}/{LOG_FOLDER}" for folder in asked])
        return {folder for folder, status in zip(asked, logs, strict=True) if status is not None}
    with ThreadPoolExecutor(_REQUESTS) as pool:
        return {folder for folder, is_table in zip(asked, pool.map(has_log, asked), strict=True) if is_table}
