"""The files that a Polars query reads from its Delta tables, and why others are skipped.

Filters, columns and limit are those that Polars's optimiser has pushed down to the scan of each table.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.engines.polars.lazy_frame import Resolution, matching_partitions, resolutions
from deltaarrow.engines.polars.pushed_filters import arrow_expression
from deltaarrow.expressions import And, Column, Opaque, Predicate, from_arrow, in_total_order
from deltaarrow.scan import Explanation, FileTask, explain_scan, plan_scan, scan_schema
from deltaarrow.schema import Schema

if TYPE_CHECKING:
    import polars as pl
    from polars.lazyframe.resolver import FilterExpr

__all__ = ["explain_frame"]


def explain_frame(frame: "pl.LazyFrame") -> list[Explanation]:
    """Return an explanation for every Delta table scanned in a query; see `deltaarrow.explain`."""
    return [_explained(each) for each in resolutions(frame)]


def _explained(found: Resolution) -> Explanation:
    """The explanation of one scan, with notes on what only Polars decides."""
    everything = plan_scan(found.snapshot, columns=found.columns)
    partitions = frozenset(everything.layout.partition_columns)
    by_partition = [
        each
        for each in found.filters
        if (names := each.expr.meta.root_names()) and partitions.issuperset(names)
    ]
    schema = scan_schema(found.snapshot)
    own = [each for each in by_partition if arrow_expression(each) is None]
    predicate = And(tuple(_predicate(each, schema) for each in found.filters if each not in own))
    explanation = explain_scan(found.snapshot, predicate, found.columns)
    left = _paths(plan_scan(found.snapshot, predicate, found.columns).tasks)
    every = _paths(everything.tasks)
    for each in by_partition:
        matching = _paths(matching_partitions(everything.tasks, [each], everything.layout))
        if each in own or left - matching:
            left &= matching
            skipped, kept = (_among(everything.files, paths) for paths in (every - matching, left))
            explanation = explanation.then(str(each.expr), "partition values", skipped, kept)
    if len(found.tasks) < len(found.matching):
        read = _paths(found.tasks)
        skipped, kept = (_among(everything.files, paths) for paths in (_paths(found.matching) - read, read))
        explanation = explanation.then(f"LIMIT {found.limit}", "row counts", skipped, kept)
    return explanation


def _predicate(condition: "FilterExpr", schema: Schema) -> Predicate:
    expression = arrow_expression(condition)
    if expression is not None:
        return in_total_order(from_arrow(expression), schema)
    columns = tuple(Column((name,)) for name in dict.fromkeys(condition.expr.meta.root_names()))
    return Opaque(str(condition.expr), columns)


def _among(files: pa.Table, paths: set[str]) -> pa.Table:
    return files.filter(pa.array([path in paths for path in files.column("path").to_pylist()], pa.bool_()))


def _paths(tasks: Sequence[FileTask]) -> set[str]:
    return {task.path for task in tasks}
