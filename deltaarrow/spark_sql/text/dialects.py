r"""Expressions written for ``deltalake``, whose SQL is that of DataFusion, spelled in Spark SQL.

In ``deltalake``, double quotes and backticks hold names, texts stand in single quotes, and a backslash is a
character like any other. Words, numbers and most operators mean the same. Spark SQL is the one language that
is parsed and computed; this module rewrites the text before it is parsed::

    deltalake    "unit price" > 1.5 AND path LIKE 'C:\%'
    Spark SQL    `unit price` > 1.5 AND path LIKE 'C:\\%'

A function or an operator that would give another value in Spark is refused with the spelling to use. That is
why functions are a list of those that are known to agree.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, NoReturn, TypeVar

from deltaarrow.display.marked_line import marked_line
from deltaarrow.errors import InvalidPredicateError

__all__ = ["ensure_dialect", "spark_names", "spark_text"]

_DIALECTS = ("spark", "deltalake")
_Text = TypeVar("_Text", str, str | None)
_Texts = TypeVar("_Texts", Mapping[str, str], Mapping[str, str] | None)

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
    |(?P<text>'(?:[^']|'')*')
    |(?P<name>"(?:[^"]|"")*"|`(?:[^`]|``)*`)
    |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<word>[^\W\d]\w*)
    |(?P<sign>\|\||::|<=>|[<>!=]=|<>|[-+*/%(),.=<>\[\]])""",
    re.DOTALL | re.VERBOSE,
)

_SAME_FUNCTIONS = frozenset(
    (
        "abs",
        "bit_length",
        "btrim",
        "cast",
        "ceil",
        "char_length",
        "character_length",
        "coalesce",
        "concat_ws",
        "current_date",
        "current_timestamp",
        "date_trunc",
        "extract",
        "find_in_set",
        "floor",
        "greatest",
        "ifnull",
        "least",
        "length",
        "levenshtein",
        "lower",
        "lpad",
        "ltrim",
        "md5",
        "named_struct",
        "nanvl",
        "now",
        "nullif",
        "nvl",
        "nvl2",
        "octet_length",
        "pi",
        "regexp_like",
        "repeat",
        "replace",
        "reverse",
        "round",
        "rpad",
        "rtrim",
        "signum",
        "split_part",
        "sqrt",
        "substring_index",
        "to_date",
        "translate",
        "trim",
        "try_cast",
        "upper",
    )
)
_RENAMED = {
    "concat": "concat_ws('', ",  # It leaves NULLs out.
    "ends_with": "endswith(",
    "make_array": "array(",
    "starts_with": "startswith(",
    "strpos": "instr(",
}
_ADVICE = {
    "arrow_cast": "write CAST(... AS <type>)",
    "isnan": "Spark's isnan(NULL) is FALSE and deltalake's is NULL; write x = CAST('NaN' AS DOUBLE)",
    "regexp_replace": "Spark replaces every match and deltalake the first; use dialect='spark'",
    "left": "write substr(x, 1, n)",
}
_SAME_UNITS = frozenset(("year", "quarter", "month", "week", "day", "doy", "hour", "minute"))
_NO_CALLS = frozenset(
    (
        "and",
        "or",
        "not",
        "in",
        "between",
        "like",
        "ilike",
        "is",
        "when",
        "then",
        "else",
        "case",
        "distinct",
        "from",
        "as",
        "div",
    )
)
_TYPES = frozenset(("decimal", "numeric", "varchar", "char", "timestamp"))
_PREFIXES = frozenset(("b", "br", "e", "n", "q", "r", "rb", "u"))


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


def ensure_dialect(dialect: str) -> str:
    """The name of a dialect; raises `ValueError` for another text."""
    if dialect not in _DIALECTS:
        raise ValueError(f"unknown dialect {dialect!r}; choose one of {', '.join(_DIALECTS)}")
    return dialect


def spark_text(text: _Text, dialect: str) -> _Text:
    r"""An expression in Spark SQL.

    Args:
        text: the expression; whatever is no text is returned as it is.
        dialect: ``spark`` or ``deltalake``.

    Raises:
        InvalidPredicateError: the text has something whose value in Spark is another, or unknown.
        ValueError: there is no such dialect.

    >>> spark_text('"Unit Price" > 2 AND city = \'L\'\'Aquila\'', "deltalake")
    "`Unit Price` > 2 AND city = 'L''Aquila'"
    >>> spark_text("n / 2 > 1", "deltalake")
    Traceback (most recent call last):
    ...
    deltaarrow.errors.InvalidPredicateError: dialect='deltalake' refuses `/` at character 3: it cuts the ...
    """
    if ensure_dialect(dialect) == "spark" or not isinstance(text, str):
        return text
    tokens = list(_tokens(text))
    words = [each for each in tokens if each.kind != "space"]
    _ensure_same(words, text)
    calls = {
        each.place: _RENAMED[each.text.lower()]
        for each, after in pairwise(words)
        if each.kind == "word" and after.text == "(" and each.text.lower() in _RENAMED
    }
    return "".join(_spelled(tokens, calls))


