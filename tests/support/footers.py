"""Parquet files with one flipped footer bit, and small tables whose footers are short."""

import contextlib
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.tables import TableBuilder

__all__ = ["CHECKPOINTS", "bits_of_footer", "flipped", "sample", "write_checkpointed_table"]

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string())])

CHECKPOINTS = {
    "classic": {"kind": "classic"},
    "multipart": {"kind": "multipart", "parts": 2},
    "sidecar": {"kind": "v2-parquet", "sidecars": 1},
    "struct": {"kind": "classic", "stats": "struct"},
}

_MEMBERS = (
    *("protocol.minReaderVersion", "protocol.minWriterVersion", "metaData.id", "metaData.format.provider"),
    *("metaData.schemaString", "metaData.partitionColumns", "metaData.configuration"),
    *("txn.appId", "txn.version", "add.path", "add.partitionValues", "add.size", "add.modificationTime"),
    *("add.dataChange", "add.stats", "add.stats_parsed", "remove.path", "remove.deletionTimestamp"),
    *("remove.dataChange", "sidecar.path", "sidecar.sizeInBytes", "sidecar.modificationTime"),
    "checkpointMetadata.version",
)
"""What checkpoints are cut down to, for the sake of their footers."""

ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3]),
        "name": ["a", "b", "c"],
        "seen": pa.array([1, 2, 3], pa.timestamp("us", "UTC")),
        "point": [{"x": 1}, {"x": 2}, None],
        "price": pa.array([1, 2, 3], pa.decimal128(9, 2)),
        "tags": [["x"], ["y", "z"], []],
        "day": pa.array([1, 2, 3], pa.int32()).view(pa.date32()),
    }
)
"""Rows of a data file with columns of many types."""


def write_checkpointed_table(path: Path, name: str) -> tuple[TableBuilder, list[Path]]:
    """Write a table of six files to which only a checkpoint leads; return it, and the Parquet files of that.

    The files are of two partitions, and hold two rows each.
    """
    table = TableBuilder(path).protocol().metadata(SCHEMA, ["day"], {"delta.appendOnly": "true"})
    for number in range(6):
        rows = pa.table({"id": [2 * number, 2 * number + 1]})
        add = table.add_file(rows, {"day": "ab"[number % 2]}, name=f"f{number}.parquet")
        table.commit([add, table.txn("etl", number)])
    files = [file for file in table.checkpoint(**CHECKPOINTS[name]) if file.suffix == ".parquet"]
    for file in files:
        with pq.ParquetFile(file) as opened:
            rows = opened.read(columns=[each for each in _MEMBERS if _is_in(opened.schema_arrow, each)])
        pq.write_table(rows, file, store_schema=False)
    table.delete_commits(*range(6))
    return table, files


def _is_in(schema: pa.Schema, member: str) -> bool:
    return member.split(".")[0] in schema.names


def bits_of_footer(file: Path) -> range:
    """The bits of a Parquet file from the first one of its footer on, its length and the mark included."""
    data = file.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    return range(8 * (len(data) - 8 - length), 8 * len(data))


def sample(bits: range, seed: int, count: int) -> Sequence[int]:
    """Some of the bits, the same ones each time."""
    return sorted(random.Random(seed).sample(bits, count))


@contextlib.contextmanager
def flipped(file: Path, bit: int) -> Iterator[None]:
    """Have a bit of a file the other way round for a while."""
    data = file.read_bytes()
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    file.write_bytes(changed)
    try:
        yield
    finally:
        file.write_bytes(data)
