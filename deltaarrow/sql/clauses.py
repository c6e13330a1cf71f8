"""Clauses that several of Spark's statements have: properties, columns of a layout, a version."""

import re

from deltaarrow.spark_sql import Words

__all__ = [
    "at_clause",
    "parse_column_names",
    "parse_names",
    "parse_properties",
    "parse_property_names",
    "parse_version",
    "take_clause",
]

_PLAIN = re.compile(r"[-+]?[\w.]+", re.ASCII)


def at_clause(words: Words, clause: str) -> bool:
    """Whether the keywords of a clause stand next; some pairs, such as CLUSTER BY, are read as one word."""
    return words.is_at(*clause.split()) or words.is_at(clause)


def take_clause(words: Words, clause: str) -> bool:
    """Go past the keywords of a clause; False if they do not stand next."""
    return words.take(*clause.split()) or words.take(clause)


def parse_properties(words: Words) -> dict[str, str]:
    """Go past properties in brackets.

    >>> parse_properties(Words("('a' = 'b', x.y = 1, z true)"))
    {'a': 'b', 'x.y': '1', 'z': 'true'}
    """
    found = dict[str, str]()
    words.expect("(")
    while True:
        name = _property_name(words)
        if name in found:
            raise words.unsupported(f"[DUPLICATE_KEY] the property {name} is given twice")
        words.take("=")
        if words.is_at_string:
            found[name] = words.string("the value of a property")
        else:
            value = words.until(",", ")")
            if not _PLAIN.fullmatch(value):
                raise words.unsupported(f"{value!r} is no value of the property {name}: write it in quotes")
            found[name] = value.lower() if value.lower() in ("true", "false") else value
        if not words.take(","):
            words.expect(")")
            return found


def parse_property_names(words: Words) -> tuple[str, ...]:
    """Go past names of properties in brackets."""
    words.expect("(")
    found = [_property_name(words)]
    while words.take(","):
        found.append(_property_name(words))
    words.expect(")")
    return tuple(found)


def _property_name(words: Words) -> str:
    if words.is_at_string:
        return words.string("the name of a property")
    parts = [words.identifier("the name of a property")]
    while words.take("."):
        parts.append(words.identifier("the name of a property"))
    return ".".join(parts)


def parse_column_names(words: Words) -> tuple[str, ...]:
    """Go past columns in brackets, and fields inside them with dots.

    >>> parse_column_names(Words("(a, b.c)"))
    ('a', 'b.c')
    """
    words.expect("(")
    found = [words.column()]
    while words.take(","):
        found.append(words.column())
    words.expect(")")
    return tuple(found)


def parse_names(words: Words, what: str = "a column") -> tuple[str, ...]:
    """Go past names of columns in brackets, and return them without quotes; `what` says what each is.

    >>> parse_names(Words("(a, `b.c`)"))
    ('a', 'b.c')
    """
    words.expect("(")
    found = [words.identifier(what)]
    while words.take(","):
        found.append(words.identifier(what))
    words.expect(")")
    return tuple(found)


def parse_version(words: Words) -> int | str | None:
    """Go past the version or the time of a table; None if there is neither.

    >>> parse_version(Words("FOR VERSION AS OF 3")), parse_version(Words("TIMESTAMP AS OF '2026-01-01'"))
    (3, '2026-01-01')
    """
    words.take("FOR")
    if any(words.take(each, "AS", "OF") for each in ("VERSION", "SYSTEM_VERSION")):
        return words.whole_number("a version")
    if any(words.take(each, "AS", "OF") for each in ("TIMESTAMP", "SYSTEM_TIME")):
        words.take("TIMESTAMP") or words.take("DATE")
        return words.string("a time")
    return None
