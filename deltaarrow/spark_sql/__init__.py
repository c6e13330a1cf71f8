"""Spark SQL: parses, types and evaluates SQL text from users and from tables.

`parse_expression` understands a fixed list of operators and functions and refuses everything else by name.
`evaluate` computes an expression over Arrow batches with the values and errors of Spark's ANSI mode.
`parse_condition` makes a `Condition` of user text: filters of tables and change feeds, conditions of DELETE,
UPDATE and MERGE, and ``replaceWhere``. Tables store expressions as constraints, invariants, generated columns
and defaults. `declared_rules` reads them from a table's metadata as `TableRules`, which check rows, compute
generated columns and fill in defaults (PROTOCOL.md, *CHECK Constraints*, *Column Invariants*, *Generated
Columns* and *Default Columns*). All of them are bound in the session time zone, which is UTC unless
`in_time_zone` says otherwise. `split_statements` splits a script. `Words` takes a
statement apart.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.spark_sql.binding.assignment import assigned as assigned
    from deltaarrow.spark_sql.binding.evaluation import evaluate as evaluate
    from deltaarrow.spark_sql.binding.expression_binding import (
        parse_column as parse_column,
        parse_expression as parse_expression,
        parse_interval as parse_interval,
    )
    from deltaarrow.spark_sql.binding.scope import (
        AliasScope as AliasScope,
        Scope as Scope,
        TableScope as TableScope,
        has_collation as has_collation,
    )
    from deltaarrow.spark_sql.functions.kernel_providing import provide_kernels as provide_kernels
    from deltaarrow.spark_sql.functions.registry import render_function_tables as render_function_tables
    from deltaarrow.spark_sql.rendering.duckdb_sql import to_sandbox_sql as to_sandbox_sql, to_sql as to_sql
    from deltaarrow.spark_sql.rendering.native_sql import to_native_sql as to_native_sql
    from deltaarrow.spark_sql.rules.condition import (
        Condition as Condition,
        condition_on as condition_on,
        evaluation_error as evaluation_error,
        parse_condition as parse_condition,
    )
    from deltaarrow.spark_sql.rules.declared import (
        declared_rules as declared_rules,
        ensure_rules_declarable as ensure_rules_declarable,
    )
    from deltaarrow.spark_sql.rules.derivation import derived_predicate as derived_predicate
    from deltaarrow.spark_sql.rules.known import (
        Equality as Equality,
        known_equalities as known_equalities,
        known_predicate as known_predicate,
    )
    from deltaarrow.spark_sql.rules.rules import (
        Constraint as Constraint,
        DefaultColumn as DefaultColumn,
        GeneratedColumn as GeneratedColumn,
        TableRules as TableRules,
        check_rows as check_rows,
        count_broken as count_broken,
        generate as generate,
    )
    from deltaarrow.spark_sql.text.dialects import (
        ensure_dialect as ensure_dialect,
        spark_names as spark_names,
        spark_text as spark_text,
    )
    from deltaarrow.spark_sql.text.parsing import tokenize_duckdb as tokenize_duckdb
    from deltaarrow.spark_sql.text.quoted_names import ensure_columns_unquoted as ensure_columns_unquoted
    from deltaarrow.spark_sql.text.statement_words import (
        FunctionCall as FunctionCall,
        TableName as TableName,
        TablePlace as TablePlace,
        Words as Words,
        function_calls as function_calls,
        one_of_several as one_of_several,
        split_statements as split_statements,
        table_places as table_places,
    )
    from deltaarrow.spark_sql.tree.nodes import (
        ColumnRef as ColumnRef,
        Expression as Expression,
        Node as Node,
        Path as Path,
    )
    from deltaarrow.spark_sql.tree.row_errors import (
        PlacedCalls as PlacedCalls,
        row_error as row_error,
        without_places as without_places,
    )
    from deltaarrow.spark_sql.types.column_ddl import (
        DeclaredColumn as DeclaredColumn,
        declared_columns as declared_columns,
        default_text as default_text,
        parse_column_options as parse_column_options,
        parse_type as parse_type,
        spark_type_name as spark_type_name,
    )
    from deltaarrow.spark_sql.types.time_zones import (
        MOST_OFFSET as MOST_OFFSET,
        UTC as UTC,
        TimeZone as TimeZone,
        in_time_zone as in_time_zone,
        local_time_zone as local_time_zone,
        offset_name as offset_name,
        parse_time_zone as parse_time_zone,
        session_time_zone as session_time_zone,
    )
    from deltaarrow.spark_sql.types.type_rules import has_same_shape as has_same_shape, type_name as type_name

__getattr__ = lazy_package(__name__)
