"""Conversion of any user data to one stream of Arrow record batches: `to_reader`.

Nothing is collected: a lazy frame, a relation or a dataset runs while the stream is read, and a
reader can be read once. Types stay those of the source; fitting them to a table comes later.
"""

import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.runtime.optional import require
from deltaarrow.schema import cut_times, in_microseconds

if TYPE_CHECKING:
    import polars

__all__ = ["to_reader"]

_lazily = lazy_attributes(
    __name__,
    {
        "array_of_values": "deltaarrow.write.python_values",
        "checked_reader": "deltaarrow.write.source_types",
        "ensure_duckdb_types": "deltaarrow.write.source_types",
        "ensure_polars_types": "deltaarrow.write.source_types",
        "pandas_table": "deltaarrow.write.pandas_frames",
    },
)
"""What Arrow data do without."""


def to_reader(data: Any, *, cuts_times: bool = False) -> pa.RecordBatchReader:
    """A stream of the rows of `data`.

    Args:
        data: one of

            * a `pyarrow` Table, RecordBatch, RecordBatchReader, Dataset or Scanner,
            * any object with ``__arrow_c_stream__`` or ``__arrow_c_array__``: a Polars DataFrame, a
              DuckDB relation, a Delta table, ...
            * a Polars LazyFrame,
            * a PySpark DataFrame, one partition after another,
            * a pandas DataFrame; an index with a name is a column after the others, a range or integers
              without a name are left out,
            * an iterable of record batches of one schema, with at least one batch,
            * a list of rows as dictionaries; a name that a row lacks is NULL in it.
        cuts_times: whether timestamps lose their digits below microseconds, at any depth.

    Raises:
        TypeError: `data` is none of these; the message names its type.
        SchemaMismatchError: a value would be lost or changed: an index without a name, values without a
            common type, a time that would lose digits.
        UnsupportedFeatureError: Delta has no type for a type of Polars, pandas or DuckDB.
        ValueError: the iterable has no batch, and so no schema.

    >>> to_reader([pa.RecordBatch.from_pydict({"a": [1, 2]})]).read_all().num_rows
    2
    >>> times = pa.table({"at": pa.array([1999], pa.timestamp("ns"))})
    >>> to_reader(times, cuts_times=True).read_all()["at"].cast("int64").to_pylist()
    [1]
    """
    reader = _reader_of(data, cuts_times)
    return _truncated(reader) if cuts_times else reader


def _reader_of(data: Any, cuts_times: bool) -> pa.RecordBatchReader:
    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, pa.Table):
        return data.to_reader()
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if _is_a(data, "pyarrow.dataset", "Dataset"):
        return data.scanner().to_reader()
    if _is_a(data, "pyarrow.dataset", "Scanner"):
        return data.to_reader()
    if _is_a(data, "pandas", "DataFrame"):
        # Before __arrow_c_stream__, through which pandas would name an index that has no name.
        return _lazily("pandas_table")(data, cuts_times=cuts_times).to_reader()
    if _is_a(data, "polars", "LazyFrame"):
        return _read_lazy_frame(data)
    if _is_a(data, "polars", "DataFrame"):
        _lazily("ensure_polars_types")(data.schema)
    if _is_a(data, "duckdb", "DuckDBPyRelation"):
        _lazily("ensure_duckdb_types")(data.columns, data.types)
        return _lazily("checked_reader")(_read_stream(data))
    if _is_a(data, "pyspark.sql", "DataFrame"):
        return _read_spark_frame(data)
    if hasattr(data, "__arrow_c_stream__"):
        return _read_stream(data)
    if hasattr(data, "__arrow_c_array__"):
        return _reader_of(pa.record_batch(data), cuts_times)
    if isinstance(data, list | tuple) and data and isinstance(data[0], dict):
        return _read_rows(data, cuts_times)
    if hasattr(data, "__array__"):
        raise _one_array(data)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes | dict):
        return _read_batches(data)
    hint = _WAYS.get(type(data), "")
    raise TypeError(f"not understood as data: {_type_name(data)}; {hint}{_ACCEPTED}")


