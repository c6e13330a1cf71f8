"""Shredding of variants into the columns of a shape: Parquet's VariantShredding.md, for writers.

The inverse of `deltaarrow.variant.shredding`, whose table says what ``value`` and ``typed_value`` hold. A
value goes into ``typed_value`` only if it can be read back the same: a number with the same value, an integer
as an integer, a decimal as a decimal, anything else unchanged. Nothing loops over rows.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import booleans, integers
from deltaarrow.errors import CorruptDataFileError
from deltaarrow.variant.containers import basic_types, read_containers, write_objects
from deltaarrow.variant.decoding import decode
from deltaarrow.variant.dictionary import Dictionaries
from deltaarrow.variant.encoding_numbers import Basic
from deltaarrow.variant.ragged import Ints, gather, is_valid, spans
from deltaarrow.variant.shapes import Shape

__all__ = ["shred"]

_LARGE = pa.large_binary()


def shred(variants: pa.StructArray, shape: Shape) -> pa.StructArray:
    """A ``struct<metadata, value>`` column as ``struct<metadata, value, typed_value>``.

    Raises:
        CorruptDataFileError: a row is not a variant.

    >>> from deltaarrow.variant import reassemble, to_json, variant_array
    >>> rows = variant_array([{"a": 1}, {"a": "x", "b": 2}, None])
    >>> shredded = shred(rows, Shape({"a": Shape(pa.int64())}))
    >>> shredded.field("typed_value").to_pylist()[0]
    {'a': {'value': None, 'typed_value': 1}}
    >>> to_json(reassemble(shredded)).to_pylist()
    ['{"a":1}', '{"a":"x","b":2}', None]
    """
    metadata, value = (part.cast(_LARGE) for part in variants.flatten())
    rest, typed = _Shredding(metadata).parts(value, shape)
    group = shape.arrow_type
    return pa.StructArray.from_arrays(
        [metadata.cast(pa.binary()).fill_null(b""), rest, typed],
        fields=[pa.field("metadata", pa.binary(), nullable=False), *group],
        mask=variants.is_null() if variants.null_count else None,
    )


class _Shredding:
    """The shredding of one column."""

    def __init__(self, metadata: pa.Array) -> None:
        self._names = Dictionaries(metadata)

    def parts(self, values: pa.Array, shape: Shape) -> tuple[pa.Array, pa.Array]:
        """The ``value`` and ``typed_value`` of encoded values, one per row, NULL for no value."""
        rows = np.flatnonzero(is_valid(values))
        if isinstance(shape.typed, Mapping):
            rest, typed = self._objects(values, rows, shape.typed)
        else:
            rest, typed = _scalars(values, rows, shape.typed)
        return rest.cast(pa.binary()), typed

    def _objects(
        self, values: pa.Array, rows: Ints, fields: Mapping[str, Shape]
    ) -> tuple[pa.Array, pa.Array]:
        found = spans(values).where(rows)
        chosen = np.flatnonzero(basic_types(found) == Basic.OBJECT)
        rows = rows[chosen]
        elements = read_containers(found.where(chosen), Basic.OBJECT)
        owners = rows[elements.owners]
        ranks = self._names.ranks(owners, elements.ids)
        is_rest = np.ones(len(owners), np.bool_)
        groups = []
        for name, shape in fields.items():
            mine = np.flatnonzero(ranks == self._names.rank(name))
            is_rest[mine] = False
            if (np.diff(owners[mine]) == 0).any():
                raise CorruptDataFileError("an object in a variant has two fields of one name")
            child = _placed(len(values), owners[mine], gather(elements.values.where(mine)))
            groups.append(pa.StructArray.from_arrays(self.parts(child, shape), fields=list(shape.arrow_type)))
        is_object = np.zeros(len(values), np.bool_)
        is_object[rows] = True
        typed_fields = Shape(fields).arrow_type.field("typed_value").type
        typed = pa.StructArray.from_arrays(groups, fields=list(typed_fields), mask=booleans(~is_object))
        rest = pc.if_else(booleans(is_object), pa.scalar(None, _LARGE), values)
        if is_rest.any():
            left = np.flatnonzero(is_rest)
            partial, firsts = np.unique(owners[left], return_inverse=True)
            objects = write_objects(
                firsts, elements.ids[left], gather(elements.values.where(left)), len(partial)
            )
            rest = pc.coalesce(rest, _placed(len(values), partial, objects))
        return rest, typed


def _scalars(values: pa.Array, rows: Ints, wanted: pa.DataType) -> tuple[pa.Array, pa.Array]:
    places, blocks = [np.empty(0, np.int64)], [pa.nulls(0, wanted)]
    for which, array in decode(spans(values).where(rows)):
        fitting, typed = _fitting(array, wanted)
        places.append(rows[which[fitting]])
        blocks.append(typed)
    taken = np.concatenate(places)
    is_rest = np.ones(len(values), np.bool_)
    is_rest[taken] = False
    rest = values if not len(taken) else pc.if_else(booleans(is_rest), values, pa.scalar(None, _LARGE))
    return rest, _placed(len(values), taken, pa.concat_arrays(blocks))


def _fitting(array: pa.Array, wanted: pa.DataType) -> tuple[Ints, pa.Array]:
    """The positions of values that are unchanged by a cast to the wanted type, and the cast values."""
    types = pa.types
    if types.is_integer(wanted) and types.is_integer(array.type):
        array = array.cast(wanted)
    elif types.is_decimal(wanted) and types.is_decimal(array.type):
        # Wide enough for all digits at any scale.
        wide = array.cast(pa.decimal256(76, 38))
        limit = pa.scalar(10 ** (wanted.precision - wanted.scale), pa.decimal256(76, 38))
        fits = pc.and_(pc.less(pc.abs(wide), limit), _keeps_scale(array, wanted.scale))
        which = np.flatnonzero(fits.to_numpy(zero_copy_only=False))
        return which, wide.take(integers(which)).cast(wanted)
    elif types.is_large_string(array.type) or types.is_large_binary(array.type):
        if wanted != (pa.string() if types.is_large_string(array.type) else pa.binary()):
            return np.empty(0, np.int64), pa.nulls(0, wanted)
        array = array.cast(wanted)
    if array.type != wanted:
        return np.empty(0, np.int64), pa.nulls(0, wanted)
    return np.arange(len(array)), array


def _keeps_scale(array: pa.Array, scale: int) -> pa.Array:
    """Whether decimals have no digits beyond a scale."""
    if array.type.scale <= scale:
        return pa.repeat(pa.scalar(True), len(array))
    return pc.equal(pc.round(array, scale), array)


def _placed(count: int, rows: Ints, values: pa.Array) -> pa.Array:
    """Put the values at their rows among `count`, with NULL elsewhere."""
    sources = np.zeros(count, np.int64)
    sources[rows] = 1 + np.arange(len(rows))
    return pc.take(pa.concat_arrays([pa.nulls(1, values.type), values]), integers(sources))
