"""Tokens of JSON texts in many rows: RFC 8259, without a loop over rows.

The quotes before a character decide whether it is in a string; the brackets before it give its depth. Each
pair of neighbouring tokens and the bracket around them decide whether the whole is JSON.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.variant.ragged import Bytes, Ints, Mask, joined, spans

__all__ = ["MAX_DEPTH", "Token", "Tokens", "read_tokens"]

MAX_DEPTH = 1000
"""The greatest nesting depth of a text; Spark's parser has the same limit."""


class Token(IntEnum):
    """The kind of token that begins at a position."""

    SCALAR = 1
    STRING = 2
    OPEN_OBJECT = 3
    OPEN_ARRAY = 4
    CLOSE_OBJECT = 5
    CLOSE_ARRAY = 6
    COMMA = 7
    COLON = 8


class Tokens(NamedTuple):
    """The values and names in the texts, in order, without other structure.

    Strings span their content without quotes. `parents` are the indices of the objects and arrays that
    contain the values and names, -1 for none; `levels` are the nesting depths.
    """

    data: Bytes
    kinds: Ints
    starts: Ints
    ends: Ints
    rows: Ints
    levels: Ints
    parents: Ints
    is_name: Mask
    is_escaped: Mask


_QUOTE, _BACKSLASH = ord('"'), ord("\\")
_BRACKETS = {"{": Token.OPEN_OBJECT, "}": Token.CLOSE_OBJECT, "[": Token.OPEN_ARRAY, "]": Token.CLOSE_ARRAY}
_CLASSES = np.full(256, Token.SCALAR, np.uint8)
for _character, _token in {**_BRACKETS, ",": Token.COMMA, ":": Token.COLON}.items():
    _CLASSES[ord(_character)] = _token
for _character in ' \t\n\r"':
    _CLASSES[ord(_character)] = 0

_AFTER = np.zeros((9, 9), np.bool_)
"""Which token may follow which, regardless of names, commas and the enclosing bracket."""
_BEGINNINGS = (Token.SCALAR, Token.STRING, Token.OPEN_OBJECT, Token.OPEN_ARRAY)
_ENDINGS = (Token.SCALAR, Token.STRING, Token.CLOSE_OBJECT, Token.CLOSE_ARRAY)
_AFTER[np.ix_((0, Token.OPEN_ARRAY, Token.COMMA, Token.COLON), _BEGINNINGS)] = True
_AFTER[Token.OPEN_ARRAY, Token.CLOSE_ARRAY] = True
_AFTER[Token.OPEN_OBJECT, (Token.STRING, Token.CLOSE_OBJECT)] = True
_AFTER[np.ix_(_ENDINGS, (Token.COMMA, Token.COLON, Token.CLOSE_OBJECT, Token.CLOSE_ARRAY))] = True


def read_tokens(texts: pa.Array) -> Tokens:
    """The tokens of a large_string array without NULLs.

    Raises:
        SchemaMismatchError: a text is not JSON (the spelling of scalars is not checked here), or is nested
            too deeply.
    """
    lines = joined(texts.cast(pa.large_binary()), pa.repeat(pa.scalar(b"\n", pa.large_binary()), len(texts)))
    data, row_starts, row_ends = spans(lines)
    used = int(row_ends[-1]) if len(row_ends) else 0
    data = data[:used]
    marks = _CLASSES[data]
    opening, closing, backslashes = _strings(data)
    # Each string becomes one mark, at its opening quote.
    inside = np.zeros(used + 1, np.int8)
    inside[opening] = 1
    inside[closing + 1] -= 1
    inside = np.cumsum(inside, dtype=np.int8)[:used].astype(np.bool_)
    _ensure(not (inside & (data < 0x20)).any(), "a string is not closed, or holds a control character")
    marks[inside] = 0
    is_part = marks == Token.SCALAR
    is_first = is_part.copy()
    is_first[1:] &= ~is_part[:-1]
    marks[is_part & ~is_first] = 0
    marks[opening] = Token.STRING
    starts = np.flatnonzero(marks)
    kinds = marks[starts].astype(np.int64)
    rows = np.repeat(np.arange(len(texts)), np.diff(np.searchsorted(starts, np.append(row_starts, used))))
    _ensure(np.count_nonzero(np.diff(rows, prepend=-1)) == len(texts), "a text is empty")
    ends = starts + 1
    ends[kinds == Token.STRING] = closing
    is_last = is_part
    is_last[:-1] &= ~is_part[1:]
    ends[kinds == Token.SCALAR] = np.flatnonzero(is_last) + 1
    levels, parents = _nesting(kinds, rows)
    is_name = _names(kinds, rows, parents)
    escaped = np.searchsorted(backslashes, starts) < np.searchsorted(backslashes, ends)
    starts[kinds == Token.STRING] += 1
    kept = np.flatnonzero(kinds <= Token.OPEN_ARRAY)
    numbers = np.cumsum(kinds <= Token.OPEN_ARRAY) - 1
    parents = np.where(parents < 0, -1, numbers[parents])
    return Tokens(
        data,
        kinds[kept],
        starts[kept],
        ends[kept],
        rows[kept],
        levels[kept],
        parents[kept],
        is_name[kept],
        escaped[kept],
    )


