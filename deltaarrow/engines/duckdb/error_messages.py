"""Error messages of DuckDB, with positions in the original statement and without secrets.

DuckDB shows a line of the SQL that it runs. That is the user's statement, or what has been made of it.
"""

import re

import duckdb

from deltaarrow.display.marked_line import marked_line
from deltaarrow.display.redaction import redacted, without_secrets_of

__all__ = ["show_statement"]

_SHOWN = re.compile(r"\n\n(LINE \d+: )(.*)\n( *)\^[^\n]*", re.DOTALL)
_CUT = "..."

_NAMED = re.compile(r'\b(?:Referenced (?:column|table)|with name) "?([^\s"]+)"?')
"""How messages tell which name is unknown."""

_OWN_NAMES = re.compile(r'\nCandidate bindings: "__[^"]*"$|, "__[^"]*"')
"""Names among those that a message proposes which users do not know."""


_OF_CATALOGS = re.compile(r'\nDid you mean "(?:pg_|duckdb_|sqlite_|information_schema|pragma_)[^"]*"\?')
"""Names of DuckDB's own views, which nobody means."""

_NO_TABLE = re.compile(r"Catalog Error: Table with name (\S+) does not exist!")


def show_statement(error: duckdb.Error, statement: str, table: str | None = None) -> None:
    """Let an error of DuckDB show its place as all errors do, or none if that is not in the statement.

    Of an unknown table it says how to name one: by a path, or the one `table` that a statement can name.
    """
    message, place = str(error), None
    found = _SHOWN.search(message)
    if found is not None:
        place = _place(statement, found[2], len(found[3]) - len(found[1]))
        message = message[: found.start()] + message[found.end() :]
    message = _OF_CATALOGS.sub("", _OWN_NAMES.sub("", message))
    absent = _NO_TABLE.match(message)
    if absent is not None and table is not None:
        message += f"\nThe table is named {table}"
    elif absent is not None:
        path = absent[1] if "/" in absent[1] else f"/path/of/{absent[1]}"
        message += f"\nName a table by its path, as delta.'{path}', or after register, attach or CREATE TABLE"
    if place is None:
        place = _place_of_name(statement, message)
    if place is not None:
        line = statement.count("\n", 0, place) + 1
        message = f"{message}, in line {line} of the statement:\n{marked_line(statement, place)}"
    error.args = (redacted(without_secrets_of(statement, message)), *error.args[1:])


def _place_of_name(statement: str, message: str) -> int | None:
    """Where in a statement the name is that a message is about; None if it is there more than once."""
    named = _NAMED.search(message)
    if named is None:
        return None
    name = re.escape(named[1])
    places = [found.start() for found in re.finditer(rf"(?<!\w){name}(?!\w)", statement, re.IGNORECASE)]
    return places[0] if len(places) == 1 else None


def _place(statement: str, shown: str, column: int) -> int | None:
    """Where in a statement the column of a part of it is that DuckDB shows; None if it is not of it."""
    part = shown.removeprefix(_CUT)
    column -= len(shown) - len(part)
    part = part.removesuffix(_CUT)
    return statement.index(part) + column if part and statement.count(part) == 1 else None
