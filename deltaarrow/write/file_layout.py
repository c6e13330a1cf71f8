"""Folders, names and columns of the files of a write: `FileLayout`.

Data files and change data files differ in little; a `FileKind` describes the difference. Chapters "Data
Files" and "Change Data Files" of the protocol. Files are named as Spark names them.
"""

import uuid
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import ENCODED_TEXT
from deltaarrow.errors import ConstraintViolationError, UnsupportedFeatureError
from deltaarrow.features import properties
from deltaarrow.partitions import partition_folder, random_prefix
from deltaarrow.runtime.clock import Clock
from deltaarrow.schema import (
    Field,
    PrimitiveType,
    Schema,
    conform,
    physical_name,
    to_arrow_schema,
    to_arrow_type,
)
from deltaarrow.statistics import (
    CollectedColumns,
    FileStatistics,
    parquet_leaves,
    statistics_columns,
    string_prefix_length,
)
from deltaarrow.write.new_file import FileFormat, NewFile
from deltaarrow.write.physical import data_columns, file_schema, relabel, without_voids
from deltaarrow.write.plan import WritePlan
from deltaarrow.write.routing import PartitionKey, split_by_partition
from deltaarrow.write.selected_rows import Selection
from deltaarrow.write.variant_columns import VariantColumns
from deltaarrow.write.writer_properties import ParquetLeaf, file_suffix

__all__ = ["DATA_FILES", "FileKind", "FileLayout"]

_ROW_GROUP_ROWS = 1 << 20
_ROW_GROUP_BYTES = 24 << 20
_ENCODED_GROUP_BYTES = 16 << 20
"""Of rows with texts as dictionary arrays, which take less in Arrow and as much while they are encoded."""
_SMALLEST_ROW_GROUP_BYTES = 1 << 20
_PIECE_ROWS = 1 << 17
_PAGE_BYTES_OF_MANY_FILES = 128 << 10


@dataclass(frozen=True)
class FileKind:
    """The properties that distinguish one kind of file from the others.

    Args:
        prefix: the start of each name.
        folder: the folder of all files; empty, or with a slash at its end.
        columns: the columns after those of the table.
        has_statistics: whether the log holds statistics of the files.
        is_dotted: whether the last part of a name begins with a dot, as it does in partitioned tables.
    """

    prefix: str
    folder: str = ""
    columns: tuple[Field, ...] = ()
    has_statistics: bool = True
    is_dotted: bool = False


DATA_FILES = FileKind("part")


