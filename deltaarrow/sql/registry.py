"""The list of all kinds of statements."""

from deltaarrow.engines import Dialect
from deltaarrow.spark_sql import Words
from deltaarrow.sql import transactions
from deltaarrow.sql.alter import handlers as alter
from deltaarrow.sql.copy import handlers as copy
from deltaarrow.sql.define import handlers as define, views
from deltaarrow.sql.describe import handlers as describe
from deltaarrow.sql.kind import StatementKind
from deltaarrow.sql.maintain import handlers as maintain
from deltaarrow.sql.rows import handlers as rows
from deltaarrow.sql.settings import handlers as settings

__all__ = ["KINDS", "find_kind", "first_words", "kind_of"]

KINDS: tuple[StatementKind, ...] = (
    *copy.KINDS,
    *maintain.KINDS,
    *rows.KINDS,
    *settings.KINDS,
    *define.KINDS,
    *alter.KINDS,
    *views.KINDS,
    *describe.KINDS,
    *transactions.KINDS,
)

_BY_STATEMENT = {kind.statement: kind for kind in KINDS}


def find_kind(words: Words, dialect: Dialect) -> StatementKind | None:
    """The kind of the statement that begins here; None if there is none in this dialect."""
    found = [
        (len(first), kind)
        for kind in KINDS
        if (kind.spark if dialect == "spark" else kind.duckdb) is not None
        for first in kind.first_words
        if words.is_at(*first)
    ]
    return max(found, key=lambda each: each[0])[1] if found else None


def first_words() -> list[str]:
    """Return the first words of all kinds of statements, each once."""
    return sorted({first[0] for kind in KINDS for first in kind.first_words})


def kind_of(statement: object) -> StatementKind:
    """The kind of a statement that a grammar has read."""
    return _BY_STATEMENT[type(statement)]
