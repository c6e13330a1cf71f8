"""Spark reads our tables, appends, deletes and optimises, and we read the result."""

import datetime
import decimal
import functools
import math

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deltaarrow as da
from tests.support.rows import READERS, assert_same_rows
from tests.support.spark import delta_log_files, delta_table, spark_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

UTC = datetime.UTC
LONG = "a text longer than thirty-two characters, with an end: "
TYPES = pa.table(
    {
        "i8": pa.array([-128, None, 127], pa.int8()),
        "i16": pa.array([1, None, 2], pa.int16()),
        "i32": pa.array([1, None, 2], pa.int32()),
        "i64": pa.array([2**60, None, -(2**60)], pa.int64()),
        "f32": pa.array([1.5, None, float("-inf")], pa.float32()),
        "f64": pa.array([float("nan"), None, 0.0], pa.float64()),
        "yes": pa.array([True, None, False]),
        "s": pa.array([LONG + "\U0010ffff", None, ""]),
        "b": pa.array([b"\x00\xff", None, b""]),
        "d": pa.array([datetime.date(1, 1, 1), None, datetime.date(9999, 12, 31)]),
        "at": pa.array(
            [
                datetime.datetime(2026, 1, 1, 0, 0, 0, 999999, UTC),
                None,
                datetime.datetime(1969, 12, 31, tzinfo=UTC),
            ],
            pa.timestamp("us", "UTC"),
        ),
        "d9": pa.array([decimal.Decimal("-1.05"), None, decimal.Decimal("1.00")], pa.decimal128(9, 2)),
        "d38": pa.array([decimal.Decimal("1." + "1" * 10), None, decimal.Decimal(0)], pa.decimal128(38, 10)),
        "list": pa.array([[1, None], None, []], pa.list_(pa.int32())),
        "pairs": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        "st": pa.array([{"a": 1, "b": {"c": "x"}}, None, {"a": None, "b": None}]),
    }
)
ODD_TEXTS = ["a b", "a:b/c=d%e", None, "é ü", "#?&+", "%20", "x'y\"z", "{[^]}", "tab\there", "back\\slash"]


def check_both(spark, path, wanted):
    """Spark and every engine of ours read `wanted`."""
    assert_same_rows(spark_table(spark, path), wanted)
    for read in READERS.values():
        assert_same_rows(read(path), wanted)


def change_and_check(spark, path, key):
    """Spark appends, deletes with deletion vectors and optimises; after each step both read the same."""
    name = delta_table(path)
    spark.sql(f"INSERT INTO {name} SELECT * FROM {name}")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    for statement in (f"DELETE FROM {name} WHERE {key}", f"OPTIMIZE {name}"):
        spark.sql(statement)
        wanted = spark_table(spark, path)
        for read in READERS.values():
            assert_same_rows(read(path), wanted)


def test_every_type(spark, tmp_path):
    da.write_deltalake(tmp_path, TYPES)
    check_both(spark, tmp_path, TYPES)
    change_and_check(spark, tmp_path, "i32 = 1")


@pytest.mark.feature("timestampNtz")
def test_local_timestamps(spark, tmp_path):
    rows = pa.table({"at": pa.array([datetime.datetime(2026, 1, 1, 1, 2, 3, 4), None], pa.timestamp("us"))})
    da.write_deltalake(tmp_path, rows)
    check_both(spark, tmp_path, rows)


@pytest.mark.slow
def test_partitions_with_odd_texts(spark, tmp_path):
    rows = pa.table({"id": range(len(ODD_TEXTS)), "p": ODD_TEXTS})
    da.write_deltalake(tmp_path, rows, partition_by=["p"])
    check_both(spark, tmp_path, rows)
    frame = spark.read.format("delta").load(str(tmp_path))
    for number, text in enumerate(ODD_TEXTS):
        found = frame.where(frame["p"].eqNullSafe(text)).collect()
        assert [row["id"] for row in found] == [number]
    change_and_check(spark, tmp_path, "id = 3")


