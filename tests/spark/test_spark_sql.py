"""Every operator, cast and function of SQL expressions, in Spark and here, over edge values.

Spark computes all of it in one query, in which an expression that raises gives NULL and any other a struct.
"""

import math
import re
from pathlib import Path

import pyarrow as pa
import pytest

from deltaarrow.errors import ConstraintViolationError, UnsupportedFeatureError
from deltaarrow.schema import Schema, to_arrow_type
from deltaarrow.spark_sql import evaluate, parse_expression
from deltaarrow.spark_sql.functions.registry import CHAPTERS
from tests.support.spark import tried_values

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("spark"),
    pytest.mark.feature("checkConstraints"),
    pytest.mark.feature("generatedColumns"),
]

COLUMNS = (
    "r INT, b TINYINT, h SMALLINT, i INT, j INT, l BIGINT, f FLOAT, d DOUBLE, e DOUBLE, m DECIMAL(10,2),"
    " n DECIMAL(5,3), w DECIMAL(38,18), s STRING, t STRING, x STRING, dt DATE, ts TIMESTAMP,"
    " z TIMESTAMP_NTZ, o BOOLEAN, p BOOLEAN, bin BINARY, a ARRAY<INT>, sa ARRAY<STRING>,"
    " st STRUCT<a: INT, b: STRUCT<c: STRING>>"
)
NAMES = [each.split()[0] for each in COLUMNS.replace("STRUCT<a: INT, b: STRUCT<c: STRING>>", "S").split(", ")]

ROWS = [
    "1, 5, 7, 3, 2, 11, 1.5, 2.5, 0.1, 12.34, 1.005, 1.5, 'abc', 'b', '12', DATE'2024-02-29',"
    " TIMESTAMP'2024-02-29 13:14:15.123456', TIMESTAMP_NTZ'2024-02-29 13:14:15.5', true, false, X'6162',"
    " array(1, 2, 3), array('a', null), named_struct('a', 1, 'b', named_struct('c', 'x'))",
    "2, -128, -32768, -2147483648, -1, -9223372036854775808, -1.5, -2.5, -0.5, -99999999.99, -99.995, -0.5,"
    " '', '', '-7', DATE'0001-01-01', TIMESTAMP'0001-01-01 00:00:00', TIMESTAMP_NTZ'0001-01-01 00:00:00',"
    " false, true, X'', array(), array(''), named_struct('a', null, 'b', null)",
    "3, 127, 32767, 2147483647, 0, 9223372036854775807, float('NaN'), double('NaN'), double('Infinity'),"
    " 99999999.99, 99.995, 0, 'añ👍é', '👍', ' 1 ', DATE'9999-12-31', TIMESTAMP'9999-12-31 23:59:59.999999',"
    " TIMESTAMP_NTZ'9999-12-31 23:59:59.999999', null, true, X'C3A9', array(null, 2), array('b'), null",
    "4, 0, 0, 0, 5, 0, float('-0.0'), double('-0.0'), 0.0D, 0, 0, 0, '  pad ded  ', 'd', 'abc',"
    " DATE'1969-12-31', TIMESTAMP'1969-12-31 23:59:59.9', TIMESTAMP_NTZ'1582-10-10 00:00:00', true, null,"
    " X'00', array(2), array('x'), named_struct('a', 2, 'b', named_struct('c', null))",
    "5" + ", null" * 23,
    "6, -1, -3, -7, 3, -7, float('Infinity'), 1e300, -1e300, 0.05, 0.5,"
    " 12345678901234567890.123456789012345678,"
    " 'A-b,C,', ',', '2024-01-31', DATE'2020-12-31', TIMESTAMP'1970-01-01 00:00:00',"
    " TIMESTAMP_NTZ'2021-01-03 11:00:00', false, false, X'61', array(-7, 0), array('A'),"
    " named_struct('a', -1, 'b', named_struct('c', 'A-b'))",
    "7, 1, 2, 10, -3, -9, 16777216.0, 9223372036854775808.0D, 1.0D, -0.05, -1.5, -1.000000000000000001,"
    " 'line\\nend\\n', 'n', 'true', DATE'2021-01-04', TIMESTAMP'2000-06-15 00:30:00.5',"
    " TIMESTAMP_NTZ'2000-06-15 12:00:00', true, true, X'FF', null, null,"
    " named_struct('a', 10, 'b', named_struct('c', ''))",
    "8, 2, 1, 4, 1, 100, 0.5, 0.49999999999999994D, -1.0D, 7.5, 2.5, 7, '%_\\\\', '_', '1.5',"
    " DATE'2000-01-31',"
    " TIMESTAMP'2038-01-19 03:14:07.000001', TIMESTAMP_NTZ'1900-03-01 01:02:03.004', false, null, X'2020',"
    " array(1, 1), array(null), named_struct('a', 3, 'b', named_struct('c', 'b'))",
]

