"""The handlers of statements about the session."""

from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.compute import quote_literal
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.sql.kind import StatementKind
from deltaarrow.sql.session_settings import SETTINGS, TIME_ZONE
from deltaarrow.sql.settings import duckdb
from deltaarrow.sql.settings.explain import explained_query
from deltaarrow.sql.settings.spark import REFUSED, parse_explain, parse_refused, parse_reset, parse_set
from deltaarrow.sql.settings.statements import Explain, Refused, Reset, Set, Show

if TYPE_CHECKING:
    from deltaarrow.sql.session import Session

__all__ = ["KINDS"]

_PAIRS = pa.schema([("key", pa.string()), ("value", pa.string())])
_VERBOSE = pa.schema([*_PAIRS, pa.field("meaning", pa.string())])


def _set(session: "Session", statement: Set) -> pa.Table:
    session.settings.set(statement.name, statement.value)
    if statement.name == TIME_ZONE.name:
        _show_times(session)
    return _show(session, Show(statement.name))


def _show_times(session: "Session") -> None:
    """Let DuckDB show times in the session time zone."""
    zone = quote_literal(session.settings[TIME_ZONE].known_name)
    session.connection.connection.execute(f"SET TimeZone = {zone}")


def _show(session: "Session", statement: Show) -> pa.Table:
    settings = session.settings
    if statement.is_verbose:
        rows = [
            {"key": name, "value": settings.text(name), "meaning": setting.meaning}
            for name, setting in sorted(SETTINGS.items())
        ]
        return pa.Table.from_pylist(rows, _VERBOSE)
    name = statement.name
    pairs = settings.texts() if name is None else {name: settings.text(name)}
    return pa.Table.from_pylist([{"key": key, "value": value} for key, value in pairs.items()], _PAIRS)


def _reset(session: "Session", statement: Reset) -> pa.Table:
    had_zone = TIME_ZONE.name in session.settings.texts()
    session.settings.reset(statement.name)
    if had_zone and statement.name in (None, TIME_ZONE.name):
        _show_times(session)
    return pa.table({})


def _refuse(session: "Session", statement: Refused) -> pa.Table:
    raise UnsupportedFeatureError(
        f"{statement.name} is not supported here: {statement.why}", feature=statement.name
    )


KINDS = (
    StatementKind("SET", (("SET",),), Set, _set, spark=parse_set, duckdb=duckdb.parse_set),
    StatementKind("RESET", (("RESET",),), Reset, _reset, spark=parse_reset, duckdb=duckdb.parse_reset),
    StatementKind("SET", (), Show, _show),
    StatementKind(
        "EXPLAIN", (("EXPLAIN",),), Explain, explained_query, spark=parse_explain, duckdb=duckdb.parse_explain
    ),
    StatementKind("refused", tuple(REFUSED), Refused, _refuse, spark=parse_refused),
)
