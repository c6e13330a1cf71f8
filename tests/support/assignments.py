"""Values that users assign to columns, in Spark SQL, and which of them Spark refuses for the column."""

from typing import NamedTuple

__all__ = ["COLUMNS", "REFUSED", "ROWS", "TAKEN", "Assignment"]


class Assignment(NamedTuple):
    """A column of a type, and what it is assigned by UPDATE; beside it there are those of `ROWS`."""

    type: str
    text: str


COLUMNS = (
    "id INT, x DOUBLE, s STRING, at TIMESTAMP, day DATE, xs ARRAY<INT>, m MAP<STRING, INT>,"
    " st STRUCT<a: INT, b: STRING>, many ARRAY<STRUCT<a: INT, b: STRING>>, times MAP<DATE, TIMESTAMP>"
)
ROWS = (
    "(1, 0.5, 'a', TIMESTAMP'2024-02-29 13:14:15.123456', DATE'2024-02-29', array(1, NULL), map('a', 1),"
    " named_struct('a', 1, 'b', 'x'), array(named_struct('a', 5, 'b', 'y'), NULL),"
    " map(DATE'2020-01-01', TIMESTAMP'1969-12-31 23:59:59.9')), "
    "(2, NULL, NULL, NULL, NULL, array(7, 8), map('b', 2, 'c', NULL), NULL, array(), map()), "
    "(3, double('NaN'), '12', TIMESTAMP'0001-01-01 00:00:00', DATE'9999-12-31', array(3, 2, 1), map(), "
    " named_struct('a', NULL, 'b', NULL), NULL, NULL)"
)
"""The other columns, and the rows."""

_PAIR = "STRUCT<a: INT, b: STRING>"

TAKEN = [
    Assignment(*each)
    for each in [
        ("ARRAY<INT>", "array(id, 2, NULL)"),
        ("ARRAY<INT>", "array()"),
        ("ARRAY<INT>", "array('1', '2')"),
        ("ARRAY<INT>", "array(1.5, id)"),
        ("ARRAY<INT>", "if(id = 1, xs, array(9L))"),
        ("ARRAY<INT>", "coalesce(xs, array())"),
        ("ARRAY<DOUBLE>", "xs"),
        ("ARRAY<TIMESTAMP>", "array(at, day)"),
        ("ARRAY<STRING>", "array(CAST(at AS STRING), s)"),
        ("ARRAY<ARRAY<INT>>", "array(xs, NULL, array(id))"),
        ("INT", "xs[id - id]"),
        ("INT", "if(id = 1, many[0].a, 0)"),
        ("INT", "m[s]"),
        ("BIGINT", "size(m) + size(xs)"),
        ("TIMESTAMP", "times[DATE'2020-01-01']"),
        ("MAP<STRING, INT>", "map(coalesce(s, 'none'), id)"),
        ("MAP<STRING, BIGINT>", "m"),
        ("MAP<INT, STRING>", "map('7', id)"),
        ("MAP<DATE, TIMESTAMP>", "times"),
        ("MAP<DATE, STRING>", "times"),
        ("MAP<STRING, INT>", "map()"),
        ("MAP<STRING, ARRAY<TIMESTAMP>>", "map('t', array(at, at), 'd', array(day))"),
        (_PAIR, "named_struct('b', s, 'a', id)"),
        (_PAIR, "named_struct('B', s, 'A', '77')"),
        (_PAIR, "struct(id AS a, x IS NULL AS b)"),
        (_PAIR, "struct(st.b, st.a)"),
        (_PAIR, "if(id = 1, named_struct('a', 1L, 'b', 'k'), st)"),
        (_PAIR, "map('k', st)['k']"),
        ("STRUCT<b: STRING, a: BIGINT>", "st"),
        ("STRUCT<at: TIMESTAMP, days: ARRAY<DATE>>", "struct(array(day) AS days, at)"),
        (f"ARRAY<{_PAIR}>", "array(named_struct('b', s, 'a', id))"),
        ("ARRAY<STRUCT<b: STRING, a: BIGINT>>", "many"),
        (f"ARRAY<ARRAY<{_PAIR}>>", "array(array(named_struct('b', 2, 'a', '3')))"),
        (f"MAP<STRING, {_PAIR}>", "map('q', named_struct('b', 'y', 'a', 2))"),
        ("STRUCT<p: STRUCT<b: STRING, a: INT>, q: INT>", "named_struct('q', id, 'p', st)"),
        (_PAIR, "NULL"),
        ("ARRAY<INT>", "CASE WHEN id > 5 THEN NULL END"),
    ]
]
"""What Spark assigns."""

REFUSED = [
    Assignment(*each)
    for each in [
        (_PAIR, "named_struct('a', 4)"),
        (_PAIR, "named_struct('a', 4, 'b', 'q', 'c', 1)"),
        (_PAIR, "struct(5, 'x')"),
        (_PAIR, "struct(id, st.b)"),
        (_PAIR, "5"),
        ("INT", "st"),
        ("INT", "xs"),
        ("ARRAY<INT>", "5"),
        ("INT", "xs['0']"),
        ("INT", "st.nothing"),
        ("INT", "s.a"),
        (f"ARRAY<{_PAIR}>", "array(named_struct('a', 2))"),
        (f"MAP<STRING, {_PAIR}>", "map('q', named_struct('a', 2))"),
        (_PAIR, "coalesce(st, named_struct('b', 'k', 'a', 1))"),
        ("ARRAY<INT>", "array(3000000000)"),
        ("ARRAY<INT>", "array('x')"),
        ("MAP<STRING, INT>", "map('a', 1, 'a', 2)"),
        ("MAP<STRING, INT>", "map(s, 1)"),
        ("MAP<INT, INT>", "map('7', 1, '07', 2)"),
        ("INT", "xs[2]"),
        ("INT", "xs[-1]"),
    ]
]
"""What Spark refuses, by its types or for a row."""
