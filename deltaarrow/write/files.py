"""The data files of one write: an Arrow stream in, `AddFile`s out, in bounded memory.

The stream is read once. Its batches are cut small, fitted to the table, split by partition and
gathered into row groups, which a few threads encode into files while the stream goes on. This
package knows neither log nor snapshot: what it needs of a table is in the `WritePlan`.
"""

import os
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.actions import AddFile
from deltaarrow.clock import Clock, system_clock
from deltaarrow.errors import ConstraintViolationError, UnsupportedFeatureError
from deltaarrow.features import properties
from deltaarrow.partitions import partition_folder, random_prefix
from deltaarrow.schema import Field, PrimitiveType, Schema, conform, physical_name, to_arrow_schema
from deltaarrow.statistics import (
    FileStatistics,
    parquet_leaves,
    statistics_columns,
    string_prefix_length,
)
from deltaarrow.write.completion import complete_rows
from deltaarrow.write.data_file import DataFile, FileFormat
from deltaarrow.write.file_set import FileSet
from deltaarrow.write.physical import data_columns, file_schema, relabel
from deltaarrow.write.plan import WritePlan
from deltaarrow.write.properties import ParquetLeaf, file_suffix
from deltaarrow.write.routing import PartitionKey, split_by_partition
from deltaarrow.write.row_groups import RowGroups
from deltaarrow.write.selection import Selection
from deltaarrow.write.variant_columns import VariantColumns

__all__ = ["write_files"]

_ROW_GROUP_ROWS = 1 << 20
_ROW_GROUP_BYTES = 24 << 20
_SMALLEST_ROW_GROUP_BYTES = 1 << 20
_WORTH_A_FILE = 16 << 20
_WORTH_A_THREAD = 1 << 20
_WAITING_BYTES = 40 << 20
_PIECE_ROWS = 1 << 17
_MAX_OPEN_FILES = 200
_PAGE_BYTES_OF_MANY_FILES = 128 << 10
_MAX_THREADS = 8


def write_files(
    plan: WritePlan,
    stream: Iterable[pa.RecordBatch],
    *,
    clock: Clock = system_clock,
    threads: int | None = None,
) -> list[AddFile]:
    """Write the rows of a stream as data files of a table; nothing is committed.

    Args:
        plan: what is known of the table.
        stream: record batches of any number, or a `pyarrow.RecordBatchReader`. Columns are matched by
            name; those that are missing are filled as the rules of the plan say, or NULL.
        clock: tells the modification time of files.
        threads: how many row groups are encoded at once; as many as there are processors if None, but
            no more than 8.

    Returns:
        one action per file, in the order in which the files were begun; none for a stream without rows.

    Raises:
        SchemaMismatchError: the data does not fit the schema.
        ConstraintViolationError: a column that is not nullable holds NULL, or a row breaks a rule.
        UnsupportedFeatureError: the schema has a type that is not written.

    Whatever is raised, here or by the stream, no file is left behind.
    """
    if plan.rules:
        stream = complete_rows(plan, stream, clock=clock)
    threads = threads or min(os.cpu_count() or 1, _MAX_THREADS)
    layout = _Layout(plan, clock)
    groups: RowGroups[PartitionKey] = RowGroups(layout.row_group_rows, layout.row_group_bytes, _WAITING_BYTES)
    with ThreadPoolExecutor(threads, thread_name_prefix="deltaarrow-write") as pool:
        files = FileSet(
            pool,
            threads=threads,
            begin=layout.begin_file,
            target_file_size=plan.target_file_size,
            worth_a_file=min(_WORTH_A_FILE, plan.target_file_size),
            max_open=_MAX_OPEN_FILES,
        )
        try:
            for batch in stream:
                for piece in layout.pieces(batch):
                    for key, row_group in groups.add(layout.split(piece)):
                        files.write(key, row_group)
            if not files.are_begun and groups.bytes < _WORTH_A_THREAD:
                files.write_at_once()
            for key, row_group in groups.drain():
                files.write(key, row_group)
            return files.finish()
        except BaseException:
            files.discard()
            raise


