"""Checks that a column holds well-formed variants: Parquet's VariantEncoding.md, level by level.

Run on variants that others encoded, before they are written to a table where every reader would fail on them.
"""

import numpy as np
import pyarrow as pa

from deltaarrow.errors import CorruptDataFileError, SchemaMismatchError
from deltaarrow.variant.containers import basic_types, read_containers
from deltaarrow.variant.decoding import ensure_primitives
from deltaarrow.variant.dictionary import Dictionaries, order_of_names
from deltaarrow.variant.encoding_numbers import Basic
from deltaarrow.variant.ragged import Ints, Spans, is_valid, spans
from deltaarrow.variant.tokens import MAX_DEPTH

__all__ = ["ensure_variants"]


def ensure_variants(variants: pa.StructArray) -> None:
    """Raise unless every row of a ``struct<metadata, value>`` column is NULL or a variant.

    Raises:
        SchemaMismatchError: a row is not a variant; the message says why.
    """
    metadata, value = variants.flatten()
    present = is_valid(variants)
    if (present & ~(is_valid(metadata) & is_valid(value))).any():
        raise SchemaMismatchError("a variant lacks its metadata or its value")
    try:
        _ensure_well_formed(metadata, value, np.flatnonzero(present))
    except CorruptDataFileError as error:
        raise SchemaMismatchError(f"the data holds bytes that are no variant: {error}") from error


def _ensure_well_formed(metadata: pa.Array, value: pa.Array, rows: Ints) -> None:
    names = Dictionaries(metadata.cast(pa.large_binary()))
    found = spans(value).where(rows)
    for _ in range(MAX_DEPTH + 1):
        if not len(rows):
            return
        basic = basic_types(found)
        ensure_primitives(found.where(basic < Basic.OBJECT))
        inner: list[tuple[Ints, Spans]] = []
        for kind in (Basic.OBJECT, Basic.ARRAY):
            chosen = np.flatnonzero(basic == kind)
            elements = read_containers(found.where(chosen), kind)
            owners, values = elements.owners, elements.values
            order = np.lexsort((values.starts, owners))
            apart = (np.diff(owners[order]) > 0) | (np.diff(values.starts[order]) > 0)
            if not apart.all():
                raise CorruptDataFileError("two elements of an object or array are in one place")
            if kind == Basic.OBJECT:
                _ensure_sorted(names, owners, names.ranks(rows[chosen][owners], elements.ids))
            inner.append((rows[chosen][owners], values))
        rows = np.concatenate([each for each, _ in inner])
        parts = [values for _, values in inner]
        found = Spans(found.data, *(np.concatenate([part[place] for part in parts]) for place in (1, 2)))
    raise CorruptDataFileError(f"it is nested more than {MAX_DEPTH} levels deep")


def _ensure_sorted(names: Dictionaries, owners: Ints, ranks: Ints) -> None:
    """Readers search fields by bisection, in the order of bytes or, in Spark, of UTF-16 units."""
    within = np.diff(owners) == 0
    if (np.diff(ranks)[within] > 0).all():
        return
    if not (np.diff(order_of_names(names.names)[ranks])[within] > 0).all():
        raise CorruptDataFileError("the fields of an object are not sorted by name, or two have one name")
