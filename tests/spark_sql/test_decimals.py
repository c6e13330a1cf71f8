"""Arithmetic and comparisons of decimals of any digits, beside a model in Python's integers."""

import math
from decimal import Context, Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import DeltaTable, connect, write_deltalake
from deltaarrow.errors import ConstraintViolationError
from deltaarrow.schema import Schema
from deltaarrow.spark_sql import evaluate, parse_expression
from tests.support.decimal_model import BeyondError, common_type, rescaled, result
from tests.support.examples import examples

EXACT = Context(prec=100)

ROW = pa.record_batch(
    {
        "m": pa.array([Decimal("-99999999.99")], pa.decimal128(10, 2)),
        "w": pa.array([Decimal("9999999999999999.99")], pa.decimal128(18, 2)),
        "i": pa.array([-(2**31)], pa.int32()),
    }
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("m * i", "214748364778525163.52"),
        ("-m * i", "-214748364778525163.52"),
        ("m * m", "9999999998000000.0001"),
        ("w * w", "99999999999999999800000000000000.0001"),
    ],
)
def test_products_of_short_decimals(text, expected):
    expression = parse_expression(text, Schema.from_arrow(ROW.schema))
    assert evaluate(expression, ROW).to_pylist() == [Decimal(expected)]


@pytest.mark.parametrize("value", ["TIMESTAMP'2020-01-01 00:00:00'", "'2020-01-01 00:00:00'"])
def test_null_safe_equality_with_a_constant(value):
    rows = pa.record_batch({"at": pa.array([1577836800000000, None], pa.timestamp("us", "UTC"))})
    expression = parse_expression(f"at <=> {value}", Schema.from_arrow(rows.schema))
    assert evaluate(expression, rows).to_pylist() == [True, False]


TYPES = st.integers(1, 38).flatmap(lambda precision: st.tuples(st.just(precision), st.integers(0, precision)))
TRIES = {"+": "try_add", "-": "try_subtract", "*": "try_multiply", "/": "try_divide", "%": "try_mod"}


