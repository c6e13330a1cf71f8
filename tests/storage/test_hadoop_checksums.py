"""Hadoop's checksum files: Hadoop refuses a local file that differs from its checksum."""

import pytest

from deltaarrow.storage import open_store


@pytest.fixture
def store(tmp_path):
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log/f").write_bytes(b"Spark's")
    (tmp_path / "_delta_log/.f.crc").write_bytes(b"crc\0")
    return open_store(tmp_path)


def test_a_file_that_is_replaced_has_none(store, tmp_path):
    store.write("_delta_log/f", b"ours")
    assert [file.name for file in (tmp_path / "_delta_log").iterdir()] == ["f"]


def test_a_file_that_is_deleted_leaves_none(store, tmp_path):
    store.delete("_delta_log/f")
    assert not list((tmp_path / "_delta_log").iterdir())


def test_a_file_that_stays_keeps_it(store, tmp_path):
    with pytest.raises(FileExistsError):
        store.put_if_absent("_delta_log/f", b"ours")
    assert (tmp_path / "_delta_log/.f.crc").exists()
