"""Statements that keep a table in order."""

from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.sql.kind import StatementKind
from deltaarrow.sql.spark_grammar.maintenance import parse_generate
from deltaarrow.sql.statements.maintenance import Generate

if TYPE_CHECKING:
    from deltaarrow.sql.session import Session

__all__ = ["KINDS"]


def _generate(session: "Session", statement: Generate) -> pa.Table:
    session.table(statement.table).generate(statement.mode)
    return pa.table({})


KINDS = (
    StatementKind(
        "GENERATE", (("GENERATE",),), Generate, _generate, spark=parse_generate, duckdb=parse_generate
    ),
)
