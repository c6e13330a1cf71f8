"""Columns that cannot be read: they refuse themselves, and every engine reads the others."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaarrow as da
from deltaarrow.schema import UnknownType

TYPES = {
    "interval day to second": pa.array([5, None]),
    "timestamp_nanos": pa.array([5, None], pa.timestamp("ns")),
    "time(6)": pa.array([5, None], pa.time64("us")),
    "decimal(40,2)": pa.array([5, None]),
    "geometry(OGC:CRS84)": pa.array([b"x", None]),
    ("struct", "interval year to month"): pa.array([{"k": 5}, None]),
    ("array", "unheard of"): pa.array([[5], None]),
}


BOUNDS = ["PT1S", "2020-01-01T00:00:00.000000001Z", "10:00:00", 5.0, "POINT(1 1)", {"k": "P1Y"}, None]
"""Of ``x``, by type, as a writer that knows the type has them in the log."""


def described(kind):
    """The JSON of a type, which for a pair is nested."""
    if isinstance(kind, str):
        return kind
    outer, inner = kind
    if outer == "array":
        return {"type": "array", "elementType": inner, "containsNull": True}
    return {"type": "struct", "fields": [{"name": "k", "type": inner, "nullable": True, "metadata": {}}]}


def craft(path, kind, values, partition=None, **stats):
    """A table with the columns ``id`` and ``x``, by hand; `partition` is the value of ``x`` for its file."""
    (path / "_delta_log").mkdir(parents=True)
    rows = pa.table({"id": [1, 2]} if partition else {"id": [1, 2], "x": values})
    pq.write_table(rows, path / "f.parquet")
    fields = [("id", "long"), ("x", described(kind))]
    schema = {
        "type": "struct",
        "fields": [{"name": name, "type": each, "nullable": True, "metadata": {}} for name, each in fields],
    }
    actions = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 4}},
        {
            "metaData": {
                "id": "x",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps(schema),
                "partitionColumns": ["x"] if partition else [],
                "configuration": {"delta.enableChangeDataFeed": "true"},
            }
        },
        {
            "add": {
                "path": "f.parquet",
                "partitionValues": {"x": partition} if partition else {},
                "size": (path / "f.parquet").stat().st_size,
                "modificationTime": 0,
                "dataChange": True,
                **({"stats": json.dumps(stats)} if stats else {}),
            }
        },
    ]
    (path / "_delta_log" / f"{0:020}.json").write_text("\n".join(map(json.dumps, actions)))
    return path


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_a_column_of_an_unknown_type_refuses_itself_alone(engine, tmp_path, kind):
    path = craft(tmp_path / "t", kind, TYPES[kind])
    assert engine(path, ["id"], "id > 1") == [{"id": 2}]
    name = kind if isinstance(kind, str) else kind[1]
    for columns in (None, ["x"], ["id", "x"]):
        with pytest.raises(Exception, match="column 'x' has values of type ") as raised:
            engine(path, columns)
        assert name in str(raised.value)


def test_what_else_can_be_done_with_such_a_table(tmp_path):
    path = craft(tmp_path / "t", "interval day to second", TYPES["interval day to second"])
    table = da.DeltaTable(path)
    assert table.schema().field("x").type == UnknownType("interval day to second")
    assert json.loads(table.schema().to_json())["fields"][1]["type"] == "interval day to second"
    assert len(table.history()) == table.detail()["numFiles"] == 1
    assert pa.table(table.get_add_actions(flatten=True)).num_rows == 1
    assert "interval day to second" in table.report()
    assert table.load_cdf(0, columns=["id"]).read_all().num_rows == 2
    refusal = "column 'x' has values of type interval day to second, which this release cannot read"
    with pytest.raises(da.UnsupportedFeatureError, match=refusal):
        table.load_cdf(0).read_all()
    with pytest.raises(da.UnsupportedFeatureError, match=refusal):
        table.to_pyarrow_table(columns=["id"], filters="x IS NULL")
    for dialect, name in (("spark", f"delta.`{path}`"), ("duckdb", f'delta."{path}"')):
        with da.connect(dialect=dialect) as connection:
            assert connection.sql(f"SELECT count(*) FROM {name}").fetchall() == [(2,)]
            assert connection.sql(f"SELECT sum(id) FROM {name} WHERE id > 1").fetchall() == [(2,)]
            with pytest.raises(da.UnsupportedFeatureError, match="interval day to second"):
                connection.sql(f"SELECT * FROM {name}").fetchall()
    before = sorted(path.rglob("*"))
    for write in (
        lambda: da.write_deltalake(path, pa.table({"id": [3]}), mode="append"),
        lambda: da.write_deltalake(path, pa.table({"id": [3]}), mode="overwrite", schema_mode="overwrite"),
        lambda: table.delete("id = 1"),
        lambda: table.update({"id": "id + 1"}),
        table.optimize.compact,
        lambda: table.merge(pa.table({"k": [1]}), "id = k").when_matched_delete().execute(),
    ):
        with pytest.raises(da.UnsupportedFeatureError, match="'x': the type 'interval day to second'"):
            write()
    assert sorted(path.rglob("*")) == before


@pytest.mark.parametrize(("kind", "bound"), [*zip(TYPES, BOUNDS, strict=True)], ids=str)
def test_verify_examines_the_other_columns_and_a_clone_is_refused(tmp_path, kind, bound):
    bounds = {"minValues": {"id": 2, "x": bound}, "maxValues": {"id": 2, "x": bound}}
    path = craft(tmp_path / "t", kind, TYPES[kind], numRecords=2, nullCount={"id": 0, "x": 1}, **bounds)
    table = da.DeltaTable(path)
    assert table.verify().ok
    unexamined, outside = sorted(table.verify(deep=True).findings, key=lambda each: each.what)
    assert unexamined.what == "column 'x' was not examined: this release cannot read its type"
    assert "id: the least value is '1', below the minimum '2'" in outside.what
    for shallow in (True, False):
        with pytest.raises(da.UnsupportedFeatureError, match="column 'x"):
            table.clone(tmp_path / "clone", shallow=shallow)
    assert not (tmp_path / "clone").exists()


@pytest.mark.parametrize("kind", ["date", "timestamp"])
def test_a_partition_value_of_a_year_before_1_refuses_its_column_alone(engine, tmp_path, kind):
    path = craft(tmp_path / "t", kind, None, partition="-9999-01-01")
    assert engine(path, ["id"]) == [{"id": 1}, {"id": 2}]
    with pytest.raises(Exception, match="partition column 'x': the partition value '-9999' is outside"):
        engine(path)
    with da.connect(dialect="spark") as connection:
        assert connection.sql(f"SELECT count(*) FROM delta.`{path}`").fetchall() == [(2,)]
