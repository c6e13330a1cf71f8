"""SHOW CREATE TABLE: the CREATE TABLE statement of an existing table."""

import re
from collections.abc import Mapping

from deltaarrow.features import FEATURE_PREFIX, minimal_protocol
from deltaarrow.operations import clustering_columns, like_table
from deltaarrow.schema import ArrayType, DataType, Field, MapType, StructType
from deltaarrow.schema.metadata_keys import (
    COMMENT_KEY,
    DEFAULT_KEY,
    GENERATION_KEY,
    IDENTITY_EXPLICIT_KEY,
    IDENTITY_START_KEY,
    IDENTITY_STEP_KEY,
)
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import TableName, spark_type_name
from deltaarrow.spark_sql.types.char_varchar import text_limits

__all__ = ["create_table_text", "quoted", "text_literal"]

_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def create_table_text(name: TableName, table: Snapshot, *, has_location: bool) -> str:
    """Return the statement in Spark's dialect.

    Args:
        name: the name of the table.
        table: the table.
        has_location: whether the statement says where the table is.
    """
    columns = ",\n  ".join(_column(field) for field in table.schema.fields)
    lines = [f"CREATE TABLE {name.text} (\n  {columns})", "USING delta"]
    if table.partition_columns:
        lines.append(f"PARTITIONED BY ({', '.join(map(quoted, table.partition_columns))})")
    if clustered := clustering_columns(table):
        lines.append(f"CLUSTER BY ({', '.join('.'.join(map(quoted, path)) for path in clustered)})")
    if has_location and name.parts[0].lower() != "delta":
        lines.append(f"LOCATION {text_literal(table.store.uri)}")
    if table.metadata.description:
        lines.append(f"COMMENT {text_literal(table.metadata.description)}")
    if properties := _properties(table):
        listed = ",\n  ".join(f"{text_literal(key)} = {text_literal(properties[key])}" for key in properties)
        lines.append(f"TBLPROPERTIES (\n  {listed})")
    return "\n".join(lines)


def _properties(table: Snapshot) -> dict[str, str]:
    """The properties, and the features that nothing else of the statement brings along."""
    new = like_table(table, {})
    own = {key: text for key, text in new.configuration.items() if not key.startswith(FEATURE_PREFIX)}
    defaults = {f"{FEATURE_PREFIX}allowColumnDefaults": "supported"}
    implied = minimal_protocol(new.schema, own | defaults)
    there = {*(implied.reader_features or ()), *(implied.writer_features or ())} - {"allowColumnDefaults"}
    asked = {key: text for key, text in new.configuration.items() if key.startswith(FEATURE_PREFIX)}
    further = {key: text for key, text in asked.items() if key.removeprefix(FEATURE_PREFIX) not in there}
    return dict(sorted({**own, **further}.items()))


def _column(field: Field) -> str:
    limits = {each.path: each.declared for each in text_limits(StructType([field]))}
    parts = [quoted(field.name), _type_text(field.type, (field.name,), limits)]
    if not field.nullable:
        parts.append("NOT NULL")
    if (expression := field.metadata.get(GENERATION_KEY)) is not None:
        parts.append(f"GENERATED ALWAYS AS ({expression})")
    if (start := field.metadata.get(IDENTITY_START_KEY)) is not None:
        way = "BY DEFAULT" if field.metadata.get(IDENTITY_EXPLICIT_KEY) else "ALWAYS"
        step = field.metadata.get(IDENTITY_STEP_KEY)
        parts.append(f"GENERATED {way} AS IDENTITY (START WITH {start} INCREMENT BY {step})")
    if (default := field.metadata.get(DEFAULT_KEY)) is not None:
        parts.append(f"DEFAULT {default}")
    if (comment := field.metadata.get(COMMENT_KEY)) is not None:
        parts.append(f"COMMENT {text_literal(str(comment))}")
    return " ".join(parts)


_Path = tuple[str, ...]


def _type_text(data_type: DataType, path: _Path, limits: Mapping[_Path, str]) -> str:
    """A type as a statement declares it; `limits` are the declared types of texts by their paths."""
    match data_type:
        case ArrayType():
            return f"ARRAY<{_type_text(data_type.element_type, (*path, 'element'), limits)}>"
        case MapType():
            key = _type_text(data_type.key_type, (*path, "key"), limits)
            return f"MAP<{key}, {_type_text(data_type.value_type, (*path, 'value'), limits)}>"
        case StructType():
            return f"STRUCT<{', '.join(_member(field, path, limits) for field in data_type.fields)}>"
    return limits.get(path, spark_type_name(data_type)).upper()


def _member(field: Field, path: _Path, limits: Mapping[_Path, str]) -> str:
    told = f"{quoted(field.name)}: {_type_text(field.type, (*path, field.name), limits)}"
    if not field.nullable:
        told += " NOT NULL"
    comment = field.metadata.get(COMMENT_KEY)
    return told if comment is None else f"{told} COMMENT {text_literal(str(comment))}"


def text_literal(text: str) -> str:
    r"""A text as a literal of Spark SQL.

    >>> print(text_literal("it's"))
    'it\'s'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


def quoted(name: str) -> str:
    """A name in Spark SQL, in backticks if it needs them."""
    return name if _PLAIN.fullmatch(name) else "`{}`".format(name.replace("`", "``"))
