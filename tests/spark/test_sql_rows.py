"""Statements that change rows, by Spark and by `deltaarrow.connect` on copies: commits and rows are equal."""

import json
import re
import shutil

import pytest

import deltaarrow
from deltaarrow import DeltaTable
from tests.support.rows import assert_same_rows
from tests.support.spark import spark_table

pytestmark = pytest.mark.spark

PARTITIONED = [
    "CREATE TABLE {t} (id BIGINT, s STRING, p INT) USING delta PARTITIONED BY (p)",
    "INSERT INTO {t} VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2), (4, NULL, NULL)",
]
SCRIPT = [
    "INSERT INTO {t} VALUES ('5', 7, 1.0), ('6', NULL, NULL)",
    "INSERT INTO {t} (s, ID) VALUES ('d', 7)",
    "INSERT INTO {t} BY NAME SELECT 's' AS s, 9 AS id",
    "INSERT INTO {t} PARTITION (p = '5') VALUES (10, 'z'), (11, 'zz')",
    "INSERT INTO {t} PARTITION (p) SELECT 12, 'q', 6",
    "INSERT INTO {t} SELECT id + 100, concat(s, '!'), p FROM {t} WHERE p = 1",
    "UPDATE {t} AS x SET x.s = upper(x.s), p = 4 WHERE x.id = 1",
    "UPDATE {t} SET s = 1, id = '12' WHERE id = 12",
    "UPDATE {t} SET s = (SELECT concat('k', max(id)) FROM {t}) WHERE p = 5",
    "DELETE FROM {t} AS x WHERE x.id = 2",
    "DELETE FROM {t} WHERE p IS NULL",
    "MERGE INTO {t} t USING (SELECT 1 AS id, 'm' AS s, 1 AS p UNION ALL SELECT 9, 'n', 2) u ON t.id = u.id"
    " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "MERGE INTO {t} t USING (VALUES (1, 'm'), (77, 'x')) u ON t.id = u.col1 AND t.p < 5"
    " WHEN MATCHED AND t.id > 0 THEN DELETE WHEN NOT MATCHED AND u.col1 > 5 THEN"
    " INSERT (id, s) VALUES (u.col1, u.col2)"
    " WHEN NOT MATCHED BY SOURCE AND t.id = 3 THEN UPDATE SET s = concat(t.s, 'x')",
    "MERGE WITH SCHEMA EVOLUTION INTO {t} t USING (SELECT 200 AS id, 2.5 AS more) u ON t.id = u.id"
    " WHEN NOT MATCHED THEN INSERT *",
    "INSERT OVERWRITE {t} PARTITION (p = 5) VALUES (10, 'z', 1)",
    "INSERT INTO {t} REPLACE WHERE p = 6 AND id > 5 VALUES (13, 'r', 6, 2)",
    "SET spark.databricks.delta.schema.autoMerge.enabled = true",
    "INSERT INTO {t} BY NAME SELECT 14 AS id, DATE'2026-01-01' AS day",
    "SET spark.databricks.delta.schema.autoMerge.enabled = false",
    "SET spark.sql.sources.partitionOverwriteMode = dynamic",
    "INSERT OVERWRITE {t} BY NAME SELECT 15 AS id, 6 AS p",
    "SET spark.sql.sources.partitionOverwriteMode = static",
    "INSERT OVERWRITE TABLE {t} BY NAME SELECT 17 AS id, 's' AS s",
    "DELETE FROM {t}",
    "INSERT INTO {t} BY NAME SELECT 1 AS id",
    "TRUNCATE TABLE {t}",
    "TRUNCATE TABLE {t}",
]
CHECKED = SCRIPT[-7]
"""After this statement Spark reads the tables."""
REPEATED = (
    *("INSERT INTO {t} PARTITION (p) ", "UPDATE {t} SET s = 1", "INSERT INTO {t} (s, ID)"),
    *(
        "DELETE FROM {t} AS x",
        "INSERT OVERWRITE TABLE",
        "INSERT INTO {t} SELECT",
        "MERGE INTO {t} t USING (SELECT",
    ),
    *(
        "SET spark.databricks.delta.schema.autoMerge",
        "INSERT INTO {t} BY NAME SELECT 14",
        "INSERT INTO {t} BY NAME SELECT 1 ",
    ),
)
"""Beginnings of statements of kinds that others of the script are of."""

