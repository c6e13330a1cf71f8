import json

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import StorageError
from deltaarrow.log.last_checkpoint import Hint, checksum, read_hint, write_hint
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import LocalStore, open_store


def test_checksum_of_the_protocol():
    hint = {
        "k0": "'v 0'",
        "checksum": "adsaskfljadfkjadfkj",
        "k1": {"k2": 2, "k3": ["v3", [1, 2], {"k4": "v4", "k5": ["v5", "v6", "v7"]}]},
    }
    assert checksum(hint) == "6a92d155a59bf2eecbd4b4ec7fd1f875"


def test_checksum_is_sorted_by_path_and_not_by_line():
    eleven = {"a": list(range(11))}
    reordered = {"a": {str(i): i for i in range(11)}}
    assert checksum(eleven) != checksum(reordered)  # names are quoted, positions are not
    assert checksum({"b": 1, "a": 2}) == checksum({"a": 2, "b": 1})


def test_a_written_hint_is_read(tmp_path):
    store = open_store(tmp_path)
    write_hint(store, Hint(version=7, size=3, size_in_bytes=100, num_of_add_files=1))
    assert read_hint(store) == 7


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        '{"size": 3}',
        '{"version": "7", "size": 3}',
        '{"version": true}',
        '{"version": -1}',
    ],
)
@pytest.mark.parametrize("checked", [False, True])
def test_a_broken_hint_is_no_hint(tmp_path, text, checked):
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "_last_checkpoint").write_text(text)
    assert read_hint(open_store(tmp_path), checked=checked) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"version": 8, "version": 7}',
        '{"version": 7, "size": 3, "checksum": "6a92d155a59bf2eecbd4b4ec7fd1f875"}',
    ],
    ids=["a key twice", "another checksum"],
)
def test_only_who_asks_for_it_has_a_hint_checked(tmp_path, text):
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "_last_checkpoint").write_text(text)
    assert read_hint(open_store(tmp_path), checked=True) is None
    assert read_hint(open_store(tmp_path)) == 7


def test_a_hint_without_checksum_counts(tmp_path):
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "_last_checkpoint").write_text(
        json.dumps({"version": 7, "v2Checkpoint": None})
    )
    assert read_hint(open_store(tmp_path)) == 7


# --- what cannot be read -----------------------------------------------------------------------------


def unreadable(file):
    """Put a file in the place of another of which the system reads no byte (EIO)."""
    file.unlink(missing_ok=True)
    file.symlink_to("/proc/self/mem")


@pytest.fixture
def table(tmp_path):
    properties = {"delta.checkpointInterval": "2"}
    for number in range(4):
        write_deltalake(tmp_path, pa.table({"id": [number]}), mode="append", configuration=properties)
    return tmp_path


@pytest.mark.parametrize("name", ["_last_checkpoint", f"{3:020d}.crc"])
def test_an_advisory_file_that_cannot_be_read_stops_neither_reader_nor_writer(table, name, caplog):
    unreadable(table / "_delta_log" / name)
    with pytest.raises(OSError, match="Input/output error"):
        (table / "_delta_log" / name).read_bytes()
    assert DeltaTable(table).to_pyarrow_table().num_rows == 4
    write_deltalake(table, pa.table({"id": [4]}), mode="append")
    assert sorted(DeltaTable(table).to_pyarrow_table().column("id").to_pylist()) == [0, 1, 2, 3, 4]
    DeltaTable(table).delete("id = 0")
    DeltaTable(table).create_checkpoint()
    assert DeltaTable(table).count() == 4
    assert any(name in record.getMessage() for record in caplog.records if record.levelname == "WARNING")


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), StorageError("wrong checksum")])
def test_a_hint_that_a_store_does_not_give_is_none(table, error):
    class Refusing(LocalStore):
        def read(self, name):
            if name.endswith("_last_checkpoint"):
                raise error
            return super().read(name)

    assert Snapshot.load(Refusing(str(table))).files().num_rows == 4
