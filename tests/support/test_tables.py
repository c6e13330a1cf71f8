"""The builder of test tables makes tables that an independent reader accepts."""

import datetime
import decimal

import deltalake
import pyarrow as pa
import pytest

from tests.support.tables import TableBuilder

ROWS = pa.table(
    {
        "id": pa.array([1, 2, None], pa.int64()),
        "at": pa.array([datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)] * 3, pa.timestamp("us", "UTC")),
        "price": pa.array([decimal.Decimal("1.25"), None, None], pa.decimal128(9, 2)),
        "pair": pa.array([{"a": 1, "b": "x"}, None, {"a": 3, "b": None}]),
        "tags": pa.array([["a"], [], None], pa.list_(pa.string())),
    }
)


@pytest.mark.parametrize("stats", ["json", "struct", "both", "none"])
@pytest.mark.parametrize("kind", ["none", "classic", "multipart", "v2-parquet", "v2-json", "v2-classic"])
def test_every_kind_of_checkpoint_is_read_by_delta_rs(tmp_path, kind, stats):
    table = TableBuilder(tmp_path)
    features = ["v2Checkpoint"] if kind.startswith("v2") else []
    table.features(*features).metadata(ROWS.schema.append(pa.field("day", pa.date32())), ["day"])
    kept = table.add_file(ROWS, {"day": "2026-01-02"})
    gone = table.add_file(ROWS, {"day": None})
    table.commit([kept, gone, table.txn("app", 3)])
    table.commit([table.remove(gone)])
    if kind != "none":
        table.checkpoint(kind=kind, sidecars=2 if kind.startswith("v2") else 0, stats=stats)
        table.delete_commits(0)
    found = deltalake.DeltaTable(tmp_path)
    assert found.version() == 1
    assert [uri.rpartition("/")[2] for uri in found.file_uris()] == [kept["add"]["path"]]
    query = deltalake.QueryBuilder().register("t", found)
    rows = pa.table(query.execute("select id, day from t order by id"))
    assert rows.column("id").to_pylist() == [1, 2, None]
    assert list(table.live_files()) == [(kept["add"]["path"], None)]


@pytest.mark.parametrize(("storage", "prefix"), [("i", ""), ("u", ""), ("u", "ab"), ("p", "")])
def test_deletion_vectors_are_read_by_delta_rs(tmp_path, storage, prefix):
    table = TableBuilder(tmp_path).features("deletionVectors").metadata(ROWS.schema)
    file = table.add_file(ROWS)
    table.commit([file])
    table.commit(table.with_deletion_vector(file, table.deletion_vector([0, 2], storage, prefix)))
    found = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(tmp_path)).execute("select id from t")
    assert pa.table(found).column("id").to_pylist() == [2]
