"""delta-spark's reaction to the contents of `commitInfo`."""

import json

import pyarrow as pa
import pytest

from deltaarrow import CommitProperties, DeltaTable, write_deltalake

ALLOWED = {
    "mine": {"a": [1, 2.5, None, True, {"b": "é"}]},
    "Version": "x",
    "userMetadata": "note",
    "userName": "me",
    "userId": "7",
}


def test_metadata_that_are_allowed_are_read(spark, tmp_path):
    properties = CommitProperties(custom_metadata=ALLOWED)
    write_deltalake(tmp_path, pa.table({"id": [1]}), commit_properties=properties)
    assert spark.read.format("delta").load(str(tmp_path)).count() == 1
    (row,) = spark.sql(f"DESCRIBE HISTORY delta.`{tmp_path}`").collect()
    assert (row["userMetadata"], row["userName"], row["userId"]) == ("note", "me", "7")


SIX = [
    {"job": "x"},
    {"version": "1"},
    {"readVersion": 1.5},
    {"timestamp": "yesterday"},
    {"operationParameters": {"a": {"b": 1}}},
    {"userId": 7, "job": {"jobId": "1"}, "notebook": {"notebookId": "1"}, "version": 3},
]
MORE = [
    {"isBlindAppend": 1},
    {"tags": ["x"]},
    {"operationMetrics": "x"},
    {"clusterId": {"a": "b"}},
    {"userName": ["me"]},
    {"timestamp": "2024-01-01T00:00:00Z"},
    {"operationParameters": {"a": True, "b": 1.5, "c": None}},
]


@pytest.mark.parametrize(
    "info", [*SIX, *(pytest.param(each, marks=pytest.mark.slow) for each in MORE)], ids=str
)
def test_verify_and_spark_agree_on_a_commit(spark, tmp_path, info):
    write_deltalake(tmp_path, pa.table({"id": [1]}))
    file = tmp_path / "_delta_log/00000000000000000000.json"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[0]["commitInfo"] |= info
    file.write_text("\n".join(map(json.dumps, lines)))
    for checksum in file.parent.glob("*.crc"):
        checksum.unlink()
    for query, severities in (
        (f"SELECT * FROM delta.`{tmp_path}`", {"error"}),
        (f"DESCRIBE HISTORY delta.`{tmp_path}`", {"error", "warning"}),
    ):
        is_faulty = any(found.severity in severities for found in DeltaTable(tmp_path).verify())
        assert is_parsed(spark, query) != is_faulty


def is_parsed(spark, query: str) -> bool:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        spark.sql(query).collect()
    except (Py4JJavaError, PySparkException):
        return False
    return True
