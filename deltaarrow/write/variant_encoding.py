"""Conversion of user data to variants: chapters "Variant Data Type" and "Variant Shredding".

==============================================  =====================================================
data for a column of variants                   what is written
==============================================  =====================================================
text                                            the variant of the JSON text, in the bytes that
                                                Spark's ``parse_json`` would write
struct<metadata, value>, in any order           the same bytes, after a check that they are well-formed
the same with typed_value                       the variant reassembled from the shredded columns
extension type arrow.parquet.variant            its storage, as above
==============================================  =====================================================

A new column holds variants if it has that extension type, the mark that `Schema.to_arrow` puts on the field,
or the mark of Spark's Arrow data. Otherwise a struct stays a struct and text stays text. NULL is NULL; the
JSON text ``null`` is a variant.
"""

from collections.abc import Iterable, Sequence

import pyarrow as pa

import deltaarrow.variant as variant
from deltaarrow.errors import CorruptDataFileError, SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.schema import (
    TYPE_KEY,
    ArrayType,
    DataType,
    Field,
    MapType,
    PrimitiveType,
    StructType,
    is_variant_field,
)

__all__ = ["read_variants"]

_VARIANT, _OTHER = PrimitiveType("variant"), PrimitiveType("void")


def read_variants(data: pa.RecordBatchReader, schema: StructType | None) -> pa.RecordBatchReader:
    """Return the data with every variant column in binary form and marked as such.

    Args:
        data: a stream; it is returned unchanged if it has no variants.
        schema: the schema of the table; None for a table that takes the columns of the data.

    Raises:
        SchemaMismatchError: while the stream is read, if a text is not JSON or bytes are not a variant.
        UnsupportedFeatureError: variants are in lists of a fixed size or in list views.
    """
    columns = [_places(field, _member(schema, field.name)) for field in data.schema]
    if not any(map(variant.holds_variant, columns)):
        return data
    empty = (pa.array([], field.type) for field in data.schema)
    arrays = _converted(empty, columns)
    target = pa.schema(
        _marked(field.with_type(array.type), column)
        for field, array, column in zip(data.schema, arrays, columns, strict=True)
    )
    return pa.RecordBatchReader.from_batches(
        target, (pa.RecordBatch.from_arrays(_converted(batch, columns), schema=target) for batch in data)
    )


def _converted(arrays: Iterable[pa.Array], columns: Sequence[DataType]) -> list[pa.Array]:
    return [
        variant.convert_variants(array, each, _binary) for array, each in zip(arrays, columns, strict=True)
    ]


def _marked(field: pa.Field, column: DataType) -> pa.Field:
    """Return the field with the variants in it marked."""
    found = field.type
    if column == _VARIANT:
        return field.with_metadata({**(field.metadata or {}), TYPE_KEY: "variant"})
    if isinstance(column, StructType):
        pairs = zip(found, column.fields, strict=True)
        return field.with_type(pa.struct([_marked(each, member.type) for each, member in pairs]))
    if isinstance(column, MapType):
        key, item = _marked(found.key_field, column.key_type), _marked(found.item_field, column.value_type)
        return field.with_type(pa.map_(key, item, found.keys_sorted))
    if isinstance(column, ArrayType):
        make = pa.large_list if pa.types.is_large_list(found) else pa.list_
        return field.with_type(make(_marked(found.value_field, column.element_type)))
    return field


def _places(field: pa.Field, wanted: DataType | None) -> DataType:
    """The shape of a data column, with variants where the table has them or, without a table, the data."""
    if wanted == _VARIANT or (wanted is None and is_variant_field(field)):
        # Other types are left as they are and refused later, with everything that does not fit the table.
        return _VARIANT if _may_be_variants(field.type) else _OTHER
    types, found = pa.types, field.type
    if types.is_struct(found):
        return StructType(
            Field(str(place), _places(each, _member(wanted, each.name))) for place, each in enumerate(found)
        )
    if types.is_map(found):
        key, value = (wanted.key_type, wanted.value_type) if isinstance(wanted, MapType) else (None, None)
        return MapType(_places(found.key_field, key), _places(found.item_field, value))
    if types.is_list(found) or types.is_large_list(found):
        element = wanted.element_type if isinstance(wanted, ArrayType) else None
        return ArrayType(_places(found.value_field, element))
    if wanted is not None and variant.holds_variant(wanted) and not types.is_null(found):
        raise UnsupportedFeatureError(
            f"column {field.name!r}: variants cannot be read from {found}; cast the column to a list",
            feature=f"variants in {found}",
        )
    return _OTHER


def _may_be_variants(found: pa.DataType) -> bool:
    types = pa.types
    if types.is_dictionary(found):
        found = found.value_type
    if isinstance(found, pa.BaseExtensionType):
        found = found.storage_type
    is_text = types.is_string(found) or types.is_large_string(found) or types.is_string_view(found)
    return bool(is_text or types.is_struct(found) or types.is_null(found))


def _member(parent: DataType | None, name: str) -> DataType | None:
    """The type of a struct member, by its name in any case."""
    if not isinstance(parent, StructType):
        return None
    found = parent.find(name)
    return None if found is None else found.type


def _binary(array: pa.Array) -> pa.StructArray:
    """Convert variants in any of the forms of the table above to the binary form."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), variant.VARIANT_TYPE)
    if not pa.types.is_struct(array.type):
        return variant.parse_json(array)
    try:
        stored = array.cast(variant.shredded_type(array.type))
        if "typed_value" in [field.name for field in stored.type]:
            stored = variant.reassemble(stored)
    except CorruptDataFileError as error:
        raise SchemaMismatchError(
            f"data for a variant column is no variant: {error}; give JSON text or struct<metadata, value>"
        ) from error
    parts = [stored.field(field.name) for field in variant.VARIANT_TYPE]
    mask = stored.is_null() if stored.null_count else None
    variants = pa.StructArray.from_arrays(parts, fields=list(variant.VARIANT_TYPE), mask=mask)
    variant.ensure_variants(variants)
    return variants
