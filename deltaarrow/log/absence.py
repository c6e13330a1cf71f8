"""The message of `TableNotFoundError`: why a path is no Delta table, and which path near it is one."""

import itertools
from collections.abc import Iterator

from deltaarrow.display.near_names import did_you_mean
from deltaarrow.errors import TableNotFoundError
from deltaarrow.log.file_names import LOG_FOLDER
from deltaarrow.storage import Store
from deltaarrow.storage.surroundings import Surroundings, peek, store_above

__all__ = ["absent_table"]

_LEVELS = 4
_ASKED = 20
_SHOWN = 5


def absent_table(store: Store) -> TableNotFoundError:
    """Return the error for a store without a Delta log.

    It looks at the place, at the folders in it and above it: a table that is near is named. The places are
    listed in part only, so that a large folder costs no more than a small one.
    """
    return TableNotFoundError(f"{store.uri} is not a Delta table: {_reason(store)}")


def _reason(store: Store) -> str:
    found = peek(store)
    if found is None:
        return f"{LOG_FOLDER} holds no commit"
    if found.problem:
        return f"{found.problem.rstrip('.')}; check the name of the bucket"
    around = _table_above(store)
    if found.is_file:
        if around:
            return f"it is a file of the table {around}; open that folder"
        reader = _READERS.get(store.uri.rpartition(".")[2].lower())
        how = f"; read the file with {reader}" if reader else ""
        return f"it is a file, and a table is a folder{how}"
    if around:
        partition = store.uri.rpartition("/")[2].partition("=")
        how = f" with a filter on {partition[0]}" if partition[1] else ""
        return f"it is inside the table {around}; open that{how}"
    if found.is_absent:
        return _reason_of_absence(store)
    return _reason_of_content(store, found)


_READERS = {
    "parquet": "pyarrow.parquet.read_table",
    "csv": "pyarrow.csv.read_csv",
    "json": "pyarrow.json.read_json",
}


def _reason_of_content(store: Store, found: Surroundings) -> str:
    """What the names in a folder say it is."""
    if LOG_FOLDER in found.folders:
        return f"{LOG_FOLDER} holds no commit"
    if "metadata" in found.folders and _is_iceberg(store):
        return f"it is an Iceberg table; make it a Delta table with convert_to_deltalake({store.uri!r})"
    tables = [name for name in found.folders[:_ASKED] if _has_log(store, name)]
    if tables:
        shown = ", ".join(tables[:_SHOWN]) + (", ..." if len(tables) > _SHOWN else "")
        return f"the tables are in its folders {shown}; open one of them, such as {store.uri}/{tables[0]}"
    partitions = [name for name in found.folders if "=" in name]
    inside = peek(store, partitions[0]) if partitions else None
    files = (*found.files, *(inside.files if inside else ()))
    if any(name.endswith(".parquet") for name in files) or (inside and inside.folders):
        return (
            f"it has Parquet files and no {LOG_FOLDER}; make it a table with"
            f" convert_to_deltalake({store.uri!r}), or read the files with pyarrow.dataset"
        )
    if not found.files and not found.folders:
        return "the folder is empty; write_deltalake and DeltaTable.create make a table"
    return f"the folder has no {LOG_FOLDER}; it holds {', '.join((*found.folders, *found.files)[:_SHOWN])}"


def _reason_of_absence(store: Store) -> str:
    name = store.uri.rpartition("/")[2]
    above = store_above(store)
    beside = None if above is None else peek(above)
    if above is not None and beside is not None and not beside.is_absent:
        meant = did_you_mean(name, beside.folders, quote="")
        if meant:
            return f"there is no such folder in {above.uri}{meant}"
        return f"there is no such folder in {above.uri}; write_deltalake and DeltaTable.create make a table"
    there = next((each.uri for each in _above(store) if (at := peek(each)) and not at.is_absent), None)
    return f"there is no such folder{'' if there is None else f'; of the path there is only {there}'}"


def _above(store: Store) -> Iterator[Store]:
    """The folders above a place, the nearest first."""
    above = store_above(store)
    while above is not None:
        yield above
        above = store_above(above)


def _table_above(store: Store) -> str | None:
    near = itertools.islice(_above(store), _LEVELS)
    return next((each.uri for each in near if _has_log(each)), None)


def _has_log(store: Store, folder: str = "") -> bool:
    at = peek(store, f"{folder}/{LOG_FOLDER}" if folder else LOG_FOLDER)
    return at is not None and any(name.endswith((".json", ".parquet")) for name in at.files)


def _is_iceberg(store: Store) -> bool:
    at = peek(store, "metadata")
    return at is not None and any(name.endswith(".metadata.json") for name in at.files)
