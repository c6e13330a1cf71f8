"""A checkpoint that another writer rewrites in another order while a table is open."""

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow.errors import CorruptLogError
from deltaarrow.live_files.checkpoint_source import CheckpointRows
from deltaarrow.log.limits import LogLimits
from deltaarrow.storage.local import LocalStore
from tests.support.conditions import predicate_of
from tests.support.engines import open_snapshot
from tests.support.tables import TableBuilder

ID_OF_THE_TABLE = "5fba94ed-9794-4965-ba6e-6ee3c0d22af9"
SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])


def opened(path):
    """The newest version, by its checkpoint as a large one."""
    return open_snapshot(path, limits=LogLimits(replayed_bytes=-1, listed_bytes=-1))


def table_of(folder, stats="json", **kind):
    table = TableBuilder(folder).protocol().metadata(SCHEMA, ["p"])
    table.commit(
        [
            table.add_file(1, {"p": "abc"[number % 3]}, name=f"f{number}", stats=statistics_of(number))
            for number in range(12)
        ]
    )
    table.checkpoint(stats=stats, **kind)
    return table


def statistics_of(number):
    values = {"id": number}
    return {"numRecords": 1, "minValues": values, "maxValues": values, "nullCount": {"id": 0}}


def write_again(path):
    """The same actions, the last one first."""
    table = pq.read_table(path)
    draft = path.with_suffix(".draft")
    pq.write_table(table.take(pa.array(range(len(table) - 1, -1, -1))), draft)
    draft.replace(path)


def names(snapshot, condition):
    found = snapshot.files(predicate_of(condition, snapshot.schema), ["path"]).column("path").to_pylist()
    return sorted(path.partition(".")[0] for path in found)


@pytest.mark.parametrize("stats", ["json", "struct", "both"])
@pytest.mark.parametrize("kind", ["classic", "multipart"])
def test_what_is_cached_of_another_file_is_not_used(tmp_path, kind, stats):
    table_of(tmp_path, stats, kind=kind)
    snapshot = opened(tmp_path)
    assert names(snapshot, "p = 'a'") == ["f0", "f3", "f6", "f9"]
    assert names(snapshot, "id = 3") == ["f3"]
    for path in tmp_path.glob("_delta_log/*.parquet"):
        write_again(path)
    assert names(snapshot, "p = 'b'") == ["f1", "f10", "f4", "f7"]
    assert names(snapshot, "id = 4") == ["f4"]
    assert names(snapshot, "p = 'b' AND id > 5") == ["f10", "f7"]


@pytest.mark.parametrize("kind", ["classic", "multipart"])
@pytest.mark.parametrize(("stats", "others"), [("json", "struct"), ("struct", "json"), ("both", "none")])
def test_another_writer_may_have_other_columns(tmp_path, kind, stats, others):
    builder = table_of(tmp_path, stats, kind=kind)
    snapshot = opened(tmp_path)
    assert names(snapshot, "p = 'a'") == ["f0", "f3", "f6", "f9"]
    builder.checkpoint(stats=others, kind=kind)
    assert names(snapshot, "p = 'b' AND id > 5") == (
        ["f10", "f7"] if others != "none" else ["f1", "f10", "f4", "f7"]
    )
    assert snapshot.files().num_rows == 12
    assert names(snapshot, "p = 'c'") == ["f11", "f2", "f5", "f8"]


def test_files_of_another_table_in_its_place_are_not_shown(tmp_path):
    table_of(tmp_path)
    snapshot = opened(tmp_path)
    (path,) = tmp_path.glob("_delta_log/*.parquet")
    path.unlink()
    (commit,) = tmp_path.glob("_delta_log/*.json")
    commit.write_text(commit.read_text().replace(ID_OF_THE_TABLE, "another"))
    with pytest.raises(CorruptLogError, match=path.name):
        snapshot.files()
    with pytest.raises(CorruptLogError, match=path.name):
        names(snapshot, "p = 'a'")


@pytest.mark.parametrize("condition", ["p = 'b'", "id >= 4 AND id < 5"])
def test_a_file_that_is_replaced_within_a_query_is_read_once_more(tmp_path, monkeypatch, condition):
    table_of(tmp_path)
    expected = names(opened(tmp_path), condition)
    (path,) = tmp_path.glob("_delta_log/*.parquet")
    read = CheckpointRows.table
    tables = []

    def write_again_and_read(*given):
        if not tables:
            write_again(path)
        tables.append(read(*given))
        return tables[-1]

    monkeypatch.setattr(CheckpointRows, "table", write_again_and_read)
    assert names(opened(tmp_path), condition) == expected


def test_a_checkpoint_with_a_unique_name_is_not_looked_at_again(tmp_path, monkeypatch):
    table_of(tmp_path, kind="v2-parquet", sidecars=2)
    monkeypatch.setattr(LocalStore, "identity", None)
    snapshot = opened(tmp_path)
    assert names(snapshot, "p = 'a'") == ["f0", "f3", "f6", "f9"]
    assert names(snapshot, "id = 4") == ["f4"]


def test_rows_of_a_file_that_cannot_be_told_from_another_are_not_numbered(tmp_path, monkeypatch):
    table_of(tmp_path)
    monkeypatch.setattr(LocalStore, "identity", lambda self, name: None)
    monkeypatch.setattr(CheckpointRows, "table", None)
    assert names(opened(tmp_path), "p = 'a'") == ["f0", "f3", "f6", "f9"]


def test_a_file_of_another_store_is_told_by_what_the_store_says_of_it(tmp_path):
    table_of(tmp_path)
    filesystem = fsspec.filesystem("memory")
    root = f"/{tmp_path.name}"
    try:
        filesystem.put(f"{tmp_path}/_delta_log", f"{root}/_delta_log", recursive=True)
        snapshot = opened(f"memory:/{root}")
        assert names(snapshot, "p = 'a'") == ["f0", "f3", "f6", "f9"]
        (path,) = tmp_path.glob("_delta_log/*.parquet")
        write_again(path)
        filesystem.pipe_file(f"{root}/_delta_log/{path.name}", path.read_bytes())
        assert names(snapshot, "p = 'b'") == ["f1", "f10", "f4", "f7"]
        assert names(snapshot, "p = 'c' AND id > 5") == ["f11", "f8"]
    finally:
        filesystem.rm(root, recursive=True)
