"""Files that a predicate skips, rule by rule."""

import datetime as dt
import json
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

from deltaarrow.expressions import (
    And,
    Column,
    Compare,
    IsIn,
    Literal,
    Not,
    Opaque,
    from_arrow,
    in_total_order,
)
from deltaarrow.schema import ArrayType, Field, Schema, StructType
from deltaarrow.statistics import matching_rows, statistics_asked
from tests.support.conditions import predicate_of

SCHEMA = Schema(
    [
        Field("a", "long"),
        Field("i", "integer"),
        Field("f", "float"),
        Field("d", "double"),
        Field("c", "decimal(20,2)"),
        Field("s", "string"),
        Field("day", "date"),
        Field("ts", "timestamp"),
        Field("ntz", "timestamp_ntz"),
        Field("b", "boolean"),
        Field("x", "binary"),
        Field("st", StructType([Field("n", "long")])),
        Field("list", ArrayType("long")),
        Field("p", "long"),
    ]
)


CONNECTION = duckdb.connect()
CONNECTION.execute("SET GLOBAL TimeZone = 'Asia/Tokyo'")


def stats(low=None, high=None, nulls=0, column="a", records=10):
    parts = {"numRecords": records}
    if low is not None:
        parts["minValues"] = {column: low}
    if high is not None:
        parts["maxValues"] = {column: high}
    if nulls is not None:
        parts["nullCount"] = {column: nulls}
    return json.dumps(parts)


def is_kept(predicate, text=None, partition=None, *, schema=SCHEMA, mode="none", parsed=None, has_json=True):
    if isinstance(predicate, str):
        predicate = predicate_of(predicate, schema)
    values = None if partition is None else list(partition.items())
    files = pa.table({"partition_values": pa.array([values], pa.map_(pa.string(), pa.string()))})
    if has_json:
        files = files.append_column("stats", pa.array([text], pa.string()))
    if parsed is not None:
        with CONNECTION.cursor() as cursor:
            struct = cursor.sql(f"SELECT {parsed} AS stats_parsed").to_arrow_table()
        files = files.append_column("stats_parsed", struct.column(0))
    (answer,) = matching_rows(files, predicate, schema, mode, ["p"])
    return bool(answer)


@pytest.mark.parametrize(
    ("predicate", "low", "high", "kept"),
    [
        ("b", False, False, False),
        ("b", False, True, True),
        ("NOT b", True, True, False),
        ("NOT b", False, True, True),
        ("b = true", False, False, False),
        ("b != false", False, False, False),
        ("b < true", True, True, False),
        ("b IN (true)", False, False, False),
        ("b IN (true, false)", False, False, True),
        ("b NOT IN (false)", False, False, False),
        ("b IS NULL", False, False, False),
        ("b", None, False, False),
        ("b", "0", "0", True),
        ("b", "never", "never", True),
    ],
)
def test_some_writers_bound_booleans(predicate, low, high, kept):
    assert is_kept(predicate, stats(low, high, column="b")) is kept
    if isinstance(high, bool):
        parsed = (
            f"{{'minValues': {{'b': {low or False}}}, 'maxValues': {{'b': {high}}}, 'nullCount': {{'b': 0}}}}"
        )
        assert is_kept(predicate, parsed=parsed, has_json=False) is kept


ONE_TO_NINE = stats(1, 9)


