"""Variants in DuckDB: the variant null is not NULL there, however the files are read."""

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import deltaarrow as da
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.variant import parse
from tests.support.duckdb_session import duckdb_session
from tests.support.examples import examples
from tests.support.rows import read_duckdb
from tests.support.tables import TableBuilder
from tests.support.variants import Shape, shredded

pytestmark = [pytest.mark.feature("variantType"), pytest.mark.feature("variantShredding")]

NOTHING = object()
"""Among values: NULL, whereas None is the variant null."""
SHREDDINGS = ["VARIANT", "BIGINT", "VARCHAR", "STRUCT(a BIGINT, b VARCHAR[])", "VARCHAR[]"]


def field(name, data_type):
    return {"name": name, "type": data_type, "nullable": True, "metadata": {}}


def schema(*fields):
    return {"type": "struct", "fields": list(fields)}


def array(element):
    return {"type": "array", "elementType": element, "containsNull": True}


SCHEMA = schema(field("id", "long"), field("v", "variant"))


def builder(folder, table_schema=SCHEMA):
    return TableBuilder(folder).features("variantType", "variantShredding").metadata(table_schema)


def variants(values):
    return shredded(values, Shape(), missing=NOTHING)


def annotated_file(table, values, shredding, name="v.parquet"):
    """A file that declares its variants, which only DuckDB can write here."""
    columns = {"id": pa.array(range(len(values))), "v": variants(values)}
    marked = pa.field("v", columns["v"].type, metadata={"ARROW:extension:name": "arrow.parquet.variant"})
    rows = pa.table(columns, schema=pa.schema([pa.field("id", pa.int64()), marked]))
    with duckdb_session() as connection:
        connection.register("given", rows)
        copy = f"COPY given TO '{table.path / name}' (SHREDDING {{v: '{shredding}'}})"
        connection.execute(copy)
    size = (table.path / name).stat().st_size
    return table.add_file(len(values), stats=False, name=name, size=size)


def values_of(rows):
    column = rows.sort_by("id")["v"].to_pylist()
    return [NOTHING if row is None else parse(**row) for row in column]


@pytest.mark.parametrize("shredding", SHREDDINGS)
def test_a_variant_that_is_null_is_not_null(tmp_path, shredding):
    table = builder(tmp_path)
    values = [None, NOTHING, {"a": None}, [None], 1, "x"]
    table.commit([annotated_file(table, values, shredding)])
    assert values_of(read_duckdb(tmp_path)) == values
    with duckdb_session() as connection:
        with pytest.raises(UnsupportedFeatureError, match="turns variants that are null into NULL"):
            da.register(connection, "t", tmp_path, native=True)
        da.register(connection, "t", tmp_path)
        assert connection.sql("SELECT id FROM t WHERE v IS NULL").fetchall() == [(1,)]
        assert connection.sql("SELECT count(v) FROM t").fetchall() == [(5,)]
        found = connection.sql("SELECT v::JSON FROM t ORDER BY id").fetchall()
        assert [text and json.loads(text) for (text,) in found] == [*[None] * 2, *values[2:]]
        assert found[:2] == [("null",), (None,)]


@pytest.mark.parametrize(
    ("shredding", "values"),
    [
        ("VARIANT", [1, {"a": None}, NOTHING, "x", [None], False]),
        ("BIGINT", [2**50, NOTHING, 2**40]),
        ("VARCHAR", ["a", NOTHING, ""]),
        ("STRUCT(a BIGINT, b VARCHAR[])", [{"a": 1, "b": ["x"]}, NOTHING, {"a": 2, "b": []}]),
        ("STRUCT(a VARCHAR)", [{"a": "x", "z": None, "0": [1]}, {"a": "y"}, NOTHING]),
        ("VARCHAR[]", [["a"], ["b", "c"], NOTHING]),
    ],
)
def test_files_that_prove_to_have_none_are_read_by_duckdb_itself(tmp_path, shredding, values):
    table = builder(tmp_path)
    table.commit([annotated_file(table, values, shredding)])
    with duckdb_session() as connection:
        da.register(connection, "t", tmp_path, native=True)
        assert values_of(connection.sql("FROM t").to_arrow_table()) == values


