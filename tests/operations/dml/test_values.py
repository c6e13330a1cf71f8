"""Values that UPDATE and MERGE assign to arrays, maps, structs and variants, and the meaning of DEFAULT."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, Field, Schema, write_deltalake
from deltaarrow.errors import (
    ConstraintViolationError,
    DeltaError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from deltaarrow.variant import to_json

VECTORS = {"delta.enableDeletionVectors": "true"}
PAIR = pa.struct([("a", pa.int32()), ("b", pa.string())])
DAY = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
TIME = dt.datetime(2024, 2, 29, 13, 14, 15, 123456, dt.UTC)


def make(path, configuration=None):
    rows = pa.table(
        {
            "id": [1, 2],
            "st": pa.array([{"a": 1, "b": "x"}, None], PAIR),
            "xs": pa.array([[1, None], [7, 8]], pa.list_(pa.int32())),
            "many": pa.array([[{"a": 5, "b": "y"}, None], []], pa.list_(PAIR)),
            "m": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int32())),
            "times": pa.array([[TIME], None], pa.list_(pa.timestamp("us", "UTC"))),
            "at": pa.array([TIME, None], pa.timestamp("us", "UTC")),
        }
    )
    write_deltalake(path, rows, configuration=configuration or VECTORS)
    return DeltaTable(path)


def values(table, name):
    return table.to_pyarrow_table(columns=["id", name]).sort_by("id").column(name).to_pylist()


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("f + 1", [2.5, None]),
        ("f * f - 2L", [0.25, None]),
        ("d", [float("inf"), 0.25]),
        ("d * -1", [float("-inf"), -0.25]),
        ("m + 0.05", [pytest.approx(0.15), pytest.approx(-7.45)]),
        ("'1e39'", [float("inf")] * 2),
        ("t.id = 1", [1.0, 0.0]),
    ],
)
def test_floats_are_assigned_what_becomes_one(tmp_path, value, wanted):
    rows = pa.table(
        {
            "id": [1, 2],
            "f": pa.array([1.5, None], pa.float32()),
            "d": [1e300, 0.25],
            "m": pa.array([Decimal("0.1"), Decimal("-7.5")], pa.decimal128(10, 2)),
        }
    )
    for name in ("merged", "updated"):
        write_deltalake(tmp_path / name, rows)
    merged, updated = DeltaTable(tmp_path / "merged"), DeltaTable(tmp_path / "updated")
    merger = merged.merge(pa.table({"key": [1, 2]}), "key = t.id", "s", "t")
    merger.when_matched_update({"f": value}).execute()
    updated.update({"f": value.replace("t.", "")})
    assert (values(merged, "f"), values(updated, "f")) == (wanted, wanted)


@pytest.mark.parametrize(
    ("column", "text", "wanted"),
    [
        ("xs", "array(id, 2L, '3')", [[1, 2, 3], [2, 2, 3]]),
        ("xs", "if(id = 1, array(9L), xs)", [[9], [7, 8]]),
        ("xs", "array()", [[], []]),
        ("st", "named_struct('B', id, 'a', '7')", [{"a": 7, "b": "1"}, {"a": 7, "b": "2"}]),
        ("st", "many[id - id]", None),
        ("st", "if(id = 1, many[0], NULL)", [{"a": 5, "b": "y"}, None]),
        ("st", "struct(st.b, id AS a)", [{"a": 1, "b": "x"}, {"a": 2, "b": None}]),
        ("many", "array(named_struct('b', 4, 'a', id))", [[{"a": each, "b": "4"}] for each in (1, 2)]),
        ("m", "map('k', id, CAST(id AS STRING), NULL)", [[("k", 1), ("1", None)], [("k", 2), ("2", None)]]),
        ("times", "array(at, NULL, DATE'2020-01-01')", [[TIME, None, DAY], [None, None, DAY]]),
        ("at", "coalesce(times, array(at))[0]", [TIME, None]),
        ("id", "m['a'] + size(m)", [2, None]),
        ("id", "coalesce(many, array())[0].a", None),
    ],
)  # fmt: skip
def test_values_that_are_put_together_or_taken_apart(tmp_path, column, text, wanted):
    table = make(tmp_path)
    if wanted is None:
        with pytest.raises(ConstraintViolationError, match="has no element"):
            table.update({column: text})
    else:
        table.update({column: text}, predicate="id > 0")
        found = table.to_pyarrow_table().column(column).to_pylist()
        assert sorted(found, key=str) == sorted(wanted, key=str)
    assert table.verify(deep=True).ok


@pytest.mark.parametrize(
    ("column", "text", "error", "named"),
    [
        ("st", "named_struct('a', 1)", SchemaMismatchError, "lacks the field 'b'"),
        ("st", "named_struct('a', 1, 'b', 'x', 'c', 1)", SchemaMismatchError, "'c' that the column lacks"),
        ("st", "struct(1, 'x')", SchemaMismatchError, "col1"),
        ("many", "array(named_struct('a', 1))", SchemaMismatchError, "lacks the field 'b'"),
        ("st", "5", SchemaMismatchError, "cannot be assigned"),
        ("id", "st", SchemaMismatchError, "cannot be assigned"),
        ("id", "xs.a", DeltaError, "xs"),
        ("id", "(array(named_struct('a', 1)))[0].c", SchemaMismatchError, "no field `c`"),
        ("m", "map('a', 1, 'a', 2)", ConstraintViolationError, "unique"),
        ("m", "map(st.b, 1)", ConstraintViolationError, "NULL"),
        ("xs", "array(3000000000)", ConstraintViolationError, "computed"),
        ("st.b", "DEFAULT", SchemaMismatchError, "DEFAULT"),
        ("id", "DEFAULT + 1", SchemaMismatchError, "DEFAULT"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, column, text, error, named):
    table = make(tmp_path)
    with pytest.raises(error, match=named):
        table.update({column: text})
    assert table.version() == 0


def test_variants_from_json_in_the_text(tmp_path):
    table = DeltaTable.create(tmp_path, Schema([Field("id", "long"), Field("v", "variant")]))
    write_deltalake(table, pa.table({"id": [1, 2]}), mode="append")
    table.update({"v": """parse_json('{"a": [1, 2.50, null]}')"""}, predicate="id = 1")
    table.update({"v": "coalesce(v, parse_json('7'))"})
    rows = table.to_pyarrow_table().sort_by("id")
    assert to_json(rows["v"]).to_pylist() == ['{"a":[1,2.5,null]}', "7"]
    source = pa.table({"id": [2, 3]})
    table.merge(source, "t.id = s.id", "s", "t").when_matched_update(
        {"v": "parse_json(NULL)"}
    ).when_not_matched_insert({"id": "s.id", "v": "parse_json('\"new\"')"}).execute()
    rows = table.to_pyarrow_table().sort_by("id")
    assert to_json(rows["v"]).to_pylist() == ['{"a":[1,2.5,null]}', None, '"new"']
    with pytest.raises(DeltaError, match="JSON"):
        table.update({"v": "parse_json('{')"})


@pytest.mark.feature("allowColumnDefaults")
def test_the_word_default(tmp_path):
    fields = [
        Field("id", "long"),
        Field("d", "long", metadata={"CURRENT_DEFAULT": "3 + 4"}),
        Field("n", "long"),
    ]
    enabled = {"delta.feature.allowColumnDefaults": "supported"}
    table = DeltaTable.create(tmp_path, Schema(fields), configuration=enabled)
    write_deltalake(table, pa.table({"id": [1], "d": [1], "n": [1]}), mode="append")
    table.update({"d": "( default )", "n": "`DEFAULT`"})
    assert table.to_pyarrow_table().to_pylist() == [{"id": 1, "d": 7, "n": None}]
    merge = table.merge(pa.table({"id": [1, 2]}), "t.id = s.id", "s", "t")
    for clause, given in [
        (merge.when_matched_update, {"d": "DEFAULT"}),
        (merge.when_not_matched_insert, {"id": "s.id", "d": "default"}),
    ]:
        with pytest.raises(UnsupportedFeatureError, match="DEFAULT as the value of 'd'"):
            clause(given).execute()
        merge = table.merge(pa.table({"id": [1, 2]}), "t.id = s.id", "s", "t")
    named = table.merge(pa.table({"id": [1], "DEFAULT": [5]}), "t.id = s.id", "s", "t")
    named.when_matched_update({"d": "DEFAULT"}).execute()
    assert values(table, "d") == [5]


def test_members_that_a_source_does_not_have(tmp_path):
    table = make(tmp_path)
    source = pa.table({"id": [1, 2, 3], "st": [{"a": 5, "c": 6}] * 2 + [None]})

    def merge(**options):
        return table.merge(source, "t.id = s.id", "s", "t", **options)

    with pytest.raises(SchemaMismatchError, match="'c'"):
        merge().when_matched_update({"st": "s.st"}).execute()
    merge(merge_schema=True).when_matched_update_all().when_not_matched_insert_all().execute()
    kept = [{"a": 5, "b": "x", "c": 6}, {"a": 5, "b": None, "c": 6}, None]
    assert values(table, "st") == kept
    merge(merge_schema=True).when_matched_update({"st": "s.st"}).execute()
    assert values(table, "st") == [{"a": 5, "b": None, "c": 6}] * 2 + [None]


@pytest.mark.parametrize("assigns", ["all", "each"])
def test_values_of_another_kind_are_cast_where_the_schema_evolves(tmp_path, assigns):
    rows = pa.table({"id": [1, 2], "s": ["x", "y"], "st": [{"a": "u"}, None], "xs": [["v"], None]})
    write_deltalake(tmp_path, rows)
    table = DeltaTable(tmp_path)
    source = pa.table({"id": [1], "s": [5], "st": [{"a": 6, "b": 7}], "xs": [[8]], "new": [9]})
    merge = table.merge(source, "t.id = s.id", "s", "t", merge_schema=True)
    if assigns == "all":
        merge.when_matched_update_all().execute()
    else:
        merge.when_matched_update({name: f"s.{name}" for name in source.schema.names}).execute()
    assert table.to_pyarrow_table().sort_by("id").to_pylist() == [
        {"id": 1, "s": "5", "st": {"a": "6", "b": 7}, "xs": ["8"], "new": 9},
        {"id": 2, "s": "y", "st": None, "xs": None, "new": None},
    ]
