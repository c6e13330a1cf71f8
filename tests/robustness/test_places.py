"""Names in a log that lead to folders, pipes, loops or exceed a file system's limits: no file, no hang."""

import os

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable
from deltaarrow.deletion_vectors import DeletionVectorDescriptor, read_deletion_vector
from deltaarrow.errors import CorruptDeletionVectorError, DeltaError
from deltaarrow.storage import open_store
from tests.support.engines import ENGINES, open_snapshot
from tests.support.tables import TableBuilder


@pytest.fixture
def folder(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    "name", ["pipe", "loop", "folder", "x" * 5000, "folder/" * 1000, "/dev/zero", "pipe/x"]
)
def test_what_is_no_file_is_absent(folder, name):
    store = open_store(folder)
    for ask in (store.read, store.size, lambda n: store.read_range(n, 0, 1)):
        with pytest.raises(FileNotFoundError):
            ask(name)
    assert not store.exists(name)


def test_listing_passes_over_what_is_no_file(folder):
    assert open_store(folder).list_from("") == []


def test_a_range_beyond_the_end_takes_no_memory(folder):
    (folder / "file").write_bytes(b"0123456789")
    store = open_store(folder)
    assert store.read_range("file", 4, 1 << 62) == b"456789"
    assert store.read_range("file", 1 << 62, 1 << 62) == b""
    assert store.read_range("file", 1 << 100, 1) == b""


@pytest.mark.parametrize("path", ["pipe", "folder", "/dev/zero", "x" * 5000])
def test_a_deletion_vector_there_is_refused(folder, path):
    descriptor = DeletionVectorDescriptor("p", path, 1, 2**31 - 1, 1)
    with pytest.raises(CorruptDeletionVectorError):
        read_deletion_vector(open_store(folder), descriptor)


def test_a_log_of_folders_and_loops_is_no_table(tmp_path):
    log = tmp_path / "_delta_log"
    (log / f"{0:020d}.json").mkdir(parents=True)
    (log / f"{1:020d}.json").symlink_to(f"{1:020d}.json")
    with pytest.raises(DeltaError):
        DeltaTable(tmp_path)


def test_a_deletion_vector_of_a_file_that_claims_any_number_of_rows_takes_no_memory(tmp_path):
    builder = TableBuilder(tmp_path).features("deletionVectors").metadata(pa.schema([("id", pa.int64())]))
    add = builder.add_file(pa.table({"id": [1, 2, 3]}), stats=f'{{"numRecords": {2**62}}}')
    builder.commit([add])
    builder.commit(builder.with_deletion_vector(add, builder.deletion_vector([1])))
    snapshot = open_snapshot(tmp_path)
    for name, read in ENGINES.items():
        assert read(snapshot, None, None).column("id").to_pylist() == [1, 3], name
