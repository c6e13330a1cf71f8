"""Stars: the columns that ``*``, ``t.*`` and ``struct.*`` stand for, in a select list and among arguments."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema import StructType
from deltaarrow.spark_sql.binding.tree_reading import names_of
from deltaarrow.spark_sql.functions.conditional import field_of
from deltaarrow.spark_sql.queries.name_resolution import Columns, SourceColumn
from deltaarrow.spark_sql.tree.nodes import refused
from deltaarrow.spark_sql.types.type_rules import type_name

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["expand_arguments", "star_of", "starred"]

_Named = tuple[SourceColumn, tuple[str, ...]]
"""A column, and names by which an expression can read it."""


def star_of(node: "exp.Expr") -> "tuple[exp.Expr, tuple[str, ...]] | None":
    """A star and the names before it; None for anything else."""
    if node.key == "star":
        return node, ()
    if node.key == "dot" and node.expression.key == "star":
        names = names_of(node.this)
        return None if names is None else (node.expression, names)
    if node.key == "column" and getattr(node.this, "key", "") == "star":
        parts = [node.args.get(each) for each in ("catalog", "db", "table")]
        return node.this, tuple(part.name for part in parts if part is not None)
    return None


def starred(columns: Columns, node: "exp.Expr") -> list[_Named]:
    """The columns that a star stands for, without those in EXCEPT.

    Raises `SchemaMismatchError` for names that are neither those of a relation nor of a struct.
    """
    found_star = star_of(node)
    assert found_star is not None
    star, names = found_star
    columns = Columns([each for each in columns.columns if not each.is_metadata], columns.outer)
    if not {name for name, part in star.args.items() if part} <= {"except_"}:
        raise refused("* with REPLACE or RENAME")
    if not names:
        found = [(each, (*each.qualifier[-1:], each.name)) for each in columns.shown]
    else:
        found = [(each, (*names[-1:], each.name)) for each in columns.matching(names)]
        found = found or _fields(columns, names)
    for left_out in star.args.get("except_") or []:
        one = names_of(left_out) or (left_out.name,)
        kept = [each for each in found if not _is_named(each[0], one)]
        if len(kept) == len(found):
            raise columns.unknown(one)
        found = kept
    return found


def expand_arguments(node: "exp.Expr", columns: Columns) -> None:
    """Write the columns of stars in place of the stars among the arguments of a call, or of IN."""
    listed = node.expressions
    holder = listed[0] if len(listed) == 1 and listed[0].key == "distinct" else node
    if not any(star_of(each) is not None for each in holder.expressions):
        return
    if node.key == "anonymous" and str(node.this).lower() == "count" and holder is node:
        if any(each.key != "star" for each in listed):
            raise SchemaMismatchError(
                "[INVALID_USAGE_OF_STAR_WITH_TABLE_IDENTIFIER_IN_COUNT] count of the columns of one table:"
                " use count(*), or name the columns"
            )
        return
    expanded: list[exp.Expr] = []
    for each in holder.expressions:
        if star_of(each) is None:
            expanded.append(each)
        else:
            expanded += [_reference(names) for _, names in starred(columns, each)]
    holder.set("expressions", expanded)


def _reference(names: Sequence[str]) -> "exp.Expr":
    from sqlglot import exp

    made: exp.Expr = exp.column(*reversed(names[:4]), quoted=True)
    for name in names[4:]:
        made = exp.Dot(this=made, expression=exp.to_identifier(name, quoted=True))
    return made


def _is_named(column: SourceColumn, names: Sequence[str]) -> bool:
    is_of_table = len(names) == 1 or [each.lower() for each in column.qualifier[-1:]] == [names[-2].lower()]
    return column.name.lower() == names[-1].lower() and is_of_table


def _fields(columns: Columns, names: tuple[str, ...]) -> list[_Named]:
    found = columns.find(names)
    if found is None:
        known = ", ".join(f"`{each.name}`" for each in columns.shown)
        raise SchemaMismatchError(
            f"[CANNOT_RESOLVE_STAR_EXPAND] `{'.'.join(names)}`.* names neither a table nor a struct"
            f" (columns: {known})"
        )
    if not isinstance(found.node.type, StructType):
        raise SchemaMismatchError(f"`{'.'.join(names)}` is {type_name(found.node.type)}, not a struct")
    return [
        (SourceColumn(each.name, field_of(found.node, each.name), each), (*names, each.name))
        for each in found.node.type.fields
    ]
