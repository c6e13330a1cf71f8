"""Variants that Spark writes, whole and shredded: our engines read the same values as Spark."""

import contextlib
import json
from itertools import count

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaarrow as da
from deltaarrow.variant import VARIANT_TYPE, to_json
from tests.support.rows import READERS
from tests.support.spark import compiled_projections, create_table

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("spark"),
    pytest.mark.feature("variantType"),
    pytest.mark.feature("variantShredding"),
]


@pytest.fixture(autouse=True)
def compiled(spark):
    """Spark reads variants that are shredded by compiled code alone."""
    with compiled_projections(spark):
        yield


SHREDDING = ("spark.sql.variant.writeShredding.enabled", "spark.sql.variant.inferShreddingSchema")


@contextlib.contextmanager
def shredding(spark, wanted):
    """Whether Spark shreds variants."""
    before = {key: spark.conf.get(key) for key in SHREDDING}
    try:
        for key in SHREDDING:
            spark.conf.set(key, str(wanted).lower())
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)


VARIANTS = """
    SELECT 1 AS id, parse_json('{"a": 1, "b": ["x", 2, null], "c": {"d": 1.5}}') AS v
    UNION ALL SELECT 2, parse_json('{"a": "text", "b": [], "e": true}')
    UNION ALL SELECT 3, parse_json('null')
    UNION ALL SELECT 4, NULL
    UNION ALL SELECT 5, parse_json('[1, 2.25, 1e300, 9223372036854775807]')
    UNION ALL SELECT 6, to_variant_object(named_struct('a', 7L, 'at', TIMESTAMP '2026-01-01 00:00:01.5'))
    UNION ALL SELECT 7, CAST(DATE '1582-01-01' AS VARIANT)
    UNION ALL SELECT 8, CAST(CAST(-1.05 AS DECIMAL(38, 20)) AS VARIANT)
"""


@pytest.mark.parametrize(
    ("shredded", "mapped"), [pytest.param(False, "none", marks=pytest.mark.slow), (True, "name")]
)
def test_variants(spark, tmp_path, shredded, mapped):
    columns = "id INT, v VARIANT, s STRUCT<w: VARIANT>, l ARRAY<VARIANT>, m MAP<STRING, VARIANT>"
    properties = {"enableVariantShredding": "true"} if shredded else {}
    deleted = {"enableDeletionVectors": "true", "columnMapping__mode": mapped}
    name = create_table(spark, tmp_path, columns, **properties, **deleted)
    nested = "SELECT id, v, named_struct('w', v), array(v, NULL), map('k', v)"
    with shredding(spark, shredded):
        spark.sql(f"INSERT INTO {name} {nested} FROM ({VARIANTS})")
        spark.sql(f"INSERT INTO {name} {nested} FROM (SELECT /*+ COALESCE(1) */ * FROM ({VARIANTS}))")
    spark.sql(f"DELETE FROM {name} WHERE id = 2")
    texts = "id, to_json(v) AS v, to_json(s.w) AS s, to_json(l[0]) AS l, to_json(m['k']) AS m"
    wanted = [tuple(row) for row in spark.sql(f"SELECT {texts} FROM {name}").collect()]
    wanted = sorted((row[0], *map(canonical, row[1:])) for row in wanted)
    for way in ("arrow", "dataset", "polars"):
        rows = READERS[way](tmp_path).to_pylist()
        variants = [[row["v"], row["s"]["w"], row["l"][0], dict(row["m"])["k"]] for row in rows]
        found = sorted((row["id"], *texts_of(values)) for row, values in zip(rows, variants, strict=True))
        assert found == wanted, way
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'")
        da.register(con, "t", da.DeltaTable(tmp_path))
        counts = con.sql("SELECT count(*), count(v), count(v.a), count(s.w), count(l[1]) FROM t").fetchall()
        assert counts == [(len(wanted), 12, 4, 12, 12)]


