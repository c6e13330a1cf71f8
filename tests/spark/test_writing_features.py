"""Our writes to tables with features, compared with Spark's for the same statements.

Commits are compared field by field, except for ids, times, and names and sizes of files.
"""

import pyarrow as pa
import pytest

import deltaarrow as da
from tests.support.commits import commit, comparable
from tests.support.rows import assert_same_rows
from tests.support.spark import check_engines, delta_log_files, delta_table, spark_rows, spark_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

FEATURES = {
    "plain": {},
    "inCommitTimestamp": {"delta.enableInCommitTimestamps": "true"},
    "v2Checkpoint": {"delta.checkpointPolicy": "v2"},
    "changeDataFeed": {"delta.enableChangeDataFeed": "true"},
    "typeWidening": {"delta.enableTypeWidening": "true"},
    "vacuumProtocolCheck": {"delta.feature.vacuumProtocolCheck": "supported"},
    "domainMetadata": {"delta.feature.domainMetadata": "supported"},
    "deletionVectors": {"delta.enableDeletionVectors": "true"},
    "appendOnly": {"delta.appendOnly": "true"},
}
TOGETHER = {
    name: text
    for feature, given in FEATURES.items()
    if feature != "appendOnly"
    for name, text in given.items()
}
ROWS = pa.table({"id": pa.array([1, 2, 3, None], pa.int64()), "day": ["a", "b", "b", None]})


@pytest.mark.feature("inCommitTimestamp")
@pytest.mark.feature("v2Checkpoint")
@pytest.mark.feature("changeDataFeed")
@pytest.mark.feature("typeWidening")
@pytest.mark.feature("vacuumProtocolCheck")
@pytest.mark.feature("domainMetadata")
@pytest.mark.feature("deletionVectors")
@pytest.mark.feature("appendOnly")
@pytest.mark.parametrize(
    "feature",
    [
        # Of the others `test_an_append_is_that_of_spark` makes a table together.
        pytest.param(name, marks=[pytest.mark.slow] * (name not in ("plain", "appendOnly")))
        for name in FEATURES
    ],
)
def test_a_new_table_is_as_spark_makes_it(spark, tmp_path, feature):
    create_both(spark, tmp_path / "ours", tmp_path / "theirs", FEATURES[feature])


def create_both(spark, ours, theirs, configuration):
    """Create a table here and one by Spark, and compare their first commits."""
    listed = ", ".join(f"'{name}' = '{text}'" for name, text in configuration.items())
    spark.sql(
        f"CREATE TABLE {delta_table(theirs)} (id BIGINT, day STRING) USING delta PARTITIONED BY (day)"
        + (f" TBLPROPERTIES ({listed})" if listed else "")
    )
    da.DeltaTable.create(ours, ROWS.schema, partition_by="day", configuration=configuration)
    assert comparable(commit(ours, 0)) == comparable(commit(theirs, 0))
    written, wanted = (
        next(action["protocol"] for action in commit(path, 0) if "protocol" in action)
        for path in (ours, theirs)
    )
    for protocol in (written, wanted):
        protocol |= {name: sorted(each) for name, each in protocol.items() if isinstance(each, list)}
    assert written == wanted


@pytest.mark.parametrize(
    "feature",
    [
        "plain",
        "together",
        *(pytest.param(name, marks=pytest.mark.slow) for name in FEATURES if name != "plain"),
    ],
)
def test_an_append_is_that_of_spark(spark, tmp_path, feature):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    configuration = TOGETHER if feature == "together" else FEATURES[feature]
    create_both(spark, ours, theirs, configuration)
    frame = spark.createDataFrame(ROWS).coalesce(1)
    frame.write.format("delta").mode("append").save(str(theirs))
    da.write_deltalake(ours, ROWS, mode="append")
    assert comparable(commit(ours, 1)) == comparable(commit(theirs, 1))
    da.write_deltalake(theirs, ROWS, mode="append")
    assert_same_rows(spark_table(spark, theirs), pa.concat_tables([ROWS, ROWS]))
    spark.sql(f"INSERT INTO {delta_table(ours)} VALUES (7, 'a')")
    assert da.DeltaTable(ours).count() == 5
    has_timestamps = "delta.enableInCommitTimestamps" in configuration
    assert ("inCommitTimestamp" in commit(ours, 1)[0]["commitInfo"]) == has_timestamps