class FileLayout:
    """What every batch and every file of a plan have in common.

    Args:
        plan: describes the table.
        kind: which kind of files is written.
        clock: gives the modification time of files.
        threads_of_file: how many row groups of one file are encoded at once.
    """

    def __init__(self, plan: WritePlan, kind: FileKind, clock: Clock, threads_of_file: int = 1) -> None:
        self._plan = plan
        self._kind = kind
        written = Schema([*plan.schema.fields, *plan.hidden_columns, *kind.columns])
        self._target = _encoded(to_arrow_schema(written), plan.encoded_columns)
        columns = data_columns(written, plan.partition_columns, with_partitions=plan.materializes_partitions)
        self._data_names = columns.names
        types = {each.name: each.type for each in written.fields}
        # The types of structs whose void fields files leave out.
        self._stored = {
            each.name: to_arrow_type(each.type) for each in columns.fields if each.type != types[each.name]
        }
        encoded = [
            physical_name(each, plan.mapping_mode)
            for each in columns.fields
            if each.name in plan.encoded_columns
        ]
        self._schema = _encoded(file_schema(columns, plan.mapping_mode), encoded)
        partition_fields = [plan.schema.field(name) for name in plan.partition_columns]
        self._partition_names = [physical_name(each, plan.mapping_mode) for each in partition_fields]
        self._partition_types = [_primitive_type(each) for each in partition_fields]
        self._folder_types = dict(zip(self._partition_names, self._partition_types, strict=True))
        self._required_partitions = [
            (place, each.name) for place, each in enumerate(partition_fields) if not each.nullable
        ]
        self._statistics = _collected_columns(plan) if kind.has_statistics else None
        self._random_prefix = _random_prefix_length(plan)
        self._suffix = file_suffix(plan.properties, plan.configuration)
        leaves = [
            ParquetLeaf(".".join(logical), ".".join(physical), leaf_type)
            for (logical, _), (physical, leaf_type) in zip(
                parquet_leaves(to_arrow_schema(columns)), parquet_leaves(self._schema), strict=True
            )
        ]
        options = plan.properties.parquet_options(plan.configuration, leaves)
        if plan.partition_columns:
            # Every open file keeps the pages that it wrote last in memory.
            options.setdefault("data_page_size", _PAGE_BYTES_OF_MANY_FILES)
        names = set(self._schema.names)
        names -= set(encoded)
        dictionaries = [path for path in plan.properties.open_dictionaries(leaves) if path in names]
        shreds = properties.ENABLE_VARIANT_SHREDDING.parse(plan.configuration)
        variants = VariantColumns(columns, self._schema, shreds=shreds) or None
        self._format = FileFormat(
            plan.store,
            self._schema,
            variants,
            options,
            clock,
            dictionaries,
            threads_of_file,
            len(leaves),
        )

        self.target_file_size = plan.target_file_size
        self.fewest_files = plan.fewest_files
        self.is_partitioned = bool(plan.partition_columns)
        self.row_group_rows = min(plan.properties.max_row_group_size or _ROW_GROUP_ROWS, _ROW_GROUP_ROWS)
        # Rows take more bytes in Arrow than in Parquet, so row groups of the target size let files meet it.
        largest = _ENCODED_GROUP_BYTES if plan.encoded_columns else _ROW_GROUP_BYTES
        self.row_group_bytes = min(largest, max(plan.target_file_size, _SMALLEST_ROW_GROUP_BYTES))

    def pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Cut a batch into parts that are small beside a row group, to bound the memory of later steps."""
        wanted = self.row_group_bytes if self._plan.partition_columns else self.row_group_bytes // 4
        fitting = batch.num_rows * wanted // max(1, batch.nbytes)
        step = max(1, min(_PIECE_ROWS, self.row_group_rows, fitting))
        for start in range(0, batch.num_rows, step):
            yield batch.slice(start, step)

    def split(self, batch: pa.RecordBatch) -> Iterator[tuple[PartitionKey, Selection]]:
        """Split the rows by partition, with the columns that files have."""
        batch = conform(batch, self._target)
        partition_columns = [batch.column(name) for name in self._plan.partition_columns]
        rows = relabel(self._data_rows(batch), self._schema)
        for key, part in split_by_partition(rows, partition_columns, self._partition_types):
            # NULL was refused before; the log spells the empty string as NULL too.
            for place, name in self._required_partitions:
                if key.texts[place] is None:
                    raise ConstraintViolationError(
                        f"NOT NULL partition column {name!r} holds {key.values[place]!r}, which becomes"
                        " NULL in the log"
                    )
            yield key, part

    def _data_rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = batch.select(self._data_names)
        for name, stored in self._stored.items():
            column = without_voids(rows.column(name), stored)
            rows = rows.set_column(rows.schema.get_field_index(name), pa.field(name, stored), column)
        if self._plan.materializes_partitions:
            for name in self._plan.partition_columns:
                column = rows.column(name)
                if pa.types.is_string(column.type):
                    # The log stores the empty string as NULL, so the file must too.
                    column = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
                    rows = rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), column)
        return rows

    def begin_file(self, number: int, key: PartitionKey) -> NewFile:
        """Begin a file of the partition `key`, named as Spark names it."""
        names = self._partition_names
        if self._random_prefix:
            folder = f"{random_prefix(self._random_prefix)}/"
        elif names:
            folder = f"{partition_folder(dict(zip(names, key.values, strict=True)), self._folder_types)}/"
        else:
            folder = ""
        kind = self._kind
        separator = "." if names or kind.is_dotted else "-"
        base = f"{kind.prefix}-{number:05d}-{uuid.uuid4()}{separator}c000{self._suffix}"
        values = dict(zip(names, key.texts, strict=True))
        statistics = None if self._statistics is None else FileStatistics(self._statistics)
        return NewFile(self._format, f"{kind.folder}{folder}{base}", values, statistics)


def _encoded(schema: pa.Schema, names: Collection[str]) -> pa.Schema:
    """The schema with dictionary arrays for some texts."""
    return pa.schema([each.with_type(ENCODED_TEXT) if each.name in names else each for each in schema])


def _collected_columns(plan: WritePlan) -> CollectedColumns:
    configuration = plan.configuration
    return CollectedColumns(
        statistics_columns(plan.schema, plan.partition_columns, configuration, plan.mapping_mode),
        prefix_length=plan.properties.statistics_truncate_length or string_prefix_length(configuration),
        tight_bounds=plan.tight_bounds,
    )


def _primitive_type(field: Field) -> PrimitiveType:
    if not isinstance(field.type, PrimitiveType):
        raise UnsupportedFeatureError(
            f"partition column {field.name!r} has the nested type {field.type!r}; partition by a column of"
            " a primitive type",
            feature="nested partition column",
        )
    return field.type


def _random_prefix_length(plan: WritePlan) -> int:
    """The length of a random folder name; 0 if folders are named after partitions."""
    is_random = plan.mapping_mode != "none" or properties.RANDOMIZE_FILE_PREFIXES.parse(plan.configuration)
    return properties.RANDOM_PREFIX_LENGTH.parse(plan.configuration) if is_random else 0
