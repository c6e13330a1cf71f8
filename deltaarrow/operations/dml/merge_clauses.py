"""Clauses of a MERGE, bound to the columns of its two tables, and the columns that they add to the table."""

from collections.abc import Callable, Mapping, Sequence

from deltaarrow.actions import Action
from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.operations.define.write_evolution import evolve_for_values
from deltaarrow.operations.define.write_target import WriteTarget
from deltaarrow.operations.dml.assignments import (
    assigned_values,
    expression,
    kept_values,
    parse_target,
    says_default,
    split_names,
)
from deltaarrow.operations.dml.changed_rows import Clause, ClauseKind
from deltaarrow.operations.dml.merge_statement import MergeClause, MergeStatement, When
from deltaarrow.operations.dml.row_scope import ALWAYS, RowScope, Value
from deltaarrow.schema import Field, PrimitiveType, Schema
from deltaarrow.schema.metadata_keys import DEFAULT_KEY, GENERATION_KEY
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import AliasScope, parse_column
from deltaarrow.write import identity_column

__all__ = ["bind_clauses", "evolved_target", "given_columns"]

_VOID = PrimitiveType("void")
_PRESENT: dict[When, Callable[[MergeStatement], str | None]] = {
    When.MATCHED: lambda statement: None,
    When.NOT_MATCHED: lambda statement: statement.source_alias,
    When.NOT_MATCHED_BY_SOURCE: lambda statement: statement.target_alias,
}
"""The table that rows of a clause come from; None for matched rows, which come from both."""

_FILLED_KEYS = (GENERATION_KEY, DEFAULT_KEY)


def evolved_target(snapshot: Snapshot, statement: MergeStatement, source: Schema) -> WriteTarget:
    """Return the table with the columns that the statement adds, if it may evolve the schema.

    Raises the exceptions of `evolve` for a schema that the table cannot have.
    """
    if not statement.merges_schema:
        return WriteTarget.existing(snapshot)
    tables = {statement.target_alias: snapshot.schema, statement.source_alias: source}
    wanted = [each for each in source.fields if _is_wanted(each, statement, tables)]
    if not wanted:
        return WriteTarget.existing(snapshot)
    found = evolve_for_values(snapshot, Schema(wanted))
    if found is None:
        return WriteTarget.existing(snapshot)
    metadata, protocol = found
    changes: list[Action] = [metadata] if protocol is None else [metadata, protocol]
    return WriteTarget(protocol or snapshot.protocol, metadata, changes)


def _is_wanted(column: Field, statement: MergeStatement, tables: Mapping[str, Schema]) -> bool:
    """Whether a clause assigns the source column to the column of its name, which schema evolution needs."""
    for clause in statement.clauses:
        if clause.is_star and column.name.lower() not in {each.lower() for each in clause.except_columns}:
            return True
        present = _PRESENT[clause.when](statement)
        scope = AliasScope(tables if present is None else {present: tables[present]})
        for name, text in (clause.values or {}).items():
            path = [each.lower() for each in split_names(name)]
            if path in ([column.name.lower()], [statement.target_alias.lower(), column.name.lower()]):
                found = parse_column(text, scope)
                if found is not None and found[0] == (statement.source_alias, column.name):
                    return True
    return False


def bind_clauses(
    statement: MergeStatement, target: WriteTarget, inner: RowScope, outer: RowScope, source: Schema
) -> list[Clause]:
    """Return the clauses in statement order, with conditions over `inner` and values over `outer`.

    Raises `SchemaMismatchError` for a column that does not exist, or not in the rows of the clause.
    """
    return [_bound(each, statement, target, inner, outer, source) for each in statement.clauses]


def _bound(
    clause: MergeClause,
    statement: MergeStatement,
    target: WriteTarget,
    inner: RowScope,
    outer: RowScope,
    source: Schema,
) -> Clause:
    present = _PRESENT[clause.when](statement)
    if present is not None:
        inner, outer = inner.only(present), outer.only(present)
    condition = ALWAYS if clause.predicate is None else inner.condition(clause.predicate)
    if clause.kind is ClauseKind.DELETE:
        return Clause(clause.kind, condition)
    if clause.is_star:
        assigned = _star(clause, statement, target, outer, source)
    else:
        assigned = _explicit(clause, target, outer)
    if clause.kind is ClauseKind.UPDATE:
        return Clause(clause.kind, condition, kept_values(target, outer, assigned))
    return Clause(clause.kind, condition, assigned)


def _explicit(clause: MergeClause, target: WriteTarget, outer: RowScope) -> dict[str, Value]:
    assignments = []
    for name, text in (clause.values or {}).items():
        fields = parse_target(target.schema, name, [outer.target])
        if clause.kind is ClauseKind.INSERT and len(fields) > 1:
            raise SchemaMismatchError(
                f"an insert assigns whole columns, and {name!r} is a field of a struct; assign the struct"
            )
        if says_default(outer, text):
            raise UnsupportedFeatureError(
                f"DEFAULT as the value of {name!r} is not supported in a MERGE, as in delta-spark; leave the"
                " column out of the insert to give it its default",
                feature="DEFAULT in MERGE",
            )
        assignments.append((fields, expression(outer, text)))
    return assigned_values(target.schema, assignments, outer)


def _star(
    clause: MergeClause, statement: MergeStatement, target: WriteTarget, outer: RowScope, source: Schema
) -> dict[str, Value]:
    """Return the values of ``*``: the source columns with names of table columns, case-insensitively.

    With schema evolution, an update keeps struct fields that the source lacks.
    """
    keeps = statement.merges_schema and clause.kind is ClauseKind.UPDATE
    excepted = _excepted(clause, target.schema, source)
    assigned, lacking = {}, []
    for column in target.schema.fields:
        if column.name.lower() in excepted:
            continue
        given = source.find(column.name)
        if column.type == _VOID:
            _ensure_nothing(column, given)
        elif given is not None:
            path = (statement.source_alias, given.name)
            keeping = column if keeps else None
            assigned[column.name] = outer.copied(path, given.type, column.type, keeping=keeping)
        elif not (statement.merges_schema or _is_filled(column)):
            lacking.append(column.name)
    if lacking:
        raise SchemaMismatchError(
            f"the source has no column {', '.join(map(repr, lacking))}, but the clause takes all columns from"
            " it; name the columns, leave these out with except_cols, or pass merge_schema=True"
        )
    return assigned


def _ensure_nothing(column: Field, given: Field | None) -> None:
    """Raise if a source column has values for a column that has no type, and so cannot keep them."""
    if given is not None and given.type != _VOID:
        raise SchemaMismatchError(
            f"column {column.name!r} has no type in the table yet, so it cannot take the values of the"
            " source; pass merge_schema=True (in SQL, WITH SCHEMA EVOLUTION) to give it theirs"
        )


def _excepted(clause: MergeClause, table: Schema, source: Schema) -> set[str]:
    for name in clause.except_columns:
        if table.find(name) is None and source.find(name) is None:
            raise SchemaMismatchError(
                f"except_cols names {name!r}, which is no column of the table or the source"
            )
    return {name.lower() for name in clause.except_columns}


def _is_filled(column: Field) -> bool:
    """Whether the table fills the column if rows lack it: it is generated, an identity, or has a default."""
    return any(key in column.metadata for key in _FILLED_KEYS) or identity_column(column) is not None


def given_columns(clauses: Sequence[Clause]) -> list[str]:
    """Return the names of the columns that inserted rows have."""
    return sorted({name for each in clauses if each.kind is ClauseKind.INSERT for name in each.values})
