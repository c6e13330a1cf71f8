"""Delta Lake tables as Arrow datasets, for DuckDB, Polars and Spark.

Open a table with `DeltaTable`, write one with `write_deltalake`. `register` shows a table to DuckDB,
`scan_delta` to Polars, and `DeltaTable.to_pyarrow_dataset` to all readers of Arrow.
"""

import importlib
from typing import TYPE_CHECKING, Any

from deltaarrow.errors import (
    CommitFailedError as CommitFailedError,
    CommitStateUnknownError as CommitStateUnknownError,
    ConcurrentAppendException as ConcurrentAppendException,
    ConcurrentDeleteDeleteException as ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException as ConcurrentDeleteReadException,
    ConcurrentTransactionException as ConcurrentTransactionException,
    ConcurrentWriteException as ConcurrentWriteException,
    ConstraintViolationError as ConstraintViolationError,
    DeltaError as DeltaError,
    DeltaProtocolError as DeltaProtocolError,
    MetadataChangedException as MetadataChangedException,
    ProtocolChangedException as ProtocolChangedException,
    SchemaMismatchError as SchemaMismatchError,
    TableNotFoundError as TableNotFoundError,
    UnsupportedFeatureError as UnsupportedFeatureError,
    VersionNotFoundError as VersionNotFoundError,
)
from deltaarrow.runtime.lazy import lazy_package
from deltaarrow.version import VERSION

if TYPE_CHECKING:
    from deltaarrow.engines.dataset import DeltaDataset as DeltaDataset
    from deltaarrow.engines.duckdb.view import register as register
    from deltaarrow.engines.explaining import explain as explain
    from deltaarrow.engines.polars.lazy_frame import scan_delta as scan_delta
    from deltaarrow.features.feature_names import TableFeatures as TableFeatures
    from deltaarrow.log.catalog_managed import (
        Catalog as Catalog,
        RatifiedCommit as RatifiedCommit,
        RatifiedCommits as RatifiedCommits,
    )
    from deltaarrow.operations.alter.column_changes import ColumnChange as ColumnChange
    from deltaarrow.query import QueryBuilder as QueryBuilder
    from deltaarrow.runtime.cache import set_cache_limit as set_cache_limit
    from deltaarrow.scan.explanation import Explanation as Explanation
    from deltaarrow.schema.schema import Schema as Schema
    from deltaarrow.schema.types import (
        ArrayType as ArrayType,
        DataType as DataType,
        Field as Field,
        MapType as MapType,
        PrimitiveType as PrimitiveType,
        StructType as StructType,
        VariantType as VariantType,
    )
    from deltaarrow.sql.connection import connect as connect
    from deltaarrow.sql.magic import load_ipython_extension as load_ipython_extension
    from deltaarrow.table.converter import convert_to_deltalake as convert_to_deltalake
    from deltaarrow.table.default_dialect import set_default_dialect as set_default_dialect
    from deltaarrow.table.delta_table import DeltaTable as DeltaTable
    from deltaarrow.table.describe import Metadata as Metadata
    from deltaarrow.table.merger import TableMerger as TableMerger
    from deltaarrow.table.native_stubs import (
        enable_nanosecond_timestamps as enable_nanosecond_timestamps,
        init_tracing as init_tracing,
        rust_core_version as rust_core_version,
    )
    from deltaarrow.table.sink import sink_delta as sink_delta
    from deltaarrow.table.writer import write_deltalake as write_deltalake
    from deltaarrow.transaction import (
        AutoCompaction as AutoCompaction,
        CommitProperties as CommitProperties,
        PostCommitHookProperties as PostCommitHookProperties,
        Transaction as Transaction,
    )
    from deltaarrow.transaction.transaction import OptimisticTransaction as OptimisticTransaction
    from deltaarrow.write.writer_properties import (
        BloomFilterProperties as BloomFilterProperties,
        ColumnProperties as ColumnProperties,
        WriterProperties as WriterProperties,
    )

_KNOWN_ELSEWHERE = {
    "read_deltalake": "DeltaTable(path).to_pandas()",
    "read_delta": "DeltaTable(path).to_pandas(), or scan_delta(path) for Polars",
    "write_delta": "write_deltalake(path, data)",
    "spark": "import deltaarrow.spark",
}
_load = lazy_package(__name__, _KNOWN_ELSEWHERE)
_MODULES = frozenset(("exceptions", "fs", "query", "schema", "table", "transaction", "warnings", "writer"))
"""The modules that ``deltalake`` has."""

__version__ = VERSION


def __getattr__(name: str) -> Any:
    return importlib.import_module(f"{__name__}.{name}") if name in _MODULES else _load(name)


def __dir__() -> list[str]:
    """The public names, including those not loaded yet."""
    return sorted([*__getattr__("__all__"), "__version__"])
