"""Rows of a plan with their file and position, as a SELECT for DuckDB.

DuckDB reads the files itself if possible. Other files (with variants, whose bytes DuckDB would not preserve,
or with columns that differ only in case) are read by pyarrow and passed as a stream of Arrow batches, once.
"""

import collections
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.compute import quote_identifier
from deltaarrow.errors import CorruptDataFileError, DeltaError
from deltaarrow.scan.batches import BatchReader
from deltaarrow.scan.damage import reading_failure
from deltaarrow.scan.plan import ScanPlan
from deltaarrow.scan.sql.file_columns import BeyondDuckDBError, duckdb_type
from deltaarrow.scan.sql.relation import relation_sql
from deltaarrow.schema import ArrayType, DataType, Field, MapType, PrimitiveType, StructType

if TYPE_CHECKING:
    import duckdb

__all__ = ["located_rows", "located_type", "naming_damaged_files", "reader_failure"]

_VARIANT = StructType([Field("metadata", "binary"), Field("value", "binary")])


def located_rows(cursor: "duckdb.DuckDBPyConnection", plan: ScanPlan, name: str) -> str:
    """Return a SELECT of the live rows, for one query of `cursor`.

    Its columns are the columns of the plan, with the types of `located_type`, then `FILE_COLUMN`, the index
    of the file in ``plan.tasks``, and `ROW_COLUMN`, the position of the row in its file.

    Args:
        cursor: a cursor of `deltaarrow.compute.files_cursor` for the store of the plan.
        plan: the files and columns to read.
        name: the name, or prefix of names, for registering tables on the cursor.

    Raises `UnsupportedFeatureError` if the table has a column named like one of these two.
    """
    try:
        relation = relation_sql(plan, f"{name}_parts", locate=True)
    except BeyondDuckDBError:
        reader = BatchReader(plan.layout, plan.columns, locate=True)
        stream = pa.RecordBatchReader.from_batches(reader.schema, reader.read(plan.tasks))
        cursor.register(name, stream)
        return f"SELECT * FROM {quote_identifier(name)}"
    if relation.parts is not None:
        cursor.register(name, relation.parts)
        cursor.execute(relation.create_parts(name))
    return relation.select


@contextlib.contextmanager
def naming_damaged_files(plan: ScanPlan) -> Iterator[None]:
    """Raise `reader_failure` if a DuckDB query over the files of a plan cannot read a file."""
    try:
        yield
    except Exception as error:
        failure = reader_failure(plan, error)
        if failure is None or failure is error:
            raise
        raise failure from error


def reader_failure(plan: ScanPlan, error: Exception, *, is_named: bool = False) -> DeltaError | None:
    """Return the error of a broken file, if that is why a DuckDB query failed; else None.

    DuckDB raises the same exceptions for broken files and for values that cannot be computed. Usually its
    message names the file. If not, pyarrow reads all files again to find it, unless `is_named` is set.
    """
    message = str(error)
    path = next((task.path for task in plan.tasks if task.path.rpartition("/")[2] in message), None)
    if path is not None:
        return reading_failure(f"the data file {path}", error)
    if is_named or isinstance(error, DeltaError) or not _is_of_reader(error):
        return None
    failure = reading_failure("one of the data files", error)
    if isinstance(failure, CorruptDataFileError):
        try:
            collections.deque(BatchReader(plan.layout, plan.columns).read(plan.tasks), maxlen=0)
        except DeltaError as found:
            return found
    return failure


def _is_of_reader(error: Exception) -> bool:
    """Whether an error comes from reading files, not from a statement or a value.

    DuckDB's Parquet reader passes on Thrift errors without a class of their own. After the first batch of an
    Arrow stream, all errors are `OSError`.
    """
    import duckdb

    kinds = (duckdb.IOException, duckdb.SerializationException, duckdb.InternalException)
    return isinstance(error, (*kinds, OSError)) or type(error) is duckdb.Error


def located_type(data_type: DataType) -> str:
    """Return the DuckDB type of a column of `located_rows`; a variant is a struct of two binaries."""
    return duckdb_type(_without_variants(data_type))


def _without_variants(data_type: DataType) -> DataType:
    if isinstance(data_type, StructType):
        return StructType([Field(each.name, _without_variants(each.type)) for each in data_type.fields])
    if isinstance(data_type, ArrayType):
        return ArrayType(_without_variants(data_type.element_type))
    if isinstance(data_type, MapType):
        return MapType(_without_variants(data_type.key_type), _without_variants(data_type.value_type))
    return _VARIANT if data_type == PrimitiveType("variant") else data_type
