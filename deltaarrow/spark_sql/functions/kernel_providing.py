"""Gives a DuckDB connection the functions on variants and decimals, and the random ones, of a statement."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.spark_sql.tree.kernel_calls import DECIMAL, PREFIX, RANDOM, Kernel

if TYPE_CHECKING:
    import duckdb

__all__ = ["provide_kernels"]

_lazily = lazy_attributes(
    __name__,
    {
        "KERNELS": "deltaarrow.spark_sql.functions.variant_kernels",
        "decimal_kernels": "deltaarrow.spark_sql.functions.decimal_kernels",
        "RANDOM_KERNELS": "deltaarrow.spark_sql.functions.random_numbers",
    },
)
_OVER_ARROW: Any = {"type": "arrow", "null_handling": "special"}


def provide_kernels(connection: "duckdb.DuckDBPyConnection", sql: str) -> None:
    """Give a connection the functions that a statement calls and that are not there yet."""
    import duckdb

    for name, kernel in _called(sql):
        try:
            connection.create_function(
                name,
                kernel.compute,
                [duckdb.sqltype(each) for each in kernel.operands],
                duckdb.sqltype(kernel.result),
                **_OVER_ARROW,
            )
        except (duckdb.CatalogException, duckdb.NotImplementedException):
            continue  # The database has it from an earlier statement.


def _called(sql: str) -> Iterator[tuple[str, Kernel]]:
    if PREFIX in sql:
        yield from _lazily("KERNELS").items()
    if RANDOM in sql:
        yield from _lazily("RANDOM_KERNELS").items()
    if DECIMAL in sql:
        yield from _lazily("decimal_kernels")(sql)
