"""Bulk `add` actions: the JSON of many added files, rendered column by column.

Only their row ids depend on the version that the commit follows; they are put in when the commit is made.
Chapters "Add File and Remove File" and "Row Tracking" of the protocol.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import empty_table, integers, numbers_of
from deltaarrow.compute import files_cursor
from deltaarrow.errors import DeltaProtocolError
from deltaarrow.storage import Store

__all__ = ["BulkAdds"]

_TOTALS = ("size", "deletion_vector")

_VECTOR = (
    """',"deletionVector":{"storageType":' || to_json(v.storage_type)"""
    """ || ',"pathOrInlineDv":' || to_json(v.path_or_inline_dv) || coalesce(',"offset":' || v."offset", '')"""
    """ || ',"sizeInBytes":' || v.size_in_bytes || ',"cardinality":' || v.cardinality || '}'"""
)
_LINE = (
    """'{"add":{"path":' || to_json(log_path) || ',"partitionValues":' || to_json(partition_values)"""
    """ || ',"size":' || size || ',"modificationTime":' || coalesce(modification_time, 0)"""
    """ || ',"dataChange":true' || coalesce(',"stats":' || to_json(stats), '')"""
    f""" || coalesce(',"tags":' || to_json(tags), '') || coalesce({_VECTOR}, '')"""
    """ || coalesce(',"clusteringProvider":' || to_json(clustering_provider), '')"""
)
"""The line of a file up to its row ids."""
_END = "}}\n"
_NUM_ROWS = (
    ", CASE WHEN json_valid(stats) THEN"
    " CASE WHEN json_type(stats, '$.numRecords') IN ('BIGINT', 'UBIGINT') THEN"
    " TRY_CAST(json_extract(stats, '$.numRecords') AS BIGINT) END END AS num_rows"
)


@dataclass
class BulkAdds:
    """Files that a commit adds as a change of data.

    The caller answers for them: their paths are distinct, none is live in the table, and they fit its
    metadata and protocol.

    Args:
        store: the storage of the table.
        counts_rows: whether the table assigns row ids, for which the rows are counted.
    """

    store: Store
    counts_rows: bool
    _lines: list[pa.ChunkedArray] = field(default_factory=list, init=False)
    _rows: list[np.ndarray] = field(default_factory=list, init=False)
    _totals: list[pa.Table] = field(default_factory=list, init=False)

    def add(self, files: pa.Table) -> None:
        """Add files, given as rows of `Snapshot.files` with all columns; their row ids are ignored.

        Raises `DeltaProtocolError` for a file without a row count in a table that assigns row ids.
        """
        columns = f"{_LINE} AS line{_NUM_ROWS}" if self.counts_rows else f"{_LINE} || '{_END}' AS line"
        with files_cursor(self.store) as cursor:
            cursor.register("adds", files)
            found = cursor.sql(
                f"SELECT {columns} FROM (SELECT *, deletion_vector AS v FROM adds)"
            ).to_arrow_table()
        if self.counts_rows:
            counts = found.column("num_rows")
            if counts.null_count or (len(counts) and pc.min(counts).as_py() < 0):
                raise DeltaProtocolError(
                    f"a file that is added to {self.store.uri} has no numRecords in its statistics, which row"
                    " tracking needs"
                )
            self._rows.append(numbers_of(counts))
        self._lines.append(found.column("line"))
        self._totals.append(files.select(_TOTALS))

    @property
    def totals(self) -> pa.Table:
        """The columns ``size`` and ``deletion_vector`` of all files."""
        schema = self._totals[0].schema if self._totals else pa.schema([("size", pa.int64())])
        return pa.concat_tables([empty_table(schema), *self._totals])

    @property
    def num_rows(self) -> int:
        """The number of row ids that the files need."""
        return sum(int(rows.sum()) for rows in self._rows)

    def render(self, first_row_id: int, version: int) -> Iterator[memoryview]:
        """Yield the lines of the files in a commit that makes `version`, joined in large parts.

        Row ids go from `first_row_id` on, if the table assigns any.
        """
        for number, lines in enumerate(self._lines):
            if not self.counts_rows:
                yield from map(_whole, lines.chunks)
            elif len(lines):
                rows = self._rows[number]
                ids = pc.cast(integers(first_row_id + np.cumsum(rows) - rows), pa.string())
                first_row_id += int(rows.sum())
                end = f',"defaultRowCommitVersion":{version}{_END}'
                yield _whole(
                    pc.binary_join_element_wise(lines.combine_chunks(), ',"baseRowId":', ids, end, "")
                )


def _whole(texts: pa.Array) -> memoryview:
    """All texts of an array, joined."""
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int32 if pa.types.is_string(texts.type) else np.int64)
    start, stop = int(ends[texts.offset]), int(ends[texts.offset + len(texts)])
    return memoryview(data)[start:stop]
