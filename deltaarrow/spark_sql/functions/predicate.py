"""Functions that test or replace values: types, zeros, positions in bitmaps."""

from deltaarrow.spark_sql.functions.function import Function, as_long, same_type
from deltaarrow.spark_sql.tree.forms import given
from deltaarrow.spark_sql.tree.nodes import Constant, Node, call, refused
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.type_rules import (
    DOUBLE,
    FLOAT,
    INTEGER,
    INTEGRAL,
    LONG,
    STRING,
    VOID,
    decimal_of,
    is_numeric,
    simple_string,
    sql_type,
    type_name,
)

__all__ = ["FUNCTIONS"]


def _type_of(operand: Node) -> Node:
    return Constant(simple_string(operand.type), STRING)


def _null_if_zero(operand: Node) -> Node:
    if not is_numeric(operand.type):
        raise refused(f"nullifzero of {type_name(operand.type)}")
    return call("nullifzero", (operand,), operand.type, "CASE WHEN {0} = 0 THEN NULL ELSE {0} END")


def _zero_if_null(operand: Node) -> Node:
    if operand.type == VOID:
        return Constant(0, INTEGER)
    if decimal_of(operand.type) is not None:
        nodes, common = same_type((operand, Constant(0, INTEGER)))
        return call("zeroifnull", nodes, common, "coalesce({0}, {1})")
    if operand.type not in (*INTEGRAL, FLOAT, DOUBLE):
        raise refused(f"zeroifnull of {type_name(operand.type)}")
    wider = operand if operand.type not in INTEGRAL[:2] and operand.type != FLOAT else cast(operand, INTEGER)
    if operand.type == FLOAT:
        wider = cast(operand, DOUBLE)
    return call("zeroifnull", (wider,), wider.type, f"coalesce({{0}}, CAST(0 AS {sql_type(wider.type)}))")


def _bucket(number: Node) -> Node:
    sql = "CASE WHEN {0} > 0 THEN 1 + ({0} - 1) // 32768 ELSE {0} // 32768 END"
    return call("bitmap_bucket_number", (as_long(number),), LONG, given(sql))


def _place(number: Node) -> Node:
    sql = "CASE WHEN {0} > 0 THEN ({0} - 1) % 32768 ELSE (-{0}) % 32768 END"
    return call("bitmap_bit_position", (as_long(number),), LONG, given(sql), fails=True)


FUNCTIONS = (
    Function(("typeof",), "value", (1, 1), _type_of),
    Function(("nullifzero",), "number", (1, 1), _null_if_zero),
    Function(("zeroifnull",), "number", (1, 1), _zero_if_null),
    Function(("bitmap_bucket_number",), "integer", (1, 1), _bucket),
    Function(("bitmap_bit_position",), "integer", (1, 1), _place),
)
"""The functions of this module."""
