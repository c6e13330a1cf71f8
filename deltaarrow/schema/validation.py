"""What a schema must be before a table is made of it: Spark's rules, so that Spark can write there too."""

from collections.abc import Sequence

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema.keys import COLLATIONS_KEY
from deltaarrow.schema.types import ArrayType, DataType, MapType, PrimitiveType, StructType

__all__ = ["ensure_valid_for_write", "resolve_partition_columns"]

_INVALID_CHARACTERS = " ,;{}()\n\t="


def ensure_valid_for_write(
    schema: StructType, partition_columns: Sequence[str] = (), mapping_mode: str = "none"
) -> None:
    """Refuse a schema that Spark would not make a table of.

    Args:
        schema: the logical schema.
        partition_columns: names of top-level columns.
        mapping_mode: the column mapping mode; without mapping, column names may not hold any of
            the characters that Parquet readers of old choke on.

    Raises:
        SchemaMismatchError: no columns, names that are empty, hold such characters or differ in case
            alone, empty structs, ``void`` or NOT NULL inside arrays and maps, or partition columns
            that `resolve_partition_columns` refuses.
    """
    if not schema.fields:
        raise SchemaMismatchError("a table needs at least one column")
    _ensure_valid_type(schema, "", mapping_mode, in_collection=False)
    resolve_partition_columns(schema, partition_columns)


def resolve_partition_columns(schema: StructType, partition_columns: Sequence[str]) -> tuple[str, ...]:
    """The partition columns as the schema spells them; names match as in Spark, whatever their case.

    Raises:
        SchemaMismatchError: a column is unknown or given twice, has a type that cannot be a folder
            name (nested, variant, void, a string with a collation), or no other columns are left.
    """
    resolved: list[str] = []
    for name in partition_columns:
        field = schema.field(name)
        if field.name in resolved:
            raise SchemaMismatchError(f"partition column {field.name!r} is given twice")
        if not isinstance(field.type, PrimitiveType) or field.type.type in ("variant", "void"):
            raise SchemaMismatchError(
                f"column {field.name!r} cannot partition a table: its type is {field.type}"
            )
        if COLLATIONS_KEY in field.metadata:
            raise SchemaMismatchError(f"column {field.name!r} cannot partition a table: it has a collation")
        resolved.append(field.name)
    if resolved and len(resolved) == len(schema.fields):
        raise SchemaMismatchError("all columns are partition columns; a table needs one that is not")
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
        raise SchemaMismatchError(f"column {path!r} is void inside an array or a map")


def _ensure_valid_struct(struct: StructType, path: str, mapping_mode: str, in_collection: bool) -> None:
    if not struct.fields:
        raise SchemaMismatchError(f"column {path!r} is a struct without fields")
    spellings: dict[str, str] = {}
    for each in struct.fields:
        inner = f"{path}.{each.name}" if path else each.name
        if not each.name or "\0" in each.name:  # the C interface of Arrow ends a name there
            raise SchemaMismatchError(f"a column name is empty or holds a NUL: {inner!r}")
        if mapping_mode == "none" and any(character in each.name for character in _INVALID_CHARACTERS):
            raise SchemaMismatchError(
                f"the name of column {inner!r} holds one of the characters {_INVALID_CHARACTERS!r}, "
                "which only tables with column mapping may have"
            )
        if each.name.lower() in spellings:
            other = spellings[each.name.lower()]
            raise SchemaMismatchError(
                f"column {inner!r} has the name of another, {other!r}, but for the case"
            )
        spellings[each.name.lower()] = each.name
        if in_collection and not each.nullable:
            raise SchemaMismatchError(
                f"column {inner!r} is NOT NULL inside an array or a map; make it nullable"
            )
        _ensure_valid_type(each.type, inner, mapping_mode, in_collection=in_collection)
