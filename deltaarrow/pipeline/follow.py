"""Keeping gold in step with silver on one node, while Spark goes on writing.

The change feed of silver tells which groups have changed since the version that gold has seen, which gold
keeps as the version of an application in its own log. What these groups come to is computed anew from silver
and merged, so that whoever was there before, and how often, does not matter.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from deltaarrow.engines import register
from deltaarrow.errors import CommitFailedError
from deltaarrow.operations import CommitProperties, Transaction
from deltaarrow.table import DeltaTable

__all__ = ["FollowReport", "follow_once"]

APPLICATION = "deltaarrow.pipeline.follow"
_MOST_TRIES = 20

_CHANGED_SQL = "SELECT DISTINCT order_date, product FROM changes"
_ALL_SQL = "SELECT DISTINCT order_date, product FROM silver UNION SELECT order_date, product FROM gold"
_GROUPS_SQL = """
SELECT
  changed.order_date,
  changed.product,
  count(silver.order_id) AS orders,
  coalesce(sum(silver.quantity), 0)::BIGINT AS quantity,
  coalesce(sum(silver.quantity * silver.price), 0)::DECIMAL(28, 2) AS revenue
FROM changed
LEFT JOIN silver ON silver.order_date = changed.order_date AND silver.product = changed.product
GROUP BY ALL
"""


@dataclass(frozen=True)
class FollowReport:
    """The versions of silver that were taken in, how many groups had changed, and what the merge has done.

    `metrics` are those of the merge, None where silver had no new version.
    """

    first_version: int
    last_version: int
    groups: int
    metrics: dict[str, Any] | None


def follow_once(lake: str | Path) -> FollowReport:
    """Take what is new in silver over to gold, and return what was done.

    Nothing is lost where the process ends at any point: the merge and the version that it stands for are
    one commit.

    Raises `TableNotFoundError` where the pipeline has not made the tables yet, and the exceptions of commits
    when others were first each time.
    """
    for left in reversed(range(_MOST_TRIES)):
        try:
            return _follow(Path(lake))
        except CommitFailedError:
            if not left:
                raise
    raise AssertionError("unreachable")


def _follow(lake: Path) -> FollowReport:
    import duckdb

    silver, gold = DeltaTable(lake / "silver/orders"), DeltaTable(lake / "gold/daily_sales")
    seen = gold.transaction_version(APPLICATION)
    last = silver.version()
    if seen is not None and seen >= last:
        return FollowReport(seen + 1, last, 0, None)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        register(connection, "silver", silver)
        if seen is None:
            register(connection, "gold", gold)
            changed = _ALL_SQL
        else:
            register(connection, "changes", silver.change_data_feed(seen + 1, last))
            changed = _CHANGED_SQL
        connection.execute(f"CREATE TEMP TABLE changed AS {changed}")
        groups: pa.Table = connection.sql(_GROUPS_SQL).to_arrow_table()
    merger = (
        gold.merge(
            groups,
            "t.order_date = s.order_date AND t.product = s.product",
            "s",
            "t",
            commit_properties=CommitProperties(app_transactions=[Transaction(APPLICATION, last)]),
        )
        .when_matched_delete("s.orders = 0")
        .when_matched_update_all("t.orders <> s.orders OR t.quantity <> s.quantity OR t.revenue <> s.revenue")
        .when_not_matched_insert_all("s.orders > 0")
    )
    return FollowReport(0 if seen is None else seen + 1, last, groups.num_rows, merger.execute())
