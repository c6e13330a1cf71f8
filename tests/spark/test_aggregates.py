"""Every aggregate and window function, in Spark and here, over groups of edge values; one query each."""

import math
import re

import duckdb
import pytest

from deltaarrow.schema import Schema
from deltaarrow.spark_sql import Expression, parse_expression, provide_kernels, to_sandbox_sql
from deltaarrow.spark_sql.functions.aggregate import AGGREGATES, Frame, Order, Rows, Window, find_aggregate
from deltaarrow.spark_sql.functions.window import WINDOW_FUNCTIONS, find_window_function

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

COLUMNS = "g INT, r INT, i INT, b TINYINT, l BIGINT, f FLOAT, d DOUBLE, m DECIMAL(10,2), w DECIMAL(38,4)"
COLUMNS += ", s STRING, o BOOLEAN, dt DATE, a ARRAY<INT>"
NULLS = ", ".join(["NULL"] * 11)
ROWS = [
    "1, 1, 1, 5, 5, 1.5, 2.5, 1.05, 1.5, 'b', true, DATE'2020-01-01', array(1)",
    "1, 2, 2, -7, NULL, -0.5, 4.0, 2.00, -7.25, 'a', false, NULL, array(2, NULL)",
    "1, 3, 2, 100, 7, NULL, -3.0, NULL, NULL, NULL, NULL, DATE'1969-12-31', NULL",
    "1, 4, NULL, NULL, 1, 3.25, NULL, 99999999.99, 0.0001, '', true, DATE'9999-12-31', array()",
    f"2, 5, {NULLS}",
    f"2, 6, {NULLS}",
    "3, 7, 7, 1, 9223372036854775807, float('NaN'), double('NaN'), -99999999.99, 1, '\u00e9', true, NULL, "
    "array(3)",
    "3, 8, -7, 1, 1, 1.0, double('Infinity'), -99999999.99, 2, 'z', true, DATE'2020-02-29', array(3)",
    "3, 9, -7, 1, 1, 1.0, 1.0D, 0.01, 99999999999999999999999999999999.9999, 'Z', false, NULL, array(3)",
    "4, 10, 2147483647, 127, -1, 0.0, -0.0D, 0.05, 0, 'x', false, DATE'2020-01-01', NULL",
    "5, 11, 3, 3, 3, 3.0, 3.0D, 3.00, 3, 'c', true, DATE'2020-01-01', NULL",
    "5, 12, 3, 3, 3, 3.0, 3.0D, 3.00, 3, 'c', true, DATE'2020-01-01', NULL",
]
NUMBERS = ("i", "b", "l", "f", "d", "m", "w")
ONE_COLUMN = [
    *(
        f"{name}({column})"
        for name in (
            *("sum", "avg", "min", "max", "count", "median", "stddev", "stddev_samp", "std", "stddev_pop"),
            *("variance", "var_samp", "var_pop", "skewness", "kurtosis", "try_sum", "try_avg", "mean"),
        )
        for column in NUMBERS
    ),
    *(f"{name}({column})" for name in ("min", "max", "count") for column in ("s", "o", "dt")),
    *(f"{name}({column})" for name in ("bit_and", "bit_or", "bit_xor") for column in ("i", "b", "l")),
    *(f"{name}(o)" for name in ("bool_and", "every", "bool_or", "some", "any", "count_if")),
    *(f"{name}(DISTINCT {column})" for name in ("sum", "avg", "count", "max") for column in ("i", "m", "d")),
    *("count()", "count(i, s)", "count(DISTINCT i, s)", "count(a)", "sum(i + 1)", "sum(100 div i)"),
    *("percentile(i, 0.3)", "percentile(d, 0.5)", "percentile(m, array(0.0, 0.25, 1.0))"),
    *("percentile_approx(i, 0.3)", "approx_percentile(m, array(0.25, 1.0), 100)"),
    *("max_by(s, r)", "max_by(i, dt)", "min_by(s, d)", "min_by(a, r)", "mode(g)", "mode(i)"),
    *("max(a)", "min(a)", "min_by(s, struct(i, r))"),
    *("first(s)", "first(s, true)", "first_value(i)", "any_value(g)", "last(s)", "last(s, true)"),
    *("last_value(dt, true)", "collect_list(s)", "array_agg(i)", "collect_list(a)", "collect_set(g)"),
    *("listagg(s)", "listagg(s, '-')", "string_agg(i, ',')"),
    *(
        f"{name}({y}, {x})"
        for name in (
            *("covar_pop", "covar_samp", "corr", "regr_count", "regr_avgx", "regr_avgy", "regr_sxx"),
            *("regr_sxy", "regr_syy", "regr_slope", "regr_intercept", "regr_r2"),
        )
        for y, x in (("i", "d"), ("d", "r"), ("m", "i"), ("f", "f"))
    ),
]
FILTERED = [
    "sum(i)",
    "count()",
    "avg(m)",
    "collect_list(s)",
    "first(s, true)",
    "max_by(s, r)",
    "sum(100 div i)",
]
ORDERED = ["percentile_cont(0.25)", "percentile_disc(0.5)", "percentile_disc(0.0)", "listagg(s, '-')"]
FLOATS = re.compile(r"stddev|std|var|skew|kurt|corr|covar|regr|avg|mean|sum|median|percentile")
WINDOWS = {
    "PARTITION BY g ORDER BY r": (("g",), (("r", False),), None),
    "ORDER BY i DESC, r": ((), (("i", True), ("r", False)), None),
    "PARTITION BY g ORDER BY r ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING": (
        ("g",),
        (("r", False),),
        Frame("ROWS", -1, 1),
    ),
    "ORDER BY r RANGE BETWEEN 2 PRECEDING AND CURRENT ROW": ((), (("r", False),), Frame("RANGE", -2, 0)),
    "PARTITION BY g": (("g",), (), None),
}
RANKS = ["row_number()", "rank()", "dense_rank()", "percent_rank()", "cume_dist()", "ntile(3)", "lag(s)"]
RANKS += ["lead(s)", "lag(i, 2, -1)", "lead(d, 2)", "lag(s, -1, 'x')", "lag(i, 0)"]
OVER = ["sum(i)", "avg(m)", "min(d)", "max(s)", "count()", "first(s)", "last(s)", "collect_list(r)", "sum(b)"]
OVER += ["first(s, true)", "last(s, true)", "stddev(i)", "bool_or(o)", "max_by(s, r)"]


