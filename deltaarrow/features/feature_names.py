"""The names of table features as an enumeration, for callers who prefer one to strings."""

from enum import StrEnum

__all__ = ["TableFeatures"]


class TableFeatures(StrEnum):
    """The table features that may be added to a table; names are those of ``deltalake`` where it has one.

    >>> TableFeatures.TimestampWithoutTimezone.value
    'timestampNtz'
    """

    AppendOnly = "appendOnly"
    Invariants = "invariants"
    CheckConstraints = "checkConstraints"
    ChangeDataFeed = "changeDataFeed"
    GeneratedColumns = "generatedColumns"
    ColumnMapping = "columnMapping"
    IdentityColumns = "identityColumns"
    DeletionVectors = "deletionVectors"
    TimestampWithoutTimezone = "timestampNtz"
    V2Checkpoint = "v2Checkpoint"
    VacuumProtocolCheck = "vacuumProtocolCheck"
    TypeWidening = "typeWidening"
    VariantType = "variantType"
    VariantShredding = "variantShredding"
    DomainMetadata = "domainMetadata"
    RowTracking = "rowTracking"
    AllowColumnDefaults = "allowColumnDefaults"
    InCommitTimestamp = "inCommitTimestamp"
    CheckpointProtection = "checkpointProtection"
    MaterializePartitionColumns = "materializePartitionColumns"
    IcebergCompatV1 = "icebergCompatV1"
    IcebergCompatV2 = "icebergCompatV2"
    IcebergCompatV3 = "icebergCompatV3"
