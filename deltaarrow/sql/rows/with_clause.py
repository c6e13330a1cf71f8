"""The WITH clause before a change of rows: ``WITH news AS (...) INSERT INTO t SELECT * FROM news``."""

import re

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.spark_sql import Words

__all__ = ["main_statement"]

_CHANGES = ("INSERT", "DELETE", "UPDATE", "MERGE")
_MAY_CHANGE = re.compile(rf"\)\s*(?:{'|'.join(_CHANGES)})\b", re.IGNORECASE)


def main_statement(words: Words) -> tuple[str, Words]:
    """Return the WITH clause before a change of rows, and the words of the change; no clause for others.

    The places of the words are those in the whole text.

    >>> clause, words = main_statement(Words("WITH n AS (SELECT 1) DELETE FROM t WHERE id IN (FROM n)"))
    >>> clause, words.text
    ('WITH n AS (SELECT 1)', '                     DELETE FROM t WHERE id IN (FROM n)')
    """
    if not words.is_at("WITH") or _MAY_CHANGE.search(words.text) is None:
        return "", words
    text, ahead = words.text, Words(words.text, words.dialect)
    try:
        clause = _clause(ahead)
    except UnsupportedFeatureError:
        return "", words  # Whoever runs it as a query says what is wrong.
    if not any(ahead.is_at(each) for each in _CHANGES):
        return "", words
    start = ahead.start
    return clause, Words(re.sub(r"[^\n]", " ", text[:start]) + text[start:], words.dialect)


def _clause(words: Words) -> str:
    start = words.start
    words.expect("WITH")
    words.take("RECURSIVE")
    while True:
        words.identifier("a name")
        if words.is_at("("):
            words.bracketed("names of columns")
        words.expect("AS")
        words.take("NOT")
        words.take("MATERIALIZED")
        words.bracketed("a query")
        if not words.take(","):
            return words.text[start : words.end]
