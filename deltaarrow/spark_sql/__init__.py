"""Spark SQL: the one package that parses, types and evaluates its text, of users and of tables.

`parse_expression` understands a stated list of operators and functions and refuses everything else by name;
`evaluate` computes it over Arrow batches with the values and errors of Spark's ANSI mode. `parse_condition`
makes a `Condition` of what users say of rows: in filters of tables and change feeds, in DELETE, UPDATE and
MERGE, and in ``replaceWhere``. Tables store expressions as constraints, invariants, generated columns and
defaults; `TableRules`, which `declared_rules` reads from a table's metadata, holds rows to the constraints,
computes generated columns and fills in defaults (PROTOCOL.md, *CHECK Constraints*, *Column Invariants*,
*Generated Columns* and *Default Columns*). Timestamps are in UTC.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_attributes

if TYPE_CHECKING:
    from deltaarrow.spark_sql.assignment import assigned
    from deltaarrow.spark_sql.condition import Condition, condition_on, evaluation_error, parse_condition
    from deltaarrow.spark_sql.declared import declared_rules, ensure_rules_declarable
    from deltaarrow.spark_sql.derivation import derived_predicate
    from deltaarrow.spark_sql.evaluation import evaluate
    from deltaarrow.spark_sql.expression_binding import has_text_rules, parse_column, parse_expression
    from deltaarrow.spark_sql.known import Equality, known_equalities, known_predicate
    from deltaarrow.spark_sql.native import to_native_sql
    from deltaarrow.spark_sql.nodes import ColumnRef, Expression, Node, Path
    from deltaarrow.spark_sql.quoted_names import ensure_columns_unquoted
    from deltaarrow.spark_sql.registry import readme_functions
    from deltaarrow.spark_sql.rendering import to_sandbox_sql, to_sql
    from deltaarrow.spark_sql.rules import (
        Constraint,
        DefaultColumn,
        GeneratedColumn,
        TableRules,
        check_rows,
        count_broken,
        generate,
    )
    from deltaarrow.spark_sql.scope import AliasScope, Scope, TableScope
    from deltaarrow.spark_sql.types import has_same_shape

__all__ = [
    "AliasScope",
    "ColumnRef",
    "Condition",
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
    "condition_on",
    "count_broken",
    "declared_rules",
    "derived_predicate",
    "ensure_columns_unquoted",
    "ensure_rules_declarable",
    "evaluate",
    "evaluation_error",
    "generate",
    "has_same_shape",
    "has_text_rules",
    "known_equalities",
    "known_predicate",
    "parse_column",
    "parse_condition",
    "parse_expression",
    "readme_functions",
    "to_native_sql",
    "to_sandbox_sql",
    "to_sql",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "AliasScope": "deltaarrow.spark_sql.scope",
        "ColumnRef": "deltaarrow.spark_sql.nodes",
        "Condition": "deltaarrow.spark_sql.condition",
        "condition_on": "deltaarrow.spark_sql.condition",
        "parse_condition": "deltaarrow.spark_sql.condition",
        "Constraint": "deltaarrow.spark_sql.rules",
        "DefaultColumn": "deltaarrow.spark_sql.rules",
        "Equality": "deltaarrow.spark_sql.known",
        "Expression": "deltaarrow.spark_sql.nodes",
        "GeneratedColumn": "deltaarrow.spark_sql.rules",
        "Node": "deltaarrow.spark_sql.nodes",
        "Path": "deltaarrow.spark_sql.nodes",
        "Scope": "deltaarrow.spark_sql.scope",
        "TableRules": "deltaarrow.spark_sql.rules",
        "TableScope": "deltaarrow.spark_sql.scope",
        "assigned": "deltaarrow.spark_sql.assignment",
        "check_rows": "deltaarrow.spark_sql.rules",
        "count_broken": "deltaarrow.spark_sql.rules",
        "declared_rules": "deltaarrow.spark_sql.declared",
        "derived_predicate": "deltaarrow.spark_sql.derivation",
        "ensure_columns_unquoted": "deltaarrow.spark_sql.quoted_names",
        "ensure_rules_declarable": "deltaarrow.spark_sql.declared",
        "evaluation_error": "deltaarrow.spark_sql.condition",
        "evaluate": "deltaarrow.spark_sql.evaluation",
        "generate": "deltaarrow.spark_sql.rules",
        "has_same_shape": "deltaarrow.spark_sql.types",
        "has_text_rules": "deltaarrow.spark_sql.expression_binding",
        "known_equalities": "deltaarrow.spark_sql.known",
        "known_predicate": "deltaarrow.spark_sql.known",
        "parse_column": "deltaarrow.spark_sql.expression_binding",
        "parse_expression": "deltaarrow.spark_sql.expression_binding",
        "readme_functions": "deltaarrow.spark_sql.registry",
        "to_native_sql": "deltaarrow.spark_sql.native",
        "to_sandbox_sql": "deltaarrow.spark_sql.rendering",
        "to_sql": "deltaarrow.spark_sql.rendering",
    },
)