@pytest.mark.parametrize(
    ("predicate", "kept"),
    [
        ("a = 1", True),
        ("a = 9", True),
        ("a = 0", False),
        ("a = 10", False),
        ("a <=> 10", False),
        ("a != 5", True),
        ("a < 1", False),
        ("a <= 1", True),
        ("a > 9", False),
        ("a >= 9", True),
        ("1 > a", False),
        ("NOT a < 10", False),
        ("NOT a < 9", True),
        ("NOT (a >= 1 AND a <= 9)", False),
        ("NOT (a = 0 OR a < 10)", False),
        ("a BETWEEN 10 AND 20", False),
        ("a IN (0, 10)", False),
        ("a IN (0, 5, 10)", True),
        ("a IN (NULL)", False),
        ("a NOT IN (5)", True),
        ("a NOT IN (5, NULL)", False),
        ("a IS NULL", False),
        ("a IS NOT NULL", True),
        ("a = NULL", False),
        ("a = 0 AND i = 1", False),
        ("a = 0 OR i = 1", True),
        ("a = 0.5", False),
        ("a = 2.5", False),
        ("a < 1.5", True),
        ("a > 9.5", False),
        ("a < 1e0", False),
        ("a = 'x'", True),
        (Compare("=", Column(("nope",)), Literal(1)), True),
        ("a = i", True),
        ("FALSE", False),
        ("TRUE", True),
        ("NULL", False),
        ("a = 0 AND TRUE", False),
    ],
)
def test_integers(predicate, kept):
    assert is_kept(predicate, ONE_TO_NINE) is kept


@pytest.mark.parametrize(
    ("predicate", "kept"),
    [
        ("a != 5", False),
        ("a NOT IN (4, 5)", False),
        ("NOT a = 5", False),
        ("a != 4", True),
        ("a NOT IN (4)", True),
    ],
)
def test_a_column_of_one_value(predicate, kept):
    assert is_kept(predicate, stats(5, 5)) is kept


@pytest.mark.parametrize(
    "predicate", ["a > 5", "a = 1", "a IN (1)", "a IS NOT NULL", "a != 1", "NOT a > 5", "a > i"]
)
def test_a_column_of_nulls_matches_nothing_else(predicate):
    assert not is_kept(predicate, stats(nulls=10))
    assert is_kept("a IS NULL", stats(nulls=10))


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"numRecords":10}',
        '{"numRecords":10,"minValues":{},"maxValues":{},"nullCount":{}}',
        '{"numRecords":10,"minValues":{"a":null},"maxValues":{"a":null},"nullCount":{"a":null}}',
        '{"numRecords":10,"minValues":{"a":"x"},"maxValues":{"a":"x"},"nullCount":{"a":"x"}}',
        '{"numRecords":10,"minValues":{"a":{"b":1}},"maxValues":{"a":[1]},"nullCount":7}',
        '{"minValues":{"a":99999999999999999999},"maxValues":{"a":-99999999999999999999}}',
        '{"minValues":{"s":"\\ud83d"},"maxValues":{"a":1}}',
        '{"minValues":{"A":100}}',
    ],
)
@pytest.mark.parametrize("predicate", ["a = 50", "a IS NULL", "a IS NOT NULL", "a IN (50, 51)", "NOT a > 50"])
def test_without_readable_statistics_every_file_is_kept(text, predicate):
    assert is_kept(predicate, text)


def test_one_bound_is_enough():
    assert not is_kept("a > 9", '{"maxValues":{"a":9}}')
    assert not is_kept("a < 1", '{"minValues":{"a":1}}')


def test_legacy_null_counts():
    assert not is_kept("a IS NULL", '{"numRecords":2,"nullCounts":{"a":0}}')


def test_wide_bounds_leave_a_null_count_of_some_without_meaning():
    wide = '{"numRecords":10,"nullCount":{"a":%d},"tightBounds":false}'
    assert [is_kept("a IS NULL", wide % count) for count in (0, 9, 10)] == [False, True, True]
    assert [is_kept("a IS NOT NULL", wide % count) for count in (0, 9, 10)] == [True, True, False]


