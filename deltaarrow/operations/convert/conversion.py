"""The conversion of a folder of Parquet files: a plan, and one commit with Spark's actions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import dirname

import orjson

from deltaarrow.actions import AddFile, Metadata, Protocol
from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.features import iceberg_compat_version, properties
from deltaarrow.operations.commit.hooks import commit_hooks
from deltaarrow.operations.convert.folder_files import list_source
from deltaarrow.operations.convert.footer_reading import FileFooter, FileSchema, read_footers
from deltaarrow.operations.convert.partitions import FolderPartitions
from deltaarrow.operations.convert.schemas import field_ids, file_schema, merged_schema, spelled_paths
from deltaarrow.operations.define.create import NewTable
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.runtime.gc_pause import gc_paused
from deltaarrow.schema import Field, Schema, StructType, leaf_paths, physical_name
from deltaarrow.schema.metadata_keys import CONSTRAINT_PREFIX, FIELD_ID_KEY, PHYSICAL_NAME_KEY
from deltaarrow.statistics import FooterStatistics, StatisticsColumn, statistics_columns, string_prefix_length
from deltaarrow.storage import FileEntry, Store, encode_path
from deltaarrow.transaction import (
    DEFAULT_MAX_COMMIT_RETRIES,
    CommitProperties,
    OptimisticTransaction,
    PostCommitHookProperties,
    given_properties,
)

__all__ = [
    "ConversionPlan",
    "NewTableOptions",
    "commit_conversion",
    "ensure_convertible",
    "plan_conversion",
    "planned_conversion",
]


@dataclass(frozen=True, kw_only=True)
class NewTableOptions:
    """What the table is to be, beside its files.

    Attributes:
        partition_by: the partition columns with their types; None if the folders tell.
        strategy: how folders name the values of partition columns, ``hive`` or ``directory``.
        name: the name of the table, for display.
        description: its description, for display.
        configuration: its properties.
        collect_stats: whether files get statistics.
    """

    partition_by: Sequence[Field] | None = None
    strategy: str = "hive"
    name: str | None = None
    description: str | None = None
    configuration: Mapping[str, str] = field(default_factory=dict)
    collect_stats: bool = True


@dataclass(frozen=True, kw_only=True)
class ConversionPlan:
    """What a conversion would commit.

    Attributes:
        uri: the folder.
        schema: the columns of the table, with the partition columns.
        partition_columns: the names of these.
        num_files: how many files the table has; a file without rows is not among them.
        num_bytes: their size.
        num_rows: how many rows they have.
    """

    uri: str
    schema: Schema
    partition_columns: list[str]
    num_files: int
    num_bytes: int
    num_rows: int
    protocol: Protocol = field(repr=False)
    metadata: Metadata = field(repr=False)
    adds: Sequence[AddFile] = field(repr=False)
    parameters: Mapping[str, object] = field(repr=False)


def plan_conversion(
    store: Store,
    options: NewTableOptions,
    *,
    progress: Callable[[int, int], None] | None = None,
    clock: Clock = system_clock,
) -> ConversionPlan:
    """Read the footers of all files of a folder, and return what a conversion would commit.

    Raises `SchemaMismatchError` for an empty folder, columns that do not go together and folders that do not
    fit,
    `UnsupportedFeatureError` for a type or a property that converted files cannot have, and
    `CorruptDataFileError` for a file that is not Parquet.
    """
    files = list_source(store)
    folders = [dirname(file.name) for file in files]
    partitions = FolderPartitions.of(
        list(dict.fromkeys(folders)), options.partition_by, options.strategy, store.uri
    )
    footers = read_footers(store, files, progress)
    kinds = _Kinds.of(footers.schemas)
    schema = _with_partitions(kinds.merged(), partitions.fields)
    schema = kinds.with_ids(schema, partitions.fields, options.configuration)
    table = NewTable(
        schema=schema,
        partition_by=[each.name for each in partitions.fields],
        name=options.name,
        description=options.description,
        configuration=options.configuration,
        has_files=True,
    )
    protocol, metadata = table.actions(clock)
    ensure_convertible(metadata.configuration)
    schema = Schema.from_json(metadata.schema_string)
    mode = properties.COLUMN_MAPPING_MODE.parse(metadata.configuration)
    statistics: list[FooterStatistics] | None = None
    if options.collect_stats:
        columns = statistics_columns(schema, metadata.partition_columns, metadata.configuration, mode)
        statistics = kinds.statistics(schema, columns, metadata.configuration)
    names = {each.name: physical_name(schema.field(each.name), mode) for each in partitions.fields}
    values = {
        folder: {names[column]: text for column, text in found.items()}
        for folder, found in partitions.values.items()
    }
    found = zip(files, (values[folder] for folder in folders), footers.files, strict=True)
    return planned_conversion(store, protocol, metadata, [*found], statistics, "parquet")


def planned_conversion(
    store: Store,
    protocol: Protocol,
    metadata: Metadata,
    files: Sequence[tuple[FileEntry, Mapping[str, str | None], FileFooter]],
    statistics: Sequence[FooterStatistics] | None,
    source_format: str,
) -> ConversionPlan:
    """Return the plan to commit the files that have rows.

    Args:
        store: the folder.
        protocol: the protocol of the table.
        metadata: its schema, partition columns and properties.
        files: each with its partition values, by physical name, and its footer.
        statistics: what gives files their statistics, by the place of their schema; None for no statistics.
        source_format: what the files were before, for history.
    """
    with gc_paused():
        adds = [
            AddFile(
                path=encode_path(file.name),
                partition_values=partition_values,
                size=file.size,
                modification_time=file.modified_ms,
                data_change=True,
                stats=None if statistics is None else statistics[footer.schema].render(footer.row_groups),
            )
            for file, partition_values, footer in files
            if footer.num_rows
        ]
    return ConversionPlan(
        uri=store.uri,
        schema=Schema.from_json(metadata.schema_string),
        partition_columns=list(metadata.partition_columns),
        num_files=len(adds),
        num_bytes=sum(add.size for add in adds),
        num_rows=sum(footer.num_rows for _, _, footer in files),
        protocol=protocol,
        metadata=metadata,
        adds=adds,
        parameters={
            "numFiles": len(files),
            "partitionedBy": orjson.dumps(list(metadata.partition_columns)).decode(),
            "collectStats": statistics is not None,
            "sourceFormat": source_format,
        },
    )


def commit_conversion(
    store: Store,
    plan: ConversionPlan,
    *,
    commit_properties: CommitProperties | None = None,
    hook_properties: PostCommitHookProperties | None = None,
    clock: Clock = system_clock,
) -> int:
    """Commit a plan as version 0 of the table; `VersionExistsError` if another writer made it meanwhile."""
    given = given_properties(commit_properties)
    transaction = OptimisticTransaction(
        store=store,
        snapshot=None,
        operation="CONVERT",
        parameters=plan.parameters,
        metrics={"numConvertedFiles": str(plan.parameters["numFiles"])},
        commit_metadata=given.custom_metadata or {},
        max_commit_retries=DEFAULT_MAX_COMMIT_RETRIES,
        hooks=commit_hooks(plan.metadata.configuration, hook_properties),
        clock=clock,
    )
    transaction.read_whole_table()
    transaction.stage([plan.metadata, *plan.adds, plan.protocol])
    for application in given.app_transactions or ():
        transaction.set_application(application.app_id, application.version, application.last_updated)
    return transaction.commit()


def ensure_convertible(configuration: Mapping[str, str]) -> None:
    """Raise for properties that say something of rows or files that nobody has checked."""
    for name, value in configuration.items():
        if iceberg_compat_version({name: value}) is not None or name.startswith(CONSTRAINT_PREFIX):
            raise UnsupportedFeatureError(
                f"{name} cannot be set while files are converted, because they may break it; convert them,"
                " and"
                " set it afterwards",
                feature=name,
            )


def _with_partitions(data: Schema, partitions: Sequence[Field]) -> Schema:
    """Return the columns of the table; a partition column that files have too stays in its place."""
    by_name = {each.name.lower(): each for each in partitions}
    fields = [by_name.pop(each.name.lower(), each) for each in data.fields]
    if len(fields) == len(partitions) - len(by_name):
        raise SchemaMismatchError("the files have no columns beside the partition columns; a table needs one")
    return Schema((*fields, *by_name.values()))


@dataclass(frozen=True)
class _Kinds:
    """The kinds of files, by their schemas in Parquet, and in Delta."""

    found: Sequence[FileSchema]
    schemas: list[StructType]

    @classmethod
    def of(cls, found: Sequence[FileSchema]) -> "_Kinds":
        return cls(found, [file_schema(each.arrow_schema, each.footer.leaves, each.file) for each in found])

    def merged(self) -> Schema:
        names = (each.file for each in self.found)
        return merged_schema(dict(zip(names, self.schemas, strict=True)))

    def statistics(
        self, schema: Schema, columns: Sequence[StatisticsColumn], configuration: Mapping[str, str]
    ) -> list[FooterStatistics]:
        length = string_prefix_length(configuration)
        return [
            FooterStatistics(
                columns,
                each.footer.leaves,
                each.arrow_schema,
                spelled_paths(schema, file_columns),
                prefix_length=length,
            )
            for each, file_columns in zip(self.found, self.schemas, strict=True)
        ]

    def with_ids(
        self, schema: Schema, partitions: Sequence[Field], configuration: Mapping[str, str]
    ) -> Schema:
        """Return the columns with the field ids of the files, if the table is to map columns by id.

        Raises `SchemaMismatchError` where files spell a column in two cases, or do not tell ids of all
        columns, or tell one id of two columns.
        """
        mode = properties.COLUMN_MAPPING_MODE.parse(configuration)
        if mode == "none":
            return schema
        for each, file_columns in zip(self.found, self.schemas, strict=True):
            if other := next(iter(spelled_paths(schema, file_columns).items()), None):
                raise SchemaMismatchError(
                    f"{each.file} spells the column {'.'.join(other[0])} as {'.'.join(other[1])}, which"
                    " column mapping would not find; convert without delta.columnMapping.mode"
                )
        if mode == "name":
            return schema
        ids: dict[tuple[str, ...], int] = {}
        for (file, _, arrow_schema), file_columns in zip(self.found, self.schemas, strict=True):
            told = field_ids(arrow_schema)
            for path in leaf_paths(file_columns):
                if missing := next((path[:n] for n in range(1, len(path) + 1) if path[:n] not in told), None):
                    raise SchemaMismatchError(
                        f"{file} tells no field id of the column {'.'.join(missing)}; set"
                        " delta.columnMapping.mode to 'name'"
                    )
            for path, number in told.items():
                if ids.setdefault(path, number) != number:
                    raise SchemaMismatchError(
                        f"{file} has another field id of {'.'.join(path)} than other files"
                    )
        owners = {number: path for path, number in ids.items()}
        if len(owners) != len(ids) or min(ids.values(), default=1) < 1:
            raise SchemaMismatchError(
                "two columns of the files share a field id, or one is not positive; set"
                " delta.columnMapping.mode to 'name'"
            )
        own = {each.name for each in partitions}
        return Schema(
            each if each.name in own else _with_id(each, (each.name,), ids) for each in schema.fields
        )


def _with_id(column: Field, path: tuple[str, ...], ids: Mapping[tuple[str, ...], int]) -> Field:
    found = column.type
    if isinstance(found, StructType):
        found = StructType(_with_id(each, (*path, each.name), ids) for each in found.fields)
    return Field(
        column.name, found, column.nullable, {FIELD_ID_KEY: ids[path], PHYSICAL_NAME_KEY: column.name}
    )
