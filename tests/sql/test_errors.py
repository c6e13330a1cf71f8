"""Errors of statements: Spark's class, the place in the text with a caret, near names, and no secret."""

import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow.errors import (
    ConstraintViolationError,
    DeltaError,
    InvalidPredicateError,
    TableNotFoundError,
    UnsupportedFeatureError,
)


@pytest.fixture
def con(tmp_path):
    data = pa.table({"id": [1, 2], "p": ["a", "b"]})
    deltaarrow.write_deltalake(f"{tmp_path}/orders", data, partition_by=["p"])
    with deltaarrow.connect(dialect="spark") as connection:
        yield connection.attach(tmp_path, "lake")


def refusal(con, text, dialect="spark"):
    with pytest.raises(DeltaError) as refused:
        con.sql(text, dialect=dialect)
    return str(refused.value)


def assert_points_at(message, text, word):
    """The caret is below the first letter of the word, which is in the text once."""
    *_, line, caret = message.split("\n")
    shown = next(each for each in text.split("\n") if word in each)
    assert line == f"  {shown}"
    assert caret == "  " + " " * shown.index(word) + "^"


SYNTAX = {
    "OPTIMIZE lake.orders nonsense": "nonsense",
    "VACUUM lake.orders\n  RETAIN three HOURS": "three",
    "RESTORE lake.orders TO VERSION AS OF 'x'": "'x'",
    "OPTIMISE lake.orders": "OPTIMISE",
    "SELECT id FROM lake.orders\n  WHERE p = 'a": "'a",
    "SELECT 1 AS one, `two": "`two",
    "SELECT 1; SELECT 'it": "'it",
    "SELECT CASE WHEN id = 1 'one' END FROM lake.orders": "WHEN",
    "SELECT id + 1e FROM lake.orders": "1e",
    "SELECT id FROM lake.orders WHERE id = (2": "2",
}


@pytest.mark.parametrize("text", SYNTAX)
def test_syntax_error_points_at_the_word(con, text):
    message = refusal(con, text)
    assert message.startswith("[PARSE_SYNTAX_ERROR] ")
    assert_points_at(message, text, SYNTAX[text])


def test_near_statements_are_named(con):
    assert "did you mean `OPTIMIZE`, and there is 'OPTIMISE'" in refusal(con, "OPTIMISE lake.orders")


INSIDE = {
    "OPTIMIZE lake.orders WHERE p = 'a' AND\n  nope(p) = 1": ("UNRESOLVED_ROUTINE", "nope"),
    "OPTIMIZE lake.orders WHERE pp = 'a' ZORDER BY (id)": ("UNRESOLVED_COLUMN.WITH_SUGGESTION", "pp"),
    "OPTIMIZE lake.orders WHERE p = = 'a'": ("PARSE_SYNTAX_ERROR", "= 'a'"),
    "DELETE FROM lake.orders WHERE idd = 1": ("UNRESOLVED_COLUMN.WITH_SUGGESTION", "idd"),
    "UPDATE lake.orders SET id = twice(id)": ("UNRESOLVED_ROUTINE", "twice"),
}


@pytest.mark.parametrize("text", INSIDE)
def test_error_in_an_expression_points_at_its_place_in_the_statement(con, text):
    name, word = INSIDE[text]
    message = refusal(con, text)
    assert message.startswith(f"[{name}] ")
    assert "at character" not in message
    assert_points_at(message, text, word)


def test_expression_that_stands_twice_in_a_statement_shows_no_place(con):
    text = "MERGE INTO lake.orders t USING lake.orders s ON nope(1) WHEN MATCHED AND nope(1) THEN DELETE"
    assert "of the statement" not in refusal(con, text)


