"""Spark SQL expressions that tables store: constraints, invariants, generated columns and defaults.

`parse_expression` understands the text of a stated list of operators and functions and refuses everything
else by name, `evaluate` computes it over Arrow batches with the values and errors of Spark's ANSI mode, and
`TableRules` holds a table's rows to its constraints and generated columns (PROTOCOL.md, *CHECK Constraints*,
*Column Invariants*, *Generated Columns* and *Default Columns*). Timestamps are in UTC.
"""

from deltaarrow.stored_expressions.binding import parse_expression
from deltaarrow.stored_expressions.evaluation import evaluate
from deltaarrow.stored_expressions.nodes import Expression
from deltaarrow.stored_expressions.registry import readme_functions
from deltaarrow.stored_expressions.rendering import to_sandbox_sql
from deltaarrow.stored_expressions.rules import (
    Constraint,
    GeneratedColumn,
    TableRules,
    check_rows,
    generate,
)

__all__ = [
    "Constraint",
    "Expression",
    "GeneratedColumn",
    "TableRules",
    "check_rows",
    "evaluate",
    "generate",
    "parse_expression",
    "readme_functions",
    "to_sandbox_sql",
]