def texts_of(variants):
    return map(canonical, to_json(pa.array(variants, VARIANT_TYPE)).to_pylist())


def canonical(found):
    return None if found is None else repr(json.loads(found, parse_float=float))


DEEP = (
    "named_struct('o', named_struct('p', named_struct('q', id, 'r', array(array(id)))),"
    " 'objects', array(named_struct('x', id), named_struct('x', -id)), 'none', CAST(NULL AS INT),"
    " 'dec', CAST(id AS DECIMAL(12, 2)), 'big', CAST(id AS DECIMAL(38, 9)), 'f', CAST(id AS FLOAT),"
    " 'day', date_add(DATE '1582-10-01', id), 'at', timestamp_micros(id), 'b', X'00ff', 'yes', id % 2 = 0,"
    " 'ntz', TIMESTAMP_NTZ '9999-12-31 23:59:59.999999', 't', repeat('é', 50))"
)
ODD = (
    "to_variant_object(named_struct('o', 1, 'day', 'no day', 'f', double('NaN'), 'dec', 0.5BD, '', X''))",
    """parse_json('{"o": {"p": {"q": "text", "r": [1, [null]]}, "x": 1}, "objects": {}, "t": null}')""",
    "to_variant_object(named_struct('o', named_struct('p', named_struct('q', 1.5BD, 's', 1Y)), 'more', 1L))",
    "to_variant_object(map('é.\"', array(named_struct('u', 1e300D), NULL)))",
    "to_variant_object(array(DATE '2020-01-01', NULL))",
    f"parse_json('{'[' * 40}{']' * 40}')",
    "parse_json('null')",
    "CAST(NULL AS VARIANT)",
)
"""Variants that do not fit into the columns that Spark makes for those of `DEEP`."""

SAMPLE = 4100
"""More rows than those by which Spark chooses the columns of a file."""


def test_deep_variants_of_all_types(spark, tmp_path):
    """PySpark decodes ours and Spark's: every value has the same type and digits, at every depth."""
    columns = "id INT, v VARIANT, s STRUCT<a: INT, w: STRUCT<v: VARIANT>>, m MAP<STRING, ARRAY<VARIANT>>"
    name = create_table(spark, tmp_path, columns, enableVariantShredding="true")
    ids = f"SELECT CAST(id AS INT) AS id FROM range(0, {SAMPLE}, 1, 1)"
    rows = [f"SELECT id, to_variant_object({DEEP}) AS v FROM ({ids})"]
    rows += [f"SELECT {number}, {text}" for number, text in zip(count(5000, 100), ODD, strict=False)]
    with shredding(spark, True):
        spark.sql(
            f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ id, v,"
            f" named_struct('a', 1, 'w', named_struct('v', v)), map('k', array(v, NULL))"
            f" FROM ({' UNION ALL '.join(rows)})"
        )
    (file,) = tmp_path.glob("*.parquet")
    assert "typed_value" in str(pq.read_schema(file).field("v").type)
    shown = [
        [row.id, row.v, row.s.w.v, *row.m["k"]]
        for row in spark.sql(f"SELECT * FROM {name} WHERE id % 100 = 0").collect()
    ]
    wanted = sorted(repr([row[0], *map(spelled, row[1:])]) for row in shown)
    for way in ("arrow", "dataset", "polars"):
        table = READERS[way](tmp_path)
        rows = table.filter(pa.array(id % 100 == 0 for id in table["id"].to_pylist())).to_pylist()
        shown = [[row["v"], row["s"]["w"]["v"], *dict(row["m"])["k"]] for row in rows]
        found = [
            [
                row["id"],
                *(spelled(value and decoded(value)) for value in values),
            ]
            for row, values in zip(rows, shown, strict=True)
        ]
        assert sorted(map(repr, found)) == wanted, way


def spelled(variant):
    return None if variant is None else repr(variant.toPython())


def decoded(variant):
    from pyspark.sql.types import VariantVal

    return VariantVal(variant["value"], variant["metadata"])