class _Layout:
    """What follows from a plan for every batch and every file."""

    def __init__(self, plan: WritePlan, clock: Clock) -> None:
        self._plan = plan
        written = Schema([*plan.schema.fields, *plan.hidden_columns])
        self._target = to_arrow_schema(written)
        columns = data_columns(written, plan.partition_columns, with_partitions=plan.materializes_partitions)
        self._data_names = columns.names
        self._schema = file_schema(columns, plan.mapping_mode)
        partition_fields = [plan.schema.field(name) for name in plan.partition_columns]
        self._partition_names = [physical_name(each, plan.mapping_mode) for each in partition_fields]
        self._partition_types = [_primitive_type(each) for each in partition_fields]
        self._required_partitions = [
            (place, each.name) for place, each in enumerate(partition_fields) if not each.nullable
        ]
        self._statistics_columns = statistics_columns(
            plan.schema, plan.partition_columns, plan.configuration, plan.mapping_mode
        )
        self._string_prefix = string_prefix_length(plan.configuration)
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
        dictionaries = [path for path in plan.properties.open_dictionaries(leaves) if path in names]
        shreds = properties.ENABLE_VARIANT_SHREDDING.parse(plan.configuration)
        variants = VariantColumns(columns, self._schema, shreds=shreds) or None
        self._format = FileFormat(
            plan.store,
            self._schema,
            variants,
            options,
            clock,
            plan.data_change,
            plan.file_tags,
            dictionaries,
        )

        self.row_group_rows = min(plan.properties.max_row_group_size or _ROW_GROUP_ROWS, _ROW_GROUP_ROWS)
        # Arrow takes more room than Parquet, so row groups of the target's size let files meet it.
        self.row_group_bytes = min(_ROW_GROUP_BYTES, max(plan.target_file_size, _SMALLEST_ROW_GROUP_BYTES))

    def pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Parts of a batch that are small beside a row group; what is made of them is then small as well."""
        wanted = self.row_group_bytes if self._plan.partition_columns else self.row_group_bytes // 4
        fitting = batch.num_rows * wanted // max(1, batch.nbytes)
        step = max(1, min(_PIECE_ROWS, self.row_group_rows, fitting))
        for start in range(0, batch.num_rows, step):
            yield batch.slice(start, step)

    def split(self, batch: pa.RecordBatch) -> Iterator[tuple[PartitionKey, Selection]]:
        """The rows by partition, as files have them."""
        batch = conform(batch, self._target)
        partition_columns = [batch.column(name) for name in self._plan.partition_columns]
        rows = relabel(self._data_rows(batch), self._schema)
        for key, part in split_by_partition(rows, partition_columns, self._partition_types):
            # NULL itself was refused before; the empty string has no other spelling in the log.
            for place, name in self._required_partitions:
                if key.texts[place] is None:
                    raise ConstraintViolationError(
                        f"NOT NULL partition column {name!r} holds {key.values[place]!r}, which becomes NULL"
                    )
            yield key, part

    def _data_rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = batch.select(self._data_names)
        if self._plan.materializes_partitions:
            for name in self._plan.partition_columns:
                column = rows.column(name)
                if pa.types.is_string(column.type):
                    # The log has no empty string, so that a file must not have one either.
                    column = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
                    rows = rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), column)
        return rows

    def begin_file(self, number: int, key: PartitionKey) -> DataFile:
        """A new file of the partition `key`, named as Spark names it."""
        names = self._partition_names
        if self._random_prefix:
            folder = f"{random_prefix(self._random_prefix)}/"
        elif names:
            values = dict(zip(names, key.values, strict=True))
            folder = f"{partition_folder(values, dict(zip(names, self._partition_types, strict=True)))}/"
        else:
            folder = ""
        separator = "." if names else "-"
        name = f"{folder}part-{number:05d}-{uuid.uuid4()}{separator}c000{self._suffix}"
        statistics = FileStatistics(
            self._statistics_columns,
            prefix_length=self._string_prefix,
            tight_bounds=self._plan.tight_bounds,
        )
        return DataFile(self._format, name, dict(zip(names, key.texts, strict=True)), statistics)


def _primitive_type(field: Field) -> PrimitiveType:
    if not isinstance(field.type, PrimitiveType):
        raise UnsupportedFeatureError(
            f"partition column {field.name!r} is of type {field.type!r}", feature="nested partition column"
        )
    return field.type


def _random_prefix_length(plan: WritePlan) -> int:
    """How many characters the folder of a file has by chance; 0 where folders speak of partitions."""
    is_random = plan.mapping_mode != "none" or properties.RANDOMIZE_FILE_PREFIXES.parse(plan.configuration)
    return properties.RANDOM_PREFIX_LENGTH.parse(plan.configuration) if is_random else 0
