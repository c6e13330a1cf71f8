"""The types of partition values in DuckDB."""

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
    """The DuckDB type that holds the values of a type that tables are partitioned by.

    Raises:
        UnsupportedFeatureError: tables cannot be partitioned by that type.
    """
    if data_type.decimal:
        return "DECIMAL({},{})".format(*data_type.decimal)
    if data_type.type not in _DUCKDB_TYPES:
        raise UnsupportedFeatureError(f"{data_type.type} cannot be partitioned by", feature=data_type.type)
    return _DUCKDB_TYPES[data_type.type]
