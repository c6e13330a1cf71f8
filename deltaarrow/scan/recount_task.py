"""`RecountTask`: new statistics of one data file, from its footer where that tells, else from its live rows.

A footer tells of a column if no row of the file is deleted, the file has the type of the table, and its
bounds are exact (`deltaarrow.statistics.footer_bounds`). Of the other columns, and of those alone, the rows
are read. Chapter *Per-file Statistics* of the protocol.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from deltaarrow.columnar.parquet_footers import Footer
from deltaarrow.scan.batches import BatchReader
from deltaarrow.scan.column_binding import Binding, bind_columns
from deltaarrow.scan.damage import reading, sound_footer
from deltaarrow.scan.data_files import DataFile, DataFiles
from deltaarrow.scan.tasks import FileTask, TableLayout
from deltaarrow.schema import Field, PrimitiveType, StructType
from deltaarrow.statistics import LeafBounds, RecountedStatistics, StatisticsColumn, parquet_leaves

__all__ = ["RecountTask", "Recounted"]


@dataclass(frozen=True)
class Recounted:
    """The new statistics of a file, and of how many columns its rows were read."""

    stats: str
    columns_read: int


@dataclass(frozen=True)
class RecountTask:
    """Computes the statistics of one file; picklable.

    Args:
        layout: how rows lie in the files, without row tracking columns.
        task: the file.
        columns: the columns that are to have statistics, by physical paths.
        names: the logical paths of the columns.
        prefix_length: the largest number of UTF-16 units in a string bound.
        tight_bounds: the value of ``tightBounds``; left out if None.
        keeps_others: whether present statistics of other columns stay.
    """

    layout: TableLayout
    task: FileTask
    columns: tuple[StatisticsColumn, ...]
    names: tuple[tuple[str, ...], ...]
    prefix_length: int
    tight_bounds: bool | None
    keeps_others: bool = False

    def run(self) -> Recounted:
        """Read what is to be read.

        Raises `CorruptDataFileError` for a file that is missing, cannot be read or contradicts the log.
        """
        files = DataFiles(self.layout.store)
        opened = files.open(self.task, files.vectors([self.task]), self._bind)
        found = RecountedStatistics(self.columns)
        # A bound that is wrong would hide rows for good.
        footer = sound_footer(self.layout.store, self.task.path) if opened.deleted is None else None
        with reading(self.task.path):
            left = dict(self._told_by_footer(found, opened, footer))
        if left:
            tops = tuple(dict.fromkeys(path[0] for path in left.values()))
            reader = BatchReader(self.layout, tops, kept_files=files)
            for batch in reader.read([self.task]):
                found.observe(batch, left)
        stats = found.render(
            opened.fragment.metadata.num_rows,
            self.prefix_length,
            tight_bounds=self.tight_bounds,
            others=self.task.stats if self.keeps_others else None,
        )
        return Recounted(stats, len(left))

    @property
    def _fields(self) -> tuple[Field, ...]:
        tops = {path[0] for path in self.names}
        return tuple(field for field in self.layout.data_fields if field.name in tops)

    def _bind(self, file_schema: pa.Schema, path: str) -> Binding:
        return bind_columns(self.layout, self._fields, file_schema, path)

    def _told_by_footer(
        self, found: RecountedStatistics, file: DataFile, footer: Footer | None
    ) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Take what the footer tells; yield the columns left, by place, with their logical paths."""
        schema = file.fragment.physical_schema
        fields = {field.name: field for field in self._fields}
        sources = dict(zip(fields, file.binding.sources, strict=True))
        leaves = {path: (leaf, kind) for leaf, (path, kind) in enumerate(parquet_leaves(schema))}
        for place, (column, path) in enumerate(zip(self.columns, self.names, strict=True)):
            source = sources[path[0]]
            if source is None:
                found.take_nulls(place, file.num_rows())
                continue
            # The leaves of unusual types are others than those that pyarrow writes.
            is_usual = footer is not None and len(leaves) == len(footer.leaves)
            if footer is not None and is_usual and path[0] in file.binding.exact:
                stored = _stored_path(fields[path[0]], path, schema.field(source))
                leaf, kind = leaves.get(stored, (None, None))
                if leaf is not None and isinstance(column.type, PrimitiveType):
                    bounds = LeafBounds.of(kind, footer.leaves[leaf].physical_type)
                    told = bounds.over([group.chunks[leaf] for group in footer.row_groups])
                    if found.take_footer(place, told):
                        continue
            yield place, path


def _stored_path(field: Field, path: Sequence[str], stored: pa.Field) -> tuple[str, ...]:
    """Return the path in the file of a column with the type of the table, whose fields have other names."""
    names, wanted, found = [stored.name], field.type, stored.type
    for name in path[1:]:
        assert isinstance(wanted, StructType)
        place = wanted.names.index(name)
        names.append(found.field(place).name)
        wanted, found = wanted.fields[place].type, found.field(place).type
    return tuple(names)
