"""Resolution of names in expressions: columns of one table, or of several tables under their aliases.

An expression that a table stores sees only that table. A MERGE has two tables, and names resolve as in Spark:
first as the alias of a table followed by its column, then as a column of whichever table has it; a name that
both tables have is an error.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from deltaarrow.display.near_names import no_column
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema import Field, StructType, resolve_path
from deltaarrow.schema.metadata_keys import COLLATIONS_KEY
from deltaarrow.spark_sql.tree.nodes import Path

__all__ = ["AliasScope", "Fields", "Scope", "TableScope", "has_collation"]

Fields: TypeAlias = tuple[Field, ...]
"""A column, and the fields of structs on the path to the innermost one."""


class Scope(Protocol):
    """Resolves names to columns."""

    def resolve(self, names: Sequence[str]) -> tuple[Path, Fields]:
        """Return the path of a column, spelled as in the schema, and the fields along it.

        Raises `SchemaMismatchError` if the names match no column, or several.
        """
        ...


@dataclass(frozen=True)
class TableScope:
    """The columns of one table."""

    schema: StructType

    def resolve(self, names: Sequence[str]) -> tuple[Path, Fields]:
        """Return the path and the fields; see `Scope.resolve`."""
        if names[0].lower() not in (name.lower() for name in self.schema.names):
            raise SchemaMismatchError(no_column(names[0], self.schema.names, "the table"))
        fields = resolve_path(self.schema, names)
        return tuple(each.name for each in fields), fields


@dataclass(frozen=True)
class AliasScope:
    """The columns of several tables; paths begin with the table's alias.

    >>> from deltaarrow.schema import Schema
    >>> scope = AliasScope({"t": Schema([Field("id", "long")]), "s": Schema([Field("new", "long")])})
    >>> scope.resolve(["T", "ID"])[0], scope.resolve(["new"])[0]
    (('t', 'id'), ('s', 'new'))
    """

    tables: Mapping[str, StructType]

    def resolve(self, names: Sequence[str]) -> tuple[Path, Fields]:
        """Return the path and the fields; see `Scope.resolve`."""
        for alias, schema in self.tables.items():
            if len(names) > 1 and names[0].lower() == alias.lower():
                found = _find(schema, names[1:])
                if found is not None:
                    return (alias, *found[0]), found[1]
        candidates = [
            ((alias, *found[0]), found[1])
            for alias, schema in self.tables.items()
            if (found := _find(schema, names)) is not None
        ]
        written = ".".join(names)
        if len(candidates) > 1:
            aliases = " and ".join(path[0] for path, _ in candidates)
            raise SchemaMismatchError(
                f"{written!r} is a column of {aliases}: write the alias before it, as in"
                f" {candidates[0][0][0]}.{written}"
                " (Spark: AMBIGUOUS_REFERENCE)"
            )
        if not candidates:
            raise SchemaMismatchError(self._unknown(names))
        return candidates[0]

    def _unknown(self, names: Sequence[str]) -> str:
        """Why names match no column: those of the alias that they begin with, or of all tables."""
        written, rest = ".".join(names), names[1:]
        aliases = " or ".join(self.tables)
        for alias, schema in self.tables.items():
            if rest and alias.lower() == names[0].lower():
                return no_column(".".join(rest), schema.names, alias)
        if rest and any(_find(schema, rest) for schema in self.tables.values()):
            return f"no column `{written}`: no table is called `{names[0]}`; write {aliases} before the dot"
        known = dict.fromkeys(name for schema in self.tables.values() for name in schema.names)
        return no_column(written, list(known), aliases if len(self.tables) > 1 else "the table")


def _find(schema: StructType, names: Sequence[str]) -> tuple[Path, Fields] | None:
    if schema.find(names[0]) is None:
        return None
    return TableScope(schema).resolve(names)


def has_collation(fields: Iterable[Field]) -> bool:
    """Whether strings of a column are compared by a collation, and not by their bytes.

    `fields` are the column and the struct fields that lead to the compared value.
    """
    return any(each.metadata.get(COLLATIONS_KEY) for each in fields)
