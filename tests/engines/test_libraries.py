"""Libraries that read the dataset or its fragments see the rows of the table, and those alone."""

import datetime

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deltaarrow as da

pytestmark = pytest.mark.filterwarnings("ignore")  # what the libraries warn of among themselves

DAYS = [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2), None]


@pytest.fixture
def table(tmp_path):
    """Mapped columns, one of them renamed, deletion vectors in every file, a partition that is NULL."""
    for place, day in enumerate(DAYS):
        ids = range(place * 100, place * 100 + 100)
        rows = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "name": pa.array([None if i % 7 == 0 else f"n{i}" for i in ids]),
                "inner": pa.array([{"a": i % 10} for i in ids]),
                "day": pa.array([day] * 100, pa.date32()),
            }
        )
        features = {"delta.enableDeletionVectors": "true", "delta.columnMapping.mode": "name"}
        da.write_deltalake(tmp_path, rows, mode="append", partition_by=["day"], configuration=features)
    table = da.DeltaTable(tmp_path)
    table.delete("id % 10 = 3")
    table.alter.rename_column("name", "full name")
    return da.DeltaTable(tmp_path)


CONDITIONS = {
    "id > 150": lambda row: row["id"] > 150,
    "id IN (3, 4, 105)": lambda row: row["id"] in (3, 4, 105),
    "day = DATE '2026-01-02'": lambda row: row["day"] == DAYS[1],
    "day IS NULL AND id < 220": lambda row: row["day"] is None and row["id"] < 220,
    "\"full name\" = 'n8'": lambda row: row["full name"] == "n8",
    '"full name" IS NULL': lambda row: row["full name"] is None,
    "id % 4 = 1": lambda row: row["id"] % 4 == 1,
}


def wanted(table, condition):
    rows = table.to_pyarrow_table().to_pylist()
    assert len(rows) == 270
    return sorted(row["id"] for row in rows if CONDITIONS[condition](row))


@pytest.mark.parametrize("condition", CONDITIONS)
def test_datafusion(table, condition):
    datafusion = pytest.importorskip("datafusion")
    context = datafusion.SessionContext()
    context.register_dataset("t", table.to_pyarrow_dataset())
    found = context.sql(f"SELECT id FROM t WHERE {condition}").to_pydict()
    assert sorted(found["id"]) == wanted(table, condition)
    (count,) = context.sql(f"SELECT count(*) AS n, max(inner['a']) AS a FROM t WHERE {condition}").to_pylist()
    assert count["n"] == len(found["id"])


def test_datafusion_reads_a_filtered_dataset(table):
    datafusion = pytest.importorskip("datafusion")
    context = datafusion.SessionContext()
    context.register_dataset("t", table.to_pyarrow_dataset().filter(pc.field("id") > 150))
    found = context.sql("SELECT id FROM t WHERE day = DATE '2026-01-02'").to_pydict()
    assert sorted(found["id"]) == [i for i in range(151, 200) if i % 10 != 3]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_ibis(table, condition):
    ibis = pytest.importorskip("ibis")
    with da.connect() as lake:
        lake.register("t", table)
        t = ibis.duckdb.from_connection(lake).table("t")
        expressions = {
            "id > 150": t.id > 150,
            "id IN (3, 4, 105)": t.id.isin([3, 4, 105]),
            "day = DATE '2026-01-02'": t.day == DAYS[1],
            "day IS NULL AND id < 220": t.day.isnull() & (t.id < 220),
            "\"full name\" = 'n8'": t["full name"] == "n8",
            '"full name" IS NULL': t["full name"].isnull(),
            "id % 4 = 1": t.id % 4 == 1,
        }
        found = t.filter(expressions[condition]).select("id").to_pyarrow()
    assert sorted(found["id"].to_pylist()) == wanted(table, condition)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads", "processes"])
def test_dask(table, scheduler):
    dask = pytest.importorskip("dask")
    import dask.dataframe as dd
    import pandas as pd

    def read(fragment, columns=None):
        return fragment.to_table(columns=columns).to_pandas(types_mapper=pd.ArrowDtype)

    dataset = table.to_pyarrow_dataset().filter(pc.field("id") > 150)
    meta = dataset.schema.empty_table().to_pandas(types_mapper=pd.ArrowDtype)
    frame = dd.from_map(read, list(dataset.get_fragments()), meta=meta)
    with dask.config.set(scheduler=scheduler):
        found = frame[["id", "full name", "day"]].compute()
    rows = pa.Table.from_pandas(found, preserve_index=False).sort_by("id").to_pylist()
    columns = ["id", "full name", "day"]
    expected = table.to_pyarrow_table(columns=columns, filters="id > 150").sort_by("id").to_pylist()
    assert frame.npartitions == 2
    assert rows == expected
