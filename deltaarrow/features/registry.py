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
        sentence="Rows may be added but neither changed nor deleted.",
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
        sentence="Columns may have a condition that every row meets.",
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
        sentence="The table may have conditions that every row meets.",
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
        sentence="Columns may be computed from others.",
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
        sentence="Columns have names in data files that renaming and dropping leave alone.",
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
        sentence="Columns may number their rows.",
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
        sentence="Columns may hold timestamps without a time zone.",
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
        sentence="Columns may hold semi-structured values.",
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
        sentence="The table keeps named texts for features and users.",
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
        removal=_AT_ONCE,
    ),
    TableFeature(
        name="rowTracking",
        kind=_W,
        sentence="Rows have ids and versions that survive rewriting.",
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
        sentence="Rows are laid out by clustering columns.",
        requires=("domainMetadata",),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
    ),
    TableFeature(
        name="allowColumnDefaults",
        kind=_W,
        sentence="Columns may have a value for rows that give none.",
        activation=ColumnMetadata(DEFAULT_KEY),
        create=_YES,
        append=_YES,
        overwrite=_YES,
        change=_YES,
    ),
    TableFeature(
        name="inCommitTimestamp",
        kind=_W,
        sentence="The time of a version is in its commit and grows with every version.",
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
        sentence="Data files hold the partition columns as well.",
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
        sentence="Data files can be read as Iceberg, version 1 of the rules.",
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
        sentence="Data files can be read as Iceberg, version 2 of the rules.",
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
        sentence="Data files can be read as Iceberg, version 3 of the rules.",
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
        sentence="Iceberg writers could take the table over, version 1 of the rules.",
        requires=("icebergCompatV2",),
    ),
    TableFeature(
        name="icebergWriterCompatV3",
        kind=_W,
        sentence="Iceberg writers could take the table over, version 3 of the rules.",
        requires=("icebergCompatV3",),
    ),
    TableFeature(
        name="collations",
        kind=_W,
        sentence="Strings may be compared by the rules of a language.",
        requires=("domainMetadata",),
        also_named=("collations-preview",),
        activation=ColumnMetadata(COLLATIONS_KEY),
    ),
    TableFeature(
        name="geospatial",
        kind=_RW,
        sentence="Columns may hold geometries and geographies.",
        also_named=("geospatial-dev",),
        read=_NO,
        removal=_NOT_HERE,
    ),
    TableFeature(
        name="intervalTypes",
        kind=_RW,
        sentence="Columns may hold spans of months or of microseconds; a proposal.",
        also_named=("intervalType",),
        read=_NO,
    ),
    TableFeature(
        name="timestampNanos",
        kind=_RW,
        sentence="Columns may hold timestamps in nanoseconds; a proposal.",
        requires=("timestampNtz",),
        read=_NO,
    ),
    TableFeature(
        name="catalogManaged",
        kind=_RW,
        sentence="Commits are made through a catalog, which alone knows the newest of them.",
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
        sentence="Commits are made through a coordinator; catalogManaged has taken its place.",
        activation=PropertySet(p.COMMIT_COORDINATOR),
        requires=("inCommitTimestamp", "vacuumProtocolCheck"),
        removal=_NOT_HERE,
    ),
    TableFeature(
        name="redirectReaderWriter-preview",
        kind=_RW,
        sentence="Readers and writers are sent to another table.",
        activation=PropertySet(p.REDIRECT_READER_WRITER),
        read=_UNLESS_ACTIVE,
        remedy="open the table that the property names",
        removal=_NOT_HERE,
    ),
    TableFeature(
        name="redirectWriterOnly-preview",
        kind=_W,
        sentence="Writers are sent to another table.",
        activation=PropertySet(p.REDIRECT_WRITER_ONLY),
        removal=_NOT_HERE,
    ),
    TableFeature(
        name="adaptiveMetadata-preview",
        kind=_RW,
        sentence="The log is kept in Iceberg's form.",
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