class TestFloats:
    text = stats(1.0, 9.0, column="d")

    @pytest.mark.parametrize(
        "predicate", ["d = 0", "d < 1", "d <= 0.5", "d = 10", "d IN (0.5, 10)", "NOT d != 10"]
    )
    def test_nan_is_never_less_or_equal(self, predicate):
        assert not is_kept(predicate, self.text)

    @pytest.mark.parametrize(
        "predicate", ["d > 10", "d >= 10", "d != 1", "NOT d < 10", "NOT d = 1", "NOT d IN (1)"]
    )
    def test_a_maximum_may_leave_nan_out(self, predicate):
        assert is_kept(predicate, self.text)
        assert is_kept(predicate, stats(1.0, 1.0, column="d"))

    def test_to_ieee_nan_is_not_greater(self):
        greater, least = (Compare(op, Column(("d",)), Literal(10.0)) for op in (">", "<="))
        assert not is_kept(greater, self.text)
        assert is_kept(Not(least), self.text)
        assert is_kept(Not(Compare(">", Column(("d",)), Literal(0.0))), self.text)
        assert is_kept(in_total_order(greater, SCHEMA), self.text)
        assert not is_kept("NOT d > 0", self.text)

    @pytest.mark.parametrize("predicate", ["d = 'NaN'", "d < 'NaN'", "d IN (100, 'NaN')", "isnan(d)"])
    def test_nan_itself_may_be_anywhere(self, predicate):
        assert is_kept(predicate, self.text)

    def test_bounds_that_are_nan_are_none(self):
        text = stats("NaN", "NaN", column="d")
        assert is_kept("d = 1", text)
        assert is_kept("d < 1", text)

    def test_infinities_are_bounds(self):
        assert not is_kept("d < 5", stats("Infinity", "Infinity", column="d"))
        assert not is_kept("d = 5", stats("-Infinity", "-Infinity", column="d"))

    def test_a_float_meets_a_decimal_as_a_double(self):
        assert is_kept("f = 0.1F", stats(0.1, 0.1, column="f"))
        assert not is_kept("f = 0.1D", stats(0.1, 0.1, column="f"))
        assert is_kept("f < 0.1000000015D", stats(0.1, 0.1, column="f"))
        assert not is_kept("f < 0.09", stats(0.1, 0.1, column="f"))

    def test_a_widened_float_is_not_its_text(self):
        changed = Field(
            "d", "double", metadata={"delta.typeChanges": [{"fromType": "float", "toType": "double"}]}
        )
        text = stats(0.1, 0.1, column="d")
        value = Compare("=", Column(("d",)), Literal(0.10000000149011612))
        assert is_kept(value, text, schema=Schema([changed]))
        assert not is_kept(value, text)


class TestDecimals:
    def test_many_digits_are_kept(self):
        text = '{"minValues":{"c":123456789012345678.90},"maxValues":{"c":123456789012345678.99}}'
        assert is_kept("c = 123456789012345678.95", text)
        assert not is_kept("c > 123456789012346678.00", text)
        assert not is_kept("c < 123456789012344678.00", text)

    def test_bounds_that_went_through_a_double_hold_what_they_were_taken_from(self):
        value = Decimal("123456789012345678.91")
        text = json.dumps({"minValues": {"c": float(value)}, "maxValues": {"c": float(value)}})
        assert is_kept(Compare("=", Column(("c",)), Literal(value)), text)

    @pytest.mark.parametrize("spelling", ["1e1", "10", "10.00", "1.0E+1", '"10.00"'])
    def test_spellings(self, spelling):
        text = f'{{"minValues":{{"c":{spelling}}},"maxValues":{{"c":{spelling}}}}}'
        assert is_kept("c = 10", text)
        assert not is_kept("c = 10.01", text)
        assert not is_kept("c < 9.995", text)

    def test_literals_of_another_scale(self):
        text = stats(1, 2, column="c")
        assert not is_kept("c = 2.001", text)
        assert is_kept("c < 1.001", text)
        many = Literal(Decimal(f"0.{'1' * 38}"))
        assert is_kept(Compare(">", Column(("c",)), many), text), "too many digits to compare"


