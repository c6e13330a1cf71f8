"""`StatementPlan`: the effect of a statement that changes a table, as EXPLAIN shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltaarrow.display.redaction import redacted
from deltaarrow.scan import Explanation

if TYPE_CHECKING:
    from deltaarrow.table import DeltaTable

__all__ = ["StatementPlan", "new_version"]


@dataclass(frozen=True)
class StatementPlan:
    """What a statement would do if it ran now.

    Attributes:
        effects: what it would change, in lines.
        files: those that it would read of each Delta table.
        query: what finds its rows, as DuckDB would run it; None without a query.
    """

    effects: Sequence[str]
    files: Sequence[Explanation] = ()
    query: str | None = None


def new_version(statement: str, table: "DeltaTable") -> str:
    """Say which version of a table a statement would make."""
    return f"{statement} makes version {table.version() + 1} of {redacted(table.table_uri)}"
