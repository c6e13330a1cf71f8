"""Statements about the session: its settings, EXPLAIN, and statements that are not supported."""

from dataclasses import dataclass

__all__ = ["Explain", "Refused", "Reset", "Set", "Show"]


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
    """``EXPLAIN statement``.

    Attributes:
        text: the whole.
        statement: the statement, with blanks before it, so that its places are those in `text`.
        runs: whether the statement is to be run, as DuckDB's ``EXPLAIN ANALYZE`` does.
    """

    text: str
    statement: str
    runs: bool = False


@dataclass(frozen=True)
class Refused:
    """A statement of Spark's that has no place here."""

    name: str
    why: str
