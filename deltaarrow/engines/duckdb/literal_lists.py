"""Long ``IN`` lists of literals as one token of a DuckDB statement.

A statement is parsed to find its tables and conditions, and DuckDB gets its text, so the tree needs no node
for each literal of a long list. A list becomes one number whose text is no number; `ListedLiterals` knows
the literals. Whoever does not ask for them reads an unknown constant.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["ListedLiterals", "list_members", "shortened_lists"]

_LONG = 64
_LITERALS = ("NUMBER", "STRING")

ListedLiterals = Mapping[str, Sequence[Any]]
"""The tokens of the literals of long lists, by the text of the number in their place."""


def shortened_lists(tokens: Sequence[Any]) -> tuple[list[Any], ListedLiterals]:
    """Return the tokens with one token for each long list of literals, and the literals.

    Lists with anything but numbers, negative numbers and strings stay as they are.
    """
    kept: list[Any] = []
    lists: dict[str, Sequence[Any]] = {}
    done = 0
    for place, token in enumerate(tokens):
        if place < done or token.token_type.name != "IN":
            continue
        begin = place + 2
        end = _end_of_literals(tokens, begin) if _kind(tokens, place + 1) == "L_PAREN" else None
        if end is not None and end - begin >= 2 * _LONG:
            text = f"literals at {tokens[begin].start}"
            lists[text] = tokens[begin:end]
            kept += [*tokens[done:begin], _number(tokens[begin], text, tokens[end - 1].end)]
            done = end
    return [*kept, *tokens[done:]], lists


def list_members(literals: Sequence[Any]) -> Iterator["exp.Expr"]:
    """Yield the node of each literal, as the parser makes it."""
    from sqlglot import exp

    is_negative = False
    for token in literals:
        kind = token.token_type.name
        if kind == "DASH":
            is_negative = True
        elif kind != "COMMA":
            node = exp.Literal(this=token.text, is_string=kind == "STRING")
            yield exp.Neg(this=node) if is_negative else node
            is_negative = False


def _kind(tokens: Sequence[Any], place: int) -> str:
    return str(tokens[place].token_type.name) if place < len(tokens) else ""


def _end_of_literals(tokens: Sequence[Any], place: int) -> int | None:
    """The place of the bracket that ends a list of literals; None if there is anything else in it."""
    while True:
        kind = _kind(tokens, place)
        if kind == "DASH":
            place += 1
            kind = "" if _kind(tokens, place) == "STRING" else _kind(tokens, place)
        if kind not in _LITERALS:
            return None
        following = _kind(tokens, place + 1)
        if following == "R_PAREN":
            return place + 1
        if following != "COMMA":
            return None
        place += 2


def _number(token: Any, text: str, end: int) -> Any:
    from sqlglot.tokenizer_core import Token, TokenType

    return Token(TokenType.NUMBER, text, token.line, token.col, token.start, end, [])
