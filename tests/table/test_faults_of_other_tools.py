"""Known defects of other readers and writers of Delta tables, each test named after the defect."""

import datetime
import json
import os
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pytest

import deltaarrow as da
from tests.support.rows import READERS, assert_same_rows
from tests.support.tables import EPOCH_MS, TableBuilder

IDS = pa.schema([("id", pa.int64())])


@pytest.mark.feature("columnMapping")
@pytest.mark.parametrize("mode", ["name", "id"])
@pytest.mark.parametrize("checkpoint", [False, True])
@pytest.mark.parametrize("protocol", [(2, 5), (2, 7, None, ["columnMapping"]), (3, 7, [], ["columnMapping"])])
def test_column_mapping_without_reader_features_is_read_as_null(tmp_path, protocol, mode, checkpoint):
    """A reader that asks for a listed reader feature finds no column under its logical name."""
    fields = []
    for number, (name, kind) in enumerate({"id": "long", "s": "string", "p": "string"}.items(), 1):
        mapping = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        fields.append({"name": name, "type": kind, "nullable": True, "metadata": mapping})
    table = TableBuilder(tmp_path).protocol(*protocol)
    table.metadata({"type": "struct", "fields": fields}, ["p"], {"delta.columnMapping.mode": mode})
    columns = [
        pa.field(f"col-{number}", kind, metadata={"PARQUET:field_id": str(number)})
        for number, kind in ((1, pa.int64()), (2, pa.string()))
    ]
    stored = pa.table([pa.array([1, 2]), pa.array(["a", "b"])], schema=pa.schema(columns))
    table.commit([table.add_file(stored, {"col-3": "x"})])
    if checkpoint:
        table.checkpoint()
    wanted = pa.table({"id": [1, 2], "s": ["a", "b"], "p": ["x", "x"]})
    for read in READERS.values():
        assert_same_rows(read(tmp_path), wanted)
    wanted_row = [("id", "=", 2), ("s", "=", "b"), ("p", "=", "x")]
    assert da.DeltaTable(tmp_path).to_pyarrow_table(filters=wanted_row).num_rows == 1


@pytest.mark.feature("inCommitTimestamp")
def test_time_travel_goes_by_file_times_though_commits_have_their_own(tmp_path):
    """The log was copied, so that all its files are younger than the commits in them."""
    table = TableBuilder(tmp_path).protocol(1, 7, None, ["inCommitTimestamp"])
    table.metadata(IDS, configuration={"delta.enableInCommitTimestamps": "true"})
    for version in range(3):
        rows = pa.table({"id": [version]})
        table.commit([table.add_file(rows)], info={"inCommitTimestamp": EPOCH_MS + 60_000 * version})
    for version, file in enumerate(sorted(table.log.iterdir())):
        os.utime(file, (EPOCH_MS / 1000 + 10**6 - version,) * 2)
    start = datetime.datetime.fromtimestamp(EPOCH_MS / 1000, datetime.UTC)
    for version in range(3):
        for seconds in (0, 59) if version < 2 else (0,):  # a time after the newest version is refused
            moment = start + datetime.timedelta(minutes=version, seconds=seconds)
            assert da.DeltaTable(tmp_path, version=moment).version() == version
            opened = da.DeltaTable(tmp_path)
            opened.load_as_version(moment.isoformat())
            assert sorted(opened.to_pyarrow_table()["id"].to_pylist()) == list(range(version + 1))


@pytest.mark.parametrize("spelled", ["absolute", "relative", "uri", "link"])
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_an_append_adds_an_absolute_path_with_a_wrong_size(tmp_path, monkeypatch, spelled, mode):
    """A table whose log names its folder cannot be moved; a size that is not the file's breaks readers."""
    root = tmp_path / "a table"
    rows = pa.table({"id": range(100), "p": ["a b"] * 50 + [None] * 50})
    da.write_deltalake(root, rows, partition_by=["p"])
    (tmp_path / "link").symlink_to(root)
    monkeypatch.chdir(tmp_path)
    spellings = {"absolute": root, "relative": "a table", "uri": root.as_uri(), "link": tmp_path / "link"}
    da.write_deltalake(spellings[spelled], rows, mode=mode)
    for version in (0, 1):
        lines = (root / "_delta_log" / f"{version:020d}.json").read_text().splitlines()
        adds = [action["add"] for action in map(json.loads, lines) if "add" in action]
        assert len(adds) == 2
        for add in adds:
            path = Path(unquote(add["path"]))
            assert not path.is_absolute() and ":" not in add["path"]
            assert add["size"] == (root / path).stat().st_size
    wanted = da.DeltaTable(root).to_pyarrow_table()
    root.rename(tmp_path / "moved")
    for read in READERS.values():
        assert_same_rows(read(tmp_path / "moved"), wanted)
    assert wanted.num_rows == (200 if mode == "append" else 100)
