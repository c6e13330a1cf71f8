"""Variants in DuckDB: the variant null is not NULL there, however the files are read."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

import deltaarrow as da
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.variant import parse
from tests.support.duckdb_session import duckdb_session
from tests.support.examples import examples
from tests.support.rows import READERS, read_duckdb
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
        ("STRUCT(a VARCHAR)", [{"a": "x"}, {"a": "y"}, NOTHING]),
        ("VARCHAR[]", [["a"], ["b", "c"], NOTHING]),
    ],
)
def test_files_that_prove_to_have_none_are_read_by_duckdb_itself(tmp_path, shredding, values):
    table = builder(tmp_path)
    table.commit([annotated_file(table, values, shredding)])
    with duckdb_session() as connection:
        da.register(connection, "t", tmp_path, native=True)
        assert values_of(connection.sql("FROM t").to_arrow_table()) == values


def annotate(path, name, members):
    """Mark a group of the schema of a Parquet file as VARIANT, which pyarrow cannot write."""
    data = path.read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    body, footer = data[: -8 - size], data[-8 - size : -8]
    # Thrift's compact form of an optional group: its repetition, its name, the number of its children.
    element = bytes([0x35, 2, 0x18, len(name), *name.encode(), 0x15, 2 * members])
    before, after = footer.split(element)
    # Field 10, the logical type: its member 16, VARIANT, of version 1.
    footer = before + element + bytes([0x5C, 0x0C, 0x20, 0x13, 1, 0, 0]) + after
    path.write_bytes(body + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def foreign_table(folder, typed, values):
    """A table whose variants have the form `typed`; `values` are pairs of the JSON beside it and in it."""
    dictionary = shredded([{"a": 0, "b": 0, "c": 0}], Shape()).field("metadata")[0].as_py()
    stored = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", typed)])
    rows = [{"metadata": dictionary, "value": value, "typed_value": inner} for value, inner in values]
    table = builder(folder)
    file = folder / "v.parquet"
    ids = pa.array(range(len(rows)))
    pq.write_table(pa.table({"id": ids, "v": pa.array(rows, stored)}), file, store_schema=False)
    annotate(file, "v", 3)
    table.commit([table.add_file(len(rows), stats=False, name=file.name, size=file.stat().st_size)])


def group(*members):
    return pa.struct(members)


TYPED = ("typed_value", pa.string())
IN_LIST = pa.list_(pa.field("element", group(TYPED), nullable=False))


@pytest.mark.parametrize(
    ("typed", "inner", "value"),
    [
        (IN_LIST, [{"typed_value": "x"}], ["x"]),
        (group(("a", group(TYPED))), {"a": {"typed_value": "x"}}, {"a": "x"}),
        (
            group(("a", group(("value", pa.binary()), ("typed_value", IN_LIST)))),
            {"a": {"value": None, "typed_value": [{"typed_value": "x"}]}},
            {"a": ["x"]},
        ),
    ],
)
def test_a_part_without_the_column_value_is_not_read_by_duckdb(tmp_path, typed, inner, value):
    """DuckDB ends with an internal error, even where a query reads another column of the view."""
    foreign_table(tmp_path, typed, [(None, inner)])
    with duckdb_session() as connection:
        da.register(connection, "t", tmp_path)
        assert connection.sql("SELECT count(*) FROM t").fetchall() == [(1,)]
        assert connection.sql("SELECT id FROM t").fetchall() == [(0,)]
        assert values_of(connection.sql("FROM t").to_arrow_table()) == [value]
    assert da.connect().sql(f"SELECT id FROM delta_scan('{tmp_path}')").fetchall() == [(0,)]


NUMBERS = group(*((name, group(("value", pa.binary()), ("typed_value", pa.int64()))) for name in "ab"))
NINE = bytes([2, 1, 1, 0, 2, 0x0C, 9])
"""The object whose field ``b`` is 9."""


@pytest.mark.parametrize("own", [None, 2])
def test_a_field_that_is_also_beside_its_object_is_refused_by_every_engine(tmp_path, own):
    """Spark refuses the variant as malformed."""
    fields = {"a": {"value": None, "typed_value": 1}, "b": {"value": None, "typed_value": own}}
    foreign_table(tmp_path, NUMBERS, [(NINE, fields)])
    for read in READERS.values():
        with pytest.raises(Exception, match="a field in both value and typed_value"):
            read(tmp_path)


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
