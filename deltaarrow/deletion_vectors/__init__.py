"""Deletion vectors: which rows of a data file are deleted though the file still holds them.

Descriptors as they stand in the log, their Z85 text, bitmaps, ``.bin`` files, and masks for the
engines. Chapters "Deletion Vectors" and "Deletion Vector Format" of the protocol.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_attributes

if TYPE_CHECKING:
    from deltaarrow.deletion_vectors.bitmap import decode_bitmap, encode_bitmap
    from deltaarrow.deletion_vectors.descriptor import DeletionVectorDescriptor, deletion_vector_file_name
    from deltaarrow.deletion_vectors.files import (
        inline_deletion_vector,
        read_deletion_vector,
        read_deletion_vectors,
        write_deletion_vectors,
    )
    from deltaarrow.deletion_vectors.masks import DeletedRows
    from deltaarrow.deletion_vectors.z85 import decode_z85, encode_z85

__all__ = [
    "DeletedRows",
    "DeletionVectorDescriptor",
    "decode_bitmap",
    "decode_z85",
    "deletion_vector_file_name",
    "encode_bitmap",
    "encode_z85",
    "inline_deletion_vector",
    "read_deletion_vector",
    "read_deletion_vectors",
    "write_deletion_vectors",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "DeletedRows": "deltaarrow.deletion_vectors.masks",
        "DeletionVectorDescriptor": "deltaarrow.deletion_vectors.descriptor",
        "decode_bitmap": "deltaarrow.deletion_vectors.bitmap",
        "decode_z85": "deltaarrow.deletion_vectors.z85",
        "deletion_vector_file_name": "deltaarrow.deletion_vectors.descriptor",
        "encode_bitmap": "deltaarrow.deletion_vectors.bitmap",
        "encode_z85": "deltaarrow.deletion_vectors.z85",
        "inline_deletion_vector": "deltaarrow.deletion_vectors.files",
        "read_deletion_vector": "deltaarrow.deletion_vectors.files",
        "read_deletion_vectors": "deltaarrow.deletion_vectors.files",
        "write_deletion_vectors": "deltaarrow.deletion_vectors.files",
    },
)
