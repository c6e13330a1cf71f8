"""Partition values as typed constants in DuckDB's SQL and in Arrow."""

import datetime as dt
from typing import Any

import pyarrow as pa

from deltaarrow.compute import quote_literal
from deltaarrow.partitions.duckdb_types import duckdb_type
from deltaarrow.partitions.values import render_partition_value, render_timestamp
from deltaarrow.schema import PrimitiveType, to_arrow_type

__all__ = ["partition_literal_sql", "partition_scalar"]


def partition_literal_sql(value: Any, data_type: PrimitiveType) -> str:
    """A DuckDB expression with this value and exactly the column's type.

    Args:
        value: a value as `parse_partition_value` returns it for the type.
        data_type: the type of the column.

    Raises:
        UnsupportedFeatureError, TypeError, ValueError: as for `render_partition_value`, except that any
            binary value is accepted.

    >>> partition_literal_sql(None, PrimitiveType("long"))
    'CAST(NULL AS BIGINT)'
    """
    target = duckdb_type(data_type)
    if value is None:
        return f"CAST(NULL AS {target})"
    if data_type.type == "binary":
        return f"unhex('{value.hex()}')"
    if data_type.type == "string":
        return f"CAST({quote_literal(value)} AS {target})"
    text = render_partition_value(value, data_type)
    if data_type.type == "timestamp":
        text = f"{render_timestamp(value.astimezone(dt.UTC))}+00"
    return f"CAST('{text}' AS {target})"


def partition_scalar(value: Any, data_type: PrimitiveType) -> pa.Scalar:
    """The value as an Arrow scalar of exactly the column's type.

    >>> partition_scalar(5, PrimitiveType("byte"))
    <pyarrow.Int8Scalar: 5>
    """
    return pa.scalar(value, to_arrow_type(data_type))
