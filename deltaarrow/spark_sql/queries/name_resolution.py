"""Resolution of the names in a query, as Spark's analyzer does it.

A name is first looked for as ``table.column`` and then as a column, each with struct fields behind it, among
the relations of its own SELECT. The aliases of the select list come next, then the SELECTs around it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from deltaarrow.display.near_names import no_column
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema import Field, StructType
from deltaarrow.spark_sql.binding.scope import Fields
from deltaarrow.spark_sql.functions.conditional import field_of
from deltaarrow.spark_sql.tree.nodes import ColumnRef, Node

__all__ = ["Columns", "Found", "SourceColumn"]

_LONGEST_QUALIFIER = 3


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of a relation in FROM.

    Args:
        name: as the relation spells it.
        node: its value.
        field: its type with metadata.
        qualifier: the alias of the relation, or the parts of its name.
        is_hidden: whether only a qualified name finds it: a join by USING shows one column of two.
        is_metadata: whether it is ``_metadata``, which no star includes.
    """

    name: str
    node: Node
    field: Field
    qualifier: tuple[str, ...] = ()
    is_hidden: bool = False
    is_metadata: bool = False

    def hidden(self) -> "SourceColumn":
        """The column, found by qualified names alone."""
        return replace(self, is_hidden=True)


@dataclass(frozen=True, slots=True)
class Found:
    """What a name refers to; `fields` are the column and the struct fields along the path."""

    node: Node
    fields: Fields


class Columns:
    """The columns of the relations of one SELECT, and those of the SELECTs around it."""

    def __init__(self, columns: Iterable[SourceColumn], outer: "Columns | None" = None) -> None:
        self.columns = tuple(columns)
        self.outer = outer

    def find(self, names: Sequence[str]) -> Found | None:
        """What a name refers to in this SELECT; None if there is no such column.

        Raises `SchemaMismatchError` if there are several, or if a struct has no such field.
        """
        lowered = [each.lower() for each in names]
        for length in range(min(_LONGEST_QUALIFIER, len(names) - 1), 0, -1):
            qualified = [
                each
                for each in self.columns
                if each.name.lower() == lowered[length] and _ends_with(each.qualifier, lowered[:length])
            ]
            if qualified:
                return _single(names, qualified, length)
        found = [each for each in self.columns if each.name.lower() == lowered[0] and not each.is_hidden]
        return _single(names, found, 0) if found else None

    def matching(self, names: Sequence[str]) -> list[SourceColumn]:
        """The columns of ``names.*``; empty if no relation is called so."""
        lowered = [each.lower() for each in names]
        found = [
            each for each in self.columns if _ends_with(each.qualifier, lowered) and not each.is_metadata
        ]
        return sorted(found, key=lambda each: not each.is_hidden)

    @property
    def shown(self) -> list[SourceColumn]:
        """The columns of ``*``."""
        return [each for each in self.columns if not each.is_hidden and not each.is_metadata]

    def unknown(self, names: Sequence[str]) -> SchemaMismatchError:
        """The error for a name that refers to nothing."""
        known = list(dict.fromkeys(each.name for each in self.columns if not each.is_metadata))
        message = no_column(".".join(names), known, "the query")
        kind = "WITH_SUGGESTION" if known else "WITHOUT_SUGGESTION"
        return SchemaMismatchError(f"[UNRESOLVED_COLUMN.{kind}] {message}")


def _ends_with(qualifier: Sequence[str], lowered: Sequence[str]) -> bool:
    return len(lowered) <= len(qualifier) and [each.lower() for each in qualifier[-len(lowered) :]] == [
        *lowered
    ]


def _single(names: Sequence[str], found: Sequence[SourceColumn], length: int) -> Found:
    if len(found) > 1 and len({each.node for each in found}) > 1:
        tables = " and ".join(".".join((*each.qualifier, each.name)) for each in found)
        raise SchemaMismatchError(
            f"[AMBIGUOUS_REFERENCE] the column `{'.'.join(names)}` may be {tables}: write the table before it"
        )
    return _with_fields(found[0], names[length + 1 :])


def _with_fields(column: SourceColumn, names: Sequence[str]) -> Found:
    node, fields = column.node, [column.field]
    for name in names:
        inner = fields[-1].type
        field = inner.find(name) if isinstance(inner, StructType) else None
        if field is None:
            # This names the fields that there are.
            node = field_of(node, name)
            field = Field(name, node.type)
        elif isinstance(node, ColumnRef):
            node = ColumnRef((*node.path, field.name), field.type)
        else:
            node = field_of(node, name)
        fields.append(field)
    return Found(node, tuple(fields))
