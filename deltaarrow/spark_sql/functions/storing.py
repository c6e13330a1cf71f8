"""Expressions as tables store them: short of calls whose values may differ from Spark's, or grow."""

from dataclasses import replace

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.spark_sql.tree.kernel_calls import VARIANT_TEXT
from deltaarrow.spark_sql.tree.nodes import UNSTORED, Call, Node, call, refused, walk
from deltaarrow.spark_sql.types.type_rules import STRING

__all__ = ["storable"]


def storable(node: Node) -> Node:
    """Return an expression as a table stores it; raise if one of its calls is for queries alone.

    Only a row shows which cast the string of a variant needs, so a cast for queries alone raises there.
    """
    found = _with_certain_texts(node)
    _ensure_storable(found)
    return found


def _ensure_storable(node: Node) -> None:
    for each in walk(node):
        if isinstance(each, Call) and each.name.startswith(UNSTORED):
            name = each.name[1:]
            raise refused(f"{name.upper() if name.isidentifier() else name}, which is for queries alone,")


def _with_certain_texts(node: Node) -> Node:
    if not isinstance(node, Call) or not node.operands:
        return node
    operands = tuple(map(_with_certain_texts, node.operands))
    if node.name == VARIANT_TEXT:
        operands = (operands[0], *map(_certain_text, operands[1:]))
    return replace(node, operands=operands)


def _certain_text(leaf: Node) -> Node:
    try:
        _ensure_storable(leaf)
    except UnsupportedFeatureError as error:
        unsure = f"error('unsupported: {error.feature}')::VARCHAR"
        return call("variant leaf", (), STRING, unsure, fails=True)
    return leaf
