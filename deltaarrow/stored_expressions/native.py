"""Expressions in a query over data files: on columns of DuckDB's own types, and with values of these.

Inside expressions timestamps are without a zone, in UTC, and times are of the years 1 to 9999; what a query
reads and what it gives back is not.
"""

from collections.abc import Mapping

from deltaarrow.compute import quote_identifier, quote_literal
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema import ArrayType, DataType, MapType, PrimitiveType, StructType
from deltaarrow.stored_expressions.casts import cast
from deltaarrow.stored_expressions.nodes import ColumnRef, Expression, Path, refused, walk
from deltaarrow.stored_expressions.rendering import to_sql
from deltaarrow.stored_expressions.types import DATE, TIMESTAMP, TIMESTAMP_NTZ, type_name

__all__ = ["converted_sql", "to_native_sql"]

_BEYOND = "error('unsupported: a time outside the years 1 to 9999')"


def to_native_sql(expression: Expression, columns: Mapping[Path, str], *, now_ms: int) -> str:
    """DuckDB SQL that computes the expression.

    Args:
        expression: what `parse_expression` has understood.
        columns: the SQL of each column that it reads, in the type that DuckDB's reader shows it in.
        now_ms: what ``current_timestamp()`` is, in milliseconds since 1970.

    Raises `UnsupportedFeatureError` for an expression that is too long once spelled out.
    """
    references = {node.path: node for node in walk(expression.root) if isinstance(node, ColumnRef)}
    given = {path: _given(columns[path], node.type) for path, node in references.items()}
    sql = to_sql(expression, given, now_ms=now_ms)
    return f"make_timestamptz(epoch_us({sql}))" if expression.type == TIMESTAMP else sql


def _given(sql: str, data_type: DataType) -> str:
    """A column as expressions have it."""
    if data_type == DATE:
        return f"CASE WHEN year({sql}) NOT BETWEEN 1 AND 9999 THEN {_BEYOND}::DATE ELSE {sql} END"
    if data_type in (TIMESTAMP, TIMESTAMP_NTZ):
        naive = f"make_timestamp(epoch_us({sql}))" if data_type == TIMESTAMP else sql
        return f"CASE WHEN year({naive}) NOT BETWEEN 1 AND 9999 THEN {_BEYOND}::TIMESTAMP ELSE {naive} END"
    if isinstance(data_type, StructType | MapType) or data_type == PrimitiveType("variant"):
        # Of these it is only asked whether they are NULL.
        return f"CASE WHEN {sql} IS NULL THEN NULL ELSE TRUE END"
    return sql


def converted_sql(sql: str, source: DataType, target: DataType) -> str:
    """DuckDB SQL of a value of one type as a value of another, both native; members go by their names.

    Numbers, texts and times are cast as Spark does in ANSI mode. A member that the source does not have is
    NULL.

    Raises:
        SchemaMismatchError: a member that the target does not have, or a type of another kind.
        UnsupportedFeatureError: a cast that is not supported.

    >>> converted_sql("x", PrimitiveType("long"), PrimitiveType("long"))
    'x'
    """
    return _converted(sql, source, target, 0)


def _converted(sql: str, source: DataType, target: DataType, depth: int) -> str:
    if _has_same_shape(source, target):
        return sql
    if isinstance(source, StructType) and isinstance(target, StructType):
        extra = [each.name for each in source.fields if target.find(each.name) is None]
        if extra:
            raise SchemaMismatchError(f"the table has no member {extra[0]!r} for what is assigned")
        members = []
        for field in target.fields:
            given = source.find(field.name)
            value = "NULL"
            if given is not None:
                member = f"struct_extract({sql}, {quote_literal(given.name)})"
                value = _converted(member, given.type, field.type, depth)
            members.append(f"{quote_identifier(field.name)} := {value}")
        return f"CASE WHEN {sql} IS NULL THEN NULL ELSE struct_pack({', '.join(members)}) END"
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        element = f"e{depth}"
        inside = _converted(element, source.element_type, target.element_type, depth + 1)
        return f"list_transform({sql}, lambda {element}: {inside})"
    if isinstance(source, PrimitiveType) and isinstance(target, PrimitiveType):
        node = cast(ColumnRef(("value",), source), target)
        return to_native_sql(Expression("value", node), {("value",): sql}, now_ms=0)
    if isinstance(source, MapType) and isinstance(target, MapType):
        raise refused(f"a map of type {type_name(source)} for one of type {type_name(target)}")
    raise SchemaMismatchError(f"{type_name(source)} cannot be assigned to {type_name(target)}")


def _has_same_shape(one: DataType, other: DataType) -> bool:
    """Whether types are the same but for what may be NULL and what is noted of members."""
    if isinstance(one, StructType) and isinstance(other, StructType):
        return [each.name for each in one.fields] == [each.name for each in other.fields] and all(
            _has_same_shape(a.type, b.type) for a, b in zip(one.fields, other.fields, strict=True)
        )
    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return _has_same_shape(one.element_type, other.element_type)
    if isinstance(one, MapType) and isinstance(other, MapType):
        return _has_same_shape(one.key_type, other.key_type) and _has_same_shape(
            one.value_type, other.value_type
        )
    return one == other
