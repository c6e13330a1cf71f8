"""Long ``IN`` lists of literals as one token, so that a parser does not read literal by literal.

A list becomes one number whose text is no number; `ListedLiterals` knows the tokens of the literals, and
`listed_members` makes of them the nodes that the parser would have made.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["ListedLiterals", "listed_members", "shortened_lists"]

_LONG = 64
_SIGNLESS = ("STRING", "NULL")
_LITERALS = ("NUMBER", *_SIGNLESS)

ListedLiterals = Mapping[str, Sequence[Any]]
"""The tokens of the literals of long lists, by the text of the number that replaces them."""


def shortened_lists(tokens: Sequence[Any]) -> tuple[Sequence[Any], ListedLiterals]:
    """Return the tokens with one token for each long list of literals, and the literals.

    Lists with anything but numbers, negative numbers, strings and NULL stay as they are.
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


def listed_members(node: "exp.Expr", lists: ListedLiterals) -> "list[exp.Expr] | None":
    """The nodes of the literals if a node is an IN with one of the lists, as the parser makes them."""
    members = node.expressions if node.key == "in" else []
    is_number = len(members) == 1 and members[0].key == "literal" and not members[0].is_string
    literals = lists.get(members[0].name) if is_number else None
    return None if literals is None else list(_members(literals))


def _members(literals: Sequence[Any]) -> Iterator["exp.Expr"]:
    from sqlglot import exp

    is_negative = False
    for token in literals:
        kind = token.token_type.name
        if kind == "DASH":
            is_negative = True
        elif kind != "COMMA":
            literal = exp.Literal(this=token.text, is_string=kind == "STRING").update_positions(token)
            signed = exp.Neg(this=literal) if is_negative else literal
            yield exp.Null() if kind == "NULL" else signed
            is_negative = False


def _kind(tokens: Sequence[Any], place: int) -> str:
    return str(tokens[place].token_type.name) if place < len(tokens) else ""


def _end_of_literals(tokens: Sequence[Any], place: int) -> int | None:
    """The index of the bracket that ends a list of literals; None if there is anything else in it."""
    while True:
        kind = _kind(tokens, place)
        if kind == "DASH":
            place += 1
            kind = _kind(tokens, place)
            if kind in _SIGNLESS:
                return None
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
