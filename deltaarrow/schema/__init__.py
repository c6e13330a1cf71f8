"""The schema of a table: Delta types, their JSON and their Arrow form.

Implements *Schema Serialization Format* and *Column Mapping* of PROTOCOL.md.
"""

from deltaarrow.schema.arrow import (
    JSON_KEYS,
    TYPE_KEY,
    from_arrow_field,
    from_arrow_type,
    is_variant_field,
    to_arrow_field,
    to_arrow_schema,
    to_arrow_type,
)
from deltaarrow.schema.arrow_cast import conform, ensure_conformable, missing_columns
from deltaarrow.schema.change_data import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION, ChangeType
from deltaarrow.schema.column_ids import assign_column_ids, ensure_distinct_columns
from deltaarrow.schema.evolution import as_nullable, keeps_types, merge_schemas
from deltaarrow.schema.json import JsonObject, JsonValue, parse_json, render_json
from deltaarrow.schema.mapping import (
    FIELD_ID_KEY,
    NESTED_IDS_KEY,
    PHYSICAL_NAME_KEY,
    ColumnMapping,
    column_mapping_mode,
    field_id,
    nested_ids,
    physical_name,
    physical_path,
    resolve_path,
    to_physical_schema,
)
from deltaarrow.schema.reshaping import add_fields, edit_field, render_path, spelled_path
from deltaarrow.schema.schema import (
    Schema,
    from_arrow_schema,
    leaf_paths,
    without_column_ids,
    without_table_metadata,
)
from deltaarrow.schema.types import (
    ArrayType,
    DataType,
    Field,
    MapType,
    PrimitiveType,
    StructType,
    data_type_from_json,
)
from deltaarrow.schema.validation import ensure_valid_for_write, resolve_partition_columns

__all__ = [
    "CHANGE_TYPE",
    "COMMIT_TIMESTAMP",
    "COMMIT_VERSION",
    "FIELD_ID_KEY",
    "JSON_KEYS",
    "NESTED_IDS_KEY",
    "PHYSICAL_NAME_KEY",
    "TYPE_KEY",
    "ArrayType",
    "ChangeType",
    "ColumnMapping",
    "DataType",
    "Field",
    "JsonObject",
    "JsonValue",
    "MapType",
    "PrimitiveType",
    "Schema",
    "StructType",
    "add_fields",
    "as_nullable",
    "assign_column_ids",
    "column_mapping_mode",
    "conform",
    "data_type_from_json",
    "edit_field",
    "ensure_conformable",
    "ensure_distinct_columns",
    "ensure_valid_for_write",
    "field_id",
    "from_arrow_field",
    "from_arrow_schema",
    "from_arrow_type",
    "is_variant_field",
    "keeps_types",
    "leaf_paths",
    "merge_schemas",
    "missing_columns",
    "nested_ids",
    "parse_json",
    "physical_name",
    "physical_path",
    "render_json",
    "render_path",
    "resolve_partition_columns",
    "resolve_path",
    "spelled_path",
    "to_arrow_field",
    "to_arrow_schema",
    "to_arrow_type",
    "to_physical_schema",
    "without_column_ids",
    "without_table_metadata",
]
