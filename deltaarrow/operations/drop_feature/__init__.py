"""DROP FEATURE: removes a feature from a table once the table and, if required, its history do not use it."""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.operations.drop_feature.feature_drop import (
        DropFeaturePlan as DropFeaturePlan,
        FeatureDrop as FeatureDrop,
    )
    from deltaarrow.operations.drop_feature.step import Work as Work

__getattr__ = lazy_package(__name__)
