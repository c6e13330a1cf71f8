"""Short conditions are read as sqlglot reads them; all other texts are left to it."""

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import InvalidPredicateError, SchemaMismatchError
from deltaarrow.spark_sql.placing import _start_of
from deltaarrow.spark_sql.short_trees import KEYWORDS, short_tree
from deltaarrow.spark_sql.syntax import _ExpressionText, expression_dialect, parse_statement
from tests.support.examples import examples

SHORT = [
    "id = 5",
    "id=-5",
    "t.id = s.id",
    "t . id == s.`a b`",
    "id <=> 1.50 AND a != b and c<>d AnD e < 1 AND f<=2 AND g > 3 AND h>=007",
    "id IN (1, 'b',-3) AND name = 'x y; -- /* é'",
    "is_open AND is_paid = TRUE",
    "'b'",
    "name",
    "`Größe` = ''",
    "2",
    "-1",
    "false",
    " a\n=\t1 ",
]
LEFT = [
    "",
    "id = 5L",
    "id = 5.",
    "id = .5",
    "id = 1e3",
    "id = 0x1F",
    "id = - -5",
    "id = 'it''s'",
    "id = 'a\\\\n'",
    "id = 'a' 'b'",
    "name = x'ab'",
    'name = "b"',
    "date = '2026-01-01'",
    "day = DATE '2026-01-01'",
    "a OR b",
    "(a = 1)",
    "NOT a",
    "a = b = c",
    "a + 1 = 2",
    "a BETWEEN 1 AND 2",
    "a IN (b)",
    "a IN ()",
    "a IS NULL",
    "a.b.c = 1",
    "a. = 1",
    "f(a) = 1",
    "a[0] = 1",
    "a = 1;",
    "a = 1 -- comment",
    "a = $1",
    "größe = 1",
    "a = 1 AND",
    "a = '\ud800'",
    "a = 'b",
    "`a``b` = 1",
    "a = 1\u00a0",
    "a" * 1001,
]


def parsed(text):
    return parse_statement(text, _ExpressionText(is_stored=False))


def shape(tree):
    """A tree as values: its keys, its names and literals, and where each part begins."""
    leaves = {name: value for name, value in tree.args.items() if isinstance(value, str | bool)}
    parts = {name: value for name, value in tree.args.items() if value and name not in leaves}
    below = {
        name: [shape(each) for each in (value if isinstance(value, list) else [value])]
        for name, value in parts.items()
    }
    return tree.key, leaves, below, _start_of(tree), tree.name if tree.key == "column" else ""


def ensure_same(text):
    found, own = short_tree(text), parsed(text)
    assert found is not None
    assert shape(found) == shape(own)
    assert found.sql(dialect="spark", comments=False) == own.sql(dialect="spark", comments=False)


@pytest.mark.parametrize("text", SHORT)
def test_short_texts_have_the_trees_of_sqlglot(text):
    ensure_same(text)


@pytest.mark.parametrize("text", LEFT)
def test_other_texts_are_left_to_sqlglot(text):
    assert short_tree(text) is None


def test_keywords_of_sqlglot_are_no_names():
    words = {word for word in expression_dialect().tokenizer_class.KEYWORDS if word.isidentifier()}
    assert words <= KEYWORDS
    parser = expression_dialect().parser_class
    others = {
        *parser.FUNCTION_PARSERS,
        *parser.NO_PAREN_FUNCTION_PARSERS,
        "x",
        "e",
        "r",
        "b",
        "n",
        "u",
        "_utf8",
    }
    for word in (each.lower() for each in others - KEYWORDS):
        ensure_same(f"{word} = 1 AND t.{word} IN ('a')")


WORDS = r"""
id t name `a` date x r 5 1.5 007 -3 'b' '' '--' TRUE false NULL AND and OR NOT IN IS = == <> != < <= > >= <=>
. , ( ) - + * ; : :: 5L 1e3 .5 "q" -- /* upper [ ] @ $1 \\ é
"""
TOKENS = st.sampled_from(WORDS.split())


@settings(deadline=None, max_examples=examples(100))
@given(st.lists(TOKENS, max_size=9), st.sampled_from(["", " "]))
def test_whatever_is_read_short_is_read_the_same(tokens, blank):
    text = blank.join(tokens)
    if short_tree(text) is not None:
        ensure_same(text)


def test_errors_in_short_texts_tell_their_place(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": [1], "name": ["a"]}))
    table = DeltaTable(tmp_path)
    with pytest.raises(SchemaMismatchError, match="did you mean `id`") as caught:
        table.delete("name = 'a' AND idd = 5")
    assert caught.value.place == ("name = 'a' AND idd = 5", 15)
    with pytest.raises(InvalidPredicateError, match="'5' is not a condition"):
        table.delete("5")
