"""The scan of a dataset: rows as a table, batches or a stream.

Filter and projection are pyarrow's, but each batch is processed in the thread that asks for it. pyarrow would
read ahead in a thread of its own. If a scan is not read to its end, that thread could still call Python while
the interpreter shuts down, and crash the process.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce
from operator import and_
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from deltaarrow.expressions import Predicate, columns_of, columns_of_arrow
from deltaarrow.scan import (
    BatchReader,
    FileTask,
    Given,
    RowCondition,
    joined_predicate,
    plan_scan,
    row_conditions,
    undecided_conditions,
)
from deltaarrow.scan.batches import DEFAULT_BATCH_SIZE
from deltaarrow.schema import StructType
from deltaarrow.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow.compute as pc

    from deltaarrow.scan import ChangePlan, ChangeReader, ScanPlan

__all__ = [
    "Columns",
    "DeltaScanner",
    "asked_columns",
    "needed_columns",
    "planned_scan",
    "reader_options",
    "scan_rows",
]

Columns: TypeAlias = "Sequence[str] | Mapping[str, pc.Expression] | None"
"""Names, or names with the expressions that compute them; None for all columns."""


def asked_columns(schema: StructType, names: Sequence[str] | None) -> Columns:
    """Return the columns that names in any case mean, under the names that are asked for, as in Spark.

    Names of no column stay as they are; the plan of the scan refuses them.
    """
    if names is None:
        return None
    fields = [schema.find(name) if isinstance(name, str) else None for name in names]
    found = [name if field is None else field.name for name, field in zip(names, fields, strict=True)]
    if found == list(names) or len(set(names)) < len(found):
        return found
    import pyarrow.compute as pc

    return {name: pc.field(own) for name, own in zip(names, found, strict=True)}


def scan_rows(
    snapshot: Snapshot, conditions: Sequence[RowCondition] = (), columns: Columns = None
) -> "DeltaScanner":
    """Return a scan of columns of the rows that meet the conditions, without a dataset."""

    def reader(plan: Any, options: Mapping[str, Any]) -> BatchReader:
        return BatchReader(plan.layout, plan.columns, **options)

    schema = snapshot.schema.to_arrow()
    return planned_scan(schema, conditions, columns, partial(plan_scan, snapshot), reader, {})


def planned_scan(
    schema: pa.Schema,
    conditions: Sequence[RowCondition],
    columns: Columns,
    plan: Callable[[Predicate | None, Sequence[str]], Any],
    reader: Callable[[Any, Mapping[str, Any]], Any],
    options: Mapping[str, Any],
) -> "DeltaScanner":
    """Plan a scan and return it.

    Args:
        schema: the schema whose columns are scanned if `columns` is None.
        conditions: what the rows must meet.
        columns: the columns of the result.
        plan: makes the plan, given the predicate for rows and the names of the columns to read.
        reader: makes the reader of a plan, given its options.
        options: the options of a pyarrow scan.
    """
    predicate = joined_predicate(conditions)
    planned = plan(predicate, needed_columns(columns, predicate, schema))
    # A filter may need columns outside the schema, which are not shown.
    shown = schema.names if columns is None else columns
    return DeltaScanner(planned, reader(planned, reader_options(predicate, options)), shown, conditions)


def needed_columns(columns: Columns, predicate: Predicate | None, schema: pa.Schema) -> list[str]:
    """Return the columns to read: the requested ones, then those that only expressions use."""
    if columns is None:
        needed = list(schema.names)
    elif isinstance(columns, Mapping):
        import pyarrow.compute as pc

        expressions = [e if isinstance(e, pc.Expression) else pc.field(e) for e in columns.values()]
        needed = [path[0] for e in expressions for path in columns_of_arrow(e)]
    else:
        needed = list(columns)
    if predicate is not None:
        needed += [path[0] for path in sorted(columns_of(predicate))]
    return list(dict.fromkeys(needed))


def reader_options(predicate: Predicate | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the pyarrow scan options that have an effect here; the others only tune pyarrow."""
    kept: dict[str, Any] = {"pushdown": predicate}
    kept["batch_size"] = options.get("batch_size", DEFAULT_BATCH_SIZE)
    kept["use_threads"] = options.get("use_threads", True)
    return kept


class DeltaScanner:
    """A scan with the methods of `pyarrow.dataset.Scanner`; it can be used more than once.

    It is not a `Scanner`, because that class cannot be subclassed: pass ``scanner.to_reader()`` to
    `pyarrow.dataset.write_dataset`.
    """

    def __init__(
        self,
        plan: "ScanPlan | ChangePlan",
        reader: "BatchReader | ChangeReader",
        columns: Columns,
        conditions: Given = None,
    ) -> None:
        self._plan = plan
        self._reader = reader
        self._columns = columns if columns is None or isinstance(columns, Mapping) else list(columns)
        self._conditions = [part for each in row_conditions(conditions) for part in each.conjuncts]

    def _scan(self, batches: Sequence[pa.RecordBatch], conditions: Sequence[RowCondition] = ()) -> Any:
        """The requested columns of the rows that meet the conditions, as far as pyarrow can evaluate them."""
        import pyarrow.dataset as pads

        expressions = [found for each in conditions if (found := each.arrow) is not None]
        return pads.Scanner.from_batches(
            batches,
            schema=self._reader.schema,
            columns=self._columns,
            filter=reduce(and_, expressions) if expressions else None,
            use_threads=False,
        )

    @property
    def plan(self) -> "ScanPlan | ChangePlan":
        """The files that the scan reads."""
        return self._plan

    @property
    def dataset_schema(self) -> pa.Schema:
        """The logical schema of the whole table."""
        return self._reader.layout.arrow_schema

    @property
    def projected_schema(self) -> pa.Schema:
        """The schema of the result."""
        own = self._reader.schema
        if not self._conditions and self._columns and isinstance(self._columns, list):
            named, asked = Counter(own.names), Counter(self._columns)
            if all(named[name] * asked[name] == 1 for name in self._columns):
                return pa.schema([own.field(name) for name in self._columns])
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
        import pyarrow.dataset as pads

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
