"""Tables whose commits a catalog holds: staged files, inline texts, and published commits."""

import json
import pickle

import pyarrow as pa
import pytest

from deltaarrow import Catalog, DeltaTable, RatifiedCommit, RatifiedCommits, write_deltalake
from deltaarrow.errors import (
    CorruptLogError,
    DeltaProtocolError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)
from deltaarrow.log import list_log
from deltaarrow.storage import open_store
from tests.support.engines import ENGINES
from tests.support.managed_table import SCHEMA, ManagedTable
from tests.support.tables import EPOCH_MS, TableBuilder

pytestmark = pytest.mark.feature("catalogManaged")

NAMES = ["catalogManaged", "catalogOwned-preview", "catalogOwned"]


@pytest.fixture
def table(tmp_path):
    """Versions 0 and 1 are published, 2 and 3 staged, of which 2 is published as well, and 4 is inline."""
    table = ManagedTable(tmp_path)
    table.published()
    table.staged()
    table.staged()
    table.unpublish(3)
    table.inline()
    return table


def ids(table):
    return sorted(table.to_pyarrow_table().column("id").to_pylist())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", NAMES)
def test_ratified_commits_are_read(tmp_path, name, engine):
    table = ManagedTable(tmp_path, name)
    table.staged()
    table.unpublish(1)
    table.inline()
    found = ENGINES[engine](table.open().snapshot, None, "id > 0")
    assert sorted(found.column("id").to_pylist()) == [1, 2]


def test_a_catalog_is_any_object_with_the_method(table):
    catalog: Catalog = table
    assert DeltaTable(table.path, catalog=catalog).version() == 4


def test_the_commits_alone_are_a_catalog(table):
    commits = RatifiedCommits(list(table.ratified.values()))
    assert commits.latest_version == 4
    assert ids(DeltaTable(table.path, catalog=commits)) == [0, 1, 2, 3, 4]


def test_it_is_refused_by_path_alone(table):
    with pytest.raises(UnsupportedFeatureError, match=r"catalogManaged.*catalog="):
        DeltaTable(table.path)


def test_staged_files_that_are_not_ratified_are_ignored(table):
    rejected = table.staged(is_ratified=False)
    assert not list(table.log.glob("*005.json"))
    assert (table.log / "_staged_commits" / rejected).exists()
    assert ids(table.open()) == [0, 1, 2, 3, 4]


def test_what_is_published_after_the_newest_version_of_the_catalog_is_ignored(table):
    table.published()
    table.checkpoint()
    known = RatifiedCommits(list(table.ratified.values()), latest_version=4)
    older = DeltaTable(table.path, catalog=known)
    assert ids(older) == [0, 1, 2, 3, 4]
    with pytest.raises(VersionNotFoundError, match="0 to 4"):
        older.load_as_version(5)


def test_the_commit_of_the_catalog_stands_for_the_published_one(table):
    (table.log / f"{2:020d}.json").write_text("not what was ratified")
    assert ids(table.open()) == [0, 1, 2, 3, 4]


def test_a_staged_file_that_is_gone_since_it_was_published_is_read_where_it_is(table):
    answer = table.ratified_commits()
    for file in (table.log / "_staged_commits").glob("*002.*.json"):
        file.unlink()
    assert ids(DeltaTable(table.path, catalog=answer)) == [0, 1, 2, 3, 4]


def test_a_staged_file_that_is_nowhere_is_an_error(table):
    for file in (table.log / "_staged_commits").glob("*003.*.json"):
        file.unlink()
    with pytest.raises(CorruptLogError, match=r"_staged_commits/00000000000000000003\..*no longer exists"):
        table.open()


def test_a_torn_staged_commit_is_named(table):
    (file,) = (table.log / "_staged_commits").glob("*003.*.json")
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(CorruptLogError, match=r"_staged_commits/00000000000000000003\."):
        table.open()


def test_a_checkpoint_takes_the_place_of_commits(table):
    table.checkpoint(1)
    table.unpublish(0)
    assert ids(table.open()) == [0, 1, 2, 3, 4]


def test_a_version_that_nobody_holds_is_a_gap(table):
    del table.ratified[4]
    with pytest.raises(CorruptLogError, match="the newest version is 4"):
        table.open()
    table.unpublish(1)
    with pytest.raises(CorruptLogError, match="gap"):
        DeltaTable(table.path, catalog=RatifiedCommits([*table.ratified.values()], latest_version=3))


# --- versions and times ----------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(5))
def test_time_travel_reaches_every_version(table, version):
    assert ids(table.open(version)) == list(range(version + 1))
    assert ids(table.open("2026-01-01T00:00:30Z")) == [0]
    moved = table.open()
    moved.load_as_version(f"2026-01-01T00:0{version}:{30 if version < 4 else 0:02}Z")
    assert moved.version() == version


def test_times_are_those_of_the_commits(table):
    assert table.open().snapshot.timestamp_ms == EPOCH_MS + 240_000
    assert [entry["version"] for entry in table.open().history()] == [4, 3, 2, 1, 0]
    assert [entry["timestamp"] for entry in table.open().history(2)] == [
        EPOCH_MS + 240_000,
        EPOCH_MS + 180_000,
    ]


def test_it_contradicts_itself_without_in_commit_timestamps(tmp_path):
    table = TableBuilder(tmp_path).features("catalogManaged", writer_only=["inCommitTimestamp"])
    table.metadata(SCHEMA).commit()
    with pytest.raises(DeltaProtocolError, match=r"catalogManaged.*delta\.enableInCommitTimestamps"):
        DeltaTable(tmp_path, catalog=RatifiedCommits([], latest_version=0))


