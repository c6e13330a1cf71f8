"""One list of conditions gives the same rows wherever a condition may be written, and in Spark."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import deltaarrow as da
from deltaarrow.errors import ConstraintViolationError, DeltaError
from deltaarrow.spark.options import ReadOptions
from deltaarrow.spark.table_scan import TableScan
from tests.support.condition_rows import ROWS, partitioned_table, plain_table
from tests.support.duckdb_session import duckdb_session
from tests.support.examples import examples
from tests.support.spark import tried_values

CASES = json.loads((Path(__file__).parent / "conditions.json").read_text(encoding="utf-8"))
"""Condition in Spark SQL -> the ids of the rows that Spark finds; None where Spark fails on a row."""

FOUND = {text: ids for text, ids in CASES.items() if ids is not None}
FAILING = [text for text, ids in CASES.items() if ids is None]
IDS = ROWS["id"].to_pylist()

SPOKEN_ALIKE = [
    *("d > 2", "d < 2", "d = d", "NOT d > 2", "d = 0", "d BETWEEN 1 AND 3", "i = 1", "i % 2 = 1", "m = 1.5"),
    *("n = ''", "n LIKE 'a%'", "n LIKE '%b'", "ok", "p = 'a'", "p IS NULL", "q = 0", "d >= 2", "d <= 1"),
]
"""Conditions that are the same text, and mean the same, in DuckDB's and Polars's SQL."""


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The rows in two files."""
    return plain_table(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def partitioned(tmp_path_factory):
    """The rows in as many partitions."""
    return partitioned_table(tmp_path_factory.mktemp("partitioned"))


@pytest.fixture(params=["plain", "partitioned"])
def table(request):
    """Both, one after the other."""
    return request.getfixturevalue(request.param)


BOTH_SLOWLY = pytest.mark.parametrize(
    "table", ["plain", pytest.param("partitioned", marks=pytest.mark.slow)], indirect=True
)
"""For what passes conditions on as `test_filters` does, which has both tables every day."""


def ids(rows):
    return sorted(rows["id"].to_pylist())


def copied(table, tmp_path):
    """A table to change."""
    folder = tmp_path / "copy"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(table.table_uri, folder)
    return da.DeltaTable(folder)


def deleted(table, tmp_path, text):
    changed = copied(table, tmp_path)
    changed.delete(text)
    return sorted({*IDS} - {*ids(changed.to_pyarrow_table())})


def replaced(table, tmp_path, text):
    changed = copied(table, tmp_path)
    da.write_deltalake(changed, ROWS.slice(0, 0), mode="overwrite", predicate=text)
    return sorted({*IDS} - {*ids(da.DeltaTable(changed.table_uri).to_pyarrow_table())})


def read_by_spark_source(table, text):
    scan = TableScan.open(ReadOptions(path=str(table.table_uri), filter=text, columns=["id"]))
    batches = [batch for split in scan.splits() for batch in scan.split_scan.read(split)]
    return sorted(number for batch in batches for number in batch.column("id").to_pylist())


def test_filters(table):
    assert {text: ids(table.to_pyarrow_table(filters=text)) for text in FOUND} == FOUND


@BOTH_SLOWLY
def test_filters_of_other_columns(table):
    """What a condition reads need not be asked for."""
    found = {text: ids(table.to_pyarrow_table(columns=["id"], filters=text)) for text in FOUND}
    assert found == FOUND


@pytest.mark.slow
def test_change_data_feed(plain):
    assert {text: ids(plain.load_cdf(predicate=text).read_all()) for text in FOUND} == FOUND


@pytest.mark.slow
def test_spark_source(table):
    assert {text: read_by_spark_source(table, text) for text in FOUND} == FOUND


@pytest.mark.slow
def test_delete(table, tmp_path):
    assert {text: deleted(table, tmp_path, text) for text in FOUND} == FOUND


@pytest.mark.slow
def test_replace_where(table, tmp_path):
    assert {text: replaced(table, tmp_path, text) for text in FOUND} == FOUND


@pytest.mark.parametrize("text", ["d > 2", "d = d", "NOT d > 2", "upper(n) = 'B'", "ts < '2020-2-1'"])
def test_delete_and_replace_where_find_the_rows_of_filters(table, tmp_path, text):
    assert deleted(table, tmp_path, text) == replaced(table, tmp_path, text) == FOUND[text]


def test_rows_that_replace_others_have_to_meet_the_condition(plain, tmp_path):
    changed = copied(plain, tmp_path)
    nan, three = ROWS.slice(1, 1), ROWS.slice(2, 1)
    da.write_deltalake(changed, nan, mode="overwrite", predicate="d > 2")
    da.write_deltalake(changed, three, mode="overwrite", predicate="upper(n) = '' AND d > 2")
    with pytest.raises(ConstraintViolationError, match="1 rows of the data do not fulfil"):
        da.write_deltalake(changed, ROWS.slice(0, 1), mode="overwrite", predicate="d > 2")
    with pytest.raises(ConstraintViolationError, match="1 rows of the data do not fulfil"):
        da.write_deltalake(changed, ROWS.slice(0, 1), mode="overwrite", predicate="upper(n) = 'B'")


@pytest.mark.parametrize("native", [True, False])
def test_duckdb_views(table, native):
    with duckdb_session() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        da.register(connection, "t", table, native=native)
        for text in SPOKEN_ALIKE:
            rows = connection.sql(f"SELECT id FROM t WHERE {text}").to_arrow_table()
            assert ids(rows) == FOUND[text], text


def test_duckdb_connections(table):
    with da.connect() as lake:
        for text in SPOKEN_ALIKE:
            rows = lake.sql(f"SELECT id FROM delta.'{table.table_uri}' WHERE {text}").to_arrow_table()
            assert ids(rows) == FOUND[text], text


def test_polars(table):
    for text in SPOKEN_ALIKE:
        frame = table.to_polars().filter(pl.sql_expr(text)).select("id").collect()
        assert sorted(frame["id"].to_list()) == FOUND[text], text


def test_the_rows_of_what_cannot_be_computed_are_not_guessed(table, tmp_path):
    for text in FAILING:
        with pytest.raises(DeltaError):
            table.to_pyarrow_table(filters=text)
        with pytest.raises(DeltaError):
            copied(table, tmp_path).delete(text)


@pytest.mark.spark
def test_spark_finds_the_rows_of_the_list(plain, spark):
    assert dict(zip(CASES, by_spark(spark, plain, [*CASES]), strict=True)) == CASES


def by_spark(spark, table, texts):
    """The rows for which Spark computes TRUE, None where it fails on a row.

    They are computed, as in WHERE its Parquet reader would tell the zeros apart.
    """
    frame = spark.read.format("delta").load(str(table.table_uri))
    numbers, *columns = tried_values(spark, frame, ["id", *texts], "id < 0").itercolumns()
    numbers = [each["v"] for each in numbers.to_pylist()]
    for column in columns:
        met = column.to_pylist()
        if None in met:
            yield None
        else:
            yield sorted(number for number, each in zip(numbers, met, strict=True) if each["v"])


NUMBERS = st.sampled_from(
    ["-1", "0", "1", "1.5", "2", "-0.0D", "3e0", "'NaN'", "'Infinity'", "NULL", "2147483647"]
)
COMPARED = st.builds(
    "{} {} {}".format,
    st.sampled_from(["d", "e", "f", "i", "q", "st.a", "st.x", "d + e", "-d", "coalesce(d, i)", "abs(f)"]),
    st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"]),
    NUMBERS | st.sampled_from(["d", "e", "q", "st.x"]),
)
LEAVES = COMPARED | st.sampled_from(
    [
        *("n LIKE 'a%'", "n LIKE '%b'", "upper(n) = 'B'", "n IS NULL", "ok", "ok IS NOT TRUE", "isnan(d)"),
        *(
            "d IN (1, 'NaN')",
            "i NOT IN (1, NULL)",
            "m < 1.005",
            "day < '2020-02-01'",
            "st IS NULL",
            "p > '1'",
        ),
    ]
)
CONDITIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("(NOT {})".format, inner),
        st.builds("(({}) IS NULL)".format, inner),
    ),
    max_leaves=4,
)


@given(CONDITIONS)
@settings(deadline=None, max_examples=examples(4))
def test_filters_find_what_delete_finds(plain, tmp_path_factory, text):
    found = outcome(lambda: ids(plain.to_pyarrow_table(filters=text)))
    assert found == outcome(lambda: deleted(plain, tmp_path_factory.getbasetemp(), text))


@pytest.mark.slow
@pytest.mark.spark
@given(st.lists(CONDITIONS, min_size=20, max_size=20))
@settings(deadline=None, max_examples=5)
def test_filters_find_what_spark_finds(plain, spark, texts):
    for text, wanted in zip(texts, by_spark(spark, plain, texts), strict=True):
        found = outcome(lambda text=text: ids(plain.to_pyarrow_table(filters=text)))
        assert found in (wanted, None), text


def outcome(find):
    try:
        return find()
    except DeltaError:
        return None
