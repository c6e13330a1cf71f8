"""User conditions in Spark SQL: their predicates, and refusals by name."""

import datetime as dt
import pickle
from decimal import Decimal

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions import (
    NULL,
    And,
    Column,
    Compare,
    Constant,
    IsIn,
    IsNan,
    IsNull,
    Literal,
    Not,
    Opaque,
    Or,
    StartsWith,
    is_exact,
    ordered,
)
from deltaarrow.schema import ArrayType, Field, Schema, StructType
from deltaarrow.spark_sql import parse_condition
from tests.support.conditions import predicate_of

NESTED = StructType([Field("b", "integer"), Field("ok", "boolean")])
DEEP = StructType([Field("d", StructType([Field("e", StructType([Field("f", "integer")]))]))])
SCHEMA = Schema(
    [
        *(Field(name, "integer") for name in ("a", "b", "a b.c", "idea")),
        Field("l", "long"),
        Field("f", "float"),
        Field("d", "double"),
        Field("e", "double"),
        Field("m", "decimal(5,2)"),
        Field("s", "string"),
        Field("x", "binary"),
        Field("ok", "boolean"),
        Field("day", "date"),
        Field("ts", "timestamp"),
        Field("ntz", "timestamp_ntz"),
        Field("st", NESTED),
        Field("deep", StructType([Field("b`c", DEEP)])),
        Field("items", ArrayType("integer")),
    ]
)
A, B, S, D, OK = (Column((name,)) for name in ("a", "b", "s", "d", "ok"))
INT, LONG, TEXT = pa.int32(), pa.int64(), pa.string()
UTC = pa.timestamp("us", "UTC")


def compare(op, column, value, arrow_type=INT):
    return Compare(op, column, Literal(value, arrow_type))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a = 1", ("a",)),
        ("`a b.c` = 1", ("a b.c",)),
        ("st.b = 1", ("st", "b")),
        ("ST.B = 1", ("st", "b")),
        ("deep.`b``c`.d.e.f = 1", ("deep", "b`c", "d", "e", "f")),
        ("(a) = 1", ("a",)),
    ],
)
def test_columns(text, path):
    assert predicate_of(text, SCHEMA) == compare("=", Column(path), 1)


