"""Reports on MERGE, OPTIMIZE, REORG and VACUUM, made from their SQL results."""

from typing import Any

import pyarrow as pa

from deltaarrow.pipeline.engine import MaintenanceReport, MergeReport, StatementReport
from deltaarrow.spark_sql import TableName, Words
from deltaarrow.sql.maintain.statements import Optimize, Reorg, Vacuum
from deltaarrow.sql.registry import find_kind
from deltaarrow.sql.results import metrics_of
from deltaarrow.sql.rows.statements import Merge

__all__ = ["report_on"]

_OPERATIONS = {Optimize: "OPTIMIZE", Reorg: "REORG", Vacuum: "VACUUM"}


def report_on(text: str, result: pa.Table) -> StatementReport | None:
    """Return the report on a statement that was run; None for one of another kind."""
    metrics = metrics_of(result)
    if not metrics:
        return None
    words = Words(text)
    kind = find_kind(words, "spark")
    statement: Any = None if kind is None or kind.spark is None else kind.spark(words)
    if isinstance(statement, Merge):
        changes = {path: (first, last) for path, (first, last) in metrics.pop("changes", {}).items()}
        return MergeReport(_place(statement.table), changes, metrics or None)
    if isinstance(statement, Optimize | Reorg | Vacuum):
        files = metrics.pop("files", ())
        return MaintenanceReport(_place(statement.table), _OPERATIONS[type(statement)], metrics, files)
    return None


def _place(name: TableName) -> str:
    """Reports know a table by its path, where the statement names it so."""
    return name.parts[-1] if name.parts[0].lower() == "delta" else name.text