def test_one_file_that_proves_nothing_is_enough(tmp_path):
    table = builder(tmp_path)
    table.commit(
        [
            annotated_file(table, [1, 2], "VARIANT", "good.parquet"),
            annotated_file(table, [None], "VARIANT", "bad.parquet"),
            annotated_file(table, [], "VARIANT", "empty.parquet"),
        ]
    )
    assert sorted(values_of(read_duckdb(tmp_path)), key=repr) == [1, 2, None]


def test_variants_inside_of_other_types(tmp_path):
    table_schema = schema(
        field("id", "long"),
        field("l", array("variant")),
        field("s", schema(field("v", "variant"))),
        field(
            "m",
            {"type": "map", "keyType": "string", "valueType": "variant", "valueContainsNull": True},
        ),
    )
    table = builder(tmp_path, table_schema)
    inner = variants([None, NOTHING, 1])
    offsets = pa.array([0, 1, 2, 3], pa.int32())
    columns = {
        "id": pa.array([0, 1, 2]),
        "l": pa.ListArray.from_arrays(offsets, inner),
        "s": pa.StructArray.from_arrays([inner], ["v"]),
        "m": pa.MapArray.from_arrays(offsets, pa.array(["k"] * 3), inner),
    }
    table.commit([table.add_file(pa.table(columns), stats=False)])
    with duckdb_session() as connection:
        da.register(connection, "t", tmp_path)
        nulls = "SELECT l[1] IS NULL, s.v IS NULL, m['k'] IS NULL FROM t ORDER BY id"
        assert connection.sql(nulls).fetchall() == [(False,) * 3, (True,) * 3, (False,) * 3]
        found = connection.sql("FROM t ORDER BY id").to_arrow_table().to_pylist()
    first, second, _ = found
    assert parse(**first["l"][0]) is parse(**first["s"]["v"]) is parse(**first["m"][0][1]) is None
    assert (second["l"], second["s"], second["m"]) == ([None], {"v": None}, [("k", None)])


def test_a_change_data_feed_shows_variants_as_the_table_does(tmp_path):
    configuration = {"delta.enableChangeDataFeed": "true"}
    table = TableBuilder(tmp_path).features("variantType", writer_only=["changeDataFeed"])
    table.metadata(SCHEMA, configuration=configuration)
    values = [None, NOTHING, {"a": 1}]
    rows = pa.table({"id": [0, 1, 2], "v": variants(values)})
    table.commit([table.add_file(rows, stats=False)])
    with duckdb_session() as connection:
        feed = da.DeltaTable(tmp_path).change_data_feed()
        for _ in range(2):
            da.register(connection, "feed", feed)
        assert values_of(connection.sql("FROM feed").to_arrow_table()) == values
        assert connection.sql("SELECT id FROM feed WHERE v IS NULL").fetchall() == [(1,)]
        assert connection.sql("SELECT v.a::BIGINT FROM feed WHERE id = 2").fetchall() == [(1,)]
        assert connection.sql("SELECT DISTINCT _change_type FROM feed").fetchall() == [("insert",)]
        da.register(connection, "feed", tmp_path)
        assert connection.sql("SELECT count(*) FROM feed").fetchall() == [(3,)]
        with pytest.raises(UnsupportedFeatureError, match="is read through Arrow"):
            da.register(connection, "feed", feed, native=True)
        with pytest.raises(UnsupportedFeatureError, match="no row ids"):
            da.register(connection, "feed", feed, row_tracking=True)


LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from(["", "x" * 70, "y"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=examples(14), deadline=None)
@given(shredding=st.sampled_from(SHREDDINGS), data=st.data())
def test_any_variants_come_back(tmp_path_factory, shredding, data):
    # Lists of one kind are what files that prove something are made of.
    kinds = [st.integers(0, 9), st.sampled_from("xyz"), st.fixed_dictionaries({"a": st.integers(0, 9)})]
    one = st.sampled_from([VALUES, *kinds, st.lists(st.sampled_from("xyz"), min_size=1)])
    values = data.draw(one.flatmap(lambda each: st.lists(each | st.just(NOTHING), max_size=6)))
    table = builder(tmp_path_factory.mktemp("t"))
    table.commit([annotated_file(table, values, shredding)])
    assert values_of(read_duckdb(table.path)) == values
