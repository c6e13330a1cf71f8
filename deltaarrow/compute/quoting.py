"""Names, texts and locations as DuckDB SQL. Whatever comes from a table goes into SQL through these."""

import re

__all__ = ["quote_file", "quote_identifier", "quote_literal"]

_GLOB = re.compile(r"[*?\[]")


def quote_identifier(name: str) -> str:
    """Return `name` as an SQL identifier.

    >>> quote_identifier('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def quote_literal(text: str) -> str:
    """Return `text` as an SQL string.

    >>> quote_literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def quote_file(location: str) -> str:
    """Return a `Store.location` as the SQL string that DuckDB's file readers take for this very file.

    They take ``*``, ``?`` and ``[`` for patterns, and a pattern might match other files.

    >>> quote_file("/t/a[1].parquet")
    "'/t/a[[]1].parquet'"
    """
    return quote_literal(_GLOB.sub(r"[\g<0>]", location))
