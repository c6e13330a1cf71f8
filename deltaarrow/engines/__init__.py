"""Thin adapters that show a snapshot to an engine: pyarrow datasets, DuckDB and Polars.

Each engine module has the same parts in the same order: translate, plan, stream. Modules are imported on
first use, because each imports its engine.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.engines.change_dataset import ChangeDataset as ChangeDataset
    from deltaarrow.engines.dataset import DeltaDataset as DeltaDataset, DeltaFragment as DeltaFragment
    from deltaarrow.engines.duckdb.delta_connection import (
        DeltaConnection as DeltaConnection,
        Dialect as Dialect,
        Parameters as Parameters,
    )
    from deltaarrow.engines.duckdb.query_errors import (
        QueryErrors as QueryErrors,
        Within as Within,
        open_batches as open_batches,
    )
    from deltaarrow.engines.duckdb.table_names import PLACES as PLACES, Catalog as Catalog
    from deltaarrow.engines.duckdb.unknown_names import unknown_table as unknown_table
    from deltaarrow.engines.duckdb.view import register as register
    from deltaarrow.engines.explaining import explain as explain
    from deltaarrow.engines.polars.lazy_frame import scan_delta as scan_delta
    from deltaarrow.engines.scanner import (
        DeltaScanner as DeltaScanner,
        asked_columns as asked_columns,
        scan_rows as scan_rows,
    )
    from deltaarrow.engines.typed_dataset import TypedDataset as TypedDataset, chosen_types as chosen_types

__getattr__ = lazy_package(__name__)
