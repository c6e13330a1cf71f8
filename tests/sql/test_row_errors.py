"""Errors of the rows of queries: Spark's class wherever the rows are read, with the place in the text."""

import duckdb
import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow.errors import ConstraintViolationError, CorruptDataFileError, UnsupportedFeatureError
from tests.support.sql_scripts import OneNode

FAILING = "SELECT id, 10 / id AS share FROM lake.numbers"


def connected(folder):
    deltaarrow.write_deltalake(f"{folder}/numbers", pa.table({"id": pa.array([1, 0], pa.int32())}))
    return deltaarrow.connect(dialect="spark").attach(folder, "lake")


@pytest.fixture(scope="module")
def con(tmp_path_factory):
    with connected(tmp_path_factory.mktemp("lake")) as connection:
        yield connection


READS = {
    "fetchall": lambda rows: rows.fetchall(),
    "fetchnumpy": lambda rows: rows.fetchnumpy(),
    "df": lambda rows: rows.df(),
    "pl": lambda rows: rows.pl(),
    "to_arrow_table": lambda rows: rows.to_arrow_table(),
    "to_arrow_reader": lambda rows: rows.to_arrow_reader().read_all(),
    "capsule": lambda rows: pa.table(rows),
}
OF_RELATIONS = {
    "shown": str,
    "column": lambda rows: rows["share"].fetchall(),
    "attribute": lambda rows: rows.share.fetchall(),
    "filter": lambda rows: rows.filter("share > 1").fetchall(),
    "chain": lambda rows: rows.filter("id = 0").project("share").order("share").fetchall(),
    "join": lambda rows: rows.join(rows.set_alias("other"), "id").fetchall(),
    "table": lambda rows: rows.create("made"),
}


@pytest.mark.parametrize("read", [*READS, *OF_RELATIONS])
def test_every_way_to_read_a_relation_raises_sparks_class(con, read):
    with pytest.raises(ConstraintViolationError, match=r"^\[DIVIDE_BY_ZERO\]"):
        (READS | OF_RELATIONS)[read](con.sql(FAILING))


@pytest.mark.parametrize("read", [name for name in READS if name != "capsule"])
def test_every_way_to_read_an_executed_statement_raises_sparks_class(con, read):
    with pytest.raises(ConstraintViolationError, match=r"^\[DIVIDE_BY_ZERO\]"):
        READS[read](con.execute(FAILING))


def test_rows_before_the_one_that_fails_can_be_read(con):
    assert con.sql(FAILING).filter("id = 1").fetchall() == [(1, 10.0)]


def test_relation_is_one_of_duckdb_and_can_be_used_as_such(con):
    rows = con.sql("SELECT id FROM lake.numbers WHERE id = 1")
    assert isinstance(rows, duckdb.DuckDBPyRelation)
    assert con.sql("SELECT * FROM rows", dialect="duckdb").fetchall() == [(1,)]
    assert con.register("given", rows).sql("SELECT id + 1 FROM given").fetchall() == [(2,)]
    assert rows.union(rows).fetchall() == [(1,), (1,)]
    assert (rows.columns, len(rows)) == (["id"], 1)
    with pytest.raises(AttributeError):
        _ = rows.nothing


