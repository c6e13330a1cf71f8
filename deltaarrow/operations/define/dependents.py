"""Dependents of a column: CHECK constraints, invariants and generated columns that refer to it.

Chapters *CHECK Constraints*, *Column Invariants* and *Generated Columns* of the protocol.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from deltaarrow.errors import DeltaError, SchemaMismatchError
from deltaarrow.schema import Schema, StructType, fields_within, render_path
from deltaarrow.schema.metadata_keys import CONSTRAINT_PREFIX, GENERATION_KEY, INVARIANTS_KEY
from deltaarrow.spark_sql import parse_expression

__all__ = ["ensure_no_dependents", "ensure_type_may_change"]

_COLUMN_EXPRESSIONS = (GENERATION_KEY, INVARIANTS_KEY)


def ensure_no_dependents(
    schema: StructType, configuration: Mapping[str, str], names: Collection[str], change: str
) -> None:
    """Raise `SchemaMismatchError` if an expression depends on a column; `change` names the change in errors.

    `schema` lacks the dropped columns, because their own expressions are dropped too. An expression counts
    wherever the name of the column stands in its text, even as something else.

    >>> ensure_no_dependents(StructType(), {"delta.constraints.c": "id > 0"}, ["id"], "be dropped")
    Traceback (most recent call last):
    ...
    deltaarrow.errors.SchemaMismatchError: column 'id' cannot be dropped: delta.constraints.c relies on ...
    """
    for owner, expression in _expressions(schema, configuration) if names else ():
        affected = [name for name in names if name == owner or _may_speak_of(expression, name)]
        if affected:
            raise SchemaMismatchError(
                f"column {', '.join(map(repr, affected))} cannot {change}: {owner} relies on it"
                f" ({expression}); drop the constraint or the generated column first (Spark:"
                f" {_error_class(owner)})"
            )


def ensure_type_may_change(schema: Schema, configuration: Mapping[str, str], path: Sequence[str]) -> None:
    """Raise `SchemaMismatchError` if an expression reads the column at `path`, a part of it or a whole of it.

    The type of a generated column cannot change either, as it is the type of its expression.
    """
    for owner, expression in _expressions(schema, configuration):
        if owner == path[0] or _reads(expression, schema, path):
            raise SchemaMismatchError(
                f"the type of column {render_path(path)!r} cannot change: {owner} relies on it"
                f" ({expression}); drop the constraint or the generated column first (Spark:"
                f" {_error_class(owner)})"
            )


def _reads(expression: str, schema: Schema, path: Sequence[str]) -> bool:
    try:
        columns = parse_expression(expression, schema).columns
    except DeltaError:
        return any(_may_speak_of(expression, name) for name in path)
    wanted = [name.lower() for name in path]
    return any(all(a == b.lower() for a, b in zip(wanted, column, strict=False)) for column in columns)


def _error_class(owner: str) -> str:
    is_constraint = owner.lower().startswith(CONSTRAINT_PREFIX)
    what = "CONSTRAINT" if is_constraint else "GENERATED_COLUMNS"
    return f"DELTA_{what}_DEPENDENT_COLUMN_CHANGE"


def _expressions(schema: StructType, configuration: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, expression in configuration.items():
        if name.lower().startswith(CONSTRAINT_PREFIX):
            yield name, expression
    for field in fields_within(schema):
        for key in _COLUMN_EXPRESSIONS:
            if key in field.metadata:
                yield field.name, str(field.metadata[key])


def _may_speak_of(expression: str, column: str) -> bool:
    """Whether the name occurs in the text, even inside a literal: false positives are safe."""
    name = re.escape(column.replace("`", "``"))
    return re.search(rf"(?<!\w){name}(?!\w)", expression, re.IGNORECASE) is not None
