"""Any user data becomes one stream, and nothing is collected."""

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.write import to_reader

TABLE = pa.table({"id": [1, 2, 3], "name": ["a", None, "c"]})


class Stream:
    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)


class Array:
    def __arrow_c_array__(self, requested_schema=None):
        return TABLE.to_batches()[0].__arrow_c_array__(requested_schema)


SOURCES = {
    "table": lambda: TABLE,
    "batch": lambda: TABLE.to_batches()[0],
    "reader": lambda: TABLE.to_reader(),
    "dataset": lambda: pads.dataset(TABLE),
    "scanner": lambda: pads.dataset(TABLE).scanner(),
    "stream": Stream,
    "array": Array,
    "list of batches": lambda: TABLE.to_batches(),
    "generator of batches": lambda: iter(TABLE.to_batches()),
    "list of arrays": lambda: [Array()],
    "polars frame": lambda: pl.from_arrow(TABLE),
    "polars lazy frame": lambda: pl.from_arrow(TABLE).lazy(),
    "pandas frame": lambda: pd.DataFrame({"id": [1, 2, 3], "name": ["a", None, "c"]}, index=[7, 8, 9]),
    "duckdb relation": lambda: duckdb.connect().from_arrow(TABLE),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_every_source(source):
    reader = to_reader(source())
    assert isinstance(reader, pa.RecordBatchReader)
    found = reader.read_all()
    assert found.column_names == ["id", "name"]
    assert found.to_pydict() == TABLE.to_pydict()


def test_a_lazy_frame_without_rows_has_its_schema():
    reader = to_reader(pl.LazyFrame({"a": [1], "b": ["x"]}).filter(pl.col("a") > 1))
    assert reader.schema.names == ["a", "b"]
    assert reader.read_all().num_rows == 0


def test_a_lazy_frame_runs_while_the_stream_is_read():
    seen = []

    def note(frame):
        seen.append(frame.height)
        return frame

    frame = pl.LazyFrame({"a": range(10)}).map_batches(note, streamable=True)
    reader = to_reader(frame)
    assert seen == []
    assert reader.read_all().num_rows == 10
    assert sum(seen) == 10


def test_an_error_inside_a_lazy_frame_is_raised():
    frame = pl.LazyFrame({"a": ["x"]}).select(pl.col("a").cast(pl.Int64))
    with pytest.raises(Exception, match="conversion"):
        to_reader(frame).read_all()


def test_a_dataset_is_read_through_its_own_scanner():
    class Masked(pads.InMemoryDataset):
        def scanner(self, **options):
            return pads.Scanner.from_batches(TABLE.slice(1).to_batches(), schema=TABLE.schema)

    assert to_reader(Masked(TABLE)).read_all().num_rows == 2


@pytest.mark.parametrize(
    ("data", "name"), [(3, "int"), ("text", "str"), ({"a": [1]}, "dict"), (None, "NoneType")]
)
def test_what_is_not_understood_is_named(data, name):
    with pytest.raises(TypeError, match=f"not understood as data: {name};"):
        to_reader(data)


def test_a_list_of_other_things_names_them():
    with pytest.raises(TypeError, match="not understood as a record batch: int"):
        to_reader([1, 2])


def test_no_batch_no_schema():
    with pytest.raises(ValueError, match="no schema"):
        to_reader([])


def test_batches_of_different_schemas():
    other = pa.RecordBatch.from_pydict({"other": [1]})
    with pytest.raises((pa.ArrowInvalid, TypeError, ValueError)):
        to_reader([*TABLE.to_batches(), other]).read_all()


def test_rows_as_dictionaries():
    found = to_reader([{"a": 1}, {"b": "x", "a": None}, {}]).read_all()
    assert found.to_pydict() == {"a": [1, None, None], "b": [None, "x", None]}
    with pytest.raises(TypeError, match="beside dictionaries: int"):
        to_reader([{"a": 1}, 2])


NANOSECONDS = pa.timestamp("ns", "UTC")
ENCODED = pa.array([1_999, None], NANOSECONDS)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (ENCODED, [1, None]),
        # Times before 1970 are cut down too, as in Spark.
        (pa.array([-1, -1_000, -1_001, -(2**63)], NANOSECONDS), [-1, -1, -2, -9_223_372_036_854_776]),
        (ENCODED.dictionary_encode(), [1, None]),
        (pc.run_end_encode(ENCODED), [1, None]),
        (pa.array([{"x": 1_999}, None], pa.struct([("x", NANOSECONDS)])), [{"x": 1}, None]),
        (pa.array([[1_999], []], pa.list_(NANOSECONDS)), [[1], []]),
        (pa.array([[1_999]], pa.list_(NANOSECONDS, 1)), [[1]]),
        (pa.array([[1_999]], pa.list_view(NANOSECONDS)), [[1]]),
        (pa.array([[[1_999]]], pa.large_list(pa.list_(NANOSECONDS))), [[[1]]]),
        (pa.array([[("k", 1_999)]], pa.map_(pa.string(), NANOSECONDS)), [[("k", 1)]]),
        (pa.array([1], pa.timestamp("ms")), [1]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_nanoseconds_are_cut_at_any_depth(given, wanted):
    found = to_reader(pa.table({"at": given}), cuts_times=True).read_all()["at"].combine_chunks()
    assert "ns" not in str(found.type)
    assert found.equals(pa.array(wanted, found.type))


def test_a_time_of_pandas_does_not_lose_digits_in_silence(tmp_path):
    rows = [{"at": pd.Timestamp(1_999, tz="UTC")}, {"at": pd.NaT}]
    with pytest.raises(SchemaMismatchError, match=r"column 'at'.*allow_truncation=True"):
        write_deltalake(tmp_path, rows)
    with pytest.raises(SchemaMismatchError, match="column 'at'"):
        write_deltalake(tmp_path, [{"at": [{"x": pd.Timestamp(1_999)}]}])
    with pytest.raises(SchemaMismatchError, match="column 'at'"):
        write_deltalake(tmp_path, pd.DataFrame(rows, dtype=object))
    write_deltalake(tmp_path, rows[:1], allow_truncation=True)
    assert DeltaTable(tmp_path).to_pyarrow_table()["at"].cast("int64").to_pylist() == [1]


def test_nanoseconds_are_an_error_unless_they_may_be_cut(tmp_path):
    rows = pa.table({"at": pa.array([1_999], NANOSECONDS)})
    with pytest.raises(SchemaMismatchError, match="allow_truncation=True"):
        write_deltalake(tmp_path, rows)
    write_deltalake(tmp_path, rows, allow_truncation=True)
    found = DeltaTable(tmp_path).to_pyarrow_table()["at"]
    assert found.cast("int64").to_pylist() == [1]


@pytest.mark.parametrize(
    ("data_type", "remedy"),
    [
        (pa.time64("us"), ".cast('string'), or to a count by .cast('int64')"),
        (pa.time32("s"), ".cast('string'), or to a count by .cast('int32')"),
        (pa.duration("ms"), ".cast('int64') to a count of ms"),
    ],
)
def test_times_that_delta_lacks_name_the_cast(tmp_path, data_type, remedy):
    rows = pa.table({"t": pa.array([1], data_type)})
    with pytest.raises(UnsupportedFeatureError) as refusal:
        write_deltalake(tmp_path, rows)
    assert remedy in str(refusal.value)
    column = rows["t"]
    for cast in [each for each in ("string", "int32", "int64") if f".cast('{each}')" in remedy]:
        write_deltalake(
            tmp_path, pa.table({"t": column.cast(cast)}), mode="overwrite", schema_mode="overwrite"
        )
