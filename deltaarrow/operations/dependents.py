"""Dependents of a column: CHECK constraints, invariants and generated columns that refer to it.

Chapters *CHECK Constraints*, *Column Invariants* and *Generated Columns* of the protocol.
"""

import re
from collections.abc import Collection, Iterator, Mapping

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema import StructType, fields_within
from deltaarrow.schema.keys import CONSTRAINT_PREFIX, GENERATION_KEY, INVARIANTS_KEY

__all__ = ["ensure_no_dependents"]

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
                f" ({expression}); drop the constraint or the generated column first"
            )


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
