"""Conversion between Delta types and Arrow types.

==================  ====================================  =====================================
Delta               to Arrow                              also from Arrow
==================  ====================================  =====================================
string              string                                large_string, string_view, arrow.json
binary              binary                                large, view, fixed size, arrow.uuid
byte .. long        int8 .. int64                         uint8 .. uint64 (values are checked
                                                          when they are cast)
float, double       float, double                         float16 (as float)
decimal(p,s)        decimal128(p, s)                      decimal32, 64, 256 of up to 38 digits
date                date32                                date64
timestamp           timestamp("us", "UTC")                any unit, any time zone
timestamp_ntz       timestamp("us")                       any unit
variant             struct<metadata, value: binary>       extension types (arrow.)parquet.variant; Spark's
void                null
array               list<element>                         large_list, list_view, fixed_size_list
map                 map<key, value>
==================  ====================================  =====================================

Dictionary and run-end encoded columns have the type of their values. A column marked as of an extension type
that Arrow does not know in this process has the storage type, as for all that reads it here. Column metadata
becomes Arrow field metadata as in ``deltalake``: text stays text, any other value becomes JSON text.
`JSON_KEYS` lists the keys with JSON text, so that their values survive a round trip. `TYPE_KEY` marks variant
fields, because their Arrow type is a struct.
"""

from collections.abc import Mapping

import pyarrow as pa

from deltaarrow.errors import CorruptLogError, UnsupportedFeatureError
from deltaarrow.schema.interval_type import IntervalType
from deltaarrow.schema.json_objects import JsonObject, JsonValue, parse_json, render_json
from deltaarrow.schema.metadata_keys import (
    FIELD_ID_KEY,
    IDENTITY_EXPLICIT_KEY,
    IDENTITY_HIGH_WATER_MARK_KEY,
    IDENTITY_START_KEY,
    IDENTITY_STEP_KEY,
    NESTED_IDS_KEY,
    TYPE_CHANGES_KEY,
)
from deltaarrow.schema.types import ArrayType, DataType, Field, MapType, PrimitiveType, StructType

__all__ = [
    "JSON_KEYS",
    "TYPE_KEY",
    "from_arrow_field",
    "from_arrow_type",
    "from_exported_type",
    "is_variant_field",
    "to_arrow_field",
    "to_arrow_schema",
    "to_arrow_type",
    "with_large_types",
]

JSON_KEYS = "deltaarrow:json"
"""Arrow field metadata: a JSON list of the metadata keys whose text is JSON."""

TYPE_KEY = "deltaarrow:type"
"""Arrow field metadata: the Delta type, if the Arrow type is ambiguous."""

