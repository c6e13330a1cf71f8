"""The version of a table that a query names: ``VERSION AS OF``, ``TIMESTAMP AS OF`` and ``t@v3``."""

import datetime
from typing import TYPE_CHECKING

from deltaarrow.spark_sql.queries.constants import constant_value
from deltaarrow.spark_sql.queries.expressions import Binding
from deltaarrow.spark_sql.queries.relations import Travel
from deltaarrow.spark_sql.tree.nodes import Constant, refused
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.type_rules import INTEGRAL, STRING, TIMESTAMP

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
    time = constant_value(cast(node, TIMESTAMP), now_ms, "TIMESTAMP AS OF something")
    if not isinstance(time, datetime.datetime):
        raise refused("TIMESTAMP AS OF NULL")
    return Travel(timestamp=time)
