"""Rules of table properties for columns: reserved names, and names that must exist.

Chapters "Change Data Feed", "Row Tracking" and "Per-file Statistics" of the protocol. The rules apply to a
new table and to a change of schema.
"""

from collections.abc import Iterator, Mapping, Sequence

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.features import properties
from deltaarrow.schema import (
    CHANGE_TYPE,
    COMMIT_TIMESTAMP,
    COMMIT_VERSION,
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructType,
    physical_name,
    resolve_path,
)

__all__ = ["ensure_columns_fit_properties"]

_CHANGE_DATA_COLUMNS = (CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP)
_WITHOUT_BOUNDS = (PrimitiveType("boolean"), PrimitiveType("binary"))


def ensure_columns_fit_properties(
    schema: StructType,
    partition_columns: Sequence[str],
    configuration: Mapping[str, str],
    mapping_mode: str = "none",
) -> None:
    """Raise `SchemaMismatchError`, naming the column, if properties and columns contradict each other.

    With a change data feed, the names of its own columns are reserved, in any case; so are the hidden columns
    of row tracking. `delta.dataSkippingStatsColumns` must name existing columns.

    >>> from deltaarrow.schema import Field
    >>> schema = StructType([Field("_change_type", "string")])
    >>> ensure_columns_fit_properties(schema, (), {"delta.enableChangeDataFeed": "true"})
    Traceback (most recent call last):
    ...
    deltaarrow.errors.SchemaMismatchError: the column name '_change_type' is reserved for the change data ...
    """
    reserved = {
        name: "row tracking"
        for record in (
            properties.MATERIALIZED_ROW_ID_COLUMN_NAME,
            properties.MATERIALIZED_ROW_COMMIT_VERSION_COLUMN_NAME,
        )
        if (name := record.parse(configuration)) is not None
    }
    if properties.ENABLE_CHANGE_DATA_FEED.parse(configuration):
        reserved |= dict.fromkeys(_CHANGE_DATA_COLUMNS, "the change data feed")
    for field in schema.fields:
        for name in (field.name.lower(), field.name, physical_name(field, mapping_mode)):
            if name in reserved:
                raise SchemaMismatchError(
                    f"the column name {field.name!r} is reserved for {reserved[name]} of the table: rename it"
                )
    _ensure_statistics_columns(schema, partition_columns, configuration)


def _ensure_statistics_columns(
    schema: StructType, partition_columns: Sequence[str], configuration: Mapping[str, str]
) -> None:
    record = properties.DATA_SKIPPING_STATS_COLUMNS
    named: set[str] = set()
    for path in record.parse(configuration) or ():
        try:
            fields = resolve_path(schema, path)
        except SchemaMismatchError as error:
            raise SchemaMismatchError(f"{record.name} names an unknown column: {error}") from error
        names = [field.name for field in fields]
        if names[0] in partition_columns:
            raise SchemaMismatchError(
                f"{record.name} names the partition column {names[0]!r}; only data columns have statistics"
            )
        if len(fields) == 1 and _has_no_bounds(fields[0].type):
            raise SchemaMismatchError(
                f"{record.name} names the column {names[0]!r}, whose type {fields[0].type} has no statistics"
            )
        for leaf in _leaves(fields[-1].type, ".".join(names)):
            if leaf in named:
                raise SchemaMismatchError(f"{record.name} names the column {leaf!r} twice")
            named.add(leaf)


def _has_no_bounds(data_type: DataType) -> bool:
    return isinstance(data_type, ArrayType | MapType) or data_type in _WITHOUT_BOUNDS


def _leaves(data_type: DataType, path: str) -> Iterator[str]:
    if isinstance(data_type, StructType):
        for field in data_type.fields:
            yield from _leaves(field.type, f"{path}.{field.name}")
    else:
        yield path
