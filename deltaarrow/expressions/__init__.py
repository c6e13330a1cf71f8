"""Conditions on rows: one predicate tree between the notations of users and those of engines.

`from_filters`, `from_arrow` and `deltaarrow.spark_sql` make a tree, `bind` binds it to a schema, `to_duckdb`
and `to_arrow` render it.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.expressions.arrow_parsing import from_arrow as from_arrow
    from deltaarrow.expressions.arrow_rendering import (
        column_expression as column_expression,
        to_arrow as to_arrow,
    )
    from deltaarrow.expressions.arrow_tokens import columns_of_arrow as columns_of_arrow
    from deltaarrow.expressions.duckdb_rendering import column_sql as column_sql, to_duckdb as to_duckdb
    from deltaarrow.expressions.filter_parsing import (
        Filter as Filter,
        Filters as Filters,
        from_filters as from_filters,
    )
    from deltaarrow.expressions.literals import (
        decimal_digits as decimal_digits,
        literal_scalar as literal_scalar,
        literal_sql as literal_sql,
        literal_type as literal_type,
        negated as negated,
    )
    from deltaarrow.expressions.predicate_binding import (
        bind as bind,
        coerce_literal as coerce_literal,
        coerce_literals as coerce_literals,
        compares_own_types as compares_own_types,
        is_lossless_cast as is_lossless_cast,
        resolve_column as resolve_column,
    )
    from deltaarrow.expressions.predicates import (
        FALSE as FALSE,
        MIRRORED as MIRRORED,
        NEGATED as NEGATED,
        NULL as NULL,
        TRUE as TRUE,
        And as And,
        Cast as Cast,
        Column as Column,
        Compare as Compare,
        CompareOp as CompareOp,
        Constant as Constant,
        IsIn as IsIn,
        IsNan as IsNan,
        IsNull as IsNull,
        Literal as Literal,
        LiteralValue as LiteralValue,
        Not as Not,
        Opaque as Opaque,
        Operand as Operand,
        Or as Or,
        Predicate as Predicate,
        StartsWith as StartsWith,
        VariantGet as VariantGet,
        boolean_column as boolean_column,
        columns_of as columns_of,
        conjuncts as conjuncts,
        is_exact as is_exact,
        not_on_rows as not_on_rows,
        null_safe_equal as null_safe_equal,
        variant_paths as variant_paths,
    )
    from deltaarrow.expressions.temporal import parse_date as parse_date, parse_timestamp as parse_timestamp
    from deltaarrow.expressions.total_order import (
        in_total_order as in_total_order,
        is_in_total_order as is_in_total_order,
        ordered as ordered,
    )

__getattr__ = lazy_package(__name__)
