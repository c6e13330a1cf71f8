"""Rules that a table's metadata declares, and which of them a new table may have."""

import pytest

from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.schema import ArrayType, Field, MapType, Schema, StructType
from deltaarrow.spark_sql import declared_rules, ensure_rules_declarable


def generated(data_type, text, name="g"):
    return Field(name, data_type, metadata={"delta.generationExpression": text})


def default(data_type, text, name="d", **metadata):
    return Field(name, data_type, metadata={"CURRENT_DEFAULT": text} | metadata)


def schema(*fields):
    return Schema([Field("a", "integer"), Field("t", "timestamp"), Field("s", "string"), *fields])


def test_rules_are_found_wherever_they_are():
    inner = Field("x", "long", metadata={"delta.invariants": '{"expression":{"expression":"a > 3"}}'})
    found = declared_rules(
        schema(
            Field("l", ArrayType(MapType("string", StructType([inner])))),
            generated("integer", "a + 1"),
            default("integer", "nobody reads this yet"),
        ),
        {"delta.constraints.One": "a > 1", "DELTA.CONSTRAINTS.two": "a > 2", "delta.appendOnly": "true"},
    )
    assert [each.name for each in found.constraints] == ["One", "two", "EXPRESSION(a > 3)"]
    assert ([each.name for each in found.generated], [each.name for each in found.defaults]) == (["g"], ["d"])
    assert found.filled == {"g", "d"}
    assert found
    assert not declared_rules(schema(), {"delta.appendOnly": "true"})
    assert not declared_rules(schema(generated("integer", "a +")), {}, has_generated=False)


@pytest.mark.parametrize(
    "field",
    [
        generated("integer", "a + 1"),
        generated("date", "CAST(t AS DATE)"),
        default("integer", "41 + 1"),
        default("integer", "'12'"),
        default("byte", "1"),
        default("long", "1"),
        default("date", "'2020-01-01'"),
        default("timestamp", "current_timestamp()"),
        default("double", "1.5"),
        default("decimal(10,2)", "3"),
        default("string", "NULL"),
        default("boolean", "true"),
        default("string", "lower('A')"),
        default("integer", "1.5"),
        default("timestamp", "current_date()"),
        default("date", "current_timestamp()"),
        default("string", "1"),
        default("binary", "'abc'"),
    ],
    ids=str,
)
def test_what_spark_makes_a_table_with(field):
    ensure_rules_declarable(schema(field), {"delta.constraints.c": "a > 0"})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([generated("integer", "g + 1")], "'g' .* reads itself"),
        ([generated("integer", "a + 1"), generated("integer", "G + 1", "h")], "'h' .* generated column 'g'"),
        ([generated("long", "a + 1")], "'g' is long, but its expression .* is integer"),
        ([generated("integer", "nope + 1")], "nope"),
        ([default("integer", "a + 1")], "no column `a`"),
        ([default("integer", "'x'")], "not a valid integer"),
        ([default("byte", "1000")], "not a valid byte"),
        ([default("decimal(3,2)", "30")], "not a valid decimal"),
        ([generated("variant", "a")], "'g' is variant"),
        ([default("integer", "1 div 0")], "not a valid integer"),
        (
            [default("integer", "1", **{"delta.generationExpression": "a + 1"})],
            "a default and a generation expression",
        ),
    ],
    ids=str,
)
def test_what_spark_makes_no_table_with(fields, message):
    with pytest.raises(SchemaMismatchError, match=message):
        ensure_rules_declarable(schema(*fields), {})


@pytest.mark.parametrize(
    ("fields", "configuration", "message"),
    [
        ([generated("date", "current_date()")], {}, "time of day"),
        ([generated("double", "rand()")], {}, "RAND"),
        ([default("boolean", "'true'")], {}, "default 'true' of column 'd'"),
        ([default("timestamp", "1")], {}, "default 1 of column 'd'"),
        ([default("integer", "current_date()")], {}, "default"),
        ([Field("o", StructType([generated("integer", "a")]))], {}, "inside the column 'o'"),
        ([Field("o", ArrayType(StructType([default("integer", "1")])))], {}, "inside the column 'o'"),
        ([], {"delta.constraints.c": "a"}, "constraint 'c' of type integer"),
        ([], {"delta.constraints.c": "a >"}, "cannot parse"),
        ([Field("o", "long", metadata={"delta.invariants": "{}"})], {}, "invariant that is not understood"),
        ([Field("o", "long", metadata={"delta.invariants": "null"})], {}, "invariant that is not understood"),
    ],
    ids=str,
)
def test_what_is_not_supported_is_named(fields, configuration, message):
    with pytest.raises(UnsupportedFeatureError, match=message):
        ensure_rules_declarable(schema(*fields), configuration)


@pytest.mark.parametrize(
    ("data_type", "text", "value"),
    [
        ("decimal(5,2)", "1.555", "1.56"),
        ("integer", "1.5", "1"),
        ("string", "DATE'2020-01-01'", "2020-01-01"),
    ],
)
def test_a_default_is_stored_as_spark_stores_it(data_type, text, value):
    (found,) = declared_rules(schema(default(data_type, text)), {}).defaults
    assert str(found.value().as_py()) == value
