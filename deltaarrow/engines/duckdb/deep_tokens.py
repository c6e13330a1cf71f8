"""Tokens of deeply nested expressions, made shallow for sqlglot, which parses brackets by recursion.

What a statement reads is found in its tree: tables, columns, functions and conditions. Deep below brackets
only names matter. So a call or a bracket there becomes an array of its names, and no array skips files:

    abs(f(t.a + 1) * b)  ->  ([f(t.a, b)])

Brackets with a query, a star or a parameter stay, and so do those after a keyword, which may have a syntax of
their own, as in CAST.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

__all__ = ["shallow"]

_MOST_DEPTH = 20
_OPENING = {"L_PAREN": "R_PAREN", "L_BRACKET": "R_BRACKET"}
_QUERIES = frozenset(
    (
        *("SELECT", "FROM", "VALUES", "TABLE", "WITH", "PIVOT", "UNPIVOT"),
        *("PARAMETER", "PLACEHOLDER", "HASH", "L_BRACE"),
    )
)
_BEFORE_STAR = frozenset(("L_PAREN", "COMMA", "DOT"))
_BEFORE_OPERAND = frozenset(
    (
        *("L_PAREN", "L_BRACKET", "COMMA", "PLUS", "DASH", "STAR", "SLASH", "MOD", "DPIPE"),
        *("EQ", "NEQ", "LT", "LTE", "GT", "GTE", "AND", "OR", "NOT", "CASE", "WHEN", "THEN", "ELSE"),
    )
)
"""Tokens behind which a bracket is an operand, not the arguments of a call."""


def shallow(tokens: Sequence[Any], known_functions: Collection[str]) -> list[Any]:
    """Return the tokens of a statement with what is deep below brackets replaced by the names in it.

    Args:
        tokens: those of sqlglot.
        known_functions: the upper-case names of functions that sqlglot knows.
    """
    ends = _ends(tokens)
    found: list[Any] = []
    closing: list[int] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        end = ends.get(place)
        if end is not None and len(closing) >= _MOST_DEPTH:
            group, before = tokens[place : end + 1], _kind(found[-1]) if found else ""
            is_call = before == "VAR" and not (len(found) > 1 and _kind(found[-2]) in ("DOT", "ALIAS"))
            if (is_call or before in _BEFORE_OPERAND) and _is_expression(group):
                calls = [found.pop()] if is_call else []
                found += _names(token, [*calls, *group], known_functions)
                place = end + 1
                continue
        if end is not None:
            closing.append(end)
        elif closing and closing[-1] == place:
            closing.pop()
        found.append(token)
        place += 1
    return found


def _kind(token: Any) -> str:
    return str(token.token_type.name)


def _ends(tokens: Sequence[Any]) -> dict[int, int]:
    """Where each bracket closes that opens at a place."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for place, token in enumerate(tokens):
        kind = _kind(token)
        if kind in _OPENING:
            opened.append(place)
        elif opened and kind == _OPENING[_kind(tokens[opened[-1]])]:
            ends[opened.pop()] = place
    return ends


def _is_expression(group: Sequence[Any]) -> bool:
    kinds = [_kind(each) for each in group]
    stars = any(kind == "STAR" and kinds[place - 1] in _BEFORE_STAR for place, kind in enumerate(kinds))
    return not stars and _QUERIES.isdisjoint(kinds) and not any(_is_columns(each) for each in group)


def _is_columns(token: Any) -> bool:
    return bool(token.text.upper() == "COLUMNS")


def _names(at: Any, tokens: Sequence[Any], known_functions: Collection[str]) -> Iterator[Any]:
    """The tokens of an array of names and strings, in calls of the functions that sqlglot does not know."""
    comma = _token(at, "COMMA", ",")
    paths: list[Any] = []
    functions: dict[str, Any] = {}
    for place, token in enumerate(tokens):
        kind = _kind(token)
        after = _kind(tokens[place + 1]) if place + 1 < len(tokens) else ""
        if kind == "VAR" and after == "L_PAREN":
            if token.text.upper() not in known_functions:
                functions.setdefault(token.text, token)
        elif kind in ("VAR", "IDENTIFIER", "STRING") and after not in ("VAR", "IDENTIFIER"):
            is_member = place and _kind(tokens[place - 1]) == "DOT" and paths and paths[-1] is not comma
            paths += [tokens[place - 1], token] if is_member else [*([comma] if paths else []), token]
    opening, closing = _token(at, "L_PAREN", "("), _token(at, "R_PAREN", ")")
    yield from (opening, _token(at, "L_BRACKET", "["))
    for number, function in enumerate(functions.values()):
        yield from ([comma] if number else [])
        yield from (function, opening, *([] if number else paths), closing)
    yield from [] if functions else paths
    yield from (_token(at, "R_BRACKET", "]"), closing)


def _token(at: Any, kind: str, text: str) -> Any:
    from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

    return Token(TokenType[kind], text, line=at.line, col=at.col, start=at.start, end=at.end)
