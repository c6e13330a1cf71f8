"""The meaning of single nodes of sqlglot's tree: plain nodes, names, numbers, intervals."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.spark_sql.functions.interval_literals import Interval, interval, interval_units
from deltaarrow.spark_sql.tree.nodes import Constant, Node, refused
from deltaarrow.spark_sql.types.type_rules import DOUBLE, INTEGER, LONG, decimal_type

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = [
    "folded",
    "interval_of",
    "interval_units_of",
    "is_plain",
    "joined_by_and",
    "names_of",
    "number_of",
    "own_name",
    "suffixed_number",
    "unfolded",
    "written_name",
]

_LONGEST_NUMBER = 1_000
"""More digits than any type has; Python refuses to read far longer ones."""
_USUAL_PARTS = frozenset({"this", "expression"})
_PARTS = {
    "anonymous": {"this", "expressions"},
    "between": {"this", "low", "high"},
    "bracket": {"this", "expressions"},
    "case": {"this", "ifs", "default"},
    "cast": {"this", "to", "safe"},
    "column": {"this", "table", "db", "catalog"},
    "concat": {"expressions"},
    "datatype": {"this", "expressions"},
    "dpipe": {"this", "expression", "safe"},
    "div": {"this", "expression", "typed", "safe"},
    "identifier": {"this", "quoted"},
    "lambda": {"this", "expressions"},
    "if": {"this", "true"},
    "ilike": {"this", "expression", "negate"},
    "in": {"this", "expressions"},
    "interval": {"this", "unit"},
    "jsonextract": {"this", "expression", "variant_extract"},
    "like": {"this", "expression", "negate"},
    "literal": {"this", "is_string"},
    "regexplike": {"this", "expression", "negate"},
    "trim": {"this", "expression", "position"},
    "trycast": {"this", "to", "safe"},
    "tuple": {"expressions"},
}
"""The arguments of sqlglot nodes that are read here, by node key, if they differ from the usual ones."""


def joined_by_and(node: "exp.Expr") -> Iterator["exp.Expr"]:
    """The parts that AND joins, from the left; long chains need no recursion."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.key == "paren" and is_plain(each):
            waiting.append(each.this)
        elif each.key == "and" and is_plain(each):
            waiting += [each.expression, each.this]
        else:
            yield each


def is_plain(node: "exp.Expr") -> bool:
    """Whether a node has only arguments that are read here: an overlooked flag would change the meaning."""
    return {name for name, part in node.args.items() if part} <= _PARTS.get(node.key, _USUAL_PARTS)


def own_name(node: "exp.Expr") -> str | None:
    """The name that a value has as it is written: an alias, or that of a column or a field."""
    return str(node.alias_or_name) if node.key in ("alias", "column", "dot") else None


def interval_of(node: "exp.Expr") -> Interval | None:
    """The interval that a literal, or a sum of literals, means; None for other nodes."""
    if node.key == "paren" and is_plain(node):
        return interval_of(node.this)
    if node.key == "neg" and is_plain(node):
        found = interval_of(node.this)
        return None if found is None else -found
    if node.key == "add" and is_plain(node):
        one = interval_of(node.this)
        other = None if one is None else interval_of(node.expression)
        return None if one is None or other is None else one + other
    if node.key != "interval":
        return None
    unit = node.args.get("unit")
    if node.this is None or node.this.key != "literal" or unit is None:
        raise refused("INTERVAL of something other than a literal")
    if unit.key == "intervalspan":
        return interval(node.this.this, unit.this.name, unit.expression.name)
    return interval(node.this.this, unit.name)


def interval_units_of(node: "exp.Expr") -> tuple[str, str]:
    """The units of the first literal in what `interval_of` reads."""
    unit = next(each for each in node.walk() if each.key == "interval").args["unit"]
    if unit.key == "intervalspan":
        return interval_units(unit.this.name, unit.expression.name)
    return interval_units(unit.name)


def names_of(node: "exp.Expr") -> tuple[str, ...] | None:
    """The path of a column; sqlglot takes its names for catalog, database, table and column."""
    if not is_plain(node):
        return None
    if node.key == "column":
        parts = [node.args.get(key) for key in ("catalog", "db", "table", "this")]
        names = [part for part in parts if part is not None]
        if all(part.key == "identifier" for part in names):
            return tuple(part.name for part in names)
    if node.key == "dot" and node.expression.key == "identifier":
        inner = names_of(node.this)
        return None if inner is None else (*inner, node.expression.name)
    return None


def number_of(text: str) -> Constant:
    """The constant of a number as it is written."""
    if len(text) > _LONGEST_NUMBER:
        raise refused(f"a number of {len(text)} characters")
    if "e" in text.lower():
        return Constant(float(text), DOUBLE)
    value = Decimal(text)
    if not value:
        value = value.copy_abs()  # A decimal has no negative zero, so a cast to double has none either.
    if "." not in text:
        whole = int(text)
        for data_type, bits in ((INTEGER, 31), (LONG, 63)):
            if -(1 << bits) <= whole < 1 << bits:
                return Constant(whole, data_type)
    digits = value.as_tuple()
    scale = max(-int(digits.exponent), 0)
    return Constant(
        value, decimal_type(max(len(str(int("".join(map(str, digits.digits)) or 0))), scale), scale)
    )


def folded(node: Node) -> Node:
    """A constant that a cast is written around, be it to its own type: its digits do not count."""
    return replace(node, folded=True) if isinstance(node, Constant) else node


def unfolded(node: Node) -> Node:
    """A constant whose digits count for its precision again."""
    return Constant(node.value, node.type) if isinstance(node, Constant) else node


def suffixed_number(node: Node) -> Node:
    """A literal with a suffix; sqlglot takes that of a decimal for a text."""
    if isinstance(node, Constant) and isinstance(node.value, str):
        try:
            return number_of(node.value)
        except ArithmeticError as error:
            raise UnsupportedFeatureError(f"{node.value!r} is not a number", feature="a literal") from error
    return node


def written_name(tree: "exp.Expr") -> str:
    """The name that a tree is; raises for a string, which names nothing in Spark."""
    if tree.key == "literal":
        raise refused(f"the literal {tree.this!r} as a name", error_class="PARSE_SYNTAX_ERROR")
    return tree.name
