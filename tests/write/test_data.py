"""Any user data becomes one stream, and nothing is collected."""

import datetime as dt
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

from deltaarrow import DeltaTable, connect, write_deltalake
from deltaarrow.errors import DeltaError, SchemaMismatchError, UnsupportedFeatureError
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


X = pd.DataFrame({"x": [1, 2]})
G = pd.DataFrame({"g": ["a", "b"], "h": [1, 2], "x": [1, 2]})


@pytest.mark.parametrize(
    ("frame", "columns"),
    [
        (X, {"x": [1, 2]}),
        (X.iloc[::-1], {"x": [2, 1]}),
        (X.sort_values("x", ascending=False), {"x": [2, 1]}),
        (pd.concat([X, X]), {"x": [1, 2, 1, 2]}),
        (X.rename_axis("row"), {"x": [1, 2], "row": [0, 1]}),
        (G.groupby("g").sum(numeric_only=True), {"h": [1, 2], "x": [1, 2], "g": ["a", "b"]}),
        (G.set_index(["g", "h"]), {"x": [1, 2], "g": ["a", "b"], "h": [1, 2]}),
        (
            pd.concat([X, X], keys=["a", "b"], names=["k", None]),
            {"x": [1, 2, 1, 2], "k": ["a", "a", "b", "b"]},
        ),
        (X.set_index(pd.Index([5, 6], name=0)), {"x": [1, 2], "0": [5, 6]}),
        (pd.DataFrame({"x": [1]}, index=pd.Index([None], name="n", dtype=object)), {"x": [1], "n": [None]}),
        (X.iloc[:0].set_index(pd.Index([], dtype=object)), {"x": []}),
    ],
)
def test_an_index_of_pandas_with_a_name_is_a_column(frame, columns, tmp_path):
    assert to_reader(frame).read_all().to_pydict() == columns


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (X.set_index(pd.Index(["a", "b"])), r"values of type \w+ and no name.*rename_axis\('name'\)"),
        (X.set_index(pd.to_datetime(["2026-01-01", "2026-01-02"])), r"datetime64.*reset_index\(drop=True\)"),
        (X.describe(), "no name"),
        (pd.concat([X, X], keys=["a", "b"]), "no name"),
        (G.set_index("g", drop=False), "'g' is both a column and an index"),
    ],
)
def test_an_index_of_pandas_that_would_be_lost_is_refused(frame, message, tmp_path):
    with pytest.raises(SchemaMismatchError, match=message):
        write_deltalake(tmp_path / "t", frame)
    assert not (tmp_path / "t").exists()


def test_an_append_and_a_merge_have_the_index(tmp_path):
    sums = G[["g", "x"]].groupby("g").sum()
    write_deltalake(tmp_path, sums)
    write_deltalake(tmp_path, sums.rename(index={"a": "c"}), mode="append")
    merge = DeltaTable(tmp_path).merge(sums * 10, "t.g = s.g", source_alias="s", target_alias="t")
    merge.when_matched_update_all().execute()
    rows = DeltaTable(tmp_path).to_pyarrow_table().sort_by([("g", "ascending"), ("x", "ascending")])
    assert rows.to_pydict() == {"x": [10, 20, 20, 1], "g": ["a", "b", "b", "c"]}


class Thing:
    pass


def _polars(values, dtype):
    return pl.DataFrame({"x": pl.Series(values, dtype=dtype)})


def _extension(name, values):
    """A column with the mark of an extension type, as other libraries hand it out."""
    mark = {"ARROW:extension:name": name, "ARROW:extension:metadata": ""}
    return pa.table([values], schema=pa.schema([pa.field("x", values.type, metadata=mark)]))


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (_extension("geoarrow.wkb", pa.array([b"\1\1"])), (pa.binary(), b"\1\1")),
        (_extension("x.unknown", pa.array([5])), (pa.int64(), 5)),
        (_extension("arrow.uuid", pa.array([b"0" * 16], pa.binary(16))), (pa.binary(), b"0" * 16)),
    ],
)
def test_extension_type_that_nobody_knows_is_its_storage_type(data, wanted, tmp_path):
    """As Arrow's specification says, and as every library shows the column that does not know the type."""
    write_deltalake(tmp_path, data)
    column = DeltaTable(tmp_path).to_pyarrow_table()["x"]
    assert (column.type, column[0].as_py()) == wanted


