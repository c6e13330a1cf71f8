"""Skipping never loses a row, whoever wrote the statistics and whichever engine compares."""

import duckdb
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaarrow.expressions import bind, columns_of, to_arrow, to_duckdb
from deltaarrow.statistics import skipping_sql
from tests.support.file_model import PARTITION_COLUMNS, SCHEMA, data_files, predicates

CONNECTION = duckdb.connect()
CONNECTION.execute("SET TimeZone = 'America/St_Johns'")
FILE_SCHEMA = pa.schema(
    [("number", pa.int64()), ("stats", pa.string()), ("partitionValues", pa.map_(pa.string(), pa.string()))]
)


def query(table, sql):
    with CONNECTION.cursor() as cursor:
        cursor.register("t", table)
        return cursor.execute(sql).fetchall()


def kept_files(predicate, files, **options):
    sql = skipping_sql(predicate, SCHEMA, "none", PARTITION_COLUMNS, **options) or "TRUE"
    rows = [
        {"number": number, "stats": each.stats, "partitionValues": list(each.partition_values.items())}
        for number, each in enumerate(files)
    ]
    answers = query(pa.Table.from_pylist(rows, FILE_SCHEMA), f"SELECT number, {sql} FROM t")
    assert all(answer is not None for _, answer in answers), sql
    return {number for number, answer in answers if answer}


def files_that_match_in_duckdb(predicate, files):
    try:
        condition = to_duckdb(predicate)
        sql = f"SELECT 1 FROM t WHERE {condition} LIMIT 1"
        return {number for number, each in enumerate(files) if query(each.rows, sql)}
    except duckdb.ConversionException:
        # A decimal beyond 38 digits: no row is kept by a query that fails.
        return set()


def files_that_match_in_pyarrow(predicate, files):
    try:
        condition = to_arrow(predicate)
        return {number for number, each in enumerate(files) if each.rows.filter(condition).num_rows}
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return set()


@given(st.data())
@settings(deadline=None, max_examples=120)
def test_a_file_with_a_matching_row_is_kept(data):
    predicate = data.draw(predicates())
    files = data.draw(st.lists(data_files(columns_of(predicate)), min_size=1, max_size=4))
    bound = bind(predicate, SCHEMA)
    in_duckdb = files_that_match_in_duckdb(bound, files)
    in_pyarrow = files_that_match_in_pyarrow(bound, files)
    assert in_duckdb <= kept_files(bound, files, nan_is_greatest=True)
    assert in_pyarrow <= kept_files(bound, files, nan_is_greatest=False)
    assert in_duckdb | in_pyarrow <= kept_files(bound, files)
    assert in_duckdb | in_pyarrow <= kept_files(predicate, files), "the same without binding"
