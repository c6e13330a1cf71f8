"""A snapshot as a `pyarrow.dataset.Dataset`, for pyarrow, pandas and every engine that reads one.

pyarrow's own datasets cannot handle deletion vectors or column mapping, so every scan of this dataset goes
through `deltaarrow.scan.batches`. The underlying C++ object gets a single file that does not exist: an
operation that would bypass `scanner` fails with a message instead of showing deleted rows. The file is missed
by C++ alone. A Python file system could raise a `TypeError`, but `pyarrow.dataset.Scanner.to_reader` waits
for files with the GIL held, and both would wait for ever.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
from pyarrow.fs import LocalFileSystem

from deltaarrow.deletion_vectors import read_deletion_vectors
from deltaarrow.display.redaction import redacted
from deltaarrow.engines.scanner import Columns, DeltaScanner, needed_columns, planned_scan, reader_options
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.expressions import And, Predicate
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.scan import (
    BatchReader,
    ChangePlan,
    ChangeReader,
    Explanation,
    FileTask,
    Given,
    RowCondition,
    ScanPlan,
    explain_scan,
    joined_predicate,
    list_file_uris,
    plan_scan,
    row_conditions,
    row_tracking_of,
    with_row_tracking,
)
from deltaarrow.scan.char_padding import padded_value
from deltaarrow.scan.data_files import DataFiles
from deltaarrow.scan.plan import ensure_columns
from deltaarrow.snapshot import Snapshot
from deltaarrow.statistics import guarantees, partition_expression

__all__ = ["DeltaDataset", "DeltaFragment", "DeltaScanner", "LogDataset"]

_BYPASS = (
    "/DeltaDataset: this call of pyarrow reads data files past the Delta log (Scanner.from_dataset, acero's"
    " scan, UnionDataset, a join with it on the right); use .scanner(columns, filter).to_reader(), or"
    " pyarrow.dataset.dataset(d.to_table())"
)
"""The path of a file that does not exist; a name on disk has at most 255 bytes."""

# --- translate -------------------------------------------------------------------------------------


def _shown(columns: Columns, schema: pa.Schema) -> Columns:
    """Return the columns of the result: a filter may need columns outside the schema."""
    return schema.names if columns is None else columns


# --- fragments -------------------------------------------------------------------------------------


class _Guarantees:
    """What the statistics of all files of a plan prove; computed for all files on first use."""

    def __init__(self, plan: ScanPlan) -> None:
        self._plan = plan

    @cached_property
    def expressions(self) -> list[pc.Expression]:
        layout = self._plan.layout
        return guarantees(
            self._plan.files.column("stats"),
            layout.table_schema,
            layout.mapping_mode,
            layout.partition_columns,
            [name for name in layout.table_schema.names if name not in layout.padded_columns],
        )


class DeltaFragment:
    """One file of a `DeltaDataset`, with everything known about it before reading.

    Its rows also match the filter of the dataset. `partition_expression` has the partition values, and
    `guarantee` what the statistics prove, as pyarrow expressions over
    logical names that hold for every row.
    """

    def __init__(
        self, plan: ScanPlan, place: int, conditions: Given = None, proven: _Guarantees | None = None
    ) -> None:
        self._plan = plan
        self._place = place
        self._conditions = row_conditions(conditions)
        self._proven = proven or _Guarantees(plan)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without the other files of the plan; with the `storage_options` and their secrets."""
        return type(self), (self._alone(), 0, self._conditions)

    @property
    def _task(self) -> FileTask:
        return self._plan.tasks[self._place]

    def __repr__(self) -> str:
        return f"DeltaFragment({self._task.path!r})"

    @property
    def path(self) -> str:
        """The location of the data file."""
        return self._plan.store.location(self._task.path)

    @property
    def schema(self) -> pa.Schema:
        """The logical schema of the table."""
        return self._plan.layout.arrow_schema

    @property
    def physical_schema(self) -> pa.Schema:
        """The schema of the rows that the fragment returns: the logical one, whatever the file stores."""
        return self.schema

    @cached_property
    def partition_expression(self) -> pc.Expression:
        """The partition values of the file."""
        layout = self._plan.layout
        values = dict(self._task.partition_values)
        for name in layout.padded_columns.intersection(layout.partition_columns):
            key = layout.physical_name(layout.schema.field(name))
            values[key] = padded_value(values.get(key), layout.paddings(name))
        return partition_expression(values, layout.schema, layout.partition_columns, layout.mapping_mode)

    @property
    def guarantee(self) -> pc.Expression:
        """What the statistics of the file prove for every row, with NULL and NaN taken into account."""
        return self._proven.expressions[self._place]

    @cached_property
    def row_mask(self) -> pa.BooleanArray | None:
        """True for live rows; None when the file has no deletion vector."""
        if self._task.deletion_vector is None:
            return None
        (deleted,) = read_deletion_vectors(self._plan.store, [self._task.deletion_vector])
        total = self._reader(()).count([self._task]) + deleted.cardinality
        return pa.array(deleted.mask(0, total))

    def _alone(self) -> ScanPlan:
        """The plan of this file, which keeps no memory of the others."""
        return replace(self._plan, files=self._plan.files.take([self._place]))

    def _reader(self, columns: Sequence[str], **options: Any) -> BatchReader:
        return BatchReader(self._plan.layout, tuple(columns), **options)

    def scanner(
        self,
        schema: pa.Schema | None = None,
        columns: Columns = None,
        filter: Given = None,
        **options: Any,
    ) -> DeltaScanner:
        """Return a scan of this file alone, with the arguments of a pyarrow fragment.

        `schema` selects columns if `columns` is None, and must have the types of the table; for the other
        arguments see `DeltaDataset.scanner`.
        """
        shown = _shown(columns, self.schema if schema is None else self._ensure_own(schema))
        conditions = (*self._conditions, *row_conditions(filter))
        predicate = joined_predicate(conditions)
        needed = needed_columns(shown, predicate, self.schema)
        ensure_columns(self._plan.schema, needed)
        reader = self._reader(needed, **reader_options(predicate, options))
        plan = replace(self._plan, columns=tuple(needed), files=self._plan.files.slice(self._place, 1))
        return DeltaScanner(plan, reader, shown, conditions)

    def _ensure_own(self, schema: pa.Schema) -> pa.Schema:
        """Return a schema that a caller gave, if its columns are the table's."""
        ensure_columns(self._plan.schema, schema.names)
        for field in schema:
            if not field.type.equals(own := self.schema.field(field.name).type):
                raise SchemaMismatchError(
                    f"the column {field.name!r} is of type {own}, and the given schema has {field.type};"
                    " cast what the fragment returns"
                )
        return schema

    def to_table(self, schema: pa.Schema | None = None, **options: Any) -> pa.Table:
        """Return the live rows of the file; for the arguments see `scanner`."""
        return self.scanner(schema, **options).to_table()

    def to_batches(self, schema: pa.Schema | None = None, **options: Any) -> Iterator[pa.RecordBatch]:
        """Return an iterator over the live rows of the file; for the arguments see `scanner`."""
        return self.scanner(schema, **options).to_batches()

    def head(self, num_rows: int, **options: Any) -> pa.Table:
        """Return the first live rows of the file; for the other arguments see `scanner`."""
        return self.scanner(**options).head(num_rows)

    def take(self, indices: Any, **options: Any) -> pa.Table:
        """Return the live rows at these positions; for the other arguments see `scanner`.

        Raises `IndexError` when the file has fewer live rows.
        """
        return self.scanner(**options).take(indices)

    def count_rows(self, filter: pc.Expression | None = None, **options: Any) -> int:
        """Return the number of live rows that match."""
        return self.scanner(columns=[], filter=filter, **options).count_rows()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the live rows of the file through the Arrow PyCapsule interface."""
        return self.scanner().__arrow_c_stream__(requested_schema)


# --- plan ------------------------------------------------------------------------------------------


class LogDataset(pads.FileSystemDataset):  # type: ignore[misc] # pyarrow is not typed
    """A `pyarrow.dataset.Dataset` whose files and rows are decided by the log.

    Filters are applied exactly, and files that cannot match are not opened. pyarrow operations that would
    bypass the log are refused.
    """

    def __init__(self, schema: pa.Schema, conditions: Given) -> None:
        self._conditions = row_conditions(conditions)
        file_format = pads.ParquetFileFormat()
        absent = file_format.make_fragment(_BYPASS, LocalFileSystem())
        super().__init__([absent], schema, file_format, LocalFileSystem())

    def _plan(self, predicate: Predicate | None, columns: Sequence[str]) -> ScanPlan | ChangePlan:
        raise NotImplementedError

    def _reader(self, plan: Any, options: Mapping[str, Any]) -> BatchReader | ChangeReader:
        raise NotImplementedError

    def _conditioned(self, conditions: tuple[RowCondition, ...]) -> "LogDataset":
        raise NotImplementedError

    @property
    def filesystem(self) -> Any:
        """Refuse: who opens the data files sees deleted rows and the stored names of columns."""
        raise TypeError(
            f"a {type(self).__name__} gives nobody a file system, because its files alone are not its rows;"
            " read it by .scanner(), or by .get_fragments() in parts"
        )

    @property
    def partition_expression(self) -> pc.Expression:
        """What holds for every row: nothing specific."""
        return pc.scalar(True)

    def plan(self, columns: Columns = None, filter: pc.Expression | None = None) -> Any:
        """Return the files that a scan with these arguments reads, without reading them."""
        return self._plan(*self._asked(columns, filter))

    def _asked(self, columns: Columns, filter: Given) -> tuple[Predicate | None, Sequence[str]]:
        """The predicate for rows, and the columns to read."""
        predicate = joined_predicate((*self._conditions, *row_conditions(filter)))
        return predicate, needed_columns(columns, predicate, self.schema)

    def scanner(self, columns: Columns = None, filter: Given = None, **options: Any) -> DeltaScanner:
        """Return a scan of `columns` (names, or names with expressions) of the rows that match `filter`.

        `batch_size` is in rows (131,072 by default), `use_threads` as in pyarrow; other options of pyarrow's
        scanners are accepted but have no effect.
        """
        conditions = (*self._conditions, *row_conditions(filter))
        return planned_scan(self.schema, conditions, columns, self._plan, self._reader, options)

    def count_rows(self, filter: pc.Expression | None = None, **options: Any) -> int:
        """Return the number of rows that match."""
        return self.scanner([], filter, **options).count_rows()

    def filter(self, expression: pc.Expression) -> "LogDataset":
        """Return this dataset with an additional filter."""
        return self._conditioned((*self._conditions, *row_conditions(expression)))

    def sort_by(self, sorting: Any, **options: Any) -> pads.InMemoryDataset:
        """Return the sorted rows, in memory."""
        return pads.InMemoryDataset(self.to_table().sort_by(sorting, **options))

    def join(self, right_dataset: Any, *arguments: Any, **options: Any) -> pads.InMemoryDataset:
        """Join with another dataset, Delta or not, or any Arrow data, in memory."""
        return pads.InMemoryDataset(self.to_table().join(_rows_of(right_dataset), *arguments, **options))

    def join_asof(self, right_dataset: Any, *arguments: Any, **options: Any) -> pads.InMemoryDataset:
        """Join with the nearest rows of another dataset, Delta or not, or any Arrow data, in memory."""
        return pads.InMemoryDataset(self.to_table().join_asof(_rows_of(right_dataset), *arguments, **options))

    def replace_schema(self, schema: pa.Schema) -> "LogDataset":
        """Refuse: the schema of a Delta table comes from its log."""
        raise TypeError(
            f"replace_schema, which pyarrow.dataset.dataset([...]) calls for each dataset, cannot change a"
            f" {type(self).__name__}, whose schema comes from the Delta log; for several tables as one, use"
            " pyarrow.concat_tables or UNION ALL in DuckDB; for another schema, cast the result of a scan"
        )

    def __arrow_c_schema__(self) -> object:
        """Export the schema through the Arrow PyCapsule interface."""
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the rows through the Arrow PyCapsule interface, as a stream."""
        return self.scanner().to_reader().__arrow_c_stream__(requested_schema)


