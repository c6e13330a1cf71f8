"""``IDENTIFIER(text)``: a name of a table or a column that a parameter or a text gives."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.spark_sql.binding.tree_reading import names_of
from deltaarrow.spark_sql.queries.query_parsing import PARAMETER_PLACE
from deltaarrow.spark_sql.text.parsing import parse_tree
from deltaarrow.spark_sql.tree.nodes import Constant, Node, refused

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["with_names"]

_PARTS = ("this", "db", "catalog")
_PARTS_OF_COLUMN = ("this", "table", "db", "catalog")


def with_names(tree: "exp.Expr", parameters: Mapping[str | int, Node]) -> "exp.Expr":
    """The tree of a query with names in place of ``IDENTIFIER(...)``.

    Raises `UnsupportedFeatureError` for a text that is no name of these.
    """
    calls = [
        each for each in tree.walk() if each.key == "anonymous" and str(each.this).lower() == "identifier"
    ]
    for each in calls:
        if len(each.expressions) != 1:
            raise refused("IDENTIFIER with several arguments", each.meta.get("start"))
        _replace(each, _names(_text(each.expressions[0], parameters)))
    return tree


def _text(node: "exp.Expr", parameters: Mapping[str | int, Node]) -> str:
    """The text of a literal, of a parameter, or of several that ``||`` joins."""
    if node.key == "dpipe":
        return _text(node.this, parameters) + _text(node.expression, parameters)
    if node.key == "literal" and node.is_string:
        return str(node.this)
    if node.key == "placeholder":
        found = parameters.get(str(node.this).lower() if node.this else node.meta[PARAMETER_PLACE])
        if found is None:
            raise SchemaMismatchError(
                "[UNBOUND_SQL_PARAMETER] there is no value for a parameter of IDENTIFIER"
            )
        if isinstance(found, Constant) and isinstance(found.value, str):
            return found.value
    raise refused("IDENTIFIER of something other than texts and parameters")


def _names(text: str) -> tuple[str, ...]:
    names = names_of(parse_tree(text))
    if names is None:
        raise refused(f"IDENTIFIER of {text!r}, which is no name,")
    return names


def _replace(call: "exp.Expr", names: tuple[str, ...]) -> None:
    from sqlglot import exp

    above = call.parent
    is_table = above is not None and above.key == "table"
    parts = _PARTS if is_table else _PARTS_OF_COLUMN
    if len(names) > len(parts):
        raise refused(f"IDENTIFIER of a name with {len(names)} parts")
    made = {
        part: exp.to_identifier(name, quoted=True) for part, name in zip(parts, reversed(names), strict=False)
    }
    if above is not None and is_table:
        for part, name in made.items():
            above.set(part, name)
    else:
        call.replace(exp.Column(**made))
