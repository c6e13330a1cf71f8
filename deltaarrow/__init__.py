"""Delta Lake tables as Arrow datasets, for DuckDB, Polars and Spark.

Open a table with `DeltaTable`, write one with `write_deltalake`; `register` shows a table to DuckDB,
`scan_delta` to Polars, and `DeltaTable.to_pyarrow_dataset` to everything that reads Arrow.
"""

from typing import TYPE_CHECKING

from deltaarrow.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    ConstraintViolationError,
    DeltaError,
    DeltaProtocolError,
    MetadataChangedException,
    ProtocolChangedException,
    SchemaMismatchError,
    TableNotFoundError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.version import VERSION

if TYPE_CHECKING:
    from deltaarrow.engines import DeltaDataset, connect, explain, register, scan_delta
    from deltaarrow.features import TableFeatures
    from deltaarrow.log import Catalog, RatifiedCommit, RatifiedCommits
    from deltaarrow.operations import CommitProperties, PostCommitHookProperties, Transaction
    from deltaarrow.runtime.cache import set_cache_limit
    from deltaarrow.scan import Explanation
    from deltaarrow.schema import ArrayType, Field, MapType, PrimitiveType, Schema, StructType
    from deltaarrow.table.delta_table import DeltaTable
    from deltaarrow.table.merger import TableMerger
    from deltaarrow.table.writer import write_deltalake
    from deltaarrow.transaction import OptimisticTransaction
    from deltaarrow.write import ColumnProperties, WriterProperties

__version__ = VERSION

__all__ = [
    "ArrayType",
    "Catalog",
    "ColumnProperties",
    "CommitFailedError",
    "CommitProperties",
    "CommitStateUnknownError",
    "ConcurrentAppendException",
    "ConcurrentDeleteDeleteException",
    "ConcurrentDeleteReadException",
    "ConcurrentTransactionException",
    "ConcurrentWriteException",
    "ConstraintViolationError",
    "DeltaDataset",
    "DeltaError",
    "DeltaProtocolError",
    "DeltaTable",
    "Explanation",
    "Field",
    "MapType",
    "MetadataChangedException",
    "OptimisticTransaction",
    "PostCommitHookProperties",
    "PrimitiveType",
    "ProtocolChangedException",
    "RatifiedCommit",
    "RatifiedCommits",
    "Schema",
    "SchemaMismatchError",
    "StructType",
    "TableFeatures",
    "TableMerger",
    "TableNotFoundError",
    "Transaction",
    "UnsupportedFeatureError",
    "VersionNotFoundError",
    "WriterProperties",
    "connect",
    "explain",
    "register",
    "scan_delta",
    "set_cache_limit",
    "write_deltalake",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "ArrayType": "deltaarrow.schema.types",
        "Catalog": "deltaarrow.log.catalog",
        "ColumnProperties": "deltaarrow.write.properties",
        "CommitProperties": "deltaarrow.operations.commit_properties",
        "DeltaDataset": "deltaarrow.engines.dataset",
        "DeltaTable": "deltaarrow.table.delta_table",
        "Explanation": "deltaarrow.scan.explain",
        "Field": "deltaarrow.schema.types",
        "MapType": "deltaarrow.schema.types",
        "OptimisticTransaction": "deltaarrow.transaction.transaction",
        "PostCommitHookProperties": "deltaarrow.operations.commit_properties",
        "PrimitiveType": "deltaarrow.schema.types",
        "RatifiedCommit": "deltaarrow.log.catalog",
        "RatifiedCommits": "deltaarrow.log.catalog",
        "Schema": "deltaarrow.schema.schema",
        "StructType": "deltaarrow.schema.types",
        "TableFeatures": "deltaarrow.features.names",
        "TableMerger": "deltaarrow.table.merger",
        "Transaction": "deltaarrow.operations.commit_properties",
        "WriterProperties": "deltaarrow.write.properties",
        "connect": "deltaarrow.engines.duckdb_connection",
        "explain": "deltaarrow.engines.explaining",
        "register": "deltaarrow.engines.duckdb",
        "scan_delta": "deltaarrow.engines.polars",
        "set_cache_limit": "deltaarrow.runtime.cache",
        "write_deltalake": "deltaarrow.table.writer",
    },
)


def __dir__() -> list[str]:
    """The public names, also those that nothing has asked for yet."""
    return sorted([*__all__, "__version__"])
