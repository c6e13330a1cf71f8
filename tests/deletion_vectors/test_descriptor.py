"""The descriptor: file names, identity, and JSON both ways."""

from uuid import UUID

import pytest

from deltaarrow.deletion_vectors import DeletionVectorDescriptor
from deltaarrow.errors import CorruptDeletionVectorError, CorruptLogError, UnsupportedFeatureError

RELATIVE = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 4,
    "sizeInBytes": 40,
    "cardinality": 6,
}
FILE = "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"


def relative(text, offset=1):
    return DeletionVectorDescriptor("u", text, offset, 40, 6)


def test_a_relative_vector_with_a_prefix_lies_in_the_folder_of_that_name():
    assert DeletionVectorDescriptor.from_json(RELATIVE).file_name() == f"ab/{FILE}"


def test_a_relative_vector_without_a_prefix_lies_in_the_table_folder():
    assert relative("^-aqEH.-t@S}K{vb[*k^").file_name() == FILE


def test_an_absolute_vector_lies_where_its_decoded_path_says():
    absolute = DeletionVectorDescriptor("p", f"file:///a%20table/{FILE}", 4, 40, 6)
    assert absolute.file_name() == f"/a table/{FILE}"
    bucket = DeletionVectorDescriptor("p", f"s3://mytable/{FILE}", 4, 40, 6)
    assert bucket.file_name() == f"s3://mytable/{FILE}"


def test_an_inline_vector_has_no_file():
    inline = DeletionVectorDescriptor("i", "", None, 0, 0)
    assert inline.is_inline
    assert inline.file_name() is None


def test_the_descriptor_of_a_uuid_names_the_file_of_that_uuid():
    uuid = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")
    made = DeletionVectorDescriptor.of_uuid(uuid, prefix="ab", offset=4, size_in_bytes=40, cardinality=6)
    assert made == DeletionVectorDescriptor.from_json(RELATIVE)


def test_the_offset_is_part_of_the_identity_where_there_is_one():
    assert relative("x").unique_id == "ux@1"
    assert relative("x", None).unique_id == "ux"
    assert relative("x", 0).unique_id == "ux@0"


def test_json_is_given_back_with_the_keys_that_are_not_known():
    obj = RELATIVE | {"maxRowIndex": 99}
    descriptor = DeletionVectorDescriptor.from_json(obj)
    assert descriptor.extra == {"maxRowIndex": 99}
    assert descriptor.to_json() == obj
    assert list(descriptor.to_json())[:5] == list(RELATIVE)


@pytest.mark.parametrize("null", [{"offset": None}, {}])
def test_an_absent_offset_is_none_and_is_left_out(null):
    obj = {"storageType": "i", "pathOrInlineDv": "", "sizeInBytes": 0, "cardinality": 0}
    descriptor = DeletionVectorDescriptor.from_json(obj | null)
    assert descriptor.offset is None
    assert descriptor.to_json() == obj


def test_descriptors_are_keys():
    assert len({relative("x"), relative("x"), relative("y")}) == 2


@pytest.mark.parametrize("text", ["", "too short", "^-aqEH.-t@S}K{vb[*;~"])
def test_a_text_without_a_uuid_is_refused(text):
    with pytest.raises(CorruptDeletionVectorError, match="does not end in an encoded UUID"):
        relative(text).file_name()


def test_an_unknown_storage_type_is_refused_by_name():
    with pytest.raises(UnsupportedFeatureError, match="'r'") as caught:
        DeletionVectorDescriptor("r", "some/file.bin", 1, 40, 6).file_name()
    assert caught.value.feature == "deletionVectors"


@pytest.mark.parametrize("key", ["storageType", "pathOrInlineDv", "sizeInBytes", "cardinality"])
@pytest.mark.parametrize("value", [None, [], 1.5])
def test_a_field_that_is_missing_or_of_another_type_is_refused_by_name(key, value):
    with pytest.raises(CorruptLogError, match=key):
        DeletionVectorDescriptor.from_json(RELATIVE | {key: value})


def test_an_offset_of_another_type_is_refused():
    with pytest.raises(CorruptLogError, match="offset"):
        DeletionVectorDescriptor.from_json(RELATIVE | {"offset": "4"})
