"""Padding of CHAR(n) strings where a table is read: a data file may hold ``'z'`` for ``'z   '``.

The same rule is here for Arrow arrays, for single partition values and as SQL; Polars gets the Arrow arrays.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.nested_arrays import with_children
from deltaarrow.schema import Field, StructType, holds_char
from deltaarrow.spark_sql.types.char_varchar import text_limits

__all__ = [
    "Paddings",
    "inner_paddings",
    "padded",
    "padded_batch",
    "padded_value",
    "padding_sql",
    "paddings_of",
]

Paddings: TypeAlias = Mapping[tuple[str, ...], int]
"""The n of the CHAR(n) strings in a column, by path: names of fields, ``element``, ``key`` and ``value``."""


def paddings_of(field: Field) -> Paddings:
    """Return the CHAR(n) strings of a column.

    Raises `UnsupportedFeatureError` if the declared type is not that of the column.

    >>> paddings_of(Field("code", "string", metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(4)"}))
    {(): 4}
    """
    if not holds_char(field):
        return {}
    limits = text_limits(StructType([field]))
    return {each.path[1:]: each.characters for each in limits if each.declared.startswith("char")}


def inner_paddings(paddings: Paddings, step: str) -> Paddings:
    """Return the strings below a field, an element, a key or a value."""
    return {path[1:]: length for path, length in paddings.items() if path and path[0] == step}


def padded(array: pa.Array, paddings: Paddings) -> pa.Array:
    """Return an array with the logical names of a column, with its strings padded."""
    if not paddings:
        return array
    if () in paddings:
        return pc.utf8_rpad(array, paddings[()])
    if pa.types.is_struct(array.type):
        parts = zip(array.flatten(), array.type, strict=True)
        return with_children(
            array, [padded(part, inner_paddings(paddings, each.name)) for part, each in parts]
        )
    if pa.types.is_map(array.type):
        keys = padded(array.keys, inner_paddings(paddings, "key"))
        return with_children(array, [keys, padded(array.items, inner_paddings(paddings, "value"))])
    return with_children(array, [padded(array.values, inner_paddings(paddings, "element"))])


def padded_batch(batch: pa.RecordBatch, columns: Mapping[str, Paddings]) -> pa.RecordBatch:
    """Return a batch with the strings of some columns padded; it may lack columns."""
    for name in columns.keys() & set(batch.schema.names):
        place = batch.schema.get_field_index(name)
        column = padded(batch.column(place), columns[name])
        batch = batch.set_column(place, batch.schema.field(place), column)
    return batch


def padded_value(value: Any, paddings: Paddings) -> Any:
    """Return a partition value, padded if it is a string of CHAR(n)."""
    return value.ljust(paddings[()]) if isinstance(value, str) and () in paddings else value


def padding_sql(source: str, length: int) -> str:
    """Return the SQL of a padded string; strings that are longer stay, which ``rpad`` would cut."""
    return f"CASE WHEN length({source}) < {length} THEN rpad({source}, {length}, ' ') ELSE {source} END"