class TestStrings:
    cut = "a" * 32

    @pytest.mark.parametrize(
        ("maximum", "value", "kept"),
        [
            ("b", "b", True),
            ("b", "ba", False),
            ("é", "z", True),
            ("\uffee", "\U0001f600", False),
            (cut + "\x7f", cut + "z", True),
            (cut + "\U0010ffff", cut + "\U0010ffff", True),
            (cut + "\U0010ffff", cut + "\U0010ffff\U0010ffff", True),
            (cut + "\U0010ffff", "b", False),
            (cut + "\ufffd", cut + "\U0001f600", True),
            ("a" * 31 + "?\ufffd", "a" * 31 + "\U0001f600", True),
            ("ab\ufffd", "ab\U0001f600", True),
            ("ab\ufffd", "ac", True),
            ("ab\ufffd", "ad", False),
            (cut, cut + "z", True),
            ("\U0010ffff" * 33, "\U0010ffff" * 40, True),
            ("\ud7ff\ufffd", "\ud7ff\U0001f600", True),
        ],
    )
    def test_a_maximum_may_be_cut(self, maximum, value, kept):
        text = stats("", maximum, column="s")
        assert is_kept(Compare("=", Column(("s",)), Literal(value)), text) is kept
        assert is_kept(Compare(">=", Column(("s",)), Literal(value)), text) is kept

    def test_a_minimum_may_be_cut(self):
        text = stats(self.cut, None, column="s")
        assert is_kept(f"s = '{self.cut}z'", text)
        assert not is_kept("s = 'a'", text)

    @pytest.mark.parametrize(
        ("predicate", "kept"),
        [
            ("s LIKE 'ba%'", True),
            ("s LIKE 'b%'", True),
            ("s LIKE '%'", True),
            ("s LIKE 'bb%'", True),
            ("s LIKE 'bbx%'", False),
            ("s LIKE 'a%'", False),
            ("s LIKE 'baa%'", False),
            ("s LIKE 'c%'", False),
            ("s NOT LIKE 'b%'", False),
            ("s NOT LIKE 'ba%'", True),
            ("NOT s LIKE '%'", False),
        ],
    )
    def test_prefixes(self, predicate, kept):
        assert is_kept(predicate, stats("bab", "bb", column="s")) is kept

    def test_quotes_and_control_characters(self):
        value = "it's \"\\\n\x00"
        assert is_kept(Compare("=", Column(("s",)), Literal(value)), stats(value, value, column="s"))
        assert not is_kept(
            Compare("=", Column(("s",)), Literal(value + "!")), stats(value, value, column="s")
        )


class TestTimes:
    def test_days(self):
        text = stats("2020-01-02", "2020-01-03", column="day")
        assert is_kept("day = '2020-01-03'", text)
        assert not is_kept("day > '2020-01-03'", text)
        assert not is_kept("day < TIMESTAMP_NTZ'2020-01-01 12:00:00'", text)

    @pytest.mark.parametrize("zone", ["Z", "+00:00", "+05:30", "-08:00"])
    def test_a_maximum_lacks_what_is_below_a_millisecond(self, zone):
        offset = {"+05:30": dt.timedelta(hours=5, minutes=30), "-08:00": dt.timedelta(hours=-8)}.get(
            zone, dt.timedelta()
        )
        shown = (dt.datetime(2020, 1, 1, 0, 0, 0, 1000) + offset).isoformat(timespec="milliseconds") + zone
        text = stats(shown, shown, column="ts")
        assert is_kept("ts = '2020-01-01 00:00:00.001999'", text)
        assert not is_kept("ts > '2020-01-01 00:00:00.002001'", text)
        assert not is_kept("ts < '2020-01-01 00:00:00.001'", text)

    def test_old_offsets_lack_their_seconds(self):
        text = stats("1879-12-31T16:07:02.000-07:52", "1879-12-31T16:07:02.000-07:52", column="ts")
        assert is_kept("ts = '1880-01-01 00:00:00'", text)
        assert not is_kept("ts = '1880-01-01 00:01:00'", text)

    @pytest.mark.parametrize(
        "text",
        ["2020-01-01T00:00:00.000", "2020-01-01 00:00:00", "+12020-01-01T00:00:00.000Z", "epoch", "infinity"],
    )
    def test_what_is_not_certain_proves_nothing(self, text):
        assert is_kept("ts = '2000-01-01'", stats(text, text, column="ts"))

    @pytest.mark.parametrize(
        "text", ["2020-01-01T00:00:00.001", "2020-01-01 00:00:00.001", "2020-01-01T00:00:00.001Z"]
    )
    def test_wall_times(self, text):
        text = stats(text, text, column="ntz")
        assert is_kept("ntz = '2020-01-01 00:00:00.001999'", text)
        assert not is_kept("ntz = '2020-01-01 00:00:00.003'", text)
        assert is_kept("ntz = '2000-01-01'", stats("2020-01-01T00:00:00+01:00", column="ntz"))

    def test_a_date_that_became_a_wall_time(self):
        text = stats("2020-01-01", "2020-01-02", column="ntz")
        assert is_kept("ntz = '2020-01-02'", text)
        assert not is_kept("ntz > '2020-01-03'", text)


