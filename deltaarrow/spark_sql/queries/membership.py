"""``IN (SELECT ...)`` as Spark computes it: FALSE where SQL has NULL.

Spark makes a join of it, which tells whether there is an equal row. A NOT before it asks for a row that is
equal or may be, so ``NOT IN`` is FALSE too where SQL has NULL. Before that, Spark moves every NOT inside of
the ANDs and ORs below it. In a filter none of this makes a difference, unless there is another NOT above.
"""

from dataclasses import replace

from deltaarrow.spark_sql.functions.operators import all_of, any_of, negate
from deltaarrow.spark_sql.tree.nodes import Call, Node, call
from deltaarrow.spark_sql.types.type_rules import BOOLEAN

__all__ = ["CERTAIN", "MEMBER", "filtering", "settled"]

MEMBER = "query in"
"""The name of calls of ``IN (SELECT ...)``, with the value that SQL gives them."""

CERTAIN = "certain"
"""The name of calls that turn NULL into FALSE."""


def settled(node: Node) -> Node:
    """The expression with the value of Spark for each ``IN (SELECT ...)``."""
    if not isinstance(node, Call) or not _has_member(node):
        return node
    if node.name == MEMBER:
        return _certain(node)
    if node.name == "not":
        return _denied(node.operands[0])
    if node.name in ("and", "or"):
        return (all_of if node.name == "and" else any_of)(tuple(map(settled, node.operands)))
    return replace(node, operands=tuple(map(settled, node.operands)))


def filtering(node: Node) -> Node:
    """A condition that is TRUE on the same rows; parts that AND joins may be NULL in place of FALSE."""
    if isinstance(node, Call) and node.name == CERTAIN:
        return node.operands[0]
    if isinstance(node, Call) and node.name == "and":
        return replace(node, operands=tuple(map(filtering, node.operands)))
    return node


def _denied(node: Node) -> Node:
    """The negation of a condition, with every NOT inside of ANDs and ORs."""
    if isinstance(node, Call) and _has_member(node):
        if node.name == MEMBER:
            return _certain(negate(node))
        if node.name == "not":
            return settled(node.operands[0])
        if node.name in ("and", "or"):
            return (any_of if node.name == "and" else all_of)(tuple(map(_denied, node.operands)))
    return negate(settled(node))


def _certain(node: Node) -> Node:
    return call(CERTAIN, (node,), BOOLEAN, "coalesce({0}, FALSE)")


def _has_member(node: Node) -> bool:
    if not isinstance(node, Call) or node.name == CERTAIN:
        return False
    return node.name == MEMBER or any(map(_has_member, node.operands))
