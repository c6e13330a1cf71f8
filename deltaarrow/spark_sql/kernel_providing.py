"""Gives a DuckDB connection the functions on variants that a statement calls."""

from typing import TYPE_CHECKING, Any

from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.spark_sql.kernel_calls import PREFIX

if TYPE_CHECKING:
    import duckdb

__all__ = ["provide_kernels"]

_lazily = lazy_attributes(__name__, {"KERNELS": "deltaarrow.spark_sql.variant_kernels"})
_OVER_ARROW: Any = {"type": "arrow", "null_handling": "special"}


def provide_kernels(connection: "duckdb.DuckDBPyConnection", sql: str) -> None:
    """Give a connection the functions, if a statement calls one and they are not there yet."""
    import duckdb

    if PREFIX not in sql:
        return
    for name, (compute, parameters, result) in _lazily("KERNELS").items():
        try:
            connection.create_function(
                name,
                compute,
                [duckdb.sqltype(each) for each in parameters],
                duckdb.sqltype(result),
                **_OVER_ARROW,
            )
        except (duckdb.CatalogException, duckdb.NotImplementedException):
            return  # The database has them from an earlier statement.
