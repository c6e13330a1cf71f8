"""Declaration of a function: names, arguments, and binding of a call to a typed node."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from deltaarrow.schema import DataType
from deltaarrow.spark_sql.functions.argument_counts import Arity, ensure_count
from deltaarrow.spark_sql.tree.nodes import Call, Constant, Node, refused
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.coercion import implicitly
from deltaarrow.spark_sql.types.time_zones import session_time_zone
from deltaarrow.spark_sql.types.type_rules import (
    DATE,
    DOUBLE,
    INTEGER,
    INTEGRAL,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    wider_type,
)

__all__ = [
    "Function",
    "as_date",
    "as_double",
    "as_integer",
    "as_local_time",
    "as_long",
    "as_text",
    "as_timestamp",
    "literal_integer",
    "literal_text",
    "same_type",
    "timestamp_at",
]


@dataclass(frozen=True, slots=True)
class Function:
    """A function that SQL expressions may call.

    Args:
        names: in lower case; the first is the usual one.
        arguments: as documentation writes them.
        arity: least and greatest number of arguments; None for no limit.
        bind: returns the node of a call with these operands; refuses types that are not on the list.
        note: restrictions compared to Spark, if any.
        takes_more: whether arguments may be functions or intervals.
    """

    names: tuple[str, ...]
    arguments: str
    arity: Arity
    bind: Callable[..., Node]
    note: str = ""
    takes_more: bool = False

    def __call__(self, name: str, operands: tuple[Any, ...]) -> Node:
        """Return the node of a call by that name."""
        ensure_count(name, len(operands), self.arity)
        unusual = [each for each in operands if not isinstance(each, Node)]
        if unusual and not self.takes_more:
            raise refused(f"a function or an INTERVAL as an argument of {name}")
        return self.bind(*operands)


def as_text(node: Node) -> Node:
    """The operand of a function over text."""
    return implicitly(node, STRING)


def as_date(node: Node) -> Node:
    """The operand of a function over dates: timestamps lose their time, text is cast."""
    return implicitly(node, DATE)


def as_timestamp(node: Node) -> Node:
    """The operand of a function over timestamps; a date means midnight."""
    return node if node.type == TIMESTAMP_NTZ else implicitly(node, TIMESTAMP)


def as_local_time(node: Node) -> Node:
    """The operand of a function over the parts of times: the local time in the session time zone."""
    time = as_timestamp(node)
    return time if session_time_zone().is_utc else cast(time, TIMESTAMP_NTZ)


def timestamp_at(local: Call) -> Node:
    """The timestamp of a local time in the session time zone."""
    return replace(local, type=TIMESTAMP) if session_time_zone().is_utc else cast(local, TIMESTAMP)


def as_integer(node: Node) -> Node:
    """The operand of a function over counts and positions."""
    return implicitly(node, INTEGER)


def as_long(node: Node) -> Node:
    """The operand of a function over whole numbers of any size."""
    return implicitly(node, LONG)


def as_double(node: Node) -> Node:
    """The operand of a function over floating numbers."""
    return implicitly(node, DOUBLE)


def literal_text(node: Node, what: str) -> str:
    """The text of an argument that must be a literal."""
    if not isinstance(node, Constant) or not isinstance(node.value, str):
        raise refused(f"{what} that is not a text literal")
    return node.value


def literal_integer(node: Node, what: str) -> int:
    """The number of an argument that must be a literal."""
    if not isinstance(node, Constant) or node.type not in INTEGRAL or not isinstance(node.value, int):
        raise refused(f"{what} that is not an integer literal")
    return node.value


def same_type(nodes: tuple[Node, ...], kind: str = "DATA_DIFF_TYPES") -> tuple[tuple[Node, ...], DataType]:
    """The nodes cast to their least common type; see `wider_type` for the error if there is none."""
    common: DataType = VOID
    last: DataType | None = None
    for node in nodes:
        if node.type is not last:  # Most of the values in a long list have one type.
            common = wider_type(common, node.type, kind)
        last = node.type
    return tuple(cast(node, common) for node in nodes), common
