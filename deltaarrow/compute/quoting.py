"""Names, texts and locations as DuckDB SQL. Whatever comes from a table goes into SQL through these."""

import re

from deltaarrow.errors import StorageError

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

    They take ``*``, ``?`` and ``[`` for patterns, and a pattern might match other files. `StorageError` for
    a location that has one of these and a backslash, which no pattern can say.

    >>> quote_file("/t/a[1].parquet")
    "'/t/a[[]1].parquet'"
    """
    if "\\" in location and _GLOB.search(location):
        raise StorageError(f"DuckDB cannot be given the file {location!r}: a backslash beside *, ? or [")
    return quote_literal(_GLOB.sub(r"[\g<0>]", location))
