"""Updating a snapshot to the newest version gives the same as loading that version."""

import json
import shutil

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import CorruptLogError, TableNotFoundError
from deltaarrow.log.limits import LogLimits
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from tests.support.examples import examples
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64())])
CHECKPOINTS = ["classic", "multipart", "v2-parquet", "v2-json", "v2-classic"]


def said(snapshot: Snapshot) -> dict[str, object]:
    """Everything that a snapshot says of its table, files in no order."""
    columns = [name for name in snapshot.files().column_names if name not in ("tags", "data_change")]
    files = snapshot.files(columns=columns).to_pylist()
    tombstones = snapshot.tombstones().select(["path", "log_path", "deletion_vector"]).to_pylist()
    return {
        "version": snapshot.version,
        "protocol": snapshot.protocol,
        "metadata": snapshot.metadata,
        "transactions": dict(snapshot.transactions),
        "domains": dict(snapshot.domains),
        "files": sorted(json.dumps(file, sort_keys=True, default=str) for file in files),
        "tombstones": sorted(json.dumps(row, sort_keys=True) for row in tombstones),
    }


@pytest.fixture
def table(tmp_path):
    return TableBuilder(tmp_path).protocol().metadata(SCHEMA).commit()


@pytest.fixture
def reads(monkeypatch):
    """The names of what is read from local stores, and where listings begin."""
    seen = []
    cls = type(open_store("/"))
    read, list_from = cls.read, cls.list_from
    monkeypatch.setattr(cls, "read", lambda self, name: seen.append(name) or read(self, name))
    monkeypatch.setattr(
        cls,
        "list_from",
        lambda self, folder, start="": seen.append(f"from {start}") or list_from(self, folder, start),
    )
    return seen


def test_only_the_new_commits_are_read(table, reads):
    table.commit([table.add_file(1, name="a")]).checkpoint()
    table.commit([table.add_file(1, name="b")])
    held = Snapshot.load(open_store(table.path))
    table.commit([table.add_file(1, name="c")])
    reads.clear()
    newest = held.update()
    assert reads == [f"from {2:020d}", f"_delta_log/{3:020d}.json"]
    assert newest.files(columns=["path"])["path"].to_pylist() == ["a", "b", "c"]
    assert held.files(columns=["path"])["path"].to_pylist() == ["a", "b"]


def test_without_news_a_snapshot_is_its_own_update(table, reads):
    held = Snapshot.load(open_store(table.path))
    table.checkpoint()
    reads.clear()
    assert held.update() is held
    assert reads == [f"from {0:020d}"] or reads == ["from "]


def test_a_long_tail_gives_way_to_a_newer_checkpoint(table):
    held = Snapshot.load(open_store(table.path), limits=LogLimits(longest_tail=3))
    table.commit().commit()
    held = held.update()
    table.checkpoint(1)
    assert held.segment.checkpoint is None
    table.commit()
    held = held.update()
    assert (held.version, held.segment.checkpoint.version, len(held.segment.deltas)) == (3, 1, 2)


def test_a_long_tail_without_a_newer_checkpoint_is_not_read_again(table, reads):
    for _ in range(3):
        table.commit()
    held = Snapshot.load(open_store(table.path), limits=LogLimits(longest_tail=1))
    table.commit()
    reads.clear()
    assert held.update().version == 4
    assert [name for name in reads if name.endswith(".json")] == [f"_delta_log/{4:020d}.json"]


def test_a_table_made_anew_under_a_held_version_is_loaded_anew(table):
    held = Snapshot.load(open_store(table.path))
    shutil.rmtree(table.path)
    fresh = TableBuilder(table.path).protocol().metadata(SCHEMA, name="another").commit().commit()
    assert held.update().metadata.name == "another"
    shutil.rmtree(fresh.path)
    with pytest.raises(TableNotFoundError):
        held.update()


