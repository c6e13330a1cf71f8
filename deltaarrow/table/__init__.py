"""The front door: `DeltaTable`, `write_deltalake` and the objects that tables hand out."""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_attributes

if TYPE_CHECKING:
    from deltaarrow.table.alterer import TableAlterer
    from deltaarrow.table.delta_table import DeltaTable
    from deltaarrow.table.merger import TableMerger
    from deltaarrow.table.writer import write_deltalake

__all__ = ["DeltaTable", "TableAlterer", "TableMerger", "write_deltalake"]

__getattr__ = lazy_attributes(
    __name__,
    {
        "DeltaTable": "deltaarrow.table.delta_table",
        "TableAlterer": "deltaarrow.table.alterer",
        "TableMerger": "deltaarrow.table.merger",
        "write_deltalake": "deltaarrow.table.writer",
    },
)