def test_an_empty_text_is_null_as_in_spark(spark, tmp_path):
    da.write_deltalake(tmp_path, pa.table({"id": [1, 2], "p": ["", "x"]}), partition_by=["p"])
    check_both(spark, tmp_path, pa.table({"id": [1, 2], "p": [None, "x"]}))


PARTITION_VALUES = [
    pa.array([datetime.date(2026, 1, 1), datetime.date(1, 1, 1), None]),
    pa.array(
        [
            datetime.datetime(2026, 1, 1, 1, 2, 3, 456789, UTC),
            datetime.datetime(1969, 1, 1, tzinfo=UTC),
            None,
        ],
        pa.timestamp("us", "UTC"),
    ),
    pa.array([decimal.Decimal("-1.500"), decimal.Decimal("0.000"), None], pa.decimal128(10, 3)),
    pa.array([1.5, -1e-7, math.inf, None]),
    pa.array([1.1, 1e20, None], pa.float32()),
    pa.array([True, False, None]),
    pa.array([-128, 127, None], pa.int8()),
    pa.array([2**62, None]),
    pa.array([b"A", "é".encode(), None]),
]


def test_partitions_of_every_type(spark, tmp_path):
    """A partition for each value, of a column for each type; the last is of NULLs."""
    count = max(map(len, PARTITION_VALUES))
    columns = {
        f"p{number}": pa.concat_arrays([values, pa.nulls(count - len(values), values.type)])
        for number, values in enumerate(PARTITION_VALUES)
    }
    rows = pa.table({"id": range(count), **columns})
    da.write_deltalake(tmp_path, rows, partition_by=list(columns))
    check_both(spark, tmp_path, rows)


@pytest.mark.slow
def test_append_overwrite_and_the_versions_between(spark, tmp_path):
    first, second, third = (pa.table({"id": [n], "s": [f"v{n}"]}) for n in range(3))
    da.write_deltalake(tmp_path, first)
    da.write_deltalake(tmp_path, second, mode="append")
    da.write_deltalake(tmp_path, third, mode="overwrite")
    for version, wanted in enumerate([first, pa.concat_tables([first, second]), third]):
        assert_same_rows(spark_table(spark, tmp_path, version), wanted)
        for read in READERS.values():
            assert_same_rows(read(tmp_path, version), wanted)
    history = spark.sql(f"DESCRIBE HISTORY {delta_table(tmp_path)}").select("operation").collect()
    assert len(history) == 3
    change_and_check(spark, tmp_path, "id = 2")


@pytest.mark.slow
def test_spark_and_we_write_in_turns(spark, tmp_path):
    rows = pa.table({"id": [1, 2, 3], "s": ["a", "b", "c"]})
    da.write_deltalake(tmp_path, rows)
    name = delta_table(tmp_path)
    spark.sql(f"INSERT INTO {name} VALUES (4, 'd')")
    da.write_deltalake(tmp_path, pa.table({"id": [5], "s": ["e"]}), mode="append")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"DELETE FROM {name} WHERE id = 2")
    da.write_deltalake(tmp_path, pa.table({"id": [6], "s": ["f"]}), mode="append")
    check_both(spark, tmp_path, pa.table({"id": [1, 3, 4, 5, 6], "s": ["a", "c", "d", "e", "f"]}))
    da.write_deltalake(tmp_path, rows, mode="overwrite")
    check_both(spark, tmp_path, rows)
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    spark.sql(f"VACUUM {name} RETAIN 0 HOURS")
    check_both(spark, tmp_path, rows)