NAIVE = dt.datetime(2026, 1, 31, 12)
AWARE = NAIVE.replace(tzinfo=dt.timezone(dt.timedelta(hours=9)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (_polars([Thing()], pl.Object), "Polars' Object; it has addresses of Python objects"),
        (_polars([Thing()], pl.Object).lazy(), "Polars' Object"),
        (_polars([1], pl.Int128), r"Polars' Int128; cast it, as by .cast\(pl.Decimal\(38, 0\)\)"),
        (_polars([1], pl.UInt128), "Polars' UInt128"),
        (_polars([[{"a": 1}]], pl.List(pl.Struct({"a": pl.Int128}))).lazy(), "Polars' Int128"),
        (_extension("arrow.bool8", pa.array([1], pa.int8())), "bool8.*; cast the column first"),
        (pd.DataFrame({"x": pd.period_range("2026-01", periods=1, freq="M")}), r"period.*to_timestamp\(\)"),
        (pd.DataFrame({"x": pd.cut([1, 5, 9], 3)}), "category.*two columns"),
        (pd.DataFrame({"x": [1 + 2j]}), "complex128; write .values.real and .values.imag"),
        (pd.DataFrame({"x": np.array([1.1], np.longdouble)}), r"float128.*\.astype\('float64'\)"),
        (pd.DataFrame({"x": pd.arrays.SparseArray([0, 1])}), r"Sparse.*\.sparse\.to_dense\(\)"),
    ],
)
def test_a_type_whose_arrow_form_is_not_its_value_is_refused(data, message, tmp_path):
    with pytest.raises(UnsupportedFeatureError, match=f"column 'x': Delta has no type for .*{message}"):
        write_deltalake(tmp_path / "t", data)
    assert not (tmp_path / "t").exists()
    write_deltalake(tmp_path, pa.table({"x": [1]}))
    with pytest.raises(UnsupportedFeatureError, match=message):
        merge = DeltaTable(tmp_path).merge(data, "t.x = s.x", source_alias="s", target_alias="t")
        merge.when_matched_delete().execute()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([dt.date(2026, 1, 31), NAIVE], "mixes dates and timestamps without a time zone"),
        ([NAIVE, dt.date(2026, 1, 31)], "mixes dates and timestamps without a time zone"),
        ([NAIVE, AWARE], "mixes timestamps with a time zone and timestamps without a time zone"),
        ([AWARE, NAIVE], "mixes timestamps with a time zone and timestamps without a time zone"),
        (["a", b"b"], "mixes bytes and strings"),
        ([["a"], [b"b"]], "column 'x.element' mixes bytes and strings"),
        ([{"k": "a"}, {"k": b"b"}], "column 'x.k' mixes bytes and strings"),
        ([1, "a"], "has no Arrow type that holds all of its values: .*; give the values one type"),
        ([1, True], "has no Arrow type that holds all of its values"),
        ([2**53 + 1, 0.5], "has no Arrow type that holds all of its values"),
        ([2**70], "has no Arrow type that holds all of its values"),
        ([Decimal("1.5"), 2.5], "has no Arrow type that holds all of its values"),
        ([Thing()], "has no Arrow type that holds all of its values"),
    ],
)
@pytest.mark.parametrize(
    "make",
    [
        lambda values: [{"x": each} for each in values],
        lambda v: pd.DataFrame({"x": pd.Series(v, dtype=object)}),
    ],
    ids=["rows", "pandas"],
)
def test_python_values_that_arrow_would_change_are_refused(make, values, message):
    with pytest.raises(SchemaMismatchError, match=message):
        to_reader(make(values))


def test_python_values_that_arrow_keeps_are_written():
    rows = [{"n": 1, "at": AWARE, "d": Decimal("1.5"), "s": None}, {"n": 2.5, "at": None, "d": 2, "s": "x"}]
    found = to_reader(rows).read_all().to_pydict()
    assert found == {"n": [1.0, 2.5], "at": [AWARE, None], "d": [Decimal("1.5"), 2], "s": [None, "x"]}


OF_DUCKDB = [
    ("'101'::BIT", r"DuckDB's BIT; cast it, as by CAST\(x AS VARCHAR\)"),
    ("{a: [MAP {1: '1'::BIT}]}", "DuckDB's BIT"),
    ("340282366920938463463374607431768211455::UHUGEINT", r"UHUGEINT; cast it.*DECIMAL\(38,0\)"),
    ("170141183460469231731687303715884105727::HUGEINT", "HUGEINT of 39 digits"),
    ("[-170141183460469231731687303715884105727::HUGEINT]", "HUGEINT of 39 digits"),
    ("'infinity'::TIMESTAMP", "has the value infinity"),
    ("'-infinity'::TIMESTAMPTZ", "has the value infinity"),
    ("{a: 'infinity'::DATE}", "has the value infinity"),
    ("MAP {'k': 'infinity'::DATE}", "has the value infinity"),
]


@pytest.mark.parametrize(("value", "message"), OF_DUCKDB)
def test_values_that_only_duckdb_has_are_refused(value, message, tmp_path):
    query = f"SELECT {value} AS x, 1 AS id"
    target = tmp_path / "t"
    with duckdb.connect() as connection, pytest.raises(DeltaError, match=f"column 'x'.*{message}"):
        write_deltalake(target, connection.sql(query))
    with pytest.raises(DeltaError, match=f"column 'x'.*{message}"):
        connect().sql(f"COPY ({query}) TO '{target}' (FORMAT delta)")
    with pytest.raises(DeltaError, match=f"column 'x'.*{message}"):
        connect().sql(f'CREATE TABLE delta."{target}" AS {query}')
    assert not DeltaTable.is_deltatable(target)


def test_the_largest_values_of_duckdb_that_delta_has_are_written(tmp_path):
    query = f"SELECT {10**38 - 1}::HUGEINT AS h, '9999-12-31'::DATE AS d, NULL::TIMESTAMP AS t, uuid() AS u"
    with duckdb.connect() as connection:
        write_deltalake(tmp_path, connection.sql(query))
    [row] = DeltaTable(tmp_path).to_pyarrow_table().to_pylist()
    assert (row["h"], row["d"], row["t"], len(row["u"])) == (10**38 - 1, dt.date(9999, 12, 31), None, 36)
