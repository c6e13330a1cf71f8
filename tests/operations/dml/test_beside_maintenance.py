"""DELETE, UPDATE and MERGE beside a commit that only moves rows: the statement is run again after it."""

import json

import pyarrow as pa
import pytest

from deltaarrow import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltaarrow.errors import (
    CommitFailedError,
    ConcurrentAppendException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
)
from deltaarrow.scan.row_id_columns import ROW_ID
from tests.support.leftovers import files_of_log, files_on_disk

FEED = {"delta.enableRowTracking": "true", "delta.enableChangeDataFeed": "true"}
MODES = {"vectors": FEED | {"delta.enableDeletionVectors": "true"}, "rewriting": FEED}


def rows(seen: dict[int, int]) -> pa.Table:
    return pa.table({"id": pa.array(seen, pa.int64()), "seen": pa.array(seen.values(), pa.int64())})


def delete(table, **options):
    return table.delete("id IN (3, 11)", **options)


def update(table, **options):
    return table.update({"seen": "seen + 1"}, predicate="id IN (3, 11)", **options)


def merge(table, **options):
    """A merge whose source can be read once."""
    source = rows({3: 7, 11: 7, 20: 7}).to_reader()
    merger = table.merge(source, "target.id = source.id", **options)
    merger = merger.when_matched_delete("target.id = 11").when_matched_update_all()
    return merger.when_not_matched_insert_all().execute()


OLD = {1: 0, 3: 0, 4: 0, 5: 0, 11: 0, 12: 0}
NEW = {
    delete: {1: 0, 4: 0, 5: 0, 12: 0},
    update: OLD | {3: 1, 11: 1},
    merge: {1: 0, 3: 7, 4: 0, 5: 0, 12: 0, 20: 7},
}
MARKED = pytest.mark.parametrize("table", ["vectors"], indirect=True)
STATEMENTS = pytest.mark.parametrize("statement", NEW, ids=lambda each: each.__name__)


def compact(table):
    table.optimize.compact()


def z_order(table):
    table.optimize.z_order(["seen", "id"])


@pytest.fixture(params=MODES)
def table(request, tmp_path):
    """A table of two files, one of which has lost a row already."""
    write_deltalake(tmp_path, rows(dict.fromkeys(range(1, 6), 0)), configuration=MODES[request.param])
    write_deltalake(tmp_path, rows({11: 0, 12: 0}), mode="append")
    DeltaTable(tmp_path).delete("id = 2")
    return DeltaTable(tmp_path)


def beside(monkeypatch, table, statement, *meanwhile, **options):
    """Run a statement, and before each of its first commits let another writer do something."""
    store, others = type(table.snapshot.store), list(meanwhile)
    real = store.put_if_absent

    def put(self, name, data):
        if others and not is_other[0]:
            is_other[0] = True
            others.pop(0)(DeltaTable(table.table_uri))
            is_other[0] = False
        return real(self, name, data)

    is_other = [False]
    with monkeypatch.context() as patch:
        patch.setattr(store, "put_if_absent", put)
        metrics = statement(table, **options)
    assert not others
    return metrics


def seen(table) -> dict[int, int]:
    found = DeltaTable(table.table_uri).to_pyarrow_table()
    assert len(set(found["id"].to_pylist())) == found.num_rows
    return dict(zip(*(found[name].to_pylist() for name in ("id", "seen")), strict=True))


def row_ids(table) -> dict[int, int]:
    found = DeltaTable(table.table_uri).to_pyarrow_table(columns=["id", ROW_ID])
    return dict(zip(*(column.to_pylist() for column in found.columns), strict=True))


def operations(table, count: int) -> list[str]:
    return [commit["operation"] for commit in DeltaTable(table.table_uri).history(count)]


@STATEMENTS
@pytest.mark.parametrize("maintenance", [compact, z_order], ids=lambda each: each.__name__)
def test_it_changes_the_rows_where_they_are_now(table, monkeypatch, statement, maintenance):
    before = row_ids(table)
    metrics = beside(monkeypatch, table, statement, maintenance)
    assert seen(table) == NEW[statement]
    after = row_ids(table)
    kept = before.keys() & after.keys()
    assert {key: before[key] for key in kept} == {key: after[key] for key in kept}
    counts = {"num_deleted_rows", "num_updated_rows", "num_target_rows_deleted", "num_target_rows_updated"}
    assert sum(metrics[name] for name in counts & metrics.keys()) == 2
    current = DeltaTable(table.table_uri)
    assert current.version() == table.version()
    assert operations(table, 2)[1] == "OPTIMIZE"
    assert files_on_disk(table.table_uri) == files_of_log(current)
    assert current.verify(deep=True).ok
    feed = current.load_cdf(current.version(), current.version()).read_all()
    changed = {row["id"] for row in feed.to_pylist()}
    assert changed == {3, 11} | ({20} if statement is merge else set())