def numbers(precision):
    """Units of a decimal of these digits: any, few or all digits, and those that are near a half."""
    most = 10**precision - 1
    near = [most, most // 2, most // 2 + 1, 10 ** (precision // 2), 10 ** (precision - 1), 1, 0]
    return st.integers(-most, most) | st.sampled_from([*near, *(-each for each in near)])


@st.composite
def operands(draw):
    """Two types, and rows of the units of two values, of which either may be NULL."""
    left, right = draw(TYPES), draw(TYPES)
    rows = st.tuples(st.none() | numbers(left[0]), st.none() | numbers(right[0]))
    return left, right, draw(st.lists(rows, min_size=1, max_size=12))


def decimal_column(units, digits):
    values = [None if each is None else Decimal(each).scaleb(-digits[1], EXACT) for each in units]
    return pa.array(values, pa.decimal128(*digits))


def batch_of(left, right, rows):
    return pa.record_batch(
        {"a": decimal_column([a for a, _ in rows], left), "b": decimal_column([b for _, b in rows], right)}
    )


def computed(text, rows):
    return evaluate(parse_expression(text, Schema.from_arrow(rows.schema)), rows)


def modelled(sign, a, left, b, right):
    """The units of a result, None if it is NULL, or the error."""
    try:
        return None if a is None or b is None else result(sign, a, left, b, right)[1]
    except BeyondError as error:
        return error


def units_of(value, scale):
    return None if value is None else int(value.scaleb(scale, EXACT))


@pytest.mark.parametrize("sign", TRIES)
@given(operands())
@settings(max_examples=examples(12), deadline=None)
def test_arithmetic_is_exact_and_rounded_half_up(sign, drawn):
    left, right, rows = drawn
    batch = batch_of(*drawn)
    expected = [modelled(sign, a, left, b, right) for a, b in rows]
    found = computed(f"{TRIES[sign]}(a, b)", batch)
    values = [units_of(each, found.type.scale) for each in found.to_pylist()]
    assert values == [None if isinstance(each, BeyondError) else each for each in expected]
    wanted = next((place for place, each in enumerate(expected) if isinstance(each, BeyondError)), None)
    if wanted is not None:
        with pytest.raises(ConstraintViolationError, match=r"NUMERIC_VALUE_OUT_OF_RANGE|_BY_ZERO"):
            computed(f"a {sign} b", batch.slice(wanted, 1))


@given(operands())
@settings(max_examples=examples(12), deadline=None)
def test_whole_quotients(drawn):
    left, right, rows = drawn
    batch = batch_of(*drawn)
    for place, (a, b) in enumerate(rows):
        expected = modelled("div", a, left, b, right)
        if isinstance(expected, BeyondError):
            with pytest.raises(ConstraintViolationError, match=r"OVERFLOW|_BY_ZERO"):
                computed("a div b", batch.slice(place, 1))
        else:
            assert computed("a div b", batch.slice(place, 1)).to_pylist() == [expected]


@given(operands())
@settings(max_examples=examples(12), deadline=None)
def test_comparisons_and_common_types_keep_the_digits_before_the_point(drawn):
    left, right, rows = drawn
    batch, common = batch_of(*drawn), common_type(left, right)
    pairs = [(a, b) for a, b in rows if a is not None and b is not None]
    moved = [(rescaled(a, left[1], common), rescaled(b, right[1], common)) for a, b in pairs]
    given_rows = batch.filter(pc.and_(batch["a"].is_valid(), batch["b"].is_valid()))
    assert computed("a < b", given_rows).to_pylist() == [a < b for a, b in moved]
    assert computed("a <=> b", given_rows).to_pylist() == [a == b for a, b in moved]
    chosen = computed("coalesce(b, a)", given_rows)
    assert (chosen.type.precision, chosen.type.scale) == common
    assert [units_of(each, common[1]) for each in chosen.to_pylist()] == [b for _, b in moved]


BITS = {"TINYINT": 7, "SMALLINT": 15, "INT": 31}


@given(
    units=st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-(2**40), 2**40).map(lambda n: n * 10**20 - 1),
    scale=st.integers(1, 38),
    target=st.sampled_from(sorted(BITS)),
)
@settings(max_examples=examples(60), deadline=None)
def test_a_cast_of_long_decimals_to_short_integers_goes_through_a_double(units, scale, target):
    value = Decimal(units).scaleb(-scale, EXACT)
    row = pa.record_batch({"c": pa.array([value], pa.decimal128(38, scale))})
    expression = parse_expression(f"try_cast(c AS {target})", Schema.from_arrow(row.schema))
    most, nearest = 1 << BITS[target], float(value)
    fits = math.floor(nearest) < most and math.ceil(nearest) >= -most
    assert evaluate(expression, row).to_pylist() == [int(nearest) if fits else None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CAST(0.99999999999999999999 AS INT)", 1),
        ("CAST(0.999999999999999999 AS TINYINT)", 1),
        ("CAST(2147483646.99999999999 AS INT)", 2147483647),
        ("CAST(-128.99999999999999999999 AS SMALLINT)", -129),
        ("try_cast(127.999999999999999 AS TINYINT)", None),
        ("CAST(0.99999999999999999999 AS BIGINT)", 0),
        ("CAST(short AS INT)", 0),
        ("left('abc', long) || elt(long, 'd', 'e')", "ad"),
    ],
)
def test_a_cast_of_decimals_to_integers_is_that_of_spark(text, expected):
    row = pa.record_batch(
        {
            "short": pa.array([Decimal("0.999999999999999999")], pa.decimal128(18, 18)),
            "long": pa.array([Decimal("0.99999999999999999999")], pa.decimal128(38, 20)),
        }
    )
    expression = parse_expression(text, Schema.from_arrow(row.schema))
    assert evaluate(expression, row).to_pylist() == [expected]


