"""A name in a table that leads to a pipe, a socket, a device or a folder: no reader waits for it."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import CorruptDeletionVectorError, CorruptLogError
from tests.support.rows import READERS


def make_socket(path: Path) -> None:
    # The name of a socket is at most about a hundred bytes.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)


KINDS: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a socket": make_socket,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": Path.mkdir,
}

CHANGES: dict[str, Callable[[Path], object]] = {
    "delete": lambda path: DeltaTable(path).delete("id > 1"),
    "update": lambda path: DeltaTable(path).update({"id": "id + 1"}),
    "compact": lambda path: DeltaTable(path).optimize.compact(),
    "z_order": lambda path: DeltaTable(path).optimize.z_order(["id"]),
    "deep clone": lambda path: DeltaTable(path).clone(path.with_name("copy"), shallow=False),
    "connect": lambda path: deltaarrow.connect().sql(f"SELECT sum(id) FROM delta.`{path}`").fetchall(),
    "scan without columns": lambda path: deltaarrow.scan_delta(path).select(pl.len()).collect(),
}


def replace(file: Path, kind: str) -> None:
    file.unlink()
    KINDS[kind](file)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table"
    vectors = {"delta.enableDeletionVectors": "true"}
    write_deltalake(path, pa.table({"id": [1, 2, 3]}), configuration=vectors)
    write_deltalake(path, pa.table({"id": [4, 5, 6]}), mode="append")
    return path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("door", READERS)
def test_a_data_file_is_a_regular_file(table: Path, door: str, kind: str) -> None:
    replace(next(table.glob("*.parquet")), kind)
    with pytest.raises(Exception, match=f"part-00000-.* is {kind}, not a regular file"):
        READERS[door](table)


@pytest.mark.parametrize("door", CHANGES)
def test_no_operation_waits_for_a_pipe(table: Path, door: str) -> None:
    replace(next(table.glob("*.parquet")), "a pipe")
    with pytest.raises(Exception, match=r"a pipe, not a regular file.*part-00000-|part-00000-.* is a pipe"):
        CHANGES[door](table)


@pytest.mark.parametrize("door", READERS)
def test_a_deletion_vector_is_in_a_regular_file(table: Path, door: str) -> None:
    DeltaTable(table).delete("id = 2")
    replace(next(table.glob("*.bin")), "a pipe")
    with pytest.raises(CorruptDeletionVectorError, match="does not exist"):
        READERS[door](table)


@pytest.mark.parametrize(
    "pattern", ["*.checkpoint*.parquet", "_sidecars/*.parquet", "_last_checkpoint", "*.crc", "*1.json"]
)
def test_no_reader_of_the_log_waits_for_a_pipe(table: Path, pattern: str) -> None:
    DeltaTable(table).alter.set_table_properties({"delta.checkpointPolicy": "v2"})
    DeltaTable(table).create_checkpoint()
    found = sorted((table / "_delta_log").glob(pattern))
    assert found
    for file in found:
        replace(file, "a pipe")
    # The commits have what the checkpoint has, and the checkpoint what the last commit has.
    assert DeltaTable(table).to_pyarrow_table().num_rows == 6


@pytest.mark.parametrize("door", READERS)
def test_a_sidecar_is_a_regular_file(table: Path, door: str) -> None:
    DeltaTable(table).alter.set_table_properties({"delta.checkpointPolicy": "v2"})
    DeltaTable(table).create_checkpoint()
    for commit in (table / "_delta_log").glob("0*.json"):
        if ".checkpoint." not in commit.name:
            commit.unlink()
    (sidecar,) = (table / "_delta_log/_sidecars").iterdir()
    replace(sidecar, "a pipe")
    with pytest.raises(CorruptLogError, match=sidecar.name):
        READERS[door](table)
