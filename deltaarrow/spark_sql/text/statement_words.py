"""The text of SQL statements: their ends, their words, and the tables that they name by path.

Nothing is parsed further than needed: what stands between the words is handed on as it is written.
"""

import contextlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from deltaarrow.display.marked_line import marked_line, shortened
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.spark_sql.text.parsing import string_value, tokenize, tokenize_duckdb

__all__ = [
    "FunctionCall",
    "TableName",
    "TablePlace",
    "Words",
    "function_calls",
    "one_of_several",
    "split_statements",
    "table_places",
]

_COMMENTS = ("--", "/*")
_DEPTHS = {
    "L_PAREN": 1,
    "L_BRACKET": 1,
    "L_BRACE": 1,
    "CASE": 1,
    "R_PAREN": -1,
    "R_BRACKET": -1,
    "R_BRACE": -1,
    "END": -1,
}
_QUOTED = ("IDENTIFIER", "STRING", "RAW_STRING", "HEX_STRING", "NUMBER")
_NAME = re.compile(r"\w+", re.ASCII)
_PLACES = "delta"
_DIGITS = 19
_MOST_PARTS = 3


@dataclass(frozen=True, slots=True)
class TablePlace:
    """A table named by its path, as in ``delta.`/data/orders` ``, at ``text[start:end]`` of a statement."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TableName:
    """The name of a table, at ``text[start:end]`` of a statement.

    `parts` are without quotes: ``("lake", "orders")``, ``("delta", "/data/orders")`` for a table by its path.
    """

    parts: tuple[str, ...]
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    @property
    def text(self) -> str:
        """The name as messages show it.

        >>> TableName(("delta", "/data/orders")).text
        'delta.`/data/orders`'
        """
        return ".".join(
            each if _NAME.fullmatch(each) else "`{}`".format(each.replace("`", "``")) for each in self.parts
        )


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call whose arguments are literals: texts and whole numbers, at ``text[start:end]`` of a statement."""

    arguments: tuple[str | int, ...]
    start: int
    end: int


def split_statements(text: str, dialect: Literal["duckdb", "spark"] = "spark") -> list[str]:
    r"""Return the statements of a text, which semicolons end, without comments.

    Raises `UnsupportedFeatureError` for a quote or a comment that is not closed.

    >>> split_statements("SELECT ';' ; -- twice; or\nSELECT 2;")
    ["SELECT ';'", 'SELECT 2']
    """
    statements, parts, place = [], list[str](), 0
    for token in tokenize(text) if dialect == "spark" else tokenize_duckdb(text):
        gap = text[place : max(place, token.start)]
        is_comment = any(mark in gap for mark in _COMMENTS)
        parts.append(_without_comment(gap) if is_comment else gap)
        if token.token_type.name == "SEMICOLON":
            statements.append("".join(parts).strip())
            parts = []
        else:
            parts.append(text[max(place, token.start) : token.end + 1])
        place = max(place, token.end + 1)
    statements.append("".join(parts).strip())
    return [statement for statement in statements if statement]


@contextlib.contextmanager
def one_of_several(text: str, number: int, count: int, dialect: Literal["duckdb", "spark"]) -> Iterator[None]:
    """Let an error tell which statement of a text failed, and that those before it were carried out.

    Args:
        text: the whole text.
        number: that of the statement which runs in the block, from 1.
        count: how many statements the text has.
        dialect: how they are written.
    """
    try:
        yield
    except Exception as error:
        if count > 1:
            before = {1: "nothing was", 2: "the one before it was"}.get(number, "those before it were")
            line = _line_of_statement(text, number, dialect)
            note = f"This is statement {number} of {count}, in line {line} of the text; {before} carried out."
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
        raise


def _line_of_statement(text: str, number: int, dialect: Literal["duckdb", "spark"]) -> int:
    place, is_between = 0, True
    for token in tokenize(text) if dialect == "spark" else tokenize_duckdb(text):
        if token.token_type.name == "SEMICOLON":
            is_between = True
        elif is_between:
            is_between, number = False, number - 1
            place = token.start
            if not number:
                break
    return text.count("\n", 0, place) + 1