@pytest.mark.parametrize("predicate", ["b", "NOT b", "x = X'00'", "x IN (X'00', X'01')", "x != X'00'"])
def test_types_without_bounds(predicate):
    column = "b" if "b" in predicate else "x"
    assert is_kept(predicate, stats("0", "0", column=column))
    assert not is_kept(predicate, stats(nulls=10, column=column))


def test_nested_columns_and_structs():
    bounds = '"minValues":{"st":{"n":1}},"maxValues":{"st":{"n":9}}'
    text = f'{{"numRecords":5,{bounds},"nullCount":{{"st":{{"n":0}},"list":0}}}}'
    assert not is_kept("st.n > 9", text)
    assert is_kept("st.n = 9", text)
    assert is_kept("st.n IS NULL", text), "the count may leave out rows without the struct"
    assert is_kept("st IS NULL", text)
    assert is_kept("st IS NOT NULL", text)
    assert not is_kept("list IS NULL", text)


@pytest.mark.parametrize(
    "name", ["a.b", 'a"b', "a'b", "a b", "a/b~0~1", "a\\b", "*", "$", "0", "é", "a[0]", "a\nb", "x", "stats"]
)
def test_any_name(name):
    schema = Schema([Field(name, StructType([Field(name, "long")]))])
    text = json.dumps({"minValues": {name: {name: 1}}, "maxValues": {name: {name: 9}}})
    column = Column((name, name))
    assert is_kept(Compare("=", column, Literal(9)), text, schema=schema)
    assert is_kept(IsIn(column, (0, 9)), text, schema=schema)
    assert not is_kept(Compare("=", column, Literal(10)), text, schema=schema)
    assert not is_kept(IsIn(column, (0, 10)), text, schema=schema)


def test_names_match_as_in_the_schema():
    assert not is_kept("A = 10", ONE_TO_NINE)