def _strings(data: Bytes) -> tuple[Ints, Ints, Ints]:
    """The opening quotes of strings, their closing quotes, and all backslashes."""
    quotes = data == _QUOTE
    backslashes = np.flatnonzero(data == _BACKSLASH)
    if len(backslashes):
        # In a run of backslashes every other one, from the first, escapes the next character.
        is_first = np.append(True, np.diff(backslashes) > 1)
        first = backslashes[np.maximum.accumulate(np.where(is_first, np.arange(len(is_first)), 0))]
        quotes[backslashes[(backslashes - first) % 2 == 0] + 1] = False
    places = np.flatnonzero(quotes)
    _ensure(len(places) % 2 == 0, "a string is not closed")
    return places[::2], places[1::2], backslashes


def _nesting(kinds: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """The number of brackets around each token (for a bracket, around its pair), and the innermost one."""
    opens = (kinds == Token.OPEN_OBJECT) | (kinds == Token.OPEN_ARRAY)
    closes = (kinds == Token.CLOSE_OBJECT) | (kinds == Token.CLOSE_ARRAY)
    depths = np.cumsum(opens.astype(np.int64) - closes)
    ends_row = np.append(np.diff(rows) > 0, True) if len(rows) else np.empty(0, np.bool_)
    _ensure(bool((depths >= 0).all() and (depths[ends_row] == 0).all()), "brackets do not match")
    levels = depths - opens
    deepest = int(levels.max(initial=0))
    _ensure(deepest < MAX_DEPTH, f"it is nested more than {MAX_DEPTH} levels deep")
    parents = np.full(len(kinds), -1)
    order = np.argsort(levels.astype(np.int16), kind="stable")  # a radix sort
    bounds = np.searchsorted(levels[order], np.arange(deepest + 2))
    above = np.empty(0, np.int64)
    for level in range(deepest + 1):
        here = order[bounds[level] : bounds[level + 1]]
        if level:
            parents[here] = above[np.searchsorted(above, here) - 1]
        above = here[opens[here]]
        closing = here[closes[here]]
        _ensure(
            len(above) == len(closing) and bool((kinds[closing] == kinds[above] + 2).all()),
            "brackets do not match",
        )
    return levels, parents


def _names(kinds: Ints, rows: Ints, parents: Ints) -> Mask:
    """Which tokens are field names; also checks the tokens between brackets."""
    around = np.where(parents < 0, 0, kinds[parents])
    before = np.append(0, kinds[:-1])
    before[np.append(True, np.diff(rows) > 0)] = 0
    in_object = around == Token.OPEN_OBJECT
    expects_name = (before == Token.OPEN_OBJECT) | ((before == Token.COMMA) & in_object)
    is_name: Mask = expects_name & (kinds == Token.STRING)
    after_name = np.append(False, is_name[:-1])
    holds = _AFTER[before, kinds]
    holds &= ~expects_name | is_name | ((before == Token.OPEN_OBJECT) & (kinds == Token.CLOSE_OBJECT))
    holds &= (kinds == Token.COLON) == after_name
    holds &= (around > 0) | ((kinds != Token.COMMA) & (kinds != Token.COLON))
    _ensure(bool(holds.all()), "commas, colons, names or values are in the wrong places")
    return is_name


def _ensure(holds: bool, otherwise: str) -> None:
    if not holds:
        raise SchemaMismatchError(f"a text is not JSON: {otherwise}")
