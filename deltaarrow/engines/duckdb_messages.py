"""Messages of DuckDB's own errors: their place in the statement that was written, and no secret.

DuckDB shows a line of the SQL that it runs. That is the user's statement, or what has been made of it.
"""

import re

import duckdb

from deltaarrow.display.marked_line import marked_line
from deltaarrow.display.redaction import redacted, without_secrets_of

__all__ = ["show_statement"]

_SHOWN = re.compile(r"\n\n(LINE \d+: )(.*)\n( *)\^[^\n]*", re.DOTALL)
_CUT = "..."


def show_statement(error: duckdb.Error, statement: str) -> None:
    """Let an error of DuckDB show its place as all errors do, or none if that is not in the statement."""
    message = str(error)
    found = _SHOWN.search(message)
    if found is not None:
        place = _place(statement, found[2], len(found[3]) - len(found[1]))
        message = message[: found.start()] + message[found.end() :]
        if place is not None:
            line = statement.count("\n", 0, place) + 1
            message = f"{message}, in line {line} of the statement:\n{marked_line(statement, place)}"
    error.args = (redacted(without_secrets_of(statement, message)), *error.args[1:])


def _place(statement: str, shown: str, column: int) -> int | None:
    """Where in a statement the column of a part of it is that DuckDB shows; None if it is not of it."""
    part = shown.removeprefix(_CUT)
    column -= len(shown) - len(part)
    part = part.removesuffix(_CUT)
    return statement.index(part) + column if part and statement.count(part) == 1 else None
