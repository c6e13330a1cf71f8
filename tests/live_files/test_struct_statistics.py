"""File skipping by the statistics of a checkpoint, in each form that they may have."""

import datetime as dt
import json
import math
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaarrow as da
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from tests.support.conditions import predicate_of
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
        found = snapshot.files(predicate_of(condition, snapshot.schema), ["path"]).column("path").to_pylist()
        assert found == ["2022"], condition
    found = snapshot.files(
        predicate_of("at >= '2022-01-01 00:00:00.123456'", snapshot.schema), ["path", "stats"]
    )
    assert sorted(found.column("path").to_pylist()) == ["2022", "2023"]
    assert found.column("stats").null_count == 0


def rewrite_as_int96(table):
    (checkpoint,) = table.log.glob("*.checkpoint.parquet")
    pq.write_table(pq.read_table(checkpoint), checkpoint, use_deprecated_int96_timestamps=True)


def test_statistics_of_a_struct_alone_are_written_again_as_writers_spell_them(tmp_path):
    """A file that gets a deletion vector is added again with its statistics, infinite or not."""
    only_structs = {"delta.enableDeletionVectors": "true", "delta.checkpoint.writeStatsAsJson": "false"}
    at = pa.array([dt.datetime(2021, 1, 1, tzinfo=dt.UTC)] * 2, pa.timestamp("us", "UTC"))
    rows = pa.table({"id": [1, 2], "x": [1.5, math.inf], "at": at})
    da.write_deltalake(tmp_path, rows, configuration=only_structs)
    table = da.DeltaTable(tmp_path)
    table.create_checkpoint()
    table = da.DeltaTable(tmp_path)
    table.delete("id = 1")
    lines = (tmp_path / "_delta_log" / f"{1:020d}.json").read_text().splitlines()
    (stats,) = (json.loads(action["add"]["stats"]) for line in lines if "add" in (action := json.loads(line)))
    assert stats["maxValues"] == {"id": 2, "x": "Infinity", "at": "2021-01-01T00:00:00.000000Z"}
    assert not stats["tightBounds"]
    assert table.to_pyarrow_table().column("id").to_pylist() == [2]
