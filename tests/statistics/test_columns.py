"""Columns that get statistics, as Spark chooses them."""

import pytest

from deltaarrow.errors import InvalidTablePropertyError
from deltaarrow.schema import ArrayType, Field, MapType, Schema, StructType
from deltaarrow.statistics import parse_column_names, statistics_columns, string_prefix_length

NUM = "delta.dataSkippingNumIndexedCols"
NAMES = "delta.dataSkippingStatsColumns"


def paths(schema, configuration=None, partition_columns=(), mode="none"):
    columns = statistics_columns(schema, partition_columns, configuration or {}, mode)
    return [".".join(each.path) for each in columns]


def wide(first=()):
    struct = StructType([Field("a", "integer"), Field("b", "integer"), Field("c", "integer")])
    ints = [Field(f"c{number}", "integer") for number in range(30)]
    return Schema([*first, *ints, Field("st", struct), Field("z", "integer")])


def test_the_first_32_leaves():
    assert paths(wide())[-3:] == ["c29", "st.a", "st.b"]


def test_partition_columns_do_not_count():
    assert paths(wide([Field("p", "integer")]), partition_columns=["p"]) == paths(wide())


def test_an_array_or_a_map_is_one_leaf():
    schema = Schema(
        [
            Field("a", ArrayType(StructType([Field("x", "long")]))),
            Field("m", MapType("string", "long")),
            Field("b", "long"),
        ]
    )
    assert paths(schema, {NUM: "2"}) == ["a", "m"]


@pytest.mark.parametrize(("limit", "count"), [("-1", 34), ("0", 0), ("1", 1), ("31", 31), ("100", 34)])
def test_a_table_may_ask_for_another_number(limit, count):
    assert len(paths(wide(), {NUM: limit})) == count


def test_named_columns_win_over_the_number_and_keep_the_order_of_the_schema():
    struct = StructType(
        [Field("X", "integer"), Field("y", "integer"), Field("z", StructType([Field("q", "date")]))]
    )
    schema = Schema(
        [
            Field("a", "long"),
            Field("B", "long"),
            Field("st", struct),
            Field("c.d", "long"),
            Field("e", "string"),
        ]
    )
    assert paths(schema, {NAMES: "e, b, st.x, st.z, `c.d`", NUM: "1"}) == ["B", "st.X", "st.z.q", "c.d", "e"]
    assert paths(schema, {NAMES: "st"}) == ["st.X", "st.y", "st.z.q"]
    assert paths(schema, {NAMES: " "}) == []
    assert paths(schema, {NAMES: "absent"}) == []


def test_physical_names():
    def mapped(name, kind, physical):
        return Field(name, kind, metadata={"delta.columnMapping.physicalName": physical})

    schema = Schema(
        [mapped("a", StructType([mapped("x y", "long", "col-2")]), "col-1"), mapped("b", "long", "col-3")]
    )
    assert paths(schema, mode="name") == ["col-1.col-2", "col-3"]
    assert paths(schema, {NAMES: "a.`x y`"}, mode="name") == ["col-1.col-2"]


def test_which_types_have_bounds():
    types = [
        "boolean",
        "binary",
        "variant",
        "void",
        "string",
        "date",
        "timestamp",
        "timestamp_ntz",
        "decimal(5,2)",
        "float",
    ]
    columns = statistics_columns(Schema([Field(each, each) for each in types]), [], {})
    assert [each.type.type for each in columns if not each.has_bounds] == types[:4]


@pytest.mark.parametrize("text", ["a,,b", "a,", "a b", "`a", "a..b", ".", "a-b", ",a"])
def test_ill_formed_lists_of_names(text):
    with pytest.raises(InvalidTablePropertyError):
        parse_column_names(text)


def test_names_with_backquotes():
    assert parse_column_names("`a``b`.`c,d`, e1") == [("a`b", "c,d"), ("e1",)]


@pytest.mark.parametrize(("key", "text"), [(NUM, "x"), (NUM, "-2"), (NUM, "")])
def test_ill_formed_numbers(key, text):
    with pytest.raises(InvalidTablePropertyError, match=key):
        paths(wide(), {key: text})


def test_prefix_length():
    key = "delta.dataSkippingStringPrefixLength"
    assert string_prefix_length({key: "3"}) == 3
    with pytest.raises(InvalidTablePropertyError, match=key):
        string_prefix_length({key: "-1"})
