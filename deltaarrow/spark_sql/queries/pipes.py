"""The pipe syntax of queries, ``FROM t |> WHERE a > 1 |> SELECT b``, as SELECTs that stand in each other.

It is rewritten before it is parsed, token by token, so that errors keep their places in the text. With
``FROM s`` for the relations so far, an operator becomes a query, and a relation for the next operator:

======================================  =================================================================
operator                                query
======================================  =================================================================
``|> SELECT a, b``                      ``SELECT a, b FROM s``
``|> EXTEND a + 1 AS b``                ``SELECT *, a + 1 AS b FROM s``
``|> DROP a, b``                        ``SELECT * EXCEPT (a, b) FROM s``
``|> AGGREGATE sum(a) GROUP BY b``      ``SELECT b, sum(a) FROM s GROUP BY 1``
``|> ORDER BY a``                       ``SELECT * FROM s ORDER BY a``; a LIMIT behind it belongs to it
``|> PIVOT (...)``, ``|> AS t``         ``SELECT * FROM (SELECT * FROM s) PIVOT (...)``
``|> UNION ALL q``                      ``(SELECT * FROM s) UNION ALL q``
======================================  =================================================================

Joins and conditions only add to the relations, whose names operators behind them can use.
"""

from collections.abc import Callable, Sequence
from typing import Any

from deltaarrow.spark_sql.text.parsing import replaced_token
from deltaarrow.spark_sql.tree.nodes import refused

__all__ = ["without_pipes"]

_Tokens = list[Any]
_PIPE = "PIPE_GT"
_JOINS = ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "SEMI", "ANTI", "LATERAL")
_OF_ONE_RELATION = ("AS", "PIVOT", "UNPIVOT", "TABLESAMPLE")
_SET_OPERATIONS = ("UNION", "INTERSECT", "EXCEPT", "MINUS")
_ORDERS = ("ORDER", "SORT", "CLUSTER", "DISTRIBUTE")
_LIMITS = ("LIMIT", "OFFSET")
_CLAUSES = frozenset(("SELECT", "WHERE", "GROUP", "HAVING", "WINDOW", *_ORDERS, *_LIMITS, *_SET_OPERATIONS))
_KINDS = {
    "(": "L_PAREN",
    ")": "R_PAREN",
    "*": "STAR",
    ",": "COMMA",
    "AND": "AND",
    "EXCEPT": "EXCEPT",
    "FROM": "FROM",
    "GROUP BY": "GROUP_BY",
    "SELECT": "SELECT",
    "WHERE": "WHERE",
}


def without_pipes(tokens: Sequence[Any]) -> _Tokens:
    """The tokens of the same query without pipes. `UnsupportedFeatureError` for an unknown operator."""
    if not any(_kind(each) == _PIPE for each in tokens):
        return list(tokens)
    found: _Tokens = []
    place = 0
    while place < len(tokens):
        end = _closing(tokens, place) if _kind(tokens[place]) == "L_PAREN" else place
        found.append(tokens[place])
        if end > place:
            found += [*without_pipes(tokens[place + 1 : end]), *tokens[end : end + 1]]
        place = end + 1
    query, *operators = _split(found, lambda token: _kind(token) == _PIPE)
    if not operators:
        return found
    piped = _Piped(query)
    for operator in operators:
        if not operator:
            raise refused("|> without an operator", tokens[-1].start)
        piped.apply(operator)
    return piped.query


