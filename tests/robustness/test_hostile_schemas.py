"""Hostile schema texts: refused with the version, or shown by all engines."""

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import DeltaTable
from deltaarrow.errors import CorruptLogError, DeltaError, UnsupportedFeatureError
from tests.support.engines import ENGINES, open_snapshot
from tests.support.exercise import refusals
from tests.support.mutations import ODD_VALUES, places, replaced, without
from tests.support.rows import rows_of
from tests.support.small_tables import SCHEMA
from tests.support.tables import TableBuilder, delta_schema

TEXT = delta_schema(SCHEMA)


def write(path, schema, partition_columns=()):
    text = schema if isinstance(schema, str) else json.dumps(schema)
    TableBuilder(path).protocol().metadata(text, partition_columns).commit()
    return path


def field(name="id", data_type="long", **others):
    return {"name": name, "type": data_type, "nullable": True, "metadata": {}} | others


def struct(*fields):
    return {"type": "struct", "fields": list(fields)}


def nested(kind, levels):
    """A column of a kind of type inside of itself, and a value of it."""
    data_type, value = pa.int64(), 1
    for _ in range(levels):
        if kind == "struct":
            data_type, value = pa.struct([("a", data_type)]), {"a": value}
        elif kind == "list":
            data_type, value = pa.list_(pa.field("element", data_type)), [value]
        else:
            data_type, value = pa.map_(pa.string(), data_type), [("k", value)]
    return pa.table({"c": pa.array([value], data_type)})


@pytest.mark.parametrize(
    "schema",
    [
        "",
        "{",
        "null",
        '"long"',
        '{"type":"struct","fields":[]} x',
        '{"type":"struct","fields":[{"name":"\\ud800","type":"long"}]}',
        '{"type":"struct","fields":[{"name":"a","type":"long","metadata":{"x":NaN}}]}',
        "[" * 100_000,
        struct(field(), field()),
        struct(field(data_type=struct(field("a"), field("a")))),
        struct(field("a\0b")),
        struct(field(data_type=struct(field("\0")))),
        struct(field(nullable="yes")),
        struct(field(metadata=[])),
        struct({"type": "long"}),
        struct("id"),
        {"type": "array", "elementType": "long", "containsNull": True},
        {"type": "struct", "fields": {"id": "long"}},
    ],
    ids=lambda schema: str(schema)[:60],
)
def test_a_schema_that_is_none_is_refused_with_the_version(tmp_path, schema):
    with pytest.raises(CorruptLogError, match=r"^version 0 of "):
        DeltaTable(write(tmp_path, schema))


@pytest.mark.parametrize(
    "name", ["int", "decimal(39,2)", "decimal(5,6)", "decimal(-1,0)", "interval", "geometry", ""]
)
def test_an_unknown_type_is_refused_by_its_column(tmp_path, name):
    table = DeltaTable(write(tmp_path, struct(field(data_type=name))))
    with pytest.raises(UnsupportedFeatureError, match="column 'id'"):
        table.to_pyarrow_table()
    with pytest.raises(UnsupportedFeatureError, match="column 'id'"):
        table.alter.set_table_properties({"delta.appendOnly": "true"})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["nowhere"], "'nowhere' that is not in its schema"),
        (["day", "day"], "twice"),
        (["point"], "'point' of type"),
        (["tags"], "'tags' of type"),
    ],
)
def test_impossible_partition_columns_are_refused_with_the_version(tmp_path, columns, message):
    with pytest.raises(CorruptLogError, match=f"^version 0 of .*{message}"):
        DeltaTable(write(tmp_path, TEXT, columns))


@pytest.mark.parametrize("kind", ["struct", "list", "map"])
@pytest.mark.parametrize("levels", [12, 13, 25])
def test_every_engine_reads_what_is_nested_deeply_in_no_time(tmp_path, kind, levels):
    rows = nested(kind, levels)
    table = TableBuilder(tmp_path).protocol().metadata(rows.schema)
    table.commit([table.add_file(rows, stats=False)])
    snapshot = open_snapshot(tmp_path)
    for name, read in ENGINES.items():
        assert rows_of(read(snapshot, None, None)) == rows_of(rows), name


@pytest.mark.parametrize("levels", [60, 300, 3000])
def test_what_is_nested_deeper_than_arrow_hands_on_is_refused(tmp_path, levels):
    text = '{"type":"struct","fields":[{"name":"a","type":' * levels + '"long"' + "}]}" * levels
    with pytest.raises(CorruptLogError, match=r"^version 0 of "):
        DeltaTable(write(tmp_path, text))


@pytest.mark.parametrize(
    "name", ["'; DROP TABLE x; --", '"', "a.b", "*", "^x$", "é\u2028😀", "x" * 300, "{", "%s", "\\", ""]
)
def test_every_engine_shows_any_other_name(tmp_path, name):
    rows = pa.table({name: [1, 2]})
    table = TableBuilder(tmp_path).protocol().metadata(rows.schema)
    table.commit([table.add_file(rows)])
    snapshot = open_snapshot(tmp_path)
    for engine, read in ENGINES.items():
        assert rows_of(read(snapshot, None, None)) == rows_of(rows), engine
    assert not list(refusals(tmp_path, without=["filter"]))


def bend_anywhere(tmp_path_factory, examples):
    all_places = list(places(TEXT))

    @settings(max_examples=examples, deadline=None, derandomize=True, database=None)
    @given(st.sampled_from(all_places), st.sampled_from(ODD_VALUES), st.booleans())
    def check(place, value, removed):
        schema = without(TEXT, place) if removed else replaced(TEXT, place, value)
        path = write(tmp_path_factory.mktemp("bent"), schema)
        for _, error in refusals(path):
            assert isinstance(error, DeltaError)

    check()


def test_nothing_but_delta_errors_comes_of_a_bent_schema(tmp_path_factory):
    bend_anywhere(tmp_path_factory, 60)


@pytest.mark.slow
def test_nothing_but_delta_errors_comes_of_many_bent_schemas(tmp_path_factory):
    bend_anywhere(tmp_path_factory, 3000)
