"""Spark's names of the columns of a select list that have no alias, such as ``count(1)`` and ``(a + 1)``."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from deltaarrow.spark_sql.nodes import Node

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["default_name"]


def default_name(tree: "exp.Expr", node: Node) -> str:
    """The name of a column that is computed by an expression."""
    inner = tree
    while inner.key == "paren":
        inner = inner.this
    return tree.sql(dialect="spark")