@pytest.mark.parametrize(
    ("name", "text", "value", "arrow_type"),
    [
        ("a", "-1", -1, INT),
        ("a", "'5'", 5, INT),
        ("a", "5.0", 5, INT),
        ("a", "5e0", 5, INT),
        ("a", "10L", 10, INT),
        ("m", "- 1.50", Decimal("-1.50"), pa.decimal128(5, 2)),
        ("m", "1", Decimal(1), pa.decimal128(5, 2)),
        ("m", "1.5BD", Decimal("1.5"), pa.decimal128(5, 2)),
        ("d", "1e3", 1000.0, pa.float64()),
        ("d", "0.1", 0.1, pa.float64()),
        ("d", "' 1.5 '", 1.5, pa.float64()),
        ("f", "0.1", 0.1, pa.float64()),
        ("f", "-1.5F", -1.5, pa.float32()),
        ("s", "'x'", "x", TEXT),
        ("s", '"x"', "x", TEXT),
        ("s", r"'it\'s'", "it's", TEXT),
        ("s", "'it''s'", "it's", TEXT),
        ("s", "'a' 'b'", "ab", TEXT),
        ("s", r"'a\nb'", "a\nb", TEXT),
        ("s", r"r'a\nb'", r"a\nb", TEXT),
        ("x", "X'1F00'", b"\x1f\x00", pa.binary()),
        ("x", "X'F00'", b"\x0f\x00", pa.binary()),
        ("x", "'é'", b"\xc3\xa9", pa.binary()),
        ("ok", "TRUE", True, pa.bool_()),
        ("ok", "'true'", True, pa.bool_()),
        ("day", "DATE'2020-01-31'", dt.date(2020, 1, 31), pa.date32()),
        ("day", "'2020-1-31'", dt.date(2020, 1, 31), pa.date32()),
        ("day", "'2020-01-31 10:00:00'", dt.date(2020, 1, 31), pa.date32()),
        ("day", "CAST('2020-1-31' AS DATE)", dt.date(2020, 1, 31), pa.date32()),
        ("day", "TIMESTAMP_NTZ'2020-01-31 00:00:00'", dt.date(2020, 1, 31), pa.date32()),
        ("ts", "TIMESTAMP'2020-01-31 01:00:00'", dt.datetime(2020, 1, 31, 1, tzinfo=dt.UTC), UTC),
        ("ts", "'2020-01-31T01:00:00.000001+01:00'", dt.datetime(2020, 1, 31, 0, 0, 0, 1, dt.UTC), UTC),
        ("ts", "DATE'2020-01-31'", dt.datetime(2020, 1, 31, tzinfo=dt.UTC), UTC),
        ("ntz", "TIMESTAMP_NTZ'2020-01-31 01:00:00'", dt.datetime(2020, 1, 31, 1), pa.timestamp("us")),
        ("ntz", "'2020-01-31 01:00'", dt.datetime(2020, 1, 31, 1), pa.timestamp("us")),
    ],
)
def test_literals_have_the_value_and_the_type_of_the_column(name, text, value, arrow_type):
    found = predicate_of(f"{name} <= {text}", SCHEMA)
    assert found == compare("<=", Column((name,)), value, arrow_type)
    assert type(found.right.value) is type(value)
    assert is_exact(found)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a < 2.5", "a <= 2"),
        ("a >= 2.5", "a > 2"),
        ("l > -2.5e0", "l > -3"),
        ("m < 1.005", "m <= 1.00"),
        ("m > -1.005", "m > -1.01"),
        ("day < TIMESTAMP'2020-01-31 01:00:00'", "day <= DATE'2020-01-31'"),
        ("a < 3000000000", "a NOT IN (2.5)"),
        ("m > 100000", "m IN (2.555)"),
        ("a = 2.5", "a IN (2.5)"),
        ("a != 2.5", "a NOT IN (2.5)"),
    ],
)
def test_between_two_values_of_the_column_a_comparison_is_with_the_nearest(text, same):
    assert predicate_of(text, SCHEMA) == predicate_of(same, SCHEMA)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a != 1", compare("!=", A, 1)),
        ("a <> 1", compare("!=", A, 1)),
        ("a == 1", compare("=", A, 1)),
        ("1 < a", compare(">", A, 1)),
        ("a > b", Compare(">", A, B)),
        ("a <=> NULL", IsNull(A)),
        ("a <=> 1", And((Not(IsNull(A)), compare("=", A, 1)))),
        ("a BETWEEN 1 AND 2", And((compare(">=", A, 1), compare("<=", A, 2)))),
        ("a NOT BETWEEN 1 AND 2", Not(And((compare(">=", A, 1), compare("<=", A, 2))))),
        ("a IN (1, -2)", IsIn(A, (1, -2), INT)),
        ("a IN (1, 2.5, 3000000000)", IsIn(A, (1,), INT)),
        ("a NOT IN (1, NULL)", Not(Or((IsIn(A, (1,), INT), NULL)))),
        ("a = NULL", NULL),
        ("a IS NULL", IsNull(A)),
        ("a IS NOT NULL", Not(IsNull(A))),
        ("items IS NULL", IsNull(Column(("items",)))),
        ("isnotnull(a)", Not(IsNull(A))),
        ("isnull(a)", IsNull(A)),
        ("isnan(d)", And((Not(IsNull(D)), IsNan(D)))),
        ("ok", compare("=", OK, True, pa.bool_())),
        ("NOT st.ok", Not(compare("=", Column(("st", "ok")), True, pa.bool_()))),
        ("true", Constant(True)),
        ("null", NULL),
        ("s LIKE 'x%'", StartsWith(S, "x")),
        ("s LIKE 'x'", compare("=", S, "x", TEXT)),
        (r"s LIKE '50\\%\\_%'", StartsWith(S, "50%_")),
        ("s NOT LIKE 'x%'", Not(StartsWith(S, "x"))),
        ("NOT s LIKE 'x'", Not(compare("=", S, "x", TEXT))),
        ("a IS DISTINCT FROM NULL", Not(IsNull(A))),
        ("s LIKE '%'", StartsWith(S, "")),
        ("startswith(s, 'x')", StartsWith(S, "x")),
        ("a = 1 -- only ones", compare("=", A, 1)),
        ("a = 1 /* only ones */", compare("=", A, 1)),
        ("d > 2", ordered(">", D, Literal(2.0, pa.float64()))),
        ("NOT d > 2", compare("<=", D, 2.0, pa.float64())),
        ("NOT d <= 2", ordered(">", D, Literal(2.0, pa.float64()))),
        ("d = e", ordered("=", D, Column(("e",)))),
        ("d = 'NaN'", IsNan(D)),
        ("CAST(a AS BIGINT) = 1", compare("=", A, 1)),
    ],
)
def test_what_the_tree_says_wholly(text, tree):
    assert predicate_of(text, SCHEMA) == tree
    assert is_exact(tree)


