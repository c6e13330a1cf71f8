"""Footers read one after the other say what pyarrow says of sound files; damaged ones are refused."""

import io
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow import convert_to_deltalake
from deltaarrow.columnar.parquet_footers import FooterParser, footer_length
from tests.operations.convert.test_converting import put

COLUMNS = {
    "i": pa.int64(),
    "d": pa.date32(),
    "s": pa.string(),
    "f": pa.float64(),
    "b": pa.bool_(),
    "n": pa.decimal128(30, 3),
    "l": pa.list_(pa.int32()),
    "st": pa.struct([("x", pa.int16()), ("y", pa.string())]),
}


def random_table(source):
    rows = source.randrange(0, 30)

    def value(name):
        if source.random() < 0.2:
            return None
        number = source.randrange(-1000, 1000)
        if name == "st":
            return {"x": number, "y": value("s")}
        if name == "l":
            return [number] * source.randrange(3)
        texts = {"s": "é" * source.randrange(200), "b": number > 0, "f": number / 7}
        return texts.get(name, number)

    arrays = [pa.array([value(name) for _ in range(rows)], COLUMNS[name]) for name in COLUMNS]
    return pa.Table.from_arrays(arrays, names=list(COLUMNS))


def written(source):
    sink = io.BytesIO()
    pq.write_table(
        random_table(source),
        sink,
        row_group_size=source.choice((5, 100)),
        use_dictionary=source.random() < 0.5,
        data_page_size=source.choice((50, 1 << 20)),
        write_statistics=source.random() < 0.9,
        write_page_index=source.random() < 0.3,
        compression=source.choice(("snappy", "none")),
    )
    return sink.getvalue()


def footer(data):
    length = footer_length(data[-16:], len(data))
    return data[-8 - length : -8], len(data) - 8 - length


def test_a_parser_says_what_pyarrow_says():
    source, parser = random.Random(7), FooterParser()
    for _ in range(60):
        data = written(source)
        found, theirs = parser.parse(*footer(data)), pq.read_metadata(io.BytesIO(data))
        assert found.num_rows == theirs.num_rows
        assert found.arrow_schema().equals(pq.read_schema(io.BytesIO(data)).remove_metadata())
        for number, (rows, chunks) in enumerate(found.row_groups):
            group = theirs.row_group(number)
            assert rows == group.num_rows
            for column, chunk in enumerate(chunks):
                statistics = group.column(column).statistics
                assert chunk.num_values == group.column(column).num_values
                if statistics is None:
                    assert chunk[1:4] == (None, None, None)
                    continue
                assert chunk.null_count == statistics.null_count
                assert (chunk.low is not None) == statistics.has_min_max
                if statistics.has_min_max and statistics.physical_type == "INT64":
                    assert int.from_bytes(chunk.low, "little", signed=True) == statistics.min_raw
                elif statistics.has_min_max and statistics.physical_type == "BYTE_ARRAY":
                    assert (chunk.low, chunk.high) == (statistics.min_raw, statistics.max_raw)


def parsed(parser, data, end):
    try:
        return parser.parse(data, end)
    except ValueError as error:
        return str(error)


def test_what_a_parser_remembers_changes_nothing():
    source, used = random.Random(11), FooterParser()
    refused = 0
    for _ in range(300):
        data, end = footer(written(source))
        if source.random() < 0.8:
            damaged = bytearray(data)
            for _ in range(source.choice((1, 1, 5))):
                damaged[source.randrange(len(damaged))] = source.randrange(256)
            if source.random() < 0.3:
                del damaged[source.randrange(len(damaged)) :]
            data = bytes(damaged)
        found = parsed(used, data, end)
        assert found == parsed(FooterParser(), data, end)
        refused += isinstance(found, str)
    assert 100 < refused < 250


def test_a_schema_is_not_that_of_the_file_before():
    parser = FooterParser()
    parser.parse(*footer(written(random.Random(1))))
    # A footer of version 2 without a schema and rows.
    with pytest.raises(ValueError, match="structure of Parquet"):
        parser.parse(b"\x15\x04\x26\x00\x19\x0c\x00", 4)


def test_a_long_footer_is_read_whole(tmp_path):
    columns = {f"{'c' * 60}{number}": [number] for number in range(400)}
    path = put(tmp_path, "a.parquet", columns)
    assert path.stat().st_size > 1 << 16
    assert convert_to_deltalake(tmp_path).num_rows == 1
