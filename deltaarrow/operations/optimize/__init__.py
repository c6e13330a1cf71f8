"""Files of a table rewritten without a change of rows: compaction, purging, z-order and clustering."""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.columnar.row_sorter import SortLimits as SortLimits
    from deltaarrow.operations.optimize.bins import (
        FileFigures as FileFigures,
        number_partitions as number_partitions,
    )
    from deltaarrow.operations.optimize.clustering import (
        Clustering as Clustering,
        clustering_parameters as clustering_parameters,
    )
    from deltaarrow.operations.optimize.compaction import (
        CompactionRules as CompactionRules,
        compaction_bins as compaction_bins,
        compaction_parameters as compaction_parameters,
        plan_compaction as plan_compaction,
    )
    from deltaarrow.operations.optimize.partition_selection import (
        Selection as Selection,
        plan_files as plan_files,
    )
    from deltaarrow.operations.optimize.plan import OptimizePlan as OptimizePlan
    from deltaarrow.operations.optimize.purge import (
        plan_purge as plan_purge,
        purge_parameters as purge_parameters,
    )
    from deltaarrow.operations.optimize.rewriting import (
        Progress as Progress,
        Rewriting as Rewriting,
        RewritingOptions as RewritingOptions,
    )
    from deltaarrow.operations.optimize.sort_task import Sorting as Sorting
    from deltaarrow.operations.optimize.type_rewriting import plan_type_rewriting as plan_type_rewriting
    from deltaarrow.operations.optimize.uniform import (
        enable_iceberg_metadata as enable_iceberg_metadata,
        enable_iceberg_rules as enable_iceberg_rules,
        plan_iceberg_files as plan_iceberg_files,
        plan_upgrade as plan_upgrade,
    )
    from deltaarrow.operations.optimize.unmapping import (
        has_column_mapping as has_column_mapping,
        mapping_removal as mapping_removal,
        switches_mapping_off as switches_mapping_off,
    )
    from deltaarrow.operations.optimize.z_order import (
        ZOrder as ZOrder,
        z_order_parameters as z_order_parameters,
    )

__getattr__ = lazy_package(__name__)
