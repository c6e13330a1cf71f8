"""Rules for tables whose data files can be read as Iceberg, versions 1 to 3.

Chapters "Iceberg Compatibility V1", "V2" and "V3" of the protocol, as delta-spark enforces them:

=================================  ==================  ==========================  ==========================
rule                               V1                  V2                          V3
=================================  ==================  ==========================  ==========================
only one version at a time         yes                 yes                         yes, never switched off
columns are mapped, by name or id  yes                 yes                         yes
deletion vectors                   none                none                        allowed
arrays and maps                    none                their parts have field ids  their parts have field ids
void; variant                      none; allowed       none; none                  none; allowed
decimals as partition columns      allowed             none                        none
type changes                       those of Iceberg    those of Iceberg            those of Iceberg
row tracking                                                                       enabled
files in `add`                     with `numRecords`   and tagged with version     and tagged with version
partition columns in data files    after the data      after the data              after the data
=================================  ==================  ==========================  ==========================

A partitioned table never gets other partition columns. Timestamps are stored as 64-bit microseconds.
"""

from collections.abc import Iterator, Mapping, Sequence

from deltaarrow.errors import InvalidTablePropertyError, SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.features.properties import (
    COLUMN_MAPPING_MODE,
    ENABLE_DELETION_VECTORS,
    ENABLE_ICEBERG_COMPAT_V1,
    ENABLE_ICEBERG_COMPAT_V2,
    ENABLE_ICEBERG_COMPAT_V3,
    ENABLE_ROW_TRACKING,
    ICEBERG_ATOMIC_CONVERSION_SUPPORTED,
    UNIVERSAL_FORMAT_ENABLED_FORMATS,
)
from deltaarrow.runtime.optional import require
from deltaarrow.schema import ArrayType, DataType, MapType, PrimitiveType, StructType
from deltaarrow.schema.metadata_keys import TYPE_CHANGES_KEY

__all__ = [
    "ROW_TRACKING_FIELD_IDS",
    "ensure_iceberg_compatible",
    "ensure_iceberg_version_may_become",
    "ensure_universal_format",
    "has_nested_ids",
    "iceberg_compat_version",
    "iceberg_file_tags",
    "iceberg_upgrade",
    "keeps_iceberg_metadata",
    "with_iceberg_properties",
    "without_orphaned_format",
]

ROW_TRACKING_FIELD_IDS = (2147483540, 2147483539)
"""Iceberg's field ids of the materialized row id and row commit version."""

_SWITCHES = {1: ENABLE_ICEBERG_COMPAT_V1, 2: ENABLE_ICEBERG_COMPAT_V2, 3: ENABLE_ICEBERG_COMPAT_V3}
_ICEBERG = "iceberg"
_WHOLE_NUMBERS = ("byte", "short", "integer", "long")


def iceberg_compat_version(configuration: Mapping[str, str]) -> int | None:
    """Return the version of the rules that a table with these properties follows; None if none.

    Raises `InvalidTablePropertyError` if two versions are enabled.

    >>> iceberg_compat_version({"delta.enableIcebergCompatV2": "true"})
    2
    """
    enabled = [version for version, record in _SWITCHES.items() if record.parse(configuration)]
    if len(enabled) > 1:
        names = " and ".join(_SWITCHES[version].name for version in enabled)
        raise InvalidTablePropertyError(f"{names} exclude each other: set all but one to false")
    return enabled[0] if enabled else None


def has_nested_ids(configuration: Mapping[str, str]) -> bool:
    """Whether elements, keys and values of arrays and maps have their own field ids."""
    return iceberg_compat_version(configuration) in (2, 3)


def iceberg_file_tags(configuration: Mapping[str, str]) -> dict[str, str] | None:
    """Return the tags of a table's data files; None without tags.

    >>> iceberg_file_tags({"delta.enableIcebergCompatV2": "true"})
    {'ICEBERG_COMPAT_VERSION': '2'}
    """
    version = iceberg_compat_version(configuration)
    return None if version in (None, 1) else {"ICEBERG_COMPAT_VERSION": str(version)}


