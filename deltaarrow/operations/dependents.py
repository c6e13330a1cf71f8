"""What relies on a column: CHECK constraints, invariants and generated columns that speak of it.

Chapters *CHECK Constraints*, *Column Invariants* and *Generated Columns* of the protocol.
"""

import re
from collections.abc import Collection, Iterator, Mapping

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema import ArrayType, DataType, MapType, StructType
from deltaarrow.schema.keys import CONSTRAINT_PREFIX, GENERATION_KEY, INVARIANTS_KEY

__all__ = ["ensure_no_dependents"]

_COLUMN_EXPRESSIONS = (GENERATION_KEY, INVARIANTS_KEY)


def ensure_no_dependents(
    schema: StructType, configuration: Mapping[str, str], names: Collection[str], change: str
) -> None:
    """Raise `SchemaMismatchError` where an expression relies on a column that is to `change`.

    `schema` is without the columns that are dropped, whose own expressions go with them. An expression in
    which a name stands for something else counts as well.

    >>> ensure_no_dependents(StructType(), {"delta.constraints.c": "id > 0"}, ["id"], "be dropped")
    Traceback (most recent call last):
    ...
    deltaarrow.errors.SchemaMismatchError: column 'id' cannot be dropped: delta.constraints.c relies on ...
    """
    for owner, expression in _expressions(schema, configuration) if names else ():
        affected = [name for name in names if name == owner or _may_speak_of(expression, name)]
        if affected:
            raise SchemaMismatchError(
                f"column {', '.join(map(repr, affected))} cannot {change}: {owner} relies on it, which is"
                f" {expression}"
            )


def _expressions(schema: StructType, configuration: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, expression in configuration.items():
        if name.lower().startswith(CONSTRAINT_PREFIX):
            yield name, expression
    yield from _column_expressions(schema)


def _column_expressions(data_type: DataType) -> Iterator[tuple[str, str]]:
    if isinstance(data_type, StructType):
        for field in data_type.fields:
            for key in _COLUMN_EXPRESSIONS:
                if key in field.metadata:
                    yield field.name, str(field.metadata[key])
            yield from _column_expressions(field.type)
    elif isinstance(data_type, ArrayType):
        yield from _column_expressions(data_type.element_type)
    elif isinstance(data_type, MapType):
        yield from _column_expressions(data_type.key_type)
        yield from _column_expressions(data_type.value_type)


def _may_speak_of(expression: str, column: str) -> bool:
    """Whether the name stands in the text; a literal that holds it counts too, so as to miss none."""
    name = re.escape(column.replace("`", "``"))
    return re.search(rf"(?<!\w){name}(?!\w)", expression, re.IGNORECASE) is not None
