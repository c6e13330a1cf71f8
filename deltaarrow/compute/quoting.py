"""Quoting of names, texts and locations for DuckDB SQL; everything from a table passes through here."""

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
    """Return a `Store.location` as the SQL string by which DuckDB's file readers open exactly this file.

    They interpret ``*``, ``?`` and ``[`` as patterns, which might match other files. `StorageError` for a
    location with one of these and a backslash, which no pattern can express.

    >>> quote_file("/t/a[1].parquet")
    "'/t/a[[]1].parquet'"
    """
    if "\\" in location and _GLOB.search(location):
        raise StorageError(
            f"DuckDB cannot read the file {location!r}: its name has a backslash together with *, ? or ["
        )
    return quote_literal(_GLOB.sub(r"[\g<0>]", location))