def test_a_chain_of_operations_stays_short():
    batch = batch_of((38, 10), (38, 18), [(123456789012345678901234567890, 3 * 10**18)])
    for text in (
        "a / b / b / b / b",
        "a * b * b / b * b",
        "a + b + b + b + b + b",
        "a / (b / (b / (b / b)))",
    ):
        (value,) = computed(text, batch).to_pylist()
        assert value is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("avg(e / id)", "2.1666665000"),
        ("avg(try_divide(1.5BD, id))", "1.12500000000000000000000000"),
        ("sum(e * e) / count(*)", "9.847220"),
        ("sum(big) / sum(e)", "32.432436"),
        ("try_sum(huge)", None),
        ("try_avg(huge)", None),
        ("try_sum(DISTINCT huge)", "6e37"),
        ("try_sum(DISTINCT huge + id)", None),
        ("try_avg(DISTINCT huge + id)", None),
        ("try_avg(DISTINCT e)", "3.0833330000"),
        ("try_avg(big)", "100.0000"),
        ("avg(e) FILTER (WHERE id > 5)", None),
    ],
)
def test_aggregates_of_computed_decimals(tmp_path, text, expected):
    rows = {"id": pa.array([1, 2], pa.int64()), "e": decimal_column([2_500_000, 3_666_666], (38, 6))}
    rows["big"] = decimal_column([100, 100], (38, 0))
    rows["huge"] = decimal_column([6 * 10**37, 6 * 10**37], (38, 0))
    write_deltalake(tmp_path / "t", pa.table(rows))
    ((found,),) = connect(dialect="spark").sql(f"SELECT {text} FROM delta.`{tmp_path}/t`").fetchall()
    assert found == (None if expected is None else Decimal(expected))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [("z IN (0.5, 3)", [1]), ("z >= 0.6 AND z < 5", [1]), ("z > 1.0", [3]), ("z - e IS NULL", [2, 3])],
)
def test_conditions_on_all_38_digits(tmp_path, condition, expected):
    rows = {"id": pa.array([1, 2, 3], pa.int64()), "z": decimal_column([1, None, 10**38 - 1], (38, 0))}
    rows["e"] = decimal_column([1, 2, None], (38, 2))
    write_deltalake(tmp_path / "t", pa.table(rows))
    found = connect(dialect="spark").sql(f"SELECT id FROM delta.`{tmp_path}/t` WHERE {condition} ORDER BY 1")
    assert [row[0] for row in found.fetchall()] == expected
    assert (
        sorted(DeltaTable(tmp_path / "t").to_pyarrow_table(filters=condition)["id"].to_pylist()) == expected
    )


def test_a_literal_is_rounded_to_the_type_of_the_comparison():
    schema = Schema.from_arrow(pa.schema({"a": pa.decimal128(38, 0)}))
    rows = pa.record_batch({"a": decimal_column([1, 2], (38, 0))})
    assert evaluate(parse_expression("a = 1.5", schema), rows).to_pylist() == [False, True]
    assert evaluate(parse_expression("a > 1.5", schema), rows).to_pylist() == [False, False]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("try_divide(1 / z, z)", [None, Decimal("0.111111")]),
        ("try_mod(1 % z, z)", [None, Decimal(1)]),
        ("try_add(n, 1 / z)", [None, None]),
        ("try_multiply(n, z * big)", [None, None]),
    ],
)
def test_try_functions_leave_out_the_operand_that_spark_leaves_out(text, expected):
    columns = {"z": decimal_column([0, 3], (5, 0)), "n": decimal_column([None, None], (5, 0))}
    columns["big"] = decimal_column([10**38 - 1] * 2, (38, 0))
    assert computed(text, pa.record_batch(columns)).to_pylist() == expected


@pytest.mark.parametrize(
    "name", ["none_38_0_38_0_38_0", "plus_99_0_38_0_38_0", "plus_0_0_38_0_38_0", "plus_9_9_9"]
)
def test_strings_may_look_like_the_names_of_functions_on_decimals(name):
    batch = batch_of((38, 10), (38, 18), [(10**10, 2 * 10**18)])
    text = f"concat('deltaarrow_decimal_{name}', a * b)"
    assert computed(text, batch).to_pylist() == [f"deltaarrow_decimal_{name}2.000000"]
