"""Statements as text: where they end, and which tables and calls stand in them."""

import pytest

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.spark_sql import (
    FunctionCall,
    TableName,
    Words,
    function_calls,
    split_statements,
    table_places,
)

SPLIT = {
    "SELECT 1": ["SELECT 1"],
    "": [],
    ";; -- nothing; here\n ;": [],
    "SELECT ';', \";\", `;`, r';\\'; SELECT 2": ["SELECT ';', \";\", `;`, r';\\'", "SELECT 2"],
    "SELECT 'it''s;', 'a\\';b'; SELECT 2": ["SELECT 'it''s;', 'a\\';b'", "SELECT 2"],
    "SELECT 1 -- one;\n, 2 /* two; */ , 3": ["SELECT 1\n, 2 , 3"],
    "SELECT 1--1\n+ 2": ["SELECT 1\n+ 2"],
    "SELECT /*+ BROADCAST(a) */ 3L, ${n} FROM größe": ["SELECT /*+ BROADCAST(a) */ 3L, ${n} FROM größe"],
    "SELECT '-- no comment' - -1": ["SELECT '-- no comment' - -1"],
}


@pytest.mark.parametrize("text", SPLIT)
def test_statements_end_at_semicolons_and_have_no_comments(text):
    assert split_statements(text) == SPLIT[text]


@pytest.mark.parametrize("text", ["SELECT 'a", 'SELECT "a', "SELECT `a", "SELECT /* a"])
def test_what_is_not_closed_is_refused(text):
    with pytest.raises(UnsupportedFeatureError, match="cannot parse"):
        split_statements(text)


def test_tables_by_path_are_those_in_backticks():
    text = "SELECT delta.a, 'delta.`/b`' FROM DELTA . `/c d/é` JOIN delta.`/e``f` -- delta.`/g`"
    found = table_places(text)
    assert [place.path for place in found] == ["/c d/é", "/e`f"]
    assert [text[place.start : place.end] for place in found] == ["DELTA . `/c d/é`", "delta.`/e``f`"]


@pytest.mark.parametrize("text", ["OPTIMIZE delta.`/a`", "VACUUM delta.`/a` FULL", "CALL f(delta.`/a`)"])
def test_tables_by_path_are_found_in_statements_of_any_kind(text):
    assert [place.path for place in table_places(text)] == ["/a"]
    assert split_statements(f"{text};{text}") == [text, text]


def test_calls_are_found_wherever_they_are_but_in_quotes():
    text = "SELECT F ( 'a''b' , 2 ), `f`('x'), 'f()', f FROM f()"
    assert function_calls(text, "f") == [
        FunctionCall(("a'b", 2), 7, 23),
        FunctionCall((), len(text) - 3, len(text)),
    ]
    for argument in ("x", "1.5", "-1", "'a' 'b'", "", "9" * 5000):
        with pytest.raises(UnsupportedFeatureError, match="in line 1 of the statement:\n  SELECT"):
            function_calls(f"SELECT f(1, {argument}", "f")


def test_words_that_are_names_end_nothing():
    words = Words("a.when = CASE WHEN `WHEN` > 1 THEN (1 WHEN 2) END AND 'WHEN' = [WHEN] WHEN b")
    assert words.until("WHEN") == "a.when = CASE WHEN `WHEN` > 1 THEN (1 WHEN 2) END AND 'WHEN' = [WHEN]"
    words.expect("when")
    assert (words.name("a column"), words.is_done, words.until("x")) == ("b", True, "")


def test_refusal_at_the_end_points_behind_the_last_word():
    with pytest.raises(UnsupportedFeatureError) as refused:
        Words("GENERATE\n  x \n").expect_end()
    assert str(refused.value).endswith("in line 1 of the statement:\n  GENERATE\n  ^")
    words = Words("GENERATE  ")
    words.expect("GENERATE")
    with pytest.raises(UnsupportedFeatureError) as refused:
        words.name("a name")
    assert str(refused.value).endswith(
        "there is the end in line 1 of the statement:\n  GENERATE\n          ^"
    )


def test_refusal_shows_no_secret():
    for text in ("VACUUM 'https://ann:{}@h/t?sig={}' x", "VACUUM x y 'https://ann:{}@h/t?sig={}'"):
        words = Words(text.format("p" * 90, "s" * 90))
        words.expect("VACUUM")
        for _ in range(3):
            shown = str(words.refused("the end is expected"))
            assert "pp" not in shown and "ss" not in shown
            words.skip()


def test_text_in_quotes_is_read_as_its_dialect_reads_it():
    assert Words(r"'a\tb\u0041'").string("a text") == "a\tbA"
    assert Words(r"r'a\tb'").string("a text") == r"a\tb"
    assert Words(r"'a\tb''c'", "duckdb").string("a text") == r"a\tb'c"
    assert Words('"x"').string("a text") == "x"
    with pytest.raises(UnsupportedFeatureError, match="a text in quotes, is expected"):
        Words('"x"', "duckdb").string("a text")


def test_table_is_named_or_its_path_is_given_in_quotes():
    assert Words("'/data/t'").table_name_or_path() == TableName(("delta", "/data/t"))
    assert Words("a.b").table_name_or_path() == TableName(("a", "b"))
    with pytest.raises(UnsupportedFeatureError, match="the path of a table is expected, and there is"):
        Words("''").table_name_or_path()


def test_column_in_double_quotes_is_returned_in_backticks():
    assert Words('"a b"."c`d".e', "duckdb").column() == "`a b`.`c``d`.e"
