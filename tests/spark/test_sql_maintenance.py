"""The same statements of maintenance and settings, by Spark and by one node on copies of a table.

Results have the same columns and rows, commits the same operation and parameters.
"""

import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

import deltaarrow
from deltaarrow import DeltaTable
from deltaarrow.cli.statement_engine import Spark, results
from deltaarrow.errors import UnsupportedFeatureError
from tests.support.spark import drop_temporary_views, spark_table

pytestmark = [pytest.mark.spark]

CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"


@pytest.fixture(scope="module")
def lakes(tmp_path_factory):
    """Two folders that hold the same table `t`, and the same Parquet files in `files`."""
    root = tmp_path_factory.mktemp("statements")
    spark, ours = root / "spark", root / "ours"
    for number in range(3):
        data = pa.table({"id": [number, number + 10], "p": ["a", "b"]})
        deltaarrow.write_deltalake(spark / "t", data, mode="append", partition_by=["p"])
    (spark / "files" / "p=1").mkdir(parents=True)
    pq.write_table(pa.table({"id": [1, 2]}), spark / "files" / "p=1" / "a.parquet")
    shutil.copytree(spark, ours)
    return spark, ours


@pytest.fixture(scope="module")
def con():
    with deltaarrow.connect(dialect="spark") as connection:
        yield connection


def without_nullability(schema):
    def plain(data_type):
        if pa.types.is_struct(data_type):
            return pa.struct([(field.name, plain(field.type)) for field in data_type])
        return data_type

    return [(field.name, plain(field.type)) for field in schema]


SCRIPT = {
    "OPTIMIZE '{lake}/t' WHERE p = 'a' ZORDER BY (id)": "OPTIMIZE",
    "RESTORE TABLE delta.`{lake}/t` TO VERSION AS OF 1": "RESTORE",
    f"SET {CHECK} = false": None,
    "VACUUM delta.`{lake}/t` RETAIN 0 HOURS": "VACUUM END",
    f"RESET {CHECK}": None,
    f"SET {CHECK}": None,
}
SPARKS_OWN = {
    "startTimeMs",
    "preserveInsertionOrder",
    "totalClusterParallelism",
    "totalScheduledTasks",
    "numBins",
    "numBatches",
    "clusteringStats",
    "numTableColumns",
    "numTableColumnsWithStats",
    "numFilesSkippedToReduceWriteAmplification",
    "numBytesSkippedToReduceWriteAmplification",
    "endTimeMs",
    "deletionVectorStats",
    "autoCompactParallelismStats",
}
"""Fields of the metrics that depend on Spark's work; ours are NULL, or count otherwise."""


def counts(metrics):
    found = {name: value for name, value in metrics.items() if name not in SPARKS_OWN}
    for name in ("filesAdded", "filesRemoved"):
        found[name] = found[name]["totalFiles"]
    if found.get("zOrderStats"):
        files = {name: found["zOrderStats"][name]["num"] for name in ("inputOtherFiles", "mergedFiles")}
        found["zOrderStats"] = found["zOrderStats"] | files
    return found