@STATEMENTS
def test_it_is_run_again_after_each_commit_that_moves_rows(table, monkeypatch, statement):
    beside(monkeypatch, table, statement, compact, z_order)
    assert seen(table) == NEW[statement]
    assert operations(table, 3)[1:] == ["OPTIMIZE", "OPTIMIZE"]
    (commit,) = DeltaTable(table.table_uri).history(1)
    assert commit["readVersion"] == commit["version"] - 1


@MARKED
@STATEMENTS
def test_other_changes_before_and_after_are_no_conflict(table, monkeypatch, statement):
    def append_and_compact(other):
        write_deltalake(other.table_uri, rows({100: 0}), mode="append")
        other.update_incremental()
        other.optimize.compact()

    def append(other):
        write_deltalake(other.table_uri, rows({101: 0}), mode="append")

    beside(monkeypatch, table, statement, append_and_compact, append)
    assert seen(table) == NEW[statement] | {100: 0, 101: 0}


@MARKED
@STATEMENTS
def test_a_row_that_is_added_after_the_commit_that_moves_rows_is_a_conflict(table, monkeypatch, statement):
    def compact_and_append(other):
        other.optimize.compact()
        write_deltalake(other.table_uri, rows({11: 5}), mode="append")

    with pytest.raises(ConcurrentAppendException):
        beside(monkeypatch, table, statement, compact_and_append)
    found = DeltaTable(table.table_uri).to_pyarrow_table()
    assert sorted(found["id"].to_pylist()) == sorted([*OLD, 11])
    assert files_on_disk(table.table_uri) == files_of_log(DeltaTable(table.table_uri))


@MARKED
@STATEMENTS
def test_a_row_that_is_changed_as_well_is_a_conflict(table, monkeypatch, statement):
    def change_and_compact(other):
        other.update({"seen": "9"}, predicate="id = 3")
        other.optimize.compact()

    with pytest.raises(CommitFailedError) as raised:
        beside(monkeypatch, table, statement, change_and_compact)
    assert raised.value.moved_in is None
    assert seen(table) == OLD | {3: 9}


@MARKED
@STATEMENTS
def test_it_is_not_run_again_where_no_retry_is_allowed(table, monkeypatch, statement):
    once = CommitProperties(max_commit_retries=1)
    version = table.version()
    with pytest.raises(CommitFailedError) as raised:
        beside(monkeypatch, table, statement, compact, z_order, commit_properties=once)
    assert raised.value.moved_in == version + 2
    assert seen(table) == OLD
    assert files_on_disk(table.table_uri) == files_of_log(DeltaTable(table.table_uri))


@MARKED
def test_a_merge_of_the_table_into_itself_is_a_conflict(table, monkeypatch):
    def merge_itself(table):
        merger = table.merge(DeltaTable(table.table_uri), "target.id = source.id + 1")
        return merger.when_matched_update({"seen": "target.seen + source.seen + 1"}).execute()

    with pytest.raises(CommitFailedError):
        beside(monkeypatch, table, merge_itself, compact)
    assert seen(table) == OLD


@MARKED
@STATEMENTS
def test_an_application_transaction_is_committed_once(table, monkeypatch, statement):
    mine = CommitProperties(app_transactions=[Transaction("load", 7)])

    def compact_as_the_same(other):
        other.optimize.compact(commit_properties=mine)

    beside(monkeypatch, table, statement, compact, commit_properties=mine)
    assert DeltaTable(table.table_uri).transaction_version("load") == 7
    mine = CommitProperties(app_transactions=[Transaction("load", 8)])
    write_deltalake(table.table_uri, rows({50: 0}), mode="append")
    table.update_incremental()
    with pytest.raises(ConcurrentTransactionException):
        beside(monkeypatch, table, statement, compact_as_the_same, commit_properties=mine)


@MARKED
def test_a_commit_that_changes_rows_while_it_moves_others_is_a_conflict(table, monkeypatch):
    """One action with a change of data is enough."""

    def compact_and_say(other):
        other.optimize.compact()
        path = f"{table.table_uri}/_delta_log/{other.version():020d}.json"
        with open(path) as file:
            actions = [json.loads(line) for line in file]
        next(action["add"] for action in actions if "add" in action)["dataChange"] = True
        with open(path, "w") as file:
            file.writelines(json.dumps(action) + "\n" for action in actions)

    with pytest.raises((ConcurrentAppendException, ConcurrentDeleteReadException)) as raised:
        beside(monkeypatch, table, delete, compact_and_say)
    assert raised.value.moved_in is None
