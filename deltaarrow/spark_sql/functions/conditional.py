"""Conditional functions, and access to elements and fields. A value that is not chosen is not evaluated."""

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema import ArrayType, Field, MapType, PrimitiveType, StructType
from deltaarrow.spark_sql.functions.function import Function, as_text, same_type
from deltaarrow.spark_sql.functions.operators import compare, is_null, negate
from deltaarrow.spark_sql.tree.nodes import UNSTORED, Constant, Node, call, mismatched, refused
from deltaarrow.spark_sql.tree.row_errors import raising
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.coercion import is_implicit
from deltaarrow.spark_sql.types.nested import member, with_elements
from deltaarrow.spark_sql.types.type_rules import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGER,
    INTEGRAL,
    LONG,
    STRING,
    VARIANT,
    VOID,
    is_numeric,
    type_name,
    wider_type,
)

__all__ = ["FUNCTIONS", "array_contains", "case", "element", "field_of", "is_field", "size_of"]

_NOT_BESIDE_FLOAT = "not of other types beside `float`"
_RAISED = "USER_RAISED_EXCEPTION"


def case(conditions: tuple[Node, ...], values: tuple[Node, ...], default: Node | None) -> Node:
    """``CASE WHEN``: the value of the first condition that is TRUE."""
    conditions = tuple(cast(each, BOOLEAN) if each.type == VOID else each for each in conditions)
    for condition in conditions:
        if condition.type != BOOLEAN:
            raise mismatched("UNEXPECTED_INPUT_TYPE", f"{type_name(condition.type)} as a condition")
    results, common = same_type((*values, default or Constant(None, VOID)))
    count = len(conditions)
    branches = " ".join(f"WHEN {{{place}}} THEN {{{count + place}}}" for place in range(count))
    return call("case", (*conditions, *results), common, f"CASE {branches} ELSE {{{2 * count}}} END")


def element(container: Node, place: Node) -> Node:
    """``array[place]``, counted from 0, raises beyond the end; ``map[key]`` is NULL for a missing key.

    ``struct['field']`` is the field; see `is_field`.
    """
    if isinstance(place, Constant) and is_field(container, place):
        return field_of(container, str(place.value))
    if isinstance(container.type, StructType):
        raise SchemaMismatchError(
            "[INVALID_EXTRACT_FIELD_TYPE] the name of a struct's field is a string literal that is not NULL"
        )
    if isinstance(container.type, MapType):
        key = container.type.key_type
        if key in (FLOAT, DOUBLE) or not isinstance(key, PrimitiveType) or not is_implicit(place.type, key):
            raise refused(f"a value of {type_name(container.type)} for a key of type {type_name(place.type)}")
        operands = (container, cast(place, key))
        return call("[]", operands, container.type.value_type, "map_extract_value({0}, {1})")
    if not isinstance(container.type, ArrayType):
        raise refused(f"an element of {type_name(container.type)}")
    if place.type not in (*INTEGRAL, VOID):
        raise refused(f"an element of an array at a {type_name(place.type)}")
    missing = "{0} IS NOT NULL AND ({1} < 0 OR {1} >= len({0}))"
    beyond = raising("INVALID_ARRAY_INDEX", "an array of ' || len({0}) || ' has no element ' || {1} || '")
    sql = f"CASE WHEN {missing} THEN {beyond} ELSE {{0}}[{{1}} + 1] END"
    return call("[]", (container, cast(place, LONG)), container.type.element_type, sql, fails=True)


def is_field(container: Node, place: Node) -> bool:
    """Whether ``container[place]`` is the field of a struct, or of each struct of an array."""
    kind = container.type.element_type if isinstance(container.type, ArrayType) else container.type
    is_name = isinstance(place, Constant) and isinstance(place.value, str)
    return is_name and isinstance(kind, StructType)


def field_of(struct: Node, name: str) -> Node:
    """``struct.field``, by name in any case, ``map.key``, and the field of each struct of an array."""
    if isinstance(struct.type, MapType) and struct.type.key_type == STRING:
        return element(struct, Constant(name, STRING))
    if isinstance(struct.type, ArrayType) and isinstance(struct.type.element_type, StructType):
        found = _field(struct.type.element_type, name)
        return with_elements(struct, ArrayType(found.type), lambda part, _: member(part, found))
    if not isinstance(struct.type, StructType):
        raise SchemaMismatchError(
            f"[INVALID_EXTRACT_BASE_FIELD_TYPE] a {type_name(struct.type)} has no field {name!r}"
        )
    return member(struct, _field(struct.type, name))


