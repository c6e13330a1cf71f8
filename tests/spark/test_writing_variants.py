"""Tables with variants that Spark and we write in turns, and the bytes that each makes of JSON."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaarrow as da
from deltaarrow.schema import ArrayType, Field, MapType, PrimitiveType, Schema, StructType
from deltaarrow.variant import parse_json, to_json
from tests.support.commits import commit, comparable
from tests.support.rows import READERS
from tests.support.spark import compiled_projections, create_table, delta_table

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


TEXTS = [
    *("0", "-0", "127", "-128", "128", "-129", "32767", "32768", "-32769", "2147483647", "2147483648"),
    *("-2147483649", "9223372036854775807", "-9223372036854775808", "9223372036854775808"),
    *("123456789012345678", "1234567890123456789", "9" * 38, "9" * 39, "-" + "1" * 38, "1" * 400),
    *(
        "0.0",
        "-0.0",
        "0.10",
        "1.50",
        "123456789.1",
        "12345678.9",
        "999999999.9",
        "0.123456789",
        "0.1234567891",
    ),
    *("12345678901234567.8", "0.123456789012345678", "0.1234567890123456789", "-0.012345678901234567"),
    *("1." + "0" * 37, "1." + "0" * 38, "0." + "0" * 37 + "1", "0." + "0" * 38 + "1", "0." + "0" * 39),
    *(
        "1e0",
        "1E2",
        "-1.5e-7",
        "1e400",
        "1e-400",
        "4.9e-324",
        "1.7976931348623157e308",
        "123e5",
        "0e0",
        "1e23",
    ),
    *("true", "false", "null", '""', '"a"', '"' + "x" * 63 + '"', '"' + "x" * 64 + '"', '"é€😀"'),
    *(r'"\u0000\ud83d\ude00\"\\\/\b\f\n\r\t"', '"\x7f\u2028"', " [ ] ", "{}", "[null]", '{"":{"":[{}]}}'),
    *('{"b":1,"a":{"b":2,"c":3}}', '{"é":1,"z":2,"Z":3}', r'{"\ue000":1,"\ud83d\ude00":2,"\u0061":3}'),
    *("[" + ",".join(["1"] * 255) + "]", "[" + ",".join(["1"] * 256) + "]", "[" * 200 + "]" * 200),
    "{" + ",".join(f'"k{number}":{number}' for number in range(300)) + "}",
    '{"' + "n" * 300 + '":"' + "v" * 70_000 + '"}',
]
REFUSED = [
    "",
    " ",
    "{",
    "[1,]",
    '{"a":1,"a":2}',
    '{"a":{"b":1,"b":1}}',
    "01",
    ".5",
    "1.",
    "NaN",
    "'a'",
    "nul",
]


def test_json_has_the_bytes_of_parse_json(spark):
    found = parse_json(pa.array(TEXTS)).to_pylist()
    frame = spark.createDataFrame(list(enumerate(TEXTS)), "i INT, t STRING")
    rows = frame.selectExpr("i", "parse_json(t) AS v").orderBy("i").collect()
    for text, ours, row in zip(TEXTS, found, rows, strict=True):
        assert (ours["value"], ours["metadata"]) == (row.v.value, row.v.metadata), text[:80]
    frame = spark.createDataFrame([(text,) for text in REFUSED], "t STRING")
    assert frame.selectExpr("count(try_parse_json(t))").collect()[0][0] == 0
    for text in REFUSED:
        with pytest.raises(da.SchemaMismatchError):
            parse_json(pa.array([text]))


SCHEMA = Schema(
    [
        Field("id", "integer"),
        Field("v", "variant"),
        Field("s", StructType([Field("w", "variant"), Field("x", "integer")])),
        Field("l", ArrayType(PrimitiveType("variant"))),
        Field("m", MapType(PrimitiveType("string"), PrimitiveType("variant"))),
    ]
)
COLUMNS = "id INT, v VARIANT, s STRUCT<w: VARIANT, x: INT>, l ARRAY<VARIANT>, m MAP<STRING, VARIANT>"
EVENTS = [
    *(
        f'{{"a":{number},"b":"t{number}","c":{{"d":{number}.50,"e":[{number}]}},"f":1e{number % 20}}}'
        for number in range(40)
    ),
    *('{"a":null,"c":{"d":2.25},"more":{"a":null}}', '{"c":{"d":1.75,"z":0.125},"b":null}', "null", None),
]
ODD = ["[1]", "7", '"text"', '{"a":"text","c":7}']
"""Beside these, nothing is shredded."""


def rows(first=0, events=EVENTS):
    """The events in all places of a row."""
    texts = [(number + first, text) for number, text in enumerate(events)]
    return pa.table(
        {
            "id": pa.array([number for number, _ in texts], pa.int32()),
            "v": pa.array([text for _, text in texts]),
            "s": pa.array([None if text == "7" else {"w": text, "x": 1} for _, text in texts]),
            "l": pa.array([None if text == "7" else [text, None] for _, text in texts]),
            "m": pa.array([[("k", text)] for _, text in texts], pa.map_(pa.string(), pa.string())),
        }
    )


def insert(spark, name, data):
    """The same rows by Spark, in one file."""
    spark.createDataFrame(data).coalesce(1).createOrReplaceTempView("texts")
    spark.sql(
        f"INSERT INTO {name} SELECT id, parse_json(v), CASE WHEN s IS NOT NULL THEN"
        " named_struct('w', parse_json(s.w), 'x', s.x) END, transform(l, e -> parse_json(e)),"
        " transform_values(m, (k, e) -> parse_json(e)) FROM texts"
    )


def as_text(spark, name):
    """What Spark reads, variants as text with their types."""
    texts = [f"to_json({each}), schema_of_variant({each})" for each in ("v", "s.w", "l[0]", "m['k']")]
    found = spark.sql(f"SELECT id, {', '.join(texts)}, s.x, size(l), v:c.d::double FROM {name}").collect()
    return sorted(found, key=lambda row: row[0])


def our_texts(path, way):
    """What we read, variants as text."""
    table = READERS[way](path)
    return sorted(zip(table["id"].to_pylist(), to_json(table["v"]).to_pylist(), strict=True))


def leaves(path):
    """The variants in the newest data file: the columns that hold them."""
    file = max(path.glob("*.parquet"), key=lambda each: each.stat().st_mtime_ns)
    schema = pq.ParquetFile(file).schema
    return {schema.column(place).path for place in range(len(schema)) if schema.column(place).path != "id"}


@pytest.mark.parametrize("shredded", [pytest.param("false", marks=pytest.mark.slow), "true"])
def test_spark_and_we_write_the_same(spark, tmp_path, shredded):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    configuration = {"delta.enableVariantShredding": shredded}
    da.DeltaTable.create(ours, SCHEMA, configuration=configuration)
    create_table(spark, theirs, COLUMNS, enableVariantShredding=shredded)
    da.write_deltalake(ours, rows(), mode="append")
    insert(spark, delta_table(theirs), rows())
    if shredded == "false":
        assert leaves(ours) == leaves(theirs)
    else:
        shredded_into = ("v.typed_value.a", "v.typed_value.c.typed_value.d", "s.w.typed_value.b")
        assert {f"{path}.typed_value" for path in shredded_into} <= leaves(ours) & leaves(theirs)
    for version in (0, 1):
        assert comparable(commit(ours, version)) == comparable(commit(theirs, version)), version
    (stats, wanted) = (
        next(json.loads(each["add"]["stats"]) for each in commit(path, 1) if "add" in each)
        for path in (ours, theirs)
    )
    assert stats == wanted
    for path in (ours, theirs):
        da.write_deltalake(path, rows(100, EVENTS + ODD), mode="append")
        insert(spark, delta_table(path), rows(200, ODD))
    da.write_deltalake(theirs, rows(300), mode="append")
    insert(spark, delta_table(ours), rows(300))
    assert as_text(spark, delta_table(ours)) == as_text(spark, delta_table(theirs))
    name = delta_table(ours)
    spark.sql(f"UPDATE {name} SET id = -id WHERE variant_get(v, '$.a', 'string') = '3'")
    da.write_deltalake(ours, rows().slice(5, 1), mode="overwrite", predicate="id = 5")
    da.write_deltalake(ours, rows().slice(0, 0), mode="overwrite", predicate="id = 6")
    before = as_text(spark, name)
    assert [row[0] for row in before][:5] == [-303, -103, -3, 0, 1]
    spark.sql(f"OPTIMIZE {name}")
    assert as_text(spark, name) == before
    wanted = sorted((row[0], row[1]) for row in before)
    for way in ("arrow", "dataset", "polars"):
        assert our_texts(ours, way) == wanted, way
    assert [str(finding) for finding in da.DeltaTable(ours).verify(deep=True)] == []


def test_a_column_of_variants_comes_with_a_write(spark, tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    plain = pa.table({"id": pa.array([1], pa.int32())})
    variants = parse_json(pa.array(['{"a":1}', None]))
    marked = pa.field("v", variants.type, metadata={"ARROW:extension:name": "arrow.parquet.variant"})
    data = pa.table([pa.array([2, 3], pa.int32()), variants], pa.schema([("id", pa.int32()), marked]))
    for path in (ours, theirs):
        da.write_deltalake(path, plain)
    da.write_deltalake(ours, data, mode="append", schema_mode="merge")
    frame = spark.sql("""SELECT * FROM VALUES (2, parse_json('{"a":1}')), (3, NULL) AS t(id, v)""")
    frame.coalesce(1).write.format("delta").option("mergeSchema", "true").mode("append").save(str(theirs))
    assert comparable(commit(ours, 1)) == comparable(commit(theirs, 1))
    da.write_deltalake(ours, data, mode="overwrite", schema_mode="overwrite", partition_by="id")
    spark.sql(f"INSERT INTO {delta_table(ours)} VALUES (4, parse_json('[1]'))")
    assert our_texts(ours, "arrow") == [(2, '{"a":1}'), (3, None), (4, "[1]")]
    assert spark.table(delta_table(ours)).where("v:a::int = 1").count() == 1


@pytest.mark.slow
def test_tables_of_the_preview_are_written_in_turns(spark, tmp_path):
    """Both keep the names under which the tables list the features."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    preview = {"feature__variantType-preview": "supported", "enableVariantShredding": "true"}
    texts = ['{"a":1}', None, '{"a":2,"b":["x"]}']
    data = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "v": texts})
    marked = pa.field(
        "w", parse_json(pa.array(texts)).type, metadata={"ARROW:extension:name": "arrow.parquet.variant"}
    )
    more = data.append_column(marked, parse_json(pa.array(texts)))
    spark.createDataFrame(data).coalesce(1).createOrReplaceTempView("texts")
    frame = spark.sql("SELECT id, parse_json(v) AS v, parse_json(v) AS w FROM texts")
    for path in (ours, theirs):
        create_table(spark, path, "id INT, v VARIANT", **preview)
    da.write_deltalake(ours, data, mode="append")
    frame.drop("w").write.format("delta").mode("append").save(str(theirs))
    da.write_deltalake(ours, more, mode="append", schema_mode="merge")
    frame.write.format("delta").option("mergeSchema", "true").mode("append").save(str(theirs))
    for version in (0, 1, 2):
        assert comparable(commit(ours, version)) == comparable(commit(theirs, version)), version
    names = {"variantType-preview", "variantShredding-preview"}
    assert names == set(da.DeltaTable(ours).protocol().reader_features)
    da.write_deltalake(theirs, more, mode="append")
    frame.write.format("delta").mode("append").save(str(ours))
    spark.sql(f"UPDATE {delta_table(ours)} SET id = 9 WHERE variant_get(w, '$.a', 'int') = 2")
    spark.sql(f"UPDATE {delta_table(theirs)} SET id = 9 WHERE w:a::int = 2")
    found = [
        sorted(map(repr, spark.sql(f"SELECT id, to_json(v), to_json(w) FROM {delta_table(path)}").collect()))
        for path in (ours, theirs)
    ]
    assert found[0] == found[1]
    assert len(found[0]) == 9
    assert our_texts(ours, "arrow") == our_texts(theirs, "arrow")
    assert names == set(da.DeltaTable(ours).protocol().reader_features)
