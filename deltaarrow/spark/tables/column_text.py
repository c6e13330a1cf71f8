r"""Candidate SQL texts of a column of classic Spark, from PySpark's text form of it.

PySpark shows the tree of an expression with operators as functions::

    (col("id") > 3) & (col("name") == "it's")      and(>(id, 3), =(name, 'it\'s'))
    col("price").cast("decimal(9,2)") + 1.5        +(CAST(price AS DECIMAL(9,2)), 1.5)
    when(col("a").isNull(), 0).otherwise(1)        CASE WHEN isNull(a) THEN 0 ELSE 1 END
    col("address")["city"], col("a").alias("b")    address['city'], a AS b
    expr("a % 2 = 1")                              a % 2 = 1

A text of SQL inside, as in the last line, stays as it is. `column_sql` tells what decides.
"""

import re
from collections.abc import Sequence

from deltaarrow.spark.tables.column_forms import (
    Qualify,
    attribute,
    call,
    casted,
    chosen,
    extracted,
    lambda_of,
)

__all__ = ["classic_texts", "column_names"]

_SHOWN = re.compile(r"Column<'(.*)'>", re.DOTALL)
_STRING = re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL)
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|`(?:[^`]|``)*`", re.DOTALL)
_WHOLE_NUMBER = re.compile(r"-?\d+L?")
_FRACTION = re.compile(r"-?\d+\.\d+(?:E-?\d+)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?")
_CALL = re.compile(r"([^\s(),\[\]'`]+)\(")
_PATH = re.compile(r"(?:`(?:[^`]|``)+`|[^\s.'`(),\[\]<>=!+*/%&|^~-][^.'`(),\[\]<>=!+*/%&|^~-]*)")
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PLAIN = re.compile(r"(?:\w+|`(?:[^`]|``)+`)(?:\.(?:\w+|`(?:[^`]|``)+`))*")
_OF_SQL = re.compile(r"\b(?:AND|OR|NOT|IN|IS|LIKE|BETWEEN|CASE|CAST)\b", re.IGNORECASE)
_OPEN, _CLOSED = "([", ")]"
_LITERALS = ("NULL", "true", "false")


def classic_texts(shown: str, qualify: Qualify) -> list[str]:
    r"""Return candidate texts of SQL for a column, the likely one first.

    Args:
        shown: ``str(column)``.
        qualify: the texts of a name of a column.

    >>> classic_texts(r"Column<'and(>(id, 3), =(`a.b`, 'it\'s'))'>", lambda name: [name])
    ["((`id` > 3) AND (`a.b` = 'it\\'s'))", "(and(>(id, 3), =(`a.b`, 'it\\'s')))"]
    >>> classic_texts("Column<'>(x, 1.5)'>", lambda name: [name])
    ['(`x` > 1.5D)', '(`x` > 1.5BD)', '(>(x, 1.5))']
    """
    found = _SHOWN.fullmatch(shown)
    if found is None:
        return []
    text = found[1].strip()
    return list(dict.fromkeys([*_texts(text, qualify), f"({text})"]))


def _texts(text: str, qualify: Qualify) -> list[str]:
    found = _literal(text) or _tree(text, qualify)
    if found:
        return found
    names = column_names(text)
    columns = [] if names is None else attribute(names, qualify)
    if _PLAIN.fullmatch(text):
        return columns
    # A name with blanks, or a text of SQL.
    raw = f"({text})"
    return [raw, *columns] if _OF_SQL.search(text) else [*columns, raw]


def _literal(text: str) -> list[str]:
    if text in _LITERALS or _WHOLE_NUMBER.fullmatch(text) or _STRING.fullmatch(text):
        return [text]
    if _FRACTION.fullmatch(text):
        return [f"{text}D", f"{text}BD"]
    if text in ("NaN", "Infinity", "-Infinity"):
        return [f"CAST('{text}' AS DOUBLE)", f"CAST('{text}' AS FLOAT)"]
    if _DATE.fullmatch(text):
        return [chosen(text, "DATE")]
    if _TIME.fullmatch(text):
        return [chosen(text, "TIMESTAMP"), chosen(text, "TIMESTAMP_NTZ")]
    return []


def _tree(text: str, qualify: Qualify) -> list[str]:
    """The texts of a call, a cast, a CASE, a part or an alias; none for anything else."""
    if len(alias := _split(text, " AS ")) > 1:
        return _texts(" AS ".join(alias[:-1]), qualify)
    if text.startswith("CASE ") and text.endswith(" END"):
        return _case(text, qualify)
    if len(function := _split(text, " -> ")) == 2:
        names = [each.strip() for each in function[0].strip("()").split(",")]
        own = frozenset(names)
        return lambda_of(names, _texts(function[1], lambda name: _own_or(name, own, qualify)))
    if text.endswith("]") and (opened := _opening(text)):
        return extracted(_texts(text[:opened], qualify), _texts(text[opened + 1 : -1], qualify))
    found = _CALL.match(text)
    if found is None or _closing(text, found.end() - 1) != len(text) - 1:
        return []
    name, inner = found[1], text[found.end() : -1]
    if name in ("CAST", "TRY_CAST"):
        *value, type_name = _split(inner, " AS ")
        return casted(_texts(" AS ".join(value), qualify), type_name, tries=name == "TRY_CAST")
    is_distinct = inner.startswith("distinct ")
    arguments = _split(inner.removeprefix("distinct "), ", ") if inner else []
    return call(name, [_texts(each, qualify) for each in arguments], is_distinct=is_distinct)


def _own_or(name: str, own: frozenset[str], qualify: Qualify) -> Sequence[str]:
    """The texts of a name inside a lambda function, which may be that of one of its variables."""
    plain = name.strip("`")
    return [plain] if plain in own else qualify(name)


def _case(text: str, qualify: Qualify) -> list[str]:
    pieces, at, depth, start = list[str](), 0, 0, None
    for place, word in _words(text):
        depth += (word == "CASE") - (word == "END")
        if depth == (0 if word == "END" else 1) and word in ("CASE", "WHEN", "THEN", "ELSE", "END"):
            if start is not None:
                pieces.append(text[start:place].strip())
            start = None if word == "CASE" else place + len(word)
            at += 1
    return call("when", [_texts(each, qualify) for each in pieces])


def column_names(text: str) -> list[str] | None:
    """Return the parts of the name of a column; None for a text that cannot be one."""
    names, at = list[str](), 0
    while (found := _PATH.match(text, at)) is not None:
        part = found[0]
        names.append(part[1:-1].replace("``", "`") if part[0] == "`" else part)
        at = found.end()
        if at == len(text):
            return names
        if text[at] != ".":
            return None
        at += 1
    return None


def _outside(text: str) -> list[tuple[int, str, int]]:
    """The characters outside of quotes, with their places and the depth of brackets before them."""
    found, at, depth = list[tuple[int, str, int]](), 0, 0
    while at < len(text):
        quoted = _QUOTED.match(text, at)
        if quoted is not None:
            at = quoted.end()
            continue
        found.append((at, text[at], depth))
        depth += (text[at] in _OPEN) - (text[at] in _CLOSED)
        at += 1
    return found


def _split(text: str, separator: str) -> list[str]:
    """The texts between separators that are in no brackets and no quotes."""
    pieces, start = list[str](), 0
    for at, _, depth in _outside(text):
        if depth == 0 and at >= start and text.startswith(separator, at):
            pieces.append(text[start:at])
            start = at + len(separator)
    return [*pieces, text[start:]]


def _closing(text: str, opened: int) -> int:
    """The place of the bracket that closes one; -1 if there is none."""
    level = next((depth for at, _, depth in _outside(text) if at == opened), None)
    closings = (
        at
        for at, sign, depth in _outside(text)
        if level is not None and at > opened and sign in _CLOSED and depth == level + 1
    )
    return next(closings, -1)


def _opening(text: str) -> int:
    """The place of the bracket that the last one closes; 0 if there is none."""
    places = [at for at, sign, depth in _outside(text) if sign == "[" and depth == 0]
    return places[-1] if places and _closing(text, places[-1]) == len(text) - 1 else 0


def _words(text: str) -> list[tuple[int, str]]:
    """The words outside of brackets and quotes, with their places."""
    found, at = list[tuple[int, str]](), 0
    for place, _, depth in _outside(text):
        if place >= at and depth == 0 and (word := _WORD.match(text, place)) is not None:
            found.append((place, word[0]))
            at = word.end()
    return found
