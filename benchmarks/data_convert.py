"""A folder of many small Parquet files in hive partitions, which is no table yet."""

from pathlib import Path

__all__ = ["write_parquet_folder"]

_ROWS = 20
_PARTITIONS = 20


def write_parquet_folder(path: Path, files: int) -> None:
    """Write files of five columns, one of them a text and one a time, into 20 partitions."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for partition in range(_PARTITIONS):
        (path / f"shop={partition}").mkdir(parents=True)
    for number in range(files):
        rows = range(number * _ROWS, (number + 1) * _ROWS)
        table = pa.table(
            {
                "id": pa.array(rows, pa.int64()),
                "name": [f"name {row}" for row in rows],
                "price": [row / 7 for row in rows],
                "day": pa.array([18_000 + row % 1_000 for row in rows], pa.int32()).cast(pa.date32()),
                "at": pa.array([1_600_000_000_000_000 + row for row in rows], pa.timestamp("us", "UTC")),
            }
        )
        pq.write_table(table, path / f"shop={number % _PARTITIONS}" / f"part-{number}.parquet")
