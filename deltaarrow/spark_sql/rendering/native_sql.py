"""SQL of expressions for queries over data files, with columns and values of DuckDB's own types.

Inside expressions timestamps have no zone, are in UTC and lie in the years 1 to 9999. The columns that a
query reads and the values that it returns need not, so they are converted and checked.
"""

from collections.abc import Collection, Mapping

from deltaarrow.schema import INTERVAL_TYPES, DataType, IntervalType, PrimitiveType
from deltaarrow.spark_sql.rendering.duckdb_sql import rendered, to_sql
from deltaarrow.spark_sql.tree.nodes import Expression, Node, Path, call, escaped, valued
from deltaarrow.spark_sql.types.nested import Convert, leaf_types, rebuilt
from deltaarrow.spark_sql.types.type_rules import (
    DATE,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    native_sql_type,
    sql_type,
)

__all__ = ["given", "given_sql", "given_with_variants_sql", "taken", "taken_sql", "to_native_sql"]

_BEYOND = "error('unsupported: a time outside the years 1 to 9999')"
_NAIVE: dict[DataType, str] = {DATE: "{0}", TIMESTAMP: "make_timestamp(epoch_us({0}))", TIMESTAMP_NTZ: "{0}"}
_LENGTH = "to_days(CAST({0} // 86400000000 AS INTEGER)) + to_microseconds({0} % 86400000000)"
"""A number of microseconds as an INTERVAL of DuckDB's that equals no other."""


def to_native_sql(expression: Expression, columns: Mapping[Path, str], *, now_ms: int) -> str:
    """DuckDB SQL that computes the expression; it runs where `provide_kernels` has given it its functions.

    Variants come as structs of bytes.

    Args:
        expression: from `parse_expression`.
        columns: the SQL of each column that the expression reads, in the type that DuckDB's file reader gives
            it.
        now_ms: the value of ``current_timestamp()``, in milliseconds since 1970.

    Raises `UnsupportedFeatureError` if the SQL of the expression becomes too long.
    """
    given = {each.path: given_sql(columns[each.path], each.type) for each in valued(expression.root)}
    sql = to_sql(expression, {**columns, **given}, now_ms=now_ms)
    return taken_sql(sql, expression.type)


def taken_sql(sql: str, data_type: DataType) -> str:
    """Convert the SQL of an expression's value to DuckDB's own type."""
    converted = _with(taken, (TIMESTAMP, *INTERVAL_TYPES), sql, data_type)
    if converted == sql or isinstance(data_type, PrimitiveType):
        return converted
    # The parts of a struct that is NULL in every row have no types in DuckDB.
    return f"CAST({converted} AS {native_sql_type(data_type)})"


def given_sql(sql: str, data_type: DataType) -> str:
    """Convert the SQL of a column from DuckDB's own type to the form that expressions use."""
    return _with(given, (*_NAIVE, *INTERVAL_TYPES), sql, data_type)


def given_with_variants_sql(sql: str, data_type: DataType) -> str:
    """Like `given_sql`, for a column whose variants have DuckDB's own type too."""
    return _with(_given_with_variants, (*_NAIVE, *INTERVAL_TYPES, VARIANT), sql, data_type)


def _with(convert: Convert, types: Collection[DataType], sql: str, data_type: DataType) -> str:
    """SQL of a value, converted if its type contains some of `types`."""
    if not any(each in types for each in leaf_types(data_type)):
        return sql
    return rendered(rebuilt(call("given", (), data_type, escaped(sql)), convert), {})


def given(node: Node, data_type: DataType) -> Node:
    """Convert a value of a primitive type from DuckDB's own type to the form that expressions use."""
    if isinstance(data_type, IntervalType):
        return call("given", (node,), data_type, "epoch_us({0})")
    naive = _NAIVE.get(data_type)
    if naive is None:
        return node
    kind = "DATE" if data_type == DATE else "TIMESTAMP"
    checked = f"CASE WHEN year({naive}) NOT BETWEEN 1 AND 9999 THEN {_BEYOND}::{kind} ELSE {naive} END"
    return call("given", (node,), data_type, checked)


def _given_with_variants(node: Node, data_type: DataType) -> Node:
    if data_type != VARIANT:
        return given(node, data_type)
    # In DuckDB's function NULL and a variant that is null are one.
    octets = f"CAST(variant_to_parquet_variant({{0}}) AS {sql_type(VARIANT)})"
    return call("given", (node,), VARIANT, f"CASE WHEN {{0}} IS NOT NULL THEN {octets} END")


def taken(node: Node, data_type: DataType) -> Node:
    """Convert a value of a primitive type from the form that expressions use to DuckDB's own type."""
    if isinstance(data_type, IntervalType):
        return call("taken", (node,), data_type, _LENGTH)
    if data_type != TIMESTAMP:
        return node
    return call("taken", (node,), data_type, "make_timestamptz(epoch_us(CAST({0} AS TIMESTAMP)))")
