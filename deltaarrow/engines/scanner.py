"""The scan of a dataset: rows as a table, batches or a stream.

Filter and projection are pyarrow's, but each batch is processed in the thread that asks for it. pyarrow would
read ahead in a thread of its own. If a scan is not read to its end, that thread could still call Python while
the interpreter shuts down, and crash the process.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from deltaarrow.scan import (
    BatchReader,
    ChangePlan,
    ChangeReader,
    FileTask,
    Given,
    RowCondition,
    ScanPlan,
    row_conditions,
    undecided_conditions,
)

__all__ = ["Columns", "DeltaScanner"]

Columns = Sequence[str] | Mapping[str, pc.Expression] | None
"""Names, or names with the expressions that compute them; None for all columns."""


class DeltaScanner:
    """A scan with the methods of `pyarrow.dataset.Scanner`; it can be used more than once.

    It is not a `Scanner`, because that class cannot be subclassed: pass ``scanner.to_reader()`` to
    `pyarrow.dataset.write_dataset`.
    """

    def __init__(
        self,
        plan: ScanPlan | ChangePlan,
        reader: BatchReader | ChangeReader,
        columns: Columns,
        conditions: Given = None,
    ) -> None:
        self._plan = plan
        self._reader = reader
        self._columns = columns if columns is None or isinstance(columns, Mapping) else list(columns)
        self._conditions = [part for each in row_conditions(conditions) for part in each.conjuncts]

    def _scan(self, batches: Sequence[pa.RecordBatch], conditions: Sequence[RowCondition] = ()) -> Any:
        """The requested columns of the rows that meet the conditions, as far as pyarrow can evaluate them."""
        expressions = [found for each in conditions if (found := each.arrow) is not None]
        return pads.Scanner.from_batches(
            batches,
            schema=self._reader.schema,
            columns=self._columns,
            filter=reduce(and_, expressions) if expressions else None,
            use_threads=False,
        )

    @property
    def plan(self) -> ScanPlan | ChangePlan:
        """The files that the scan reads."""
        return self._plan

    @property
    def dataset_schema(self) -> pa.Schema:
        """The logical schema of the whole table."""
        return self._reader.layout.arrow_schema

    @property
    def projected_schema(self) -> pa.Schema:
        """The schema of the result."""
        schema: pa.Schema = self._scan([], self._conditions).projected_schema
        return schema

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows in batches, none of them empty."""
        return self.read(self._plan.tasks)

    def read(self, tasks: Sequence[FileTask]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some files of the plan in batches, none of them empty."""
        schema = self.projected_schema  # refuse what pyarrow cannot evaluate before opening a file
        are_columns = self._are_columns(schema)
        for batch, decided in self._reader.scan(tasks):
            left = undecided_conditions(self._conditions, decided)
            if any(each.arrow is None for each in left):
                # Cheap conditions first: one that may fail is computed for no more rows than necessary.
                for each in sorted(left, key=lambda each: each.arrow is None):
                    batch = each.select(batch)
                left = []
            if are_columns and not left:
                if batch.num_rows:
                    yield batch.select(schema.names)
                continue
            for part in self._scan([batch], left).to_batches():
                if part.num_rows:
                    yield part

    def _are_columns(self, projected: pa.Schema) -> bool:
        """Whether the requested columns are plain columns, not expressions."""
        if isinstance(self._columns, Mapping) or not len(projected):
            return False
        own = self._reader.schema
        read = pa.schema([own.field(name) for name in projected.names])
        return bool(projected.equals(read, check_metadata=True))

    def scan_batches(self) -> Iterator[Any]:
        """Yield the rows in batches as pyarrow's tagged batches; the tag names no fragment."""
        return (pads.TaggedRecordBatch(batch, None) for batch in self.to_batches())

    def to_reader(self) -> pa.RecordBatchReader:
        """Return the rows as a stream."""
        return pa.RecordBatchReader.from_batches(self.projected_schema, self.to_batches())

    def to_table(self) -> pa.Table:
        """Return all rows."""
        return self.to_reader().read_all()

    def head(self, num_rows: int) -> pa.Table:
        """Return the first rows, reading no more files than necessary."""
        wanted, found = num_rows, []
        for batch in self.to_batches() if num_rows > 0 else ():
            found.append(batch.slice(0, wanted))
            wanted -= found[-1].num_rows
            if wanted <= 0:
                break
        return pa.Table.from_batches(found, schema=self.projected_schema)

    def take(self, indices: Any) -> pa.Table:
        """Return the rows at the given positions of the scan, in the given order.

        Raises `IndexError` when the scan has fewer rows.
        """
        wanted = np.asarray(indices, dtype=np.int64)
        order = np.argsort(wanted, kind="stable")
        ascending = wanted[order]
        found, start, done = [], 0, 0
        if len(wanted) and ascending[0] < 0:
            raise IndexError(f"row {ascending[0]} is negative: positions count from 0")
        for batch in self.to_batches() if len(wanted) else ():
            end = int(np.searchsorted(ascending, start + batch.num_rows))
            found.append(batch.take(pa.array(ascending[done:end] - start)))
            start, done = start + batch.num_rows, end
            if done == len(wanted):
                break
        if done < len(wanted):
            raise IndexError(f"row {ascending[done]} does not exist: the scan has {start} rows")
        table = pa.Table.from_batches(found, schema=self.projected_schema)
        return table.take(pa.array(np.argsort(order, kind="stable")))

    def count_rows(self) -> int:
        """Return the number of rows."""
        if not self._conditions:
            return self._reader.count(self._plan.tasks)
        return sum(batch.num_rows for batch in self.to_batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the rows through the Arrow PyCapsule interface."""
        return self.to_reader().__arrow_c_stream__(requested_schema)
