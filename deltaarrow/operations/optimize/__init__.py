"""OPTIMIZE: the same rows in fewer, fuller files, without deletion vectors."""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.operations.optimize.compaction import (
        Compaction as Compaction,
        CompactionOptions as CompactionOptions,
        Progress as Progress,
    )
    from deltaarrow.operations.optimize.plan import OptimizePlan as OptimizePlan

__getattr__ = lazy_package(__name__)
