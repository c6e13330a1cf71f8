"""The version of a table that a query names: ``VERSION AS OF``, ``TIMESTAMP AS OF`` and ``t@v3``."""

import datetime
from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.spark_sql.casts import cast
from deltaarrow.spark_sql.evaluation import evaluate
from deltaarrow.spark_sql.nodes import ColumnRef, Constant, Expression, Node, refused, walk
from deltaarrow.spark_sql.queries.expressions import Binding
from deltaarrow.spark_sql.queries.relations import Travel
from deltaarrow.spark_sql.types import INTEGRAL, STRING, TIMESTAMP

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["travel_of"]


def travel_of(version: "exp.Expr", binding: Binding, now_ms: int) -> Travel:
    """The version that a table name is followed by.

    Raises `UnsupportedFeatureError` for one that depends on rows, or is no version and no time.
    """
    kind = str(version.this).upper()
    if kind not in ("VERSION", "TIMESTAMP") or str(version.args.get("kind")).upper() != "AS OF":
        raise refused(f"{kind} {version.args.get('kind')} behind a table name")
    node = binding.bind(version.expression)
    if kind == "VERSION":
        number = node.value if isinstance(node, Constant) else None
        if node.type == STRING and str(number).isdecimal():
            number = int(str(number))
        elif node.type not in INTEGRAL:
            number = None
        if not isinstance(number, int) or number < 0:
            raise refused("VERSION AS OF something other than the number of a version")
        return Travel(version=number)
    return Travel(timestamp=_computed(cast(node, TIMESTAMP), now_ms))


def _computed(node: Node, now_ms: int) -> datetime.datetime:
    """The value of an expression without columns."""
    value = node.value if isinstance(node, Constant) else None
    if not isinstance(node, Constant):
        if any(isinstance(each, ColumnRef) for each in walk(node)):
            raise refused("TIMESTAMP AS OF something that depends on rows")
        row = pa.record_batch([pa.nulls(1)], names=["none"])
        value = evaluate(Expression("TIMESTAMP AS OF", node), row, clock=lambda: now_ms)[0].as_py()
    if not isinstance(value, datetime.datetime):
        raise refused("TIMESTAMP AS OF NULL")
    return value.replace(tzinfo=datetime.UTC)
