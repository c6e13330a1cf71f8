"""Data files that a file system of the caller reads, whose root is the folder of the table."""

import pickle
import shutil

import fsspec
import pyarrow as pa
import pyarrow.fs
import pytest
from fsspec.implementations.dirfs import DirFileSystem

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import DeltaError, StorageError


@pytest.fixture
def moved(tmp_path):
    """A table whose data files are elsewhere: two files, one of them with a deletion vector."""
    path, elsewhere = tmp_path / "table", tmp_path / "elsewhere"
    properties = {"delta.enableDeletionVectors": "true"}
    data = pa.table({"id": [1, 2, 3], "part": ["a", "a", "b c"]})
    write_deltalake(path, data, partition_by=["part"], configuration=properties)
    DeltaTable(path).delete("id = 2")
    shutil.copytree(path, elsewhere, ignore=shutil.ignore_patterns("_delta_log"))
    for each in (each for each in path.iterdir() if each.name != "_delta_log"):
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    return path, elsewhere


def _filesystems(folder):
    return {
        "pyarrow": pyarrow.fs.SubTreeFileSystem(str(folder), pyarrow.fs.LocalFileSystem()),
        "fsspec": DirFileSystem(str(folder), fsspec.filesystem("file")),
    }


@pytest.mark.parametrize("library", ["pyarrow", "fsspec"])
def test_data_files_and_deletion_vectors_are_read_by_the_given_file_system(moved, library):
    path, elsewhere = moved
    filesystem = _filesystems(elsewhere)[library]
    table = DeltaTable(path)
    wanted = [{"id": 1, "part": "a"}, {"id": 3, "part": "b c"}]
    assert sorted(table.to_pyarrow_table(filesystem=filesystem).to_pylist(), key=str) == wanted
    assert table.to_pyarrow_table(filesystem=filesystem, filters="id > 1").to_pylist() == wanted[1:]
    assert sorted(table.to_pandas(filesystem=filesystem)["id"]) == [1, 3]
    dataset = table.to_pyarrow_dataset(filesystem=filesystem)
    assert dataset.count_rows() == 2
    assert sorted(pickle.loads(pickle.dumps(dataset)).to_table()["id"].to_pylist()) == [1, 3]
    with pytest.raises(DeltaError):
        table.to_pyarrow_table()


def test_a_file_outside_of_the_table_is_refused(tmp_path):
    source = tmp_path / "source"
    write_deltalake(source, pa.table({"id": [1]}))
    DeltaTable(source).clone(tmp_path / "clone")
    filesystem = _filesystems(tmp_path / "clone")["pyarrow"]
    with pytest.raises(StorageError, match="outside of the table"):
        DeltaTable(tmp_path / "clone").to_pyarrow_table(filesystem=filesystem)


def test_what_is_no_file_system_is_refused(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": [1]}))
    with pytest.raises(TypeError, match="filesystem is one of pyarrow or fsspec, not str"):
        DeltaTable(tmp_path).to_pyarrow_table(filesystem=str(tmp_path))
