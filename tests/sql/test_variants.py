"""Variants in queries of Spark's dialect, beside what `sql/functions/variants.sql` shows."""

import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow import DeltaTable, UnsupportedFeatureError
from deltaarrow.schema import Field, PrimitiveType, Schema
from deltaarrow.variant import to_json


@pytest.fixture
def con(tmp_path):
    DeltaTable.create(tmp_path / "t", Schema([Field("id", "long"), Field("v", "variant")]))
    rows = pa.table({"id": [1, 2, 3], "v": ['{"a": {"b": 1.50}}', "null", None]})
    deltaarrow.write_deltalake(tmp_path / "t", rows, mode="append")
    with deltaarrow.connect(dialect="spark") as connection:
        yield connection.attach(tmp_path, "lake")


@pytest.mark.feature("variantType")
def test_a_variant_that_is_null_is_not_null(con):
    query = "SELECT id, is_variant_null(v), v IS NULL, to_json(v:a) FROM lake.t ORDER BY id"
    for _ in range(2):
        assert con.sql(query).fetchall() == [
            (1, False, False, '{"b":1.5}'),
            (2, True, False, None),
            (3, False, True, None),
        ]


def test_variants_of_a_query_become_a_column_of_variants(con, tmp_path):
    con.sql(
        "CREATE TABLE lake.parts AS SELECT id, v:a AS a, parse_json(concat('[', id, ']')) AS n FROM lake.t"
    )
    found = DeltaTable(tmp_path / "parts")
    assert [each.type for each in found.schema().fields] == [
        PrimitiveType("long"),
        PrimitiveType("variant"),
        PrimitiveType("variant"),
    ]
    rows = found.to_pyarrow_table().sort_by("id")
    assert to_json(rows["a"]).to_pylist() == ['{"b":1.5}', None, None]
    assert to_json(rows["n"]).to_pylist() == ["[1]", "[2]", "[3]"]


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("SELECT size(s) FROM (SELECT array(struct(v:a AS w, now() AS n)) AS s FROM lake.t)", "times beside"),
        ("SELECT v FROM lake.t UNION ALL SELECT v:a FROM lake.t", "with those of a table"),
        ("SELECT (SELECT v FROM lake.t LIMIT 1):a::int", "a variant of a scalar subquery"),
        ("SELECT id:a FROM lake.t", "a part of long, which is no variant"),
        ("SELECT v:a = 1 FROM lake.t", "variant together with integer"),
        ("SELECT v::array<interval> FROM lake.t", "a cast to"),
        ("SELECT v::struct<`'`: int> FROM lake.t", 'a struct with the field "\'"'),
        ("DELETE FROM lake.t WHERE id IN (SELECT 1 WHERE v:a::int = 1)", "which is no variant"),
    ],
)
def test_what_has_no_certain_meaning_is_refused(con, query, named):
    with pytest.raises(UnsupportedFeatureError, match=named):
        con.sql(query).fetchall()
