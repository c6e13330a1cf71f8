"""Functions with a new value for each row, only for queries: random values and row numbers.

Their calls are volatile: nothing computes one twice, or in another place than where it stands.
"""

import itertools
from collections.abc import Callable

from deltaarrow.schema import ArrayType, DataType
from deltaarrow.spark_sql.function import Function
from deltaarrow.spark_sql.nodes import VOLATILE, Constant, Node, call, refused
from deltaarrow.spark_sql.rows import Rows, RowsCall, Window
from deltaarrow.spark_sql.types import DOUBLE, LONG, STRING, type_name

__all__ = ["VOLATILE_FUNCTIONS", "find_volatile"]

_NUMBERS = itertools.count()


def _at_random(name: str, data_type: DataType, sql: str, *operands: Node) -> Node:
    """A call that no other call equals, neither as a node nor as SQL."""
    number = Constant(next(_NUMBERS), LONG)
    place = len(operands)
    distinct = f"CASE WHEN {{{place}}} >= 0 THEN {sql} END"
    return call(VOLATILE + name, (*operands, number), data_type, distinct, fails=True)


def _plain(name: str, data_type: DataType, sql: str) -> Callable[..., Node]:
    def bind(seed: Node | None = None) -> Node:
        _ensure_no_seed(name, seed)
        return _at_random(name, data_type, sql)

    return bind


def _shuffled(operand: Node, seed: Node | None = None) -> Node:
    _ensure_no_seed("shuffle", seed)
    if not isinstance(operand.type, ArrayType):
        raise refused(f"shuffle of {type_name(operand.type)}")
    keyed = "list_transform({0}, lambda x: struct_pack(k := random(), v := x))"
    return _at_random("shuffle", operand.type, f"list_transform(list_sort({keyed}), lambda y: y.v)", operand)


def _ensure_no_seed(name: str, seed: Node | None) -> None:
    if seed is not None:
        raise refused(f"{name} with a seed, whose values depend on how Spark parts the rows,")


def _row_number() -> Node:
    made = RowsCall(Rows(window=Window()), ())
    return made.node("monotonically_increasing_id", LONG, f"{made.sql('row_number', '')} - 1")


_NORMAL = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
_NOTE = "without a seed"
VOLATILE_FUNCTIONS = (
    Function(("rand", "random"), "", (0, 1), _plain("rand", DOUBLE, "random()"), _NOTE),
    Function(("randn",), "", (0, 1), _plain("randn", DOUBLE, _NORMAL), _NOTE),
    Function(("uuid",), "", (0, 1), _plain("uuid", STRING, "CAST(uuid() AS VARCHAR)"), _NOTE),
    Function(("shuffle",), "array", (1, 2), _shuffled, _NOTE),
    Function(("monotonically_increasing_id",), "", (0, 0), _row_number, "in the select list"),
)
"""All functions of this kind."""

_BY_NAME = {name: each for each in VOLATILE_FUNCTIONS for name in each.names}


def find_volatile(name: str) -> Function | None:
    """The function of that name, in any case; None if there is none."""
    return _BY_NAME.get(name.lower())