def _rows_of(data: Any) -> pa.Table:
    return data.to_table() if isinstance(data, pads.Dataset) else pa.table(data)


class DeltaDataset(LogDataset):
    """The rows of a snapshot as a `pyarrow.dataset.Dataset`, pinned to its version; picklable.

    The columns ``_metadata.row_id`` and ``_metadata.row_commit_version`` of a table with row tracking can be
    requested by name and used in filters; with `with_row_ids` they are in the schema. `conditions` are
    conditions on rows, as pyarrow expressions or others (see `deltaarrow.scan.row_condition`). `shown` is the
    schema of `deltaarrow.engines.typed_dataset`.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        conditions: Given = None,
        file_predicate: Predicate | None = None,
        with_row_ids: bool = False,
        *,
        shown: pa.Schema | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._files = DataFiles(snapshot.store)
        self._file_predicate = file_predicate
        self._with_row_ids = with_row_ids
        self._logical = snapshot.schema
        if with_row_ids:
            row_tracking_of(snapshot)  # refuses a table without row tracking
            self._logical = with_row_tracking(snapshot.schema)
        super().__init__(self._logical.to_arrow() if shown is None else shown, conditions)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as the snapshot and the filters, including `storage_options` and their secrets."""
        return type(self), (self._snapshot, self._conditions, self._file_predicate, self._with_row_ids)

    def __repr__(self) -> str:
        return f"DeltaDataset({redacted(self._snapshot.store.uri)!r}, version={self._snapshot.version})"

    def _plan(self, predicate: Predicate | None, columns: Sequence[str]) -> ScanPlan:
        return plan_scan(self._snapshot, self._on_files(predicate), columns)

    def head(self, num_rows: int, columns: Columns = None, filter: Given = None, **options: Any) -> pa.Table:
        """Return the first rows; without a filter, a server may list only the files these rows need."""
        predicate, needed = self._asked(columns, filter)
        if self._on_files(predicate) is not None or self._conditions or num_rows <= 0:
            return self.scanner(columns, filter, **options).head(num_rows)
        plan = plan_scan(self._snapshot, None, needed, limit=num_rows)
        shown = self.schema.names if columns is None else columns
        scanner = DeltaScanner(plan, self._reader(plan, reader_options(None, options)), shown)
        return self._shown_scan(scanner).head(num_rows)

    def _shown_scan(self, scanner: DeltaScanner) -> DeltaScanner:
        """Return a scan with the types of the dataset."""
        return scanner

    def _on_files(self, predicate: Predicate | None) -> Predicate | None:
        """The predicate for files, given the predicate for rows."""
        predicates = tuple(each for each in (predicate, self._file_predicate) if each is not None)
        return And(predicates) if predicates else None

    def explain(self, columns: Columns = None, filter: pc.Expression | None = None) -> Explanation:
        """Return the files that a scan with these arguments reads, and why others are skipped.

        No data file is opened. ``print`` shows each part of the filter with the files that it skips.
        """
        predicate, needed = self._asked(columns, filter)
        return explain_scan(self._snapshot, self._on_files(predicate), needed)

    def _reader(self, plan: ScanPlan, options: Mapping[str, Any]) -> BatchReader:
        return BatchReader(plan.layout, plan.columns, kept_files=self._files, **options)

    def _conditioned(self, conditions: tuple[RowCondition, ...]) -> "DeltaDataset":
        found = type(self)(self._snapshot, conditions, self._file_predicate, self._with_row_ids)
        found._files = self._files
        return found

    @property
    def files(self) -> list[str]:
        """The locations of the data files; warns as `deltaarrow.DeltaTable.file_uris` does."""
        return list_file_uris(self._snapshot, self._on_files(joined_predicate(self._conditions)))

    def get_fragments(self, filter: pc.Expression | None = None) -> Iterator[DeltaFragment]:
        """Yield the files that may hold a row matching `filter`."""
        plan = self.plan(None, filter)
        proven = _Guarantees(plan)
        places = range(plan.files.num_rows)
        return (DeltaFragment(plan, place, self._conditions, proven) for place in places)
