"""Of a few rows of a large checkpoint the commits are looked up one by one: the files are the same."""

import importlib

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.expressions import from_sql
from deltaarrow.log import choice, few_files
from deltaarrow.log.recent_files import RecentFiles
from deltaarrow.statistics import HeldStatistics
from tests.support.tables import TableBuilder

replay = importlib.import_module("deltaarrow.log.replay")

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])
STATISTICS = {"numRecords": 9, "minValues": {"id": 0}, "maxValues": {"id": 8}, "nullCount": {"id": 0}}
CONDITIONS = ["p = 'a'", "p = 'b'", "p <> 'b'", "p = 'new'", "p = 'none'", "p IS NULL", "p = 'a' AND id = 3"]


@pytest.fixture(autouse=True)
def every_checkpoint_is_asked_by_queries(monkeypatch):
    monkeypatch.setattr(replay, "_SMALL_CHECKPOINT", -1)
    monkeypatch.setattr(replay.RecentAnswers, "of", lambda self, question, find: find())


def keys(folder, condition):
    names = ["path", "deletion_vector", "partition_values", "stats"]
    found = da.DeltaTable(folder).snapshot.files(from_sql(condition), names).to_pylist()
    return sorted(found, key=repr)


@pytest.fixture
def table(tmp_path):
    """Files that were given a deletion vector before and after the checkpoint, removed, and added again."""
    table = TableBuilder(tmp_path).features("deletionVectors").metadata(SCHEMA, ["p"])
    stats = STATISTICS
    adds = [table.add_file(9, {"p": "ab"[n % 2]}, name=f"f{n}", stats=stats) for n in range(8)]
    table.commit(adds)
    (_, marked) = table.with_deletion_vector(adds[0], table.deletion_vector([1]))
    table.commit([table.remove(adds[0]), marked])
    table.checkpoint()
    table.delete_commits(0, 1)
    # Another logical file of the same path is none of the checkpoint's.
    table.commit([table.remove(adds[0])])
    table.commit([table.remove(adds[2]), table.add_file(9, {"p": "new"}, name="g", stats=stats)])
    table.commit(table.with_deletion_vector(adds[4], table.deletion_vector([2])))
    table.commit([table.remove(adds[6]), table.add_file(9, {"p": "a"}, name="h", stats=False)])
    table.commit([adds[6]])
    return table


@pytest.mark.parametrize("few", [10_000, 1, 0])
def test_files_are_those_of_one_query(table, monkeypatch, few):
    expected = [keys(table.path, condition) for condition in CONDITIONS]
    assert {each["path"] for each in expected[0]} == {"f0", "f4", "f6", "h"}
    monkeypatch.setattr(replay, "LARGE_CHECKPOINT", 0)
    monkeypatch.setattr(few_files, "_FEW", few)
    assert [keys(table.path, condition) for condition in CONDITIONS] == expected


def test_texts_of_no_file_of_the_checkpoint_do_not_speak_for_statistics(tmp_path, monkeypatch):
    """Each text is that of a file there, both of them together are those of one in the commits."""
    schema = pa.schema([("id", pa.int64()), ("p", pa.string()), ("q", pa.string())])
    table = TableBuilder(tmp_path).protocol().metadata(schema, ["p", "q"])
    stats = {"numRecords": 9, "minValues": {"id": 0}, "maxValues": {"id": 8}, "nullCount": {"id": 0}}
    values = [{"p": "a", "q": "x"}, {"p": "b", "q": "y"}]
    table.commit([table.add_file(9, each, stats=stats) for each in values]).checkpoint()
    table.commit([table.add_file(9, {"p": "a", "q": "y"}, name="new", stats=stats)])
    monkeypatch.setattr(replay, "LARGE_CHECKPOINT", 0)
    assert [each["path"] for each in keys(tmp_path, "p = 'a' AND q = 'y' AND id = 3")] == ["new"]
    assert keys(tmp_path, "p = 'a' AND q = 'y' AND id = 30") == []


@pytest.fixture
def judged(monkeypatch):
    """The masks of the files of commits that are judged without a query over them."""
    found = []
    left = RecentFiles.left
    monkeypatch.setattr(RecentFiles, "left", lambda *given: found.append(left(*given)) or found[-1])
    return found


def test_of_a_known_partition_no_commit_is_judged_by_a_query(table, monkeypatch, judged):
    monkeypatch.setattr(replay, "LARGE_CHECKPOINT", 0)
    table.commit([table.remove(table.add_file(9, {"p": "new"}, name="g"))])
    assert [each["path"] for each in keys(table.path, "p = 'b'")] == ["f1", "f3", "f5", "f7"]
    assert judged[0].tolist() == [False, False, False]


@pytest.mark.parametrize("many", [1000, 0])
def test_commits_are_judged_by_statistics_that_are_held(table, monkeypatch, judged, many):
    monkeypatch.setattr(replay, "LARGE_CHECKPOINT", 0)
    monkeypatch.setattr(replay, "_MANY_ADDS", many)
    monkeypatch.setattr(choice, "_MOST_LEFT", 1)
    table.commit([table.add_file(9, {"p": "b"}, name="i", stats=STATISTICS | {"maxValues": {"id": 3}})])
    snapshot = da.DeltaTable(table.path).snapshot
    for least, wanted in ((4, {"f4", "g", "h", "f6"}), (3, {"f4", "g", "h", "f6", "i"}), (9, {"h"})):
        found = snapshot.files(from_sql(f"id >= {least}"), ["path"]).column("path").to_pylist()
        assert {path for path in found if path in {"f4", "g", "h", "f6", "i"}} == wanted
    monkeypatch.setattr(HeldStatistics, "_read", None)
    assert snapshot.files(from_sql("id = 8 AND p = 'new'"), ["path"]).column("path").to_pylist() == ["g"]
    assert snapshot.files(from_sql("id >= 8 AND p = 'b'"), ["path"]).num_rows == 4
    assert not any(mask is None for mask in judged)


PATHS = [
    "a%20b/f",
    "bad%zz",
    "p=%C3%A9%2525/f",
    "%FF",
    "file:/abs/f",
    "file:///abs/g%20h",
    "s3://b/x%20y",
    "ä",
]


def test_paths_are_those_that_sql_makes_canonical(tmp_path, monkeypatch):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p"])
    adds = [table.add_file(9, {"p": "a"}, stats=STATISTICS) for _ in PATHS]
    for add, path in zip(adds, PATHS, strict=True):
        add["add"]["path"] = path
    table.commit(adds).checkpoint()
    table.commit([{"remove": {"path": "a b/f", "deletionTimestamp": 1, "dataChange": True}}])
    expected = [keys(tmp_path, condition) for condition in ("p = 'a'", "id = 3")]
    assert len(expected[0]) == len(PATHS) - 1
    monkeypatch.setattr(replay, "LARGE_CHECKPOINT", 0)
    monkeypatch.setattr(choice, "_MOST_LEFT", 1)
    assert [keys(tmp_path, condition) for condition in ("p = 'a'", "id = 3")] == expected