@pytest.mark.parametrize(
    "text",
    [
        *("upper(s) = 'X'", "a + 1 = 2", "-a = 1", "a IN (b)", "s LIKE '_'", "s RLIKE 'a'", "items[0] = 1"),
        *("s = 1", "CAST(s AS INT) = 1", "a = 'x'", "l = 1e300", "m < 1e0", "CAST(l AS DOUBLE) = d"),
        *("CAST(a AS DOUBLE) = CAST(l AS DOUBLE)", "day = ts", "day <= current_date()", "(a > 1) = true"),
    ],
)
def test_what_the_tree_cannot_say_is_left_to_the_expression(text):
    found = predicate_of(text, SCHEMA)
    assert not is_exact(found)
    assert found.reason == text


def test_what_is_known_of_a_part_leaves_out_files():
    begins, rest = predicate_of("s LIKE 'a%b'", SCHEMA).operands
    assert (begins, rest) == (StartsWith(S, "a"), Opaque("s LIKE 'a%b'", (S,)))
    one, other = predicate_of("upper(s) = 'X' AND a = 1", SCHEMA).operands
    assert (one, other) == (Opaque("UPPER(s) = 'X'", (S,)), compare("=", A, 1))


def test_is_true_is_never_null():
    condition = compare("=", OK, True, pa.bool_())
    assert predicate_of("ok IS TRUE", SCHEMA) == And((Not(IsNull(condition)), condition))
    assert predicate_of("ok IS NOT TRUE", SCHEMA) == Not(And((Not(IsNull(condition)), condition)))


def test_long_texts_of_users():
    assert len(predicate_of(" OR ".join(f"a = {n}" for n in range(3000)), SCHEMA).operands) == 3000
    assert len(predicate_of(" AND ".join(f"a <> {n}" for n in range(3000)), SCHEMA).operands) == 3000
    assert len(predicate_of(f"a IN ({', '.join(map(str, range(9000)))})", SCHEMA).values) == 9000


def test_conditions_travel():
    condition = parse_condition("upper(s) = 'X' AND a = 1 AND day <= current_date()", SCHEMA)
    rows = pa.record_batch(
        {"s": ["x", "X", "y"], "a": pa.array([1, 2, 1], INT), "day": [dt.date(2020, 1, 1)] * 3}
    )
    travelled = pickle.loads(pickle.dumps(condition))
    assert (
        travelled.select(rows).to_pylist()
        == condition.select(rows).to_pylist()
        == rows.slice(0, 1).to_pylist()
    )


def test_the_time_of_day_is_that_of_the_condition():
    condition = parse_condition("ts <= current_timestamp()", SCHEMA, clock=lambda: 5)
    rows = pa.record_batch({"ts": pa.array([4000, 5000, 6000], UTC)})
    assert condition.select(rows).num_rows == 2


def test_plain_comparisons_of_times_beyond_the_years_that_are_computed():
    rows = pa.record_batch(
        {"ts": pa.array([2**62, 0, None], UTC), "day": pa.array([3_000_000, 0, None], pa.date32())}
    )
    for text in ("ts > '2020-01-01'", "day > '2020-01-01'", "ts IS NOT NULL AND NOT day < '2020-01-01'"):
        assert parse_condition(text, SCHEMA).select(rows).num_rows == 1


