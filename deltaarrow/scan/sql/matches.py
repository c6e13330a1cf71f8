"""Search for the rows that satisfy a condition: their files and their positions in the files.

A condition on partition columns holds for all rows of a file or for none. If its predicate is exact, no file
is read. For other conditions, DuckDB queries the files that may hold a match.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import integers, numbers_of
from deltaarrow.compute import files_cursor
from deltaarrow.errors import CorruptLogError
from deltaarrow.expressions import Predicate, column_sql, columns_of, to_duckdb
from deltaarrow.partitions import parse_partition_values
from deltaarrow.scan.char_padding import padded
from deltaarrow.scan.file_schemas.footers import read_row_counts
from deltaarrow.scan.plan import ScanPlan
from deltaarrow.scan.sql.located_rows import located_rows, naming_damaged_files
from deltaarrow.scan.tasks import FILE_COLUMN, ROW_COLUMN
from deltaarrow.schema import Field, PrimitiveType
from deltaarrow.spark_sql import Condition, evaluation_error, provide_kernels

__all__ = ["FileMatches", "count_live_rows", "find_matches", "is_partition_predicate", "matching_files"]

_PARTS = "deltaarrow_matches"
_PLACE = "deltaarrow_place"


@dataclass(frozen=True)
class FileMatches:
    """The matching live rows of one file; `place` is the index of the file in ``plan.files``.

    `positions` are the positions of the rows in the data file; None means every live row.
    """

    place: int
    positions: BitMap64 | None

    def __len__(self) -> int:
        """Return the number of listed rows; 0 if `positions` is None."""
        return 0 if self.positions is None else len(self.positions)

    def found(self) -> BitMap64:
        """Return a copy of the listed positions."""
        return BitMap64() if self.positions is None else self.positions.copy()


def is_partition_predicate(plan: ScanPlan, predicate: Predicate) -> bool:
    """Whether a predicate, bound to the schema, uses partition columns only."""
    return {path[0] for path in columns_of(predicate)} <= set(plan.layout.partition_columns)


def matching_files(plan: ScanPlan, predicate: Predicate) -> list[int]:
    """Return the indexes in ``plan.files`` of the files whose rows match a partition predicate."""
    count = plan.files.num_rows
    columns = {_PLACE: pa.chunked_array([integers(np.arange(count))])}
    for column in plan.layout.partition_fields:
        columns[column.name] = _partition_values(plan, column)
    with files_cursor(plan.store) as cursor:
        cursor.register(_PARTS, pa.table(columns))
        condition = to_duckdb(predicate)
        return [
            place for (place,) in cursor.sql(f"SELECT {_PLACE} FROM {_PARTS} WHERE {condition}").fetchall()
        ]


def _partition_values(plan: ScanPlan, column: Field) -> pa.Array:
    if not isinstance(column.type, PrimitiveType):
        raise CorruptLogError(
            f"the partition column {column.name!r} has type {column.type!r}, not a primitive type"
        )
    physical = plan.layout.physical_name(column)
    texts = pc.map_lookup(plan.files.column("partition_values"), physical, "first")
    values = parse_partition_values(texts, column.type, column.name)
    return padded(values, plan.layout.paddings(column.name))


def find_matches(plan: ScanPlan, condition: Condition) -> Iterator[FileMatches]:
    """Yield the files of a plan that hold a matching row, each once, with the positions of these rows.

    `plan` must have the columns of the condition, which is over the schema of the table. The order of files
    is unspecified. Memory grows with the number of matching rows in the files of one query.

    Raises `InvalidPredicateError` if the condition cannot be computed for a row, and the exceptions of
    reading files.
    """
    if condition.is_exact and is_partition_predicate(plan, condition.predicate):
        yield from (FileMatches(place, None) for place in matching_files(plan, condition.predicate))
    else:
        yield from _found_in_files(plan, condition)


def _found_in_files(plan: ScanPlan, condition: Condition) -> Iterator[FileMatches]:
    found: dict[int, BitMap64] = {}
    with naming_damaged_files(plan), files_cursor(plan.store) as cursor:
        rows = located_rows(cursor, plan, _PARTS)
        where = condition.to_duckdb(column_sql)
        query = f"SELECT {FILE_COLUMN}, {ROW_COLUMN} FROM ({rows}) WHERE {where}"
        provide_kernels(cursor, query)
        try:
            for batch in cursor.sql(query).to_arrow_reader():
                _collect(batch, found)
        except Exception as error:
            raised = evaluation_error(error, condition.text)
            if raised is None:
                raise
            raise raised from error
    yield from (FileMatches(place, positions) for place, positions in found.items())


def _collect(batch: pa.RecordBatch, found: dict[int, BitMap64]) -> None:
    files = numbers_of(batch.column(0).cast(pa.int64()))
    rows = numbers_of(batch.column(1).cast(pa.uint64()))
    ends = np.flatnonzero(np.diff(files)) + 1
    for run in np.split(np.arange(len(files)), ends):
        if len(run):
            positions = BitMap64(array("Q", rows[run[0] : run[-1] + 1].tobytes()))
            found.setdefault(int(files[run[0]]), BitMap64()).__ior__(positions)


def count_live_rows(plan: ScanPlan, places: list[int]) -> list[int]:
    """Return the numbers of live rows of files, from the log or, without statistics, from footers."""
    tasks = [plan.tasks[place] for place in places]
    unknown = [task.path for task in tasks if task.num_records is None]
    counts = read_row_counts(plan.store, unknown) if unknown else {}
    return [
        (counts[task.path] if task.num_records is None else task.num_records)
        - (task.deletion_vector.cardinality if task.deletion_vector is not None else 0)
        for task in tasks
    ]
