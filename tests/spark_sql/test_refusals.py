"""Unsupported SQL is refused by name in every notation; hostile texts reach nothing."""

import contextlib

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.errors import (
    ConstraintViolationError,
    DeltaError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from deltaarrow.schema import Schema
from deltaarrow.spark_sql import evaluate, parse_expression, to_sandbox_sql
from deltaarrow.spark_sql.functions.registry import CHAPTERS
from tests.support.examples import examples

SCHEMA = Schema.from_arrow(
    pa.schema(
        [
            ("i", pa.int32()),
            ("d", pa.float64()),
            ("s", pa.string()),
            ("dt", pa.date32()),
            ("o", pa.bool_()),
            ("a", pa.list_(pa.int32())),
            ("st", pa.struct([("x", pa.int64())])),
            ("m", pa.map_(pa.string(), pa.int32())),
        ]
    )
)
BATCH = pa.RecordBatch.from_pylist(
    [{"i": 1, "d": 0.5, "s": "secret", "o": True, "a": [1], "st": {"x": 5}}, {}], schema=SCHEMA.to_arrow()
)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("try_cast('Yesterday ' AS DATE) = dt", "a time of the query"),
        ("read_csv('/etc/passwd') = 1", "READ_CSV"),
        ("read_text('/etc/passwd') IS NULL", "READ_TEXT"),
        ("getenv('HOME') = ''", "GETENV"),
        ("current_setting('TimeZone') = ''", "CURRENT_SETTING"),
        ("java_method('java.lang.Runtime', 'exit')", "JAVA_METHOD"),
        ("reflect('java.lang.System', 'exit')", "REFLECT"),
        ("rand() > 0", "RAND"),
        ("uuid() = ''", "UUID"),
        ("input_file_name() = ''", "INPUT_FILE_NAME"),
        ("query('SELECT 1')", "QUERY"),
        ("my.udf(i)", "other than a column"),
        ("count(i) > 0", "COUNT"),
        ("sum(i) OVER () > 0", "WINDOW"),
        ("transform(a, y -> y + 1)", "TRANSFORM"),
        ("exists(a, y -> y > 0)", "EXISTS"),
        ("(SELECT 1) = 1", "a subquery"),
        ("i IN (SELECT 1)", "a subquery"),
        ("EXISTS (SELECT 1)", "a subquery"),
        ("i = 1; DROP TABLE t", "several statements|;"),
        ("i = 1 -- AND i > 5", "between words|at the end"),
        ("i /* > 5 */ = 1", "between words"),
        ("/*+ hint */ i = 1", "between words"),
        ("i = @x", "PARAMETER|@"),
        ("i = :x", "PLACEHOLDER|:"),
        ("i = ?", "PLACEHOLDER|\\?"),
        ("*", "STAR"),
        ("i AS x", "ALIAS"),
        ("i = 1 COLLATE x", "COLLATE"),
        ("SET x = 1", "SET"),
        ("PRAGMA version", "PRAGMA"),
        ("ATTACH 'x'", "ATTACH"),
        ("i = 1 UNION SELECT 1", "UNION|parsed"),
        ("i\u00a0= 1", "outside quotes|between words"),
        ("i = \uff11", "outside quotes|between words"),
        ("ⅰ = 1", "outside quotes|between words"),
        ("i = '\\0'", "U\\+0000"),
        ("i = '\\uD800'", "escape"),
        ("d ^ 2 > 1", "\\^ of double"),
        ("i & 1 | 2 = 1", "BITWISEOR over BITWISEAND without parentheses"),
        ("power(d, 2) > 1", "POW"),
        ("CAST(d AS STRING) = ''", "double to string"),
        ("CAST(d AS DECIMAL(5,2)) = 1", "double to decimal"),
        ("CAST(i AS DATE) IS NULL", "integer to date"),
        ("datediff('day', dt, dt) = 1", "other than a unit name"),
        ("dateadd(days, 1, dt) = dt", "timestampadd by DAYS"),
        ("timestampdiff(dayofyear, dt, dt) = 1", "timestampdiff by DAYOFYEAR"),
        ("date_add(dt, 1.5) = dt", "days given as decimal"),
        ("CAST(s AS NVARCHAR(3)) = ''", "NVARCHAR"),
        ("try_cast(s AS ARRAY<INT>) = 1", "a cast from string to"),
        ("m = m", "map"),
        ("m[array(1)] = 1", "key of type"),
        ("map(1.5D, 1)[1.5D] = 1", "key of type double"),
        ("a['0'] = 1", "at a string"),
        ("struct(i, i) IS NULL", "two fields of one name"),
        ("greatest(a, a) IS NULL", "greatest of"),
        ("coalesce(a, s) IS NULL", "together with"),
        ("array(m) < array(m)", "map"),
        ("a = array(s)", "a comparison of"),
        ("lower(a)", "array"),
        ("s + s", "arithmetic of string"),
        ("i AND o", "integer"),
        ("greatest(s, 1) = 1", "text and other values"),
        ("s RLIKE '(?=x)'", "regular expression"),
        ("s RLIKE '(a)\\\\1'", "regular expression"),
        ("s RLIKE 'a*+'", "regular expression"),
        ("s RLIKE '(?i)a'", "regular expression"),
        ("s RLIKE '[a&&b]'", "regular expression"),
        ("s RLIKE '\\\\p{L}'", "regular expression"),
        ("s RLIKE 'a{2000}'", "regular expression"),
        ("s RLIKE s", "literal"),
        ("s LIKE s ESCAPE '!'", "ESCAPE"),
        ("s LIKE 'a' ESCAPE s", "ESCAPE"),
        ("s ILIKE 'a' ESCAPE '!'", "ESCAPE"),
        ("s ILIKE s", "an ILIKE pattern that is not a text literal"),
        ("split(s, 'a|b*')", "matches an empty text"),
        ("lpad(s, 2000000000, 'x')", "lpad"),
        ("date_format(dt, 'QQQ')", "date pattern"),
        ("date_format(dt, 'yyyyy')", "date pattern"),
        ("date_trunc(s, dt)", "literal"),
        ("dt = INTERVAL 1 MONTH", "INTERVAL of months"),
        ("i = 1 IN (true)", "without parentheses"),
        ("i < 1 = o", "without parentheses"),
        ("s || i + 1", "without parentheses"),
        ("left(s)", "1 arguments"),
        ("''", None),
    ],
)
def test_refused_by_name(text, named):
    if named is None:
        assert parse_expression(text, SCHEMA).columns == ()
        return
    with pytest.raises(UnsupportedFeatureError, match=named):
        parse_expression(text, SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000 + "i" + ")" * 5000,
        "NOT " * 3000 + "o",
        "- " * 3000 + "i",
        "i" + " + 1" * 10_000,
        "abs(" * 500 + "i" + ")" * 500,
        "CASE WHEN o THEN " * 500 + "1" + " END" * 500,
        "substring(" * 40 + "s" + ", i, i)" * 40,
        "a" + "[0]" * 3000,
        "'" + "x" * 100_000 + "'",
    ],
)
def test_long_and_deep_texts_are_refused_or_computed(text):
    with contextlib.suppress(UnsupportedFeatureError, ConstraintViolationError):
        evaluate(parse_expression(text, SCHEMA), BATCH)


