"""Files are left out by the statistics of a checkpoint in whatever form it has them."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow.expressions import from_sql
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("at", pa.timestamp("us", "UTC")), ("s", pa.struct([("d", pa.decimal128(10, 2))]))])


@pytest.mark.parametrize("kind", ["struct", "both", "json"])
def test_statistics_as_a_struct_prune_like_texts(tmp_path, kind):
    """Times in the struct are INT96, as Spark writes them, which does not say that they are in UTC."""
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA).commit()
    for year in (2020, 2021, 2022):
        at = pa.scalar(dt.datetime(year, 1, 1, microsecond=123_456, tzinfo=dt.UTC), pa.timestamp("us", "UTC"))
        rows = {"at": [at], "s": [{"d": Decimal(f"{year}.25")}]}
        table.commit([table.add_file(pa.table(rows, SCHEMA), name=str(year))])
    table.checkpoint(stats=kind)
    rewrite_as_int96(table)
    at = pa.scalar(dt.datetime(2023, 1, 1, tzinfo=dt.UTC), pa.timestamp("us", "UTC"))
    last = pa.table({"at": [at], "s": [{"d": Decimal("2023.25")}]}, SCHEMA)
    table.commit([table.add_file(last, name="2023")])
    snapshot = Snapshot.load(open_store(table.path))
    for condition in (
        "at > '2021-06-01' AND at < '2022-06-01'",
        "at = TIMESTAMP '2022-01-01 00:00:00.123456Z'",
        "s.d = 2022.25",
    ):
        found = snapshot.files(from_sql(condition), ["path"]).column("path").to_pylist()
        assert found == ["2022"], condition
    found = snapshot.files(from_sql("at >= '2022-01-01 00:00:00.123456'"), ["path", "stats"])
    assert sorted(found.column("path").to_pylist()) == ["2022", "2023"]
    assert found.column("stats").null_count == 0


def rewrite_as_int96(table):
    (checkpoint,) = table.log.glob("*.checkpoint.parquet")
    pq.write_table(pq.read_table(checkpoint), checkpoint, use_deprecated_int96_timestamps=True)
