"""Parts of variants by path, and their values as plain Arrow columns.

Paths have Spark's notation: ``$`` for the whole, ``.name`` or ``['any name']`` for a field, ``[0]`` for
an element, counted from 0. A missing part is NULL. Nothing loops over rows.
"""

import re

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import booleans, integers
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.variant.containers import basic_types, read_containers
from deltaarrow.variant.decoding import read_values
from deltaarrow.variant.dictionary import Dictionaries
from deltaarrow.variant.encoding_numbers import VARIANT_TYPE, Basic
from deltaarrow.variant.ragged import Spans, gather, is_valid, spans

__all__ = ["parse_path", "variant_extract", "variant_get"]

_STEP = re.compile(r"""\.([^.\[\]'"]+) | \[(\d+)\] | \['([^']*)'\] | \["([^"]*)"\]""", re.VERBOSE)
_LARGE = pa.large_binary()


def variant_get(
    variants: pa.Array | pa.ChunkedArray, path: str, data_type: pa.DataType, *, strict: bool = True
) -> pa.Array:
    """The values at a path as a column of an Arrow type.

    Args:
        variants: a ``struct<metadata, value>`` column.
        path: such as ``$.a[0]['b c']``.
        data_type: any primitive Arrow type. A value is converted if that loses nothing, between
            numbers of all kinds, and between dates and timestamps; text is not parsed.
        strict: whether a value of another type, or one that does not fit, is an error rather than NULL.

    Returns:
        The column; NULL where the variant is NULL, nothing is at the path, or a variant null is.

    Raises:
        SchemaMismatchError: with `strict`, a value cannot be converted; or the path is ill-formed.
        CorruptDataFileError: a row is not a variant.

    >>> from deltaarrow.variant import variant_array
    >>> events = variant_array([{"at": {"x": 1}}, {"at": {"x": 2.0}}, {"at": "here"}, None])
    >>> variant_get(events, "$.at.x", pa.int64()).to_pylist()
    [1, 2, None, None]
    """
    parts = variant_extract(variants, path)
    return read_values(parts.field("value"), data_type, strict=strict)


def variant_extract(variants: pa.Array | pa.ChunkedArray, path: str) -> pa.StructArray:
    """The parts of variants at a path, as variants; NULL where the path leads to nothing.

    Raises:
        SchemaMismatchError: the path is ill-formed.
        CorruptDataFileError: a row is not a variant.
    """
    steps = parse_path(path)
    if isinstance(variants, pa.ChunkedArray):
        variants = pa.concat_arrays(variants.chunks) if variants.num_chunks else pa.nulls(0, variants.type)
    metadata, value = (part.cast(_LARGE) for part in variants.cast(VARIANT_TYPE).flatten())
    dictionaries = Dictionaries(metadata) if any(isinstance(step, str) for step in steps) else None
    rows, found = np.flatnonzero(is_valid(value)), spans(value)
    found = found.where(rows)
    for step in steps:
        basic = Basic.OBJECT if isinstance(step, str) else Basic.ARRAY
        fitting = np.flatnonzero(basic_types(found) == basic)
        rows, found = rows[fitting], found.where(fitting)
        elements = read_containers(found, basic)
        if dictionaries is not None and isinstance(step, str):
            ranks = dictionaries.ranks(rows[elements.owners], elements.ids)
            wanted = np.flatnonzero(ranks == dictionaries.rank(step))
        else:
            place = np.arange(len(elements.owners)) - np.searchsorted(elements.owners, elements.owners)
            wanted = np.flatnonzero(place == step)
        rows, found = rows[elements.owners[wanted]], elements.values.where(wanted)
    return _placed(metadata, rows, found)


def _placed(metadata: pa.Array, rows: np.ndarray, found: Spans) -> pa.StructArray:
    # Where nothing is found, the NULL at index 0 stays.
    sources = np.zeros(len(metadata), np.int64)
    sources[rows] = 1 + np.arange(len(rows))
    there = sources > 0
    values = pc.take(pa.concat_arrays([pa.nulls(1, _LARGE), gather(found)]), integers(sources))
    return pa.StructArray.from_arrays(
        [metadata.cast(pa.binary()), values.cast(pa.binary())],
        fields=list(VARIANT_TYPE),
        mask=None if there.all() else booleans(~there),
    )


def parse_path(path: str) -> list[str | int]:
    """The names and indices of a path.

    Raises:
        SchemaMismatchError: the path is ill-formed.

    >>> parse_path("$.a[0]['b c']")
    ['a', 0, 'b c']
    """
    steps: list[str | int] = []
    at = 1
    while path.startswith("$") and at < len(path) and (match := _STEP.match(path, at)):
        name, place, single, double = match.groups()
        steps.append(int(place) if place else next(n for n in (name, single, double) if n is not None))
        at = match.end()
    if not path.startswith("$") or at < len(path):
        raise SchemaMismatchError(f"{path!r} is not a path such as $.a[0]['b c']")
    return steps
