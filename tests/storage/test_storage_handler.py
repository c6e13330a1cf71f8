"""`DeltaStorageHandler` as a file system of pyarrow, on a local folder and on fsspec's memory."""

import pickle

import fsspec
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as fs
import pyarrow.parquet as pq
import pytest

import deltaarrow as da
from deltaarrow.fs import DeltaStorageHandler

ROWS = pa.table({"id": [1, 2, 3], "day": ["a", "a", "b"]})


@pytest.fixture(params=["local", "memory"])
def handler(request, tmp_path):
    if request.param == "local":
        yield DeltaStorageHandler(str(tmp_path))
    else:
        fsspec.filesystem("memory").mkdirs("/handled", exist_ok=True)
        yield DeltaStorageHandler("memory://handled")
        fsspec.filesystem("memory").rm("/handled", recursive=True)


def test_datasets_are_written_and_read(handler):
    files = fs.PyFileSystem(handler)
    partitioning = ds.partitioning(pa.schema([("day", pa.string())]), flavor="hive")
    ds.write_dataset(ROWS, "/", format="parquet", filesystem=files, partitioning=partitioning)
    found = ds.dataset("/", format="parquet", filesystem=files, partitioning=partitioning).to_table()
    assert found.select(["id", "day"]).sort_by("id") == ROWS


def test_paths_are_told_as_they_are_given(handler):
    files = fs.PyFileSystem(handler)
    pq.write_table(ROWS, "a/b/rows.parquet", filesystem=files)
    missing, folder, file = files.get_file_info(["none", "a/b", "a/b/rows.parquet"])
    assert [each.type for each in (missing, folder, file)] == [
        fs.FileType.NotFound,
        fs.FileType.Directory,
        fs.FileType.File,
    ]
    assert file.path == "a/b/rows.parquet" and file.size > 0
    (found,) = files.get_file_info(fs.FileSelector("a/b"))
    assert found.path == "a/b/rows.parquet"


def test_files_are_moved_copied_and_deleted(handler):
    files = fs.PyFileSystem(handler)
    with files.open_output_stream("x/a.txt") as stream:
        stream.write(b"text")
    files.copy_file("x/a.txt", "x/b.txt")
    files.move("x/b.txt", "x/c.txt")
    assert files.open_input_file("x/c.txt").read() == b"text"
    files.delete_file("x/c.txt")
    files.delete_dir("x")
    files.delete_dir("x")
    assert files.get_file_info("x/a.txt").type == fs.FileType.NotFound


def test_known_sizes_are_told(tmp_path):
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    files = fs.PyFileSystem(DeltaStorageHandler(str(tmp_path), known_sizes={"rows.parquet": 123_456}))
    assert files.open_input_file("rows.parquet").size() == 123_456
    assert files.get_file_info("rows.parquet").size == 123_456


def test_a_handler_is_pickled_and_compared(tmp_path):
    handler = DeltaStorageHandler(str(tmp_path), known_sizes={"a": 1})
    assert pickle.loads(pickle.dumps(handler)) == handler
    assert handler != DeltaStorageHandler(str(tmp_path))


def test_a_handler_shows_the_files_of_a_table(tmp_path):
    da.write_deltalake(tmp_path, ROWS)
    files = fs.PyFileSystem(DeltaStorageHandler.from_table(da.DeltaTable(tmp_path)))
    names = [each.base_name for each in files.get_file_info(fs.FileSelector("_delta_log"))]
    assert "00000000000000000000.json" in names


def test_a_file_cannot_be_appended_to(handler):
    with pytest.raises(NotImplementedError, match="new file"):
        handler.open_append_stream("a")


def test_a_stream_gathers_as_many_bytes_as_it_is_told(tmp_path):
    handler = DeltaStorageHandler(str(tmp_path), {"max_buffer_size": str(6 << 20)})
    with handler.open_output_stream("large") as stream:
        stream.write(b"x" * (1 << 20))
        assert (tmp_path / "large").stat().st_size == 0
    assert (tmp_path / "large").stat().st_size == 1 << 20
    with pytest.warns(UserWarning, match="max_buffer_size is 1024 bytes"):
        DeltaStorageHandler(str(tmp_path), {"max_buffer_size": "1024"}).open_output_stream("small").close()
    with pytest.raises(ValueError, match="max_buffer_size"):
        DeltaStorageHandler(str(tmp_path), {"max_buffer_size": "much"})