NUMBERS = ("b", "h", "i", "l", "f", "d", "m", "n")
OPERATIONS = [
    f"{left} {sign} {right}"
    for sign in ("+", "-", "*", "/", "%")
    for left, right in (
        *(("b", "h"), ("b", "b"), ("i", "j"), ("l", "j"), ("i", "l"), ("f", "f"), ("f", "i"), ("d", "e")),
        *(("d", "m"), ("f", "m"), ("m", "n"), ("m", "2"), ("3", "n"), ("i", "n"), ("i", "1.5"), ("l", "2")),
        *(("1", "j"), ("d", "0"), ("n", "n"), ("i", "1e0"), ("b", "1"), ("h", "2S")),
    )
]
ARITHMETIC = [
    *OPERATIONS,
    *(
        "CAST(1 AS BIGINT) * m",
        "1L * m",
        "-1L * m",
        "-CAST(1 AS INT) + m",
        "abs(1) * m",
        "m / 1Y",
        "ceil(1) + m",
    ),
    *("(1 / j) * n", "n * (1 div j)", "NULL = 1 / j", "s = CAST(1 div j AS STRING)", "-128Y", "-1.5BD"),
    *("CAST(1 AS BIGINT) * m", "1L * m", "-1L * m", "-CAST(1 AS INT) + m", "abs(1) * m", "m / 1Y"),
    *("(1 / j) * n", "n * (1 div j)", "NULL = 1 / j", "s = CAST(1 div j AS STRING)", "-128Y", "-1.5BD"),
    *(
        "i + 1 > 0",
        "2 < i + 1",
        "-h BETWEEN 1 AND 3",
        "i - 1 IN (1)",
        "l * 2 = 4",
        "-(-2) * m",
        "ceil(1) + m",
    ),
    *("b <= 'a' OR true", "-l IS NULL AND false", "o = s", "- -m * i IS NOT NULL"),
    *("i div j", "l div -1", "b div j", "-b", "-l", "-f", "-d", "-m", "- -i", "-5", "-2147483648", "-1.50"),
    *("l div l", "i % -1", "l % -1", "m / 3", "n / n", "-9223372036854775808", "12345678901234567890"),
    *(
        "dt + 1",
        "1 + dt",
        "dt - 1",
        "dt + j",
        "1Y + 1Y",
        "100Y + 100Y",
        "1.5BD",
        "1.5F",
        "2D",
        ".5",
        "1.",
        "0.05",
    ),
]
COMPARISONS = [
    f"{left} {sign} {right}"
    for sign in ("=", "<", ">=", "<=>", "<>")
    for left, right in (
        *(("i", "j"), ("b", "l"), ("d", "e"), ("d", "d"), ("f", "d"), ("d", "0"), ("m", "n"), ("m", "12.34")),
        *(("x", "12"), ("-7", "x"), ("x", "12.0D"), ("i + 1", "4L"), ("2", "i + 1"), ("x", "true")),
        *(("i", "1.5"), ("w", "0"), ("s", "t"), ("s", "'abc'"), ("dt", "'2024-02-29'"), ("dt", "ts")),
        *(("ts", "'2024-02-29 13:14:15.123456'"), ("z", "ts"), ("o", "p"), ("bin", "X'61'"), ("i", "NULL")),
        *(("ts", "DATE'2000-01-01'"), ("f", "0.5"), ("f", "i"), ("m", "d"), ("i", "'3'"), ("l", "5.0")),
    )
]
LOGIC = [
    *("o AND p", "o OR p", "NOT o", "!p", "o AND NULL", "p OR NULL", "o AND p OR NOT o", "o IS TRUE"),
    *("o IS NOT FALSE", "s IS NULL", "st IS NOT NULL", "st.b IS NULL", "a IS NULL", "o IS DISTINCT FROM p"),
    *("j <> 0 AND i / j > 1", "j = 0 OR i % j = 1", "i BETWEEN -7 AND j", "i NOT BETWEEN 1 AND 5"),
    *("i IN (1, 3, NULL)", "i NOT IN (3, 4)", "s IN ('abc', '')", "d IN (0, 2.5)", "m IN (7.5, 12.34)"),
    *("NULL IN (1)", "dt IN (DATE'2024-02-29')", "f IN (1.5F, 0F)", "b IN (5, 300)", "NOT i = 3"),
    *("CASE WHEN i > 3 THEN 'x' WHEN o THEN s END", "CASE i WHEN 3 THEN 1 WHEN 4 THEN 2.5 ELSE l END"),
    *("if(o, 1, 2)", "if(o, i, l)", "coalesce(i, j, 5)", "coalesce(NULL, s)", "nvl(i, l)", "nvl2(s, 1, 2)"),
    *(
        "nullif(i, j)",
        "nullif(s, '')",
        "isnull(s)",
        "isnotnull(i)",
        "ifnull(dt, ts)",
        "nvl(m, n)",
        "if(j = 0, 0, i div j)",
    ),
    *(
        "greatest(i, j)",
        "least(i, l, 5)",
        "greatest(d, e)",
        "least(d, e)",
        "greatest(s, t)",
        "least(dt, DATE'2000-01-01')",
    ),
    *(
        "greatest(m, n)",
        "greatest(NULL, i)",
        "greatest(0.0D, d)",
        "coalesce(m, 1)",
        "CASE WHEN o THEN 1 ELSE 1.5D END",
    ),
    *(
        "a[0]",
        "a[j]",
        "size(a)",
        "cardinality(sa)",
        "array_contains(a, 2)",
        "array_contains(sa, 'a')",
        "sa[0]",
    ),
    *("st.a", "ST.B.C", "`st`.`b`.c", "array_contains(a, i)", "size(split(s, ','))", "split(s, ',')[0]"),
]
MATH = [f"{name}({column})" for name in ("abs", "ceil", "floor", "round", "sqrt") for column in NUMBERS] + [
    *("ceiling(w)", "round(m, 1)", "round(n, 2)", "round(n, 5)", "round(i, 2)", "mod(i, j)", "pmod(i, 3)"),
    *("pmod(l, b)", "isnan(d)", "isnan(f)", "round(e)", "pmod(-7, 3)", "pmod(7, 3Y)", "floor(e)", "ceil(e)"),
]
CASTS = [
    f"CAST({column} AS {target})"
    for column, targets in {
        **dict.fromkeys(
            "bhil",
            "TINYINT SMALLINT INT BIGINT FLOAT DOUBLE DECIMAL(10,0) DECIMAL(5,2) STRING BOOLEAN TIMESTAMP",
        ),
        "f": "INT BIGINT DOUBLE TINYINT FLOAT",
        "d": "INT BIGINT SMALLINT DOUBLE FLOAT",
        "e": "INT BIGINT FLOAT",
        "m": "INT BIGINT DOUBLE FLOAT DECIMAL(10,1) DECIMAL(4,2) DECIMAL(20,5) STRING TINYINT",
        "n": "INT DOUBLE DECIMAL(10,2) STRING DECIMAL(3,0)",
        "w": "DOUBLE FLOAT STRING BIGINT DECIMAL(20,0)",
        "x": "INT BIGINT FLOAT DOUBLE DECIMAL(10,1) DATE TIMESTAMP TIMESTAMP_NTZ BOOLEAN BINARY STRING",
        "s": "BINARY INT DATE",
        "dt": "STRING TIMESTAMP TIMESTAMP_NTZ DATE",
        "ts": "STRING DATE TIMESTAMP_NTZ BIGINT INT",
        "z": "STRING DATE TIMESTAMP",
        "o": "FLOAT DOUBLE INT STRING BIGINT TINYINT",
        "bin": "STRING",
    }.items()
    for target in targets.split()
] + [
    *("int(x)", "string(i)", "date(ts)", "double(m)", "i::string", "bigint(b)", "timestamp(dt)"),
    *("CAST(n AS DECIMAL(3,3))", "CAST(CAST(0.5 AS DECIMAL(3,3)) AS STRING)", "CAST(NULL AS INT)"),
]
TEXT_VALUES = {
    "INT": ("12", " +5\t", "-0", "1.5", "1e3", "", "2147483648", "a", "1_0", "0x1F", "٣", "--1", "+", "1 2"),
    "DECIMAL(5,2)": ("1.005", "-1.005", ".5", "5.", "999.99", "999.995", "x", " 1 ", "", "+.5", "."),
    "DOUBLE": (
        *("1.5", "1e3", "1e400", "-.5", "5.", "4.9e-324", "1e-400", "x", "", " 1 ", "0.1e1", "1,5"),
        *("NaN", " nan ", "Infinity", "-inf", "+Inf", "+INFINITY", "-Infinity", "infinit", "nano", "- inf"),
    ),
    "FLOAT": (
        *(
            "1.5",
            "1e39",
            "-1e39",
            "1e-46",
            "3.4028235677973362e38",
            "16777217",
            "1e400",
            "x",
            "-0",
            "nan",
            "inf",
        ),
        "1.00000017881393432617187501",
    ),
    "DATE": (
        *("2024-02-29", "2023-02-29", "2024-02-29T12:00", "2024-02-29 junk", " 2024-01-01 ", "2024-13-01"),
        *("0001-01-01", "9999-12-31", "", "x", "2024-00-10", "2024-01-32"),
    ),
    "TIMESTAMP": (
        *("2024-02-29 13:14:15", "2024-02-29", "2024-02-29T13:14:15.123456Z", "2024-02-29 13:14", "x", ""),
        *("2024-02-30 00:00:00", "2024-02-29 24:00:00", "2024-02-29 13:14:15.1", " 2024-02-29 13:14:15.120 "),
    ),
    "TIMESTAMP_NTZ": ("2024-02-29 13:14:15.123456", "2024-02-29", "x", "0001-01-01 00:00:00"),
    "BOOLEAN": ("true", " T ", "Yes", "1", "y", "f", "NO", "0", "n", "on", "", "2", "falsch"),
}
CASTS += [f"CAST('{text}' AS {target})" for target, texts in TEXT_VALUES.items() for text in texts]
CASTS += [
    f"CAST({text} AS FLOAT)"
    for text in (
        *("3.4028235677973362e38D", "3.4028235677973366e38D", "-3.4028235677973366e38D", "0.1D", "1e-46D"),
        *("d + 1", "f + 1", "f * m", "f / 3", "f - d", "m + 0.5", "99999999999999999999999999999999999999"),
    )
]
CASTS += ["CAST(CAST(0.1 AS FLOAT) AS DOUBLE)"]
TEXT = [
    *(
        "s || t",
        "s || i",
        "concat(s, i, dt)",
        "concat(s)",
        "concat(s, NULL)",
        "concat(ts, o)",
        "concat(z, m)",
    ),
    *("concat_ws('-', s, t)", "concat_ws(t, s, NULL, x)", "concat_ws(NULL, s)", "concat_ws(',')"),
    *("lower(s)", "upper(s)", "lcase('ÄÖÜ ЖЯ')", "ucase('äöü жя éþ')", "length(s)", "length(bin)", "len(s)"),
    *("char_length(t)", "character_length('👍🏽')", "trim(s)", "ltrim(s)", "rtrim(s)", "trim('\\t x \\n')"),
    *(f"substring(s, {start})" for start in (-3, -1, 0, 1, 2, 99, "j", "i")),
    *(
        f"substring(s, {start}, {length})"
        for start in (-9, -2, 0, 1, 2, "j")
        for length in (-1, 0, 2, 99, "j", "i")
    ),
    *(
        "substr(s, 2, 1)",
        "left(s, 2)",
        "left(s, -1)",
        "left(s, j)",
        "right(s, 2)",
        "right(s, 0)",
        "right(s, j)",
    ),
    *("right(s, i)", "lpad(s, 5, '👍x')", "rpad(s, 5)", "lpad(s, 2, 'z')", "rpad(s, 0, 'z')", "lpad(s, -1)"),
    *("replace(s, t, 'Q')", "replace(s, 'b')", "replace(s, '', 'z')", "split(s, ',')", "split(s, 'b,')"),
    *(
        "instr(s, t)",
        "instr(s, '')",
        "startswith(s, t)",
        "endswith(s, t)",
        "contains(s, t)",
        "contains(s, NULL)",
    ),
    *("md5(s)", "md5(bin)", "sha(s)", "sha1(bin)", "sha2(s, 256)", "sha2(bin, 0)"),
    *(
        f"s LIKE '{pattern}'"
        for pattern in ("a%", "%b%", "_", "", "%", "a__", "\\\\%\\\\_\\\\\\\\", "%\\nend_", "añ_é")
    ),
    *("s NOT LIKE 'a%'", "like(s, 'a%c')", "s NOT RLIKE 'a'", "regexp_like(s, 'b')", "s REGEXP 'b'"),
    *(
        f"s RLIKE '{pattern}'"
        for pattern in (
            *(
                "^a",
                "c$",
                "d$",
                "end$",
                "^[a-z]+$",
                "a.c",
                "line.end",
                "(b|n)[,e]",
                "\\\\w-\\\\w",
                "\\\\d",
                "\\\\s",
            ),
            *(
                "^\\\\s*$",
                "[^a-z]",
                "e{1,2}n?d",
                "(?:ab)+c",
                "👍.",
                "[\\\\s,]",
                "\\\\S\\\\W",
                "a*?b",
                "",
                "^$",
                "[a\\\\-]b",
            ),
        )
    ),
    *(
        "'it''s'",
        "'it\\'s'",
        "'a\\tb'",
        "'\\u00e9\\101\\U0001F44D'",
        "'\\%\\_\\x'",
        '"q""x"',
        "r'a\\n'",
        "'a' 'b'",
        "'\\Z'",
    ),
]
TIMES = [
    f"{name}({column})"
    for name in (
        "year",
        "quarter",
        "month",
        "day",
        "dayofmonth",
        "dayofweek",
        "weekday",
        "dayofyear",
        "weekofyear",
        "last_day",
        "to_date",
    )
    for column in ("dt", "ts", "z")
] + [
    *(
        f"{name}({column})"
        for name in ("hour", "minute", "second", "to_timestamp")
        for column in ("ts", "z", "dt")
    ),
    *(
        f"EXTRACT({unit} FROM ts)"
        for unit in ("YEAR", "quarter", "MONTH", "WEEK", "DAY", "DOY", "HOUR", "MINUTE", "DAYOFWEEK")
    ),
    *(
        f"date_trunc('{unit}', {column})"
        for unit in (
            "YEAR",
            "yyyy",
            "yy",
            "QUARTER",
            "month",
            "MM",
            "mon",
            "week",
            "DAY",
            "dd",
            "HOUR",
            "MINUTE",
            "SECOND",
            "MILLISECOND",
            "MICROSECOND",
        )
        for column in ("ts", "dt", "z")
    ),
    *(
        f"trunc({column}, '{unit}')"
        for unit in ("year", "YYYY", "yy", "quarter", "MONTH", "mm", "MON", "week")
        for column in ("dt", "ts")
    ),
    *(
        f"date_format({column}, '{pattern}')"
        for pattern in (
            "yyyy-MM-dd",
            "yyyyMMddHHmmss",
            "yy-M-d H:m:s",
            "hh:mm a",
            "E EEE EEEE MMM MMMM",
            "yyyy-MM-dd HH:mm:ss.SSSSSS",
            "SSS",
            "\\'at\\' HH\\'h\\'",
            "EE, dd/MM %",
        )
        for column in ("dt", "ts", "z")
    ),
    *(
        "date_add(dt, 1)",
        "date_add(ts, j)",
        "dateadd(dt, b)",
        "date_sub(dt, 1)",
        "date_sub(dt, i)",
        "add_months(dt, 1)",
    ),
    *(
        "add_months(dt, -1)",
        "add_months(dt, j)",
        "add_months(ts, 12)",
        "datediff(dt, ts)",
        "date_diff(dt, DATE'2000-01-01')",
    ),
    *(
        f"{name}({unit}, {arguments})"
        for unit in (
            *("YEAR", "quarter", "Month", "WEEK", "day", "hour", "MINUTE", "second", "MILLISECOND"),
            "microsecond",
        )
        for name, arguments in (
            *(("datediff", "dt, ts"), ("date_diff", "ts, z"), ("timestampdiff", "z, dt")),
            *(("datediff", "dt, DATE'2020-02-29'"), ("datediff", "'2024-01-31 13:14:15.5', ts")),
            *(("timestampdiff", "TIMESTAMP'2020-01-31 12:00:00', ts"), ("timestampadd", "j, ts")),
            *(
                ("dateadd", "b, dt"),
                ("date_add", "-h, z"),
                ("timestampadd", "1L, ts"),
                ("dateadd", "NULL, dt"),
            ),
            *(("timestampadd", "3, '2024-01-31'"), ("timestampadd", "-11, DATE'2024-02-29'")),
        )
    ),
    *(
        f"timestampdiff(month, TIMESTAMP'{start}', TIMESTAMP'{end}')"
        for one, other in (
            *(("2020-01-31 12:00:00", "2020-03-01 10:00:00"), ("2020-01-31 00:00:00", "2020-02-29 00:00:00")),
            *(("2020-02-29 10:00:00", "2021-02-28 10:00:00"), ("2020-03-01 00:00:00", "2020-01-31 00:00:01")),
            *(
                ("2020-05-15 08:00:00", "2020-06-15 07:59:59.999999"),
                ("2020-12-31 00:00:00", "2020-12-31 01:00:00"),
            ),
        )
        for start, end in ((one, other), (other, one))
    ),
    *("timestampadd(dayofyear, 5, ts)", "dateadd(year, 9000, dt)", "timestampadd(hour, l, ts)"),
    *(
        "make_date(2024, 2, 29)",
        "make_date(2023, 2, 29)",
        "make_date(i, 1, 1)",
        "make_date(2000, j, 1)",
        "make_date(2000, 13, 1)",
    ),
    *(
        "year('2024-05-06')",
        "hour('2024-05-06 07:08:09')",
        "to_date(x)",
        "to_date('2024-02-30')",
        "current_date() IS NOT NULL",
    ),
    *(
        "current_timestamp() IS NULL",
        "now() IS NULL",
        "localtimestamp() IS NULL",
        "curdate() IS NULL",
        "current_date IS NULL",
    ),
]

