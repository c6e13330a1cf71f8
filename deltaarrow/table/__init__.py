"""The front door: `DeltaTable`, `write_deltalake` and the objects that tables hand out."""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.table.alterer import TableAlterer as TableAlterer
    from deltaarrow.table.converter import convert_to_deltalake as convert_to_deltalake
    from deltaarrow.table.delta_table import DeltaTable as DeltaTable
    from deltaarrow.table.describe import (
        DeltaTableConfig as DeltaTableConfig,
        Metadata as Metadata,
        ProtocolVersions as ProtocolVersions,
    )
    from deltaarrow.table.merger import TableMerger as TableMerger
    from deltaarrow.table.optimizer import TableOptimizer as TableOptimizer
    from deltaarrow.table.writer import write_deltalake as write_deltalake

__getattr__ = lazy_package(__name__)
