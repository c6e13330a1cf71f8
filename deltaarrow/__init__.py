"""Delta Lake tables as Arrow datasets, for DuckDB, Polars and Spark.

Open a table with `DeltaTable`, write one with `write_deltalake`; `register` shows a table to DuckDB,
`scan_delta` to Polars, and `DeltaTable.to_pyarrow_dataset` to everything that reads Arrow.
"""

from typing import TYPE_CHECKING

from deltaarrow.errors import (
    CommitFailedError,
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
from deltaarrow.features import TableFeatures
from deltaarrow.lazy import lazy_attributes
from deltaarrow.log import Catalog, RatifiedCommit, RatifiedCommits
from deltaarrow.merger import TableMerger
from deltaarrow.operations import CommitProperties, PostCommitHookProperties, Transaction
from deltaarrow.schema import ArrayType, Field, MapType, PrimitiveType, Schema, StructType
from deltaarrow.table import DeltaTable
from deltaarrow.transaction import OptimisticTransaction
from deltaarrow.version import VERSION
from deltaarrow.write import ColumnProperties, WriterProperties
from deltaarrow.writer import write_deltalake

if TYPE_CHECKING:
    from deltaarrow.engines import DeltaDataset, explain, register, scan_delta
    from deltaarrow.scan import Explanation

__version__ = VERSION

__all__ = [
    "ArrayType",
    "Catalog",
    "ColumnProperties",
    "CommitFailedError",
    "CommitProperties",
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
    "explain",
    "register",
    "scan_delta",
    "write_deltalake",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "DeltaDataset": "deltaarrow.engines.dataset",
        "Explanation": "deltaarrow.scan.explain",
        "explain": "deltaarrow.engines.explain",
        "register": "deltaarrow.engines.duckdb",
        "scan_delta": "deltaarrow.engines.polars",
    },
)