class _Piped:
    """A query that grows by operators.

    Attributes:
        query: its tokens.
    """

    def __init__(self, query: _Tokens) -> None:
        self.query = query
        self._relations = self._nested()
        self._condition: _Tokens = []
        self._is_ordered = False
        words = {_word(each) for each in _outside(query)}
        if query and _word(query[0]) == "FROM" and not words & _CLAUSES:
            self._relations = query

    def apply(self, operator: _Tokens) -> None:
        """Add an operator."""
        first, rest, word = operator[0], operator[1:], _word(operator[0])
        words = _Maker(first)
        if word in _LIMITS and self._is_ordered:
            self.query = [*self.query, *operator]
            self._relations = self._nested()
            return
        source = [*self._relations, *self._condition]
        if word == "WHERE":
            joined = words("AND") if self._condition else words("WHERE")
            self._condition = [*self._condition, *joined, *words("("), *rest, *words(")")]
            self.query = [*words("SELECT", "*"), *self._relations, *self._condition]
        elif word in _JOINS and not self._condition:
            self._relations = [*self._relations, *operator]
            self.query = [*words("SELECT", "*"), *self._relations]
        elif word in _JOINS or word in _OF_ONE_RELATION:
            self._relations, self._condition = [*self._nested(), *operator], []
            self.query = [*words("SELECT", "*"), *self._relations]
        elif word in _SET_OPERATIONS:
            self._finish([*words("("), *self.query, *words(")"), *operator])
        else:
            self._finish(_selected(word, operator, source, words))
        self._is_ordered = word in _ORDERS

    def _finish(self, query: _Tokens) -> None:
        self.query = query
        self._relations, self._condition = self._nested(), []

    def _nested(self) -> _Tokens:
        words = _Maker(self.query[0])
        return [*words("FROM", "("), *self.query, *words(")")]


def _selected(word: str, operator: _Tokens, source: _Tokens, words: "_Maker") -> _Tokens:
    """The SELECT that an operator makes of the relations and their condition."""
    rest = operator[1:]
    if word == "SELECT":
        return [*operator, *source]
    if word == "EXTEND":
        return [*words("SELECT", "*", ","), *rest, *source]
    if word == "DROP":
        return [*words("SELECT", "*", "EXCEPT", "("), *rest, *words(")"), *source]
    if word == "AGGREGATE":
        return _aggregated(rest, source, words)
    if word in _ORDERS or word in _LIMITS:
        return [*words("SELECT", "*"), *source, *operator]
    raise refused(f"|> {word}", operator[0].start)


def _aggregated(rest: _Tokens, source: _Tokens, words: "_Maker") -> _Tokens:
    """``AGGREGATE values [GROUP BY keys]``: the keys come first, and are called by their places."""
    values, *keys = _split(rest, lambda token: _word(token) == "GROUP")
    if not keys:
        return [*words("SELECT"), *values, *source]
    count = len(_split(keys[0], lambda token: _kind(token) == "COMMA"))
    places = [each for place in range(count) for each in words(",", str(place + 1))][1:]
    listed = [*keys[0], *words(","), *values] if values else keys[0]
    return [*words("SELECT"), *listed, *source, *words("GROUP BY"), *places]


def _outside(tokens: _Tokens) -> _Tokens:
    """The tokens outside of parentheses."""
    depth, found = 0, []
    for token in tokens:
        depth += {"L_PAREN": 1, "R_PAREN": -1}.get(_kind(token), 0)
        if depth == 0:
            found.append(token)
    return found


def _split(tokens: _Tokens, ends: Callable[[Any], bool]) -> list[_Tokens]:
    """The tokens between those outside of parentheses that end a part."""
    parts: list[_Tokens] = [[]]
    depth = 0
    for token in tokens:
        depth += {"L_PAREN": 1, "R_PAREN": -1}.get(_kind(token), 0)
        if depth == 0 and ends(token):
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _closing(tokens: Sequence[Any], place: int) -> int:
    """The place of the parenthesis that closes the one at a place; the end if there is none."""
    depth = 0
    for at in range(place, len(tokens)):
        depth += {"L_PAREN": 1, "R_PAREN": -1}.get(_kind(tokens[at]), 0)
        if depth == 0:
            return at
    return len(tokens)


class _Maker:
    """Makes the words that the rewritten query has more, in the place of an operator."""

    def __init__(self, token: Any) -> None:
        self._token = token

    def __call__(self, *words: str) -> _Tokens:
        return [replaced_token(self._token, _KINDS.get(each, "NUMBER"), each) for each in words]


def _kind(token: Any) -> str:
    return str(token.token_type.name)


def _word(token: Any) -> str:
    """The word, or the first one of those that sqlglot takes for one, such as GROUP BY."""
    return str(token.text).upper().partition(" ")[0]
