"""Change data files that we write, compared with those that Spark writes for the same statement.

Two things differ on purpose. With random prefixes Spark leaves ``_change_data``, where the protocol puts the
files, and Spark's own helper columns stay in them.
"""

import re
import shutil
from collections import Counter

import duckdb
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import deltaarrow as da
from deltaarrow.storage import decode_path
from deltaarrow.variant import to_json
from tests.support.commits import commit
from tests.support.spark import create_table, delta_table, spark_rows

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("spark"),
    pytest.mark.feature("changeDataFeed"),
]

COLUMNS = (
    "id BIGINT, day STRING, v VARIANT, s STRUCT<a: ARRAY<INT>, m: MAP<STRING, DATE>>, at TIMESTAMP,"
    " n TIMESTAMP_NTZ, d DECIMAL(20, 2), b BINARY, f FLOAT"
)
ROWS = (
    "SELECT id, if(id = 5, NULL, concat('d %/', id % 2)) AS day, parse_json(concat('{\"a\":', id, '}')) AS v,"
    " named_struct('a', array(CAST(id AS INT), NULL), 'm', map('k', DATE'2020-01-01')) AS s,"
    " TIMESTAMP'2020-01-01 10:00:00.5' AS at, TIMESTAMP_NTZ'1969-12-31 23:59:59' AS n,"
    " CAST(id AS DECIMAL(20, 2)) AS d, CAST(concat('x', id) AS BINARY) AS b, CAST('NaN' AS FLOAT) AS f"
    " FROM range(0, 12, 1, 1)"
)
PLAIN = ["id", "day", "at", "n", "d", "b", "f", "_change_type", "_commit_version", "_commit_timestamp"]
VARIETIES = {
    "plain": ("", {"enableDeletionVectors": "false"}),
    "partitioned": ("PARTITIONED BY (day)", {"enableRowTracking": "true", "enableDeletionVectors": "false"}),
    "by name": (
        "PARTITIONED BY (day)",
        {
            "columnMapping__mode": "name",
            "enableVariantShredding": "true",
            "enableDeletionVectors": "false",
        },
    ),
    "by id": (
        "",
        {"columnMapping__mode": "id", "enableRowTracking": "true", "enableDeletionVectors": "false"},
    ),
    "marked": ("", {"enableDeletionVectors": "true"}),
}


def change_files(path, version):
    """Where change data files are, without random names, what the log says and which columns they have."""
    found = []
    for action in commit(path, version):
        if "cdc" in action:
            said = dict(action["cdc"])
            name, size = said.pop("path"), said.pop("size")
            file = path / decode_path(name)
            assert file.stat().st_size == size
            table = pq.ParquetFile(file).read()
            partitions = set(said["partitionValues"])
            columns = [each for each in table.column_names if each not in partitions | {"__is_cdc"}]
            folder, base = name.rpartition("/")[::2]
            kinds = sorted(Counter(table["_change_type"].to_pylist()).items())
            found.append(
                (
                    folder,
                    re.sub("[0-9a-f]{8}-[0-9a-f-]{27}", "*", base[len("cdc-00000") :]),
                    said,
                    columns,
                    kinds,
                )
            )
    return sorted(found, key=repr)


def feed(spark, path, start):
    """The rows of a feed, the same from Spark and from every reader of ours."""
    query = f"SELECT *, to_json(v) AS t FROM table_changes_by_path('{path}', {start})"
    theirs = spark_rows(spark.sql(query).drop("v"))
    table = da.DeltaTable(path)
    ours = table.load_cdf(start).read_all()
    texts = to_json(ours["v"].combine_chunks())
    ours = ours.drop_columns("v").append_column("t", texts)
    wanted = multiset(theirs)
    assert multiset(ours.select(theirs.column_names)) == wanted
    dataset = table.change_data_feed(start)
    assert multiset(dataset.to_polars().select(PLAIN).collect().to_arrow()) == multiset(theirs.select(PLAIN))
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        da.register(connection, "feed", dataset)
        listed = ", ".join(f'"{name}"' for name in PLAIN)
        read = connection.sql(f"SELECT {listed} FROM feed").to_arrow_table()
    assert multiset(read) == multiset(theirs.select(PLAIN))
    return wanted


def multiset(table):
    return Counter(map(repr, (tuple(row.values()) for row in table.to_pylist())))


@pytest.mark.parametrize(
    "variety",
    [pytest.param(name, marks=() if name == "by name" else pytest.mark.slow) for name in VARIETIES],
)
def test_changes_are_recorded_as_spark_records_them(spark, tmp_path, variety):
    clauses, properties = VARIETIES[variety]
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    name = create_table(spark, theirs, COLUMNS, clauses, enableChangeDataFeed="true", **properties)
    spark.sql(f"INSERT INTO {name} {ROWS}")
    shutil.copytree(theirs, ours)
    condition = "id > 2 AND id < 6"
    rows = da.DeltaTable(ours).to_pyarrow_dataset().to_table(filter=pc.field("id") == 3)
    da.write_deltalake(ours, rows, mode="overwrite", predicate=condition)
    frame = spark.sql(f"SELECT * FROM {name} WHERE id = 3").coalesce(1)
    frame.write.format("delta").mode("overwrite").option("replaceWhere", condition).save(str(theirs))
    written, wanted = change_files(ours, 2), change_files(theirs, 2)
    is_marked = variety == "marked"
    assert bool(wanted) != is_marked
    is_random = variety.startswith("by ")
    assert [re.sub("^_change_data/..$", "*", each[0]) for each in written] == [
        "*" if is_random else each[0] for each in wanted
    ]
    assert [each[1:] for each in sorted(written, key=lambda each: repr(each[1:]))] == [
        each[1:] for each in sorted(wanted, key=lambda each: repr(each[1:]))
    ]
    metrics, expected = (commit(path, 2)[0]["commitInfo"]["operationMetrics"] for path in (ours, theirs))
    for metric in ("numAddedChangeFiles", "numDeletedRows"):
        assert metrics[metric] == expected[metric]
    changes = feed(spark, ours, 1)
    assert len([row for row in changes.elements() if "'delete'" in row]) == 3
    spark.sql(f"DELETE FROM {delta_table(ours)} WHERE id IN (3, 7)")
    spark.sql(f"UPDATE {delta_table(ours)} SET d = 0 WHERE id = 8")
    da.write_deltalake(ours, rows, mode="overwrite", predicate="id = 3 OR id = 8")
    assert len(feed(spark, ours, 2)) == 4 + 2 + 2 + 2
    assert [str(finding) for finding in da.DeltaTable(ours).verify(deep=True)] == []
