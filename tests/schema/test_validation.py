"""Schema validation; each rule was observed in Spark 4.2 with delta-spark 4.4."""

import pytest

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema import (
    ArrayType,
    Field,
    MapType,
    Schema,
    StructType,
    ensure_valid_for_write,
    resolve_partition_columns,
)

A = Field("a", "long")
STRICT = StructType([Field("x", "long", nullable=False)])


def test_what_spark_takes():
    ensure_valid_for_write(
        Schema(
            [
                A,
                Field('q"#é.b', "string"),
                Field("v", "void"),
                Field("s", StructType([Field("v", "void"), A])),
            ]
        ),
        ["A"],
    )
    ensure_valid_for_write(Schema([Field("a b=c", "long")]), mapping_mode="name")
    ensure_valid_for_write(Schema([Field("s", STRICT), Field("xs", ArrayType("long", contains_null=False))]))


@pytest.mark.parametrize(
    "fields",
    [
        [Field("", "long")],
        [Field("a\0b", "long")],
        [A, A],
        [A, Field("A", "long")],
        [Field("s", StructType([A, Field("A", "long")]))],
        [Field("xs", ArrayType(StructType([A, Field("A", "long")])))],
        [Field("s", StructType())],
        [Field("xs", ArrayType("void"))],
        [Field("m", MapType("long", "void"))],
        [Field("xs", ArrayType(StructType([Field("v", "void")])))],
        [Field("xs", ArrayType(STRICT))],
        [Field("m", MapType("long", STRICT))],
        *([Field(f"a{character}b", "long")] for character in " ,;{}()\n\t="),
        [Field("s", StructType([Field("a b", "long")]))],
    ],
)
def test_what_spark_refuses(fields):
    with pytest.raises(SchemaMismatchError):
        ensure_valid_for_write(Schema(fields))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["c"], "`c`"),
        (["a", "A"], "twice"),
        (["s"], "'s' cannot partition"),
        (["v"], "'v' cannot partition"),
        (["n"], "'n' cannot partition"),
        (["t"], "collation"),
    ],
)
def test_partition_columns_that_spark_refuses(columns, message):
    collation = {"__COLLATIONS": {"t": "spark.UTF8_LCASE"}}
    fields = [
        A,
        Field("s", STRICT),
        Field("v", "variant"),
        Field("n", "void"),
        Field("t", "string", True, collation),
    ]
    with pytest.raises(SchemaMismatchError, match=message):
        ensure_valid_for_write(Schema(fields), columns)


def test_a_table_needs_a_column_besides_its_partition_columns():
    with pytest.raises(SchemaMismatchError, match="all columns"):
        ensure_valid_for_write(Schema([A]), ["a"])


def test_partition_columns_come_back_as_the_schema_spells_them():
    assert resolve_partition_columns(Schema([Field("Day", "date"), A]), ["DAY"]) == ("Day",)
