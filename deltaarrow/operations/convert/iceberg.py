"""The conversion of an Iceberg table: the plan of a commit with its columns, partitions and files.

Columns are mapped by their Iceberg field ids, so that files from before a column was renamed or added read as
in Iceberg. The files and the metadata of Iceberg stay as they are.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from deltaarrow.errors import CorruptLogError, UnsupportedFeatureError
from deltaarrow.features import properties
from deltaarrow.operations.convert.conversion import (
    ConversionPlan,
    NewTableOptions,
    ensure_convertible,
    planned_conversion,
)
from deltaarrow.operations.convert.footer_reading import FileFooter, FileSchema, read_footers
from deltaarrow.operations.convert.iceberg_columns import IcebergColumns
from deltaarrow.operations.convert.iceberg_matching import paths_in_file
from deltaarrow.operations.convert.iceberg_source import IcebergSource, read_iceberg_source
from deltaarrow.operations.convert.schemas import file_schema
from deltaarrow.operations.define.create import NewTable
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.schema import Schema, physical_name
from deltaarrow.schema.metadata_keys import TABLE_PREFIX
from deltaarrow.statistics import FooterStatistics, statistics_columns, string_prefix_length
from deltaarrow.storage import Store

__all__ = ["plan_iceberg_conversion"]

_MAX_SNAPSHOT_AGE = "history.expire.max-snapshot-age-ms"
_LEAST_LOG_RETENTION = 7 * 24 * 60 * 60 * 1000
"""Delta keeps the files of its table for a week, and its log for longer."""


def plan_iceberg_conversion(
    store: Store,
    options: NewTableOptions,
    *,
    metadata_file: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    clock: Clock = system_clock,
) -> ConversionPlan:
    """Read the metadata of an Iceberg table and the footers of its files; return what would be committed.

    `metadata_file` is the newest file of metadata, if the folder does not tell. Raises what
    `read_iceberg_source`, `IcebergColumns` and `paths_in_file` raise, and `CorruptDataFileError` for a file
    that is not Parquet.
    """
    source = read_iceberg_source(store, metadata_file)
    columns = IcebergColumns.of(source.metadata, store.uri)
    table = NewTable(
        schema=columns.schema,
        partition_by=[each.name for each in columns.partitions],
        name=options.name,
        description=options.description,
        configuration=_configuration(source.metadata.properties, options.configuration),
        has_files=True,
        highest_id=source.metadata.last_column_id,
    )
    protocol, metadata = table.actions(clock)
    ensure_convertible(metadata.configuration)
    schema = Schema.from_json(metadata.schema_string)
    footers = read_footers(store, [each.entry for each in source.files], progress)
    _ensure_counts(source, footers.files)
    paths = _paths(schema, metadata.partition_columns, footers.schemas)
    statistics: list[FooterStatistics] | None = None
    if options.collect_stats:
        wanted = statistics_columns(schema, metadata.partition_columns, metadata.configuration, "id")
        length = string_prefix_length(metadata.configuration)
        statistics = [
            FooterStatistics(wanted, each.footer.leaves, each.arrow_schema, names, prefix_length=length)
            for each, names in zip(footers.schemas, paths, strict=True)
        ]
    names = [(physical_name(schema.field(each.name), "id"), each) for each in columns.partitions]
    found = [
        (
            file.entry,
            {name: each.render(file.partition, file.entry.name) for name, each in names},
            footer,
        )
        for file, footer in zip(source.files, footers.files, strict=True)
    ]
    return planned_conversion(store, protocol, metadata, found, statistics, "iceberg")


def _configuration(found: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of the table: Iceberg's, as in Spark, and those that are given.

    A property of Iceberg that has the name of one of Delta means nothing there, and shall mean nothing here.
    """
    mode = given.get(properties.COLUMN_MAPPING_MODE.name, "id")
    if mode.lower() != "id":
        raise UnsupportedFeatureError(
            f"an Iceberg table is converted with {properties.COLUMN_MAPPING_MODE.name}=id, not {mode!r}",
            feature=f"conversion of an Iceberg table with column mapping {mode!r}",
        )
    age = str(found.get(_MAX_SNAPSHOT_AGE, ""))
    kept = {key: str(value) for key, value in found.items() if not key.lower().startswith(TABLE_PREFIX)}
    own = {properties.COLUMN_MAPPING_MODE.name: "id"}
    if age.isdecimal() and int(age) >= _LEAST_LOG_RETENTION:
        own[properties.LOG_RETENTION.name] = f"{age} millisecond"
    return {**kept, **own, **given}


def _ensure_counts(source: IcebergSource, footers: list[FileFooter]) -> None:
    for file, footer in zip(source.files, footers, strict=True):
        if footer.num_rows != file.num_rows:
            raise CorruptLogError(
                f"{file.entry.name} has {footer.num_rows} rows, and {file.num_rows} in its Iceberg manifest"
            )


def _paths(
    schema: Schema, partition_columns: Sequence[str], files: Sequence[FileSchema]
) -> list[dict[tuple[str, ...], tuple[str, ...]]]:
    """Return the paths of the columns in each kind of file."""
    found = []
    for name, footer, arrow in files:
        columns = file_schema(arrow, footer.leaves, name)
        found.append(paths_in_file(schema, arrow, columns, partition_columns, name))
    return found
