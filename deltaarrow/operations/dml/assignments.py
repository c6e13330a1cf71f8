"""New values of an updated row's columns: the assignments of users and their effect on other columns.

An unassigned column keeps its value, an unassigned generated column is recomputed, and an assignment to a
field of a struct keeps the other fields.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from deltaarrow.compute import quote_identifier, quote_literal
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.features import is_supported
from deltaarrow.operations.define.write_target import WriteTarget
from deltaarrow.operations.dml.row_scope import RowScope, Value
from deltaarrow.schema import DataType, Field, PrimitiveType, Schema, StructType, resolve_path
from deltaarrow.schema.metadata_keys import GENERATION_KEY
from deltaarrow.write import identity_column

__all__ = [
    "MakeValue",
    "assigned_values",
    "expression",
    "kept_values",
    "parse_target",
    "says_default",
    "split_names",
]

_VOID = PrimitiveType("void")

MakeValue = Callable[[DataType], Value]
"""Makes the value assigned to a column or field, given its type."""


def expression(scope: RowScope, text: str) -> MakeValue:
    """Return the maker of an expression in Spark SQL."""
    return lambda data_type: scope.value(text, data_type)


def says_default(scope: RowScope, text: object) -> bool:
    """Whether a value is the word DEFAULT and no column has this name."""
    word = text.strip() if isinstance(text, str) else ""
    while word.startswith("(") and word.endswith(")"):
        word = word[1:-1].strip()
    is_word = word.upper() in ("DEFAULT", "`DEFAULT`")
    return is_word and all(table.find("DEFAULT") is None for table in scope.tables.values())


def parse_target(schema: Schema, name: str, aliases: Iterable[str] = ()) -> tuple[Field, ...]:
    """Return the fields on the path that a text names, from the column down.

    The path may start with an alias. As in Spark, the first name is an alias if the second one is a column.

    Raises `SchemaMismatchError` for a column or field that does not exist.
    """
    path = split_names(name)
    is_alias = len(path) > 1 and path[0].lower() in {alias.lower() for alias in aliases}
    if is_alias and schema.find(path[1]) is not None:
        path = path[1:]
    return resolve_path(schema, path)


def split_names(name: str) -> list[str]:
    """Split a path at its dots; a name may be in backticks.

    Raises `SchemaMismatchError` for a missing backtick, and for text between a closing backtick and a dot.
    """
    parts, rest = [], name.strip()
    while True:
        if rest.startswith("`"):
            end = 1
            while (end := rest.find("`", end)) >= 0 and rest[end : end + 2] == "``":
                end += 2
            if end < 0:
                raise SchemaMismatchError(
                    f"the column name {name!r} lacks a closing backtick; write ` as `` inside backticks"
                )
            parts.append(rest[1:end].replace("``", "`"))
            rest = rest[end + 1 :]
        else:
            part, dot, tail = rest.partition(".")
            parts.append(part.strip())
            rest = dot + tail
        if not rest:
            return parts
        if not rest.startswith("."):
            raise SchemaMismatchError(
                f"{name!r} is not a column name: a closing backtick must end it or precede a dot, as in"
                " `a b`.x"
            )
        rest = rest[1:]


@dataclass
class _Assigned:
    """The assignment to a column: a value, or assignments to its fields."""

    value: MakeValue | None = None
    members: "dict[str, _Assigned]" = field(default_factory=dict)


def assigned_values(
    schema: Schema,
    assignments: Sequence[tuple[tuple[Field, ...], MakeValue]],
    scope: RowScope,
) -> dict[str, Value]:
    """Return the new values of the assigned columns, by name.

    Args:
        schema: the schema of the table.
        assignments: pairs of a path, as the fields from the column down, and the maker of its value.
        scope: resolves the present values of columns, for assignments to their fields.

    Raises `SchemaMismatchError` if two assignments overlap.
    """
    tree: dict[str, _Assigned] = {}
    for fields, make in assignments:
        names = [each.name for each in fields]
        level, node = tree, _Assigned()
        for depth, name in enumerate(names):
            node = level.setdefault(name, _Assigned())
            if node.value is not None or (depth == len(names) - 1 and node.members):
                raise SchemaMismatchError(
                    f"{'.'.join(names)!r} is assigned more than once; keep one assignment"
                )
            level = node.members
        node.value = make
    columns = [schema.field(name) for name in tree]
    return {each.name: _value(each, tree[each.name], scope.kept(each)) for each in columns}


def _value(target: Field, assigned: _Assigned, present: Value) -> Value:
    if assigned.value is not None:
        return assigned.value(target.type)
    assert isinstance(target.type, StructType)
    members, columns, texts = [], present.columns, []
    for each in target.type.fields:
        sql = f"struct_extract({present.sql}, {quote_literal(each.name)})"
        if each.name in assigned.members:
            found = _value(each, assigned.members[each.name], Value("", sql, present.columns))
            sql, columns = found.sql, columns | found.columns
            texts.append(found.text)
        members.append(f"{quote_identifier(each.name)} := {sql}")
    return Value(", ".join(texts), f"struct_pack({', '.join(members)})", columns)


def kept_values(target: WriteTarget, scope: RowScope, assigned: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values of the columns of an updated row, in table order.

    Unassigned generated columns are left out; the writer computes them.

    Raises `SchemaMismatchError` for an assignment to an identity column.
    """
    values: dict[str, Value] = {}
    has_generated = is_supported(target.protocol, "generatedColumns")
    for each in target.schema.fields:
        if each.name in assigned:
            if is_supported(target.protocol, "identityColumns") and identity_column(each) is not None:
                raise SchemaMismatchError(
                    f"the identity column {each.name!r} cannot be updated; remove its assignment"
                    " (Spark: DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED)"
                )
            values[each.name] = assigned[each.name]
        elif each.type != _VOID and not (has_generated and GENERATION_KEY in each.metadata):
            values[each.name] = scope.kept(each)
    return values