@pytest.mark.parametrize("text", ["nothing = 1", "st.y = 1", "i.x = 1", "`st.x` = 1", "current_user = ''"])
def test_columns_that_are_not_there(text):
    with pytest.raises(SchemaMismatchError):
        parse_expression(text, SCHEMA)


def test_text_with_rules_of_its_own_is_refused():
    import json

    metadata = {"__COLLATIONS": {"s": "ICU.UNICODE_CI"}}
    field = {"name": "s", "type": "string", "nullable": True, "metadata": metadata}
    schema = Schema.from_json(json.dumps({"type": "struct", "fields": [field]}))
    with pytest.raises(UnsupportedFeatureError, match="column s"):
        parse_expression("s = 'a'", schema)


WORDS = [
    *(
        "i",
        "d",
        "s",
        "dt",
        "o",
        "a",
        "st.x",
        "`i`",
        "m",
        "1",
        "-1",
        "1.5",
        "1e3",
        "2L",
        "NULL",
        "TRUE",
        "''",
        "'a'",
    ),
    *(
        "'%'",
        "'^a$'",
        "'/etc/passwd'",
        '"; DROP"',
        "X'00'",
        "'\\\\'",
        "(",
        "(",
        "(",
        ")",
        ")",
        ")",
        ",",
        ",",
        ",",
    ),
    *(
        "[",
        "]",
        ".",
        "+",
        "-",
        "*",
        "/",
        "%",
        "div",
        "||",
        "=",
        "<",
        "<=>",
        "!=",
        "AND",
        "OR",
        "NOT",
        "IN",
        "LIKE",
    ),
    *(
        "RLIKE",
        "IS",
        "BETWEEN",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "CAST(",
        "AS",
        "INT",
        "STRING",
        "SELECT",
    ),
    *(
        "FROM",
        "->",
        "::",
        ";",
        "--",
        "/*",
        "*/",
        "read_csv",
        "read_text('x')",
        "getenv",
        "{",
        "}",
        "{0}",
        "$1",
    ),
    *("pg_sleep", "INTERVAL", "DATE '2020-01-01'", "current_date()", "OVER", "EXISTS", "batch", "c0", '"'),
    *(f"{name}(" for functions in CHAPTERS.values() for each in functions for name in each.names),
]


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=14).map(" ".join) | st.text(max_size=40))
def test_any_text_is_refused_or_reads_the_batch_alone(text):
    try:
        expression = parse_expression(text, SCHEMA)
    except DeltaError:
        return
    _check_reads_the_batch_alone(expression)


