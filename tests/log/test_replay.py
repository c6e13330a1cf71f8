import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.errors import CorruptLogError
from deltaarrow.log import list_segment, replay
from deltaarrow.log.file_sources import list_files, list_tombstones
from deltaarrow.storage import open_store
from tests.support.examples import examples
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64())])
CHECKPOINTS = ["classic", "multipart", "v2-parquet", "v2-json", "v2-classic"]


def state_of(path, version=None):
    store = open_store(path)
    return replay(store, list_segment(store, version))


def live_keys(state) -> set[tuple[str, str | None]]:
    rows = list_files(state, ["log_path", "deletion_vector"]).to_pylist()
    return {(row["log_path"], dv_id(row["deletion_vector"])) for row in rows}


def dv_id(dv):
    if dv is None:
        return None
    return dv["storage_type"] + dv["path_or_inline_dv"] + ("" if dv["offset"] is None else f"@{dv['offset']}")


@pytest.fixture
def table(tmp_path):
    return TableBuilder(tmp_path).protocol().metadata(SCHEMA)


def test_the_newest_protocol_and_the_newest_metadata_win(table):
    table.commit().protocol(1, 4).metadata(SCHEMA, name="new").commit()
    state = state_of(table.path)
    assert (state.protocol.min_writer_version, state.metadata.name) == (4, "new")
    state = state_of(table.path, 0)
    assert (state.protocol.min_writer_version, state.metadata.name) == (2, None)


@pytest.mark.parametrize("kind", CHECKPOINTS)
def test_the_newest_txn_of_an_application_wins(table, kind):
    table.commit([table.txn("a", 1), table.txn("b", 1)]).checkpoint(kind=kind)
    table.commit([table.txn("a", 2)])
    versions = {app: txn.version for app, txn in state_of(table.path).transactions.items()}
    assert versions == {"a": 2, "b": 1}


@pytest.mark.parametrize("kind", CHECKPOINTS)
def test_a_removed_domain_hides_the_older_ones(table, kind):
    table.commit([table.domain("a", "1"), table.domain("b", "1")]).checkpoint(kind=kind)
    table.commit([table.domain("a", "", removed=True)])
    assert set(state_of(table.path).domains) == {"b"}


@pytest.mark.feature("v2Checkpoint")
@pytest.mark.parametrize("kind", CHECKPOINTS)
def test_the_newest_reference_to_a_logical_file_wins(table, kind):
    one, two, three = (table.add_file(1, name=name) for name in ("one", "two", "three"))
    table.commit([one, two, three]).checkpoint(kind=kind, sidecars=2)
    table.commit([table.remove(one)]).commit([one, table.remove(two)])
    state = state_of(table.path)
    assert live_keys(state) == {("one", None), ("three", None)}
    assert list_tombstones(state).column("log_path").to_pylist() == ["two"]


@pytest.mark.parametrize("kind", CHECKPOINTS)
def test_a_logical_file_is_a_path_with_a_deletion_vector(table, kind):
    plain = table.add_file(10, name="f")
    masked = table.with_deletion_vector(plain, table.deletion_vector([1]))
    table.commit([plain]).checkpoint(kind=kind)
    table.commit(masked)
    assert live_keys(state_of(table.path)) == set(table.live_files())
    table.checkpoint(kind=kind)
    table.commit(table.with_deletion_vector(masked[1], table.deletion_vector([1, 2])))
    assert live_keys(state_of(table.path)) == set(table.live_files())
    assert len(table.live_files()) == 1


@pytest.mark.parametrize("spelling", ["/a/b c", "file:/a/b%20c", "file:///a/b%20c", "/a/b%20c"])
@pytest.mark.parametrize("checkpoint", [True, False])
def test_a_path_is_canonical(table, spelling, checkpoint):
    add = table.add_file(1, name="x")
    add["add"]["path"] = "file:///a/b%20c"
    table.commit([add])
    if checkpoint:
        table.checkpoint()
    removed = table.remove(add)
    removed["remove"]["path"] = spelling
    table.commit([removed])
    assert live_keys(state_of(table.path)) == set()


@pytest.mark.parametrize("missing", ["protocol", "metaData"])
def test_a_table_without_protocol_or_metadata_is_refused(tmp_path, missing):
    table = TableBuilder(tmp_path)
    if missing == "metaData":
        table.protocol()
    else:
        table.metadata(SCHEMA)
    table.commit()
    with pytest.raises(CorruptLogError, match=missing):
        state_of(tmp_path)


