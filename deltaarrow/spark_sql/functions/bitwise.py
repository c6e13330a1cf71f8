"""Bitwise operators and functions on integers."""

from collections.abc import Callable

from deltaarrow.schema import DataType
from deltaarrow.spark_sql.functions.function import Function, as_integer, as_long, same_type
from deltaarrow.spark_sql.functions.operators import wrong_operands
from deltaarrow.spark_sql.tree.forms import given, let
from deltaarrow.spark_sql.tree.nodes import Constant, Node, call, refused
from deltaarrow.spark_sql.tree.row_errors import raising
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.type_rules import (
    BOOLEAN,
    BYTE,
    INTEGER,
    INTEGRAL,
    LONG,
    STRING,
    VOID,
    sql_type,
    type_name,
)

__all__ = ["FUNCTIONS", "SHIFTS", "bitwise", "complement"]


def bitwise(left: Node, right: Node, sign: str) -> Node:
    """``&``, ``|`` and ``^`` of two integral numbers."""
    if left.type == VOID and right.type == VOID:
        left = right = Constant(None, INTEGER)
    for each in (left, right):
        if each.type not in (*INTEGRAL, STRING, VOID):
            raise wrong_operands(left.type, right.type, f"{sign} of {type_name(each.type)}")
    nodes, common = same_type((left, right))
    sql = "xor({0}, {1})" if sign == "^" else f"{{0}} {sign} {{1}}"
    return call(sign, nodes, common, f"CAST({sql} AS {sql_type(common)})")


def complement(operand: Node) -> Node:
    """``~``."""
    operand = _integral(operand, "~")
    return call("bitwise not", (operand,), operand.type, f"CAST(-1 - {{0}} AS {sql_type(operand.type)})")


def _shifted(name: str, sql: str) -> Callable[[Node, Node], Node]:
    """A shift: Java takes the distance modulo the size of the number, and drops the bits beyond it."""

    def bind(operand: Node, distance: Node) -> Node:
        number = operand if operand.type == LONG else as_integer(operand)
        size = 64 if number.type == LONG else 32
        unit = f"CAST(1 AS HUGEINT) << CAST({{1}} & {size - 1} AS INTEGER)"
        moved = let(sql.replace("size", str(1 << size)), n="CAST({0} AS HUGEINT)", q=unit)
        nodes = (number, as_integer(distance))
        return call(name, nodes, number.type, given(_wrapped(moved, number.type), 2))

    return bind


def _wrapped(sql: str, data_type: DataType) -> str:
    """A HUGEINT as the number whose bits are its lowest ones."""
    size = 1 << (64 if data_type == LONG else 32)
    low = f"((v % {_huge(size)}) + {_huge(size)}) % {_huge(size)}"
    signed = let(f"CASE WHEN u >= {_huge(size // 2)} THEN u - {_huge(size)} ELSE u END", u=low)
    return f"CAST({let(signed, v=sql)} AS {sql_type(data_type)})"


def _huge(number: int) -> str:
    return f"CAST('{number}' AS HUGEINT)"


_LEFT = "(n % CAST('size' AS HUGEINT)) * q"
_RIGHT = "(n - ((n % q) + q) % q) // q"
_UNSIGNED = "(CASE WHEN n < 0 THEN n + CAST('size' AS HUGEINT) ELSE n END) // q"
SHIFTS = {
    "<<": _shifted("shiftleft", _LEFT),
    ">>": _shifted("shiftright", _RIGHT),
    ">>>": _shifted("shiftrightunsigned", _UNSIGNED),
}
"""The shifts by operator."""


def _count(operand: Node) -> Node:
    if operand.type == BOOLEAN:
        operand = cast(operand, INTEGER)
    # Java widens the number to a long first.
    return call(
        "bit_count",
        (cast(_integral(operand, "bit_count"), LONG),),
        INTEGER,
        "CAST(bit_count({0}) AS INTEGER)",
    )


def _bit(operand: Node, place: Node) -> Node:
    operand = _integral(operand, "getbit")
    size = 8 << INTEGRAL.index(operand.type)
    beyond = raising(
        "INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE", f"there is no such bit in a number of {size} bits"
    )
    bit = "CAST(((CAST({0} AS BIGINT) >> {1}) & 1) AS TINYINT)"
    sql = f"CASE WHEN {{1}} < 0 OR {{1}} >= {size} THEN {beyond} ELSE {bit} END"
    return call("getbit", (operand, as_integer(place)), BYTE, given(sql, 2), fails=True)


def _binary(operand: Node) -> Node:
    return call("bin", (as_long(operand),), STRING, "bin({0})")


def _integral(operand: Node, name: str) -> Node:
    if operand.type not in (*INTEGRAL, VOID):
        raise refused(f"{name} of {type_name(operand.type)}")
    return cast(operand, INTEGER) if operand.type == VOID else operand


FUNCTIONS = (
    Function(("shiftleft",), "integer, bits", (2, 2), SHIFTS["<<"]),
    Function(("shiftright",), "integer, bits", (2, 2), SHIFTS[">>"]),
    Function(("shiftrightunsigned",), "integer, bits", (2, 2), SHIFTS[">>>"]),
    Function(("bit_count",), "integer", (1, 1), _count),
    Function(("getbit", "bit_get"), "integer, position", (2, 2), _bit),
    Function(("bin",), "integer", (1, 1), _binary),
)
"""The functions of this module."""