def _field(struct: StructType, name: str) -> Field:
    found = struct.find(name)
    if found is None:
        known = ", ".join(f"`{each.name}`" for each in struct.fields)
        raise SchemaMismatchError(f"[FIELD_NOT_FOUND] no field `{name}` in the struct (fields: {known})")
    return found


def _coalesce(*operands: Node) -> Node:
    nodes, common = same_type(operands)
    places = ", ".join(f"{{{place}}}" for place in range(len(nodes)))
    return call("coalesce", nodes, common, f"coalesce({places})")


def _if(condition: Node, then: Node, otherwise: Node) -> Node:
    return case((condition,), (then,), otherwise)


def _if_equal(left: Node, right: Node) -> Node:
    return case((compare(left, right, "="),), (Constant(None, left.type),), left)


def _if_given(operand: Node, then: Node, otherwise: Node) -> Node:
    return case((negate(is_null(operand)),), (then,), otherwise)


def _is_given(operand: Node) -> Node:
    return negate(is_null(operand))


def _greatest(*operands: Node) -> Node:
    return _extreme(operands, "greatest")


def _least(*operands: Node) -> Node:
    return _extreme(operands, "least")


def _extreme(operands: tuple[Node, ...], name: str) -> Node:
    types = {operand.type for operand in operands} - {VOID}
    if STRING in types and len(types) > 1:
        raise refused(f"{name} of text and other values without a cast")
    nodes, common = same_type(operands)
    if common in (VOID, VARIANT) or not isinstance(common, PrimitiveType):
        raise refused(f"{name} of {type_name(common)}")
    places = ", ".join(f"{{{place}}}" for place in range(len(nodes)))
    return call(name, nodes, common, f"{name}({places})")


def size_of(array: Node) -> Node:
    """Node of the number of elements of an array or map."""
    if isinstance(array.type, MapType):
        return call("size", (array,), INTEGER, "CAST(cardinality({0}) AS INTEGER)")
    if not isinstance(array.type, ArrayType):
        raise refused(f"size of {type_name(array.type)}")
    return call("size", (array,), INTEGER, "CAST(len({0}) AS INTEGER)")


def array_contains(array: Node, value: Node) -> Node:
    """Whether an array has a value; NULL if it only has NULLs beside others."""
    if not isinstance(array.type, ArrayType) or value.type == VOID:
        raise refused(f"array_contains of {type_name(array.type)} and {type_name(value.type)}")
    item = array.type.element_type
    if item != value.type:
        if FLOAT in (item, value.type) or not (is_numeric(item) and is_numeric(value.type)):
            raise refused(f"array_contains of {type_name(item)} for {type_name(value.type)}")
        common = wider_type(item, value.type)
        array, value = cast(array, ArrayType(common)), cast(value, common)
    sql = (
        "CASE WHEN {0} IS NULL OR {1} IS NULL THEN NULL WHEN list_contains({0}, {1}) THEN TRUE"
        " WHEN list_count({0}) < len({0}) THEN NULL ELSE FALSE END"
    )
    return call("array_contains", (array, value), BOOLEAN, sql)


def _raised(message: Node) -> Node:
    """``raise_error``: no value, but an error with this message."""
    text = call("message", (as_text(message),), STRING, "coalesce({0}, 'null')")
    return call(f"{UNSTORED}raise_error", (text,), VOID, raising(_RAISED, "' || {0} || '"), fails=True)


def _asserted(condition: Node, message: Node | None = None) -> Node:
    if condition.type != BOOLEAN:
        raise refused(f"assert_true of {type_name(condition.type)}")
    error = raising(_RAISED, "' || coalesce({1}, 'null') || '")
    text = message or Constant("the condition of assert_true is not true", STRING)
    sql = f"CASE WHEN {{0}} THEN NULL ELSE {error} END"
    return call(f"{UNSTORED}assert_true", (condition, as_text(text)), VOID, sql, fails=True)


FUNCTIONS = (
    Function(("coalesce",), "value, ...", (1, None), _coalesce),
    Function(("if", "iff"), "condition, then, else", (3, 3), _if),
    Function(("nvl", "ifnull"), "value, default", (2, 2), _coalesce),
    Function(("nvl2",), "value, if_not_null, if_null", (3, 3), _if_given),
    Function(("nullif",), "value, other", (2, 2), _if_equal),
    Function(("assert_true",), "condition[, message]", (1, 2), _asserted, "not in stored expressions"),
    Function(("raise_error",), "message", (1, 1), _raised, "not in stored expressions"),
    Function(("isnull",), "value", (1, 1), is_null),
    Function(("isnotnull",), "value", (1, 1), _is_given),
    Function(("greatest",), "value, value, ...", (2, None), _greatest),
    Function(("least",), "value, value, ...", (2, None), _least),
)
"""The functions of this module."""
