"""Z85 against its specification's example, the protocol's UUID, and round trips."""

from uuid import UUID

import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.deletion_vectors import decode_z85, encode_z85


def test_the_vector_of_the_specification():
    assert encode_z85(bytes.fromhex("864FD26FB559F75B")) == "HelloWorld"
    assert decode_z85("HelloWorld") == bytes.fromhex("864FD26FB559F75B")


def test_the_uuid_of_the_protocol():
    uuid = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")
    assert encode_z85(uuid.bytes) == "^-aqEH.-t@S}K{vb[*k^"
    assert UUID(bytes=decode_z85("^-aqEH.-t@S}K{vb[*k^")) == uuid


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_decoding_gives_back_what_was_encoded_and_its_padding(data):
    text = encode_z85(data)
    assert len(text) % 5 == 0
    assert decode_z85(text) == data + bytes(-len(data) % 4)


@pytest.mark.parametrize("text", ["abcd", "ab;de", "ab~de", "abcd\u00e9", "#####", "a\x00bcd", "abc d"])
def test_text_that_is_not_z85_is_refused(text):
    with pytest.raises(ValueError):
        decode_z85(text)
