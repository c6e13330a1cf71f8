"""Statements about the session: its settings, what a query would read, and what a session here has not."""

from dataclasses import dataclass

__all__ = ["Explain", "ExplainPlan", "Refused", "Reset", "Set", "Show"]


@dataclass(frozen=True)
class Set:
    """``SET name = value``."""

    name: str
    value: str


@dataclass(frozen=True)
class Show:
    """``SET name``, or ``SET`` for all settings; ``SET -v`` shows those that were not set too."""

    name: str | None
    is_verbose: bool = False


@dataclass(frozen=True)
class Reset:
    """``RESET name``, or ``RESET`` for all settings."""

    name: str | None


@dataclass(frozen=True)
class Explain:
    """``EXPLAIN query``."""

    query: str


@dataclass(frozen=True)
class ExplainPlan:
    """``EXPLAIN [ANALYZE] query`` in DuckDB's dialect; `text` is the statement, which DuckDB answers too."""

    text: str
    query: str


@dataclass(frozen=True)
class Refused:
    """A statement of Spark's that has no place here."""

    name: str
    why: str