CLASSES = {
    "2147483647 + id": "ARITHMETIC_OVERFLOW",
    "CAST(100 AS TINYINT) + CAST(id + 99 AS TINYINT)": "BINARY_ARITHMETIC_OVERFLOW",
    "abs(CAST(id - 2147483648 AS INT) - 1)": "ARITHMETIC_OVERFLOW",
    "round(2147483646 + id, -1)": "ARITHMETIC_OVERFLOW",
    "sum(9223372036854775806 + id) OVER () + 1": "ARITHMETIC_OVERFLOW",
    "5 % (id - 1)": "REMAINDER_BY_ZERO",
    "pmod(5, id - 1)": "REMAINDER_BY_ZERO",
    "CAST(concat('x', id) AS INT)": "CAST_INVALID_INPUT",
    "CAST(concat('300000000', id) AS INT)": "CAST_INVALID_INPUT",
    "CAST(concat('2023-02-3', id) AS DATE)": "CAST_INVALID_INPUT",
    "CAST(concat('2023-02-03 25:0', id) AS TIMESTAMP)": "CAST_INVALID_INPUT",
    "CAST(concat('x', id) AS BOOLEAN)": "CAST_INVALID_INPUT",
    "CAST(id + 300 AS TINYINT)": "CAST_OVERFLOW",
    "CAST(id * 1e20D AS INT)": "CAST_OVERFLOW",
    "CAST(id * 12345.6BD AS TINYINT)": "CAST_OVERFLOW",
    "CAST(id * 1234 AS DECIMAL(3,1))": "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION",
    "CAST(concat('1234', id) AS DECIMAL(3,1))": "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION",
    "CAST(id * 1234.5BD AS DECIMAL(3,1))": "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION",
    "coalesce(array(1, 2, id))[id + 4]": "INVALID_ARRAY_INDEX",
    "element_at(array(1, id), id + 4)": "INVALID_ARRAY_INDEX_IN_ELEMENT_AT",
    "element_at(array(1, id), id - 1)": "INVALID_INDEX_OF_ZERO",
    "slice(array(1, id), id - 1, 1)": "INVALID_PARAMETER_VALUE.START",
    "slice(array(1, id), 1, id - 2)": "INVALID_PARAMETER_VALUE.LENGTH",
    "elt(id + 4, 'a', 'b')": "INVALID_ARRAY_INDEX",
    "split_part('a,b', ',', id - 1)": "INVALID_INDEX_OF_ZERO",
    "map(1, 2, id, 3)": "DUPLICATED_MAP_KEY",
    "map_from_arrays(array(nullif(id, 1)), array(1))": "NULL_MAP_KEY",
    "getbit(5, id + 70)": "INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE",
    "make_date(2023, 2, id + 29)": "DATETIME_FIELD_OUT_OF_BOUNDS.WITH_SUGGESTION",
    "make_timestamp(2023, 2, 1, id + 24, 0, 0)": "DATETIME_FIELD_OUT_OF_BOUNDS.WITH_SUGGESTION",
    "to_date(concat('2023-02-3', id), 'yyyy-MM-dd')": "CANNOT_PARSE_TIMESTAMP",
    "url_decode(concat('%z', id))": "CANNOT_DECODE_URL",
    "raise_error(concat('no ', id))": "USER_RAISED_EXCEPTION",
    "assert_true(id > 1)": "USER_RAISED_EXCEPTION",
    "(SELECT x FROM VALUES (1), (2) AS v(x))": "SCALAR_SUBQUERY_TOO_MANY_ROWS",
}
"""Spark 4.2 names these classes; it gives the last one to what its driver wraps."""


def test_errors_of_rows_have_sparks_class(con):
    found = {}
    for text in CLASSES:
        with pytest.raises(ConstraintViolationError) as refused:
            con.sql(f"SELECT {text} FROM lake.numbers WHERE id = 1").fetchall()
        found[text] = OneNode.error_class(None, refused.value)
    assert found == CLASSES


def test_caret_is_below_the_call_that_raises(con):
    text = "SELECT id,\n  1 + coalesce(NULL, 10 / id) AS share\nFROM lake.numbers"
    with pytest.raises(ConstraintViolationError) as refused:
        con.sql(text).fetchall()
    *_, line, caret = str(refused.value).split("\n")
    assert "in line 2 of the statement" in str(refused.value)
    assert line[caret.index("^") :].startswith("10 / id")


def test_row_of_a_view_has_no_place_in_the_statement_that_reads_it(con):
    con.sql("CREATE TEMP VIEW shares AS SELECT 10 / id AS share FROM lake.numbers")
    with pytest.raises(ConstraintViolationError) as refused:
        con.sql("SELECT share FROM shares").fetchall()
    assert str(refused.value).startswith("[DIVIDE_BY_ZERO] ")
    assert "^" not in str(refused.value)


def test_statement_raises_what_a_query_raises(con):
    for text in (
        "UPDATE lake.numbers SET id = CAST(10 / id AS INT)",
        "DELETE FROM lake.numbers WHERE 1 / id > 0",
    ):
        with pytest.raises(ConstraintViolationError, match=r"^\[DIVIDE_BY_ZERO\]") as refused:
            con.sql(text)
        *_, line, caret = str(refused.value).split("\n")
        assert line[caret.index("^") :].startswith(("10 / id", "1 / id"))


def test_value_that_is_not_supported_is_not_called_wrong(con):
    with pytest.raises(UnsupportedFeatureError, match="a time outside the years 1 to 9999 is not supported"):
        con.sql("SELECT timestamp_seconds(id * 9000000000000) FROM lake.numbers").fetchall()


def test_duckdbs_dialect_raises_what_duckdb_raises(con):
    with pytest.raises(duckdb.OutOfRangeException, match="Overflow"):
        con.sql("SELECT 2147483647 + id FROM lake.numbers", dialect="duckdb").fetchall()


def test_relation_names_a_damaged_file_in_both_dialects(tmp_path):
    con = connected(tmp_path)
    [file] = (tmp_path / "numbers").glob("*.parquet")
    found = [
        con.sql("SELECT id FROM lake.numbers WHERE id > 0", dialect=each) for each in ("spark", "duckdb")
    ]
    file.write_bytes(b"PAR1")
    for rows in found:
        with pytest.raises(CorruptDataFileError, match=file.name):
            rows.fetchall()
