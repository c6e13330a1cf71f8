"""The files of a table by their absolute paths, for a shallow clone.

A relative path becomes a URI, percent-encoded as Spark does; a path that is absolute already, as in a clone,
stays. A deletion vector beside the table (``u``) becomes one with an absolute path (``p``).
"""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.actions.arrow_tables import DELETION_VECTOR_TYPE, build_array
from deltaarrow.columnar.numpy_arrays import repeated_text
from deltaarrow.deletion_vectors import DeletionVectorDescriptor
from deltaarrow.storage import Store, encode_path

__all__ = ["absolute_files"]

_ODD = (
    r"^/|^[A-Za-z][A-Za-z0-9+.\-]*:|\.\.|%(?:$|[^0-9A-Fa-f]|[0-9A-Fa-f](?:$|[^0-9A-Fa-f]))"
    r'|[\x00-\x20"#<>?\[\\\]^`{|}\x{7f}-\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]'
)
"""What is absolute, leaves its folder or is not encoded as Spark does: spelled anew, one by one."""


def absolute_files(store: Store, files: pa.Table) -> pa.Table:
    """Return live files of the table in a store, with the paths and deletion vectors that a clone has.

    Raises `StorageError` for a path on another file system, or one that leaves the folder of the table.
    """
    texts = files.column("log_path").combine_chunks()
    root = encode_path(store.location("x"))[:-1]
    paths = pc.binary_join_element_wise(repeated_text(root, len(texts)), texts, "")
    odd = pc.match_substring_regex(texts, _ODD)
    if pc.any(odd).as_py():
        names = files.column("path").filter(odd).to_pylist()
        spelled = build_array([encode_path(store.location(name)) for name in names], pa.string())
        paths = pc.replace_with_mask(paths, odd, spelled)
    files = files.set_column(files.schema.get_field_index("log_path"), "log_path", paths)
    vectors = files.column("deletion_vector")
    if vectors.null_count < len(vectors):
        absolute = [None if vector is None else _absolute(store, vector) for vector in vectors.to_pylist()]
        place = files.schema.get_field_index("deletion_vector")
        files = files.set_column(place, "deletion_vector", build_array(absolute, DELETION_VECTOR_TYPE))
    return files


def _absolute(store: Store, vector: dict[str, object]) -> dict[str, object]:
    descriptor = DeletionVectorDescriptor(**vector)  # type: ignore[arg-type]  # the columns are its fields
    name = descriptor.file_name()
    if name is not None:
        path = encode_path(store.location(name))
        descriptor = replace(descriptor, storage_type="p", path_or_inline_dv=path)
    return descriptor.to_json()
