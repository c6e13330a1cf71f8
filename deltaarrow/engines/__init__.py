"""Thin adapters that show a snapshot to an engine: pyarrow datasets, DuckDB and Polars.

Every one has the same parts in the same order: translate, plan, stream. They are imported at first
use, since each brings its engine along.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_attributes

if TYPE_CHECKING:
    from deltaarrow.engines.changes import ChangeDataset
    from deltaarrow.engines.dataset import DeltaDataset, DeltaFragment
    from deltaarrow.engines.duckdb import register
    from deltaarrow.engines.duckdb_connection import DeltaConnection, connect
    from deltaarrow.engines.explaining import explain
    from deltaarrow.engines.polars import scan_delta
    from deltaarrow.engines.scanner import DeltaScanner

__all__ = [
    "ChangeDataset",
    "DeltaConnection",
    "DeltaDataset",
    "DeltaFragment",
    "DeltaScanner",
    "connect",
    "explain",
    "register",
    "scan_delta",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "ChangeDataset": "deltaarrow.engines.changes",
        "DeltaConnection": "deltaarrow.engines.duckdb_connection",
        "DeltaDataset": "deltaarrow.engines.dataset",
        "DeltaFragment": "deltaarrow.engines.dataset",
        "DeltaScanner": "deltaarrow.engines.scanner",
        "connect": "deltaarrow.engines.duckdb_connection",
        "explain": "deltaarrow.engines.explaining",
        "register": "deltaarrow.engines.duckdb",
        "scan_delta": "deltaarrow.engines.polars",
    },
)