REFUSED = [
    "INSERT INTO {t} VALUES ('x', 'a', 1)",
    "INSERT INTO {t} VALUES (1)",
    "INSERT INTO {t} VALUES (1, 'a', 1, 4)",
    "INSERT INTO {t} (id, id) VALUES (1, 2)",
    "INSERT INTO {t} BY NAME SELECT 1 AS id, 2 AS nope",
    "INSERT INTO {t} PARTITION (s = 'x') SELECT 12, 6",
    "INSERT INTO {t} REPLACE WHERE p = 5 VALUES (13, 'r', 6)",
    "INSERT INTO {t} REPLACE WHERE p = 5 BY NAME SELECT 5 AS p",
    "INSERT INTO {t} SELECT DATE'2026-01-01', 's', 1",
    "INSERT INTO {t} SELECT 99999999999999999999, 's', 1",
    "INSERT OVERWRITE {t} PARTITION (p = 5) IF NOT EXISTS VALUES (10, 'z')",
    "UPDATE {t} SET s = 'a', s = 'b'",
    "UPDATE {t} SET nope = 1",
    "DELETE FROM {t} AS x WHERE nope.id = 1",
    "MERGE INTO {t} t USING (VALUES (1)) AS u(id) ON t.id = u.id WHEN MATCHED THEN DELETE",
    "MERGE INTO {t} t USING (SELECT 1 AS id UNION ALL SELECT 1) u ON t.id = u.id"
    " WHEN MATCHED THEN UPDATE SET s = 'x'",
    "TRUNCATE TABLE {t} PARTITION (p = 1)",
]

OF_LAYOUT = re.compile("Ms$|Bytes|Files|Copied|numOutputRows")
"""Metrics that depend on how many files a writer makes."""


def commit(table):
    file = max((table / "_delta_log").glob("*.json"))
    info = next(
        json.loads(line)["commitInfo"] for line in file.read_text().splitlines() if "commitInfo" in line
    )
    parameters = info["operationParameters"]
    metrics = {name: n for name, n in info.get("operationMetrics", {}).items() if not OF_LAYOUT.search(name)}
    return int(file.stem), info["operation"], {k: _told(k, v) for k, v in parameters.items()}, metrics


def _told(name, value):
    """A parameter without the words of conditions, which Spark writes as it has understood them."""
    if name == "predicate":
        return re.sub(r"\w+", "", value) and "given" if value not in ("[]", '["true"]') else value
    return re.sub(r'"predicate":"[^"]*"', '"predicate":""', value) if isinstance(value, str) else value


@pytest.fixture
def tables(spark, tmp_path):
    """The same table twice: one for Spark, one for us."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    for text in PARTITIONED:
        spark.sql(text.format(t=f"delta.`{theirs}`"))
    shutil.copytree(theirs, ours)
    return theirs, ours


@pytest.mark.parametrize("left_out", [REPEATED, pytest.param((), marks=pytest.mark.slow)], ids=["few", "all"])
def test_commits_and_rows_are_those_of_spark(spark, tables, left_out):
    theirs, ours = tables
    with deltaarrow.connect(dialect="spark") as con:
        for text in SCRIPT:
            if text.startswith(left_out):
                continue
            result = spark.sql(text.format(t=f"delta.`{theirs}`"))
            own = con.sql(text.format(t=f"delta.`{ours}`"))
            if text.startswith("SET"):
                continue
            assert own.to_pylist() == [row.asDict() for row in result.collect()], text
            assert commit(ours) == commit(theirs), text
            assert_same_rows(DeltaTable(ours).to_pyarrow_table(), DeltaTable(theirs).to_pyarrow_table())
            if text == CHECKED:
                assert_same_rows(spark_table(spark, ours), spark_table(spark, theirs))


def test_what_is_refused_changes_nothing_there_and_here(spark, tables):
    theirs, ours = tables
    with deltaarrow.connect(dialect="spark") as con:
        for text in REFUSED:
            with pytest.raises(Exception, match=r"."):
                spark.sql(text.format(t=f"delta.`{theirs}`"))
            with pytest.raises(deltaarrow.DeltaError):
                con.sql(text.format(t=f"delta.`{ours}`"))
    assert commit(ours)[0] == commit(theirs)[0] == 1
