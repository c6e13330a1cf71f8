"""Conversion of file names in the log to names in a listing of storage, a column at a time.

A listing gives names relative to the root. The log may spell the same file absolutely, with ``..`` in it or
through a link, and it names deletion vectors by UUIDs. Only unusual names cost a step of Python, and of those
each folder one.
"""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.actions.arrow_tables import build_array
from deltaarrow.columnar.numpy_arrays import scalar_of
from deltaarrow.deletion_vectors import DeletionVectorDescriptor
from deltaarrow.storage import Store

__all__ = ["file_names", "listed_names", "vector_names"]

_UNUSUAL = r"(^|/)\.{0,2}(/|$)"
"""An absolute name, and one with empty parts, ``.`` or ``..``."""


def listed_names(store: Store, names: pa.Array) -> pa.Array:
    """Return names of the log as a listing of the store has them; NULL for what is not below its root."""
    # An object store takes "a//b" and "a/./b" for names of their own, as a listing does.
    is_unusual = pc.match_substring_regex(names, _UNUSUAL if store.is_local else r"://|(^|/)\.\.(/|$)")
    if not pc.any(is_unusual).as_py():
        return names
    folders: dict[str, str | None] = {}
    resolved = [_resolved(store, name, folders) for name in names.filter(is_unusual).to_pylist()]
    return pc.replace_with_mask(names, is_unusual, build_array(resolved, pa.string()))


def _resolved(store: Store, name: str, folders: dict[str, str | None]) -> str | None:
    folder, slash, base = name.rpartition("/")
    if folder not in folders:
        folders[folder] = store.real_folder(folder + slash if folder in ("", "/") else folder)
    real = folders[folder]
    if real is None or base in ("", ".", ".."):
        return None
    return f"{real}/{base}" if real else base


def vector_names(vectors: pa.Array) -> pa.Array:
    """Return the names of the files of deletion vectors, each once; inline ones have none.

    Raises what `DeletionVectorDescriptor.file_name` raises.
    """
    some = vectors.drop_null()
    kinds, texts = (pc.struct_field(some, name) for name in ("storage_type", "path_or_inline_dv"))
    is_file = pc.not_equal(kinds, scalar_of("i", pa.string()))
    joined = pc.binary_join_element_wise(kinds, texts, scalar_of("", pa.string()))
    spelled = pc.unique(joined.filter(is_file))
    names = (
        DeletionVectorDescriptor(text[0], text[1:], None, 0, 0).file_name() for text in spelled.to_pylist()
    )
    return build_array([name for name in names if name is not None], pa.string())


def file_names(store: Store, actions: pa.Table) -> Iterator[pa.Array]:
    """Yield the names of data files, and of the deletion vector files beside them, as a listing has them."""
    for batch in actions.to_batches():
        yield listed_names(store, batch.column("path"))
        vectors = batch.column("deletion_vector")
        if vectors.null_count < len(vectors):
            yield listed_names(store, vector_names(vectors))
