"""Keys of column metadata, and names of table properties that layers below the registry read.

Column metadata is part of the schema (PROTOCOL.md, *Schema Serialization Format*). Table properties are in
`metaData.configuration`; their registry is `deltaarrow.features.properties`. Every name that begins with
``delta.`` is spelled here or there only, except the names of domains and tags, which are in
`deltaarrow.actions.domain_names`.
"""

__all__ = [
    "CHAR_TYPE_KEY",
    "COLLATIONS_KEY",
    "COLUMN_MAPPING_PREFIX",
    "COMMENT_KEY",
    "CONSTRAINT_PREFIX",
    "DEFAULT_KEY",
    "FIELD_ID_KEY",
    "FIRST_DEFAULT_KEY",
    "GENERATION_KEY",
    "IDENTITY_EXPLICIT_KEY",
    "IDENTITY_HIGH_WATER_MARK_KEY",
    "IDENTITY_START_KEY",
    "IDENTITY_STEP_KEY",
    "INVARIANTS_KEY",
    "MAPPING_MODE",
    "NESTED_IDS_KEY",
    "NUM_INDEXED_COLUMNS",
    "PARQUET_FIELD_ID_KEY",
    "PHYSICAL_NAME_KEY",
    "STATISTICS_COLUMNS",
    "STRING_PREFIX_LENGTH",
    "TABLE_PREFIX",
    "TYPE_CHANGES_KEY",
    "UNITY_TABLE_ID",
]

# Column Mapping.
COLUMN_MAPPING_PREFIX = "delta.columnMapping."
FIELD_ID_KEY = "delta.columnMapping.id"
NESTED_IDS_KEY = "delta.columnMapping.nested.ids"
PHYSICAL_NAME_KEY = "delta.columnMapping.physicalName"

# Column Invariants, Generated Columns, Default Columns, Type Widening.
INVARIANTS_KEY = "delta.invariants"
GENERATION_KEY = "delta.generationExpression"
DEFAULT_KEY = "CURRENT_DEFAULT"
FIRST_DEFAULT_KEY = "EXISTS_DEFAULT"
TYPE_CHANGES_KEY = "delta.typeChanges"

# Identity Columns.
IDENTITY_START_KEY = "delta.identity.start"
IDENTITY_STEP_KEY = "delta.identity.step"
IDENTITY_HIGH_WATER_MARK_KEY = "delta.identity.highWaterMark"
IDENTITY_EXPLICIT_KEY = "delta.identity.allowExplicitInsert"

# Spark's collations and char/varchar lengths.
COLLATIONS_KEY = "__COLLATIONS"
CHAR_TYPE_KEY = "__CHAR_VARCHAR_TYPE_STRING"

COMMENT_KEY = "comment"

# Keys in Arrow and Parquet schemas.
PARQUET_FIELD_ID_KEY = b"PARQUET:field_id"

# Table properties.
TABLE_PREFIX = "delta."
CONSTRAINT_PREFIX = "delta.constraints."
MAPPING_MODE = "delta.columnMapping.mode"
NUM_INDEXED_COLUMNS = "delta.dataSkippingNumIndexedCols"
STATISTICS_COLUMNS = "delta.dataSkippingStatsColumns"
STRING_PREFIX_LENGTH = "delta.dataSkippingStringPrefixLength"
UNITY_TABLE_ID = "io.unitycatalog.tableId"
