"""High water marks of identity columns: how writes and SYNC IDENTITY advance them.

Chapter "Identity Columns" of the protocol. A tag marks a commit that changes nothing but these marks in the
metadata. Concurrent commits that assign no identity values ignore such a change; of two concurrent commits
that do, the second fails.
"""

from collections.abc import Mapping
from dataclasses import replace

import orjson
import pyarrow as pa

import deltaarrow.scan as scan
from deltaarrow.actions import Metadata
from deltaarrow.actions.domain_names import IDENTITY_TAG
from deltaarrow.columnar.kernels import pc
from deltaarrow.errors import ConstraintViolationError, SchemaMismatchError
from deltaarrow.features import is_supported
from deltaarrow.operations.commit.transaction_start import begin_transaction
from deltaarrow.operations.define.write_target import WriteTarget
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.schema import Schema
from deltaarrow.snapshot import Snapshot
from deltaarrow.transaction import CommitProperties, OptimisticTransaction, PostCommitHookProperties
from deltaarrow.write import IdentityColumn, RowNumbering, identity_column, with_marks

__all__ = ["plan_numbering", "stage_marks", "sync_identity"]

_LEAST, _GREATEST = -(2**63), 2**63 - 1


def plan_numbering(transaction: OptimisticTransaction, target: WriteTarget, data: pa.Schema) -> RowNumbering:
    """Return the numbering of a write's rows, which continues after the marks staged in the transaction.

    Raises `SchemaMismatchError` for data with values of a GENERATED ALWAYS column.
    """
    if not is_supported(target.protocol, "identityColumns"):
        return RowNumbering()
    staged = _staged(transaction)
    schema = target.schema
    if staged is not None:
        given = {each.name: each for each in Schema.from_json(staged.schema_string).fields}
        schema = Schema([given.get(each.name, each) for each in schema.fields])
    return RowNumbering.plan(schema, data)


def stage_marks(transaction: OptimisticTransaction, target: WriteTarget, marks: Mapping[str, int]) -> None:
    """Stage the high water marks that a write has reached."""
    if not marks:
        return
    staged = _staged(transaction)
    if staged is None:
        transaction.tags[IDENTITY_TAG] = "true"
    metadata = staged or target.metadata
    schema = with_marks(Schema.from_json(metadata.schema_string), marks)
    transaction.set_metadata(replace(metadata, schema_string=schema.to_json()))


def _staged(transaction: OptimisticTransaction) -> Metadata | None:
    return next((action for action in transaction.actions if isinstance(action, Metadata)), None)


def sync_identity(
    snapshot: Snapshot,
    column: str,
    *,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    clock: Clock = system_clock,
) -> int:
    """Move the high water mark of an identity column past all values in the table; return the new version.

    This is ``ALTER TABLE ... ALTER COLUMN ... SYNC IDENTITY``: afterwards, new rows get values that no row
    has, explicit values included. The mark never moves back.

    Raises `SchemaMismatchError` for a column that is not an identity column, `ConstraintViolationError` if
    no value is left, and the exceptions of commits.
    """
    field = snapshot.schema.find(column)
    found = None if field is None else identity_column(field)
    if field is None or found is None:
        raise SchemaMismatchError(
            f"the table has no identity column {column!r} (columns: {', '.join(snapshot.schema.names)};"
            " Spark: DELTA_IDENTITY_COLUMNS_ALTER_NON_IDENTITY_COLUMN)"
        )
    transaction = begin_transaction(
        snapshot, "CHANGE COLUMN", commit_properties, hook_properties, clock=clock
    )
    said = {"name": field.name, "type": "long", "nullable": field.nullable, "metadata": dict(field.metadata)}
    transaction.parameters = {"column": orjson.dumps(said).decode()}
    files = transaction.read_files()
    mark = _mark_past(found, _farthest(snapshot, found, files))
    schema = snapshot.schema if mark is None else with_marks(snapshot.schema, {field.name: mark})
    transaction.set_metadata(replace(snapshot.metadata, schema_string=schema.to_json()))
    transaction.tags[IDENTITY_TAG] = "true"
    return transaction.commit()


def _farthest(snapshot: Snapshot, column: IdentityColumn, files: pa.Table) -> int | None:
    """Return the value that is farthest in the direction of the step; None if there are no values."""
    layout = scan.table_layout(snapshot)
    reader = scan.BatchReader(layout, (column.name,))
    farthest = None
    for batch in reader.read(scan.file_tasks(files)):
        bounds = pc.min_max(batch.column(0))
        value = bounds["max" if column.step > 0 else "min"].as_py()
        if value is not None and (farthest is None or (value - farthest) * column.step > 0):
            farthest = value
    return farthest


def _mark_past(column: IdentityColumn, value: int | None) -> int | None:
    """Return the first number of the sequence at or after `value`; None if the mark need not move."""
    if value is None or (value - column.start) * column.step < 0:
        return None
    mark = column.start + -((column.start - value) // column.step) * column.step
    if not _LEAST <= mark <= _GREATEST:
        raise ConstraintViolationError(
            f"the identity column {column.name!r} has no numbers left in the range of BIGINT after {value}"
        )
    before = column.high_water_mark
    return mark if before is None or (mark - before) * column.step > 0 else None
