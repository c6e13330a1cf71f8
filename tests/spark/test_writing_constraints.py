"""Rules for rows that Spark and we apply in turns, and the output of each for the same statements."""

import datetime as dt
import itertools

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deltaarrow as da
from deltaarrow.errors import ConstraintViolationError
from deltaarrow.expressions import bind, from_filters
from deltaarrow.operations import add_constraints, drop_constraint
from deltaarrow.schema import Field, Schema, StructType
from tests.support.commits import commit, comparable
from tests.support.nested_defaults import ACCEPTED, REFUSED, sql_type
from tests.support.rows import assert_same_rows
from tests.support.spark import check_engines, create_table, delta_log_files, delta_table, spark_table

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("spark"),
    pytest.mark.feature("invariants"),
    pytest.mark.feature("checkConstraints"),
    pytest.mark.feature("generatedColumns"),
    pytest.mark.feature("allowColumnDefaults"),
]

COLUMNS = (
    "id BIGINT NOT NULL, at TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(at AS DATE)), v INT DEFAULT 41 + 1,"
    " s STRUCT<x: INT NOT NULL, y: STRING>, t STRING DEFAULT 'it''s', n DECIMAL(5,2) DEFAULT 1.5,"
    " twice BIGINT GENERATED ALWAYS AS (id * 2L), d DATE DEFAULT '2020-01-01'"
)
SCHEMA = Schema(
    [
        Field("id", "long", nullable=False),
        Field("at", "timestamp"),
        Field("day", "date", metadata={"delta.generationExpression": "CAST(at AS DATE)"}),
        Field("v", "integer", metadata={"CURRENT_DEFAULT": "41 + 1"}),
        Field("s", StructType([Field("x", "integer", nullable=False), Field("y", "string")])),
        Field("t", "string", metadata={"CURRENT_DEFAULT": "'it''s'"}),
        Field("n", "decimal(5,2)", metadata={"CURRENT_DEFAULT": "1.5"}),
        Field("twice", "long", metadata={"delta.generationExpression": "id * 2L"}),
        Field("d", "date", metadata={"CURRENT_DEFAULT": "'2020-01-01'"}),
    ]
)
PROPERTIES = {
    "delta.feature.allowColumnDefaults": "supported",
    "delta.constraints.Positive": "id > 0 AND v IS DISTINCT FROM 13",
}
STRUCT = pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.string())])


def rows(*given, **columns):
    """Rows of these ids and times, `s` and whatever else is given."""
    times = [dt.datetime(2026, 1, day, 23, 59, tzinfo=dt.UTC) if day else None for _, day in given]
    data = {
        "id": pa.array([number for number, _ in given], pa.int64()),
        "at": pa.array(times, pa.timestamp("us", "UTC")),
        "s": pa.array([{"x": 1, "y": None}] * len(given), STRUCT),
    }
    return pa.table(data | columns)


def spark_writes(spark, path, data, mode="append", **options):
    frame = spark.createDataFrame(data).coalesce(1)
    frame.write.format("delta").mode(mode).options(**options).save(str(path))


