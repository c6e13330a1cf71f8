"""The datasets: rows that look like orders, and Delta tables of them written by hand.

No line of the package writes them, so that a fault in it cannot make it look good. Logs that are too
large to be written action by action are put together from columns.
"""

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from tests.support.tables import TableBuilder

__all__ = [
    "DAYS",
    "FIRST_DAY",
    "day",
    "orders",
    "write_log_of_checkpoint",
    "write_log_of_commits",
    "write_orders_file",
    "write_orders_table",
    "write_partitioned_table",
]

DAYS = 1_000
FIRST_DAY = datetime.date(2024, 1, 1)
_ROWS_PER_FILE = 1_000
"""What the adds of tables that are logs alone claim to hold."""
_MODIFIED = 1_767_225_600_000


def day(number: int) -> datetime.date:
    """Return a day by its number."""
    return FIRST_DAY + datetime.timedelta(days=number)


def _builder(folder: Path) -> "TableBuilder":
    from tests.support.tables import TableBuilder

    return TableBuilder(folder)


# --- rows ------------------------------------------------------------------------------------------


def orders(rows: int, first_id: int = 0) -> "pa.Table":
    """Return orders in eight columns; `id` ascends, the rest is random and the same at every call."""
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(first_id)

    def texts(values: list[str]) -> pa.Array:
        indices = random.integers(0, len(values), rows, dtype=np.int32)
        return pa.DictionaryArray.from_arrays(pa.array(indices), pa.array(values)).cast(pa.string())

    days = np.datetime64(FIRST_DAY) + random.integers(0, DAYS, rows).astype("timedelta64[D]")
    return pa.table(
        {
            "id": pa.array(np.arange(first_id, first_id + rows)),
            "customer": pa.array(random.integers(0, 100_000, rows, dtype=np.int32)),
            "day": pa.array(days),
            "quantity": pa.array(random.integers(1, 51, rows, dtype=np.int32)),
            "cents": pa.array(random.integers(100, 1_000_000, rows)),
            "discount": pa.array(random.integers(0, 11, rows) / 100),
            "status": texts(["open", "shipped", "returned"]),
            "comment": texts([f"comment {number} on an order" for number in range(10_000)]),
        }
    )


