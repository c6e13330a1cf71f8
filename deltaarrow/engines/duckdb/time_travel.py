"""Tables at an older version, and tables by a call, in the tokens of a DuckDB statement.

============================================  =========================================================
in a statement                                what it stands for
============================================  =========================================================
``lake.t AT (VERSION => 3)``                  the table at a version
``lake.t AT (TIMESTAMP => now() - ...)``      the table as it was at a time, by DuckDB's rules for times
``delta_scan('/data/t')``                     the table at this place; ``version => 3`` and
                                              ``timestamp => ...`` may follow
``table_changes('lake.t', 3, 5)``             the changed rows of versions 3 to 5, or from 3 on
``table_changes_by_path('/data/t', ...)``     the same for the table at this place
``delta_history('lake.t')`` and others        what the log says of the table with this name or at this
                                              place; ``version`` and ``timestamp`` may follow
============================================  =========================================================

sqlglot gives the nodes of calls no place in the text, so a call becomes one token before the text is parsed.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from deltaarrow.catalogs import fold
from deltaarrow.errors import UnsupportedFeatureError

__all__ = ["CALLS", "CHANGES", "INSPECTIONS", "SCAN", "Call", "Travel", "Word", "folded_tokens"]

SCAN = "delta_scan"
CHANGES = "table_changes"
INSPECTIONS = frozenset(
    (
        *("delta_clustering", "delta_columns", "delta_deletion_vectors", "delta_detail", "delta_files"),
        *("delta_history", "delta_partitions", "delta_tombstones"),
    )
)
"""The functions that stand for what the log says of a Delta table."""

CALLS = frozenset((SCAN, CHANGES, "table_changes_by_path")) | INSPECTIONS
"""The functions that stand for rows of Delta tables, or about them."""

_KINDS = ("version", "timestamp")
_AFTER_FROM = ("FROM", "JOIN", "COMMA", "L_PAREN", "LATERAL")
_MOST_DIGITS = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Word = str | int | float
"""A literal of a call."""

Evaluate = Callable[[str], Any]
"""Runs a query of one value on the connection."""


@dataclass(frozen=True)
class Travel:
    """A version or a time, written as `text`; `placeholder` is its name in the parameters if it is one."""

    kind: str
    text: str
    placeholder: str | None = None

    def resolve(self, values: Mapping[str, Any], evaluate: Evaluate) -> int | datetime:
        """Return the version, or the time.

        Raises `UnsupportedFeatureError` for what is neither a whole number nor a time.
        """
        value: Any = int(self.text) if self.text.isdecimal() and len(self.text) < _MOST_DIGITS else None
        if self.placeholder is not None:
            value = values.get(self.placeholder)
            if value is None:
                raise self._refused(f"the parameter {self.text} has no value")
        if self.kind == "version":
            if value is None or isinstance(value, bool) or not isinstance(value, int):
                raise self._refused(f"{self.text} is no version: give a whole number or a parameter")
            return int(value)
        if isinstance(value, datetime):
            return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        text = self.text if self.placeholder is None else "'{}'".format(str(value).replace("'", "''"))
        microseconds = evaluate(f"SELECT epoch_us(CAST(({text}) AS TIMESTAMPTZ))")
        if microseconds is None:
            raise self._refused(f"{self.text} is NULL, and no time")
        return _EPOCH + timedelta(microseconds=microseconds)

    @property
    def placeholders(self) -> dict[str, str]:
        """The parameter, as the text has it, by name."""
        return {} if self.placeholder is None else {self.placeholder: self.text}

    def _refused(self, why: str) -> UnsupportedFeatureError:
        return UnsupportedFeatureError(f"AT ({self.kind.upper()} => ...): {why}", feature="time travel")


@dataclass(frozen=True)
class Call:
    """A call of one of `CALLS`; a `Travel` among the arguments of a feed of changes is a parameter."""

    name: str
    arguments: tuple[Word | Travel, ...]
    travel: Travel | None = None

    def text(self, values: Mapping[str, Any]) -> str:
        """Return the first argument, which tells the table."""
        first = self._value(self.arguments[0], values) if self.arguments else None
        if not isinstance(first, str):
            raise self._refused("the first argument is a text that tells the table")
        return first

    def bounds(self, values: Mapping[str, Any]) -> tuple[int | str, int | str | None]:
        """Return the first and the last version or time of a feed of changes."""
        found = [self._value(each, values) for each in self.arguments[1:]]
        if not 1 <= len(found) <= 2 or not all(
            isinstance(each, int | str) and not isinstance(each, bool) for each in found
        ):
            raise self._refused("a first and possibly a last version follow the table, or texts of times")
        return found[0], found[1] if len(found) == 2 else None

    def _value(self, argument: "Word | Travel", values: Mapping[str, Any]) -> Any:
        if not isinstance(argument, Travel):
            return argument
        if values.get(argument.placeholder or "") is None:
            raise self._refused(f"the parameter {argument.text} has no value")
        return values[argument.placeholder or ""]

    @property
    def placeholders(self) -> dict[str, str]:
        """The parameters in the call, as the text has them, by name."""
        parts = [each for each in (*self.arguments, self.travel) if isinstance(each, Travel)]
        return {name: text for each in parts for name, text in each.placeholders.items()}

    def _refused(self, why: str) -> UnsupportedFeatureError:
        return UnsupportedFeatureError(f"{self.name}: {why}", feature=self.name)


def folded_tokens(tokens: Sequence[Any], text: str) -> tuple[list[Any], dict[int, "Travel | Call"]]:
    """Return the tokens without calls of `CALLS` and without AT, and what was there by its place.

    A call becomes a name; AT becomes a part of the name before it. The place is where this name starts.

    Raises `UnsupportedFeatureError` for arguments that are neither literals nor parameters.
    """
    kept: list[Any] = []
    found: dict[int, Travel | Call] = {}
    place = 0
    while place < len(tokens):
        token, end = tokens[place], None
        if _is_call(tokens, place):
            end = _closing(tokens, place + 1)
            if end is not None:
                found[token.start] = _call(tokens[place : end + 1], text)
                kept.append(_named(token, token.text, tokens[end].end))
        elif kept and _is_travel(tokens, place) and _is_name(kept[-1]):
            end = _closing(tokens, place + 1)
            if end is not None:
                value = tokens[place + 4 : end]
                found[kept[-1].start] = _travel(fold(tokens[place + 2].text), value, text)
                kept[-1] = _named(kept[-1], kept[-1].text, tokens[end].end)
        if end is None:
            kept.append(token)
        place = place + 1 if end is None else end + 1
    return kept, found


def _kind(tokens: Sequence[Any], place: int) -> str:
    return str(tokens[place].token_type.name) if 0 <= place < len(tokens) else ""


def _is_name(token: Any) -> bool:
    return token.token_type.name in ("VAR", "IDENTIFIER", "STRING") or str(token.text).isidentifier()


def _is_call(tokens: Sequence[Any], place: int) -> bool:
    is_called = _kind(tokens, place) in ("VAR", "IDENTIFIER") and _kind(tokens, place + 1) == "L_PAREN"
    return is_called and fold(tokens[place].text) in CALLS and _kind(tokens, place - 1) in _AFTER_FROM


def _is_travel(tokens: Sequence[Any], place: int) -> bool:
    if _kind(tokens, place + 1) != "L_PAREN":
        return False
    words = [fold(each.text) for each in tokens[place : place + 4]]
    return (
        len(words) == 4 and words[0] == "at" and words[1] == "(" and words[2] in _KINDS and words[3] == "=>"
    )


def _closing(tokens: Sequence[Any], place: int) -> int | None:
    """The place of the bracket that closes the one at a place."""
    depth = 0
    for at in range(place, len(tokens)):
        depth += {"L_PAREN": 1, "R_PAREN": -1}.get(_kind(tokens, at), 0)
        if depth == 0:
            return at
    return None


def _named(token: Any, text: str, end: int) -> Any:
    """A name in place of a token, up to another end."""
    from sqlglot.tokenizer_core import Token, TokenType

    return Token(
        TokenType.IDENTIFIER, text, token.line, token.col, token.start, end, copy.copy(token.comments)
    )


def _travel(kind: str, tokens: Sequence[Any], text: str) -> Travel:
    """The version or time that some tokens say."""
    if not tokens:
        raise UnsupportedFeatureError(f"AT ({kind.upper()} => ...) needs a value", feature="time travel")
    written = text[tokens[0].start : tokens[-1].end + 1]
    names = [token for token in tokens if token.token_type.name in ("PLACEHOLDER", "PARAMETER")]
    if not names:
        return Travel(kind, written)
    if names[0] is not tokens[0] or len(tokens) > 2 or len(names) > 1:
        raise UnsupportedFeatureError(
            f"AT ({kind.upper()} => {written}): a parameter has to stand alone", feature="time travel"
        )
    return Travel(kind, written, f"?{tokens[0].start}" if len(tokens) == 1 else fold(str(tokens[1].text)))


def _call(tokens: Sequence[Any], text: str) -> Call:
    name = fold(tokens[0].text)
    arguments: list[Word | Travel] = []
    travel = None
    for part in _arguments(tokens[2:-1]):
        if len(part) > 2 and part[1].token_type.name in ("FARROW", "COLON_EQ", "EQ"):
            takes_travel = name == SCAN or name in INSPECTIONS
            if not takes_travel or fold(part[0].text) not in _KINDS or travel is not None:
                raise UnsupportedFeatureError(
                    f"{name} has no argument {part[0].text!r} here: delta_scan and functions about a table"
                    " take version or timestamp",
                    feature=name,
                )
            travel = _travel(fold(part[0].text), part[2:], text)
        else:
            arguments.append(_argument(name, part, text))
    if (name == SCAN or name in INSPECTIONS) and len(arguments) != 1:
        raise UnsupportedFeatureError(f"{name} takes one table, as a text", feature=name)
    return Call(name, tuple(arguments), travel)


def _arguments(tokens: Sequence[Any]) -> Iterator[list[Any]]:
    part: list[Any] = []
    depth = 0
    for token in tokens:
        depth += {"L_PAREN": 1, "R_PAREN": -1}.get(token.token_type.name, 0)
        if depth == 0 and token.token_type.name == "COMMA":
            yield part
            part = []
        else:
            part.append(token)
    if part or tokens:
        yield part


def _argument(name: str, part: Sequence[Any], text: str) -> Word | Travel:
    kinds = [token.token_type.name for token in part]
    if kinds == ["STRING"]:
        return str(part[0].text)
    if kinds == ["NUMBER"] and part[0].text.isdecimal():
        return int(part[0].text)
    if kinds and kinds[0] in ("PLACEHOLDER", "PARAMETER"):
        return _travel("argument", part, text)
    written = text[part[0].start : part[-1].end + 1] if part else ""
    raise UnsupportedFeatureError(
        f"{name} takes texts, whole numbers and parameters, not {written!r}", feature=name
    )
