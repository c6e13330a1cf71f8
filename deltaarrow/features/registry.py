"""The table features: one record each, whose fields are questions.

Chapter "Table Features" of the protocol, its appendix "Valid Feature Names in Table Features", the features
of the protocol's RFCs and those that delta-spark writes. Gates, the protocol of new tables, error messages
and the table in the documentation are all derived from these records.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, NamedTuple

from deltaarrow.features import properties as p
from deltaarrow.features.activation import Activation, ColumnMetadata, ColumnType, PropertyPrefix, PropertySet
from deltaarrow.schema.metadata_keys import (
    COLLATIONS_KEY,
    CONSTRAINT_PREFIX,
    DEFAULT_KEY,
    GENERATION_KEY,
    IDENTITY_START_KEY,
    INVARIANTS_KEY,
)

__all__ = [
    "FEATURES",
    "READER_FEATURES_VERSION",
    "WRITER_FEATURES_VERSION",
    "FeatureKind",
    "Operation",
    "Removal",
    "Support",
    "TableFeature",
    "find_feature",
]

Operation = Literal["create", "append", "overwrite", "change"]
"""Operations on a table other than reading."""

READER_FEATURES_VERSION = 3
WRITER_FEATURES_VERSION = 7


class FeatureKind(StrEnum):
    """Who must know a feature."""

    WRITER = "writer"
    READER_WRITER = "reader and writer"


class Support(StrEnum):
    """How far this release supports a feature."""

    YES = "yes"
    UNLESS_ACTIVE = "unless active"
    THROUGH_CATALOG = "through its catalog"
    NO = "no"


class Removal(StrEnum):
    """Whether, and how, a feature can be dropped from a table."""

    NO = "no"
    AT_ONCE = "yes"
    GUARDS_HISTORY = "yes, guarding older versions"
    NOT_HERE = "in Spark only"


class TableFeature(NamedTuple):
    """The record of one table feature."""

    name: str
    """What do protocol actions call it?"""
    kind: FeatureKind
    """Must readers know it, or only writers?"""
    sentence: str
    """What is it?"""
    legacy_reader_version: int | None = None
    """From which reader version on is it implied in tables without feature lists?"""
    legacy_writer_version: int | None = None
    """From which writer version on is it implied in tables without feature lists?"""
    activation: Activation | None = None
    """What in the metadata makes it active?"""
    requires: tuple[str, ...] = ()
    """Which other features does it require?"""
    also_named: tuple[str, ...] = ()
    """Which other names, from its preview, may tables list it under?"""
    listed_as: str = ""
    """Which of these names does the protocol of a new table list, as in delta-spark?"""
    read: Support = Support.YES
    """Can such a table be read?"""
    create: Support = Support.NO
    """Can such a table be created?"""
    append: Support = Support.NO
    """Can rows be added?"""
    overwrite: Support = Support.NO
    """Can rows be replaced?"""
    change: Support = Support.NO
    """Can rows be deleted, updated and merged into?"""
    removal: Removal = Removal.NO
    """Can it be dropped, and do readers of older versions still need it then?"""
    remedy: str = ""
    """What can a user do when it is refused?"""

    @property
    def listed_name(self) -> str:
        """The name to list it under in protocols that this release writes."""
        return self.listed_as or self.name

    @property
    def is_legacy(self) -> bool:
        """Whether it is older than feature lists."""
        return self.legacy_writer_version is not None

    @property
    def min_reader_version(self) -> int:
        """The lowest reader version of a table with the feature."""
        if self.kind is FeatureKind.WRITER:
            return 1
        return self.legacy_reader_version or READER_FEATURES_VERSION

    @property
    def min_writer_version(self) -> int:
        """The lowest writer version of a table with the feature."""
        return self.legacy_writer_version or WRITER_FEATURES_VERSION

    def supports(self, operation: Operation | Literal["read"]) -> Support:
        """How far this release supports the feature in an operation."""
        support: Support = getattr(self, operation)
        return support


_W, _RW = FeatureKind.WRITER, FeatureKind.READER_WRITER
_YES, _UNLESS_ACTIVE, _NO = Support.YES, Support.UNLESS_ACTIVE, Support.NO
_THROUGH_CATALOG = Support.THROUGH_CATALOG
_AT_ONCE, _GUARDS_HISTORY, _NOT_HERE = Removal.AT_ONCE, Removal.GUARDS_HISTORY, Removal.NOT_HERE

_RECORDS = (
    TableFeature(
        name="appendOnly",
        kind=_W,
        sentence="Rows may be added, but not changed or deleted.",
        legacy_writer_version=2,
        activation=PropertySet(p.APPEND_ONLY),
        create=_YES,
        append=_YES,
        overwrite=_UNLESS_ACTIVE,
        change=_UNLESS_ACTIVE,
        remedy="append, or set delta.appendOnly to false first (Spark: DELTA_CANNOT_MODIFY_APPEND_ONLY)",
    ),
    TableFeature(
        name="invariants",
        kind=_W,
        sentence="Columns may have an invariant: a condition that every row satisfies.",
        legacy_writer_version=2,
        activation=ColumnMetadata(INVARIANTS_KEY),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
    ),
    TableFeature(
        name="checkConstraints",
        kind=_W,
        sentence="The table may have CHECK constraints, which every row satisfies.",
        legacy_writer_version=3,
        activation=PropertyPrefix(CONSTRAINT_PREFIX),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
        removal=_AT_ONCE,
    ),
    TableFeature(
        name="changeDataFeed",
        kind=_W,
        sentence="Changed rows are recorded with their old and new values.",
        legacy_writer_version=4,
        activation=PropertySet(p.ENABLE_CHANGE_DATA_FEED),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
    ),
    TableFeature(
        name="generatedColumns",
        kind=_W,
        sentence="Columns may be computed from other columns.",
        legacy_writer_version=4,
        activation=ColumnMetadata(GENERATION_KEY),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
    ),
    TableFeature(
        name="columnMapping",
        kind=_RW,
        sentence="Columns have physical names in data files, so renaming and dropping rewrite no file.",
        legacy_reader_version=2,
        legacy_writer_version=5,
        activation=PropertySet(p.COLUMN_MAPPING_MODE),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
        removal=_GUARDS_HISTORY,
    ),
    TableFeature(
        name="identityColumns",
        kind=_W,
        sentence="Columns may be identity columns, whose values are generated.",
        legacy_writer_version=6,
        activation=ColumnMetadata(IDENTITY_START_KEY),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
    ),
    TableFeature(
        name="deletionVectors",
        kind=_RW,
        sentence="Rows may be deleted by marking them instead of rewriting their file.",
        activation=PropertySet(p.ENABLE_DELETION_VECTORS),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
        removal=_GUARDS_HISTORY,
    ),
    TableFeature(
        name="timestampNtz",
        kind=_RW,
        sentence="Columns may have the type TIMESTAMP_NTZ, a timestamp without a time zone.",
        activation=ColumnType("timestamp_ntz"),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
    ),
    TableFeature(
        name="v2Checkpoint",
        kind=_RW,
        sentence="Checkpoints may have sidecar files and unique names.",
        activation=PropertySet(p.CHECKPOINT_POLICY),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
        removal=_GUARDS_HISTORY,
    ),
    TableFeature(
        name="vacuumProtocolCheck",
        kind=_RW,
        sentence="VACUUM checks the whole protocol before it deletes files.",
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
        removal=_GUARDS_HISTORY,
    ),
    TableFeature(
        name="typeWidening",
        kind=_RW,
        sentence="Column types may be widened without rewriting files.",
        activation=PropertySet(p.ENABLE_TYPE_WIDENING),
        also_named=("typeWidening-preview",),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
        removal=_GUARDS_HISTORY,
    ),
    TableFeature(
        name="variantType",
        kind=_RW,
        sentence="Columns may have the type VARIANT, for semi-structured values.",
        activation=ColumnType("variant"),
        also_named=("variantType-preview",),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
    ),
    TableFeature(
        name="variantShredding",
        kind=_RW,
        sentence="Variants may be split into typed columns in data files.",
        activation=PropertySet(p.ENABLE_VARIANT_SHREDDING),
        requires=("variantType",),
        also_named=("variantShredding-preview",),
        listed_as="variantShredding-preview",
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
    ),
    TableFeature(
        name="domainMetadata",
        kind=_W,
        sentence="The table stores named strings, one per domain, for features and users.",
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
        removal=_AT_ONCE,
    ),
    TableFeature(
        name="rowTracking",
        kind=_W,
        sentence="Rows have stable ids and commit versions, which rewrites preserve.",
        activation=PropertySet(p.ENABLE_ROW_TRACKING),
        requires=("domainMetadata",),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
        removal=_AT_ONCE,
    ),
    TableFeature(
        name="clustering",
        kind=_W,
        sentence="Rows are clustered by the clustering columns.",
        requires=("domainMetadata",),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
    ),
    TableFeature(
        name="allowColumnDefaults",
        kind=_W,
        sentence="Columns may have a default value for rows that are inserted without one.",
        activation=ColumnMetadata(DEFAULT_KEY),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
    ),
    TableFeature(
        name="inCommitTimestamp",
        kind=_W,
        sentence="The timestamp of a version is stored in its commit and increases with every version.",
        activation=PropertySet(p.ENABLE_IN_COMMIT_TIMESTAMPS),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
        removal=_AT_ONCE,
    ),
    TableFeature(
        name="checkpointProtection",
        kind=_W,
        sentence="Old checkpoints are removed only by engines that can rebuild them.",
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
        removal=_AT_ONCE,
    ),
    TableFeature(
        name="materializePartitionColumns",
        kind=_W,
        sentence="Data files also contain the partition columns.",
        activation=PropertySet(p.ENABLE_MATERIALIZE_PARTITION_COLUMNS),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
        removal=_AT_ONCE,
    ),
    TableFeature(
        name="icebergCompatV1",
        kind=_W,
        sentence="Data files can be read by Iceberg (compatibility rules, version 1).",
        activation=PropertySet(p.ENABLE_ICEBERG_COMPAT_V1),
        requires=("columnMapping",),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
    ),
    TableFeature(
        name="icebergCompatV2",
        kind=_W,
        sentence="Data files can be read by Iceberg (compatibility rules, version 2).",
        activation=PropertySet(p.ENABLE_ICEBERG_COMPAT_V2),
        requires=("columnMapping",),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
    ),
    TableFeature(
        name="icebergCompatV3",
        kind=_W,
        sentence="Data files can be read by Iceberg (compatibility rules, version 3).",
        activation=PropertySet(p.ENABLE_ICEBERG_COMPAT_V3),
        requires=("columnMapping", "rowTracking"),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
    ),
    TableFeature(
        name="icebergWriterCompatV1",
        kind=_W,
        sentence="Iceberg writers can write to the table (compatibility rules, version 1).",
        requires=("icebergCompatV2",),
    ),
    TableFeature(
        name="icebergWriterCompatV3",
        kind=_W,
        sentence="Iceberg writers can write to the table (compatibility rules, version 3).",
        requires=("icebergCompatV3",),
    ),
    TableFeature(
        name="collations",
        kind=_W,
        sentence="String columns may have a collation.",
        requires=("domainMetadata",),
        also_named=("collations-preview",),
        activation=ColumnMetadata(COLLATIONS_KEY),
    ),
    TableFeature(
        name="geospatial",
        kind=_RW,
        sentence="Columns may have the types GEOMETRY and GEOGRAPHY.",
        also_named=("geospatial-dev",),
        read=_NO,
        removal=_NOT_HERE,
    ),
    TableFeature(
        name="intervalTypes",
        kind=_RW,
        sentence="Columns may have interval types (proposal).",
        also_named=("intervalType",),
        read=_NO,
    ),
    TableFeature(
        name="timestampNanos",
        kind=_RW,
        sentence="Columns may have timestamps in nanoseconds (proposal).",
        requires=("timestampNtz",),
        read=_NO,
    ),
    TableFeature(
        name="catalogManaged",
        kind=_RW,
        sentence="Commits are made through a catalog; only the catalog knows the newest commits.",
        requires=("inCommitTimestamp", "vacuumProtocolCheck"),
        also_named=("catalogOwned-preview", "catalogOwned"),
        read=_THROUGH_CATALOG,
        create=_THROUGH_CATALOG,
        append=_THROUGH_CATALOG,
        overwrite=_THROUGH_CATALOG,
        change=_THROUGH_CATALOG,
        remedy="ask its catalog, as DeltaTable(..., catalog=...) does; by path, commits are missed",
    ),
    TableFeature(
        name="coordinatedCommits-preview",
        kind=_W,
        sentence="Commits are made through a coordinator; replaced by `catalogManaged`.",
        activation=PropertySet(p.COMMIT_COORDINATOR),
        requires=("inCommitTimestamp", "vacuumProtocolCheck"),
        removal=_NOT_HERE,
    ),
    TableFeature(
        name="redirectReaderWriter-preview",
        kind=_RW,
        sentence="Readers and writers are redirected to another table.",
        activation=PropertySet(p.REDIRECT_READER_WRITER),
        read=_UNLESS_ACTIVE,
        remedy="open the table that the property names",
        removal=_NOT_HERE,
    ),
    TableFeature(
        name="redirectWriterOnly-preview",
        kind=_W,
        sentence="Writers are redirected to another table.",
        activation=PropertySet(p.REDIRECT_WRITER_ONLY),
        removal=_NOT_HERE,
    ),
    TableFeature(
        name="adaptiveMetadata-preview",
        kind=_RW,
        sentence="The log is stored in Iceberg's format.",
        requires=("catalogManaged", "rowTracking", "domainMetadata", "deletionVectors", "columnMapping"),
        read=_NO,
    ),
)

FEATURES: Mapping[str, TableFeature] = {record.name: record for record in _RECORDS}
"""All records by feature name, the oldest features first."""

_BY_ANY_NAME = {name.lower(): record for record in _RECORDS for name in (record.name, *record.also_named)}


def find_feature(name: str) -> TableFeature | None:
    """Return the record of a feature by any of its names, ignoring case; None for an unknown name.

    >>> find_feature("variantType-preview").name
    'variantType'
    """
    return _BY_ANY_NAME.get(name.lower())
