"""Addition and removal of CHECK constraints, chapter *CHECK Constraints* of the protocol."""

from collections.abc import Mapping
from dataclasses import replace

import orjson

import deltaarrow.scan as scan
from deltaarrow.display.near_names import did_you_mean
from deltaarrow.errors import ConstraintViolationError, InvalidTablePropertyError
from deltaarrow.features import ensure_writable, upgraded_protocol
from deltaarrow.operations.commit.transaction_start import begin_transaction
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.schema.metadata_keys import CONSTRAINT_PREFIX
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import Constraint, count_broken, ensure_columns_unquoted, parse_expression
from deltaarrow.transaction import CommitProperties, OptimisticTransaction, PostCommitHookProperties

__all__ = ["add_constraints", "drop_constraint"]


def add_constraints(
    snapshot: Snapshot,
    constraints: Mapping[str, str],
    *,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    clock: Clock = system_clock,
) -> int:
    """Add CHECK constraints to a table in one commit and return the committed version.

    Existing rows are read and must satisfy each constraint, so the commit conflicts with concurrent commits
    that add rows. The table gains the feature ``checkConstraints`` if it lacks it. History has the parameters
    of Spark for one constraint; for several, their names and conditions are lists in JSON.

    Args:
        snapshot: the table.
        constraints: conditions in Spark SQL by the names of the constraints, which are case-insensitive.
        commit_properties: metadata and options of the commit.
        hook_properties: options of the hooks after the commit.
        clock: the time of the commit.

    Raises:
        InvalidTablePropertyError: a constraint of this name exists, or the name is empty.
        ConstraintViolationError: rows of the table violate a constraint.
        UnsupportedFeatureError: the expression is not supported, or is not a condition.
        InvalidPredicateError: the expression writes a column name in double quotes, which Spark SQL reads as
            text.
        SchemaMismatchError: the expression names an unknown column.
        ValueError: there are no constraints.
    """
    if not constraints:
        raise ValueError("there is no constraint to add; give a condition by its name")
    configuration = dict(snapshot.configuration)
    added = []
    for name, expression in constraints.items():
        added.append(_parsed(snapshot, name, expression))
        # delta-spark stores the name in lower case.
        key = f"{CONSTRAINT_PREFIX}{name.lower()}"
        if key in configuration:
            raise InvalidTablePropertyError(
                f"the table already has a constraint {name!r}: {configuration[key]}; drop it first"
                " (Spark: DELTA_CONSTRAINT_ALREADY_EXISTS)"
            )
        configuration[key] = expression
    transaction = begin_transaction(
        snapshot, "ADD CONSTRAINT", commit_properties, hook_properties, clock=clock
    )
    names, expressions = list(constraints), list(constraints.values())
    transaction.parameters = (
        {"name": names[0], "expr": expressions[0]}
        if len(names) == 1
        else {"name": orjson.dumps(names).decode(), "expr": orjson.dumps(expressions).decode()}
    )
    for each in added:
        _ensure_met(transaction, snapshot, each)
    transaction.set_metadata(replace(snapshot.metadata, configuration=configuration))
    protocol = upgraded_protocol(snapshot.protocol, snapshot.schema, configuration, "append")
    if protocol != snapshot.protocol:
        transaction.set_protocol(protocol)
    return transaction.commit()


def _parsed(snapshot: Snapshot, name: str, expression: str) -> Constraint:
    ensure_columns_unquoted(expression, [snapshot.schema])
    constraint = Constraint(name, parse_expression(expression, snapshot.schema))
    if not name:
        raise InvalidTablePropertyError("the name of the constraint is empty; give a name")
    return constraint


def drop_constraint(
    snapshot: Snapshot,
    name: str,
    raise_if_not_exists: bool = True,
    *,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    clock: Clock = system_clock,
) -> int:
    """Drop a CHECK constraint and return the committed version.

    If the constraint does not exist and `raise_if_not_exists` is False, nothing is committed, and the version
    of the snapshot is returned. The feature ``checkConstraints`` stays. The other arguments are those of
    `add_constraints`.

    Raises:
        InvalidTablePropertyError: the constraint does not exist.
    """
    ensure_writable(snapshot.protocol, snapshot.metadata, "append")
    wanted = f"{CONSTRAINT_PREFIX}{name.lower()}"
    found = [key for key in snapshot.configuration if key.lower() == wanted]
    if not found:
        if raise_if_not_exists:
            known = [
                key[len(CONSTRAINT_PREFIX) :]
                for key in snapshot.configuration
                if key.lower().startswith(CONSTRAINT_PREFIX)
            ]
            raise InvalidTablePropertyError(
                f"the table has no constraint {name!r}{did_you_mean(name, known)}"
                f" (constraints: {', '.join(known) or 'none'})"
                " (Spark: DELTA_CONSTRAINT_DOES_NOT_EXIST)"
            )
        return snapshot.version
    # Constraints set as properties at creation may have any case, even several spellings of one name.
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
    # A constraint that reads no column still needs the row count.
    columns = columns or (snapshot.schema.names[0],)
    plan = scan.ScanPlan(scan.table_layout(snapshot), snapshot.version, columns, transaction.read_files())
    broken = count_broken(constraint, scan.BatchReader(plan.layout, columns).read(plan.tasks))
    if broken:
        rows = "row" if broken == 1 else "rows"
        raise ConstraintViolationError(
            f"the new CHECK constraint {constraint.name} ({constraint.expression.text}) is violated by"
            f" {broken} {rows} of {snapshot.store.uri}; correct or delete these rows first (Spark:"
            " DELTA_NEW_CHECK_CONSTRAINT_VIOLATION)"
        )
