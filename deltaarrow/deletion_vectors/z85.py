"""Z85, the base-85 text of a UUID or a whole deletion vector in a descriptor.

Chapter "Deletion Vector Descriptor Schema" of the protocol names the variant (ZeroMQ RFC 32). It differs from
Python's `base64.b85encode` only in its alphabet, so that function is used.
"""

import base64

__all__ = ["decode_z85", "encode_z85"]

_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_FROM_B85 = bytes.maketrans(_B85, _Z85)
# A character outside Z85 may be valid in the other alphabet; it must not decode to anything.
_TO_B85 = bytes(_B85[_Z85.index(c)] if c in _Z85 else 0 for c in range(256))


def encode_z85(data: bytes) -> str:
    """Return `data`, padded with zero bytes to a multiple of four, as text.

    >>> encode_z85(bytes.fromhex("864fd26fb559f75b"))
    'HelloWorld'
    """
    padded = data + bytes(-len(data) % 4)
    return base64.b85encode(padded).translate(_FROM_B85).decode("ascii")


def decode_z85(text: str) -> bytes:
    """Return the decoded bytes, including any padding at their end.

    Raises `ValueError` when `text` is not Z85.

    >>> decode_z85("HelloWorld").hex()
    '864fd26fb559f75b'
    """
    if len(text) % 5:
        raise ValueError(f"the length of a Z85 text must be a multiple of five, not {len(text)}")
    return base64.b85decode(text.encode().translate(_TO_B85))
