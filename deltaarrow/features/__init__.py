"""Table features and table properties: what they are, and which of them an operation may meet.

The registry of features, the records of properties, the gates that every read and write passes, and the
protocol of new tables. Chapters "Table Features" and "Protocol Evolution" of the protocol. The records
of properties are the constants of `properties`, as in `properties.CHECKPOINT_INTERVAL.parse(configuration)`.
"""

from typing import TYPE_CHECKING

from deltaarrow.features import properties
from deltaarrow.features.properties import PROPERTIES
from deltaarrow.runtime.lazy import lazy_attributes

if TYPE_CHECKING:
    from deltaarrow.features.alteration import ChangedProperties, changed_properties, removed_properties
    from deltaarrow.features.column_rules import ensure_columns_fit_properties
    from deltaarrow.features.creation import minimal_protocol, new_table_configuration
    from deltaarrow.features.gates import (
        ensure_readable,
        ensure_writable,
        implied_features,
        is_supported,
        supported_features,
    )
    from deltaarrow.features.iceberg_compat import (
        ensure_iceberg_compatible,
        ensure_iceberg_version_may_become,
        has_nested_ids,
        iceberg_compat_version,
        iceberg_file_tags,
        with_iceberg_properties,
    )
    from deltaarrow.features.names import TableFeatures
    from deltaarrow.features.property import Effect, TableProperty
    from deltaarrow.features.readme import readme_property_table, readme_table
    from deltaarrow.features.registry import (
        FEATURES,
        FeatureKind,
        Operation,
        Support,
        TableFeature,
        find_feature,
    )
    from deltaarrow.features.row_tracking import (
        assigns_row_ids,
        is_row_tracking_enabled,
        with_materialized_columns,
    )
    from deltaarrow.features.upgrade import upgraded_protocol

__all__ = [
    "FEATURES",
    "PROPERTIES",
    "ChangedProperties",
    "Effect",
    "FeatureKind",
    "Operation",
    "Support",
    "TableFeature",
    "TableFeatures",
    "TableProperty",
    "assigns_row_ids",
    "changed_properties",
    "ensure_columns_fit_properties",
    "ensure_iceberg_compatible",
    "ensure_iceberg_version_may_become",
    "ensure_readable",
    "ensure_writable",
    "find_feature",
    "has_nested_ids",
    "iceberg_compat_version",
    "iceberg_file_tags",
    "implied_features",
    "is_row_tracking_enabled",
    "is_supported",
    "minimal_protocol",
    "new_table_configuration",
    "properties",
    "readme_property_table",
    "readme_table",
    "removed_properties",
    "supported_features",
    "upgraded_protocol",
    "with_iceberg_properties",
    "with_materialized_columns",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "FEATURES": "deltaarrow.features.registry",
        "ChangedProperties": "deltaarrow.features.alteration",
        "Effect": "deltaarrow.features.property",
        "FeatureKind": "deltaarrow.features.registry",
        "Operation": "deltaarrow.features.registry",
        "Support": "deltaarrow.features.registry",
        "TableFeature": "deltaarrow.features.registry",
        "TableFeatures": "deltaarrow.features.names",
        "TableProperty": "deltaarrow.features.property",
        "assigns_row_ids": "deltaarrow.features.row_tracking",
        "changed_properties": "deltaarrow.features.alteration",
        "ensure_columns_fit_properties": "deltaarrow.features.column_rules",
        "ensure_iceberg_compatible": "deltaarrow.features.iceberg_compat",
        "ensure_iceberg_version_may_become": "deltaarrow.features.iceberg_compat",
        "ensure_readable": "deltaarrow.features.gates",
        "ensure_writable": "deltaarrow.features.gates",
        "find_feature": "deltaarrow.features.registry",
        "has_nested_ids": "deltaarrow.features.iceberg_compat",
        "iceberg_compat_version": "deltaarrow.features.iceberg_compat",
        "iceberg_file_tags": "deltaarrow.features.iceberg_compat",
        "implied_features": "deltaarrow.features.gates",
        "is_row_tracking_enabled": "deltaarrow.features.row_tracking",
        "is_supported": "deltaarrow.features.gates",
        "minimal_protocol": "deltaarrow.features.creation",
        "new_table_configuration": "deltaarrow.features.creation",
        "readme_property_table": "deltaarrow.features.readme",
        "readme_table": "deltaarrow.features.readme",
        "removed_properties": "deltaarrow.features.alteration",
        "supported_features": "deltaarrow.features.gates",
        "upgraded_protocol": "deltaarrow.features.upgrade",
        "with_iceberg_properties": "deltaarrow.features.iceberg_compat",
        "with_materialized_columns": "deltaarrow.features.row_tracking",
    },
)
