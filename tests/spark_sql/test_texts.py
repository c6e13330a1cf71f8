"""Text functions: letters with certain case, patterns, literals as Spark reads them."""

import pyarrow as pa
import pytest

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.schema import Schema
from deltaarrow.spark_sql import evaluate, parse_expression

SCHEMA = Schema.from_arrow(pa.schema([("s", pa.string())]))


def values(text, *given):
    return evaluate(
        parse_expression(text, SCHEMA), pa.record_batch({"s": pa.array(given, pa.string())})
    ).to_pylist()


def test_letters_have_the_case_that_unicode_gives_them():
    letters = [
        chr(code) for code in (*range(1, 0x600), *range(0x600, 0x10000, 97)) if not 0xD800 <= code < 0xE000
    ]
    certain = []
    for block in (letters[start : start + 8] for start in range(0, len(letters), 8)):
        try:
            values("lower(s)", *block)
            certain += block
        except UnsupportedFeatureError:
            certain += [letter for letter in block if letter in "aÉЖ"]
    assert values("lower(s)", *certain) == [letter.lower() for letter in certain]
    assert values("upper(s)", *certain) == [letter.upper() for letter in certain]
    assert {"a", "É", "Ж"} <= set(certain)
    assert not {"ß", "ÿ", "µ", "İ", "Σ", "ŉ"} & set(certain)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a$", "a\n", True),
        ("a$", "a\n\n", False),
        ("a$", "a\u2028", True),
        ("^a.b$", "a\u0085b", False),
        ("^a.b$", "a\tb", True),
        ("^\\\\s$", "\x0b", True),
        ("[\\\\s]", "\x0b", True),
        ("^\\\\S$", "\x0b", False),
        ("^\\\\w$", "é", False),
    ],
)
def test_regular_expressions_are_those_of_java(pattern, text, found):
    assert values(f"s RLIKE '{pattern}'", text) == [found]


def test_a_carriage_return_beside_a_dollar_is_refused():
    with pytest.raises(UnsupportedFeatureError, match="carriage return"):
        values("s RLIKE 'a$'", "a\r\n")


@pytest.mark.parametrize("text", ["{", "}", "{0}", "{now}", "'", "%", '"', "\\", "$1"])
def test_any_text_may_be_a_literal(text):
    literal = "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    assert values(f"concat({literal}, {literal})", None) == [text * 2]
    assert values(f"s = {literal}", text) == [True]


def test_any_name_may_be_a_column():
    name = 'a`b"c {0}.d'
    schema = Schema.from_arrow(pa.schema([(name, pa.int64())]))
    expression = parse_expression("`" + name.replace("`", "``") + "` + 1", schema)
    assert evaluate(expression, pa.record_batch({name: [1]})).to_pylist() == [2]


def test_what_follows_a_decision_is_not_computed():
    assert values("length(s) <> 0 AND 1 / length(s) > 0", "", "ab", None) == [False, True, None]
    assert values("length(s) = 0 OR 1 / length(s) > 0", "", "ab", None) == [True, True, None]
    assert values("if(s = '', 0, 1 div length(s))", "", "a") == [0, 1]
