"""Strings of CHAR(n) in Spark and here: what reads show, and what conditions compare."""

import deltaarrow as da
from tests.engines.test_char_columns import CONDITIONS
from tests.support.spark import check_engines, create_table

ROWS = """VALUES (1, 'z', 'z', 'z', 'z', array('q'), named_struct('x', 's', 'y', 1), map('k', 'v'), 'x'),
  (2, 'zé', 'y', 'z ', 'z   ', array(null, 'qq '), null, null, null),
  (3, null, null, null, null, null, named_struct('x', null, 'y', 2), map('k', null), 'xy'),
  (4, 'abcd', 'abcd', 'abcd', 'abcd', array('abc'), named_struct('x', 'abc', 'y', null), map(), 'xyz')"""
COLUMNS = """id INT, c CHAR(4), d CHAR(6), v VARCHAR(4), s STRING, a ARRAY<CHAR(3)>,
  st STRUCT<x: CHAR(3), y: INT>, m MAP<CHAR(2), CHAR(3)>, k CHAR(3)"""


def test_reads_and_conditions_pad_char_strings_as_spark_does(spark, tmp_path):
    name = create_table(spark, tmp_path, COLUMNS, "PARTITIONED BY (k)")
    spark.sql(f"INSERT INTO {name} {ROWS}")
    check_engines(spark, tmp_path)
    matches = ", ".join(f"array_sort(collect_list(CASE WHEN {text} THEN id END))" for text in CONDITIONS)
    query = f"SELECT {matches} FROM {name}"
    theirs = [*spark.sql(query).collect()[0]]
    assert dict(zip(CONDITIONS, theirs, strict=True)) == CONDITIONS
    with da.connect(dialect="spark") as connection:
        assert [*connection.sql(query).fetchall()[0]] == theirs
