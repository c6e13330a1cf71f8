"""The DuckDB types of partition values."""

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.schema import PrimitiveType

__all__ = ["duckdb_type"]

_DUCKDB_TYPES = {
    "string": "VARCHAR",
    "long": "BIGINT",
    "integer": "INTEGER",
    "short": "SMALLINT",
    "byte": "TINYINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
}


def duckdb_type(data_type: PrimitiveType) -> str:
    """The DuckDB type for values of a partition column type.

    Raises:
        UnsupportedFeatureError: the type cannot partition a table.
    """
    if data_type.decimal:
        return "DECIMAL({},{})".format(*data_type.decimal)
    if data_type.type not in _DUCKDB_TYPES:
        raise UnsupportedFeatureError(
            f"a column of type {data_type.type} cannot partition a table", feature=data_type.type
        )
    return _DUCKDB_TYPES[data_type.type]