def test_mapped_columns_have_physical_names():
    metadata = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    inner = {"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "col-2"}
    schema = Schema([Field("a", StructType([Field("n", "long", metadata=inner)]), metadata=metadata)])
    text = json.dumps({"maxValues": {"col-1": {"col-2": 9}, "a": {"n": 100}}})
    assert not is_kept("a.n = 10", text, schema=schema, mode="name")
    partition = Schema([Field("p", "long", metadata=metadata)])
    assert not is_kept("p = 10", None, {"col-1": "9"}, schema=partition, mode="id")
    assert is_kept("p = 10", None, {"p": "9"}, schema=partition, mode="id")


def test_long_lists():
    assert not is_kept(f"a IN ({', '.join(map(str, range(10, 3000)))})", ONE_TO_NINE)
    assert is_kept(f"a IN ({', '.join(map(str, range(9, 3000)))})", ONE_TO_NINE)
    assert not is_kept(f"p IN ({', '.join(map(str, range(10, 3000)))})", None, {"p": "9"})
    apart = IsIn(Column(("a",)), (0, *range(10, 200)))
    assert not is_kept(apart, ONE_TO_NINE)
    assert is_kept(apart, stats(1, 10))


def test_parts_that_are_not_understood_decide_nothing():
    opaque = Opaque("the function add", (Column(("a",)),))
    assert is_kept(opaque, ONE_TO_NINE)
    assert is_kept(Not(opaque), ONE_TO_NINE)
    assert not is_kept(And((opaque, predicate_of("a = 10", SCHEMA))), ONE_TO_NINE)


def test_casts_that_lose_nothing_are_seen_through():
    field = pa.compute.field("i")
    assert not is_kept(from_arrow(field.cast(pa.int64()) > 9), stats(1, 9, column="i"))
    assert is_kept(from_arrow(field.cast(pa.int8()) > 9), stats(1, 9, column="i"))


def test_null_literals_match_nothing():
    assert not is_kept(Compare("!=", Column(("a",)), Literal(None, pa.int64())))
    assert not is_kept(Not(Compare("=", Literal(None), Column(("a",)))))


PARSED = """{
    'numRecords': 10::BIGINT,
    'minValues': {'a': 1::BIGINT, 'ts': TIMESTAMPTZ '2020-01-01 00:00:00.001Z'},
    'maxValues': {'a': 9::BIGINT, 'ts': TIMESTAMPTZ '2020-01-01 00:00:00.001Z'},
    'nullCount': {'a': NULL::BIGINT, 'ts': 10}
}"""


def test_statistics_in_structs():
    assert not is_kept("a = 10", parsed=PARSED)
    assert is_kept("a = 9", stats(1, 2), parsed=PARSED)
    assert not is_kept("a IS NULL", stats(nulls=0), parsed=PARSED), "JSON where the struct has NULL"
    no_nulls = PARSED.replace("'ts': 10}", "'ts': 0}")
    assert is_kept("ts = '2020-01-01 00:00:00.001999'", parsed=no_nulls)
    assert not is_kept("ts = '2020-01-01 00:00:00.003'", parsed=no_nulls)


@pytest.mark.parametrize(
    ("column", "stored", "inside", "outside"),
    [
        ("a", "7::INTEGER", "7", "8"),
        ("f", "7::FLOAT", "7", "6"),
        ("d", "7::FLOAT", "7", "6"),
        ("d", "7::INTEGER", "7", "6"),
        ("c", "7::DECIMAL(10,1)", "7.0", "7.1"),
        ("c", "7::SMALLINT", "7.0", "7.1"),
        ("s", "'x'", "'x'", "'y'"),
        ("day", "DATE '2020-01-01'", "'2020-01-01'", "'2020-01-02'"),
        ("ts", "TIMESTAMPTZ '2020-01-01 00:00:00Z'", "'2020-01-01'", "'2020-01-02'"),
        ("ts", "TIMESTAMP_NS '2020-01-01'", "'2020-01-01'", "'2020-01-02'"),
        ("ntz", "TIMESTAMP '2020-01-01'", "'2020-01-01'", "'2020-01-02'"),
        ("ntz", "TIMESTAMP_NS '2020-01-01'", "'2020-01-01'", "'2020-01-02'"),
        ("ntz", "DATE '2020-01-01'", "'2020-01-01'", "'2020-01-02'"),
    ],
)
def test_a_struct_may_have_the_type_that_a_column_had(column, stored, inside, outside):
    parsed = (
        f"{{'numRecords': 1, 'minValues': {{'{column}': {stored}}}, 'maxValues': {{'{column}': {stored}}}}}"
    )
    assert is_kept(f"{column} = {inside}", parsed=parsed, has_json=False)
    assert not is_kept(f"{column} = {outside}", parsed=parsed, has_json=False)


@pytest.mark.parametrize(
    ("column", "stored", "condition"),
    [
        ("a", "7.5::DOUBLE", "a = 100"),
        ("a", "'7'", "a = 100"),
        ("f", "7::DOUBLE", "f = 1"),
        ("d", "7::BIGINT", "d = 1"),
        ("c", "7::DECIMAL(20,3)", "c = 100.0"),
        ("c", "7::DOUBLE", "c = 100.0"),
        ("s", "'x'::BLOB", "s = 'y'"),
        ("day", "TIMESTAMP '2020-01-01'", "day = '2020-01-02'"),
        ("ts", "TIMESTAMP '2020-01-01'", "ts = '2021-01-02'"),
        ("ts", "DATE '2020-01-01'", "ts = '2021-01-02'"),
        ("ntz", "TIMESTAMPTZ '2020-01-01 00:00:00Z'", "ntz = '2021-01-02'"),
        ("b", "0", "b"),
        ("a", "{'x': 1}", "a = 100"),
        ("A", "7::BIGINT", "a = 100"),
    ],
)
def test_a_struct_of_another_type_proves_nothing(column, stored, condition):
    parsed = (
        f"{{'numRecords': 1, 'minValues': {{'{column}': {stored}}}, 'maxValues': {{'{column}': {stored}}}}}"
    )
    assert is_kept(condition, parsed=parsed, has_json=False)


def test_dates_beyond_four_digits():
    """Texts of such dates are not read; a struct has them as days."""
    text = stats("2020-01-02", "+10000-01-01", column="day")
    assert is_kept("day = '9999-12-31'", text)
    assert not is_kept("day < '2020-01-02'", text)
    assert is_kept("day < '2020-01-02'", stats("-0001-01-01", "2020-01-02", column="day"))
    far = "{'minValues': {'day': DATE '10000-01-01'}, 'maxValues': {'day': DATE '20000-01-01'}}"
    assert not is_kept("day <= '9999-12-31'", parsed=far, has_json=False)
    assert is_kept("day > '9999-12-31'", parsed=far, has_json=False)


class TestPartitions:
    @pytest.mark.parametrize(
        ("predicate", "kept"),
        [
            ("p = 5", True),
            ("p = 6", False),
            ("p != 5", False),
            ("NOT p = 5", False),
            ("p <=> 5", True),
            ("p < 5.5", True),
            ("p > 5.5", False),
            ("p = 5.5", False),
            ("p IN (4, 6)", False),
            ("p IN (4, 5.5, 6)", False),
            ("p NOT IN (5)", False),
            ("p NOT IN (4)", True),
            ("p IS NULL", False),
            ("p IS NOT NULL", True),
            ("p = 5 AND a = 10", False),
            ("p = 6 OR a = 10", False),
            ("p = 6 OR a = 9", True),
        ],
    )
    def test_the_value_decides(self, predicate, kept):
        assert is_kept(predicate, ONE_TO_NINE, {"p": "5"}) is kept

    @pytest.mark.parametrize("text", [None, ""])
    def test_null(self, text):
        assert is_kept("p IS NULL", None, {"p": text})
        for predicate in ("p = 5", "p != 5", "NOT p = 5", "p IN (5)", "p NOT IN (5)", "p IS NOT NULL"):
            assert not is_kept(predicate, None, {"p": text})

    @pytest.mark.parametrize("values", [None, {}, {"q": "5"}, {"p": "five"}])
    @pytest.mark.parametrize("predicate", ["p = 6", "p != 5", "p IN (6)"])
    def test_an_unknown_value_keeps_the_file(self, values, predicate):
        assert is_kept(predicate, None, values)

    @pytest.mark.parametrize(
        ("data_type", "text", "same", "other"),
        [
            ("string", "it's", '"it\'s"', "'its'"),
            ("string", "", "''", "'x'"),
            ("binary", "é", "X'C3A9'", "X'00'"),
            ("boolean", "true", "TRUE", "FALSE"),
            ("byte", "-128", "-128", "127"),
            ("long", "9223372036854775807", "9223372036854775807", "0"),
            (
                "decimal(38,2)",
                "12345678901234567890.12",
                "12345678901234567890.12",
                "12345678901234567890.13",
            ),
            ("double", "1.0E7", "1e7", "1e8"),
            ("float", "0.1", "0.1F", "0.2F"),
            ("date", "2020-01-31", "'2020-01-31'", "'2020-02-01'"),
            ("timestamp", "2020-01-31T00:00:00.000001Z", "'2020-01-31 00:00:00.000001'", "'2020-01-31'"),
            ("timestamp", "2020-01-31 00:00:00.000001", "'2020-01-31 00:00:00.000001'", "'2020-01-31'"),
            ("timestamp", "2020-01-31T01:00:00+01:00", "'2020-01-31 00:00:00'", "'2020-01-31 01:00:00'"),
            ("timestamp_ntz", "2020-01-31 00:00:00.5", "'2020-01-31 00:00:00.5'", "'2020-01-31'"),
        ],
    )
    def test_types(self, data_type, text, same, other):
        schema = Schema([Field("p", data_type)])
        assert is_kept(f"p = {same}", None, {"p": text}, schema=schema)
        assert is_kept(f"p IN ({same}, {other})", None, {"p": text}, schema=schema)
        assert not is_kept(f"p = {other}", None, {"p": text}, schema=schema)
        assert not is_kept(f"p IN ({other})", None, {"p": text}, schema=schema)

    def test_prefixes(self):
        schema = Schema([Field("p", "string")])
        assert is_kept("p LIKE 'a%'", None, {"p": "ab"}, schema=schema)
        assert not is_kept("p LIKE 'b%'", None, {"p": "ab"}, schema=schema)
        assert not is_kept("p NOT LIKE 'a%'", None, {"p": "ab"}, schema=schema)

    def test_nan(self):
        schema = Schema([Field("p", "double")])
        for predicate in ("p > 1", "p = 'NaN'", "p != 1", "isnan(p)"):
            assert is_kept(predicate, None, {"p": "NaN"}, schema=schema)
        assert not is_kept("p <= 1", None, {"p": "NaN"}, schema=schema)

    @pytest.mark.parametrize("data_type", ["float", "double"])
    def test_a_number_is_not_nan(self, data_type):
        schema = Schema([Field("p", data_type)])
        for predicate in ("p > 1", "p >= 1.5", "p > 1 AND p < 9", "p = 'NaN'", "isnan(p)", "NOT p <= 1"):
            assert not is_kept(predicate, None, {"p": "1.0"}, schema=schema), predicate
        for predicate in ("p > 0.5", "p >= 1", "NOT p < 1", "NOT isnan(p)"):
            assert is_kept(predicate, None, {"p": "1.0"}, schema=schema), predicate
        for predicate in ("p > 1", "isnan(p)"):
            assert not is_kept(predicate, None, {"p": None}, schema=schema), predicate
            assert is_kept(predicate, None, {"p": "no number"}, schema=schema), predicate


@pytest.mark.parametrize(
    ("predicate", "verdict"), [("b IS NULL OR TRUE", True), ("a < 5 AND FALSE", False), ("NULL", False)]
)
def test_some_verdicts_need_no_file(predicate, verdict):
    assert statistics_asked(predicate_of(predicate, SCHEMA), SCHEMA)[1] is verdict
    assert statistics_asked(Opaque("x"), SCHEMA) == ((), True)


def test_bounds_are_asked_for_together():
    asked, verdict = statistics_asked(predicate_of("a > 5 OR p = 1", SCHEMA), SCHEMA, "none", ["p"])
    assert [(each.what, each.path) for each in asked] == [
        ("upper", ("a",)),
        ("all_null", ("a",)),
    ]
    assert len(verdict) == 0
