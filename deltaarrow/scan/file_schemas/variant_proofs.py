"""Footer proofs that DuckDB reads the variants of a data file correctly, chapter "Variant Shredding".

DuckDB's VARIANT distinguishes a variant null from NULL, but its Parquet reader returns both as NULL. The
reader also accepts a value that is present twice, as `value` and as `typed_value`. Column statistics of the
row groups can prove that neither occurs:

=======================  ===========================================================================
no variant is null       the smallest `value` does not start with the byte 0, which encodes null, and
                         `value` or a column of `typed_value` is present wherever `metadata` is
no value is there twice  of each `value` and its sibling `typed_value`, one has only NULLs; beside an
                         object it is `value`, which might hold a field that the object has too
=======================  ===========================================================================

Nulls inside an array or object need no proof: DuckDB preserves them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

__all__ = ["Leaf", "is_well_shredded", "tells_null_apart"]


class Leaf(NamedTuple):
    """A column of a file over all row groups: `nulls` of `entries`, None if a row group has no null count.

    `above_null` says that the minimum of every row group, if it has one, does not start with the byte 0.
    """

    entries: int
    nulls: int | None
    above_null: bool

    @property
    def is_empty(self) -> bool:
        """Whether the column has only NULLs."""
        return self.nulls == self.entries


def is_well_shredded(stored: pa.StructType) -> bool:
    """Whether DuckDB can read this shredding; it needs `value`, and no types outside the encoding.

    DuckDB 2.0 ends with an internal error where an element or a field has a `typed_value` without a `value`.
    """
    names = [field.name for field in stored]
    if sorted(names[:2]) != ["metadata", "value"] or names[2:] not in ([], ["typed_value"]):
        return False
    return len(names) == 2 or _is_typed_value(stored.field("typed_value").type)


def _is_typed_value(data_type: pa.DataType) -> bool:
    if pa.types.is_list(data_type):
        return _is_part(data_type.value_type)
    if pa.types.is_struct(data_type):
        return all(_is_part(field.type) for field in data_type)
    # The variant encoding has neither unsigned numbers nor maps.
    return not pa.types.is_unsigned_integer(data_type) and not pa.types.is_map(data_type)


def _is_part(group: pa.DataType) -> bool:
    """Whether the group of an element or a field has a `value`, and perhaps a `typed_value`."""
    names = sorted(field.name for field in group) if pa.types.is_struct(group) else []
    if names == ["typed_value", "value"]:
        return _is_typed_value(group.field("typed_value").type)
    return names == ["value"]


def tells_null_apart(stored: pa.StructType, leaves: Sequence[Leaf]) -> bool:
    """Whether DuckDB's reader returns a column of well-shredded variants correctly.

    Args:
        stored: the type of the group of `metadata`, `value` and `typed_value`.
        leaves: the columns below the group, in file order.
    """
    parts = _parts(stored, leaves)
    (metadata,), (value,) = parts["metadata"], parts["value"]
    if metadata.nulls is None or not value.above_null or not _is_there_once(stored, leaves):
        return False
    # Each column has at least one entry per variant, which is NULL for a NULL variant. A column with no
    # further NULLs has a value for every other variant.
    return any(leaf.nulls == metadata.nulls for leaf in (value, *parts.get("typed_value", ())))


def _parts(group: pa.StructType, leaves: Sequence[Leaf]) -> dict[str, Sequence[Leaf]]:
    """Return the columns of a group, by its fields."""
    parts, start = {}, 0
    for field in group:
        stop = start + _count(field.type)
        parts[field.name] = leaves[start:stop]
        start = stop
    return parts


def _count(data_type: pa.DataType) -> int:
    if pa.types.is_list(data_type):
        return _count(data_type.value_type)
    if pa.types.is_struct(data_type):
        return sum(_count(field.type) for field in data_type)
    return 1


def _is_there_once(group: pa.StructType, leaves: Sequence[Leaf]) -> bool:
    """Whether `value` or `typed_value` has only NULLs, also at every level inside `typed_value`."""
    parts = _parts(group, leaves)
    if "typed_value" not in parts:
        return True
    alone = all(leaf.is_empty for leaf in parts.get("value", ()))
    data_type, typed = group.field("typed_value").type, parts["typed_value"]
    if pa.types.is_list(data_type):
        return alone and _is_there_once(data_type.value_type, typed)
    if pa.types.is_struct(data_type):
        fields = _parts(data_type, typed)
        return alone and all(_is_there_once(field.type, fields[field.name]) for field in data_type)
    return alone or typed[0].is_empty