def with_iceberg_properties(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a new table plus those that the rules require, if it follows them."""
    version = iceberg_compat_version(configuration)
    if version is None:
        return dict(configuration)
    brought = {COLUMN_MAPPING_MODE.name: "name", ICEBERG_ATOMIC_CONVERSION_SUPPORTED.name: "true"}
    if version == 3:
        brought[ENABLE_ROW_TRACKING.name] = "true"
    return brought | dict(configuration)


def iceberg_upgrade(configuration: Mapping[str, str], version: int) -> dict[str, str]:
    """Return the properties that bring an existing table under a version of the rules, as Spark sets them.

    >>> iceberg_upgrade({"delta.enableIcebergCompatV1": "true"}, 2)
    {'delta.enableIcebergCompatV1': 'false', 'delta.enableIcebergCompatV2': 'true', ...}
    """
    others = {record.name: "false" for record in _SWITCHES.values() if record.parse(configuration)}
    return others | {
        _SWITCHES[version].name: "true",
        ENABLE_DELETION_VECTORS.name: "false",
        COLUMN_MAPPING_MODE.name: "name",
    }


def ensure_iceberg_version_may_become(
    old: Mapping[str, str], new: Mapping[str, str], *, rewrites_files: bool = False
) -> None:
    """Raise `InvalidTablePropertyError` if a table cannot change to the newly enabled rules.

    With `rewrites_files`, files with deletion vectors are rewritten by a commit that follows.

    >>> ensure_iceberg_version_may_become({"delta.enableIcebergCompatV3": "true"}, {})
    Traceback (most recent call last):
    ...
    deltaarrow.errors.InvalidTablePropertyError: delta.enableIcebergCompatV3 cannot be switched off
    """
    before, after = iceberg_compat_version(old), iceberg_compat_version(new)
    if before == 3 != after:
        raise InvalidTablePropertyError(f"{_SWITCHES[3].name} cannot be switched off")
    had_vectors = ENABLE_DELETION_VECTORS.parse(old) and not rewrites_files
    if after in (1, 2) and after != before and had_vectors:
        raise InvalidTablePropertyError(
            f"{_SWITCHES[after].name} needs a table without deletion vectors: first set"
            f" {ENABLE_DELETION_VECTORS.name} to false in a separate commit"
        )
    if after == 3 != before and not ENABLE_ROW_TRACKING.parse(old):
        raise InvalidTablePropertyError(
            f"{_SWITCHES[3].name} needs a table whose rows have ids: first enable row tracking"
        )


def ensure_iceberg_compatible(
    schema: StructType,
    partition_columns: Sequence[str],
    configuration: Mapping[str, str],
    previous_partitioning: Sequence[str] = (),
) -> None:
    """Raise unless a table follows its enabled rules; see the table above.

    `previous_partitioning` are the partition columns of the previous version, under their current names.

    Raises `SchemaMismatchError` for columns and `InvalidTablePropertyError` for properties that break a rule.

    >>> from deltaarrow.schema import Field
    >>> schema = StructType([Field("xs", ArrayType("long"))])
    >>> properties = {"delta.enableIcebergCompatV1": "true", "delta.columnMapping.mode": "name"}
    >>> ensure_iceberg_compatible(schema, (), properties)
    Traceback (most recent call last):
    ...
    deltaarrow.errors.SchemaMismatchError: icebergCompatV1 does not allow the type array of column ...
    """
    version = iceberg_compat_version(configuration)
    if version is None:
        return
    feature = f"icebergCompatV{version}"
    if COLUMN_MAPPING_MODE.parse(configuration) == "none":
        raise InvalidTablePropertyError(f"{feature} needs {COLUMN_MAPPING_MODE.name} set to 'name' or 'id'")
    if version < 3 and ENABLE_DELETION_VECTORS.parse(configuration):
        raise InvalidTablePropertyError(
            f"{feature} does not allow {ENABLE_DELETION_VECTORS.name}: set it to false"
        )
    if version == 3 and not ENABLE_ROW_TRACKING.parse(configuration):
        raise InvalidTablePropertyError(f"{feature} needs {ENABLE_ROW_TRACKING.name}: set it to true")
    if previous_partitioning and tuple(previous_partitioning) != tuple(partition_columns):
        raise SchemaMismatchError(
            f"{feature} does not allow the new partition columns {list(partition_columns)}: the table is"
            f" partitioned by {list(previous_partitioning)}"
        )
    for column, data_type in _parts(schema, ""):
        if (refused := _refused_type(data_type, version)) is not None:
            raise SchemaMismatchError(f"{feature} does not allow the type {refused} of column {column!r}")
    for name in partition_columns if version > 1 else ():
        of_type = schema.field(name).type
        if isinstance(of_type, PrimitiveType) and of_type.decimal is not None:
            raise SchemaMismatchError(f"{feature} does not allow the decimal partition column {name!r}")
    for column, old, new in _type_changes(schema, ""):
        if not _is_change_of_iceberg(old, new):
            raise SchemaMismatchError(
                f"{feature} does not allow the change of column {column!r} from {old} to {new}"
            )


def keeps_iceberg_metadata(configuration: Mapping[str, str]) -> bool:
    """Whether each commit to a table with these properties is followed by its Iceberg metadata.

    >>> keeps_iceberg_metadata({"delta.universalFormat.enabledFormats": "iceberg"})
    True
    """
    return _ICEBERG in UNIVERSAL_FORMAT_ENABLED_FORMATS.parse(configuration)


def ensure_universal_format(schema: StructType, configuration: Mapping[str, str]) -> None:
    """Raise unless this release keeps the metadata of the enabled formats.

    Raises:
        UnsupportedFeatureError: another format than Iceberg, version 3 of the rules, or a variant column.
        InvalidTablePropertyError: the table does not follow the rules of Iceberg compatibility.
        MissingDependencyError: ``pyiceberg`` is not installed.
    """
    name = UNIVERSAL_FORMAT_ENABLED_FORMATS.name
    formats = UNIVERSAL_FORMAT_ENABLED_FORMATS.parse(configuration)
    if others := [each for each in formats if each != _ICEBERG]:
        raise UnsupportedFeatureError(
            f"the table sets {name} to {','.join(formats)}, but this release keeps no metadata of"
            f" {', '.join(others)}",
            feature=name,
        )
    if not formats:
        return
    version = iceberg_compat_version(configuration)
    if version is None:
        raise InvalidTablePropertyError(
            f"{name}=iceberg needs a table whose files can be read as Iceberg: call"
            f" table.optimize.upgrade_uniform, or enable {ENABLE_ICEBERG_COMPAT_V2.name} as well"
            " (Spark: DELTA_UNIVERSAL_FORMAT_VIOLATION)"
        )
    if version == 3:
        raise UnsupportedFeatureError(
            f"{name}=iceberg is not supported in a table under {ENABLE_ICEBERG_COMPAT_V3.name}: its files may"
            " have deletion vectors, which need version 3 of Iceberg's format, and pyiceberg does not write"
            " that version",
            feature=name,
        )
    for column, data_type in _parts(schema, ""):
        if data_type == PrimitiveType("variant"):
            raise UnsupportedFeatureError(
                f"{name}=iceberg does not allow the variant column {column!r}, because version 2 of Iceberg's"
                " format has no such type",
                feature=name,
            )
    require("pyiceberg")


def without_orphaned_format(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    """Return new properties without Iceberg metadata if they leave the rules that it needs, as in Spark.

    >>> name, rules = "delta.universalFormat.enabledFormats", "delta.enableIcebergCompatV2"
    >>> without_orphaned_format({name: "iceberg", rules: "true"}, {name: "iceberg", rules: "false"})
    {'delta.enableIcebergCompatV2': 'false'}
    """
    result = dict(new)
    formats = UNIVERSAL_FORMAT_ENABLED_FORMATS.parse(new)
    leaves = iceberg_compat_version(old) is not None and iceberg_compat_version(new) is None
    if leaves and _ICEBERG in formats:
        left = [each for each in formats if each != _ICEBERG]
        if left:
            result[UNIVERSAL_FORMAT_ENABLED_FORMATS.name] = ",".join(left)
        else:
            del result[UNIVERSAL_FORMAT_ENABLED_FORMATS.name]
    return result


def _refused_type(data_type: DataType, version: int) -> str | None:
    match data_type:
        case ArrayType() if version == 1:
            return "array"
        case MapType() if version == 1:
            return "map"
        case PrimitiveType("void"):
            return "void"
        case PrimitiveType("variant") if version == 2:
            return "variant"
    return None


def _is_change_of_iceberg(old: str, new: str) -> bool:
    if old in _WHOLE_NUMBERS and new in _WHOLE_NUMBERS:
        return True
    before, after = PrimitiveType(old).decimal, PrimitiveType(new).decimal
    if before is not None and after is not None:
        return before[1] == after[1]
    return (old, new) == ("float", "double")


def _parts(data_type: DataType, path: str) -> Iterator[tuple[str, DataType]]:
    """The types that a type consists of, outer before inner, each with its column path."""
    match data_type:
        case StructType():
            for field in data_type.fields:
                inner = f"{path}.{field.name}" if path else field.name
                yield inner, field.type
                yield from _parts(field.type, inner)
        case ArrayType():
            yield f"{path}.element", data_type.element_type
            yield from _parts(data_type.element_type, f"{path}.element")
        case MapType():
            for name, part in (("key", data_type.key_type), ("value", data_type.value_type)):
                yield f"{path}.{name}", part
                yield from _parts(part, f"{path}.{name}")


def _type_changes(data_type: DataType, path: str) -> Iterator[tuple[str, str, str]]:
    structs = [(path, data_type), *_parts(data_type, path)]
    for owner, struct in structs:
        for field in struct.fields if isinstance(struct, StructType) else ():
            for change in field.metadata.get(TYPE_CHANGES_KEY, ()):
                column = f"{owner}.{field.name}" if owner else field.name
                inside = f".{change['fieldPath']}" if "fieldPath" in change else ""
                yield column + inside, str(change["fromType"]), str(change["toType"])
