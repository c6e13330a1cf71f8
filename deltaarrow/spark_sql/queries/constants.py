"""Values of expressions without columns, such as those of LIMIT and TIMESTAMP AS OF."""

import datetime

import pyarrow as pa

from deltaarrow.spark_sql.binding.evaluation import evaluate
from deltaarrow.spark_sql.rendering.rows import is_query
from deltaarrow.spark_sql.tree.nodes import ColumnRef, Constant, Expression, Node, refused, walk

__all__ = ["constant_value"]


def constant_value(node: Node, now_ms: int, what: str) -> object:
    """The Python value of an expression that reads no rows; a time is in UTC.

    `what` is the name of its place, for the message.
    """
    if isinstance(node, Constant):
        value = node.value
    else:
        if any(isinstance(each, ColumnRef) or is_query(each) for each in walk(node)):
            raise refused(f"{what} that depends on rows")
        row = pa.record_batch([pa.nulls(1)], names=["none"])
        value = evaluate(Expression(what, node), row, clock=lambda: now_ms)[0].as_py()
    return value.replace(tzinfo=datetime.UTC) if isinstance(value, datetime.datetime) else value
