"""Deletion vectors: the rows of a data file that are deleted although the file still contains them.

The package has descriptors as in the log, their Z85 text, bitmaps, ``.bin`` files, and masks for engines.
Chapters "Deletion Vectors" and "Deletion Vector Format" of the protocol.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.deletion_vectors.bitmap import (
        decode_bitmap as decode_bitmap,
        encode_bitmap as encode_bitmap,
    )
    from deltaarrow.deletion_vectors.descriptor import (
        DeletionVectorDescriptor as DeletionVectorDescriptor,
        deletion_vector_file_name as deletion_vector_file_name,
    )
    from deltaarrow.deletion_vectors.dv_files import (
        inline_deletion_vector as inline_deletion_vector,
        read_deletion_vector as read_deletion_vector,
        read_deletion_vectors as read_deletion_vectors,
        write_deletion_vectors as write_deletion_vectors,
    )
    from deltaarrow.deletion_vectors.masks import DeletedRows as DeletedRows
    from deltaarrow.deletion_vectors.z85 import decode_z85 as decode_z85, encode_z85 as encode_z85

__getattr__ = lazy_package(__name__)
