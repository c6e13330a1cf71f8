import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.log import list_segment, replay, write_checkpoint
from deltaarrow.log.file_sources import list_files, list_tombstones
from deltaarrow.log.last_checkpoint import checksum
from deltaarrow.storage import open_store
from tests.support.tables import EPOCH_MS, TableBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])
DOMAIN = '{"clusteringColumns":[["id"]],"domainName":"delta.clustering"}'


@pytest.fixture
def table(tmp_path):
    table = TableBuilder(tmp_path).features("deletionVectors", writer_only=["domainMetadata", "clustering"])
    table.metadata(SCHEMA, ["p"], {"delta.enableDeletionVectors": "true"}, name="t", description="d")
    plain = table.add_file(pa.table({"id": [1, 2]}), {"p": None}, tags={"a": "b"}, baseRowId=7)
    masked = table.add_file(pa.table({"id": [3, 4]}), {"p": "é/ü"})
    gone = table.add_file(pa.table({"id": [5]}), {"p": "x"})
    table.commit([plain, masked, gone, table.txn("app", 5), table.domain("delta.clustering", DOMAIN)])
    table.commit([*table.with_deletion_vector(masked, table.deletion_vector([0])), table.remove(gone)])
    return table


WEEK_MS = 7 * 24 * 3600 * 1000


def write(table, since=0) -> str:
    """Write a checkpoint at such a time that tombstones are kept that are newer than `since`."""
    store = open_store(table.path)
    return write_checkpoint(replay(store, list_segment(store)), clock=lambda: since + WEEK_MS)


def everything(path):
    """What replay makes of a table, but for what a checkpoint leaves out."""
    store = open_store(path)
    state = replay(store, list_segment(store))
    files = list_files(state).drop_columns(["data_change"]).to_pylist(maps_as_pydicts="strict")
    stones = list_tombstones(state).drop_columns(["data_change", "stats", "tags"])
    return (
        state.protocol,
        state.metadata,
        state.transactions,
        state.domains,
        sorted(files, key=lambda row: row["path"]),
        sorted(stones.to_pylist(maps_as_pydicts="strict"), key=str),
    )


def test_a_checkpoint_says_what_the_commits_said(table):
    before = everything(table.path)
    write(table)
    table.delete_commits(0, 1)
    assert everything(table.path) == before


def test_a_checkpoint_of_a_checkpoint_says_the_same(table):
    before = everything(table.path)
    write(table)
    table.delete_commits(0, 1)
    name = write(table)
    assert everything(table.path) == before
    assert pq.read_metadata(table.path / name).num_rows == 4 + 2 + 2


def test_expired_tombstones_are_left_out(table):
    write(table, since=EPOCH_MS)
    table.delete_commits(0, 1)
    assert everything(table.path)[5] == []


def test_exactly_one_column_of_a_row_is_set(table):
    rows = pq.read_table(table.path / write(table)).to_pylist()
    assert {sum(value is not None for value in row.values()) for row in rows} == {1}


def test_the_hint_says_what_was_written(table):
    name = write(table)
    hint = json.loads((table.log / "_last_checkpoint").read_text())
    assert hint["version"] == 1
    assert hint["size"] == pq.read_metadata(table.path / name).num_rows
    assert hint["sizeInBytes"] == (table.path / name).stat().st_size
    assert hint["numOfAddFiles"] == 2
    assert hint["checksum"] == checksum(hint)


def test_the_hint_does_not_go_back(table):
    write(table)
    store = open_store(table.path)
    write_checkpoint(replay(store, list_segment(store, 0)))
    assert json.loads((table.log / "_last_checkpoint").read_text())["version"] == 1


@pytest.mark.parametrize("key", ["protocol", "metaData", "txn", "domainMetadata", "add", "remove"])
@pytest.mark.parametrize("value", [1, "text", {"deep": []}, False])
def test_no_checkpoint_is_written_where_an_unknown_field_would_be_lost(table, key, value):
    action = _newest(table, key)
    table.commit([{key: action | {"fromTheFuture": value}}])
    with pytest.raises(UnsupportedFeatureError, match=rf"{key}\.fromTheFuture"):
        write(table)
    assert not list(table.log.glob("*checkpoint*"))


@pytest.mark.parametrize(("key", "part"), [("metaData", "format"), ("add", "deletionVector")])
def test_an_unknown_field_within_a_field_counts(table, key, part):
    action = _newest(table, key)
    table.commit([{key: action | {part: action[part] | {"fromTheFuture": 1}}}])
    with pytest.raises(UnsupportedFeatureError, match=rf"{part}\.fromTheFuture"):
        write(table)


@pytest.mark.parametrize("value", [None, 7])
@pytest.mark.parametrize("place", [["add"], ["remove"], ["add", "deletionVector"]])
def test_an_unknown_column_of_the_older_checkpoint_counts_where_it_has_a_value(table, place, value):
    file = table.path / write(table)
    old = pq.read_table(file)
    rows = old.to_pylist(maps_as_pydicts="strict")
    for row in rows:
        holder = row
        for name in place:
            holder = holder and holder[name]
        if holder:
            holder["from the future"] = value
    pq.write_table(pa.Table.from_pylist(rows, _with_column(old.schema, place)), file)
    table.delete_commits(0, 1)
    table.commit([table.txn("app", 6)])
    if value is None:
        write(table)
    else:
        with pytest.raises(UnsupportedFeatureError, match=f"{place[-1]}.from the future"):
            write(table)


def _with_column(schema: pa.Schema, place: list[str]) -> pa.Schema:
    def widened(fields, rest):
        if not rest:
            return [*fields, pa.field("from the future", pa.int64())]
        return [
            pa.field(f.name, pa.struct(widened(list(f.type), rest[1:]))) if f.name == rest[0] else f
            for f in fields
        ]

    return pa.schema(widened(list(schema), place))


def test_fields_that_say_nothing_do_not_stop_a_checkpoint(table):
    add = _newest(table, "add")
    vector = add["deletionVector"] | {"maxRowIndex": 1, "other": None}
    table.commit([{"add": add | {"deletionVector": vector, "fromTheFuture": None}}])
    table.commit([{"protocol": _newest(table, "protocol") | {"fromTheFuture": None}}])
    write(table)


def test_what_is_not_in_the_checkpoint_does_not_stop_it(table):
    """An expired tombstone, and an action that a newer one replaces."""
    transaction, remove = _newest(table, "txn"), _newest(table, "remove")
    table.commit([{"txn": transaction | {"fromTheFuture": 1}}, {"remove": remove | {"fromTheFuture": 1}}])
    table.commit([{"txn": transaction}])
    write(table, since=EPOCH_MS)


def _newest(table, key: str) -> dict:
    for file in sorted(table.log.glob("*.json"), reverse=True):
        for line in reversed(file.read_text().splitlines()):
            if key in (action := json.loads(line)):
                return action[key]
    raise AssertionError(key)
