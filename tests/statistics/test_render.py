"""Bounds as JSON text; the expected texts are delta-spark 4.4's for the same values."""

import json
import math

import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.schema import PrimitiveType
from deltaarrow.statistics import nest, render_bound, render_statistics, truncate_max

LAST = "\U0010ffff"
DEL = "\x7f"
ROCKET = "\U0001f680"


def rendered(bound, kind, *, upper=False, length=32):
    return render_bound(bound, PrimitiveType(kind), length, upper=upper)


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (-719162, "0001-01-01"),
        (-1, "1969-12-31"),
        (2932896, "9999-12-31"),
        (2932897, "+10000-01-01"),
        (3789548, "+12345-06-07"),
        (-735525, "-0044-03-15"),
        (-719469, "0000-02-29"),
    ],
)
def test_dates_of_any_year(days, text):
    assert rendered(days, "date") == f'"{text}"'


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (-1, "1969-12-31T23:59:59.999"),
        (999, "1970-01-01T00:00:00.000"),
        (-62135596799999999, "0001-01-01T00:00:00.000"),
        (253402300799999999, "9999-12-31T23:59:59.999"),
        (253402300800123456, "+10000-01-01T00:00:00.123"),
        (-65289196800000001, "-0099-01-25T23:59:59.999"),
        (1767225600100000, "2026-01-01T00:00:00.100"),
    ],
)
def test_timestamps_go_down_to_milliseconds(microseconds, text):
    assert rendered(microseconds, "timestamp_ntz") == f'"{text}"'
    assert rendered(microseconds, "timestamp", upper=True) == f'"{text}Z"'


@pytest.mark.parametrize(
    ("digits", "kind", "text"),
    [
        (12340, "decimal(5,2)", "123.40"),
        (-12345, "decimal(5,2)", "-123.45"),
        (1000, "decimal(38,10)", "1.000E-7"),
        (-123456789012345678901000000000, "decimal(38,10)", "-12345678901234567890.1000000000"),
        (-(10**38 - 1), "decimal(38,0)", "-" + "9" * 38),
        (1, "decimal(10,10)", "1E-10"),
        (0, "decimal(10,10)", "0E-10"),
        (100, "decimal(18,0)", "100"),
        (100, "decimal(20,8)", "0.00000100"),
    ],
)
def test_decimals_keep_their_digits(digits, kind, text):
    assert rendered(digits, kind) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (math.nan, '"NaN"'),
        (math.inf, '"Infinity"'),
        (-math.inf, '"-Infinity"'),
        (-0.0, "-0.0"),
        (1e7, "1.0E7"),
        (0.001, "0.001"),
        (9999999.0, "9999999.0"),
        (9.999e-4, "9.999E-4"),
        (123456789.0, "1.23456789E8"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (5e-324, "4.9E-324"),
        (9007199254740992.0, "9.007199254740992E15"),
    ],
)
def test_doubles_as_java_spells_them(value, text):
    assert rendered(value, "double") == text


def test_floats_have_the_digits_of_32_bits():
    assert rendered(0.10000000149011612, "float") == "0.1"
    assert rendered(3.4028234663852886e38, "float") == "3.4028235E38"
    assert rendered(1.401298464324817e-45, "float") == "1.4E-45"


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("x" * 40, "x" * 32, "x" * 32 + DEL),
        ("b" * 32, "b" * 32, "b" * 32),
        ("b" * 31 + ROCKET + "zz", "b" * 31 + ROCKET, "b" * 31 + ROCKET + DEL),
        ("a" * 32 + ROCKET, "a" * 32, "a" * 32 + LAST),
        ("c" * 32 + "\x7fq", "c" * 32, "c" * 32 + LAST),
        ("b" * 32 + "\x7e", "b" * 32, "b" * 32 + DEL),
        (LAST * 60, LAST * 32, None),
        (LAST * 17, LAST * 17, LAST * 17),
        ("d" * 32 + LAST * 5 + "z", "d" * 32, "d" * 32 + LAST * 5 + DEL),
        ("d" * 32 + LAST * 17 + "z", "d" * 32, None),
        ("f" * 31 + LAST + LAST + "zz", "f" * 31 + LAST, "f" * 31 + LAST + LAST + DEL),
        ("漢" * 33, "漢" * 32, "漢" * 32 + LAST),
        ("", "", ""),
    ],
)
def test_strings_are_cut(text, low, high):
    def parsed(upper):
        found = rendered(text.encode(), "string", upper=upper)
        return None if found is None else json.loads(found)

    assert (parsed(False), parsed(True)) == (low, high)


def test_no_prefix_at_all():
    assert rendered(b"abc", "string", length=0) == '""'
    assert rendered(b"abc", "string", length=0, upper=True) is None


def test_bytes_that_are_no_text_have_no_bound():
    assert rendered(b"\xff", "string") is None


@pytest.mark.parametrize(
    ("text", "json_text"),
    [
        ('q"uo\\te/', '"q\\"uo\\\\te/"'),
        ("\x01\x1f", '"\\u0001\\u001F"'),
        ("\b\f\r\t\n", '"\\b\\f\\r\\t\\n"'),
        ("\x7f\x80\u2028ä漢", '"\x7f\x80\u2028ä漢"'),
        ("\\u001f", '"\\\\u001f"'),
        ("\\\x1f", '"\\\\\\u001F"'),
        ("</script>&", '"</script>&"'),
    ],
)
def test_strings_are_escaped_as_jackson_does(text, json_text):
    assert rendered(text.encode(), "string") == json_text


characters = st.one_of(
    st.sampled_from([LAST, DEL, "\x7e", ROCKET, "\ufffd"]), st.characters(exclude_categories=["Cs"])
)
texts = st.text(characters, max_size=12)


@settings(deadline=None)
@given(texts, st.integers(0, 6), texts)
def test_a_cut_maximum_is_not_less_than_what_was_cut(text, length, other):
    bound = truncate_max(text, length)
    if bound is not None:
        assert bound.encode() >= text.encode()
        for smaller in (min(text.encode(), other.encode()), text.encode()):
            assert bound.encode() >= smaller
    assert json.loads(rendered(text.encode(), "string", length=length)) <= text


def test_the_whole_text():
    low = nest([(("a",), "1"), (("s", "b"), None)])
    nulls = nest([(("a",), "0"), (("s", "b"), "2")])
    assert render_statistics(2, low, low, nulls, tight_bounds=True) == (
        '{"numRecords":2,"minValues":{"a":1,"s":{}},"maxValues":{"a":1,"s":{}},'
        '"nullCount":{"a":0,"s":{"b":2}},"tightBounds":true}'
    )
    assert render_statistics(1, None, None, None) == '{"numRecords":1}'
    assert nest([]) is None
