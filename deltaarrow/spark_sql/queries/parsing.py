"""Parsing of queries to sqlglot's tree, by the lexical rules of `deltaarrow.spark_sql.syntax`.

``t@v3`` is read as ``t VERSION AS OF 3``, and ``TABLE t`` as ``SELECT * FROM t``.
"""

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltaarrow.spark_sql.nodes import refused
from deltaarrow.spark_sql.syntax import EXPRESSION_REFUSES, expression_dialect, parse_statement

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["OUTER_NAMES", "PARAMETER_PLACE", "QUERY_KEYS", "parse_query"]

QUERY_KEYS = frozenset({"select", "union", "intersect", "except", "subquery", "values"})
"""The keys of nodes that are queries."""

PARAMETER_PLACE = "start"
"""The key of a parameter's place in the text among the metadata of its node."""

OUTER_NAMES = "outer"
"""The key of the columns of outer queries that a subquery reads, among the metadata of its node."""

_VERSION = re.compile(r"[vV](\d+)", re.ASCII)
_NAMES = frozenset({"VAR", "IDENTIFIER"})


@dataclass(frozen=True)
class _QueryText:
    """The rules of a text that is one query of a user."""

    is_stored: bool = False
    refused_tokens: frozenset[str] = (EXPRESSION_REFUSES - {"PLACEHOLDER", "PARAMETER", "HINT"}) | {"PIPE_GT"}

    def dialect(self) -> Any:
        return _dialect()

    def prepared(self, tokens: list[Any]) -> list[Any]:
        """The tokens with ``t@v3`` and ``TABLE t`` in other words."""
        found: list[Any] = []
        for place, token in enumerate(tokens):
            kind = token.token_type.name
            if kind == "PARAMETER":
                found += _version_words(token, tokens, place)
            elif place and tokens[place - 1].token_type.name == "PARAMETER":
                continue  # The version is among the words already.
            elif kind == "TABLE" and (place == 0 or tokens[place - 1].token_type.name in _BEFORE_QUERIES):
                found += _selecting(token)
            else:
                found.append(token)
        return found


_BEFORE_QUERIES = frozenset({"L_PAREN", "UNION", "ALL", "EXCEPT", "INTERSECT"})


def parse_query(text: str) -> "exp.Expr":
    """The tree of one query.

    Raises `UnsupportedFeatureError` for a text that is not one query of the supported part of Spark SQL.
    """
    tree = parse_statement(text, _QueryText())
    if tree.key not in QUERY_KEYS:
        raise refused(f"{tree.key.upper()} where a query belongs")
    return tree


@functools.cache
def _dialect() -> Any:
    from sqlglot import exp, tokens

    expressions = expression_dialect()

    def placeholder(parser: Any) -> Any:
        node = exp.Placeholder()
        node.meta[PARAMETER_PLACE] = parser._prev.start
        return node

    class Queries(type(expressions)):  # type: ignore[misc]
        class Parser(expressions.parser_class):  # type: ignore[misc, name-defined]
            COLON_IS_VARIANT_EXTRACT = True
            PLACEHOLDER_PARSERS: Any = {  # noqa: RUF012 - sqlglot reads class attributes
                **expressions.parser_class.PLACEHOLDER_PARSERS,
                tokens.TokenType.PLACEHOLDER: placeholder,  # type: ignore[attr-defined]
            }

    return Queries()


def _version_words(at: Any, tokens: list[Any], place: int) -> list[Any]:
    """``VERSION AS OF 3`` in place of the ``@v3`` in ``t@v3``."""
    before = tokens[place - 1] if place else None
    after = tokens[place + 1] if place + 1 < len(tokens) else None
    found = _VERSION.fullmatch(after.text) if after is not None else None
    if (
        found is None
        or after is None
        or before is None
        or before.token_type.name not in _NAMES
        or before.end + 1 != at.start
        or at.end + 1 != after.start
    ):
        raise refused("@ outside a table name with a version, such as t@v3,", at.start)
    words = (("VAR", "VERSION"), ("ALIAS", "AS"), ("VAR", "OF"), ("NUMBER", found[1]))
    return [_replaced(at, kind, text) for kind, text in words]


def _selecting(token: Any) -> list[Any]:
    words = (("SELECT", "SELECT"), ("STAR", "*"), ("FROM", "FROM"))
    return [_replaced(token, kind, text) for kind, text in words]


def _replaced(token: Any, kind: str, text: str) -> Any:
    from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

    return Token(
        TokenType[kind],
        text,
        line=token.line,
        col=token.col,
        start=token.start,
        end=token.end,
        comments=token.comments,
    )
