import json

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.errors import UnsupportedFeatureError, VersionNotFoundError
from deltaarrow.log import compact_logs, list_segment, replay
from deltaarrow.log.file_names import LogFileKind
from deltaarrow.log.file_sources import list_files, list_tombstones
from deltaarrow.storage import open_store
from tests.support.examples import examples
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64())])


def state(path):
    """What replay makes of a table."""
    found = replay(store := open_store(path), list_segment(store))
    files = list_files(found).to_pylist(maps_as_pydicts="strict")
    stones = list_tombstones(found).to_pylist(maps_as_pydicts="strict")
    return (
        found.protocol,
        found.metadata,
        found.transactions,
        found.domains,
        sorted(files, key=str),
        sorted(stones, key=str),
    )


def lines(table, name):
    return [json.loads(line) for line in (table.path / name).read_text().splitlines()]


def test_the_example_of_the_protocol(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA)
    f1, f2, f3, f4 = (table.add_file(1, name=name) for name in ("f1", "f2", "f3", "f4"))
    table.commit([f1]).commit([f2, table.remove(f1)])
    table.commit([f3, f4, table.txn("app", 4389)]).commit([table.remove(f3), table.txn("app", 4390)])
    name = compact_logs(open_store(tmp_path), 1, 3)
    assert name == "_delta_log/00000000000000000001.00000000000000000003.compacted.json"
    assert lines(table, name) == [table.txn("app", 4390), table.remove(f3), table.remove(f1), f2, f4]


def test_removed_domains_are_kept_since_they_hide_older_ones(tmp_path):
    table = TableBuilder(tmp_path).features(writer_only=["domainMetadata"]).metadata(SCHEMA)
    table.commit([table.domain("a", "x")]).commit([table.domain("a", "", removed=True)]).commit([])
    assert lines(table, compact_logs(open_store(tmp_path), 1, 2)) == [table.domain("a", "", removed=True)]
    assert state(tmp_path)[3] == {}


def test_fields_that_are_not_known_are_kept(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, fromTheFuture={"a": 1})
    table.commit([add := table.add_file(1, other=[1])]).commit(
        [{"txn": {"appId": "a", "version": 1, "b": 2}}]
    )
    written = lines(table, compact_logs(open_store(tmp_path), 0, 1))
    assert written[1]["metaData"]["fromTheFuture"] == {"a": 1}
    assert written[2]["txn"]["b"] == 2
    assert written[3] == add


def test_an_action_that_is_not_known_stops_it(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA)
    table.commit().commit([{"fromTheFuture": {}}])
    with pytest.raises(UnsupportedFeatureError, match="fromTheFuture"):
        compact_logs(open_store(tmp_path), 0, 1)
    assert not list(table.log.glob("*compacted*"))


@pytest.mark.parametrize(("first", "last"), [(1, 1), (2, 1), (-1, 1)])
def test_fewer_than_two_versions_are_refused(tmp_path, first, last):
    TableBuilder(tmp_path).protocol().metadata(SCHEMA).commit().commit()
    with pytest.raises(ValueError, match="two versions or more"):
        compact_logs(open_store(tmp_path), first, last)


def test_a_missing_commit_is_named(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA).commit().commit().commit()
    with pytest.raises(VersionNotFoundError, match="no commit of version 3"):
        compact_logs(open_store(tmp_path), 1, 3)
    table.delete_commits(1)
    with pytest.raises(VersionNotFoundError, match="no commit of version 1"):
        compact_logs(open_store(tmp_path), 0, 2)


def test_one_that_is_there_stays(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA).commit().commit()
    name = compact_logs(open_store(tmp_path), 0, 1)
    before = (table.path / name).read_bytes()
    assert compact_logs(open_store(tmp_path), 0, 1) == name
    assert (table.path / name).read_bytes() == before


STEPS = st.lists(
    st.lists(st.tuples(st.sampled_from(["add", "remove", "txn", "domain", "undomain"]), st.integers(0, 3))),
    min_size=3,
    max_size=6,
)


@settings(deadline=None, max_examples=examples(20))
@given(STEPS, st.data())
def test_the_state_is_the_same_with_the_compaction_as_without(tmp_path_factory, steps, data):
    folder = tmp_path_factory.mktemp("t")
    table = TableBuilder(folder).features(writer_only=["domainMetadata"]).metadata(SCHEMA).commit()
    for step in steps:
        actions = {}
        for kind, number in step:
            add = table.add_file(1, name=f"f{number}")
            made = {
                "add": add,
                "remove": table.remove(add),
                "txn": table.txn(f"a{number}", len(table.commits)),
                "domain": table.domain(f"d{number}", str(len(table.commits))),
                "undomain": table.domain(f"d{number}", "", removed=True),
            }[kind]
            actions[kind.removeprefix("un") if kind not in ("add", "remove") else "file", number] = made
        table.commit(actions.values())
    last = data.draw(st.integers(1, len(steps)))
    first = data.draw(st.integers(0, last - 1))
    before = state(folder)
    compact_logs(open_store(folder), first, last)
    assert any(f.kind is LogFileKind.COMPACTION for f in list_segment(open_store(folder)).deltas)
    assert state(folder) == before