def spark_names(values: _Texts, dialect: str) -> _Texts:
    """Expressions by the column that gets their value, both in Spark SQL; raises as `spark_text` does.

    Only names in double quotes are spelled anew.

    >>> spark_names({'t."unit price"': '"unit price" + 1', "full name": "'Ada'"}, "deltalake")
    {'t.`unit price`': '`unit price` + 1', 'full name': "'Ada'"}
    """
    if ensure_dialect(dialect) == "spark" or values is None:
        return values
    return {
        spark_text(name, dialect) if '"' in name else name: spark_text(value, dialect)
        for name, value in values.items()
    }


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            is_open = text[place] in "'\"`"
            why = "it is not closed" if is_open else "it has no meaning here, or another one in Spark"
            _refuse(text, place, text[place], why)
        yield _Token(str(found.lastgroup), found[0], place)
        place = found.end()


def _spelled(tokens: Sequence[_Token], calls: Mapping[int, str]) -> Iterator[str]:
    is_renamed = False
    for token in tokens:
        if is_renamed and token.kind != "space":
            # The bracket behind the name of a renamed call, which has the bracket already.
            is_renamed = False
        elif token.kind == "text":
            yield token.text.replace("\\", "\\\\")
        elif token.kind == "name" and token.text[0] == '"':
            yield "`" + token.text[1:-1].replace('""', '"').replace("`", "``") + "`"
        elif token.place in calls:
            is_renamed = True
            yield calls[token.place]
        else:
            yield token.text


def _ensure_same(words: Sequence[_Token], text: str) -> None:
    """Refuse what has another value in Spark than in ``deltalake``."""
    end = _Token("end", "", len(text))
    for index, token in enumerate(words):
        before, after = words[index - 1] if index else end, (*words[index + 1 : index + 2], end)[0]
        name = token.text.lower()
        if token.text == "/" and not _is_fraction(before) and not _is_fraction(after):
            why = "it cuts the quotient of whole numbers, and Spark does not"
            _refuse(text, token.place, "/", f"{why}: write div for that, or x * 1.0 / y for a fraction")
        elif token.text == "[" and after.kind != "text":
            _refuse(text, token.place, "[", "elements count from 1, and from 0 in Spark")
        elif token.kind == "word" and after.kind == "text" and name in _PREFIXES:
            _refuse(text, token.place, token.text, "a text has no prefix; write it in single quotes alone")
        elif name in ("decimal", "numeric") and after.text != "(":
            _refuse(text, token.place, token.text, "say precision and scale: DECIMAL(38, 10)")
        elif token.kind == "word" and after.text == "(" and name not in _NO_CALLS | _TYPES:
            _ensure_same_call(words[index:], text)


def _ensure_same_call(words: Sequence[_Token], text: str) -> None:
    call, name = words[0], words[0].text.lower()
    if name in ("substr", "substring"):
        start = _second_argument(words)
        if len(start) == 1 and start[0].text.isdigit() and int(start[0].text) > 0:
            return
        _refuse(text, call.place, call.text, "its start must be a positive number; others count otherwise")
    if name in ("ltrim", "rtrim", "trim", "to_date") and _second_argument(words):
        advice = "use dialect='spark'" if name == "to_date" else "write TRIM(LEADING ... FROM ...)"
        _refuse(text, call.place, call.text, f"its second argument means something else in Spark: {advice}")
    if name in ("date_part", "extract"):
        unit = words[2].text.strip("'").lower() if len(words) > 2 else ""
        if unit in _SAME_UNITS:
            return
        _refuse(text, call.place, call.text, f"only these units agree: {', '.join(sorted(_SAME_UNITS))}")
    if name not in _SAME_FUNCTIONS and name not in _RENAMED:
        advice = _ADVICE.get(name, "it is not known to mean the same in Spark; use dialect='spark'")
        _refuse(text, call.place, f"{call.text}(...)", advice)


def _second_argument(words: Sequence[_Token]) -> list[_Token]:
    """The words of the second argument of a call, which begins with its name."""
    depth, number = 0, 0
    found: list[_Token] = []
    for token in words[1:]:
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if depth == 0:
            break
        if depth == 1 and token.text == ",":
            number += 1
        elif number == 1:
            found.append(token)
    return found


def _is_fraction(token: _Token) -> bool:
    """Whether a token is a number that is not whole, so that a division by or of it cuts nothing."""
    return token.kind == "number" and not token.text.isdigit()


def _refuse(text: str, place: int, what: str, why: str) -> NoReturn:
    refusal = InvalidPredicateError(
        f"dialect='deltalake' refuses `{what}` at character {place + 1}: {why}\n{marked_line(text, place)}"
    )
    refusal.place = text, place
    raise refusal
