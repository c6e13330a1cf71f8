"""The descriptor by which a file action refers to its deletion vector.

Chapter "Deletion Vector Descriptor Schema" of the protocol. The storage type tells where the vector is
stored:

=====  ===============================================  ==========================================
type   ``pathOrInlineDv``                               the vector is
=====  ===============================================  ==========================================
``u``  ``ab^-aqEH.-t@S}K{vb[*k^``: prefix + Z85 UUID     in ``ab/deletion_vector_<uuid>.bin``
``p``  ``s3://bucket/t/deletion_vector_<uuid>.bin``     in that file, percent-encoded as `add.path`
``i``  ``^Bg9^0rr910000000000iXQKl0rr91...``            the text itself, Z85
=====  ===============================================  ==========================================
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from uuid import UUID

from deltaarrow.deletion_vectors.z85 import decode_z85, encode_z85
from deltaarrow.errors import CorruptDeletionVectorError, CorruptLogError, UnsupportedFeatureError
from deltaarrow.storage import decode_path

__all__ = ["DeletionVectorDescriptor", "deletion_vector_file_name"]

_ENCODED_UUID_LENGTH = 20
_JSON_KEYS = {
    "storage_type": "storageType",
    "path_or_inline_dv": "pathOrInlineDv",
    "offset": "offset",
    "size_in_bytes": "sizeInBytes",
    "cardinality": "cardinality",
}


def deletion_vector_file_name(uuid: UUID, prefix: str = "") -> str:
    """Return the name, relative to the table, of the file of a UUID in the folder `prefix`."""
    name = f"deletion_vector_{uuid}.bin"
    return f"{prefix}/{name}" if prefix else name


@dataclass(frozen=True, slots=True)
class DeletionVectorDescriptor:
    """The place of a deletion vector, its size there, and the number of rows that it deletes.

    `offset` and `size_in_bytes` are in bytes; the size is that of the bitmap alone, before Z85 and without
    the frame around it in a file. Unknown keys are kept in `extra`.
    """

    storage_type: str
    path_or_inline_dv: str
    offset: int | None
    size_in_bytes: int
    cardinality: int
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def of_uuid(
        cls, uuid: UUID, *, prefix: str = "", offset: int, size_in_bytes: int, cardinality: int
    ) -> Self:
        """Describe a vector in the file for `uuid`, in the folder `prefix` of the table."""
        return cls("u", prefix + encode_z85(uuid.bytes), offset, size_in_bytes, cardinality)

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> Self:
        """Parse the value of `deletionVector` in an action.

        Raises `CorruptLogError` when a field is missing or of the wrong type.
        """
        values: dict[str, Any] = {attribute: obj.get(key) for attribute, key in _JSON_KEYS.items()}
        for attribute, kind in (
            ("storage_type", str),
            ("path_or_inline_dv", str),
            ("size_in_bytes", int),
            ("cardinality", int),
        ):
            if not isinstance(values[attribute], kind):
                raise CorruptLogError(
                    f"a deletion vector of the log has a missing or invalid {_JSON_KEYS[attribute]!r}"
                )
        if not isinstance(values["offset"], int | None):
            raise CorruptLogError("a deletion vector of the log has an invalid 'offset'")
        known = set(_JSON_KEYS.values())
        return cls(**values, extra={key: value for key, value in obj.items() if key not in known})

    def to_json(self) -> dict[str, Any]:
        """Return the value of `deletionVector` in an action; an offset of None is left out."""
        values = {key: getattr(self, attribute) for attribute, key in _JSON_KEYS.items()}
        return {key: value for key, value in values.items() if value is not None} | dict(self.extra)

    @property
    def unique_id(self) -> str:
        """The id that distinguishes this vector from all others of the same data file.

        The log may list one data file several times, each time with more rows deleted, and the path alone
        does not say which of these a `remove` cancels. The offset is part of the id because one file holds
        many vectors; the format is Spark's, to match its tombstones.
        """
        at = "" if self.offset is None else f"@{self.offset}"
        return f"{self.storage_type}{self.path_or_inline_dv}{at}"

    @property
    def is_inline(self) -> bool:
        """Whether the vector is in the descriptor itself."""
        return self.storage_type == "i"

    def file_name(self) -> str | None:
        """Return the store name of this vector's file; None for an inline vector.

        Raises `CorruptDeletionVectorError` when the text does not contain a UUID, and
        `UnsupportedFeatureError` for a storage type other than ``u``, ``p`` and ``i``.

        >>> DeletionVectorDescriptor("u", "ab^-aqEH.-t@S}K{vb[*k^", 4, 40, 6).file_name()
        'ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin'
        """
        if self.storage_type == "i":
            return None
        if self.storage_type == "p":
            return decode_path(self.path_or_inline_dv)
        if self.storage_type != "u":
            raise UnsupportedFeatureError(
                f"deletion vector storage type {self.storage_type!r} is not supported; "
                "the protocol has 'u', 'p' and 'i'",
                feature="deletionVectors",
            )
        prefix = self.path_or_inline_dv[:-_ENCODED_UUID_LENGTH]
        try:
            uuid = UUID(bytes=decode_z85(self.path_or_inline_dv[-_ENCODED_UUID_LENGTH:]))
        except ValueError as error:
            raise CorruptDeletionVectorError(
                f"deletion vector {self.unique_id!r} does not end in an encoded UUID: {error}"
            ) from error
        return deletion_vector_file_name(uuid, prefix)

    def inline_payload(self) -> bytes:
        """Return the bitmap of an inline vector, still serialised.

        Raises `CorruptDeletionVectorError` when the text is not Z85 or does not fit the stated size.
        """
        try:
            padded = decode_z85(self.path_or_inline_dv)
        except ValueError as error:
            raise CorruptDeletionVectorError(
                f"inline deletion vector {self.unique_id!r} is not Z85: {error}"
            ) from error
        # Only the padding of Z85, at most three bytes, may exceed the size.
        if not 0 <= len(padded) - self.size_in_bytes <= 3:
            raise CorruptDeletionVectorError(
                f"inline deletion vector {self.unique_id!r} has {len(padded)} bytes, "
                f"which does not fit its sizeInBytes of {self.size_in_bytes}"
            )
        return padded[: self.size_in_bytes]