SIGNS = ["+", "-", "*", "/", "%", "div", "||", "=", "<", "<=>", "AND", "OR"]
PARTS = st.sampled_from(
    ["i", "d", "s", "dt", "o", "a", "st.x", "1", "0", "'a'", "NULL", "'2020-01-01'", "1.5"]
)
CALLS = [each for functions in CHAPTERS.values() for each in functions]


@settings(max_examples=examples(50), deadline=None)
@given(
    st.recursive(
        PARTS,
        lambda inner: st.one_of(
            st.tuples(st.sampled_from(CALLS), st.lists(inner, min_size=1, max_size=3)).map(
                lambda drawn: f"{drawn[0].names[0]}({', '.join(drawn[1][: drawn[0].arity[1]])})"
            ),
            st.tuples(inner, st.sampled_from(SIGNS), inner).map(
                lambda drawn: f"({drawn[0]}) {drawn[1]} ({drawn[2]})"
            ),
        ),
        max_leaves=6,
    )
)
def test_calls_of_listed_functions_are_refused_or_computed(text):
    try:
        expression = parse_expression(text, SCHEMA)
    except DeltaError:
        return
    _check_reads_the_batch_alone(expression)


def _check_reads_the_batch_alone(expression):
    sql = to_sandbox_sql(expression, {path: f"c{i}" for i, path in enumerate(expression.columns)}, now_ms=0)
    tokens = duckdb.tokenize(sql)
    words = {
        sql[start : tokens[i + 1][0] if i + 1 < len(tokens) else None].strip().lower()
        for i, (start, kind) in enumerate(tokens)
        if kind in (duckdb.token_type.keyword, duckdb.token_type.identifier)
    }
    assert not words & {
        "select",
        "with",
        "set",
        "pragma",
        "attach",
        "copy",
        "read_csv",
        "read_text",
        "getenv",
    }
    try:
        values = evaluate(expression, BATCH)
    except (ConstraintViolationError, UnsupportedFeatureError):
        return
    assert len(values) == BATCH.num_rows