def _without_comment(gap: str) -> str:
    return "\n" if "\n" in gap else " "


def table_places(statement: str) -> list[TablePlace]:
    """Return the tables by path of a statement, in the order of the text.

    >>> [place.path for place in table_places("SELECT 'delta.`a`', 1 FROM delta.`/b`")]
    ['/b']
    """
    tokens, found = tokenize(statement), []
    for schema, dot, name in zip(tokens, tokens[1:], tokens[2:], strict=False):
        is_place = schema.text.lower() == _PLACES and dot.token_type.name == "DOT"
        if is_place and name.token_type.name == "IDENTIFIER":
            found.append(TablePlace(name.text, schema.start, name.end + 1))
    return found


def function_calls(statement: str, name: str) -> list[FunctionCall]:
    """Return the calls of a function in a statement, in the order of the text.

    Raises `UnsupportedFeatureError` for an argument that is no literal.

    >>> function_calls("SELECT * FROM f('a', 2)", "f")
    [FunctionCall(arguments=('a', 2), start=14, end=23)]
    """
    words, found = Words(statement), []
    while not words.is_done:
        start = words.start
        is_call = words.take(name)
        if not is_call:
            words.skip()
        elif words.take("("):
            found.append(FunctionCall(tuple(_arguments(words, name)), start, words.end))
    return found


def _arguments(words: "Words", name: str) -> Iterator[str | int]:
    while not words.take(")"):
        yield words.literal(f"an argument of {name}")
        if not words.is_at(")"):
            words.expect(",")


