"""The schema of a table: Delta types, their JSON and their Arrow form.

Implements *Schema Serialization Format* and *Column Mapping* of PROTOCOL.md.
"""

from deltaarrow.schema.arrow import (
    from_arrow_field,
    from_arrow_type,
    to_arrow_field,
    to_arrow_schema,
    to_arrow_type,
)
from deltaarrow.schema.json import JsonObject, JsonValue
from deltaarrow.schema.schema import Schema, from_arrow_schema, leaf_paths
from deltaarrow.schema.types import (
    ArrayType,
    DataType,
    Field,
    MapType,
    PrimitiveType,
    StructType,
    data_type_from_json,
)

__all__ = [
    "ArrayType",
    "DataType",
    "Field",
    "JsonObject",
    "JsonValue",
    "MapType",
    "PrimitiveType",
    "Schema",
    "StructType",
    "data_type_from_json",
    "from_arrow_field",
    "from_arrow_schema",
    "from_arrow_type",
    "leaf_paths",
    "to_arrow_field",
    "to_arrow_schema",
    "to_arrow_type",
]