@pytest.mark.slow
def test_tables_that_spark_created_take_our_appends(spark, tmp_path):
    spark.sql(
        f"CREATE TABLE {delta_table(tmp_path)} (id BIGINT NOT NULL, at TIMESTAMP_NTZ, p STRING) USING delta"
        " PARTITIONED BY (p) TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    )
    rows = pa.table(
        {
            "id": [1, 2],
            "at": pa.array([datetime.datetime(2026, 1, 1), None], pa.timestamp("us")),
            "p": ["x", None],
        }
    )
    da.write_deltalake(tmp_path, rows, mode="append")
    check_both(spark, tmp_path, rows)
    change_and_check(spark, tmp_path, "id = 1")


@pytest.mark.slow
def test_checkpoints_of_ours_are_enough_for_spark(spark, tmp_path):
    rows = [pa.table({"id": [n], "p": [n % 3]}) for n in range(25)]
    for table in rows:
        da.write_deltalake(tmp_path, table, mode="append", partition_by=["p"])
    assert len(delta_log_files(tmp_path, "*.checkpoint.parquet")) == 2
    for name in delta_log_files(tmp_path, "*.json")[:20]:
        (tmp_path / "_delta_log" / name).unlink()
    check_both(spark, tmp_path, pa.concat_tables(rows))
    frame = spark.read.format("delta").load(str(tmp_path)).where("id = 7 AND p = 1")
    assert [row["id"] for row in frame.collect()] == [7]
    change_and_check(spark, tmp_path, "id < 5")


def test_spark_skips_no_row_by_our_statistics(spark, skipping):
    """For every value that is there, Spark finds as many rows with it as there are; all in one query."""
    path, rows = skipping
    frame = spark.read.format("delta").load(path)
    parts, wanted = [], {}
    for column in TYPES.column_names:
        if pa.types.is_nested(TYPES.schema.field(column).type):
            continue
        for value in set(rows[column].to_pylist()):
            if isinstance(value, float) and math.isnan(value):
                count = pc.sum(pc.is_nan(rows[column])).as_py()
            else:
                count = rows[column].to_pylist().count(value)
            if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
                found = frame.where(f"{column} = DATE '{value.isoformat()}'")
            else:
                literal = bytearray(value) if isinstance(value, bytes) else value
                found = frame.where(frame[column].eqNullSafe(literal))
            parts.append(found.selectExpr(f"'{column}' AS name", f"{len(parts)} AS place"))
            wanted[column, len(parts) - 1] = count
    union = functools.reduce(lambda one, other: one.unionAll(other), parts)
    counts = {
        (row["name"], row["place"]): row["count"] for row in union.groupBy("name", "place").count().collect()
    }
    assert counts == wanted
    assert len({name for name, _ in counts}) == 13


@pytest.fixture(scope="module")
def skipping(spark, tmp_path_factory):
    """A file for each row of `TYPES`, and one file of all of them."""
    path = str(tmp_path_factory.mktemp("skipping"))
    parts = [TYPES.slice(0, 1), TYPES.slice(1, 1), TYPES.slice(2, 1), TYPES]
    for part in parts:
        da.write_deltalake(path, part, mode="append")
    return path, pa.concat_tables(parts)


def test_spark_and_we_write_the_same_statistics(spark, tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    da.write_deltalake(ours, TYPES)
    spark.read.format("delta").load(str(ours)).coalesce(1).write.format("delta").save(str(theirs))
    columns = da.DeltaTable(ours).get_add_actions(flatten=True)
    wanted = da.DeltaTable(theirs).get_add_actions(flatten=True)
    names = [
        name for name in wanted.column_names if name.startswith(("num_records", "null_count", "min", "max"))
    ]
    assert names == [
        name for name in columns.column_names if name.startswith(("num_records", "null_count", "min", "max"))
    ]
    differences = {
        name: (columns[name].to_pylist(), wanted[name].to_pylist())
        for name in names
        if repr(columns[name].to_pylist()) != repr(wanted[name].to_pylist())
    }
    assert differences == {}


@pytest.mark.slow
def test_many_rows_in_many_files(spark, tmp_path):
    relation = duckdb.sql(
        "SELECT range AS id, 's' || range % 1000 AS s, range % 4 AS p FROM range(1_000_000)"
    )
    da.write_deltalake(tmp_path, relation, partition_by=["p"], target_file_size=100_000)
    frame = spark.read.format("delta").load(str(tmp_path))
    assert frame.count() == 1_000_000
    assert frame.selectExpr("sum(id)").collect()[0][0] == 999_999 * 500_000
    assert frame.where("id = 123456").count() == 1
    assert len(da.DeltaTable(tmp_path).file_uris()) > 4
