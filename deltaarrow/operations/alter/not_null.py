"""Proof that a column holds no NULL, so that it can become NOT NULL."""

from collections.abc import Sequence

import deltaarrow.scan as scan
from deltaarrow.errors import ConstraintViolationError
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import Constraint, count_broken, parse_expression
from deltaarrow.transaction import OptimisticTransaction

__all__ = ["ensure_filled"]


def ensure_filled(transaction: OptimisticTransaction, snapshot: Snapshot, path: Sequence[str]) -> None:
    """Raise `ConstraintViolationError` if a row has NULL in a column, or in a struct around it.

    Only files whose statistics do not exclude it are read. The commit of the transaction conflicts with
    others that add a file which may hold such a row.
    """
    column = ".".join(f"`{name.replace('`', '``')}`" for name in path)
    filled = Constraint(column, parse_expression(f"{column} IS NOT NULL", snapshot.schema))
    files = transaction.read_files(f"{column} IS NULL")
    plan = scan.ScanPlan(scan.table_layout(snapshot), snapshot.version, (path[0],), files)
    broken = count_broken(filled, scan.BatchReader(plan.layout, (path[0],)).read(plan.tasks))
    if broken:
        raise ConstraintViolationError(
            f"{broken} rows of {snapshot.store.uri} have NULL in {column}, which cannot become NOT NULL; fill"
            " or delete these rows first"
        )