def test_aggregates_have_the_values_of_spark(spark):
    table = values_of(spark)
    calls = [(text, text.replace("count()", "count(*)"), Rows()) for text in ONE_COLUMN]
    condition = bound("i > 1", table)
    for text in FILTERED:
        sql = text.replace("count()", "count(*)")
        calls.append((text, f"{sql} FILTER (WHERE i > 1)", Rows(where=condition)))
    for text in ORDERED:
        for descending in (False, True):
            key = "s" if text.startswith("listagg") else "i"
            rows = Rows(order=(Order(bound(key, table), descending),))
            written = f"{text} WITHIN GROUP (ORDER BY {key} {'DESC' if descending else 'ASC'})"
            calls.append((text, written, rows))
    assert problems(spark, table, calls, "GROUP BY g", "ORDER BY g") == []


def test_window_functions_have_the_values_of_spark(spark):
    table = values_of(spark)
    calls = []
    for written, (partition, order, frame) in WINDOWS.items():
        keys = tuple(Order(bound(name, table), descending) for name, descending in order)
        rows = Rows(window=Window(tuple(bound(each, table) for each in partition), keys, frame))
        for text in (
            OVER + (RANKS if order and frame is None else []) + (["nth_value(s, 2)"] if order else [])
        ):
            calls.append((text, f"{text.replace('count()', 'count(*)')} OVER ({written})", rows))
    assert problems(spark, table, calls, "", "ORDER BY r") == []


