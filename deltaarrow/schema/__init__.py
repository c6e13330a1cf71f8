"""The schema of a table: Delta types, their JSON and their Arrow form.

Implements *Schema Serialization Format* and *Column Mapping* of PROTOCOL.md.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.schema.arrow_cast import (
        conform as conform,
        cut_times as cut_times,
        ensure_conformable as ensure_conformable,
        in_microseconds as in_microseconds,
        missing_columns as missing_columns,
    )
    from deltaarrow.schema.arrow_types import (
        JSON_KEYS as JSON_KEYS,
        TYPE_KEY as TYPE_KEY,
        from_arrow_field as from_arrow_field,
        from_arrow_type as from_arrow_type,
        is_variant_field as is_variant_field,
        to_arrow_field as to_arrow_field,
        to_arrow_schema as to_arrow_schema,
        to_arrow_type as to_arrow_type,
        with_large_types as with_large_types,
    )
    from deltaarrow.schema.change_data import (
        CHANGE_TYPE as CHANGE_TYPE,
        COMMIT_TIMESTAMP as COMMIT_TIMESTAMP,
        COMMIT_VERSION as COMMIT_VERSION,
        ChangeType as ChangeType,
    )
    from deltaarrow.schema.char_types import char_length as char_length, holds_char as holds_char
    from deltaarrow.schema.column_ids import (
        assign_column_ids as assign_column_ids,
        ensure_distinct_columns as ensure_distinct_columns,
    )
    from deltaarrow.schema.evolution import (
        as_nullable as as_nullable,
        is_wider as is_wider,
        keeps_types as keeps_types,
        merge_schemas as merge_schemas,
    )
    from deltaarrow.schema.interval_type import INTERVAL_TYPES as INTERVAL_TYPES, IntervalType as IntervalType
    from deltaarrow.schema.json_objects import (
        JsonObject as JsonObject,
        JsonValue as JsonValue,
        parse_json as parse_json,
        render_json as render_json,
    )
    from deltaarrow.schema.mapping import (
        ColumnMapping as ColumnMapping,
        column_mapping_mode as column_mapping_mode,
        field_id as field_id,
        nested_ids as nested_ids,
        physical_name as physical_name,
        physical_path as physical_path,
        resolve_path as resolve_path,
        to_physical_schema as to_physical_schema,
    )
    from deltaarrow.schema.nesting import fields_within as fields_within, types_within as types_within
    from deltaarrow.schema.reshaping import (
        Position as Position,
        add_fields as add_fields,
        edit_field as edit_field,
        edit_type as edit_type,
        move_field as move_field,
        render_path as render_path,
        spelled_path as spelled_path,
    )
    from deltaarrow.schema.schema import (
        Schema as Schema,
        from_arrow_schema as from_arrow_schema,
        leaf_paths as leaf_paths,
        without_column_ids as without_column_ids,
        without_table_metadata as without_table_metadata,
    )
    from deltaarrow.schema.types import (
        FLOATING as FLOATING,
        ArrayType as ArrayType,
        DataType as DataType,
        Field as Field,
        MapType as MapType,
        PrimitiveType as PrimitiveType,
        StructType as StructType,
        VariantType as VariantType,
        data_type_from_json as data_type_from_json,
    )
    from deltaarrow.schema.unknown_type import (
        UnknownType as UnknownType,
        UnreadableColumnError as UnreadableColumnError,
        ensure_known as ensure_known,
        has_known_type as has_known_type,
        schema_of_log as schema_of_log,
    )
    from deltaarrow.schema.validation import (
        ensure_valid_for_write as ensure_valid_for_write,
        needs_column_mapping as needs_column_mapping,
        resolve_partition_columns as resolve_partition_columns,
    )
    from deltaarrow.schema.value_cast import cast_columns as cast_columns

__getattr__ = lazy_package(__name__)
