"""Variants as data files store them: chapters "Variant Data Type" and "Variant Shredding".

As in Spark, a variant is a group of ``value`` and ``metadata``. If the table enables shredding and the first
rows of a file are alike enough, it is a group of ``metadata``, ``value`` and ``typed_value``. Variants in
arrays and maps are never shredded. The Parquet library cannot annotate the group as VARIANT; the table's
schema says what it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import deltaarrow.variant as variant
from deltaarrow.columnar.kernels import pc
from deltaarrow.schema import DataType, PrimitiveType, StructType
from deltaarrow.statistics import parquet_leaves
from deltaarrow.variant import convert_variants, holds_variant
from deltaarrow.write.writer_properties import COLUMN_LISTS

__all__ = ["StoredForm", "VariantColumns"]

_VARIANT = PrimitiveType("variant")
_STORED = [pa.field("value", pa.binary(), nullable=False), pa.field("metadata", pa.binary(), nullable=False)]

_Path = tuple[int, ...]


@dataclass(frozen=True)
class StoredForm:
    """How one file stores its variants: each column, by position, whole or shredded into a `Shape`."""

    types: Mapping[int, DataType]
    shapes: "Mapping[_Path, variant.Shape]"
    schema: pa.Schema
    """The schema of the file."""

    def stored(self, rows: pa.Table) -> pa.Table:
        """Return the rows in the form that the file stores."""
        for place, data_type in self.types.items():
            column = _stored(_whole(rows.column(place)), data_type, (place,), self.shapes)
            rows = rows.set_column(place, self.schema.field(place), column)
        return rows

    def extended(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Extend Parquet writer options that name leaves to the leaves that shredding adds.

        Such a leaf gets the options of its variant's ``value``, except for the bounds of floating-point
        numbers.
        """
        leaves = list(parquet_leaves(self.schema))
        extended = dict(options)
        for key in COLUMN_LISTS:
            named = set(options.get(key, ()))
            for path, leaf_type in leaves:
                variant = self._variant_of(path)
                if variant is None or (key == "write_statistics" and pa.types.is_floating(leaf_type)):
                    continue
                if ".".join((*variant, "value")) in named:
                    named.add(".".join(path))
            extended[key] = sorted(named.intersection(".".join(path) for path, _ in leaves))
        return extended

    def _variant_of(self, path: Sequence[str]) -> tuple[str, ...] | None:
        for shaped in self.shapes:
            names, fields = [], list(self.schema)
            for place in shaped:
                names.append(fields[place].name)
                fields = list(fields[place].type)
            if tuple(path[: len(names)]) == tuple(names):
                return tuple(names)
        return None


class VariantColumns:
    """The columns of a table's data files that contain variants.

    Args:
        columns: the data columns, with their Delta types; the first columns of `schema`.
        schema: the schema of the rows, under physical names.
        shreds: whether variants are shredded.
    """

    def __init__(self, columns: StructType, schema: pa.Schema, *, shreds: bool) -> None:
        self._schema = schema
        self._shreds = shreds
        self._types = {
            place: field.type for place, field in enumerate(columns.fields) if holds_variant(field.type)
        }

    def __bool__(self) -> bool:
        """Whether any column contains variants."""
        return bool(self._types)

    def form_for(self, rows: pa.Table) -> StoredForm:
        """Choose the form of variants in a file that begins with these rows."""
        shapes: dict[_Path, variant.Shape] = {}
        if self._shreds:
            room = variant.MAX_COLUMNS
            for place, data_type in self._types.items():
                sample = _whole(rows.column(place).slice(0, variant.SAMPLE_ROWS))
                for path, variants in _shreddable(sample, data_type, (place,)):
                    shape = variant.infer_shape(variants, room)
                    if shape is not None:
                        shapes[path] = shape
                        room -= sum(1 for _ in parquet_leaves([pa.field("", shape.arrow_type)]))
        schema = self._schema
        for place, data_type in self._types.items():
            empty = _stored(pa.array([], schema.field(place).type), data_type, (place,), shapes)
            schema = schema.set(place, schema.field(place).with_type(empty.type))
        return StoredForm(self._types, shapes, schema)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _shreddable(array: pa.Array, data_type: DataType, path: _Path) -> Iterator[tuple[_Path, pa.StructArray]]:
    """The variant columns outside arrays and maps, by the positions that lead to them."""
    if data_type == _VARIANT:
        yield path, array
    elif isinstance(data_type, StructType):
        for place, (part, field) in enumerate(zip(array.flatten(), data_type.fields, strict=True)):
            yield from _shreddable(part, field.type, (*path, place))


def _stored(
    array: pa.Array, data_type: DataType, path: _Path, shapes: "Mapping[_Path, variant.Shape]"
) -> pa.Array:
    if data_type == _VARIANT:
        return variant.shred(array, shapes[path]) if path in shapes else _unshredded(array)
    if not isinstance(data_type, StructType):
        return convert_variants(array, data_type, _unshredded)
    pairs = zip(array.flatten(), data_type.fields, strict=True)
    parts = [_stored(part, field.type, (*path, place), shapes) for place, (part, field) in enumerate(pairs)]
    fields = [field.with_type(part.type) for field, part in zip(array.type, parts, strict=True)]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)


def _unshredded(array: pa.StructArray) -> pa.StructArray:
    parts = [pc.fill_null(array.field(each.name), b"") for each in _STORED]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(parts, fields=_STORED, mask=mask)
