"""Defaults of arrays, maps and structs: values that are put together of others, which are expressions.

``array(1, 2)``, ``map('a', 1)``, ``struct(1, 'x')`` and ``named_struct('a', 1)`` are understood, one inside
the other. As in Spark the values of an array are made to be of one type, the least that takes all of them,
and so are the keys and the values of a map. No value is narrowed to the type of the column, and the members
of a struct go by their places, whatever their names.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from deltaarrow.errors import ConstraintViolationError
from deltaarrow.schema import ArrayType, DataType, Field, MapType, PrimitiveType, StructType
from deltaarrow.stored_expressions.casts import cast
from deltaarrow.stored_expressions.function import literal_text
from deltaarrow.stored_expressions.nodes import Constant, Node, refused
from deltaarrow.stored_expressions.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    STRING,
    TIMESTAMPS,
    VOID,
    as_decimal,
    decimal_of,
    type_name,
    wider_type,
)

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["Constructed", "Value", "assembled", "bind_value", "fitted", "is_assignable", "leaves"]

_PRECEDENCE = (*INTEGRAL, FLOAT, DOUBLE)
_TIMES = (DATE, *TIMESTAMPS)


@dataclass(frozen=True, slots=True)
class Constructed:
    """An array of these parts, a map of keys and values in turn, or a struct of its members."""

    type: ArrayType | MapType | StructType
    parts: tuple["Value", ...]


Value: TypeAlias = Node | Constructed


def bind_value(tree: "exp.Expr", bind: Callable[["exp.Expr"], Node]) -> Value:
    """The value that a tree stands for; `bind` knows what is no constructor."""
    name = tree.this.lower() if tree.key == "anonymous" and isinstance(tree.this, str) else ""
    if any(tree.args.get(part) for part in tree.arg_types.keys() - {"this", "expressions"}):
        return bind(tree)
    if name == "struct":
        names = [each.alias or f"col{place}" for place, each in enumerate(tree.expressions, 1)]
        parts = [each.this if each.key == "alias" else each for each in tree.expressions]
        return _struct(names, [bind_value(each, bind) for each in parts])
    construct = _CONSTRUCTORS.get(name)
    return construct([bind_value(each, bind) for each in tree.expressions]) if construct else bind(tree)


def is_assignable(given: DataType, wanted: DataType) -> bool:
    """Whether Spark casts one type to the other by itself, since no value can be lost: its ``canUpCast``.

    >>> is_assignable(ArrayType("integer"), ArrayType("long")), is_assignable(INTEGRAL[3], INTEGRAL[0])
    (True, False)
    """
    if given in (wanted, VOID):
        return True
    if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        return is_assignable(given.element_type, wanted.element_type)
    if isinstance(given, MapType) and isinstance(wanted, MapType):
        keys = is_assignable(given.key_type, wanted.key_type)
        return keys and is_assignable(given.value_type, wanted.value_type)
    if isinstance(given, StructType) and isinstance(wanted, StructType):
        pairs = zip(given.fields, wanted.fields, strict=False)
        return len(given.fields) == len(wanted.fields) and all(
            is_assignable(one.type, two.type) for one, two in pairs
        )
    if not isinstance(given, PrimitiveType) or not isinstance(wanted, PrimitiveType):
        return False
    if given in _PRECEDENCE and wanted in _PRECEDENCE:
        return _PRECEDENCE.index(given) < _PRECEDENCE.index(wanted)
    digits, room = as_decimal(given), as_decimal(wanted)
    if digits is not None and room is not None and decimal_of(wanted) is not None:
        return room[1] >= digits[1] and room[0] - room[1] >= digits[0] - digits[1]
    return (wanted == STRING and given.type != "variant") or (given in _TIMES and wanted in TIMESTAMPS)


def fitted(value: Value, target: DataType) -> Value:
    """The value as one of another type, each part of it cast; refused where there is no such cast."""
    if value.type == target:
        return value
    if not isinstance(value, Constructed):
        if isinstance(target, PrimitiveType) and target.type != "variant":
            return cast(value, target)
        if _is_null(value):
            return Constant(None, target)
    elif isinstance(target, ArrayType):
        return Constructed(target, tuple(fitted(each, target.element_type) for each in value.parts))
    elif isinstance(target, MapType):
        return _entries(target, value.parts)
    elif isinstance(target, StructType):
        types = [each.type for each in target.fields]
        return Constructed(target, tuple(map(fitted, value.parts, types)))
    raise refused(f"a value of type {type_name(value.type)} as {type_name(target)}")


def leaves(value: Value) -> Iterator[Node]:
    """The expressions in a value that are to be computed, from left to right."""
    if isinstance(value, Constructed):
        for part in value.parts:
            yield from leaves(part)
    elif not _is_null(value):
        yield value


def assembled(value: Value, computed: Iterator[Any]) -> Any:
    """The value as Python objects, given what its `leaves` are, in their order.

    Raises `ConstraintViolationError` where a key of a map is NULL, or two of them are the same.
    """
    if not isinstance(value, Constructed):
        return None if _is_null(value) else next(computed)
    parts = [assembled(each, computed) for each in value.parts]
    if isinstance(value.type, StructType):
        return dict(zip(value.type.names, parts, strict=True))
    if isinstance(value.type, ArrayType):
        return parts
    keys = parts[::2]
    if None in keys:
        raise ConstraintViolationError("a key of a map is NULL")
    if any(key in keys[:place] for place, key in enumerate(keys)):
        raise ConstraintViolationError("two keys of a map are the same")
    return list(zip(keys, parts[1::2], strict=True))


def _is_null(value: Value) -> bool:
    return isinstance(value, Constant) and value.value is None


def _array(parts: Sequence[Value]) -> Constructed:
    element = _common_type(parts)
    return Constructed(ArrayType(element), tuple(fitted(each, element) for each in parts))


def _map(parts: Sequence[Value]) -> Constructed:
    if len(parts) % 2:
        raise refused("a map with a key that has no value")
    key = _common_type(parts[::2])
    if key in (FLOAT, DOUBLE) or isinstance(key, MapType):
        raise refused(f"a key of type {type_name(key)}")
    return _entries(MapType(key, _common_type(parts[1::2])), parts)


def _entries(target: MapType, parts: Sequence[Value]) -> Constructed:
    types = itertools.cycle((target.key_type, target.value_type))
    return Constructed(target, tuple(fitted(part, each) for part, each in zip(parts, types, strict=False)))


def _named_struct(parts: Sequence[Value]) -> Constructed:
    if len(parts) % 2:
        raise refused("a struct with a name that has no value")
    return _struct([_name(each) for each in parts[::2]], parts[1::2])


def _struct(names: Sequence[str], parts: Sequence[Value]) -> Constructed:
    fields = [Field(name, each.type) for name, each in zip(names, parts, strict=True)]
    return Constructed(StructType(fields), tuple(parts))


def _name(value: Value) -> str:
    if isinstance(value, Constructed):
        raise refused("the name of a member that is not a text literal")
    return literal_text(value, "the name of a member")


_CONSTRUCTORS: dict[str, Callable[[Sequence[Value]], Constructed]] = {
    "array": _array,
    "map": _map,
    "named_struct": _named_struct,
}


def _common_type(values: Sequence[Value]) -> DataType:
    common: DataType = VOID
    for each in values:
        common = _wider(common, each.type)
    return common


def _wider(left: DataType, right: DataType) -> DataType:
    if right in (left, VOID):
        return left
    if isinstance(left, ArrayType) and isinstance(right, ArrayType):
        return ArrayType(_wider(left.element_type, right.element_type))
    if isinstance(left, MapType) and isinstance(right, MapType):
        return MapType(_wider(left.key_type, right.key_type), _wider(left.value_type, right.value_type))
    if isinstance(left, StructType) and isinstance(right, StructType) and left.names == right.names:
        pairs = zip(left.fields, right.fields, strict=True)
        return StructType([Field(one.name, _wider(one.type, two.type)) for one, two in pairs])
    return wider_type(left, right)
