"""Queries in Spark's dialect, compiled to queries of DuckDB with exactly Spark's meaning.

`compile_query` parses a query, binds its relations to typed columns and its expressions through the binder of
`deltaarrow.spark_sql`, and writes a DuckDB query over the relations that a `Relations` gives. It knows no
table. What is not certain to mean the same is refused by name.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.spark_sql.queries.compiler import compile_query as compile_query
    from deltaarrow.spark_sql.queries.relations import (
        CompiledQuery as CompiledQuery,
        Parameters as Parameters,
        QuerySettings as QuerySettings,
        Relation as Relation,
        Relations as Relations,
        Travel as Travel,
    )

__getattr__ = lazy_package(__name__)
