"""Defaults of arrays, maps and structs built by expressions."""

import datetime as dt

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import ConstraintViolationError, DeltaError, UnsupportedFeatureError
from deltaarrow.schema import ArrayType, Field, MapType, Schema, StructType
from deltaarrow.spark_sql import declared_rules, ensure_rules_declarable
from tests.support.nested_defaults import ACCEPTED, REFUSED

pytestmark = pytest.mark.feature("allowColumnDefaults")

PROPERTIES = {"delta.feature.allowColumnDefaults": "supported", "delta.feature.timestampNtz": "supported"}


def default(data_type, text, name="d"):
    return Field(name, data_type, metadata={"CURRENT_DEFAULT": text})


def value_of(data_type, text):
    (found,) = declared_rules(Schema([default(data_type, text)]), {}).defaults
    return found.value(lambda: 1_500)


@pytest.mark.parametrize(("data_type", "text", "value"), ACCEPTED, ids=str)
def test_what_spark_makes_a_table_with(data_type, text, value):
    found = value_of(data_type, text)
    assert found.as_py() == value
    ensure_rules_declarable(Schema([default(data_type, text)]), {})


@pytest.mark.parametrize(("data_type", "text"), REFUSED, ids=str)
def test_what_spark_makes_no_table_with(data_type, text):
    with pytest.raises(DeltaError):
        ensure_rules_declarable(Schema([Field("id", "long"), default(data_type, text)]), {})


def test_the_time_is_that_of_the_write():
    found = value_of(ArrayType("timestamp"), "array(current_timestamp(), NULL)")
    assert found.as_py() == [dt.datetime(1970, 1, 1, 0, 0, 1, 500_000, dt.UTC), None]


@pytest.mark.parametrize(
    ("data_type", "text", "named"),
    [
        (ArrayType("integer"), "sequence(1, 3)", "SEQUENCE"),
        (ArrayType("integer"), "array(read_text('/etc/passwd'))", "READ_TEXT"),
        (ArrayType("integer"), "`array`(1)", "ARRAY"),
        (ArrayType("integer"), "array(1) OVER ()", "WINDOW"),
        (ArrayType("integer"), "array(DISTINCT 1)", "DISTINCT"),
        (ArrayType("integer"), "array(1 AS a)", "ALIAS"),
        (MapType("double", "integer"), "map(1.5D, 1)", "key of type double"),
        (StructType([Field("a", "integer")]), "named_struct(lower('A'), 1)", "not a text literal"),
        (StructType([Field("a", "integer")]), "named_struct(array('a'), 1)", "not a text literal"),
        (ArrayType("integer"), "array(" * 70 + ")" * 70, "deep nesting"),
        (StructType([Field("a", "variant")]), "struct('x')", "default"),
    ],
    ids=str,
)
def test_what_is_not_supported_is_named(data_type, text, named):
    with pytest.raises(UnsupportedFeatureError, match=named):
        ensure_rules_declarable(Schema([default(data_type, text)]), {})


def test_rows_that_do_not_give_a_column_have_its_default(tmp_path):
    fields = [default(data_type, text, f"c{place}") for place, (data_type, text, _) in enumerate(ACCEPTED)]
    da.DeltaTable.create(tmp_path, Schema([Field("id", "long"), *fields]), configuration=PROPERTIES)
    given = pa.nulls(1, da.DeltaTable(tmp_path).schema().to_arrow().field("c0").type)
    da.write_deltalake(tmp_path, pa.table({"id": [1, 2]}), mode="append")
    da.write_deltalake(tmp_path, pa.table({"id": [3], "c0": given}), mode="append")
    rows = sorted(da.DeltaTable(tmp_path).to_pyarrow_table().to_pylist(), key=lambda row: row["id"])
    for place, (_, text, value) in enumerate(ACCEPTED):
        assert [row[f"c{place}"] for row in rows] == [value, value, value if place else None], text


def test_a_member_that_is_not_null_holds_for_a_default_too(tmp_path):
    required = StructType([Field("a", "integer", nullable=False)])
    schema = Schema([Field("id", "long"), default(required, "named_struct('a', NULL)")])
    da.DeltaTable.create(tmp_path, schema, configuration=PROPERTIES)
    with pytest.raises(ConstraintViolationError, match=r"'d\.a' holds NULL"):
        da.write_deltalake(tmp_path, pa.table({"id": [1]}), mode="append")