def test_every_name_is_compared():
    # The table has no variants; `sql/functions/variants.sql` has the aggregate of them.
    others = ("nth_value(", "schema_of_variant_agg(")
    text = " ".join([*ONE_COLUMN, *ORDERED, *RANKS, *OVER, *others])
    names = [name for each in (*AGGREGATES, *WINDOW_FUNCTIONS) for name in each.names]
    assert [name for name in names if f"{name}(" not in text] == []


def values_of(spark):
    types = re.split(r", ", COLUMNS)
    typed = ", ".join("CAST({0} AS {1}) AS {0}".format(*each.split(" ", 1)) for each in types)
    names = ", ".join(each.split()[0] for each in types)
    frame = spark.sql(f"SELECT {typed} FROM VALUES ({'), ('.join(ROWS)}) AS v({names})")
    frame.createOrReplaceTempView("aggregated")
    return frame.toArrow()


def bound(text, table):
    return parse_expression(text, Schema.from_arrow(table.schema), is_stored=False).root


def node_of(text, table, rows):
    name, arguments = re.fullmatch(r"(\w+)\((.*)\)", text).groups()
    if arguments.startswith("DISTINCT "):
        arguments, rows = arguments.removeprefix("DISTINCT "), Rows(True, rows.where, rows.window)
    parts = re.split(r", (?![^(]*\))", arguments) if arguments else ()
    operands = tuple(bound(each, table) for each in parts)
    function = find_window_function(name) or find_aggregate(name)
    return function(name, operands, rows)


def problems(spark, table, calls, grouped, ordered):
    """Where ours differs from Spark's, for each call and row; where Spark raises, so must ours."""
    ours = computed(table, calls, grouped, ordered)
    # One call that raises makes a query raise.
    raising = [written for written, values in ours.items() if isinstance(values, Exception)]
    theirs = {written: tried(spark, [written], grouped, ordered)[0] for written in raising}
    others = [written for written in ours if written not in theirs]
    theirs.update(zip(others, tried(spark, others, grouped, ordered), strict=True))
    found = []
    for text, written, _ in calls:
        values, wanted = ours[written], theirs[written]
        if isinstance(values, Exception):
            if wanted is not None and "unsupported" not in str(values):
                found.append(f"{written}: {values}, and Spark has {wanted}")
        elif wanted is None:
            found.append(f"{written}: Spark raises, and ours is {values}")
        else:
            found += [
                f"{written} in row {row + 1}: Spark has {other!r}, not {value!r}"
                for row, (value, other) in enumerate(zip(values, wanted, strict=True))
                if not is_same(value, other, text)
            ]
    return found


def computed(table, calls, grouped, ordered):
    """Our values of each call by its text, or the error of DuckDB."""
    found = {}
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("aggregated", table)
        for text, written, rows in calls:
            sql = to_sandbox_sql(Expression(text, node_of(text, table, rows)))
            provide_kernels(connection, sql)
            try:
                listed = connection.execute(f"SELECT {sql} FROM aggregated {grouped} {ordered}").fetchall()
                found[written] = [value for (value,) in listed]
            except duckdb.Error as error:
                found[written] = error
    return found


def tried(spark, texts, grouped, ordered):
    """The values of each text; None for a text that raises. Most of them in one query."""
    listed = ", ".join(f"{text} AS e{place}" for place, text in enumerate(texts))
    try:
        rows = spark.sql(f"SELECT {listed} FROM aggregated {grouped} {ordered}").collect()
    except Exception:
        if len(texts) == 1:
            return [None]
        half = len(texts) // 2
        return [*tried(spark, texts[:half], grouped, ordered), *tried(spark, texts[half:], grouped, ordered)]
    return [[row[place] for row in rows] for place in range(len(texts))]


def is_same(value, other, text):
    if isinstance(value, float) and isinstance(other, float):
        if math.isnan(value) or math.isnan(other):
            return math.isnan(value) and math.isnan(other)
        if FLOATS.match(text):
            return math.isclose(value, other, rel_tol=1e-12, abs_tol=1e-12)
        return repr(value) == repr(other)
    return repr(value) == repr(other)
