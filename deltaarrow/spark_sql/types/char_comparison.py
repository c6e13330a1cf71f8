"""Comparisons of CHAR(n) columns, for which Spark pads the shorter side with spaces.

==============================  ====================================================================
beside the column               padded
==============================  ====================================================================
a constant                      the shorter one: ``c = 'z'`` compares ``'z   '``
another CHAR(n) column          the column with the smaller n
any other value                 nothing: ``c = s`` compares the strings as they are
==============================  ====================================================================

So it is for comparisons, ``CASE c WHEN``, ``decode`` and ``equal_null``, and for ``IN`` if its list has only
string literals or only CHAR columns. ``BETWEEN``, ``PIVOT``, ``nullif``, functions of the column and struct
fields compare without padding.
"""

from deltaarrow.spark_sql.tree.nodes import ColumnRef, Constant, Node, call, walk
from deltaarrow.spark_sql.types.type_rules import STRING

__all__ = ["PLAIN", "padded_list", "padded_pair"]

PLAIN = "plain"
"""The key, among the metadata of a comparison's node, that says that nothing is padded."""


def padded_pair(left: Node, right: Node) -> tuple[Node, Node]:
    """The sides of a comparison as Spark compares them."""
    length = max(_characters(left), _characters(right))
    if not length:
        return left, right
    if _is_constant(right):
        return _beside_constant(left, right)
    if _is_constant(left):
        right, left = _beside_constant(right, left)
        return left, right
    return (_padded(left, length), _padded(right, length)) if _are_char((left, right)) else (left, right)


def padded_list(operand: Node, values: tuple[Node, ...]) -> tuple[Node, tuple[Node, ...]]:
    """The operand and the list of an IN as Spark compares them."""
    if not _characters(operand):
        return operand, values
    if _are_char(values):
        length = max(_characters(operand), *map(_characters, values))
    elif all(isinstance(each, Constant) and isinstance(each.value, str) for each in values):
        length = max(
            _characters(operand), *(len(str(each.value)) for each in values if isinstance(each, Constant))
        )
    else:
        return operand, values
    return _padded(operand, length), tuple(_padded(each, length) for each in values)


def _characters(node: Node) -> int:
    """The n of a CHAR(n) column, 0 for every other node."""
    return node.characters if isinstance(node, ColumnRef) else 0


def _are_char(nodes: tuple[Node, ...]) -> bool:
    return bool(nodes) and all(map(_characters, nodes))


def _is_constant(node: Node) -> bool:
    """Whether Spark computes a string before it reads a row: a literal, or a function of literals."""
    leaves = [each for each in walk(node) if not getattr(each, "operands", ())]
    return node.type == STRING and all(isinstance(each, Constant) for each in leaves)


def _beside_constant(column: Node, constant: Node) -> tuple[Node, Node]:
    least = _characters(column)
    if isinstance(constant, Constant):
        if constant.value is None:
            return column, constant
        length = max(least, len(str(constant.value)))
        return _padded(column, length), _padded(constant, length)
    sql = f"rpad({{0}}, CAST(greatest({least}, length({{1}})) AS INTEGER), ' ')"
    return (
        call("rpad", (column, constant), STRING, sql),
        call("rpad", (constant, constant), STRING, sql),
    )


def _padded(node: Node, length: int) -> Node:
    if isinstance(node, Constant):
        return Constant(str(node.value).ljust(length), STRING, node.folded)
    if _characters(node) == length:
        return node
    return call("rpad", (node,), STRING, f"rpad({{0}}, {length}, ' ')")
