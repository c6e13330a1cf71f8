"""COPY INTO beside Spark: texts mean the same, and Spark keeps what a table remembers."""

import itertools
import math

import duckdb
import pytest

import deltaarrow
from deltaarrow.errors import DeltaError
from deltaarrow.sql.copy.source_options import parse_source_options
from deltaarrow.sql.copy.source_rows import rows_of_files
from tests.support.duckdb_session import duckdb_session
from tests.support.rows import assert_same_rows
from tests.support.spark import delta_table, spark_table

pytestmark = pytest.mark.spark

CSV = [
    ('a,b,c\n1,x,\n2,"",3\n,"  q ",4\n', {}),
    ('a,b\n1,"x \\"y\\" z"\n2,"a\\\\b"\n', {}),
    ('a,b\n3,"C:\\temp"\n4,C:\\temp\n', {}),
    ('a,b\n1,x"y\n3, x \n', {}),
    ('a,b\n1,"he said, ""x"" , ok"\n', {"escape": '"'}),
    ('a,b\n1,"l1\nl2"\n', {"multiLine": "true"}),
    ("a,b\r\n1,x\r\n", {}),
    ("a;b\n1;x,y\n", {"sep": ";"}),
    ("a\tb\n1\tx\n", {"sep": "\\t"}),
    ('a,b\n1,NA\n2,"NA"\n3,\n4,""\n', {"nullValue": "NA"}),
    ("a,b\n1,'x,y'\n2,\"q\"\n", {"quote": "'"}),
    ('a,b\n1,"x ""y"" z"\n', {"escape": '"'}),
    ("a,a,A\n1,2,3\n", {}),
    ("a,,b\n1,2,3\n", {}),
    (" a , b \n 1 , x \n", {}),
    ("\ufeffa,b\n1,x\n", {}),
    ("a,b\n1,x", {}),
    ("a,b\n\n#1,x\n\n", {}),
    ("a,b\n", {}),
    ('a,b\n1,"x"\n', {"quote": ""}),
    ("a,b\n1,\\\n2,ü👍\n", {}),
]
REFUSED = [
    ('a,b\n1,"x ""y"" z"\n', {}),
    ('a,b\n2,"x"y\n', {}),
    ('a,b\n3, "x"\n', {}),
    ('a,b\n3,"x" \n', {}),
    ("a,b\n2,y,z\n", {}),
    ('a,b\n1,"l1\nl2"\n', {}),
    ('a,b\n1,"unclosed\n2,y\n', {}),
    ('a,b\n1,"\\"x"\n3,"C:\\temp"\n', {}),
]
"""What Spark reads in a way of its own, if at all."""

JSON = [
    ('{"a":1,"b":"x"}\n{"a":2.5,"c":[1,2]}\n', {}),
    ('{"a":1}\n{"a":"x"}\n{"a":{"b":1}}\n', {}),
    ('{"a":null,"b":[]}\n', {}),
    ('{"b":1e3,"d":true,"a":-1}\n{"b":-0.0,"a":7}\n', {}),
    ('[{"a":1},{"a":2}]\n', {}),
    ('[{"a":1},\n{"a":2}]\n', {"multiLine": "true"}),
    ('{"a":"2026-01-01","b":"2026-01-01T00:00:00Z"}\n\n{"a":"x"}\n', {}),
    ('{"a":{"x":1,"y":"s"}}\n{"a":{"x":2.5,"z":null}}\n{"a":null}\n', {}),
    ('{"a":[1,"x",{"y":2}],"b":[[1],[]],"c":[{"x":1},null,{"y":[true]}]}\n', {}),
    ('{"a":"\\u00e9\\ud83d\\ude00\\n","k/~":{"é":1}}\n', {}),
    ('{"a":1.5,"b":{"c":{"d":[{"e":"x"}]}}}\n{"a":3}\n', {}),
]


def found(source_format, path, options):
    with duckdb_session() as cursor:
        sql = rows_of_files(cursor, source_format, [str(path)], parse_source_options(source_format, options))
        relation = cursor.sql(sql)
        return relation.columns, sorted(map(plain, relation.fetchall()))


def plain(value):
    """A value as text, for rows and structs of both engines."""
    if isinstance(value, dict):
        return plain(list(value.values()))
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(plain, value))}]"
    if isinstance(value, float):
        return "0" if value == 0 and math.copysign(1, value) < 0 else repr(value)
    return repr(value)


def read(spark, source_format, path, options):
    frame = spark.read.options(**options).format(source_format).load(str(path))
    return frame.columns, sorted(plain(tuple(row)) for row in frame.collect())


def test_texts_mean_what_spark_makes_of_them(spark, tmp_path):
    headers = itertools.cycle(("true", "false"))
    csv = [("csv", text, {**options, "header": next(headers)}) for text, options in CSV]
    json = [("json", text, options) for text, options in JSON]
    compare(spark, tmp_path, csv + json)


@pytest.mark.slow
def test_texts_with_and_without_a_header_mean_what_spark_makes_of_them(spark, tmp_path):
    headers = ("true", "false")
    csv = [("csv", text, {**options, "header": header}) for text, options in CSV for header in headers]
    compare(spark, tmp_path, csv)


def compare(spark, folder, cases):
    wrong = []
    for number, (source_format, text, options) in enumerate(cases):
        path = folder / f"{number}.txt"
        path.write_text(text, "utf-8", newline="")
        ours, theirs = found(source_format, path, options), read(spark, source_format, path, options)
        if ours != theirs:
            wrong.append((text, options, ours, theirs))
    assert wrong == []


@pytest.mark.parametrize(("text", "options"), REFUSED)
def test_a_text_that_spark_reads_otherwise_is_refused(tmp_path, text, options):
    (tmp_path / "a.csv").write_text(text, "utf-8", newline="")
    with pytest.raises((DeltaError, duckdb.Error)):
        found("csv", tmp_path / "a.csv", {**options, "header": "true"})


def test_spark_keeps_what_a_table_remembers(spark, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("id,p\n1,x\n2,y\n")
    table = tmp_path / "t"
    spark.sql(
        f"CREATE TABLE {delta_table(table)} (id INT, p STRING) USING delta PARTITIONED BY (p)"
        " TBLPROPERTIES ('delta.checkpointInterval' = '2')"
    )
    copy = (
        f"COPY INTO {delta_table(table)} FROM '{tmp_path}/in' FILEFORMAT = CSV"
        " FORMAT_OPTIONS ('header' = 'true')"
    )
    with deltaarrow.connect(dialect="spark") as con:
        assert con.sql(copy).column("num_inserted_rows").to_pylist() == [2]
        spark.sql(f"DELETE FROM {delta_table(table)} WHERE id = 1")
        spark.sql(f"INSERT INTO {delta_table(table)} VALUES (3, 'z')")
        spark.sql(f"OPTIMIZE {delta_table(table)}")
        spark.sql(f"RESTORE TABLE {delta_table(table)} TO VERSION AS OF 2")
        assert con.sql(copy).column("num_inserted_rows").to_pylist() == [0]
        assert_same_rows(
            spark_table(spark, table), con.sql(f"SELECT * FROM {delta_table(table)}").to_arrow_table()
        )
        [entry] = spark.sql(f"DESCRIBE HISTORY {delta_table(table)}").where("version = 1").collect()
    assert entry["operation"] == "COPY INTO"
    assert entry["operationMetrics"]["numOutputRows"] == "2"