class Words:
    """The words of a statement in Spark's or DuckDB's dialect, one after the other.

    `start` is where the next word begins in the text, `end` where the last one has ended.
    """

    def __init__(self, text: str, dialect: Literal["duckdb", "spark"] = "spark") -> None:
        self.text = text
        self.dialect = dialect
        self._tokens = tokenize(text) if dialect == "spark" else tokenize_duckdb(text)
        self._next = 0

    @property
    def is_done(self) -> bool:
        """Whether there is no further word."""
        return self._next >= len(self._tokens)

    @property
    def start(self) -> int:
        """Where the next word begins, or the text ends."""
        return len(self.text) if self.is_done else self._tokens[self._next].start

    @property
    def end(self) -> int:
        """Where the last word has ended."""
        return 0 if not self._next else self._tokens[self._next - 1].end + 1

    @property
    def ends_with_semicolon(self) -> bool:
        """Whether the last word is a semicolon, which may be followed by a comment."""
        return bool(self._tokens) and self._tokens[-1].token_type.name == "SEMICOLON"

    def find_name(self, parts: Sequence[str]) -> int | None:
        """Return where in the text a name of these parts begins; None if it is not there."""
        wanted = [each for part in parts for each in (".", part.lower())][1:]
        texts = [str(token.text).lower() for token in self._tokens]
        for place in range(len(texts)):
            if texts[place : place + len(wanted)] == wanted:
                return int(self._tokens[place].start)
        return None

    def skip(self) -> None:
        """Go past the next word."""
        self._next += 1

    def here(self) -> int:
        """The place of the next word, for `back_to`."""
        return self._next

    def back_to(self, here: int) -> None:
        """Go back to a place."""
        self._next = here

    def is_at(self, *words: str) -> bool:
        """Whether the next words are these, in letters of either case and not in quotes."""
        tokens = self._tokens[self._next : self._next + len(words)]
        return len(tokens) == len(words) and all(map(_is_word, tokens, words))

    def take(self, *words: str) -> bool:
        """Go past these words if they are the next ones; False if they are not."""
        if not self.is_at(*words):
            return False
        self._next += len(words)
        return True

    def take_table(self, *following: str) -> None:
        """Go past the word TABLE, unless it is the name of a table: before the end or one of some words."""
        token, self._next = self._next, self._next + int(self.is_at("TABLE"))
        if self.is_done or any(self.is_at(each) for each in (";", *following)):
            self._next = token

    def expect(self, *words: str) -> None:
        """Go past these words, or raise `UnsupportedFeatureError` for what is there in their place."""
        if not self.take(*words):
            raise self.refused(f"{' '.join(words)} is expected")

    def name(self, what: str) -> str:
        """Go past a name, and return it without quotes."""
        if self.is_done or self._tokens[self._next].token_type.name not in ("VAR", "IDENTIFIER"):
            raise self.refused(f"{what} is expected")
        self._next += 1
        text: str = self._tokens[self._next - 1].text
        return text

    def identifier(self, what: str) -> str:
        """Go past a name that may also be a keyword, and return it without quotes."""
        token = None if self.is_done else self._tokens[self._next]
        if token is None or not token.text or not self._is_identifier(token):
            raise self.refused(f"{what} is expected")
        self._next += 1
        return str(token.text)

    def _is_identifier(self, token: Any) -> bool:
        raw = self.text[token.start : token.end + 1]
        is_word = _NAME.fullmatch(raw) is not None and not raw[0].isdigit() and _is_word(token, raw)
        return token.token_type.name == "IDENTIFIER" or is_word

    def column(self) -> str:
        """Go past the name of a column, or of a field inside it, and return it in Spark's notation."""
        parts = []
        while True:
            token = None if self.is_done else self._tokens[self._next]
            raw = "" if token is None else self.text[token.start : token.end + 1]
            is_quoted = token is not None and token.token_type.name == "IDENTIFIER"
            if token is None or not (is_quoted or (_NAME.fullmatch(raw) and _is_word(token, raw))):
                raise self.refused("the name of a column is expected")
            parts.append("`{}`".format(token.text.replace("`", "``")) if is_quoted else raw)
            self._next += 1
            if not self.take("."):
                return ".".join(parts)

    def number(self, what: str) -> float:
        """Go past a number that is not negative, and return it."""
        kind = "" if self.is_done else self._tokens[self._next].token_type.name
        number = float(self._tokens[self._next].text) if kind == "NUMBER" else math.inf
        if not math.isfinite(number):
            raise self.refused(f"{what} is expected")
        self._next += 1
        return number

    def whole_number(self, what: str) -> int:
        """Go past a whole number, and return it."""
        if not self._is_whole_number:
            raise self.refused(f"{what} is a whole number")
        self._next += 1
        return int(self._tokens[self._next - 1].text)

    def literal(self, what: str) -> str | int:
        """Go past a text or a whole number, and return it."""
        if self._is_whole_number:
            return self.whole_number(what)
        if not self.is_at_string:
            raise self.refused(f"{what} is a text or a whole number")
        return self.string(what)

    @property
    def is_at_string(self) -> bool:
        """Whether the next word is a text in quotes."""
        return not self.is_done and self._tokens[self._next].token_type.name in ("STRING", "RAW_STRING")

    def string(self, what: str) -> str:
        """Go past a text in quotes, and return it as the dialect reads it."""
        if not self.is_at_string:
            raise self.refused(f"{what}, a text in quotes, is expected")
        token = self._tokens[self._next]
        raw, text = self.text[token.start : token.end + 1], str(token.text)
        self._next += 1
        return string_value(raw) if self.dialect == "spark" else text

    def expect_end(self) -> None:
        """Raise `UnsupportedFeatureError` unless there is no further word; a semicolon may end the text."""
        self.take(";")
        if not self.is_done:
            raise self.refused("the end is expected")

    def table_name(self) -> TableName:
        """Go past the name of a table, of up to three parts, and return it."""
        start, parts = self.start, list[str]()
        while len(parts) < _MOST_PARTS:
            token = None if self.is_done else self._tokens[self._next]
            kind = "" if token is None else token.token_type.name
            raw = "" if token is None else self.text[token.start : token.end + 1]
            is_place = kind == "STRING" and [each.lower() for each in parts] == [_PLACES]
            is_word = token is not None and _NAME.fullmatch(raw) is not None and _is_word(token, raw)
            if token is None or not (kind == "IDENTIFIER" or is_place or is_word) or not token.text:
                raise self.refused("the name of a table is expected")
            parts.append(token.text)
            self._next += 1
            if not self.take("."):
                break
        return TableName(tuple(parts), start, self.end)

    def table_name_or_path(self) -> TableName:
        """Go past the name of a table, or its path in quotes, and return it as a name."""
        if not self.is_at_string:
            return self.table_name()
        start = self.start
        path = self.string("the path of a table")
        if not path:
            self._next -= 1
            raise self.refused("the path of a table is expected")
        return TableName((_PLACES, path), start, self.end)

    def place(self) -> str:
        """Go past a table that is named by its path, and return the path."""
        begun = self._next
        if self.take(_PLACES, ".") and not self.is_done:
            token = self._tokens[self._next]
            if token.token_type.name == "IDENTIFIER":
                self._next += 1
                return str(token.text)
        self._next = begun
        raise self.refused("a table by its path is expected, as delta.`/data/orders`")

    def until(self, *words: str) -> str:
        """Return the text up to the next of some words that is in no brackets and no CASE, or to the end.

        Several words with blanks between them stand for all of them, one after the other.
        """
        start, depth = self.start, 0
        ends = {(each,) for each in words} | {tuple(each.split()) for each in words}
        while not self.is_done:
            if not self._is_member:
                if depth == 0 and any(self.is_at(*each) for each in ends):
                    break
                if depth == 0 and self.is_at(")"):
                    raise self.refused("a bracket is closed that is not open")
                depth += _DEPTHS.get(self._tokens[self._next].token_type.name, 0)
            self._next += 1
        return self.text[start : max(start, self.end)]

    def listed(self, what: str) -> list[str]:
        """Go past expressions in a pair of brackets, with commas between them, and return their texts."""
        if not self.take("("):
            raise self.refused(f"{what} in brackets is expected")
        found = [self.expression(",", ")")]
        while self.take(","):
            found.append(self.expression(",", ")"))
        self.expect(")")
        return found

    def expression(self, *ends: str) -> str:
        """Return the text up to the next of some words, as `until`; there has to be one."""
        text = self.until(*ends)
        if not text:
            raise self.refused("an expression is expected")
        return text

    @property
    def rest(self) -> str:
        """The text from the next word on, without a semicolon at its end; the words are passed."""
        start = self.start
        self.until(";")
        text = self.text[start : max(start, self.end)]
        self.expect_end()
        return text

    def bracketed(self, what: str) -> str:
        """Go past what stands in a pair of brackets, and return it without these."""
        if not self.is_at("("):
            raise self.refused(f"{what} in brackets is expected")
        self._next += 1
        inside = self.until(")")
        self.expect(")")
        return inside

    @property
    def _is_whole_number(self) -> bool:
        """Whether the next word is a whole number, of so many digits as a BIGINT has at most."""
        if self.is_done or self._tokens[self._next].token_type.name != "NUMBER":
            return False
        text = self._tokens[self._next].text
        return text.isdecimal() and len(text) <= _DIGITS

    @property
    def _is_member(self) -> bool:
        """Whether the next word is a name after a dot, whatever else it means."""
        return self._next > 0 and self._tokens[self._next - 1].token_type.name == "DOT"

    def unsupported(self, why: str, start: int | None = None) -> UnsupportedFeatureError:
        """The error of what cannot be done, at the last word or at `start`."""
        place = self._tokens[self._next - 1].start if start is None and self._next else start or 0
        return UnsupportedFeatureError(f"{why}\n{marked_line(self.text, place)}", feature="statement")

    def refused(self, why: str, error_class: str = "PARSE_SYNTAX_ERROR") -> UnsupportedFeatureError:
        """The error of what stands next, with the line that it is in and a caret below it."""
        found, place = "the end", len(self.text.rstrip())
        if not self.is_done:
            place = self.start
            found = repr(shortened(self.text[place : self._tokens[self._next].end + 1]))
        number = self.text.count("\n", 0, place)
        return UnsupportedFeatureError(
            f"[{error_class}] {why}, and there is {found} in line {number + 1} of the statement:"
            f"\n{marked_line(self.text, place)}",
            feature="statement",
        )


def _is_word(token: Any, word: str) -> bool:
    if token.token_type.name in _QUOTED:
        return False
    # sqlglot takes some words for one, whatever blanks stand between them.
    return " ".join(str(token.text).upper().split()) == word.upper()
