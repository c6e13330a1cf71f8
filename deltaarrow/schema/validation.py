"""Spark's rules for the schema of a new table, so that Spark can write to the table too."""

from collections.abc import Sequence

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema.metadata_keys import (
    CHAR_TYPE_KEY,
    COLLATIONS_KEY,
    COMMENT_KEY,
    DEFAULT_KEY,
    FIRST_DEFAULT_KEY,
    GENERATION_KEY,
    INVARIANTS_KEY,
)
from deltaarrow.schema.types import ArrayType, DataType, MapType, PrimitiveType, StructType

__all__ = ["ensure_valid_for_write", "needs_column_mapping", "resolve_partition_columns"]

_INVALID_CHARACTERS = " ,;{}()\n\t="
_TEXTS = (CHAR_TYPE_KEY, COMMENT_KEY, DEFAULT_KEY, FIRST_DEFAULT_KEY, GENERATION_KEY, INVARIANTS_KEY)
"""Keys of column metadata that Spark reads as texts, and fails if they are anything else."""


def needs_column_mapping(data_type: DataType) -> bool:
    """Whether a schema has a name that Spark takes only with column mapping.

    >>> from deltaarrow.schema.types import Field
    >>> needs_column_mapping(StructType([Field("unit price", "double")]))
    True
    """
    if isinstance(data_type, ArrayType):
        return needs_column_mapping(data_type.element_type)
    if isinstance(data_type, MapType):
        return needs_column_mapping(data_type.key_type) or needs_column_mapping(data_type.value_type)
    return isinstance(data_type, StructType) and any(
        _is_odd(each.name) or needs_column_mapping(each.type) for each in data_type.fields
    )


def _is_odd(name: str) -> bool:
    return any(character in name for character in _INVALID_CHARACTERS)


def ensure_valid_for_write(
    schema: StructType, partition_columns: Sequence[str] = (), mapping_mode: str = "none"
) -> None:
    """Raise for a schema that Spark would not accept for a new table.

    Args:
        schema: the logical schema.
        partition_columns: names of top-level columns.
        mapping_mode: the column mapping mode. Without column mapping, column names must not contain
            characters that old Parquet readers reject.

    Raises:
        SchemaMismatchError: a name is empty, has such a character or differs from
            another only in case; a struct is empty; an array or map contains ``void`` or NOT NULL; a
            default, comment or the like is not a text; or `resolve_partition_columns` rejects the partition
            columns.
    """
    _ensure_valid_type(schema, "", mapping_mode, in_collection=False)
    resolve_partition_columns(schema, partition_columns)


def resolve_partition_columns(schema: StructType, partition_columns: Sequence[str]) -> tuple[str, ...]:
    """Return the partition columns in the schema's spelling; names match case-insensitively, as in Spark.

    Raises:
        SchemaMismatchError: a column is unknown or given twice, has a type without a folder name (nested,
            variant, void, string with a collation), or all columns are partition columns.
    """
    resolved: list[str] = []
    for name in partition_columns:
        field = schema.field(name)
        if field.name in resolved:
            raise SchemaMismatchError(f"partition column {field.name!r} is given twice")
        if not isinstance(field.type, PrimitiveType) or field.type.type in ("variant", "void"):
            raise SchemaMismatchError(
                f"column {field.name!r} cannot partition a table: values of its type, {field.type}, cannot be"
                " folder names"
            )
        if COLLATIONS_KEY in field.metadata:
            raise SchemaMismatchError(
                f"column {field.name!r} cannot partition a table: it has a collation; choose another column"
            )
        resolved.append(field.name)
    if resolved and len(resolved) == len(schema.fields):
        raise SchemaMismatchError(
            "all columns are partition columns; a table needs one that is not"
            " (Spark: ALL_PARTITION_COLUMNS_NOT_ALLOWED)"
        )
    return tuple(resolved)


def _ensure_valid_type(data_type: DataType, path: str, mapping_mode: str, *, in_collection: bool) -> None:
    if isinstance(data_type, ArrayType):
        _ensure_valid_type(data_type.element_type, f"{path}.element", mapping_mode, in_collection=True)
    elif isinstance(data_type, MapType):
        _ensure_valid_type(data_type.key_type, f"{path}.key", mapping_mode, in_collection=True)
        _ensure_valid_type(data_type.value_type, f"{path}.value", mapping_mode, in_collection=True)
    elif isinstance(data_type, StructType):
        _ensure_valid_struct(data_type, path, mapping_mode, in_collection)
    elif in_collection and data_type.type == "void":
        raise SchemaMismatchError(
            f"column {path!r} is a void inside an array or a map; give it a type, such as string"
            " (Spark: DELTA_COMPLEX_TYPE_COLUMN_CONTAINS_NULL_TYPE)"
        )


def _ensure_valid_struct(struct: StructType, path: str, mapping_mode: str, in_collection: bool) -> None:
    if path and not struct.fields:  # the first rows of a table may decide on its columns
        raise SchemaMismatchError(f"column {path!r} is a struct without fields; add a field or drop it")
    spellings: dict[str, str] = {}
    for each in struct.fields:
        inner = f"{path}.{each.name}" if path else each.name
        if not each.name or "\0" in each.name:  # Arrow's C interface ends names at NUL
            raise SchemaMismatchError(f"a column name is empty or contains a NUL: {inner!r}; rename it")
        if mapping_mode == "none" and _is_odd(each.name):
            raise SchemaMismatchError(
                f"the name of column {inner!r} contains one of the characters {_INVALID_CHARACTERS!r}, which"
                " needs column mapping; rename it, or set delta.columnMapping.mode to 'name'"
                " (Spark: DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES)"
            )
        if each.name.lower() in spellings:
            other = spellings[each.name.lower()]
            raise SchemaMismatchError(
                f"columns {inner!r} and {other!r} have the same name up to case; rename one"
                " (Spark: COLUMN_ALREADY_EXISTS)"
            )
        spellings[each.name.lower()] = each.name
        for key in _TEXTS:
            if not isinstance(each.metadata.get(key, ""), str):
                raise SchemaMismatchError(
                    f"{key} in the metadata of column {inner!r} is {each.metadata[key]!r}; give it as a text"
                )
        if in_collection and not each.nullable:
            raise SchemaMismatchError(
                f"column {inner!r} is NOT NULL inside an array or a map; make it nullable"
            )
        _ensure_valid_type(each.type, inner, mapping_mode, in_collection=in_collection)