# A NULL key behind another one makes Spark fail for later rows too: its builder keeps the first.
NESTED = [
    *(
        "size(array())",
        "size(array(NULL))",
        "array(i, j)",
        "array(b, l)",
        "array(i, '7')",
        "array(m, 1)",
        "array(dt, ts)",
    ),
    *(
        "array(s, NULL)",
        "array(a, array(j), NULL)",
        "array(st, NULL)",
        "array(sa)",
        "array(bin, X'00')",
        "st",
    ),
    *(
        "size(map())",
        "parse_json('[1]') IS NULL",
        "map(s, i)",
        "map('k', j, coalesce(s, ''), l)",
        "map(i, a)",
        "map('x', st)",
        "map(dt, ts)",
        "a",
        "sa",
        "st.b",
    ),
    *("map(array(1), 2)", "map(i, 1, j, 2)", "map(i, 'x')[3]", "map('abc', i)[s]", "map(l, z)[11]"),
    *("map(1, 2)[NULL]", "map('k', st)['k'].a", "map('k', st)['nothing'].b.c", "map(i, a)[i][0]"),
    *(
        "named_struct('q', i, 'r', s)",
        "named_struct('q', i).Q",
        "named_struct('q', st).q.b.c",
        "struct(i, s AS x)",
    ),
    *(
        "struct(st.b, 1, s || t)",
        "struct(ts AS at, array(z) AS zs)",
        "(array(st))[0].b.c",
        "(array(st, st))[1].a",
    ),
    *("coalesce(a, array(0))", "coalesce(sa, array())", "coalesce(st, named_struct('a', 0, 'b', NULL))"),
    *(
        "if(o, array(i), a)",
        "if(o, array(l), a)",
        "CASE WHEN p THEN map('a', i) ELSE map() END",
        "nvl(a, array(m))",
    ),
    *(
        "if(o, named_struct('a', l, 'b', st.b), st)",
        "nvl2(st, st, NULL)",
        "size(map(s, i))",
        "size(array(i, 2))",
    ),
    *(
        "a[i]",
        "a[b]",
        "a[j - 1L]",
        "a[NULL]",
        "array(1 / j)",
        "struct(1 div j)",
        "if(j = 0, array(0), array(7 div j))",
    ),
    *("map('a', 7 div j)", "array(CAST(x AS INT), i)", "array(ts, z)", "array(o, NULL)"),
    *("array(st) IS NULL", "st IS NULL OR st.a > 1", "map(i, 1) IS NOT NULL AND cardinality(a) > 0"),
]

