"""A file whose row groups several threads encode: the same file, but for the places in its footer."""

import datetime
import decimal
import io
import threading

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import DeltaTable, WriterProperties, write_deltalake
from deltaarrow.columnar.parquet_footers import read_footer
from deltaarrow.columnar.parquet_joining import MAGIC, RowGroupFile, joined_footer
from deltaarrow.schema import Schema
from deltaarrow.storage import open_store
from deltaarrow.write import WritePlan, write_files
from deltaarrow.write.parallel_encoding import ParallelWriter
from tests.support.examples import examples

VALUES = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.string(): st.text(max_size=20),
    pa.float64(): st.floats(allow_nan=False),
    pa.decimal128(20, 2): st.decimals(-(10**17), 10**17, places=2),
    pa.date32(): st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)),
    pa.bool_(): st.booleans(),
    pa.list_(pa.int32()): st.lists(st.none() | st.integers(-5, 5), max_size=3),
    pa.struct([("x", pa.binary()), ("y", pa.int8())]): st.fixed_dictionaries(
        {"x": st.none() | st.binary(max_size=5), "y": st.integers(-128, 127)}
    ),
}


@st.composite
def row_groups(draw):
    """Tables of one schema, each with a row at least."""
    types = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=4))
    schema = pa.schema([(f"c{number}", each) for number, each in enumerate(types)])
    groups = []
    for rows in draw(st.lists(st.integers(1, 8), min_size=1, max_size=20)):
        columns = [draw(st.lists(st.none() | VALUES[each], min_size=rows, max_size=rows)) for each in types]
        arrays = [pa.array(values, of_type) for values, of_type in zip(columns, types, strict=True)]
        groups.append(pa.Table.from_arrays(arrays, schema=schema))
    return groups


class Output(io.BytesIO):
    """Takes the bytes of a file."""


def encoded(groups, threads=3, **options):
    output = Output()
    writer = ParallelWriter(output, groups[0].schema, {"store_schema": False, **options}, threads)
    for each in groups:
        writer.write_table(each)
    footer = writer.close()
    return output.getvalue(), footer


def alone(groups, **options):
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, groups[0].schema, store_schema=False, **options) as writer:
        for each in groups:
            writer.write_table(each, row_group_size=each.num_rows)
    return sink.getvalue()


@settings(deadline=None, max_examples=examples(20))
@given(row_groups())
def test_the_file_is_that_of_one_thread(groups):
    data, footer = encoded(groups)
    assert data == alone(groups)
    assert footer == pq.read_metadata(io.BytesIO(data))


def test_all_readers_find_the_rows(tmp_path):
    groups = [
        pa.table(
            {
                "id": range(number * 5000, number * 5000 + 5000),
                "text": [f"{id % 11}" for id in range(5000)],
                "price": [decimal.Decimal(id) / 4 for id in range(5000)],
            }
        )
        for number in range(40)
    ]
    data, _ = encoded(groups, write_batch_size=100)
    file = tmp_path / "f.parquet"
    file.write_bytes(data)
    wanted = pa.concat_tables(groups)
    assert pq.read_table(file).equals(wanted.cast(pq.read_schema(file)))
    ids = wanted.column("id").to_pylist()
    condition = "id BETWEEN 77000 AND 78000"
    found = duckdb.sql(f"SELECT id FROM '{file}' WHERE {condition} ORDER BY id").fetchall()
    assert [id for (id,) in found] == ids[77000:78001]
    assert pl.scan_parquet(file).select(pl.col("id").sum()).collect().item() == sum(ids)
    with pa.OSFile(str(file)) as opened:
        assert [group.num_rows for group in read_footer(opened).row_groups] == [5000] * 40


def test_a_file_of_several_row_groups_is_refused():
    data = alone([pa.table({"a": [1]}), pa.table({"a": [2]})])
    with pytest.raises(ValueError, match="2 row groups"):
        joined_footer([RowGroupFile(memoryview(data)).footer], [0])


def written(path, threads, rows, properties=None):
    plan = WritePlan(
        store=open_store(path),
        schema=Schema.from_arrow(rows.schema),
        properties=properties or WriterProperties(max_row_group_size=1000),
        target_file_size=1 << 40,
        fewest_files=True,
    )
    return write_files(plan, rows.to_reader(), threads=1, threads_of_file=threads)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_statistics_and_sizes_are_the_same(tmp_path, threads):
    rows = pa.table({"id": range(20_000), "text": [str(id) for id in range(20_000)], "no": [None] * 20_000})
    rows = rows.cast(pa.schema([("id", pa.int64()), ("text", pa.string()), ("no", pa.int32())]))
    (one,) = written(tmp_path / "one", 1, rows)
    (many,) = written(tmp_path / "many", threads, rows)
    assert (many.stats, many.size) == (one.stats, one.size)
    assert (tmp_path / "many" / many.path).read_bytes() == (tmp_path / "one" / one.path).read_bytes()


def test_an_optimised_write_uses_it(tmp_path, monkeypatch):
    names = set()
    encode = ParallelWriter._encode

    def noted(self, rows):
        names.add(threading.current_thread().name)
        return encode(self, rows)

    monkeypatch.setattr(ParallelWriter, "_encode", noted)
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    rows = pa.table({"id": range(30_000)})
    properties = WriterProperties(max_row_group_size=1000)
    write_deltalake(tmp_path, rows, options={"optimizeWrite": "true"}, writer_properties=properties)
    table = DeltaTable(tmp_path)
    assert len(table.file_uris()) == 1
    assert table.to_pyarrow_table().equals(rows)
    assert len(names) > 1


def test_a_row_group_that_cannot_be_encoded_leaves_nothing(tmp_path, monkeypatch):
    encode, numbers = ParallelWriter._encode, iter(range(100))

    def failing(self, rows):
        if next(numbers) == 5:
            raise pa.ArrowInvalid("no")
        return encode(self, rows)

    monkeypatch.setattr(ParallelWriter, "_encode", failing)
    with pytest.raises(pa.ArrowInvalid, match="no"):
        written(tmp_path, 3, pa.table({"id": range(20_000)}))
    assert list(tmp_path.iterdir()) == []
    assert not [each for each in threading.enumerate() if each.name.startswith("deltaarrow-encode")]


def test_the_first_bytes_are_those_of_parquet():
    assert encoded([pa.table({"a": [1]})])[0].startswith(MAGIC)