@pytest.mark.slow
@pytest.mark.feature("inCommitTimestamp")
@pytest.mark.feature("v2Checkpoint")
@pytest.mark.feature("changeDataFeed")
@pytest.mark.feature("typeWidening")
@pytest.mark.feature("vacuumProtocolCheck")
@pytest.mark.feature("domainMetadata")
@pytest.mark.feature("deletionVectors")
def test_spark_and_we_write_in_turns(spark, tmp_path):
    """Appends, deletions, compaction, wider types and checkpoints of both, in one table with all features."""
    configuration = TOGETHER | {"delta.checkpointInterval": "4"}
    name = delta_table(tmp_path)
    data = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "day": ["a", "b", "c"]})
    da.write_deltalake(tmp_path, data, partition_by="day", configuration=configuration)
    spark.sql(f"INSERT INTO {name} VALUES (4, 'b'), (5, 'b'), (NULL, NULL)")
    da.write_deltalake(tmp_path, data.slice(0, 1), mode="append")
    spark.sql(f"UPDATE {name} SET id = id + 10 WHERE id = 4")
    wide = pa.table({"id": pa.array([2**40], pa.int64()), "day": ["d"]})
    widened = da.write_deltalake(tmp_path, wide, mode="append", schema_mode="merge").version
    spark.sql(f"OPTIMIZE {name}")
    da.write_deltalake(tmp_path, wide.slice(0, 0), mode="overwrite", predicate="day = 'b'")
    spark.sql(f"DELETE FROM {name} WHERE id = 3")
    da.write_deltalake(tmp_path, wide, mode="overwrite", partition_overwrite_mode="dynamic")
    assert delta_log_files(tmp_path, "*.checkpoint.*.parquet") or delta_log_files(
        tmp_path, "*.checkpoint.*.json"
    )
    wanted = check_engines(spark, tmp_path)
    assert sorted(wanted["id"].to_pylist(), key=repr) == sorted([1, 1, None, 2**40], key=repr)
    feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", widened)
    changes = da.DeltaTable(tmp_path).load_cdf(widened).read_all()
    assert_same_rows(changes, spark_rows(feed.load(str(tmp_path))))
    history = spark.sql(f"DESCRIBE HISTORY {name}").select("version", "timestamp").collect()
    times = {each["version"]: each["timestamp"] for each in da.DeltaTable(tmp_path).history()}
    assert {row["version"]: row["timestamp"].timestamp() for row in history} == {
        version: time / 1000 for version, time in times.items()
    }
    spark.sql(f"VACUUM {name}")


def text(*rows: tuple[int, str]) -> pa.Table:
    return pa.table(
        {
            "id": pa.array([number for number, _ in rows], pa.int64()),
            "day": pa.array([day for _, day in rows], pa.string()),
        }
    )


WRITES: list[tuple[str, pa.Table, dict[str, str]]] = [
    ("error", text((1, "a"), (2, "b"), (3, "b"), (4, "b")), {}),
    ("append", text((5, "a")), {"userMetadata": "hello"}),
    ("overwrite", text((9, "b")), {"replaceWhere": "day = 'b'"}),
    ("append", text((1, "a"), (11, "a"), (12, "a")), {}),
    ("overwrite", text((11, "a")), {"replaceWhere": "id = 11"}),
    ("overwrite", text((7, "b"), (8, "c")), {"partitionOverwriteMode": "dynamic"}),
    ("append", text((6, "a")).append_column("more", [[True]]), {"mergeSchema": "true"}),
    ("append", text((6, "a")), {"txnAppId": "app", "txnVersion": "3"}),
    ("append", text((6, "a")), {"txnAppId": "app", "txnVersion": "3"}),
    ("append", text(), {}),
    ("overwrite", text(), {}),
    ("overwrite", pa.table({"day": ["x"], "v": pa.array([1], pa.int32())}), {"overwriteSchema": "true"}),
]
MARKED = [
    WRITES[0],
    WRITES[2],
    ("overwrite", text((1, "a")), {"replaceWhere": "id = 1"}),
    WRITES[3],
    WRITES[4],
]
"""With deletion vectors; the last one marks one row of a file."""


@pytest.mark.feature("deletionVectors")
@pytest.mark.parametrize(
    "marks", [pytest.param(False, marks=pytest.mark.slow, id="copied"), pytest.param(True, id="marked")]
)
def test_a_write_is_described_as_spark_describes_it(spark, tmp_path, marks):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    configuration = {"delta.enableDeletionVectors": "true"} if marks else {}
    for mode, data, options in MARKED if marks else WRITES:
        more = {"partition_by": "day", "configuration": configuration} if mode == "error" else {}
        if "overwriteSchema" in options:
            more = {"partition_by": []}  # as Spark takes it where nothing is said
        da.write_deltalake(ours, data, mode=mode, options=options, **more)
        frame = (
            spark.createDataFrame(data).coalesce(1)
            if data.num_rows
            else spark.createDataFrame(
                [], ", ".join(f"{field.name} {SPARK_TYPES[field.type]}" for field in data.schema)
            )
        )
        writer = frame.write.format("delta").mode(mode).options(**options)
        if mode == "error":
            writer = writer.partitionBy("day").options(**configuration)
        writer.save(str(theirs))
        assert delta_log_files(ours, "*.json") == delta_log_files(theirs, "*.json")
    last = len(delta_log_files(ours, "*.json")) - 1
    for version in range(last if marks else last + 1):
        assert comparable(commit(ours, version)) == comparable(commit(theirs, version)), version
    if marks:
        counts = [
            {key: count for key, count in metrics.items() if not key.endswith(("Bytes", "Ms"))}
            for metrics in (
                commit(path, last)[0]["commitInfo"]["operationMetrics"] for path in (ours, theirs)
            )
        ]
        # The file that stays counts as written, and its other rows as copied.
        assert counts[0] == counts[1]
        written, wanted = (
            sorted(((k, f, v) for k, f, v in comparable(commit(path, last)) if k != "commitInfo"), key=repr)
            for path in (ours, theirs)
        )
        for _, _, values in (*written, *wanted):
            values.pop("deletionVector", None)
        assert written == wanted
    assert_same_rows(da.DeltaTable(ours).to_pyarrow_table(), spark_table(spark, ours))
    described = [
        spark.sql(f"DESCRIBE HISTORY {delta_table(path)}")
        .select(
            "version",
            "operation",
            "operationParameters",
            "readVersion",
            "isolationLevel",
            "isBlindAppend",
            "userMetadata",
        )
        .collect()
        for path in (ours, theirs)
    ]
    assert described[0] == described[1]


SPARK_TYPES = {pa.int64(): "BIGINT", pa.string(): "STRING"}
