"""A few small tables, to be damaged, that together have every kind of file a table may have."""

import datetime
import decimal
import shutil
from pathlib import Path

import pyarrow as pa

from tests.support.tables import TableBuilder

__all__ = ["SMALL_TABLES", "small_table_copy", "write_small_table"]

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("price", pa.decimal128(9, 2)),
        ("seen", pa.timestamp("us", "UTC")),
        ("point", pa.struct([("x", pa.float64()), ("y", pa.int32())])),
        ("tags", pa.list_(pa.string())),
        ("day", pa.date32()),
    ]
)

SMALL_TABLES = {
    "commits": {"checkpoint": None},
    "classic": {"checkpoint": {"kind": "classic", "stats": "both"}},
    "multipart": {"checkpoint": {"kind": "multipart"}},
    "sidecars": {"checkpoint": {"kind": "v2-parquet", "sidecars": 2}},
    "json-checkpoint": {"checkpoint": {"kind": "v2-json", "sidecars": 1}},
}
"""Name -> the checkpoint that the table has."""


def _rows(first: int, count: int) -> pa.Table:
    numbers = range(first, first + count)
    moment = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    return pa.table(
        {
            "id": list(numbers),
            "name": [None if n % 7 == 0 else f"name {n}" for n in numbers],
            "price": [decimal.Decimal(n) / 4 for n in numbers],
            "seen": [moment + datetime.timedelta(hours=n) for n in numbers],
            "point": [{"x": n / 2, "y": n} for n in numbers],
            "tags": [[f"t{i}" for i in range(n % 3)] for n in numbers],
        },
        schema=pa.schema(list(SCHEMA)[:-1]),
    )


def write_small_table(path: Path, name: str) -> TableBuilder:
    """Write one of `SMALL_TABLES`: 4 files, 2 partitions, three kinds of deletion vector, a tombstone."""
    table = TableBuilder(path).features("deletionVectors", "v2Checkpoint").metadata(SCHEMA, ["day"])
    first = table.add_file(_rows(0, 40), {"day": "2026-01-01"}, name="a.parquet")
    second = table.add_file(_rows(40, 30), {"day": "2026-01-01"}, name="b.parquet")
    table.commit([first, second, table.txn("etl", 1)])
    vector = table.deletion_vector([1, 5, 39])
    inline = table.deletion_vector([0, 29], "i")
    table.commit([*table.with_deletion_vector(first, vector), *table.with_deletion_vector(second, inline)])
    checkpoint = SMALL_TABLES[name]["checkpoint"]
    if checkpoint is not None:
        table.checkpoint(**checkpoint)
    third = table.add_file(_rows(70, 20), {"day": "2026-01-02"}, name="c.parquet")
    table.commit([third, table.domain("mine", "{}")])
    fourth = table.add_file(_rows(90, 10), {"day": None}, name="d.parquet")
    table.commit([fourth])
    return table


def small_table_copy(table: Path, folder: Path) -> Path:
    """Copy a table into a folder, under a place that no footer is remembered for."""
    return Path(shutil.copytree(table, folder / "t"))