_TO_ARROW: dict[str, pa.DataType] = {
    "string": pa.string(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "variant": pa.struct([("metadata", pa.binary()), ("value", pa.binary())]),
    "void": pa.null(),
}
_FROM_ARROW: dict[pa.DataType, str] = {
    **{
        arrow: name
        for name, arrow in _TO_ARROW.items()
        if name not in ("timestamp", "timestamp_ntz", "variant")
    },
    pa.uint8(): "byte",
    pa.uint16(): "short",
    pa.uint32(): "integer",
    pa.uint64(): "long",
    pa.float16(): "float",
    pa.date64(): "date",
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.large_binary(): "binary",
    pa.binary_view(): "binary",
}
_EXTENSIONS = {
    "arrow.json": "string",
    "arrow.uuid": "binary",
    "arrow.parquet.variant": "variant",
    "parquet.variant": "variant",
}
# Protocol metadata that is not text; other writers store it as JSON text without `JSON_KEYS`.
_PROTOCOL_JSON_KEYS = frozenset(
    (
        FIELD_ID_KEY,
        NESTED_IDS_KEY,
        IDENTITY_EXPLICIT_KEY,
        IDENTITY_HIGH_WATER_MARK_KEY,
        IDENTITY_START_KEY,
        IDENTITY_STEP_KEY,
        TYPE_CHANGES_KEY,
    )
)
_MAX_PRECISION = 38


def to_arrow_type(data_type: DataType) -> pa.DataType:
    """Return the Arrow type for reading and writing values of a Delta type.

    Raises:
        UnsupportedFeatureError: a map has void keys.

    >>> to_arrow_type(ArrayType("timestamp"))
    ListType(list<element: timestamp[us, tz=UTC]>)
    """
    if isinstance(data_type, IntervalType):
        return pa.duration("us")
    if isinstance(data_type, PrimitiveType):
        decimal = data_type.decimal
        # A type that is not known has no name here; a schema can have the column, and reads refuse it.
        return pa.decimal128(*decimal) if decimal else _TO_ARROW.get(data_type.type, pa.null())
    if isinstance(data_type, ArrayType):
        return pa.list_(_part("element", data_type.element_type, data_type.contains_null))
    if isinstance(data_type, MapType):
        if _is_void(data_type.key_type):
            raise UnsupportedFeatureError(
                "a map with void keys has no Arrow type; such a column cannot be read or written",
                feature="void map keys",
            )
        return pa.map_(
            _part("key", data_type.key_type, False),
            _part("value", data_type.value_type, data_type.value_contains_null),
        )
    return pa.struct([to_arrow_field(each) for each in data_type.fields])


def to_arrow_field(field: Field) -> pa.Field:
    """Return the Arrow field of a column, with its metadata."""
    metadata = _to_arrow_metadata(field.metadata)
    return _part(field.name, field.type, field.nullable, metadata)


def to_arrow_schema(schema: StructType) -> pa.Schema:
    """Return the Arrow schema of a table or struct, with the metadata of every field."""
    return pa.schema([to_arrow_field(each) for each in schema.fields])


def from_arrow_type(arrow_type: pa.DataType, path: str = "") -> DataType:
    """Return the Delta type that holds the values of an Arrow type.

    Args:
        arrow_type: any Arrow type.
        path: the path of the column, for error messages.

    Raises:
        UnsupportedFeatureError: Delta has no such type (times, durations, intervals, unions,
            decimals of more than 38 digits or of negative scale, unknown extension types).

    >>> from_arrow_type(pa.large_list(pa.uint8()))
    ArrayType(PrimitiveType("byte"), contains_null=True)
    """
    name = _FROM_ARROW.get(arrow_type)
    if name is not None:
        return PrimitiveType(name)
    types = pa.types
    if types.is_timestamp(arrow_type):
        return PrimitiveType("timestamp_ntz" if arrow_type.tz is None else "timestamp")
    if types.is_decimal(arrow_type) and arrow_type.precision <= _MAX_PRECISION:
        if 0 <= arrow_type.scale <= arrow_type.precision:
            return PrimitiveType(f"decimal({arrow_type.precision},{arrow_type.scale})")
    elif types.is_fixed_size_binary(arrow_type):
        return PrimitiveType("binary")
    elif types.is_dictionary(arrow_type) or types.is_run_end_encoded(arrow_type):
        return from_arrow_type(arrow_type.value_type, path)
    elif types.is_map(arrow_type):
        key = _from_part(arrow_type.key_field, f"{path}.key")
        value = _from_part(arrow_type.item_field, f"{path}.value")
        return MapType(key, value, arrow_type.item_field.nullable)
    elif types.is_struct(arrow_type):
        return StructType(from_arrow_field(each, path) for each in arrow_type.fields)
    elif _is_list(arrow_type):
        element = _from_part(arrow_type.value_field, f"{path}.element")
        return ArrayType(element, arrow_type.value_field.nullable)
    elif isinstance(arrow_type, pa.BaseExtensionType) and arrow_type.extension_name in _EXTENSIONS:
        return PrimitiveType(_EXTENSIONS[arrow_type.extension_name])
    where = f"column {path!r}: " if path else ""
    raise UnsupportedFeatureError(
        f"{where}Delta has no type for Arrow's {arrow_type}; {_remedy(arrow_type)}", feature=str(arrow_type)
    )


def from_exported_type(exported: pa.DataType) -> DataType:
    """Return the Delta type for an Arrow type of any library, which exports it with ``__arrow_c_schema__``.

    Raises:
        UnsupportedFeatureError: as for `from_arrow_type`.
    """
    if isinstance(exported, pa.DataType):
        return from_arrow_type(exported)
    # A type is exported as a field without a name.
    return from_arrow_field(pa.field(exported)).type


def with_large_types(arrow_type: pa.DataType) -> pa.DataType:
    """Return an Arrow type with 64-bit offsets for texts, binaries and lists at all levels.

    >>> with_large_types(pa.list_(pa.string()))
    LargeListType(large_list<item: large_string>)
    """
    if arrow_type == pa.string():
        return pa.large_string()
    if arrow_type == pa.binary():
        return pa.large_binary()
    if pa.types.is_struct(arrow_type):
        return pa.struct([_with_large_type(each) for each in arrow_type.fields])
    if pa.types.is_list(arrow_type):
        return pa.large_list(_with_large_type(arrow_type.value_field))
    if pa.types.is_map(arrow_type):
        return pa.map_(_with_large_type(arrow_type.key_field), _with_large_type(arrow_type.item_field))
    return arrow_type


def _with_large_type(field: pa.Field) -> pa.Field:
    return field.with_type(with_large_types(field.type))


def from_arrow_field(field: pa.Field, path: str = "") -> Field:
    """Return the Delta column of an Arrow field, without metadata of Arrow and Parquet.

    Args:
        field: the Arrow field.
        path: the path of the enclosing struct, for error messages.

    Raises:
        UnsupportedFeatureError: as for `from_arrow_type`.
    """
    path = f"{path}.{field.name}" if path else field.name
    return Field(field.name, _from_part(field, path), field.nullable, _from_arrow_metadata(field, path))


def _part(name: str, data_type: DataType, nullable: bool, metadata: dict[str, str] | None = None) -> pa.Field:
    if isinstance(data_type, PrimitiveType) and data_type.type == "variant":
        metadata = {**(metadata or {}), TYPE_KEY: "variant"}
    # Arrow rejects a NOT NULL void field, but an empty table may have one.
    return pa.field(name, to_arrow_type(data_type), nullable or _is_void(data_type), metadata=metadata)


def _is_void(data_type: DataType) -> bool:
    return isinstance(data_type, PrimitiveType) and data_type.type == "void"


def is_variant_field(field: pa.Field) -> bool:
    """Whether an Arrow field is marked as a variant: by its extension type, by `TYPE_KEY`, or as Spark does.

    Spark's Arrow data mark the member `metadata` of the struct.
    """
    if isinstance(field.type, pa.BaseExtensionType):
        return _EXTENSIONS.get(field.type.extension_name) == "variant"
    metadata: Mapping[bytes, bytes] = field.metadata or {}
    extension = metadata.get(b"ARROW:extension:name", b"").decode("utf-8", "replace")
    return pa.types.is_struct(field.type) and (
        metadata.get(TYPE_KEY.encode()) == b"variant"
        or _EXTENSIONS.get(extension) == "variant"
        or _is_variant_of_spark(field.type)
    )


def _is_variant_of_spark(struct: pa.StructType) -> bool:
    return sorted(member.name for member in struct) == ["metadata", "value"] and (
        (struct.field("metadata").metadata or {}).get(b"variant") == b"true"
    )


def _remedy(arrow_type: pa.DataType) -> str:
    """What to do with a column of a type that Delta lacks."""
    if pa.types.is_time(arrow_type):
        bits = arrow_type.bit_width
        return f"cast it first: to text by .cast('string'), or to a count by .cast('int{bits}')"
    if pa.types.is_duration(arrow_type):
        return f"cast it first, by .cast('int64') to a count of {arrow_type.unit}"
    return "cast the column first"


def _from_part(field: pa.Field, path: str) -> DataType:
    return PrimitiveType("variant") if is_variant_field(field) else from_arrow_type(field.type, path)


def _is_list(arrow_type: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_list(arrow_type)
        or types.is_large_list(arrow_type)
        or types.is_fixed_size_list(arrow_type)
        or types.is_list_view(arrow_type)
        or types.is_large_list_view(arrow_type)
    )


def _to_arrow_metadata(metadata: JsonObject) -> dict[str, str] | None:
    if not metadata:
        return None
    texts = {key: value if isinstance(value, str) else render_json(value) for key, value in metadata.items()}
    of_json = [key for key, value in metadata.items() if not isinstance(value, str)]
    if of_json:
        texts[JSON_KEYS] = render_json(of_json)
    return texts


def _from_arrow_metadata(field: pa.Field, path: str) -> dict[str, JsonValue] | None:
    if not field.metadata:
        return None
    texts: dict[str, str] = {}
    for key, value in field.metadata.items():
        if key.startswith((b"ARROW:", b"PARQUET:")):
            continue
        try:
            texts[key.decode()] = value.decode()
        except UnicodeDecodeError as error:
            raise UnsupportedFeatureError(
                f"column {path!r} has Arrow field metadata that is not UTF-8; remove it",
                feature="binary field metadata",
            ) from error
    texts.pop(TYPE_KEY, None)
    listed = texts.pop(JSON_KEYS, None)
    of_json = frozenset(_parsed(listed)) if listed is not None else frozenset()
    return {
        key: _parsed(text) if key in of_json or (listed is None and key in _PROTOCOL_JSON_KEYS) else text
        for key, text in texts.items()
    }


def _parsed(text: str) -> JsonValue:
    try:
        return parse_json(text)
    except CorruptLogError:
        return text