@pytest.mark.parametrize("text", ["OPTIMIZE {}", "VACUUM\n{} DRY RUN", "SELECT * FROM\n  {}"])
@pytest.mark.parametrize("name", ["lake.ordres", "laek.orders", "`ordres`"])
def test_unknown_table_is_pointed_at_with_near_names(con, text, name):
    con.catalog.current = "lake" if name == "`ordres`" else None
    text = text.format(name)
    with pytest.raises(TableNotFoundError) as refused:
        con.sql(text)
    message = str(refused.value)
    assert message.startswith("[TABLE_OR_VIEW_NOT_FOUND] ")
    assert f"; did you mean `{'lake' if name.startswith('laek') else 'orders'}`?" in message
    assert_points_at(message, text, name)


def test_path_without_a_table_is_pointed_at(con, tmp_path):
    text = f"OPTIMIZE delta.`{tmp_path.name}/nothing`"
    assert_points_at(refusal(con, text), text, "delta")


def test_error_keeps_its_class_and_arguments(con):
    with pytest.raises(InvalidPredicateError):
        con.sql("OPTIMIZE lake.orders WHERE pp = 1")
    with pytest.raises(UnsupportedFeatureError) as refused:
        con.sql("CACHE TABLE t")
    assert refused.value.feature == "CACHE TABLE"


SECRETS = [
    "OPTIMIZE delta.`https://ann:hunter2@host/t?sig=hunter2` nonsense",
    "OPTIMIZE delta.`https://ann:hunter2@host/t?sig=hunter2` WHERE nope(1)",
    "VACUUM 'https://ann:hunter2@host/" + "x" * 80 + "?sig=hunter2' hunter",
    "FOO 'https://ann:hunter2@host/t?token=hunter2'",
    "GENERATE 'https://ann:hunter2@host/t?token=hunter2'",
]


@pytest.mark.parametrize("text", SECRETS)
@pytest.mark.parametrize("dialect", ["spark", "duckdb"])
def test_no_secret_is_shown(con, text, dialect):
    if dialect == "duckdb":
        text = text.replace("FOO", "OPTIMIZE lake.orders").replace("VACUUM", "OPTIMIZE")
    assert "hunter2" not in refusal(con, text, dialect)


def test_long_line_is_cut_around_the_place(con):
    text = f"OPTIMIZE lake.orders WHERE p = '{'x' * 300}' AND nope(p) = '{'y' * 300}'"
    *_, line, caret = refusal(con, text).split("\n")
    assert len(line) < 130
    assert line[caret.index("^") :].startswith("nope(")


SEVERAL = {
    "SELECT 1;\n-- then\nOPTIMIZE lake.nothing;\nSELECT 3": "2 of 3, in line 3 of the text; the one before",
    "OPTIMIZE lake.nothing; SELECT 2": "1 of 2, in line 1 of the text; nothing was carried out",
    "SELECT 1;;\nSELECT 2;\nSELECT raise_error(';');": "3 of 3, in line 3 of the text; those before",
}


@pytest.mark.parametrize("text", SEVERAL)
def test_error_tells_which_statement_of_several_failed(con, text):
    with pytest.raises(DeltaError) as refused:
        con.sql(text).fetchall()
    [note] = refused.value.__notes__
    assert note.startswith(f"This is statement {SEVERAL[text]}")


def test_statements_before_the_one_that_fails_were_carried_out(con):
    with pytest.raises(TableNotFoundError):
        con.sql("DELETE FROM lake.orders WHERE id = 1; DELETE FROM lake.nothing; DELETE FROM lake.orders")
    assert con.sql("SELECT id FROM lake.orders").fetchall() == [(2,)]


def test_error_of_a_statement_alone_has_no_note(con):
    with pytest.raises(TableNotFoundError) as refused:
        con.sql("OPTIMIZE lake.nothing;")
    assert not hasattr(refused.value, "__notes__")


def test_queries_before_the_last_statement_are_run_to_their_end(con):
    assert con.sql("SELECT * FROM range(10000); SELECT 2").fetchall() == [(2,)]
    with pytest.raises(ConstraintViolationError, match="no more"):
        con.sql("SELECT assert_true(id < 5000, 'no more') FROM range(10000); SELECT 2")