LISTED = {
    path.stem: path.read_text(encoding="utf-8").splitlines()
    for path in sorted((Path(__file__).parents[1] / "spark_sql" / "function_cases").glob("*.txt"))
}
"""Further expressions, one a line, by the name of their file."""

OWN = (ARITHMETIC, COMPARISONS, LOGIC, MATH, CASTS, TEXT, TIMES, NESTED)
CASES = [text for texts in (*OWN, *LISTED.values()) for text in texts]


def one_for_each_function(texts):
    """The expressions without a function, and as many others as call each function."""
    called = set()
    chosen = []
    for text in texts:
        names = set(re.findall(r"(\w+)\(", text.lower()))
        if not names or names - called:
            chosen.append(text)
        called |= names
    return chosen


def but_one_sign_for_each_pair(texts):
    """What to leave out of five signs over pairs of operands, so that each pair keeps one of the signs."""
    pairs = len(texts) // 5
    return {text for place, text in enumerate(texts) if (place // pairs + place % pairs) % 5}


def test_values_and_errors_are_those_of_spark(spark):
    left_out = but_one_sign_for_each_pair(OPERATIONS) | but_one_sign_for_each_pair(COMPARISONS)
    compare(spark, one_for_each_function([text for text in CASES if text not in left_out]))


@pytest.mark.slow
def test_values_and_errors_of_all_expressions_are_those_of_spark(spark):
    compare(spark, CASES)


def compare(spark, cases):
    spark.conf.set("spark.sql.ansi.enabled", "true")
    rows = spark.sql(
        f"SELECT {', '.join(_typed())} FROM VALUES ({'), ('.join(ROWS)}) AS v({', '.join(NAMES)})"
    )
    batch = rows.toArrow().combine_chunks().to_batches()[0]
    schema = Schema.from_arrow(batch.schema)
    texts, approximate = list(dict.fromkeys(cases)), set(LISTED["mathematics"])
    outcomes = [_outcomes(text, schema, batch) for text in texts]
    wanted = tried_values(spark, rows, texts, "r < 0")
    problems = []
    for text, (found, cells), column in zip(texts, outcomes, wanted.itercolumns(), strict=True):
        spark_type = column.type.field(0).type
        if _as_nullable(spark_type) != _as_nullable(to_arrow_type(found)):
            problems.append(f"{text}: Spark has {spark_type}, not {to_arrow_type(found)}")
        for row, cell in enumerate(cells):
            if not isinstance(cell, UnsupportedFeatureError):
                value = column[row].as_py()
                if _shown(cell) != _shown(value) and not (text in approximate and _is_close(cell, value)):
                    problems.append(f"{text} in row {row + 1}: Spark has {_shown(value)}, not {cell!r}")
    assert problems == []


def test_every_function_is_compared():
    text = " ".join(CASES).lower()
    names = [name for functions in CHAPTERS.values() for each in functions for name in each.names]
    assert [name for name in names if f"{name}(" not in text and f" {name} " not in text] == []


def _typed():
    types = re.split(r", (?=\w+ [A-Z])(?![^<]*>)", COLUMNS)
    return ["CAST({0} AS {1}) AS {0}".format(*each.split(" ", 1)) for each in types]


def _now():
    return 1_700_000_000_000


def _outcomes(text, schema, batch):
    """The type of an expression, and for each row a struct of its value, or an error."""
    expression = parse_expression(text, schema, is_stored=False)
    try:
        values = evaluate(expression, batch, clock=_now).to_pylist()
        return expression.type, [{"v": value} for value in values]
    except (ConstraintViolationError, UnsupportedFeatureError):
        return expression.type, [_outcome(expression, batch.slice(row, 1)) for row in range(batch.num_rows)]


def _outcome(expression, row):
    try:
        return {"v": evaluate(expression, row, clock=_now).to_pylist()[0]}
    except (ConstraintViolationError, UnsupportedFeatureError) as error:
        return error


def _as_nullable(data_type):
    """A type without what is known of NULLs in arrays, maps and structs."""
    if pa.types.is_list(data_type):
        return pa.list_(_as_nullable(data_type.value_type))
    if pa.types.is_map(data_type):
        return pa.map_(_as_nullable(data_type.key_type), _as_nullable(data_type.item_type))
    if pa.types.is_struct(data_type):
        return pa.struct([(each.name, _as_nullable(each.type)) for each in data_type])
    return data_type


def _is_close(cell, value):
    """Whether two numbers differ in their last digits alone, as those of two libraries do."""
    numbers = [each["v"] for each in (cell, value) if isinstance(each, dict)]
    return len(numbers) == 2 and None not in numbers and math.isclose(*numbers, rel_tol=1e-15 * 8)


def _shown(cell):
    """A value that differs from every other one by sight; NULL of Spark is an error."""
    if cell is None or isinstance(cell, Exception):
        return "an error"
    value = cell["v"]
    return "nan" if isinstance(value, float) and math.isnan(value) else repr(value)
