"""Table features and table properties: their records, and the operations that a table allows.

The package holds the registry of features, the records of properties, the gates that every read and write
passes, and the protocol of new tables. Chapters "Table Features" and "Protocol Evolution" of the protocol.
Property records are constants of `properties`, as in
`properties.CHECKPOINT_INTERVAL.parse(configuration)`.
"""

from typing import TYPE_CHECKING

from deltaarrow.features import properties as properties
from deltaarrow.features.properties import PROPERTIES as PROPERTIES
from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.features.column_rules import (
        ensure_columns_fit_properties as ensure_columns_fit_properties,
    )
    from deltaarrow.features.creation import (
        minimal_protocol as minimal_protocol,
        new_table_configuration as new_table_configuration,
    )
    from deltaarrow.features.downgrade import downgraded_protocol as downgraded_protocol
    from deltaarrow.features.feature_names import TableFeatures as TableFeatures
    from deltaarrow.features.gates import (
        ensure_readable as ensure_readable,
        ensure_writable as ensure_writable,
        implied_features as implied_features,
        is_supported as is_supported,
        supported_features as supported_features,
    )
    from deltaarrow.features.iceberg_compat import (
        ROW_TRACKING_FIELD_IDS as ROW_TRACKING_FIELD_IDS,
        ensure_iceberg_compatible as ensure_iceberg_compatible,
        ensure_iceberg_version_may_become as ensure_iceberg_version_may_become,
        has_nested_ids as has_nested_ids,
        iceberg_compat_version as iceberg_compat_version,
        iceberg_file_tags as iceberg_file_tags,
        iceberg_upgrade as iceberg_upgrade,
        keeps_iceberg_metadata as keeps_iceberg_metadata,
        with_iceberg_properties as with_iceberg_properties,
    )
    from deltaarrow.features.property import (
        Effect as Effect,
        TableProperty as TableProperty,
        parse_size as parse_size,
    )
    from deltaarrow.features.property_changes import (
        ChangedProperties as ChangedProperties,
        changed_properties as changed_properties,
        removed_properties as removed_properties,
    )
    from deltaarrow.features.property_names import FEATURE_PREFIX as FEATURE_PREFIX
    from deltaarrow.features.reference import (
        render_feature_table as render_feature_table,
        render_property_table as render_property_table,
    )
    from deltaarrow.features.registry import (
        FEATURES as FEATURES,
        FeatureKind as FeatureKind,
        Operation as Operation,
        Removal as Removal,
        Support as Support,
        TableFeature as TableFeature,
        find_feature as find_feature,
    )
    from deltaarrow.features.row_tracking import (
        assigns_row_ids as assigns_row_ids,
        is_row_tracking_enabled as is_row_tracking_enabled,
        with_materialized_columns as with_materialized_columns,
    )
    from deltaarrow.features.type_changes import is_allowed_change as is_allowed_change
    from deltaarrow.features.upgrade import (
        merged_protocol as merged_protocol,
        upgraded_protocol as upgraded_protocol,
    )

__getattr__ = lazy_package(__name__)
