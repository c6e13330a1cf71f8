"""Writing, in the module where ``deltalake`` has it."""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.table import (
        convert_to_deltalake as convert_to_deltalake,
        write_deltalake as write_deltalake,
    )
    from deltaarrow.write import (
        BloomFilterProperties as BloomFilterProperties,
        ColumnProperties as ColumnProperties,
        WriterProperties as WriterProperties,
    )

__getattr__ = lazy_package(__name__)