@pytest.mark.parametrize(
    "left_out",
    [
        # Other tests hold commits of OPTIMIZE and VACUUM against Spark's every day.
        pytest.param(("OPTIMIZE", "VACUUM"), id="few"),
        pytest.param((), id="all", marks=pytest.mark.slow),
    ],
)
def test_script_has_the_same_results_and_commits(spark, con, lakes, tmp_path, left_out):
    of_spark, of_ours = (shutil.copytree(lake, tmp_path / lake.name) for lake in lakes)
    for statement, operation in SCRIPT.items():
        if statement.startswith(left_out):
            continue
        frame = spark.sql(statement.format(lake=of_spark))
        theirs = [row.asDict(recursive=True) for row in frame.collect()]
        result = con.sql(statement.format(lake=of_ours))
        ours = result.to_pylist()
        assert without_nullability(result.schema) == without_nullability(to_arrow_schema(frame.schema))
        for rows, lake in ((theirs, of_spark), (ours, of_ours)):
            for row in rows:
                if "path" in row:
                    row["path"] = row["path"].removeprefix("file:").replace(str(lake), "")
                if "metrics" in row:
                    row["metrics"] = counts(row["metrics"])
        if statement.startswith("RESTORE"):  # Files that one engine writes have other sizes than the other's.
            for row in (*theirs, *ours):
                del row["removed_files_size"], row["table_size_after_restore"], row["restored_files_size"]
        assert ours == theirs, statement
        if operation is not None:
            [made], [expected] = (DeltaTable(lake / "t").history(1) for lake in (of_ours, of_spark))
            assert (made["operation"], expected["operation"]) == (operation, operation)
            assert made["operationParameters"] | {"predicate": 0} == expected["operationParameters"] | {
                "predicate": 0
            }
    assert spark_table(spark, of_ours / "t").num_rows == DeltaTable(of_spark / "t").count() == 4


@pytest.mark.slow
def test_converted_files_are_the_same_table(spark, con, lakes):
    text = "CONVERT TO DELTA parquet.`{}/files` NO STATISTICS PARTITIONED BY (p INT NOT NULL COMMENT 'x')"
    tables = []
    for lake, run in zip(lakes, (spark.sql, con.sql), strict=True):
        run(text.format(lake))
        tables.append(DeltaTable(lake / "files"))
    [expected, made] = tables
    assert made.schema().to_json() == expected.schema().to_json()
    assert made.metadata().partition_columns == expected.metadata().partition_columns == ["p"]
    parameters = [table.history(1)[0]["operationParameters"] for table in tables]
    assert parameters[0] == parameters[1]
    assert spark_table(spark, lakes[1] / "files").num_rows == 2


@pytest.mark.parametrize(
    "statement",
    [
        "MSCK REPAIR TABLE delta.`{}/t`",
        "FSCK REPAIR TABLE delta.`{}/t`",
        "ANALYZE TABLE delta.`{}/t` COMPUTE STATISTICS",
    ],
)
def test_extensions_are_refused_by_spark(spark, lakes, statement):
    with pytest.raises(Exception, match=r"PARSE_SYNTAX_ERROR|NOT_SUPPORTED_COMMAND_FOR_V2_TABLE"):
        spark.sql(statement.format(lakes[0]))


SETTINGS = {
    CHECK: "maybe",
    "spark.sql.ansi.enabled": "'true'",
    "spark.sql.sources.partitionOverwriteMode": "x",
    "spark.databricks.delta.schema.autoMerge.enabled": "1",
}


def test_values_that_spark_refuses_are_refused(spark, con):
    for name, text in SETTINGS.items():
        with pytest.raises(Exception, match="INVALID_CONF_VALUE"):
            spark.sql(f"SET {name} = {text}")
        with pytest.raises(UnsupportedFeatureError, match="INVALID_CONF_VALUE"):
            con.sql(f"SET {name} = {text}")
        expected = [row.asDict() for row in spark.sql(f"SET {name}").collect()]
        assert con.sql(f"SET {name}").to_pylist() == expected


def test_command_runs_statements_on_spark(spark, lakes):
    drop_temporary_views(spark)
    runner = Spark(spark)
    table = f"delta.`{lakes[0]}/t`"
    text = f"OPTIMIZE {table}; SELECT ';' AS mark, count(*) AS n FROM {table}; SELECT 1 AS x WHERE FALSE"
    found = [pa.Table.from_batches(each.batches, each.schema) for each, _, _ in results(runner, [text], {})]
    assert [table.column_names for table in found] == [["path", "metrics"], ["mark", "n"], ["x"]]
    assert found[1].column("mark").to_pylist() == [";"]
    assert runner.columns(("delta", f"{lakes[0]}/t")) == {"id": "bigint", "p": "string"}
    assert "default" in runner.tables()
