"""Spark SQL expressions that tables store: constraints, invariants, generated columns and defaults.

`parse_expression` understands the text of a stated list of operators and functions and refuses everything
else by name, `evaluate` computes it over Arrow batches with the values and errors of Spark's ANSI mode, and
`TableRules`, which `declared_rules` reads from a table's metadata, holds rows to the constraints, computes
generated columns and fills in defaults (PROTOCOL.md, *CHECK Constraints*, *Column Invariants*, *Generated
Columns* and *Default Columns*). Timestamps are in UTC.
"""

from typing import TYPE_CHECKING

from deltaarrow.lazy import lazy_attributes

if TYPE_CHECKING:
    from deltaarrow.stored_expressions.assignment import assigned
    from deltaarrow.stored_expressions.binding import has_text_rules, parse_column, parse_expression
    from deltaarrow.stored_expressions.declared import (
        CONSTRAINT_PREFIX,
        declared_rules,
        ensure_rules_declarable,
    )
    from deltaarrow.stored_expressions.derivation import derived_predicate
    from deltaarrow.stored_expressions.evaluation import evaluate
    from deltaarrow.stored_expressions.known import Equality, known_equalities, known_predicate
    from deltaarrow.stored_expressions.native import to_native_sql
    from deltaarrow.stored_expressions.nodes import ColumnRef, Expression, Node, Path
    from deltaarrow.stored_expressions.quoted_names import ensure_columns_unquoted
    from deltaarrow.stored_expressions.registry import readme_functions
    from deltaarrow.stored_expressions.rendering import to_sandbox_sql, to_sql
    from deltaarrow.stored_expressions.rules import (
        Constraint,
        DefaultColumn,
        GeneratedColumn,
        TableRules,
        check_rows,
        count_broken,
        generate,
    )
    from deltaarrow.stored_expressions.scope import AliasScope, Scope, TableScope
    from deltaarrow.stored_expressions.types import has_same_shape

__all__ = [
    "CONSTRAINT_PREFIX",
    "AliasScope",
    "ColumnRef",
    "Constraint",
    "DefaultColumn",
    "Equality",
    "Expression",
    "GeneratedColumn",
    "Node",
    "Path",
    "Scope",
    "TableRules",
    "TableScope",
    "assigned",
    "check_rows",
    "count_broken",
    "declared_rules",
    "derived_predicate",
    "ensure_columns_unquoted",
    "ensure_rules_declarable",
    "evaluate",
    "generate",
    "has_same_shape",
    "has_text_rules",
    "known_equalities",
    "known_predicate",
    "parse_column",
    "parse_expression",
    "readme_functions",
    "to_native_sql",
    "to_sandbox_sql",
    "to_sql",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "AliasScope": "deltaarrow.stored_expressions.scope",
        "CONSTRAINT_PREFIX": "deltaarrow.stored_expressions.declared",
        "ColumnRef": "deltaarrow.stored_expressions.nodes",
        "Constraint": "deltaarrow.stored_expressions.rules",
        "DefaultColumn": "deltaarrow.stored_expressions.rules",
        "Equality": "deltaarrow.stored_expressions.known",
        "Expression": "deltaarrow.stored_expressions.nodes",
        "GeneratedColumn": "deltaarrow.stored_expressions.rules",
        "Node": "deltaarrow.stored_expressions.nodes",
        "Path": "deltaarrow.stored_expressions.nodes",
        "Scope": "deltaarrow.stored_expressions.scope",
        "TableRules": "deltaarrow.stored_expressions.rules",
        "TableScope": "deltaarrow.stored_expressions.scope",
        "assigned": "deltaarrow.stored_expressions.assignment",
        "check_rows": "deltaarrow.stored_expressions.rules",
        "count_broken": "deltaarrow.stored_expressions.rules",
        "declared_rules": "deltaarrow.stored_expressions.declared",
        "derived_predicate": "deltaarrow.stored_expressions.derivation",
        "ensure_columns_unquoted": "deltaarrow.stored_expressions.quoted_names",
        "ensure_rules_declarable": "deltaarrow.stored_expressions.declared",
        "evaluate": "deltaarrow.stored_expressions.evaluation",
        "generate": "deltaarrow.stored_expressions.rules",
        "has_same_shape": "deltaarrow.stored_expressions.types",
        "has_text_rules": "deltaarrow.stored_expressions.binding",
        "known_equalities": "deltaarrow.stored_expressions.known",
        "known_predicate": "deltaarrow.stored_expressions.known",
        "parse_column": "deltaarrow.stored_expressions.binding",
        "parse_expression": "deltaarrow.stored_expressions.binding",
        "readme_functions": "deltaarrow.stored_expressions.registry",
        "to_native_sql": "deltaarrow.stored_expressions.native",
        "to_sandbox_sql": "deltaarrow.stored_expressions.rendering",
        "to_sql": "deltaarrow.stored_expressions.rendering",
    },
)
