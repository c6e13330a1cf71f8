"""Parsing of queries to sqlglot's tree, by the lexical rules of `deltaarrow.spark_sql.text.parsing`.

``t@v3`` is read as ``t VERSION AS OF 3``, ``TABLE t`` as ``SELECT * FROM t``, and pipes as SELECTs.
"""

import functools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deltaarrow.spark_sql.queries.pipes import without_pipes
from deltaarrow.spark_sql.text.parsing import (
    EXPRESSION_REFUSES,
    expression_dialect,
    parse_statement,
    replaced_token,
)
from deltaarrow.spark_sql.tree.nodes import refused

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["MOST_LEVELS", "OUTER_NAMES", "PARAMETER_PLACE", "QUERY_KEYS", "WINDOW_OF_TIME", "parse_query"]

QUERY_KEYS = frozenset({"select", "union", "intersect", "except", "subquery", "values"})
"""The keys of nodes that are queries."""

PARAMETER_PLACE = "start"
"""The key of a parameter's place in the text among the metadata of its node."""

OUTER_NAMES = "outer"
"""The key of the columns of outer queries that a subquery reads, among the metadata of its node."""

WINDOW_OF_TIME = "window of time"
"""The qualifier of the column of ``window(...)`` and ``session_window(...)``, which no user writes."""

MOST_LEVELS = "levels"
"""The key of the greatest level of a recursive query, among the metadata of its definition in WITH."""

_VERSION = re.compile(r"[vV](\d+)", re.ASCII)
_NAMES = frozenset({"VAR", "IDENTIFIER"})


@dataclass(frozen=True)
class _QueryText:
    """The rules of a text that is one query of a user."""

    is_stored: bool = False
    levels: dict[int, int] = field(default_factory=dict)
    """The greatest levels of recursive queries, by the places of their names in the text."""
    refused_tokens: frozenset[str] = EXPRESSION_REFUSES - {"PLACEHOLDER", "PARAMETER", "HINT"}

    def dialect(self) -> Any:
        return _dialect()

    def prepared(self, tokens: list[Any]) -> list[Any]:
        """The tokens with ``t@v3`` and ``TABLE t`` in other words."""
        found: list[Any] = []
        tokens = without_pipes(self._without_levels(tokens))
        for place, token in enumerate(tokens):
            kind = token.token_type.name
            if kind == "PARAMETER":
                found += _version_words(token, tokens, place)
            elif place and tokens[place - 1].token_type.name == "PARAMETER":
                continue  # The version is among the words already.
            elif kind == "TABLE_SAMPLE" and _kinds(tokens, place + 1, 3) == ["L_PAREN", "NUMBER", "R_PAREN"]:
                raise refused("TABLESAMPLE without ROWS, PERCENT or BUCKET", token.start)
            elif token.text.upper() in _PROGRAMS and _is_program(tokens, place):
                raise refused(
                    f"{token.text.upper()} with USING, which runs a program on the rows,", token.start
                )
            elif kind == "WINDOW" and _kinds(tokens, place + 2, 1) != ["ALIAS"]:
                found.append(replaced_token(token, "VAR", token.text))  # A name, or the function.
            elif kind == "TABLE" and _begins_query(tokens, place):
                found += _selecting(token)
            else:
                found.append(token)
        return found

    def _without_levels(self, tokens: list[Any]) -> list[Any]:
        """The tokens without ``MAX RECURSION LEVEL n``, which stands between a name in WITH and AS."""
        words = [token.text.upper() for token in tokens]
        kept: list[Any] = []
        place = 0
        while place < len(tokens):
            if words[place : place + 3] == ["MAX", "RECURSION", "LEVEL"]:
                number = words[place + 3] if place + 3 < len(words) else ""
                if not number.isdecimal() or not kept:
                    raise refused("MAX RECURSION LEVEL without a whole number", tokens[place].start)
                self.levels[_named(kept).start] = int(number)
                place += 4
            else:
                kept.append(tokens[place])
                place += 1
        return kept


def _is_program(tokens: list[Any], place: int) -> bool:
    """Whether ``SELECT TRANSFORM (...) USING``, or the same with MAP or REDUCE, stands at a place."""
    before = tokens[place - 1].text.upper() if place else ""
    if tokens[place].text.upper() == "TRANSFORM" and before not in ("SELECT", "ALL", "DISTINCT"):
        return False
    depth = 0
    for token in tokens[place + 1 :]:
        depth += {"L_PAREN": 1, "R_PAREN": -1}.get(token.token_type.name, 0)
        if depth < 0 or (depth == 0 and token.token_type.name == "FROM"):
            return False
        if depth == 0 and token.text.upper() == "USING":
            return True
    return False


def _begins_query(tokens: list[Any], place: int) -> bool:
    """Whether a query begins at a place of the tokens: at the start, after WITH, in parentheses and so on."""
    before = tokens[place - 1].token_type.name if place else ""
    return (
        not place or before in _BEFORE_QUERIES or (before == "R_PAREN" and _kinds(tokens, 0, 1) == ["WITH"])
    )


def _kinds(tokens: list[Any], place: int, count: int) -> list[str]:
    return [each.token_type.name for each in tokens[place : place + count]]


def _named(tokens: list[Any]) -> Any:
    """The last name in some tokens that is not among names of columns in brackets."""
    place = len(tokens) - 1
    if tokens[place].token_type.name == "R_PAREN":
        while place and tokens[place].token_type.name != "L_PAREN":
            place -= 1
        place -= 1
    return tokens[max(place, 0)]


_PROGRAMS = frozenset({"TRANSFORM", "MAP", "REDUCE"})
_BEFORE_QUERIES = frozenset({"L_PAREN", "UNION", "ALL", "EXCEPT", "INTERSECT"})


def parse_query(text: str) -> "exp.Expr":
    """The tree of one query.

    Raises `UnsupportedFeatureError` for a text that is not one query of the supported part of Spark SQL.
    """
    rules = _QueryText()
    tree = parse_statement(text, rules)
    for each in tree.walk() if rules.levels else ():
        if (
            each.key == "cte"
            and (most := rules.levels.get(each.args["alias"].this.meta["start"])) is not None
        ):
            each.meta[MOST_LEVELS] = most
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
    return [replaced_token(at, kind, text) for kind, text in words]


def _selecting(token: Any) -> list[Any]:
    words = (("SELECT", "SELECT"), ("STAR", "*"), ("FROM", "FROM"))
    return [replaced_token(token, kind, text) for kind, text in words]
