"""Rows completed for a table: all columns, in its Arrow schema, checked against its rules.

Missing columns are filled first, with their default, their generation expression or NULL. Then the rules are
checked, and NOT NULL last, so that filled columns are checked too.
"""

import itertools
from collections.abc import Iterable, Iterator

import pyarrow as pa

from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.schema import conform, ensure_conformable, missing_columns, to_arrow_schema
from deltaarrow.write.plan import WritePlan

__all__ = ["complete_rows", "ensure_completable"]

_PIECE_ROWS = 1 << 17
_PIECE_BYTES = 1 << 24


def ensure_completable(plan: WritePlan, source: pa.Schema) -> None:
    """Refuse data whose schema alone shows that `complete_rows` must fail.

    Raises:
        SchemaMismatchError: columns that the table does not have, or types that do not fit.
        ConstraintViolationError: a column is missing that is neither nullable nor filled by a rule.
    """
    ensure_conformable(source, _given(plan, source, to_arrow_schema(plan.schema)))


def complete_rows(
    plan: WritePlan, stream: Iterable[pa.RecordBatch], *, clock: Clock = system_clock
) -> Iterator[pa.RecordBatch]:
    """The rows of a stream in the table's Arrow schema, checked against its rules.

    Raises:
        SchemaMismatchError: the data does not fit the schema.
        ConstraintViolationError: a row breaks NOT NULL or a rule, which the error names.
        UnsupportedFeatureError: the package cannot evaluate a default that is needed.
    """
    target = to_arrow_schema(plan.schema)
    rules = plan.rules
    if not rules:
        for batch in stream:
            yield from (conform(piece, target) for piece in _pieces(batch))
        return
    now_ms = clock()
    for schema, batches in itertools.groupby(stream, key=lambda batch: batch.schema):
        given = _given(plan, schema, target)
        fitted = (conform(piece, given) for batch in batches for piece in _pieces(batch))
        for batch in rules.apply(fitted, clock=lambda: now_ms):
            yield conform(batch, target)


def _given(plan: WritePlan, source: pa.Schema, target: pa.Schema) -> pa.Schema:
    """The columns of the table without those that its rules must fill."""
    if not plan.rules:
        return target
    filled = plan.rules.filled.intersection(missing_columns(source, target))
    return pa.schema([each for each in target if each.name not in filled])


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    fitting = batch.num_rows * _PIECE_BYTES // max(1, batch.nbytes)
    step = max(1, min(_PIECE_ROWS, fitting))
    for start in range(0, batch.num_rows, step):
        yield batch.slice(start, step)
