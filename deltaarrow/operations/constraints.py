"""Adding and dropping CHECK constraints, chapter *CHECK Constraints* of the protocol."""

from dataclasses import replace

import deltaarrow.scan as scan
from deltaarrow.errors import ConstraintViolationError, InvalidTablePropertyError
from deltaarrow.features import ensure_writable, upgraded_protocol
from deltaarrow.operations.commit_properties import CommitProperties, PostCommitHookProperties
from deltaarrow.operations.transaction import begin_transaction
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.schema.keys import CONSTRAINT_PREFIX
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import Constraint, count_broken, ensure_columns_unquoted, parse_expression
from deltaarrow.transaction import OptimisticTransaction

__all__ = ["add_constraint", "drop_constraint"]


def add_constraint(
    snapshot: Snapshot,
    name: str,
    expression: str,
    *,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    clock: Clock = system_clock,
) -> int:
    """Have every row of a table meet a condition from now on; return the version that was made.

    The rows that are there are read and have to meet it as well, for which the commit conflicts with one
    that adds rows in the meantime. The table gets the feature ``checkConstraints`` if it lacks it.

    Args:
        snapshot: the table.
        name: names the constraint, in whatever case.
        expression: the condition in Spark SQL.
        commit_properties: what else goes into the commit.
        hook_properties: what happens after the commit.
        clock: the time of the commit.

    Raises:
        InvalidTablePropertyError: there is a constraint of that name, or it has no name.
        ConstraintViolationError: rows of the table break it.
        UnsupportedFeatureError: the expression holds what is not supported, or is not a condition.
        InvalidPredicateError: it has a column in double quotes, which is a text in Spark SQL.
        SchemaMismatchError: the expression names a column that is not there.
    """
    ensure_columns_unquoted(expression, [snapshot.schema])
    constraint = Constraint(name, parse_expression(expression, snapshot.schema))
    # As delta-spark stores it.
    key = f"{CONSTRAINT_PREFIX}{name.lower()}"
    if not name:
        raise InvalidTablePropertyError("a constraint needs a name")
    if key in snapshot.configuration:
        raise InvalidTablePropertyError(
            f"there is a constraint {name!r} already, drop it first: {snapshot.configuration[key]}"
        )
    transaction = begin_transaction(
        snapshot, "ADD CONSTRAINT", commit_properties, hook_properties, clock=clock
    )
    transaction.parameters = {"name": name, "expr": expression}
    _ensure_met(transaction, snapshot, constraint)
    configuration = {**snapshot.configuration, key: expression}
    transaction.set_metadata(replace(snapshot.metadata, configuration=configuration))
    protocol = upgraded_protocol(snapshot.protocol, snapshot.schema, configuration, "append")
    if protocol != snapshot.protocol:
        transaction.set_protocol(protocol)
    return transaction.commit()


def drop_constraint(
    snapshot: Snapshot,
    name: str,
    raise_if_not_exists: bool = True,
    *,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    clock: Clock = system_clock,
) -> int:
    """Free the rows of a table from a CHECK constraint; return the version that was made.

    Nothing is committed where there is no such constraint and `raise_if_not_exists` is false; the version is
    then that of the snapshot. The feature ``checkConstraints`` stays. The other arguments are those of
    `add_constraint`.

    Raises:
        InvalidTablePropertyError: there is no constraint of that name.
    """
    ensure_writable(snapshot.protocol, snapshot.metadata, "append")
    wanted = f"{CONSTRAINT_PREFIX}{name.lower()}"
    found = [key for key in snapshot.configuration if key.lower() == wanted]
    if not found:
        if raise_if_not_exists:
            raise InvalidTablePropertyError(f"the table has no constraint {name!r}")
        return snapshot.version
    # A table made with properties may spell it in another way, and have it in several.
    key = wanted if wanted in found else found[0]
    configuration = dict(snapshot.configuration)
    expression = configuration.pop(key)
    transaction = begin_transaction(
        snapshot, "DROP CONSTRAINT", commit_properties, hook_properties, clock=clock
    )
    transaction.parameters = {"name": name, "expr": expression, "existed": "true"}
    transaction.set_metadata(replace(snapshot.metadata, configuration=configuration))
    return transaction.commit()


def _ensure_met(transaction: OptimisticTransaction, snapshot: Snapshot, constraint: Constraint) -> None:
    columns = tuple(dict.fromkeys(path[0] for path in constraint.expression.columns))
    # Rows have to be counted also where no column is read.
    columns = columns or (snapshot.schema.names[0],)
    plan = scan.ScanPlan(scan.table_layout(snapshot), snapshot.version, columns, transaction.read_files())
    broken = count_broken(constraint, scan.BatchReader(plan.layout, columns).read(plan.tasks))
    if broken:
        raise ConstraintViolationError(
            f"{broken} rows of {snapshot.store.uri} break the new CHECK constraint {constraint.name}"
            f" ({constraint.expression.text})"
        )
