import pyarrow as pa
import pytest

from tests.support.tables import TableBuilder

ROWS = pa.table(
    {"id": pa.array([1, 2, None], pa.int64()), "s": ["a" * 100, None, "b"], "x": [1.5, 2.5, None]}
)


@pytest.mark.parametrize("pages", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "lz4", "zstd"])
def test_files_of_every_codec_and_page_version_are_read(tmp_path, engine, codec, pages):
    table = TableBuilder(tmp_path).protocol().metadata(ROWS.schema)
    options = {"compression": codec, "data_page_version": pages}
    table.commit([table.add_file(ROWS, parquet=options)])
    assert sorted(engine(tmp_path), key=repr) == sorted(ROWS.to_pylist(), key=repr)