@pytest.fixture
def tables(spark, tmp_path):
    """The same table, made by us and by Spark."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    listed = ", ".join(f"'{name}' = '{text}'" for name, text in PROPERTIES.items())
    spark.sql(
        f"CREATE TABLE {delta_table(theirs)} ({COLUMNS}) USING delta PARTITIONED BY (day)"
        f" TBLPROPERTIES ({listed})"
    )
    da.DeltaTable.create(ours, SCHEMA, partition_by="day", configuration=PROPERTIES)
    return ours, theirs


def test_what_we_write_is_what_spark_writes(spark, tables):
    ours, theirs = tables
    first = rows((1, 1), (2, None))
    spark_writes(spark, theirs, first)
    da.write_deltalake(ours, first, mode="append")
    explicit = rows((3, 2), v=pa.nulls(1, pa.int32()), twice=pa.array([6], pa.int64()))
    spark_writes(spark, theirs, explicit)
    da.write_deltalake(ours, explicit, mode="append")
    spark.sql(f"ALTER TABLE {delta_table(theirs)} ADD CONSTRAINT Small CHECK (id < 100)")
    add_constraints(da.DeltaTable(ours).snapshot, {"Small": "id < 100"})
    merged = rows((4, 2), new=pa.array(["x"]))
    spark_writes(spark, theirs, merged, mergeSchema="true")
    da.write_deltalake(ours, merged, mode="append", schema_mode="merge")
    spark.sql(f"ALTER TABLE {delta_table(theirs)} DROP CONSTRAINT small")
    drop_constraint(da.DeltaTable(ours).snapshot, "small")
    for version in range(6):
        assert comparable(commit(ours, version)) == comparable(commit(theirs, version)), version
    replaced = rows((5, 2), (6, 2))
    spark_writes(spark, theirs, replaced, "overwrite", replaceWhere="day = '2026-01-02'")
    da.write_deltalake(ours, replaced, mode="overwrite", predicate="day = '2026-01-02'")
    wanted = check_engines(spark, theirs)
    assert sorted(wanted["twice"].to_pylist()) == [2, 4, 10, 12]
    assert set(wanted["t"].to_pylist()) == {"it's"}
    assert_same_rows(check_engines(spark, ours), wanted)
    other = {"id": [7], "day": [dt.date(2026, 1, 1)], "twice": [1], "v": pa.array([1], pa.int32())}
    overwritten = pa.table(other)
    spark_writes(spark, theirs, overwritten, "overwrite", overwriteSchema="true")
    da.write_deltalake(ours, overwritten, mode="overwrite", schema_mode="overwrite", partition_by=[])
    kinds = ("metaData", "add", "protocol")
    found, expected = (
        [each for each in comparable(commit(path, 7)) if each[0] in kinds] for path in (ours, theirs)
    )
    assert found == expected


@pytest.mark.slow
def test_spark_and_we_write_in_turns(spark, tables):
    for path in tables:
        name = delta_table(path)
        da.write_deltalake(path, rows((1, 1), (2, None), (3, 1)), mode="append")
        spark.sql(f"INSERT INTO {name} (id, s, at) VALUES (4, named_struct('x', 1, 'y', 'k'), NULL)")
        spark.sql(f"UPDATE {name} SET at = TIMESTAMP '2026-01-05 12:00:00', v = 1 WHERE id = 2")
        with pytest.raises(Exception, match="Positive"):
            spark.sql(f"UPDATE {name} SET v = 13 WHERE id = 1")
        da.write_deltalake(
            path, rows((9, 5)), mode="overwrite", predicate="day = DATE '2026-01-05' AND id > 0"
        )
        spark.sql(f"OPTIMIZE {name}")
        wanted = check_engines(spark, path)
        found = sorted(
            (row["id"], row["day"], row["v"], row["twice"]) for row in wanted.to_pylist() if row["day"]
        )
        first, fifth = dt.date(2026, 1, 1), dt.date(2026, 1, 5)
        assert found == [(1, first, 42, 2), (3, first, 42, 6), (9, fifth, 42, 18)]
        da.write_deltalake(path, rows((8, 5)), mode="overwrite", partition_overwrite_mode="dynamic")
        assert sorted(spark_table(spark, path)["id"].to_pylist()) == [1, 3, 4, 8]


def test_whoever_breaks_a_rule_is_refused(spark, tables):
    _, theirs = tables
    broken = {
        "NOT NULL|Positive": rows((None, 1)),
        "s.x": rows((1, 1), s=pa.array([{"x": None, "y": "k"}], STRUCT)),
        "Positive": rows((0, 1)),
        "Generated Column": rows((1, 1), day=pa.array([dt.date(2026, 1, 2)])),
    }
    da.write_deltalake(theirs, rows((1, 1)), mode="append")
    before = delta_log_files(theirs, "*.json"), sorted(theirs.rglob("*.parquet"))
    for named, data in broken.items():
        with pytest.raises(Exception, match=named):
            spark_writes(spark, theirs, data)
        with pytest.raises(ConstraintViolationError, match=named):
            da.write_deltalake(theirs, data, mode="append")
        with pytest.raises(ConstraintViolationError, match=named):
            da.write_deltalake(theirs, data, mode="overwrite", predicate="id > 0 OR id IS NULL OR id = 0")
    with pytest.raises(Exception, match="violate the new CHECK constraint"):
        spark.sql(f"ALTER TABLE {delta_table(theirs)} ADD CONSTRAINT more CHECK (id > 1)")
    with pytest.raises(ConstraintViolationError, match=r"constraint more .* is violated by 1 row of"):
        add_constraints(da.DeltaTable(theirs).snapshot, {"more": "id > 1"})
    assert delta_log_files(theirs, "*.json") == before[0]


def test_invariants_of_spark_and_the_protocol_of_a_constraint_on_an_old_table(spark, tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for path in (ours, theirs):
        spark.sql(f"CREATE TABLE {delta_table(path)} (a INT) USING delta")
    spark.sql(f"ALTER TABLE {delta_table(theirs)} ADD CONSTRAINT few CHECK (a < 9)")
    add_constraints(da.DeltaTable(ours).snapshot, {"few": "a < 9"})
    assert comparable(commit(ours, 1)) == comparable(commit(theirs, 1))
    from pyspark.sql.types import IntegerType, StructField, StructType as SparkStruct

    rule = {"delta.invariants": '{"expression": {"expression": "a > 3"}}'}
    path = tmp_path / "invariants"
    frame = spark.createDataFrame([], SparkStruct([StructField("a", IntegerType(), True, rule)]))
    frame.write.format("delta").save(str(path))
    da.write_deltalake(path, pa.table({"a": pa.array([4], pa.int32())}), mode="append")
    for value in (3, None):
        with pytest.raises(ConstraintViolationError, match=r"EXPRESSION\(a > 3\)"):
            da.write_deltalake(path, pa.table({"a": pa.array([value], pa.int32())}), mode="append")
    assert check_engines(spark, path)["a"].to_pylist() == [4]


@pytest.mark.parametrize(
    "asks_spark",
    [pytest.param(False, id="taken"), pytest.param(True, id="taken and refused", marks=pytest.mark.slow)],
)
def test_texts_inside_columns_are_as_long_as_spark_lets_them_be(spark, tmp_path, asks_spark):
    columns = "v VARCHAR(3), s STRUCT<x: CHAR(3), l: ARRAY<VARCHAR(2)>>, m MAP<VARCHAR(2), CHAR(3)>"
    name = create_table(spark, tmp_path, columns, columnMapping__mode="name")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN s.x TO y")
    inner = pa.struct([("y", pa.string()), ("l", pa.list_(pa.string()))])
    types = {"v": pa.string(), "s": inner, "m": pa.map_(pa.string(), pa.string())}

    def row(**given):
        fine = {"v": "a", "s": {"y": "ab", "l": ["x", None]}, "m": [("k", "v")]} | given
        return pa.table({key: pa.array([fine[key]], each) for key, each in types.items()})

    fine = pa.concat_tables(
        [
            row(),
            row(v="abc", s=None, m=None),
            row(s={"y": "abc", "l": None}, m=[("kl", None), ("", "abc")]),
        ]
    )
    spark_writes(spark, tmp_path, fine)
    da.write_deltalake(tmp_path, fine, mode="append")
    broken = {
        "v": row(v="abc "),
        r"s\.y": row(s={"y": "ab  ", "l": None}),
        r"s\.l\.element": row(s={"y": None, "l": ["xy", "xyz"]}),
        r"m\.key": row(m=[("k", "v"), ("klm", "v")]),
        r"m\.value": row(m=[("k", "abc ")]),
    }
    for column, data in broken.items():
        if asks_spark:
            with pytest.raises(Exception, match="DELTA_EXCEED_CHAR_VARCHAR_LIMIT"):
                spark_writes(spark, tmp_path, data)
        with pytest.raises(ConstraintViolationError, match=f"'{column}' is (var)?char"):
            da.write_deltalake(tmp_path, data, mode="append")
    found = spark.sql(f"SELECT v, s.y, s.l, map_values(m) FROM {name}").collect()
    assert len(found) == 2 * fine.num_rows
    assert len(set(map(repr, found))) == fine.num_rows
    spark.sql(f"ALTER TABLE {name} DROP COLUMN s.y")
    data = pa.table({"s": pa.array([{"l": ["x"]}], pa.struct([("l", pa.list_(pa.string()))]))})
    if asks_spark:
        with pytest.raises(Exception, match=r"out of bounds|DATA_SOURCE_EXTERNAL_ERROR"):
            spark_writes(spark, tmp_path, data)
    with pytest.raises(da.UnsupportedFeatureError, match="'s' is declared as struct<x:char"):
        da.write_deltalake(tmp_path, data, mode="append")


DEFAULTS = {"feature__allowColumnDefaults": "supported"}


def test_defaults_of_arrays_maps_and_structs(spark, tmp_path):
    listed = [f"c{place} {sql_type(each)} DEFAULT {text}" for place, (each, text, _) in enumerate(ACCEPTED)]
    name = create_table(spark, tmp_path, f"id INT, {', '.join(listed)}", **DEFAULTS)
    spark.sql(f"INSERT INTO {name} (id) VALUES (1)")
    da.write_deltalake(tmp_path, pa.table({"id": pa.array([1], pa.int32())}), mode="append")
    theirs, ours = spark.sql(f"SELECT * FROM {name}").collect()
    assert ours == theirs


@pytest.mark.slow
@pytest.mark.parametrize(("data_type", "text"), REFUSED)
def test_defaults_that_spark_refuses(spark, tmp_path, data_type, text):
    """`tests/spark_sql/test_constructors.py` holds ours to the same list."""
    with pytest.raises(Exception, match=r"DEFAULT|MAP_KEY|WRONG_NUM_ARGS"):
        create_table(spark, tmp_path, f"id INT, d {sql_type(data_type)} DEFAULT {text}", **DEFAULTS)


def test_partitions_that_sessions_in_other_zones_generate_are_found(spark, tmp_path):
    """A condition on a time says something of the partitions, in whatever zone they were computed."""
    columns = "id INT, at TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(at AS DATE))"
    name = delta_table(tmp_path)
    spark.sql(
        f"CREATE TABLE {name} ({columns}) USING delta PARTITIONED BY (day)"
        " TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '0')"
    )
    days = itertools.product("12", ("01 00", "28 23"))
    times = [f"2026-0{month}-{day}:30:00Z" for month, day in days]
    zones = ["+18:00", "America/Los_Angeles"]
    for zone in zones:
        spark.conf.set("spark.sql.session.timeZone", zone)
        try:
            given = ", ".join(f"({place}, TIMESTAMP '{time}')" for place, time in enumerate(times))
            spark.sql(f"INSERT INTO {name} (id, at) VALUES {given}")
        finally:
            spark.conf.set("spark.sql.session.timeZone", "UTC")
    table = da.DeltaTable(tmp_path)
    whole = table.to_pyarrow_table()
    assert whole.num_rows == len(times) * len(zones)
    compared = {"=": pc.equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}
    least = table.snapshot.files().num_rows
    for at in sorted(set(whole["at"].to_pylist())):
        for op, compare in compared.items():
            wanted = whole.filter(compare(whole["at"], pa.scalar(at)))
            assert_same_rows(table.to_pyarrow_table(filters=[("at", op, at)]), wanted)
            predicate = bind(from_filters([("at", op, at)]), table.snapshot.schema)
            least = min(least, table.snapshot.files(predicate).num_rows)
    assert least < table.snapshot.files().num_rows / 2
