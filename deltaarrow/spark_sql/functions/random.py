"""Random functions and row numbers; only in queries.

Their calls are volatile: nothing computes one twice, or in another place than where it stands. Numbers of a
seed are functions of the row number instead.
"""

import itertools
from collections.abc import Callable, Iterable

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema import ArrayType, DataType
from deltaarrow.spark_sql.functions.function import Function
from deltaarrow.spark_sql.rendering.rows import Rows, RowsCall, Window, is_window
from deltaarrow.spark_sql.tree.kernel_calls import RANDOM
from deltaarrow.spark_sql.tree.nodes import (
    VOLATILE,
    Call,
    ColumnRef,
    Constant,
    Node,
    call,
    mismatched,
    refused,
    walk,
)
from deltaarrow.spark_sql.types.type_rules import DOUBLE, INTEGER, LONG, STRING, VOID, type_name

__all__ = ["VOLATILE_FUNCTIONS", "ensure_one_row_order", "find_volatile"]

_NUMBERS = itertools.count()
_SEEDED = "seeded "


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


def _number(name: str, sql: str) -> Callable[..., Node]:
    def bind(seed: Node | None = None) -> Node:
        return _at_random(name, DOUBLE, sql) if seed is None else _seeded(name, seed)

    return bind


def _seeded(name: str, seed: Node) -> Node:
    """The number that Spark gives the row in a table of one partition."""
    if any(isinstance(each, ColumnRef) for each in walk(seed)):
        raise SchemaMismatchError(f"[SEED_EXPRESSION_IS_UNFOLDABLE] the seed of {name} is no constant")
    if seed.type not in (INTEGER, LONG, VOID):
        raise mismatched("UNEXPECTED_INPUT_TYPE", f"{name} with a seed of type {type_name(seed.type)}")
    if not isinstance(seed, Constant):
        raise refused(f"{name} with a seed that is not a literal")
    operands = _row_number(), Constant(seed.value or 0, LONG)
    return call(f"{_SEEDED}{name}", operands, DOUBLE, f"{RANDOM}{name}({{0}}, {{1}})")


def ensure_one_row_order(nodes: Iterable[Node], disorder: str | None) -> None:
    """Refuse numbers of a seed that Spark would not draw once for each row, in the order of the rows.

    Args:
        nodes: the columns of a select list.
        disorder: what its rows have no order for, as a join; None if they have one.
    """
    listed = tuple(nodes)
    for each in listed:
        for found in filter(_is_seeded, walk(each)):
            assert isinstance(found, Call)
            name = found.name.removeprefix(_SEEDED)
            if disorder is None and any(_has_other_window(other) for other in listed):
                disorder = "a function over a window"
            if disorder is not None:
                raise refused(f"{name} with a seed beside {disorder}, whose rows have no order,")
            if not _is_drawn(each, found):
                raise refused(
                    f"{name} with a seed behind an operand, so that Spark draws no number for some rows,"
                )


def _is_seeded(node: Node) -> bool:
    return isinstance(node, Call) and node.name.startswith(_SEEDED)


def _has_other_window(node: Node) -> bool:
    if _is_seeded(node) or node == _row_number():
        return False
    return is_window(node) or (isinstance(node, Call) and any(map(_has_other_window, node.operands)))


def _is_drawn(node: Node, found: Node) -> bool:
    """Whether a node computes a call below it for each row: only constants come before it."""
    if node == found:
        return True
    if not isinstance(node, Call):
        return True
    for place, each in enumerate(node.operands):
        if found in walk(each):
            before = node.operands[:place]
            if not all(isinstance(other, Constant) for other in before) or not _is_drawn(each, found):
                return False
    return True


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
_NOTE = "a seed is not accepted"
_SEED = "in a select list without joins and grouping, a literal seed is accepted"
VOLATILE_FUNCTIONS = (
    Function(("rand", "random"), "", (0, 1), _number("rand", "random()"), _SEED),
    Function(("randn",), "", (0, 1), _number("randn", _NORMAL), _SEED),
    Function(("uuid",), "", (0, 1), _plain("uuid", STRING, "CAST(uuid() AS VARCHAR)"), _NOTE),
    Function(("shuffle",), "array", (1, 2), _shuffled, _NOTE),
    Function(("monotonically_increasing_id",), "", (0, 0), _row_number, "only in the select list"),
)
"""All functions of this kind."""

_BY_NAME = {name: each for each in VOLATILE_FUNCTIONS for name in each.names}


def find_volatile(name: str) -> Function | None:
    """The function of that name, in any case; None if there is none."""
    return _BY_NAME.get(name.lower())
