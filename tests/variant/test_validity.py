"""Validation of variants before they are written."""

import random

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.variant import VARIANT_TYPE, ensure_variants, parse, parse_json, variant_array
from tests.support.examples import examples
from tests.support.variants import values

TEXTS = ('{"a":{"b":[1,{"c":"d"}]},"e":[],"a2":{"e":1.5,"a":null}}', '[1e3,12345678901234,"é"]', "7")


@given(st.lists(st.none() | values(), max_size=4))
@settings(deadline=None)
def test_what_we_build_is_well_formed(rows):
    ensure_variants(variant_array(rows))


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=examples(100))
def test_what_passes_can_be_read(seed):
    chance = random.Random(seed)
    row = parse_json(pa.array([chance.choice(TEXTS)]))[0].as_py()
    part = chance.choice(["metadata", "value"])
    changed = bytearray(row[part])
    changed[chance.randrange(len(changed))] = chance.randrange(256)
    row[part] = bytes(changed[: chance.choice([None, -1])])
    try:
        ensure_variants(pa.array([row], VARIANT_TYPE))
    except SchemaMismatchError:
        return
    parse(**row)


@pytest.mark.parametrize(
    ("metadata", "value"),
    [
        (b"", b"\x00"),
        (b"\x02\x00\x00", b"\x00"),  # version 2
        (b"\x01\x00", b"\x00"),
        (b"\x01\x00\x00", b""),
        (b"\x01\x00\x00", b"\x54"),  # no such primitive
        (b"\x01\x00\x00", b"\x0c"),  # cut off
        (b"\x01\x00\x00", b"\x05\xff"),  # not UTF-8
        (b"\x01\x00\x00", b"\x02\x01\x00\x00\x01\x00"),  # a field without a name
        (b"\x01\x02\x00\x01\x02ab", b"\x02\x02\x01\x00\x00\x01\x02\x00\x00"),  # not sorted
        (b"\x01\x01\x00\x01a", b"\x02\x02\x00\x00\x00\x01\x02\x00\x00"),  # one name twice
        (b"\x01\x00\x00", b"\x03\x02\x00\x00\x01\x00"),  # two elements in one place
        (b"\x01\x00\x00", b"\x20\x00\xff\xff\xff\x7f"),  # ten digits
        (None, b"\x00"),
        (b"\x01\x00\x00", None),
    ],
)
def test_what_is_not_well_formed_is_refused(metadata, value):
    rows = pa.array([None, {"metadata": metadata, "value": value}], VARIANT_TYPE)
    with pytest.raises(SchemaMismatchError, match="variant"):
        ensure_variants(rows)
