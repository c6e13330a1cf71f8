"""Implicit casts of operands to the type that a function or an operator needs.

The rules are those of Spark's ANSI mode. A text is cast to whatever is needed, anything plain to a text, a
number to any other number, and a day and the kinds of times to each other. A value that does not fit raises,
as in a cast that is written. Operands that have to be of one type get the one of `wider_type`.
"""

from deltaarrow.schema import ArrayType, DataType, MapType, PrimitiveType
from deltaarrow.spark_sql.tree.nodes import Node, mismatched, refused
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.type_rules import (
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    STRING,
    TIMESTAMPS,
    VARIANT,
    VOID,
    has_same_shape,
    is_numeric,
    type_name,
    wider_type,
)

__all__ = ["as_number", "exactly", "implicitly", "is_implicit", "tightest_type"]

_TIMES = (DATE, *TIMESTAMPS)
_RISING = (*INTEGRAL, FLOAT, DOUBLE)


def implicitly(node: Node, wanted: DataType) -> Node:
    """The operand as a value of the type that is needed.

    Raises `UnsupportedFeatureError` if Spark would want a cast to be written.
    """
    if not is_implicit(node.type, wanted):
        what = f"{type_name(node.type)} where {type_name(wanted)} is needed, without a cast,"
        raise mismatched("UNEXPECTED_INPUT_TYPE", what)
    return cast(node, wanted)


def as_number(node: Node, name: str) -> Node:
    """The operand of a function over numbers of any type; a text and a NULL become doubles."""
    if node.type in (STRING, VOID):
        return cast(node, DOUBLE)
    if not is_numeric(node.type):
        is_nested = not isinstance(node.type, PrimitiveType)
        kind = "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE" if is_nested else None
        raise refused(f"{name} of {type_name(node.type)}", error_class=kind)
    return node


def exactly(node: Node, wanted: DataType) -> Node:
    """The operand of a function that takes values of one type alone, or NULL.

    Raises `UnsupportedFeatureError` for any other type, from which Spark does not cast either.
    """
    if node.type not in (wanted, VOID):
        is_nested = not isinstance(node.type, PrimitiveType)
        kind = "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE" if is_nested else None
        raise refused(f"{type_name(node.type)} where only {type_name(wanted)} may stand", error_class=kind)
    return cast(node, wanted)


def tightest_type(one: DataType, other: DataType, kind: str = "ARRAY_FUNCTION_DIFF_TYPES") -> DataType | None:
    """The type of both operands that loses nothing but digits of a float; None if there is none.

    Functions that put a value into an array, or look for one, take it. Types that have nothing in common
    raise an error of this kind; see `wider_type`.
    """
    if VOID in (one, other):
        return other if one == VOID else one
    if one in _RISING and other in _RISING:
        return max(one, other, key=_RISING.index)
    if STRING in (one, other) and one != other:
        return None
    if is_numeric(one) and is_numeric(other) and one != other:
        found = wider_type(one, other, kind)
        return found if found in (one, other) else None
    return wider_type(one, other, kind)


def is_implicit(given: DataType, wanted: DataType) -> bool:
    """Whether Spark casts one type to the other without being told to."""
    if given == VOID or has_same_shape(given, wanted):
        return True
    if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        return is_implicit(given.element_type, wanted.element_type)
    if isinstance(given, MapType) and isinstance(wanted, MapType):
        keys = is_implicit(given.key_type, wanted.key_type)
        return keys and is_implicit(given.value_type, wanted.value_type)
    if not isinstance(given, PrimitiveType) or not isinstance(wanted, PrimitiveType):
        return False
    if VARIANT in (given, wanted):
        return False
    if STRING in (given, wanted):
        return True
    both_numbers = is_numeric(given) and is_numeric(wanted)
    return both_numbers or (given in _TIMES and wanted in _TIMES)
