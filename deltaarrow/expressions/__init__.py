"""Conditions on rows: one predicate tree, from the notations users have and to those engines take.

`from_filters`, `from_arrow` and `deltaarrow.spark_sql` make a tree, `bind` fits it to a schema, `to_duckdb`
and `to_arrow` render it.
"""

from deltaarrow.expressions.arrow_tokens import columns_of_arrow
from deltaarrow.expressions.from_arrow import from_arrow
from deltaarrow.expressions.from_filters import Filter, Filters, from_filters
from deltaarrow.expressions.literals import (
    decimal_digits,
    literal_scalar,
    literal_sql,
    literal_type,
    negated,
)
from deltaarrow.expressions.nodes import (
    FALSE,
    NULL,
    TRUE,
    And,
    Cast,
    Column,
    Compare,
    CompareOp,
    Constant,
    IsIn,
    IsNan,
    IsNull,
    Literal,
    LiteralValue,
    Not,
    Opaque,
    Operand,
    Or,
    Predicate,
    StartsWith,
    VariantGet,
    boolean_column,
    columns_of,
    conjuncts,
    is_exact,
    not_on_rows,
    null_safe_equal,
    variant_paths,
)
from deltaarrow.expressions.predicate_binding import (
    bind,
    coerce_literal,
    compares_own_types,
    is_lossless_cast,
    resolve_column,
)
from deltaarrow.expressions.temporal import parse_date, parse_timestamp
from deltaarrow.expressions.to_arrow import column_expression, to_arrow
from deltaarrow.expressions.to_duckdb import column_sql, to_duckdb
from deltaarrow.expressions.total_order import in_total_order, is_in_total_order, ordered

__all__ = [
    "FALSE",
    "NULL",
    "TRUE",
    "And",
    "Cast",
    "Column",
    "Compare",
    "CompareOp",
    "Constant",
    "Filter",
    "Filters",
    "IsIn",
    "IsNan",
    "IsNull",
    "Literal",
    "LiteralValue",
    "Not",
    "Opaque",
    "Operand",
    "Or",
    "Predicate",
    "StartsWith",
    "VariantGet",
    "bind",
    "boolean_column",
    "coerce_literal",
    "column_expression",
    "column_sql",
    "columns_of",
    "columns_of_arrow",
    "compares_own_types",
    "conjuncts",
    "decimal_digits",
    "from_arrow",
    "from_filters",
    "in_total_order",
    "is_exact",
    "is_in_total_order",
    "is_lossless_cast",
    "literal_scalar",
    "literal_sql",
    "literal_type",
    "negated",
    "not_on_rows",
    "null_safe_equal",
    "ordered",
    "parse_date",
    "parse_timestamp",
    "resolve_column",
    "to_arrow",
    "to_duckdb",
    "variant_paths",
]
