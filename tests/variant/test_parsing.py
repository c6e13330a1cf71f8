"""JSON texts as variants; tests/spark/test_writing_variants.py compares the bytes with those of Spark."""

import json
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.variant import EMPTY_METADATA, VARIANT_TYPE, ensure_variants, parse, parse_json, to_json

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=70)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def value_of(text):
    row = parse_json(pa.array([text]))[0].as_py()
    return parse(row["metadata"], row["value"])


def hexadecimal(text):
    row = parse_json(pa.array([text]))[0].as_py()
    return row["metadata"].hex(), row["value"].hex()


@given(st.lists(VALUES, min_size=1, max_size=5), st.booleans(), st.sampled_from([None, 1, "\t"]))
@settings(deadline=None)
def test_a_variant_says_what_the_text_says(values, ascii_only, indent):
    texts = [json.dumps(each, ensure_ascii=ascii_only, indent=indent) for each in values]
    variants = parse_json(pa.array(texts))
    ensure_variants(variants)
    for text, found, row in zip(texts, to_json(variants).to_pylist(), variants.to_pylist(), strict=True):
        wanted = json.loads(text, parse_float=float, parse_int=float)
        assert json.loads(found, parse_float=float, parse_int=float) == wanted
        alone = parse_json(pa.array([text]))[0].as_py()
        assert alone == row


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", "0c01"),
        ("-128", "0c80"),
        ("128", "108000"),
        ("-0", "0c00"),
        ("2147483648", "180000008000000000"),
        ("9223372036854775808", "28000000000000000080" + "00" * 8),
        ("9" * 38, "2800ffffffff3f228a097ac4865aa84c3b4b"),
        ("9" * 39, "1c1d4a9cf487820748"),
        ("0.10", "20020a000000"),
        ("-0.0", "200100000000"),
        ("0.0000000001", "240a0100000000000000"),
        ("12345678.91", "2402" + (1234567891).to_bytes(8, "little").hex()),
        ("1e2", "1c0000000000005940"),
        ("1E400", "1c000000000000f07f"),
        ('"é"', "09c3a9"),
        ("null", "00"),
        ("[]", "030000"),
        ("{}", "020000"),
    ],
)
def test_numbers_take_the_narrowest_type(text, value):
    assert hexadecimal(text) == (EMPTY_METADATA.hex(), value)


def test_names_stand_in_the_order_of_the_text_and_fields_in_that_of_utf_16():
    row = parse_json(pa.array(['{"\\ue000":1,"\\ud83d\\ude00":{"\\ue000":2}}']))[0].as_py()
    assert row["metadata"] == b"\x01\x02\x00\x03\x07" + "\ue000😀".encode()
    # Of both, the second is the first to Java, though its bytes are the greater.
    assert row["value"][:7] == bytes([2, 2, 1, 0, 2, 0, 9])


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "{",
            "}",
            "[1,]",
            '{"a"}',
            '{"a":}',
            '{"a":1,}',
            "{,}",
            "[,1]",
            "{1:2}",
            '{"a" 1}',
            "1 2",
            "1,2",
        ),
        *(
            "[1}",
            '{"a":1]',
            '"a',
            '"\n"',
            "[1 2]",
            '{"a":1 "b":2}',
            '{"a":1,2}',
            '{"a":1:2}',
            '["a":1]',
            ":",
            ",",
        ),
        *(
            "[]]",
            "[[]",
            '{"a":"b":"c"}',
            '12"a"',
            "{}1",
            "[]{}",
            "{[]:1}",
            '"a\\"',
            "01",
            "1.",
            ".5",
            "+1",
            "-",
        ),
        *(
            "NaN",
            "nul",
            "True",
            "1e",
            "0x1",
            "'a'",
            '"\\x"',
            '"\\ud800"',
            '"\\udc00x"',
            "1" * 1001,
            "[" * 1001 + "]" * 1001,
        ),
        *('{"a":1,"a":2}', '{"a":{"b":1,"\\u0062":2}}', "/**/1", "\ufeff1", '"\t"', "1\x00"),
    ],
)
def test_what_is_not_json_is_refused(text):
    for texts in ([text], ['{"a":[1,"x"]}', text, "2"], [text, text]):
        with pytest.raises(SchemaMismatchError):
            parse_json(pa.array(texts))


def test_the_error_shows_the_text():
    with pytest.raises(SchemaMismatchError, match=r"two fields of one name: '\{\"k\":1,\"k\":2\}'"):
        parse_json(pa.array(["1", "2", '{"k":1,"k":2}', "3"]))


def test_null_is_not_null():
    found = parse_json(pa.array(["null", None, "1"]))
    assert found.type == VARIANT_TYPE
    assert found.is_null().to_pylist() == [False, True, False]
    assert to_json(found).to_pylist() == ["null", None, "1"]
    assert parse_json(pa.nulls(3, pa.string())).null_count == 3
    assert len(parse_json(pa.array([], pa.string()))) == 0


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_texts_of_every_kind(kind):
    texts = pa.array(["1", None, '{"a":"b"}', "1"]).cast(kind)
    for column in (texts, texts.slice(1, 3), pa.chunked_array([texts, texts.slice(2)])):
        assert to_json(parse_json(column)).to_pylist() == column.to_pylist()


def test_texts_beyond_one_batch():
    texts = [json.dumps({"n": number, "t": "x" * number * 1000}) for number in range(40)]
    rows = parse_json(pa.array([None, *texts])).to_pylist()
    assert [parse(**row)["n"] for row in rows[1:]] == list(range(40))
    assert rows[0] is None


def test_a_variant_of_too_many_bytes_is_refused():
    parse_json(pa.array([json.dumps("x" * 95)]), max_size=100)
    with pytest.raises(SchemaMismatchError, match="more than 100 bytes"):
        parse_json(pa.array([json.dumps("x" * 96)]), max_size=100)
    with pytest.raises(SchemaMismatchError, match="more than 100 bytes"):
        parse_json(pa.array([json.dumps({"x" * 100: 1})]), max_size=100)


def test_a_text_that_is_not_utf_8_is_refused():
    wrong = pa.Array.from_buffers(pa.string(), 1, pa.array([b'"\xff"']).buffers())
    with pytest.raises(SchemaMismatchError, match="not UTF-8"):
        parse_json(wrong)


def test_depth_and_width():
    assert value_of("[" * 300 + "]" * 300) is not None
    many = {f"k{number:03d}": number for number in reversed(range(300))}
    assert value_of(json.dumps(many)) == many
    assert value_of(json.dumps(list(range(70_000)))) == list(range(70_000))
    assert value_of("0.012345678901234567") == Decimal("0.012345678901234567")
    assert value_of("0." + "0" * 38) == 0
    assert parse_json(pa.array(["[" * 1000 + "]" * 1000]))[0].as_py()["value"]
