"""The elements of arrays and the fields of objects in a column of variants, as lists of variants."""

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import booleans, integers
from deltaarrow.variant.containers import basic_types, read_containers
from deltaarrow.variant.dictionary import Dictionaries
from deltaarrow.variant.encoding_numbers import VARIANT_TYPE, Basic
from deltaarrow.variant.ragged import gather, is_valid, spans

__all__ = ["variant_elements"]

_LARGE = pa.large_binary()


def variant_elements(variants: pa.StructArray, basic: Basic) -> pa.ListArray:
    """The parts of values that are all arrays, or all objects, as lists of ``struct<key, value>``.

    Args:
        variants: a ``struct<metadata, value>`` column.
        basic: `Basic.ARRAY`, whose parts have no key, or `Basic.OBJECT`.

    Returns:
        The lists; NULL for any other value.

    Raises:
        CorruptDataFileError: a row is not a variant.

    >>> from deltaarrow.variant import variant_array
    >>> lists = variant_elements(variant_array([{"a": 1, "b": [2]}, 3]), Basic.OBJECT)
    >>> lists.is_valid().to_pylist(), lists.values.field("key").to_pylist()
    ([True, False], ['a', 'b'])
    """
    metadata, value = (part.cast(_LARGE) for part in variants.cast(VARIANT_TYPE).flatten())
    rows, found = np.flatnonzero(is_valid(value)), spans(value)
    found = found.where(rows)
    fitting = np.flatnonzero(basic_types(found) == basic)
    rows, found = rows[fitting], found.where(fitting)
    elements = read_containers(found, basic)
    owners = rows[elements.owners]
    keys = pa.nulls(len(owners), pa.string())
    if basic == Basic.OBJECT:
        dictionaries = Dictionaries(metadata)
        ranks = dictionaries.ranks(owners, elements.ids)
        keys = dictionaries.names.take(integers(ranks)).cast(pa.large_string()).cast(pa.string())
    parts = [metadata.take(integers(owners)), gather(elements.values)]
    values = pa.StructArray.from_arrays([each.cast(pa.binary()) for each in parts], fields=list(VARIANT_TYPE))
    ends = np.cumsum(np.bincount(owners, minlength=len(variants)))
    other = np.ones(len(variants), np.bool_)
    other[rows] = False
    return pa.ListArray.from_arrays(
        pc.cast(integers(np.append(0, ends)), pa.int32()),
        pa.StructArray.from_arrays([keys, values], names=["key", "value"]),
        mask=booleans(other),
    )
