"""Requirements of table properties on columns, in new and in changed tables."""

import pytest

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.features import ensure_columns_fit_properties
from deltaarrow.schema import ArrayType, Field, Schema, StructType

FEED = {"delta.enableChangeDataFeed": "true"}
SCHEMA = Schema(
    [
        Field("id", "long"),
        Field("s", StructType([Field("x", "integer"), Field("y", "string"), Field("yes", "boolean")])),
        Field("yes", "boolean"),
        Field("list", ArrayType("integer")),
        Field("day", "string"),
    ]
)


def statistics(names):
    return {"delta.dataSkippingStatsColumns": names}


@pytest.mark.parametrize("name", ["_change_type", "_commit_version", "_commit_timestamp", "_Change_Type"])
def test_names_of_change_data_are_reserved_where_there_is_a_feed(name):
    schema = Schema([Field("id", "long"), Field(name, "string")])
    ensure_columns_fit_properties(schema, (), {})
    with pytest.raises(SchemaMismatchError, match=f"{name}.* change data feed"):
        ensure_columns_fit_properties(schema, (), FEED)


def test_inside_a_struct_any_name_will_do():
    schema = Schema([Field("s", StructType([Field("_change_type", "string")]))])
    ensure_columns_fit_properties(schema, (), FEED)


@pytest.mark.parametrize("names", ["", "id", "ID", "s", "s.x, s.y", "`id`, S.X", "s.yes"])
def test_columns_that_may_be_named_for_statistics(names):
    ensure_columns_fit_properties(SCHEMA, ("day",), statistics(names))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("nowhere", "unknown column: .*nowhere"),
        ("s.nowhere", "unknown column: .*nowhere"),
        ("day", "partition column 'day'"),
        ("id,ID", "'id' twice"),
        ("s,s.x", "'s.x' twice"),
        ("list", "'list', whose type"),
        ("yes", "'yes', whose type .*boolean.* has no statistics"),
    ],
)
def test_columns_that_may_not_be_named_for_statistics(names, message):
    with pytest.raises(SchemaMismatchError, match=rf"delta\.dataSkippingStatsColumns .*{message}"):
        ensure_columns_fit_properties(SCHEMA, ("day",), statistics(names))