def test_what_may_fail_is_computed_for_no_other_rows_than_those_that_meet_the_rest():
    rows = pa.record_batch({"a": pa.array([0, 1, 20], INT)})
    for text in ("a <> 0 AND 10 / a > 5", "10 / a > 5 AND a <> 0"):
        assert parse_condition(text, SCHEMA).select(rows).to_pylist() == [{"a": 1}]
    with pytest.raises(InvalidPredicateError, match="division by zero"):
        parse_condition("10 / a > 5", SCHEMA).select(rows)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a IN (SELECT 1)", "subquery"),
        ("a BETWEEN SYMMETRIC 2 AND 1", "BETWEEN|parse"),
        ("s LIKE 'a' ESCAPE '%'", "ESCAPE"),
        ("s ILIKE 'é%'", "ILIKE"),
        ("a > INTERVAL 1 MONTH", "INTERVAL of months"),
        ("my_function(a)", "MY_FUNCTION"),
        ("day = DATE'2020-02-30'", "is not a DATE"),
        ("ntz = TIMESTAMP_NTZ'2020-01-01 00:00:00Z'", "TIMESTAMP_NTZ '2020-01-01 00:00:00Z'"),
        ("1", "'1' is not a condition: its type is integer"),
        ("a = 1 AND s", "'s' is not a condition: its type is string"),
        ("st = 1", "struct"),
        ("items = 1", "array"),
        ("ok = 1", "boolean together with integer"),
        ("day = 1", "date together with integer"),
        ("st.nope = 1", "nope"),
        ("a.x = 1", "not a struct"),
        ("SELECT 1", "SELECT"),
        ("DROP TABLE x", "DROP"),
        ("a = 1; DROP TABLE x", ";"),
        ("", "an empty text"),
        ("s = '\ud800'", "half of a surrogate pair"),
        ("a = 'x", "a ' is not closed"),
        ("(" * 3000 + "ok" + ")" * 3000, "deep nesting"),
        ("variant_get(s, '$.a', 'int') = 1", "variant"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(text, names):
    with pytest.raises(InvalidPredicateError, match=names):
        predicate_of(text, SCHEMA)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = = 3", "at character 5: an operand is missing\n  a = = 3\n      ^"),
        ("a = 1 AND", "at character 7: an operand is missing\n  a = 1 AND\n        ^"),
        (
            "a = 1\n  AND b 7",
            "at character 15: `7` is not expected here\n    AND b 7\n          ^",
        ),
    ],
)
def test_a_text_that_cannot_be_parsed_says_where(text, message):
    with pytest.raises(InvalidPredicateError) as raised:
        predicate_of(text, SCHEMA)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1 AND nope(a) = 2", "the function NOPE is not supported in a SQL expression (at character 11)"),
        ("a = 1 AND ?", "? is not supported in a SQL expression (at character 11)"),
        (
            "s = 'x' AND é = 1",
            "the character 'é' outside quotes is not supported in a SQL expression (at character 13)",
        ),
        ("zzz = 1", "no column `zzz` in the table (columns: "),
    ],
)
def test_what_is_refused_says_where(text, message):
    with pytest.raises(InvalidPredicateError) as raised:
        predicate_of(text, SCHEMA)
    assert str(raised.value).startswith(message)


def test_text_that_spark_collates_is_not_compared_by_its_bytes():
    collated = Field("c", "string", metadata={"__COLLATIONS": {"c": "ICU.UNICODE_CI"}})
    with pytest.raises(InvalidPredicateError, match="compared by rules of its own"):
        predicate_of("c = 'a'", Schema([collated]))
    assert predicate_of("c IS NULL", Schema([collated])) == IsNull(Column(("c",)))


def test_an_unknown_column_is_answered_with_names_that_are_close():
    schema = Schema([Field("id", "long"), Field("day", "date"), Field("price", "double")])
    with pytest.raises(InvalidPredicateError) as raised:
        predicate_of("idd = 3", schema)
    assert str(raised.value) == "no column `idd` in the table; did you mean `id`? (columns: id, day, price)"


@pytest.mark.parametrize(
    "text", ["d = CAST(0.1 AS FLOAT)", "d = CAST(CAST(0.1 AS FLOAT) AS DOUBLE)", "d = f"]
)
def test_a_float_is_rounded_before_it_is_compared_as_a_double(tmp_path, text):
    rounded = 0.10000000149011612
    write_deltalake(tmp_path, pa.table({"d": [0.1, rounded], "f": pa.array([0.1, 0.1], pa.float32())}))
    assert DeltaTable(tmp_path).to_pyarrow_table(filters=text)["d"].to_pylist() == [rounded]