def test_versions_before_a_catalog_took_over_are_read_as_any(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA).commit([])
    catalog = RatifiedCommits([], latest_version=0)
    assert DeltaTable(tmp_path, catalog=catalog).version() == 0
    assert table.version == 0


def test_an_update_reads_the_new_commits_alone(table, monkeypatch):
    opened = table.open()
    table.staged()
    table.unpublish(5)
    table.asked.clear()
    cls, seen = type(open_store("/")), []
    read = cls.read
    monkeypatch.setattr(cls, "read", lambda self, name: seen.append(name) or read(self, name))
    opened.update_incremental()
    assert [name.rpartition("/")[0] for name in seen] == ["_delta_log/_staged_commits"]
    assert table.asked == [4]
    assert ids(opened) == [0, 1, 2, 3, 4, 5]


def test_an_update_goes_on_when_commits_were_published_meanwhile(table):
    opened = table.open()
    for version in (3, 4):
        lines = (json.dumps(action) + "\n" for action in table.commits[version])
        (table.log / f"{version:020d}.json").write_text("".join(lines))
    table.ratified.clear()
    table.staged()
    assert ids(opened) == [0, 1, 2, 3, 4]
    opened.update_incremental()
    assert ids(opened) == [0, 1, 2, 3, 4, 5]


# --- everything else -------------------------------------------------------------------------------


def test_a_change_data_feed_covers_ratified_commits(table):
    found = table.open().load_cdf(starting_version=1).read_all()
    rows = found.select(["id", "_commit_version", "_commit_timestamp"]).to_pylist()
    assert sorted((row["id"], row["_commit_version"]) for row in rows) == [(n, n) for n in range(1, 5)]
    assert {row["_commit_timestamp"].minute for row in rows} == {1, 2, 3, 4}


def test_it_is_verified(table):
    assert table.open().verify(deep=True).ok


def test_it_travels_with_what_the_catalog_said_last(table):
    opened = table.open()
    arrived = pickle.loads(pickle.dumps(opened))
    assert ids(arrived) == ids(opened)
    assert isinstance(arrived.snapshot.store.catalog, RatifiedCommits)
    table.published()
    arrived.update_incremental()
    assert arrived.version() == 4


def test_writers_are_refused_by_name(table):
    opened = table.open()
    with pytest.raises(UnsupportedFeatureError, match=r"cannot write.*catalogManaged.*takes none"):
        write_deltalake(opened, pa.table({"id": [9]}), mode="append")
    with pytest.raises(UnsupportedFeatureError, match="catalog"):
        opened.create_checkpoint()
    store = opened.snapshot.store
    for attempt in (
        lambda: store.put_if_absent("x", b""),
        lambda: store.write("x", b""),
        lambda: store.delete("x"),
        lambda: store.open_output("x"),
    ):
        with pytest.raises(UnsupportedFeatureError, match="catalog") as caught:
            attempt()
        assert caught.value.feature == "catalogManaged"
    assert not store.can_put_if_absent


# --- what callers hand over ------------------------------------------------------------------------

STAGED = f"{3:020d}.016ae953-37a9-438e-8683-9a9a4a79a395.json"


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"version": 3}, "either a staged file or content"),
        ({"version": 3, "staged_file": STAGED, "content": b"{}"}, "either a staged file or content"),
        ({"version": 4, "staged_file": STAGED}, "not a staged commit of version 4"),
        ({"version": 3, "staged_file": f"../{STAGED}"}, "not a staged commit of version 3"),
        ({"version": 3, "staged_file": f"{3:020d}.json"}, "not a staged commit of version 3"),
        ({"version": -1, "content": b"{}"}, "-1 is not a version"),
    ],
)
def test_a_commit_has_a_version_and_one_place(arguments, what):
    with pytest.raises(ValueError, match=what):
        RatifiedCommit(**arguments)


@pytest.mark.parametrize(
    ("versions", "latest", "what"),
    [
        ((1, 3), 3, "version 2 is missing"),
        ((1, 1), 1, "version 1 is given twice"),
        ((1, 2), 1, "after the latest_version 1"),
        ((), None, "latest_version"),
        ((), -1, "-1 is not a version"),
    ],
)
def test_commits_follow_each_other(versions, latest, what):
    commits = [RatifiedCommit(version, content=b"{}") for version in versions]
    with pytest.raises(ValueError, match=what):
        RatifiedCommits(commits, latest_version=latest)


def test_commits_are_put_in_order():
    commits = [RatifiedCommit(version, content=b"{}") for version in (3, 2)]
    assert [commit.version for commit in RatifiedCommits(commits).commits] == [2, 3]


def test_a_listing_shows_each_version_once(table):
    store = table.open().snapshot.store
    assert [(file.version, file.name.count("_staged_commits")) for file in list_log(store)] == [
        (0, 0),
        (1, 0),
        (2, 1),
        (3, 1),
        (4, 0),
    ]
    assert [file.version for file in list_log(store, 3)] == [3, 4]


def test_inline_commits_that_were_not_asked_for_again_are_still_there(table):
    opened = table.open()
    table.inline()
    opened.update_incremental()
    table.inline()
    newest = table.open()
    held = DeltaTable(table.path, catalog=table)
    for _ in range(3):
        held.update_incremental()
        assert held.load_cdf(starting_version=3).read_all().num_rows == 4
    assert ids(pickle.loads(pickle.dumps(newest))) == ids(held) == list(range(7))
