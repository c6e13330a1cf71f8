"""Reassembly of variants from shredded columns: Parquet's VariantShredding.md.

A variant, an array element and an object field are each a group of `value`, the encoded
rest, and `typed_value`, the typed part:

==========  ===============  ====================================================================
value       typed_value
==========  ===============  ====================================================================
NULL        NULL             an absent field; a variant or an element, which must exist, is variant null
not NULL    NULL             `value`
NULL        not NULL         `typed_value`
not NULL    not NULL         the fields of both, if both are objects with different fields
==========  ===============  ====================================================================

Either column may be missing. Values keep the types they were shredded as, under the
metadata of the file. Nothing loops over rows.
"""

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import booleans, integers
from deltaarrow.errors import CorruptDataFileError
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.variant.containers import basic_types, read_containers, write_arrays, write_objects
from deltaarrow.variant.dictionary import Dictionaries
from deltaarrow.variant.encoding_numbers import VARIANT_NULL, VARIANT_TYPE, Basic
from deltaarrow.variant.primitives import encode_primitives, primitive_type
from deltaarrow.variant.ragged import Ints, bounds_of, gather, is_valid, numbered, spans

__all__ = ["reassemble", "shredded_type"]

_LARGE = pa.large_binary()


def shredded_type(found: pa.DataType) -> pa.DataType:
    """The Arrow type in which to read a column of variants that a file stores as `found`.

    Large, view and dictionary types become plain ones; names and nesting stay.

    Raises:
        CorruptDataFileError: the columns are not those of a variant, or one has a type into which a variant
            cannot be shredded.
    """
    if isinstance(found, pa.BaseExtensionType):
        found = found.storage_type
    names = [field.name for field in found] if pa.types.is_struct(found) else []
    if "metadata" not in names:
        raise CorruptDataFileError(f"a variant is stored as {found}, which has no metadata")
    rest = pa.struct([field for field in found if field.name != "metadata"])
    metadata = pa.field("metadata", _binary(found.field("metadata").type, "metadata"))
    return pa.struct([metadata, *_group(rest, "")])


def _group(found: pa.DataType, path: str) -> pa.StructType:
    """The type of a group of `value` and `typed_value`."""
    names = sorted(field.name for field in found) if pa.types.is_struct(found) else []
    if names not in (["value"], ["typed_value"], ["typed_value", "value"]):
        where = path.removesuffix(".") or "a variant"
        raise CorruptDataFileError(f"{where} is shredded into {found}, not into value and typed_value")
    return pa.struct(
        [
            pa.field(field.name, _binary(field.type, f"{path}value"))
            if field.name == "value"
            else pa.field(field.name, _typed(field.type, f"{path}typed_value"))
            for field in found
        ]
    )


def _typed(found: pa.DataType, path: str) -> pa.DataType:
    if pa.types.is_struct(found):
        if len({field.name for field in found}) < len(list(found)):
            raise CorruptDataFileError(f"{path} is shredded into two fields of one name")
        return pa.struct(
            [pa.field(field.name, _group(field.type, f"{path}.{field.name}.")) for field in found]
        )
    if pa.types.is_list(found) or pa.types.is_large_list(found):
        return pa.list_(pa.field("element", _group(found.value_type, f"{path}.element.")))
    primitive = primitive_type(found)
    if primitive is None:
        raise CorruptDataFileError(f"{path} is shredded as {found}, which is no type for variants")
    return primitive


def _binary(found: pa.DataType, path: str) -> pa.DataType:
    if primitive_type(found) != pa.binary():
        raise CorruptDataFileError(f"the {path} of a variant is stored as {found} and not as binary")
    return pa.binary()


def reassemble(array: pa.StructArray) -> pa.StructArray:
    """Convert a column of a `shredded_type` to variants in binary form, ``struct<metadata, value>``.

    A NULL struct is a NULL variant and stays one.

    Raises:
        CorruptDataFileError: a value is stored twice, a field is not named in the metadata, or bytes
            that must be read are not a variant.
    """
    parts = _parts(array)
    metadata = parts["metadata"]
    exists = is_valid(array)
    if (exists & ~is_valid(metadata)).any():
        raise CorruptDataFileError("a variant has no metadata")
    if array.type == VARIANT_TYPE and parts["value"].null_count == array.null_count:
        return array
    value = _Reassembly(metadata).value(array, np.arange(len(array)))
    missing = exists & ~is_valid(value)
    if missing.any():
        value = pc.if_else(booleans(missing), pa.scalar(VARIANT_NULL, _LARGE), value)
    return pa.StructArray.from_arrays(
        [metadata.cast(pa.binary()), value.cast(pa.binary())],
        fields=list(VARIANT_TYPE),
        mask=None if exists.all() else booleans(~exists),
    )


