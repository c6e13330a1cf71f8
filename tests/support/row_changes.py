"""Row-level operations on a table with the columns `id` and `seen`, for tests of concurrency.

They read and change rows as DELETE, UPDATE and MERGE do: row by row, naming the rows that they found.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from uuid import uuid4

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from deltaarrow.actions import AddFile
from deltaarrow.deletion_vectors import DeletionVectorDescriptor, read_deletion_vector
from deltaarrow.storage import Store
from deltaarrow.transaction import OptimisticTransaction

SCHEMA = pa.schema([("id", pa.int64()), ("seen", pa.int64())])


def add_rows(transaction: OptimisticTransaction, rows: Mapping[int, int], *, data_change: bool = True) -> str:
    """Write one file of rows, `seen` by id, stage it and return its name."""
    name = f"part-{uuid4()}.parquet"
    path = transaction.store.location(name)
    pq.write_table(pa.table([list(rows), list(rows.values())], schema=SCHEMA), path)
    stats = {
        "numRecords": len(rows),
        "minValues": {"id": min(rows), "seen": min(rows.values())},
        "maxValues": {"id": max(rows), "seen": max(rows.values())},
        "nullCount": {"id": 0, "seen": 0},
    }
    file = AddFile(
        path=name,
        partition_values={},
        size=os.path.getsize(path),
        modification_time=1,
        data_change=data_change,
        stats=orjson.dumps(stats).decode(),
    )
    transaction.add_files([file])
    return name


def live_rows(store: Store, file: Mapping) -> dict[int, tuple[int, int]]:
    """The rows of a file that are not deleted: id and `seen` by position."""
    table = pq.read_table(store.location(file["path"]))
    deleted = BitMap64()
    if (vector := file["deletion_vector"]) is not None:
        deleted = read_deletion_vector(store, DeletionVectorDescriptor(**vector)).bitmap
    rows = zip(table["id"].to_pylist(), table["seen"].to_pylist(), strict=True)
    return {place: row for place, row in enumerate(rows) if place not in deleted}


def as_rows(files: pa.Table) -> list[dict]:
    return files.to_pylist(maps_as_pydicts="strict")


def id_matcher(store: Store, ids: Iterable[int]) -> Callable[[pa.Table], bool]:
    """Whether a live row of files has one of the ids."""
    wanted = set(ids)
    return lambda files: any(
        each in wanted for file in as_rows(files) for each, _ in live_rows(store, file).values()
    )


def find_rows(
    transaction: OptimisticTransaction, ids: Iterable[int], *, exact: bool = True
) -> list[tuple[dict, dict[int, tuple[int, int]]]]:
    """Read rows of these ids row by row: of each file that holds one, its row of the log and the rows.

    With `exact` the rows of files that others add are looked at, and else only the bounds of their ids.
    """
    ids = set(ids)
    condition = f"id IN ({', '.join(map(str, sorted(ids)))})"
    matcher = id_matcher(transaction.store, ids) if exact else None
    files = as_rows(transaction.read_files(condition, row_level=True, matcher=matcher))
    found = []
    for file in files:
        rows = live_rows(transaction.store, file)
        if matching := {place: row for place, row in rows.items() if row[0] in ids}:
            found.append((file, matching))
    return found


def delete_rows(transaction: OptimisticTransaction, ids: Iterable[int], *, exact: bool = True) -> None:
    """DELETE the rows of these ids."""
    for file, rows in find_rows(transaction, ids, exact=exact):
        transaction.remove_rows(file, BitMap64(rows))


def update_rows(transaction: OptimisticTransaction, ids: Iterable[int], *, exact: bool = True) -> None:
    """UPDATE the rows of these ids: `seen` grows by one."""
    changed: dict[int, int] = {}
    for file, rows in find_rows(transaction, ids, exact=exact):
        transaction.remove_rows(file, BitMap64(rows))
        changed |= {each: seen + 1 for each, seen in rows.values()}
    if changed:
        add_rows(transaction, changed)


def insert_missing(transaction: OptimisticTransaction, ids: Iterable[int]) -> None:
    """MERGE, WHEN NOT MATCHED INSERT: rows of these ids, where there are none yet."""
    missing = set(ids)
    for file, rows in find_rows(transaction, missing):
        transaction.read_rows(file, BitMap64(rows))
        missing -= {each for each, _ in rows.values()}
    if missing:
        add_rows(transaction, dict.fromkeys(sorted(missing), 0))
