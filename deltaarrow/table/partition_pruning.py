"""Pruning by conditions on string partition columns that need each partition's value.

Spark compares a string with a number as numbers: ``year >= 2021`` on a string column. String bounds cannot
decide that, but each partition has one value, for which the condition is evaluated.
"""

from typing import TYPE_CHECKING

import pyarrow as pa

import deltaarrow.expressions as expressions
import deltaarrow.spark_sql as spark_sql
from deltaarrow.errors import DeltaError
from deltaarrow.schema import PrimitiveType
from deltaarrow.snapshot import Snapshot
from deltaarrow.table.describe import list_partitions

if TYPE_CHECKING:
    from deltaarrow.expressions import Predicate
    from deltaarrow.scan import RowCondition
    from deltaarrow.spark_sql import Condition

__all__ = ["predicate_on_files"]

_STRING = PrimitiveType("string")
_MOST = 1_000
"""More partitions than this are not named one by one."""


def predicate_on_files(snapshot: Snapshot, condition: "RowCondition") -> "Predicate":
    """Return the predicate of a condition, including its result for values of string partition columns."""
    texts = [each for each in snapshot.partition_columns if snapshot.schema.field(each).type == _STRING]
    undecided = [
        each
        for each in (condition.conjuncts if isinstance(condition, spark_sql.Condition) and texts else ())
        if not each.is_exact and {path[0] for path in each.columns} <= set(texts) and each.columns
    ]
    decided = [_decided(snapshot, each, texts) for each in undecided]
    return expressions.And((condition.predicate, *(each for each in decided if each is not None)))


def _decided(snapshot: Snapshot, condition: "Condition", texts: list[str]) -> "Predicate | None":
    """Return the partitions that satisfy a condition; None if unknown."""
    names = [each for each in texts if any(path[0] == each for path in condition.columns)]
    # An empty text is NULL in the log.
    found = {tuple(each[name] or None for name in names) for each in list_partitions(snapshot)}
    if len(found) > _MOST:
        return None
    rows = [dict(zip(names, values, strict=True)) for values in found]
    try:
        kept = condition.select(
            pa.RecordBatch.from_pylist(rows, pa.schema([(name, pa.string()) for name in names]))
        )
    except DeltaError:  # a row of such a partition fails too, when it is read
        return None
    alternatives = [
        expressions.And(tuple(_equal(name, value) for name, value in row.items())) for row in kept.to_pylist()
    ]
    return expressions.bind(expressions.Or(tuple(alternatives)), snapshot.schema)


def _equal(name: str, value: str | None) -> "Predicate":
    column = expressions.Column((name,))
    return (
        expressions.IsNull(column)
        if value is None
        else expressions.Compare("=", column, expressions.Literal(value))
    )
