"""Detection of double-quoted texts where a user means a column.

In Spark SQL ``"Status"`` is a text; in standard SQL, and so in ``deltalake``, it is the column ``Status``. A
comparison with such a text and no column has one value for all rows of a table, so a condition moved over
from ``deltalake`` would choose all rows or none. Expressions that tables store are Spark's already and are
not checked.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from deltaarrow.errors import InvalidPredicateError
from deltaarrow.schema import StructType
from deltaarrow.spark_sql.text.parsing import parse_tree

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["ensure_columns_unquoted"]


def ensure_columns_unquoted(text: str, tables: Iterable[StructType]) -> None:
    """Refuse a condition or a value in which a double-quoted text stands for a column.

    Args:
        text: the user's Spark SQL over the rows of some tables.
        tables: the schemas of these tables.

    Raises:
        InvalidPredicateError: a comparison, or the whole value, has no column but a double-quoted text with
            the name of one.
        UnsupportedFeatureError: the text has double quotes and cannot be parsed.

    >>> from deltaarrow.schema import Field
    >>> orders = StructType([Field("Status", "string"), Field("price", "long")])
    >>> ensure_columns_unquoted("status != 'open' AND price > 2", [orders])
    >>> ensure_columns_unquoted('Status = "price"', [orders])
    """
    if '"' not in text:
        return
    schemas = tuple(tables)
    for parts in _comparisons(parse_tree(text, is_stored=False)):
        if any(_has_column(part) for part in parts):
            continue
        for name in (name for part in parts for name in _double_quoted(part, text)):
            if (field := next(filter(None, (each.find(name) for each in schemas)), None)) is not None:
                column = f"`{field.name.replace('`', '``')}`"
                raise InvalidPredicateError(
                    f'in {text!r}, "{name}" is a text to Spark SQL, not the column:'
                    f" write {column} in backticks for the column, or '{name}' in single quotes for the text"
                    " (DeltaTable(..., dialect='deltalake') takes double quotes for names)"
                )


def _comparisons(tree: "exp.Expr") -> Iterator[Sequence["exp.Expr"]]:
    """The parts of each comparison, below any AND, OR and NOT."""
    from sqlglot import exp

    below = [tree]
    while below:
        node = below.pop().unnest()
        if node.key in ("and", "or", "not"):
            below += node.iter_expressions()
        else:
            yield [node]
    for node in tree.find_all(exp.Predicate, exp.RegexpLike):
        yield [node]
    for node in tree.find_all(exp.Case):
        if node.this is not None:
            yield [node.this, *(each.this for each in node.args["ifs"])]


def _has_column(node: "exp.Expr") -> bool:
    from sqlglot import exp

    return any(column.this.key == "identifier" for column in node.find_all(exp.Column))


def _double_quoted(node: "exp.Expr", text: str) -> Iterator[str]:
    from sqlglot import exp

    for literal in node.find_all(exp.Literal):
        if literal.is_string and text.startswith('"', literal.meta.get("start", len(text))):
            yield literal.this
