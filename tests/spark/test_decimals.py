"""Decimals in Spark, beside the model that the tests of expressions compare with and beside ours.

Spark computes many expressions in one query, in which one that raises gives NULL and any other a struct.
"""

import itertools
import random
from decimal import Context, Decimal

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, connect, write_deltalake
from deltaarrow.errors import ConstraintViolationError, UnsupportedFeatureError
from deltaarrow.schema import Schema, to_arrow_type
from deltaarrow.spark_sql import evaluate, parse_expression
from tests.support.decimal_model import BeyondError, common_type, rescaled, result
from tests.support.spark import tried_values

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

EXACT = Context(prec=100)
FEW = [(1, 1), (10, 0), (15, 2), (25, 2), (38, 0), (38, 6), (38, 18), (38, 38)]
TYPES = [*FEW, (1, 0), (5, 2), (9, 9), (18, 0), (18, 18), (19, 0), (20, 10), (32, 4), (38, 2), (38, 10)]
TYPES += [(38, 20), (38, 31), (38, 37)]
SIGNS = ("+", "-", "*", "/", "%", "div")
BATCH = 150
"""Expressions that Spark computes in one query."""


def edges(precision, scale, count):
    """Units of numbers at the ends of a type, near halves, and some at random."""
    chosen = random.Random(f"{precision},{scale}")
    most = 10**precision - 1
    found = [most, 0, -1, 5 * 10 ** (precision - 1), chosen.randrange(most), -chosen.randrange(most), -most]
    found += [
        10 ** (precision // 2),
        1 - 10 ** (precision // 2),
        chosen.randrange(10 ** (precision // 2 + 1)),
    ]
    found += [min(3 * 10**scale, most), 4_999_999_999_999_999_999 * 10**18 % (most + 1)]
    return found[:count]


def rows_of(types, count):
    """A table of columns a and b of each type; its rows have all pairs of values."""
    pairs = list(itertools.product(range(count), repeat=2))
    columns = {"r": pa.array(range(len(pairs)), pa.int32())}
    for digits in types:
        values = [Decimal(each).scaleb(-digits[1], EXACT) for each in edges(*digits, count)]
        for side, name in enumerate("ab"):
            column = pa.array([values[pair[side]] for pair in pairs], pa.decimal128(*digits))
            columns[f"{name}{digits[0]}_{digits[1]}"] = column
    return pa.table(columns)


def tried_in_spark(spark, rows, texts):
    """The columns of values of expressions in Spark."""
    frame = spark.createDataFrame(rows).cache()
    for start in range(0, len(texts), BATCH):
        yield from tried_values(spark, frame, texts[start : start + BATCH], "r < 0").itercolumns()
    frame.unpersist()


def units_of(cell, scale):
    """The units of a value of Spark; None where it raised."""
    value = None if cell is None else cell["v"]
    return value if value is None or isinstance(value, int) else int(value.scaleb(scale, EXACT))


def modelled(sign, a, left, b, right):
    try:
        if sign == "coalesce":
            common = common_type(left, right)
            return common, rescaled(a, left[1], common)
        if sign in ("=", "<"):
            common = common_type(left, right)
            one, other = rescaled(a, left[1], common), rescaled(b, right[1], common)
            return None, one == other if sign == "=" else one < other
        return result(sign, a, left, b, right)
    except BeyondError:
        return None, None


def differences(spark, types, count):
    """Where the model differs from Spark, over all pairs of types and of their edge values."""
    signs = (*SIGNS, "=", "<", "coalesce")
    cases = list(itertools.product(signs, types, types))
    texts = []
    for sign, (p1, s1), (p2, s2) in cases:
        names = f"a{p1}_{s1}", f"b{p2}_{s2}"
        texts.append(f"coalesce({', '.join(names)})" if sign == "coalesce" else f" {sign} ".join(names))
    found = tried_in_spark(spark, rows_of(types, count), texts)
    for (sign, left, right), text, column in zip(cases, texts, found, strict=True):
        kind = column.type.field("v").type
        scale = kind.scale if pa.types.is_decimal(kind) else 0
        pairs = itertools.product(edges(*left, count), edges(*right, count))
        for (a, b), cell in zip(pairs, column.to_pylist(), strict=True):
            wanted, value = modelled(sign, a, left, b, right)
            if value is not None and sign not in ("div", "=", "<") and wanted != (kind.precision, scale):
                yield f"{text}: Spark has {kind}, the model {wanted}"
            given = units_of(cell, scale)
            # Of a whole quotient beyond a long Spark keeps the last 64 bits.
            if given != value and not (sign == "div" and value is None):
                yield f"{text} of {a} and {b}: Spark has {given}, the model {value}"


def test_the_model_is_spark(spark):
    assert list(differences(spark, FEW, 6)) == []


@pytest.mark.slow
def test_the_model_is_spark_for_all_pairs(spark):
    assert list(differences(spark, TYPES, 12)) == []


FIRST = ["d", "e", "w", "z", "t", "i", "l"]
"""Spark may know that a form of constants is NULL, and then does not compute what stands beside it."""

OPERANDS = [*FIRST, "2", "0.5", "1.50BD", "-3", "NULL", "100.0", "1e0BD"]
OPERANDS += ["CAST(d AS DECIMAL(38,2))", "CAST(e AS DECIMAL(38,10))"]
FORMS = ["({} + {})", "({} - {})", "({} * {})", "({} / {})", "({} % {})", "({} * {})", "({} / {})"]
FORMS += [f"try_{name}({{}}, {{}})" for name in ("add", "subtract", "multiply", "divide", "mod")]
# Of a whole quotient beyond a long Spark keeps the last 64 bits, so these are short.
FORMS += ["(floor({} % 1000) div ceil({} % 100))"]
FORMS += ["coalesce({}, {})", "if(i > 1, {}, {})", "CAST({} > {} AS INT)", "pmod({}, {})", "greatest({}, {})"]
# Spark rounds -x, and abs(x) of what is negative, to 34 digits.
SHORT = "CAST({} % 1000 AS DECIMAL(20,6))"
ONES = [
    f"-({SHORT})",
    f"abs({SHORT})",
    "round({}, 3)",
    "bround({}, 1)",
    "floor({})",
    "ceil({})",
    "CAST({} AS DECIMAL(38,6))",
]
COLUMNS = {
    "i": (pa.int32(), [1, 0, -7, 2147483647, None, 3]),
    "l": (pa.int64(), [5, -(2**63), 2**63 - 1, None, 10**12, -1]),
    "d": (pa.decimal128(15, 2), ["1.50", "-9999999999999.99", None, "0", "1234567.89", "0.05"]),
    "e": (pa.decimal128(38, 6), ["2.500001", "-0.000001", "99999999999999999999.5", None, "3", "1e15"]),
    "w": (
        pa.decimal128(38, 18),
        ["1.000000000000000001", "-12345678901234567890.5", "7", "0.1", None, "333.3"],
    ),
    "z": (pa.decimal128(38, 0), ["1", "9" * 38, "-" + "9" * 38, "12345678901234567890", "3", None]),
    "t": (
        pa.decimal128(20, 20),
        ["0.5", "-1e-20", "0.99999999999999999999", "0.1", None, "0"],
    ),
}


def random_text(chosen, depth, operands=FIRST):
    if depth == 0:
        return chosen.choice(operands)
    other = random_text(chosen, chosen.randrange(depth), OPERANDS)
    form = chosen.choice(FORMS).format(random_text(chosen, depth - 1), other)
    return chosen.choice(ONES).format(form) if chosen.random() < 0.2 else form


def random_texts(seed, count):
    chosen = random.Random(seed)
    return [random_text(chosen, chosen.choice((1, 1, 2, 2, 3))) for _ in range(count)]


def random_rows():
    columns = {"r": pa.array(range(6), pa.int32())}
    for name, (kind, values) in COLUMNS.items():
        if pa.types.is_decimal(kind):
            values = [None if each is None else Decimal(each) for each in values]
            columns[name] = pa.array(values, pa.decimal128(38, kind.scale)).cast(kind)
        else:
            columns[name] = pa.array(values, kind)
    return pa.table(columns)


def outcomes(expression, rows):
    """A struct of the value for each row, None where it raises, the error where it is not supported."""
    try:
        return [{"v": value} for value in evaluate(expression, rows).to_pylist()]
    except (ConstraintViolationError, UnsupportedFeatureError) as error:
        if rows.num_rows == 1:
            return [error if isinstance(error, UnsupportedFeatureError) else None]
        return [cell for row in range(rows.num_rows) for cell in outcomes(expression, rows.slice(row, 1))]


FUNCTIONS = [
    "round({0}, -3)",
    "round({0} * {0}, 5)",
    "bround({0} * {0}, 3)",
    "floor({0} * {0})",
    "ceil({0} / 3)",
    "CAST({0} * {0} AS STRING)",
    "CAST({0} AS BIGINT)",
    "CAST({0} AS DOUBLE)",
    "sign({0})",
    "try_cast({0} AS DECIMAL(5,2))",
    "CAST({0} AS DECIMAL(38,18))",
    "format_number({0} * {0}, 7)",
    "zeroifnull({0})",
    "nullif({0}, 0.5)",
    "nvl({0}, 0.123456789)",
    "coalesce({0}, 1.5D)",
    "{0} = '1'",
    "{0} BETWEEN 0.05 AND 7",
    "{0} IN (1, 0.5, NULL)",
    "{0} NOT IN (0.1, 7)",
    "{0} <=> 1.5",
    "{0} > '0.5'",
    "CASE {0} WHEN 1 THEN 'a' WHEN 0.5 THEN 'b' ELSE 'c' END",
    "if({0} > 0, {0}, 0.123)",
    "{0} = 1.5D",
    "array_max(array({0}, 1, 0.5))",
    "array_contains(array({0}), 1)",
    "width_bucket({0}, 0, 10, 5)",
    "pmod({0}, -3.7)",
    "greatest({0}, d, t)",
    "least({0}, w, 1)",
    "pow({0}, 2)",
]


def functions_of(columns):
    return [text.format(column) for column in columns for text in FUNCTIONS]


def compare(spark, texts):
    """Where expressions differ from Spark, and which of them are refused here."""
    rows = random_rows()
    (batch,) = rows.to_batches()
    schema = Schema.from_arrow(rows.schema)
    expressions, refused = {}, []
    for text in texts:
        try:
            expressions[text] = parse_expression(text, schema, is_stored=False)
        except UnsupportedFeatureError as error:
            refused.append(f"{text}: {error}")
    problems = []
    found = tried_in_spark(spark, rows, list(expressions))
    for (text, expression), column in zip(expressions.items(), found, strict=True):
        kind, own = column.type.field("v").type, to_arrow_type(expression.type)
        if kind != own:
            problems.append(f"{text}: Spark has {kind}, not {own}")
        for row, (ours, cell) in enumerate(zip(outcomes(expression, batch), column.to_pylist(), strict=True)):
            # Spark may know that a part with NULL is NULL, and does not compute what stands beside it.
            knows_null = "NULL" in text and ours is None and cell == {"v": None}
            if ours != cell and not knows_null and not isinstance(ours, UnsupportedFeatureError):
                problems.append(f"{text} in row {row + 1}: Spark has {cell}, not {ours}")
    return problems, refused


def test_expressions_have_the_values_of_spark(spark):
    problems, refused = compare(spark, random_texts(1, 60) + functions_of("et"))
    assert problems == []
    assert all("NULL" in each for each in refused)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_5000_expressions_have_the_values_of_spark(spark, seed):
    problems, refused = compare(spark, random_texts(seed, 500) + functions_of("dewzt"[seed % 5]))
    assert problems == []
    assert all("NULL" in each for each in refused)


QUERIES = [
    "SELECT {}".format(", ".join(f"{name}({column}) AS {name}_{column}" for column in "dewt"))
    + " FROM decimals WHERE r <> 1"
    for name in ("sum", "avg", "min", "max", "try_sum", "try_avg")
] + [
    "SELECT sum(d) / count(*) AS a, sum(d) / sum(e) AS b, sum(d * d) AS c, avg(e * 2) AS e FROM decimals",
    "SELECT r, d / sum(d) OVER () AS a, sum(e) OVER (ORDER BY r) AS b, avg(w) OVER (PARTITION BY i) AS c"
    " FROM decimals ORDER BY r",
    "SELECT try_sum(DISTINCT z) AS a, try_avg(DISTINCT z) AS b FROM decimals WHERE z > 0",
    "SELECT try_sum(z) AS a, try_avg(z) AS b FROM decimals WHERE z > 0",
    "SELECT z FROM decimals UNION SELECT t FROM decimals ORDER BY 1",
    "SELECT e FROM decimals UNION ALL SELECT w FROM decimals UNION ALL SELECT 1.5BD ORDER BY 1",
    "SELECT w FROM decimals INTERSECT SELECT e FROM decimals",
    "SELECT z FROM decimals EXCEPT SELECT d FROM decimals ORDER BY 1",
    "SELECT a.r, b.r AS s FROM decimals a JOIN decimals b ON a.t = b.z ORDER BY 1, 2",
    "SELECT r FROM decimals WHERE z IN (0.5, 1, 3) ORDER BY r",
    "SELECT r FROM decimals WHERE z BETWEEN 0.6 AND t + 12345678901234567890 ORDER BY r",
    "SELECT sum(z) AS a FROM decimals WHERE z > 0",
    "SELECT avg(z) AS a FROM decimals WHERE z > 0",
]


def test_queries_have_the_rows_of_spark(spark, tmp_path):
    rows = random_rows()
    spark.createDataFrame(rows).createOrReplaceTempView("decimals")
    write_deltalake(tmp_path / "decimals", rows)
    here = connect(dialect="spark")
    here.register("decimals", DeltaTable(tmp_path / "decimals"))
    problems = []
    for text in QUERIES:
        wanted, found = (rows_or_error(run, text) for run in (spark.sql, here.sql))
        if wanted != found:
            problems.append((text, wanted, found))
    assert problems == []


def rows_or_error(run, text):
    try:
        query = run(text)
        table = query.toArrow() if hasattr(query, "toArrow") else query.to_arrow_table()
    except Exception as error:
        return "error", "OUT_OF_RANGE" in str(error) or "OVERFLOW" in str(error)
    kinds = [str(each).replace(" not null", "") for each in table.schema.types]
    return kinds, [list(each.values()) for each in table.to_pylist()]