def _parts(array: pa.StructArray) -> dict[str, pa.Array]:
    """The fields of a struct by name, NULL where the struct is NULL."""
    return dict(zip((field.name for field in array.type), array.flatten(), strict=True))


class _Reassembly:
    """The reassembly of one column. `rows` are always row numbers of the column, whose metadata applies."""

    def __init__(self, metadata: pa.Array) -> None:
        self._metadata = metadata

    @cached_property
    def _dictionaries(self) -> Dictionaries:
        return Dictionaries(self._metadata)

    def value(self, group: pa.StructArray, rows: Ints) -> pa.Array:
        """The encoded values of a group; NULL where it has none."""
        parts = _parts(group)
        value = parts.get("value")
        if value is not None:
            value = value.cast(_LARGE)
            if (is_valid(value) & (np.diff(bounds_of(value)[1]) == 0)).any():
                raise CorruptDataFileError("a variant has a value of no bytes")
        typed = parts.get("typed_value")
        if typed is None or typed.null_count == len(typed):
            return pa.nulls(len(group), _LARGE) if value is None else value
        if value is not None and value.null_count == len(value):
            value = None
        is_typed = is_valid(typed)
        if pa.types.is_struct(typed.type):
            encoded = self._objects(typed, value, rows)
        else:
            if value is not None and (is_typed & is_valid(value)).any():
                raise CorruptDataFileError("a shredded variant has both value and typed_value")
            is_list = pa.types.is_list(typed.type)
            encoded = self._arrays(typed, rows) if is_list else encode_primitives(typed)
        if is_typed.all():
            return encoded
        return pc.if_else(booleans(is_typed), encoded, pa.scalar(None, _LARGE) if value is None else value)

    def _arrays(self, typed: pa.ListArray, rows: Ints) -> pa.Array:
        lengths = typed.value_lengths().fill_null(0).to_numpy().astype(np.int64)
        owners, _ = numbered(lengths)
        elements = self.value(typed.flatten(), rows[owners])
        return write_arrays(owners, elements.fill_null(VARIANT_NULL), len(typed))

    def _objects(self, typed: pa.StructArray, value: pa.Array | None, rows: Ints) -> pa.Array:
        """Objects from the shredded fields and the fields in `value`."""
        groups = _parts(typed)
        names = sorted(groups, key=str.encode)
        blocks = [self.value(groups[name], rows) for name in names]
        there = np.column_stack([is_valid(block) for block in blocks])
        owners, columns = np.nonzero(there)
        sources = columns * len(typed) + owners
        ids = np.empty(len(owners), np.int64)
        for column, name in enumerate(names):
            mine = columns == column
            if mine.any():
                ids[mine] = self._dictionaries.ids(name, rows[owners[mine]])
        if (ids < 0).any():
            raise CorruptDataFileError("a shredded variant has a field that its metadata does not name")
        partial = np.empty(0, np.int64)
        if value is not None:
            partial = np.flatnonzero(is_valid(typed) & is_valid(value))
        if len(partial):
            rest = spans(value).where(partial)
            if (basic_types(rest) != Basic.OBJECT).any():
                raise CorruptDataFileError("a shredded object has a value that is not an object")
            fields = read_containers(rest, Basic.OBJECT)
            more = partial[fields.owners]
            ranks = self._dictionaries.ranks(rows[more], fields.ids)
            taken = np.array([self._dictionaries.rank(name) for name in names])
            if np.isin(ranks, taken).any():
                raise CorruptDataFileError("a shredded variant has a field in both value and typed_value")
            order, owners = _merged(owners, taken[columns], more, ranks)
            ids = np.concatenate([ids, fields.ids])[order]
            after = len(blocks) * len(typed)
            blocks.append(gather(fields.values))
            sources = np.concatenate([sources, after + np.arange(len(more))])[order]
        values = pc.take(pa.concat_arrays(blocks), integers(sources))
        return write_objects(owners, ids, values, len(typed))


def _merged(owners: Ints, ranks: Ints, more: Ints, more_ranks: Ints) -> tuple[Ints, Ints]:
    """Merge two sets of fields by owner and rank: the order, and the owners in it."""
    owners, ranks = np.concatenate([owners, more]), np.concatenate([ranks, more_ranks])
    order = np.lexsort((ranks, owners))
    owners, ranks = owners[order], ranks[order]
    if ((np.diff(owners) == 0) & (np.diff(ranks) == 0)).any():
        raise CorruptDataFileError("an object in a variant has two fields of one name")
    return order, owners
