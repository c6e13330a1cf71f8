"""Writer properties have deltalake's names and reach the files."""

import inspect
import json
import pickle
from dataclasses import replace

import deltalake
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow.errors import InvalidTablePropertyError
from deltaarrow.schema import Schema
from deltaarrow.storage import open_store
from deltaarrow.write import BloomFilterProperties, ColumnProperties, WritePlan, WriterProperties, write_files


@pytest.mark.parametrize("kind", [WriterProperties, ColumnProperties, BloomFilterProperties])
def test_arguments_are_those_of_deltalake(kind):
    theirs = inspect.signature(getattr(deltalake, kind.__name__)).parameters
    assert list(inspect.signature(kind).parameters) == list(theirs)


def write(tmp_path, properties, configuration=None, table=None):
    table = pa.table({"a": [1, 2], "s": [{"x": "q"}, None], "l": [[1], None]}) if table is None else table
    plan = WritePlan(
        store=open_store(tmp_path),
        schema=Schema.from_arrow(table.schema),
        properties=properties,
        configuration=configuration or {},
    )
    (add,) = write_files(plan, table.to_reader())
    return add, pq.read_metadata(tmp_path / add.path)


@pytest.mark.parametrize(
    ("compression", "suffix", "codec"),
    [
        (None, ".snappy.parquet", "SNAPPY"),
        ("UNCOMPRESSED", ".parquet", "UNCOMPRESSED"),
        ("GZIP", ".gz.parquet", "GZIP"),
        ("ZSTD", ".zstd.parquet", "ZSTD"),
        ("BROTLI", ".br.parquet", "BROTLI"),
        ("LZ4_RAW", ".lz4raw.parquet", "LZ4_RAW"),
    ],
)
def test_codecs(tmp_path, compression, suffix, codec):
    add, footer = write(tmp_path, WriterProperties(compression=compression))
    assert add.path.endswith(f"-c000{suffix}")
    # pyarrow has one name for both of Parquet's LZ4 codecs.
    assert footer.row_group(0).column(0).compression in (codec, codec.removesuffix("_RAW"))


def test_the_table_says_the_codec_where_the_caller_does_not(tmp_path):
    key = "delta.parquet.compression.codec"
    assert write(tmp_path, WriterProperties(), {key: "zstd"})[1].row_group(0).column(0).compression == "ZSTD"
    snappy = WriterProperties(compression="SNAPPY")
    assert write(tmp_path, snappy, {key: "zstd"})[1].row_group(0).column(0).compression == "SNAPPY"
    with pytest.raises(InvalidTablePropertyError, match=key):
        write(tmp_path, WriterProperties(), {key: "middle-out"})


def test_columns_differ(tmp_path):
    properties = WriterProperties(
        default_column_properties=ColumnProperties(dictionary_enabled=False),
        column_properties={
            "a": ColumnProperties(encoding="DELTA_BINARY_PACKED"),
            "s.x": ColumnProperties(dictionary_enabled=True, statistics_enabled="NONE"),
            "l": ColumnProperties(bloom_filter_properties=BloomFilterProperties(True, fpp=0.01, ndv=10)),
        },
    )
    add, footer = write(tmp_path, properties)
    a, x, items = (footer.row_group(0).column(index) for index in range(3))
    assert "DELTA_BINARY_PACKED" in a.encodings
    assert (x.has_dictionary_page, x.statistics) == (True, None)
    assert not items.has_dictionary_page
    found = duckdb.sql(f"FROM parquet_metadata('{tmp_path / add.path}') WHERE bloom_filter_offset > 0")
    assert found.project("path_in_schema").fetchall() == [("l, list, element",)]
    assert '"minValues":{"a":1,"s":{}}' in add.stats


def test_rows_in_a_row_group(tmp_path):
    _, footer = write(tmp_path, WriterProperties(max_row_group_size=3), table=pa.table({"a": range(10)}))
    assert [footer.row_group(index).num_rows for index in range(footer.num_row_groups)] == [3, 3, 3, 1]


@pytest.mark.parametrize(
    "arguments",
    [
        {"compression": "middle-out"},
        {"compression_level": 3},
        {"compression": "GZIP", "compression_level": -1},
        {"compression": "ZSTD", "compression_level": 0},
        {"compression": "GZIP(99)"},
        {"statistics_truncate_length": 0},
        {"compression": "GZIP", "compression_level": 10},
        {"compression": "ZSTD", "compression_level": 23},
        {"compression": "BROTLI", "compression_level": -1},
        {"compression": "SNAPPY", "compression_level": 1},
        {"compression": "UNCOMPRESSED", "compression_level": 1},
        {"max_row_group_size": 0},
    ],
)
def test_nonsense_is_refused(arguments):
    with pytest.raises(ValueError):
        WriterProperties(**arguments)
    with pytest.raises(ValueError):
        BloomFilterProperties(True, fpp=1.0)
    with pytest.raises(ValueError):
        ColumnProperties(dictionary_enabled=True, encoding="PLAIN")
    with pytest.raises(ValueError):
        ColumnProperties(statistics_enabled="SOME")


def test_bounds_of_texts_in_the_log_are_cut(tmp_path):
    texts = pa.table({"a": ["delta lake", "delta river"]})
    add, _ = write(tmp_path, WriterProperties(statistics_truncate_length=8), table=texts)
    stats = json.loads(add.stats)
    assert stats["minValues"] == {"a": "delta la"}
    assert stats["maxValues"]["a"].startswith("delta ri")
    assert len(stats["maxValues"]["a"]) == 9


@pytest.mark.parametrize(
    ("arguments", "text", "level"),
    [
        ({"compression": "snappy"}, "SNAPPY", None),
        ({"compression": "GZIP"}, "GZIP(6)", 6),
        ({"compression": "brotli"}, "BROTLI(1)", 1),
        ({"compression": "ZSTD", "compression_level": -5}, "ZSTD(-5)", -5),
        ({"compression": "ZSTD(7)"}, "ZSTD(7)", 7),
        ({}, None, None),
    ],
)
def test_the_codec_has_its_level_as_in_deltalake(tmp_path, arguments, text, level):
    found = WriterProperties(**arguments)
    assert (found.compression, found.compression_level) == (text, level)
    codec = text.partition("(")[0] if text else "SNAPPY"
    assert write(tmp_path, found)[1].row_group(0).column(0).compression == codec


def test_properties_can_be_assigned_copied_and_printed(tmp_path):
    found = WriterProperties(column_properties={"a": ColumnProperties(encoding="PLAIN")})
    found.compression = "gzip"
    assert replace(found, column_properties={}) == WriterProperties(compression="GZIP", compression_level=6)
    assert pickle.loads(pickle.dumps(found)) == found
    assert write(tmp_path, found)[1].row_group(0).column(0).compression == "GZIP"
    assert "compression: GZIP(6)" in str(found)
    assert "column 'a': dictionary_enabled: None" in str(found)
    with pytest.raises(ValueError, match="middle-out"):
        found.compression = "middle-out"