def test_a_gap_after_a_held_version_is_an_error(table):
    held = Snapshot.load(open_store(table.path))
    table.commit().commit().delete_commits(1)
    with pytest.raises(CorruptLogError, match="version 1 has no commit"):
        held.update()


def test_a_held_version_that_log_cleanup_took_is_led_on(table):
    table.commit([table.add_file(1, name="a")])
    held = Snapshot.load(open_store(table.path))
    table.commit().commit().checkpoint()
    table.delete_commits(0, 1, 2)
    assert said(held.update()) == said(Snapshot.load(open_store(table.path)))


def test_a_log_of_a_checkpoint_alone_is_led_on(table):
    table.checkpoint()
    table.delete_commits(0)
    held = Snapshot.load(open_store(table.path))
    table.commit([table.add_file(1, name="a")])
    assert held.update().version == 1


def test_a_table_moves_on_with_what_it_writes(tmp_path, reads):
    write_deltalake(tmp_path, pa.table({"id": [1]}))
    table = DeltaTable(tmp_path)
    for i in range(3):
        reads.clear()
        write_deltalake(table, pa.table({"id": [i]}), mode="append")
        assert table.version() == i + 1
        assert [name for name in reads if name.endswith(".json")] == [f"_delta_log/{i + 1:020d}.json"]
    assert table.count() == 4


def test_an_older_version_that_is_open_moves_to_the_newest(tmp_path):
    for i in range(30):
        write_deltalake(tmp_path, pa.table({"id": [i]}), mode="append")
    table = DeltaTable(tmp_path, version=3)
    table.update_incremental()
    assert (table.version(), table.count()) == (29, 30)
    assert table.snapshot.segment.checkpoint.version == 20


STEPS = st.lists(
    st.one_of(
        st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["add", "remove", "mask"])), max_size=3),
        st.sampled_from(
            ["update", "metadata", "protocol", "txn", "domain", "no domain", "compact", *CHECKPOINTS, "clean"]
        ),
    ),
    min_size=1,
    max_size=14,
)


def take(table: TableBuilder, step: object) -> None:
    """Carry out one step of another writer."""
    number = table.version + 1
    match step:
        case "metadata":
            table.metadata(SCHEMA, name=str(number)).commit()
        case "protocol":
            table.protocol(1, 2 + number % 2).commit()
        case "txn":
            table.commit([table.txn("ab"[number % 2], number)])
        case "domain" | "no domain":
            table.commit([table.domain("d", str(number), removed=step == "no domain")])
        case "compact" if table.version >= 2:
            table.compacted(table.version - 1, table.version)
        case "clean" if (newest := max(table.log.glob("*.checkpoint*"), default=None)) is not None:
            for version in range(int(newest.name[:20])):
                (table.log / f"{version:020d}.json").unlink(missing_ok=True)
        case str() if step in CHECKPOINTS:
            table.checkpoint(kind=step, sidecars=number % 3, hint=number % 2 == 0)
        case list():
            actions = []
            for name, what in dict(step).items():
                live = [add for (path, _), add in table.live_files().items() if path == name]
                add = {"add": live[0]} if live else table.add_file(5, name=name)
                match what:
                    case "add":
                        actions.append(add)
                    case "remove":
                        actions.append(table.remove(add))
                    case _:
                        actions += table.with_deletion_vector(add, table.deletion_vector([number], "i"))
            table.commit(actions)


@settings(max_examples=examples(14), deadline=None)
@given(steps=STEPS, longest=st.integers(0, 6))
def test_an_updated_snapshot_equals_one_loaded_anew(tmp_path_factory, steps, longest):
    table = TableBuilder(tmp_path_factory.mktemp("t")).protocol().metadata(SCHEMA).commit()
    store = open_store(table.path)
    held = Snapshot.load(store, limits=LogLimits(longest_tail=longest))
    for step in [*steps, "update"]:
        take(table, step)
        if step == "update":
            held = held.update()
            assert said(held) == said(Snapshot.load(store))