def write_orders_file(folder: Path, rows: int) -> None:
    """Write ``orders.arrow``, which is read without being decoded."""
    import pyarrow as pa

    table = orders(rows)
    with pa.ipc.new_file(folder / "orders.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=131_072)


def write_orders_table(folder: Path, rows: int, files: int, deleted_percent: int = 0) -> None:
    """Write a table of `files` equal files.

    With `deleted_percent` each file has a deletion vector of so many rows, scattered, and ``live`` holds the
    same files with these rows taken out: what the rows would cost an engine that finds nothing deleted.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    builder = _builder(folder)
    builder.features("deletionVectors") if deleted_percent else builder.protocol()
    builder.metadata(orders(0).schema)
    adds = []
    for number in range(files):
        table = orders(rows // files, number * (rows // files))
        name = f"part-{number:05d}.parquet"
        descriptor = None
        if deleted_percent:
            count = table.num_rows * deleted_percent // 100
            positions = np.random.default_rng(number).choice(table.num_rows, count, replace=False)
            descriptor = builder.deletion_vector(positions.astype(np.uint64))
            keep = np.ones(table.num_rows, dtype=bool)
            keep[positions] = False
            (folder / "live").mkdir(exist_ok=True)
            pq.write_table(table.filter(pa.array(keep)), folder / "live" / name, row_group_size=131_072)
        adds.append(
            builder.add_file(
                table, name=name, deletion_vector=descriptor, parquet={"row_group_size": 131_072}
            )
        )
    builder.commit(adds)


def write_small_table(folder: Path, rows: int) -> None:
    """Write a table of one file, and ``source.arrow``: its last order and the next one."""
    import pyarrow as pa

    builder = _builder(folder)
    builder.protocol().metadata(orders(0).schema)
    builder.commit([builder.add_file(orders(rows))])
    source = orders(2, rows - 1)
    with pa.ipc.new_stream(folder / "source.arrow", source.schema) as writer:
        writer.write_table(source)


def write_partitioned_table(folder: Path, files: int) -> None:
    """Write a table of small files of 100 rows, two in each partition of column `day`."""
    builder = _builder(folder)
    builder.protocol().metadata(orders(0).schema, partition_columns=["day"])
    adds = []
    for number in range(files):
        value = day(number // 2).isoformat()
        rows = orders(100, number * 100).drop_columns(["day"])
        adds.append(builder.add_file(rows, {"day": value}, name=f"day={value}/part-{number:05d}.parquet"))
    builder.commit(adds)


# --- logs without data files -----------------------------------------------------------------------


def _log_schema() -> "pa.Schema":
    import pyarrow as pa

    return pa.schema({"id": pa.int64(), "day": pa.date32(), "cents": pa.int64(), "status": pa.string()})


def _path(value: str, number: int) -> str:
    return f"day={value}/part-{number:08d}-6b1d3a39-2f51-4c2e-9d0a-000000000000.c000.snappy.parquet"


def _size(number: int) -> int:
    return 1_000_000 + number % 1_000


def _stats(number: int) -> str:
    first, last = number * _ROWS_PER_FILE, (number + 1) * _ROWS_PER_FILE - 1
    return (
        f'{{"numRecords":{_ROWS_PER_FILE},"minValues":{{"id":{first},"cents":100,"status":"open"}},'
        f'"maxValues":{{"id":{last},"cents":999999,"status":"shipped"}},'
        '"nullCount":{"id":0,"cents":0,"status":0}}'
    )


def _add(number: int, day_number: int) -> dict[str, Any]:
    value = day(day_number).isoformat()
    return {
        "add": {
            "path": _path(value, number),
            "partitionValues": {"day": value},
            "size": _size(number),
            "modificationTime": _MODIFIED,
            "dataChange": True,
            "stats": _stats(number),
        }
    }


def write_log_of_commits(folder: Path, adds: int, commits: int) -> None:
    """Write a log of JSON commits with `adds` files in all, and no checkpoint."""
    builder = _builder(folder)
    builder.protocol().metadata(_log_schema(), partition_columns=["day"])
    each = adds // commits
    for commit in range(commits):
        builder.commit(_add(number, number % DAYS) for number in range(commit * each, (commit + 1) * each))


def write_log_of_checkpoint(
    folder: Path,
    adds: int,
    commits: int,
    policy: str = "classic",
    *,
    sidecars: int = 0,
    has_struct_statistics: bool = False,
    tombstones: int = 0,
) -> None:
    """Write a checkpoint of `adds` files and `commits` after it: 8 adds, 2 removes in each.

    `policy` is the kind of checkpoint that the table asks for when the next one is written. The one that is
    there is classic, or one of V2 whose adds are in so many `sidecars`. With `has_struct_statistics` it has
    statistics and partition values as columns too, beside the text. It has so many `tombstones` as well, of
    files that were removed before any retention.
    """
    builder = _builder(folder)
    if policy == "classic":
        builder.protocol().metadata(_log_schema(), partition_columns=["day"])
    else:
        builder.features("v2Checkpoint").metadata(_log_schema(), ["day"], {"delta.checkpointPolicy": policy})
    builder.commit()
    days = [number * DAYS // adds for number in range(adds)]
    head = [action for action in builder.commits[0] if "commitInfo" not in action]
    first = adds + commits * 8
    removed = (_add(number, number % DAYS) for number in range(first, first + tombstones))
    head += [builder.remove(add) for add in removed]
    version = 100
    actions = _adds(range(adds), days, has_struct_statistics=has_struct_statistics)
    _write_checkpoint(builder.log, version, head, actions, sidecars)
    builder.last_checkpoint(version, adds + len(head))
    builder.delete_commits(0)
    for commit in range(commits):
        first = adds + commit * 8
        added = [_add(number, number % DAYS) for number in range(first, first + 8)]
        # Files of the checkpoint, each removed once: nothing depends on the order of the commits.
        old = [(commit * 2 + place) * (adds // (2 * commits)) for place in (0, 1)]
        removed = [builder.remove(_add(number, days[number])) for number in old]
        builder.commit([*added, *removed], version=version + 1 + commit)


def _adds(numbers: Sequence[int], days: Sequence[int], *, has_struct_statistics: bool) -> "pa.StructArray":
    """The adds of the numbers, as the column of a checkpoint."""
    import pyarrow as pa

    count = len(numbers)
    values = [day(number).isoformat() for number in days]
    add = {
        "path": pa.array([_path(value, number) for value, number in zip(values, numbers, strict=True)]),
        "partitionValues": pa.MapArray.from_arrays(
            pa.array(range(count + 1), pa.int32()), pa.repeat("day", count), pa.array(values)
        ),
        "size": pa.array([_size(number) for number in numbers]),
        "modificationTime": pa.repeat(_MODIFIED, count),
        "dataChange": pa.repeat(True, count),
        "stats": pa.array([_stats(number) for number in numbers]),
    }
    if has_struct_statistics:
        add["stats_parsed"] = _struct_statistics(numbers)
        dates = pa.array([day(number) for number in days])
        add["partitionValues_parsed"] = pa.StructArray.from_arrays([dates], names=["day"])
    return pa.StructArray.from_arrays(list(add.values()), names=list(add))


def _struct_statistics(numbers: Sequence[int]) -> "pa.StructArray":
    """What the texts of `_stats` say."""
    import numpy as np
    import pyarrow as pa

    count = len(numbers)
    first = np.asarray(numbers, np.int64) * _ROWS_PER_FILE

    def columns(**values: "pa.Array") -> pa.StructArray:
        return pa.StructArray.from_arrays(list(values.values()), names=list(values))

    zeros = pa.repeat(0, count)
    return columns(
        numRecords=pa.repeat(_ROWS_PER_FILE, count),
        minValues=columns(id=pa.array(first), cents=pa.repeat(100, count), status=pa.repeat("open", count)),
        maxValues=columns(
            id=pa.array(first + _ROWS_PER_FILE - 1),
            cents=pa.repeat(999_999, count),
            status=pa.repeat("shipped", count),
        ),
        nullCount=columns(id=zeros, cents=zeros, status=zeros),
    )


def _write_checkpoint(
    log: Path, version: int, head: list[dict[str, Any]], adds: "pa.StructArray", sidecars: int
) -> None:
    """Write a checkpoint of the actions of `head` and of adds, which go into `sidecars` if there are any."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = _checkpoint_types() | {"add": adds.type}
    if not sidecars:
        columns = [adds if name == "add" else pa.nulls(len(adds), kind) for name, kind in types.items()]
        rows = pa.Table.from_arrays(columns, schema=pa.schema(types))
        whole = pa.concat_tables([pa.Table.from_pylist(head, rows.schema), rows])
        pq.write_table(whole, log / f"{version:020d}.checkpoint.parquet", row_group_size=100_000)
        return
    (log / "_sidecars").mkdir()
    each = -(-len(adds) // sidecars)
    actions = [{"checkpointMetadata": {"version": version}}, *head]
    for number in range(sidecars):
        part = adds.slice(number * each, each)
        file = log / "_sidecars" / f"3a0d65cd-4056-49b8-937b-{number:012d}.parquet"
        rows = pa.table({"add": part, "remove": pa.nulls(len(part), types["remove"])})
        pq.write_table(rows, file, row_group_size=100_000)
        sidecar = {
            "path": file.name,
            "sizeInBytes": file.stat().st_size,
            "modificationTime": int(file.stat().st_mtime * 1000),
        }
        actions.append({"sidecar": sidecar})
    types["checkpointMetadata"] = pa.struct({"version": pa.int64()})
    types["sidecar"] = pa.struct(
        {"path": pa.string(), "sizeInBytes": pa.int64(), "modificationTime": pa.int64()}
    )
    name = f"{version:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.parquet"
    pq.write_table(pa.Table.from_pylist(actions, pa.schema(types)), log / name)


def _checkpoint_types() -> "dict[str, pa.DataType]":
    """The columns of a checkpoint but for `add`."""
    import pyarrow as pa

    strings = pa.map_(pa.string(), pa.string())
    return {
        "protocol": pa.struct(
            {
                "minReaderVersion": pa.int32(),
                "minWriterVersion": pa.int32(),
                "readerFeatures": pa.list_(pa.string()),
                "writerFeatures": pa.list_(pa.string()),
            }
        ),
        "metaData": pa.struct(
            {
                "id": pa.string(),
                "format": pa.struct({"provider": pa.string(), "options": strings}),
                "schemaString": pa.string(),
                "partitionColumns": pa.list_(pa.string()),
                "configuration": strings,
                "createdTime": pa.int64(),
            }
        ),
        "txn": pa.struct({"appId": pa.string(), "version": pa.int64()}),
        "remove": pa.struct({"path": pa.string(), "deletionTimestamp": pa.int64(), "dataChange": pa.bool_()}),
    }