_WAYS: dict[type, str] = {
    dict: "pyarrow.table(...) makes a table of a dict of columns; ",
    str: "open a table with DeltaTable(path), or a file with pyarrow.parquet.read_table(path); ",
}
"""What to do with types that users give instead of data."""

_ACCEPTED = (
    "give Arrow data, an object with __arrow_c_stream__, a Polars or pandas frame, "
    "an iterable of record batches, or a list of dictionaries"
)


def _is_a(data: Any, module: str, name: str) -> bool:
    # An object of a class can only exist if the class's module is loaded.
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(data, getattr(loaded, name))


def _read_stream(data: Any) -> pa.RecordBatchReader:
    try:
        return pa.RecordBatchReader.from_stream(data)
    except pa.ArrowInvalid as error:
        if "non-struct type" not in str(error):
            raise
        raise _one_array(data) from error


def _one_array(data: Any) -> TypeError:
    return TypeError(f"not understood as data: {_type_name(data)}, one array; {_ACCEPTED}")


def _read_lazy_frame(frame: "polars.LazyFrame") -> pa.RecordBatchReader:
    schema_of_polars = frame.collect_schema()
    _lazily("ensure_polars_types")(schema_of_polars)
    empty = require("polars").DataFrame(schema=schema_of_polars)

    def batches() -> Iterator[pa.RecordBatch]:
        chunks = frame.collect_batches(lazy=True)
        for chunk in chunks:
            yield from pa.RecordBatchReader.from_stream(chunk)

    schema = pa.RecordBatchReader.from_stream(empty).schema
    return pa.RecordBatchReader.from_batches(schema, batches())


def _read_rows(rows: Sequence[Any], cuts_times: bool) -> pa.RecordBatchReader:
    for row in rows:
        if not isinstance(row, dict):
            raise TypeError(f"not understood as a row beside dictionaries: {_type_name(row)}")
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {
        name: _lazily("array_of_values")(str(name), [row.get(name) for row in rows], cuts_times=cuts_times)
        for name in names
    }
    return pa.table(columns).to_reader()


def _truncated(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """The stream with timestamps in microseconds, at any depth: the digits below are cut off."""
    schema = in_microseconds(reader.schema)
    if schema == reader.schema:
        return reader
    return pa.RecordBatchReader.from_batches(schema, (cut_times(batch, schema) for batch in reader))


def _read_spark_frame(frame: Any) -> pa.RecordBatchReader:
    try:
        return pa.RecordBatchReader.from_stream(frame)
    except (AssertionError, AttributeError, TypeError) as error:
        # PySpark 4.2 asserts that there are no time stamps with a zone; earlier ones stream nothing.
        raise TypeError(
            "Spark does not stream this data frame, for it has a timestamp or is of a version before 4.1;"
            " give frame.toArrow(), which collects the rows, or write with frame.write.format('deltaarrow')"
        ) from error


def _read_batches(batches: Iterable[Any]) -> pa.RecordBatchReader:
    stream = (_record_batch(each) for each in batches)
    first = next(stream, None)
    if first is None:
        raise ValueError("an iterable without a record batch has no schema; give a RecordBatchReader")
    return pa.RecordBatchReader.from_batches(first.schema, itertools.chain([first], stream))


def _record_batch(data: Any) -> pa.RecordBatch:
    if isinstance(data, pa.RecordBatch):
        return data
    if hasattr(data, "__arrow_c_array__"):
        return pa.record_batch(data)
    hint = "pyarrow.Table.from_pylist makes a table of a list of dicts; " if isinstance(data, dict) else ""
    raise TypeError(f"not understood as a record batch: {_type_name(data)}; {hint}{_ACCEPTED}")


def _type_name(data: Any) -> str:
    kind = type(data)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
