"""Errors of a statement, shown at their place in its text."""

import contextlib
import re
from collections.abc import Iterator

from deltaarrow.display.marked_line import marked_line
from deltaarrow.engines import Dialect
from deltaarrow.errors import DeltaError, TableNotFoundError
from deltaarrow.spark_sql import PlacedCalls, Words, row_error
from deltaarrow.sql.error_states import sql_state

__all__ = ["query_error", "show_place", "shown_places"]

_CLASSES = (
    (re.compile("no column [`']"), "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
    (re.compile("the function "), "UNRESOLVED_ROUTINE"),
    (re.compile(r"the constraint '.*' of type "), "DELTA_NON_BOOLEAN_CHECK_CONSTRAINT"),
    (re.compile(r"CHECK constraint .* violated by row", re.DOTALL), "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"),
    (re.compile(r"cannot parse .*: a comment is not closed"), "UNCLOSED_BRACKETED_COMMENT"),
    (re.compile("cannot parse the SQL expression"), "PARSE_SYNTAX_ERROR"),
)
"""How messages begin for which Spark has a class of errors."""

_NAMED = re.compile(r" \(Spark: ([A-Z][A-Z_.]+)\)")
"""How the messages of operations name the class."""

_NO_TABLE = re.compile(r"Catalog Error: Table with name (\S+) does not exist!")
"""What DuckDB says of a name that is none of ours."""

_CLASS = re.compile(r"\[([A-Z][A-Z0-9_.]+)\] ")
_CARET = re.compile(r"\n  [^\n]*\n *\^\Z")
_CHARACTER = re.compile(r" ?\(at character \d+\)| at character \d+")


def query_error(statement: str, calls: PlacedCalls, error: Exception) -> DeltaError | None:
    """Return the error of a query in Spark's dialect whose row cannot be computed; None for other errors.

    `calls` are those in the statement; see `row_error`.
    """
    found: DeltaError | None
    absent = _NO_TABLE.match(str(error))
    if absent is not None:
        # The compiler has found the table, and another process has dropped it since.
        found = TableNotFoundError(f"[TABLE_OR_VIEW_NOT_FOUND] the table {absent[1]} has just been dropped")
    else:
        found = row_error(error, "a row of the query cannot be computed", statement, calls=calls)
    if found is not None:
        show_place(found, statement, "spark")
    return found


@contextlib.contextmanager
def shown_places(text: str, dialect: Dialect) -> Iterator[None]:
    """Let the errors of the block be shown in a text; see `show_place`."""
    try:
        yield
    except (DeltaError, ValueError) as error:
        show_place(error, text, dialect)
        raise


def show_place(error: DeltaError | ValueError, statement: str, dialect: Dialect) -> None:
    """Let the message of an error name Spark's class and SQLSTATE, and show its place in a statement.

    The place of an error in a condition or a value is one in that text; it is shown if the statement has the
    text once.
    """
    if not error.args or not isinstance(error.args[0], str):
        return
    message = error.args[0]
    named = _NAMED.search(message)
    if named is not None and not message.startswith("["):
        message = f"[{named[1]}] {message[: named.start()]}{message[named.end() :]}"
    if isinstance(error, DeltaError):
        message = _placed(error, message, statement, dialect)
    error.args = (_with_state(message), *error.args[1:])


def _placed(error: DeltaError, message: str, statement: str, dialect: Dialect) -> str:
    cause = error.__cause__
    told = cause.written_place if isinstance(cause, DeltaError) else None
    if error.place is None and told is not None and message.endswith(str(cause)):
        # It repeats the expression, which is shown in its place.
        message, error.place = str(cause), told
    if not message.startswith("["):
        found = next((name for begin, name in _CLASSES if begin.match(message)), None)
        message = message if found is None else f"[{found}] {message}"
    place = _place(error, statement, dialect)
    if place is not None:
        line = statement.count("\n", 0, place) + 1
        message = _CHARACTER.sub("", _CARET.sub("", message), count=1)
        message = f"{message}, in line {line} of the statement:\n{marked_line(statement, place)}"
        error.place = statement, place
    return message


def _with_state(message: str) -> str:
    """The message with the SQLSTATE of its class at the end of its first line."""
    named = _CLASS.match(message)
    state = None if named is None else sql_state(named[1])
    if state is None or "(SQLSTATE: " in message:
        return message
    first, end, rest = message.partition("\n")
    colon = ":" if first.endswith(":") else ""
    return f"{first.removesuffix(':')} (SQLSTATE: {state}){colon}{end}{rest}"


def _place(error: DeltaError, statement: str, dialect: Dialect) -> int | None:
    if (written := error.written_place) is not None:
        text, index = written
        if not text or statement.count(text) != 1:
            return None
        return statement.find(text) + index
    if isinstance(error, TableNotFoundError) and error.names:
        return Words(statement, dialect).find_name(error.names)
    return None