@pytest.mark.parametrize("kind", [None, *CHECKPOINTS])
def test_a_remove_without_partition_values_size_and_timestamp_is_one(table, kind):
    table.commit([table.add_file(1, name="a"), table.add_file(1, name="b")])
    table.commit([{"remove": {"path": "a", "dataChange": True}}])
    if kind is not None:
        table.checkpoint(kind=kind)
    state = state_of(table.path)
    assert live_keys(state) == {("b", None)}
    (tombstone,) = list_tombstones(state).to_pylist()
    assert (tombstone["path"], tombstone["size"], tombstone["deletion_timestamp"]) == ("a", None, None)


def test_an_unknown_action_is_ignored(table):
    table.commit([{"somethingNew": {"a": 1}}, table.add_file(1, name="f")])
    assert live_keys(state_of(table.path)) == {("f", None)}


def test_a_commit_may_spread_over_lines_and_hold_blank_ones(table):
    table.commit([table.add_file(1, name="f")])
    file = table.log / f"{0:020d}.json"
    file.write_text(file.read_text().replace('"add": {', '\n\n"add":\n {'))
    assert live_keys(state_of(table.path)) == {("f", None)}


def test_a_torn_commit_is_refused_by_its_name(table):
    table.commit([table.add_file(1, name="f")])
    file = table.log / f"{0:020d}.json"
    file.write_text(file.read_text()[:-20])
    with pytest.raises(CorruptLogError, match=f"{0:020d}.json"):
        state_of(table.path)


def test_an_ill_formed_action_is_refused_by_the_name_of_its_file(table):
    table.commit([{"add": {"size": 1}}])
    with pytest.raises(CorruptLogError, match=f"{0:020d}.json"):
        state_of(table.path)


def test_an_unreconciled_log_compaction_holds_the_newest_first(table):
    one, two = table.add_file(1, name="one"), table.add_file(1, name="two")
    table.commit().commit([one]).commit([two, table.remove(one)])
    newest_first = [table.remove(one), two, one, {"cdc": {"path": "c", "partitionValues": {}, "size": 1}}]
    table.compacted(1, 2, newest_first)
    assert live_keys(state_of(table.path)) == {("two", None)}


@pytest.mark.parametrize("stats", ["json", "struct", "both", "none"])
def test_statistics_come_from_whatever_form_the_checkpoint_has(table, stats):
    table.commit([table.add_file(pa.table({"id": [3, 9]}))]).checkpoint(stats=stats)
    (text,) = list_files(state_of(table.path), ["stats"]).column("stats").to_pylist()
    assert (text is None) == (stats == "none")
    if text is not None:
        assert '"numRecords":2' in text.replace(" ", "")


def test_a_checkpoint_that_is_known_is_not_read_again(table):
    table.commit([table.add_file(1, name="a")]).checkpoint()
    known = state_of(table.path)
    (checkpoint,) = known.segment.checkpoint.files
    table.commit([table.add_file(1, name="b")])
    store = open_store(table.path)
    newer = replay(store, list_segment(store), known)
    assert newer._head is known._head
    assert set(list_files(newer, ["path"]).column("path").to_pylist()) == {"a", "b"}
    table.commit([table.add_file(1, name="c")]).checkpoint()
    newest = replay(store, list_segment(store), newer)
    assert newest.segment.checkpoint.files != (checkpoint,)
    assert set(list_files(newest, ["path"]).column("path").to_pylist()) == {"a", "b", "c"}


ACTIONS = st.lists(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["add", "remove", "mask"])), max_size=4),
    min_size=1,
    max_size=8,
)


@settings(max_examples=examples(14), deadline=None)
@given(commits=ACTIONS, kind=st.sampled_from(CHECKPOINTS), at=st.integers(0, 7), compact=st.booleans())
def test_replay_equals_the_obvious_model(tmp_path_factory, commits, kind, at, compact):
    table = TableBuilder(tmp_path_factory.mktemp("t")).protocol().metadata(SCHEMA).commit()
    for commit in commits:
        actions, touched = [], set()
        for name, what in commit:
            if name in touched:
                continue
            touched.add(name)
            live = [key for key in table.live_files() if key[0] == name]
            add = {"add": table.live_files()[live[0]]} if live else table.add_file(5, name=name)
            if what == "add":
                actions.append(add)
            elif what == "remove":
                actions.append(table.remove(add))
            else:
                actions += table.with_deletion_vector(add, table.deletion_vector([len(table.commits)], "i"))
        table.commit(actions)
    if at <= table.version:
        table.checkpoint(at, kind=kind, sidecars=at % 3)
    if compact and table.version >= 2:
        table.compacted(1, table.version)
    for version in range(table.version + 1):
        assert live_keys(state_of(table.path, version)) == set(table.live_files(version))
