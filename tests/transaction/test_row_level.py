"""Schedules of two or more transactions on rows of one file, read and changed row by row.

Each test's name is the schedule, in which the transaction under test ends last, and its verdict.
"""

import contextlib
import json
import os

import pyarrow as pa
import pytest
from pyroaring import BitMap64

import deltaarrow.scan as scan
from deltaarrow import DeltaTable
from deltaarrow.deletion_vectors import DeletionVectorDescriptor, read_deletion_vector
from deltaarrow.errors import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentWriteException,
)
from deltaarrow.expressions import TRUE
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import parse_condition
from deltaarrow.storage import open_store
from deltaarrow.transaction import OptimisticTransaction, Search
from tests.support.row_changes import (
    SCHEMA,
    add_rows,
    as_rows,
    delete_rows,
    find_rows,
    id_matcher,
    insert_missing,
    update_rows,
)
from tests.support.row_tracking import PROPERTIES
from tests.support.tables import TableBuilder

pytestmark = pytest.mark.feature("deletionVectors")

MARKED = {"delta.enableDeletionVectors": "true"}


def rows(ids: range) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "seen": pa.array([0] * len(ids), pa.int64())})


class Table(TableBuilder):
    """Files `a` with the ids 0 to 9 and `b` with 10 to 19."""

    def __init__(self, path, **configuration: str) -> None:
        super().__init__(path)
        self.features("deletionVectors").metadata(SCHEMA, configuration=MARKED | configuration)
        self.a = self.add_file(rows(range(10)), name="a", tags={"of": "a"})
        self.b = self.add_file(rows(range(10, 20)), name="b")
        self.commit([self.a, self.b])

    def begin(self) -> OptimisticTransaction:
        store = open_store(self.path)
        return OptimisticTransaction(store=store, snapshot=Snapshot.load(store), operation="TEST")

    def run(self, change, *ids: int) -> int:
        transaction = self.begin()
        change(transaction, ids)
        return transaction.commit()

    def seen(self) -> dict[int, int]:
        found = DeltaTable(self.path).to_pyarrow_table().to_pylist()
        assert len({row["id"] for row in found}) == len(found)
        return {row["id"]: row["seen"] for row in found}

    def missing(self) -> list[int]:
        return sorted(set(range(20)) - self.seen().keys())

    def vectors(self) -> dict[str, list[int]]:
        """The rows that are deleted of each live file."""
        store = open_store(self.path)
        return {
            file["path"]: list(
                read_deletion_vector(store, DeletionVectorDescriptor(**file["deletion_vector"])).bitmap
            )
            for file in as_rows(Snapshot.load(store).files())
            if file["deletion_vector"] is not None
        }

    def bins(self) -> set[str]:
        return {os.path.relpath(file, self.path) for file in self.path.rglob("*.bin")}

    def bins_of_log(self) -> set[str]:
        """The vector files that the table has use for, be it for tombstones."""
        snapshot = Snapshot.load(open_store(self.path))
        vectors = [*snapshot.files()["deletion_vector"], *snapshot.tombstones()["deletion_vector"]]
        return {DeletionVectorDescriptor(**each.as_py()).file_name() for each in vectors if each.is_valid}

    def actions(self, version: int, kind: str) -> list[dict]:
        lines = (self.log / f"{version:020d}.json").read_text().splitlines()
        return [action[kind] for line in lines if kind in (action := json.loads(line))]


@pytest.fixture
def table(tmp_path):
    table = Table(tmp_path)
    yield table
    assert DeltaTable(tmp_path).verify(deep=True).ok
    assert table.bins() == table.bins_of_log()


# --- rows that both delete ----------------------------------------------------------------------------


def test_delete_of_rows_then_delete_of_others_of_the_file_commits(table):
    transaction = table.begin()
    delete_rows(transaction, [3, 4, 11])
    table.run(delete_rows, 1, 2)
    assert transaction.commit() == 2
    assert table.missing() == [1, 2, 3, 4, 11]
    assert table.vectors() == {"a": [1, 2, 3, 4], "b": [1]}


def test_delete_of_rows_then_delete_of_others_without_a_read_commits(table):
    transaction = table.begin()
    (file, _) = as_rows(transaction.snapshot.files())
    transaction.remove_rows(file, BitMap64([5]))
    table.run(delete_rows, 1)
    assert transaction.commit() == 2
    assert table.missing() == [1, 5]


def test_delete_of_rows_then_delete_of_one_of_them_conflicts(table):
    transaction = table.begin()
    delete_rows(transaction, [2, 3, 4])
    table.run(delete_rows, 1, 2, 3)
    with pytest.raises(ConcurrentDeleteDeleteException, match=r"version 1 \(TEST\): 2 of a;"):
        transaction.commit()
    assert table.missing() == [1, 2, 3]


def test_delete_of_rows_of_two_files_then_delete_of_the_same_conflicts(table):
    transaction = table.begin()
    delete_rows(transaction, [2, 12, 13])
    table.run(delete_rows, 2, 12, 13)
    with pytest.raises(ConcurrentDeleteDeleteException, match="1 of a and 2 of other files"):
        transaction.commit()


def test_delete_of_rows_then_delete_of_all_others_removes_the_file(table):
    transaction = table.begin()
    delete_rows(transaction, range(5))
    table.run(delete_rows, *range(5, 10))
    before = table.bins()
    assert transaction.commit() == 2
    assert table.missing() == list(range(10))
    (remove,) = table.actions(2, "remove")
    assert remove["path"] == "a" and remove["deletionVector"]["cardinality"] == 5
    assert not table.actions(2, "add") and table.bins() == before


def test_removal_of_a_file_then_delete_of_its_rows_conflicts(table):
    transaction = table.begin()
    delete_rows(transaction, [3])
    table.commit([table.remove(table.a)])
    with pytest.raises(ConcurrentDeleteReadException):
        transaction.commit()


def test_delete_of_rows_then_removal_of_their_file_conflicts(table):
    transaction = table.begin()
    transaction.remove_files(transaction.read_files("id < 10", row_level=True))
    table.run(delete_rows, 1)
    with pytest.raises(ConcurrentAppendException):
        transaction.commit()
    assert table.missing() == [1]


def test_delete_of_rows_then_removal_of_their_file_without_a_read_conflicts(table):
    transaction = table.begin()
    transaction.remove_files(transaction.snapshot.files())
    table.run(delete_rows, 1)
    with pytest.raises(ConcurrentDeleteDeleteException):
        transaction.commit()
    assert table.missing() == [1]


def test_delete_of_rows_then_read_of_their_whole_file_conflicts(table):
    transaction = table.begin()
    delete_rows(transaction, [3])
    transaction.read_files("id = 7")
    table.run(delete_rows, 1)
    with pytest.raises(ConcurrentAppendException):
        transaction.commit()


def test_delete_of_rows_then_read_of_the_whole_table_conflicts(table):
    transaction = table.begin()
    delete_rows(transaction, [3])
    transaction.read_whole_table()
    table.run(delete_rows, 1)
    with pytest.raises(ConcurrentAppendException):
        transaction.commit()


@pytest.mark.parametrize("left", [[2], [2, 7, 8, 9]])
def test_restored_rows_then_delete_of_rows_of_the_file_conflicts(table, left):
    """Rows that came back may be such as were looked for."""
    table.run(delete_rows, 1, 2, 8)
    transaction = table.begin()
    delete_rows(transaction, [1, 3])
    deleted = {"add": table.actions(1, "add")[0]}
    table.commit(table.with_deletion_vector(deleted, table.deletion_vector(left)), version=2)
    with pytest.raises(ConcurrentAppendException):
        transaction.commit()
    assert table.missing() == left


# --- rows that are read -------------------------------------------------------------------------------


def test_delete_of_a_row_then_insert_because_it_was_there_conflicts(table):
    transaction = table.begin()
    insert_missing(transaction, [3, 30])
    table.run(delete_rows, 3)
    with pytest.raises(ConcurrentDeleteReadException, match=r"rows .* read were deleted by .*: 1 of a;"):
        transaction.commit()


def test_delete_of_a_row_then_insert_that_relies_on_another_commits(table):
    transaction = table.begin()
    insert_missing(transaction, [3, 30])
    table.run(delete_rows, 4)
    assert transaction.commit() == 2
    assert table.seen()[30] == 0 and table.missing() == [4]


def test_insert_of_a_row_then_insert_where_it_is_missing_conflicts(table):
    transaction = table.begin()
    insert_missing(transaction, [30])
    table.run(insert_missing, 30, 31)
    with pytest.raises(ConcurrentAppendException):
        transaction.commit()


def test_removal_of_a_file_then_search_that_found_nothing_in_it_commits(table):
    transaction = table.begin()
    assert find_rows(transaction, [4, 11])[0][0]["path"] in "ab"
    transaction.read.rows.clear()
    add_rows(transaction, {30: 0})
    table.commit([table.remove(table.a)])
    assert transaction.commit() == 2


def test_rewrite_of_a_file_then_delete_of_rows_elsewhere_commits(table):
    """The rows of the rewritten file were looked at before, and none matched; they still do not."""
    table.run(delete_rows, 4)
    transaction = table.begin()
    delete_rows(transaction, [4, 12])
    rewriter = table.begin()
    rewriter.remove_files(rewriter.read_files("id < 10"))
    add_rows(rewriter, {each: 7 for each in range(10) if each != 4})
    assert rewriter.commit() == 2
    assert transaction.commit() == 3
    assert table.missing() == [4, 12] and table.seen()[3] == 7


def test_rewrite_of_a_file_then_delete_of_its_rows_conflicts(table):
    transaction = table.begin()
    delete_rows(transaction, [3])
    rewriter = table.begin()
    rewriter.remove_files(rewriter.read_files("id < 10"), data_change=False)
    add_rows(rewriter, dict.fromkeys(range(10), 0), data_change=False)
    rewriter.commit()
    with pytest.raises(ConcurrentAppendException):
        transaction.commit()


# --- rows that come -----------------------------------------------------------------------------------


def test_update_then_update_of_other_rows_commits(table):
    transaction = table.begin()
    update_rows(transaction, [1, 5, 15])
    table.run(update_rows, 0, 9, 19)
    assert transaction.commit() == 2
    assert sorted(each for each, seen in table.seen().items() if seen) == [0, 1, 5, 9, 15, 19]
    assert table.missing() == []


def test_update_then_update_of_rows_in_its_bounds_that_only_statistics_tell_of_conflicts(table):
    transaction = table.begin()
    update_rows(transaction, [5], exact=False)
    table.run(update_rows, 0, 9)
    with pytest.raises(ConcurrentAppendException):
        transaction.commit()


def test_update_then_update_of_rows_outside_its_bounds_commits(table):
    transaction = table.begin()
    update_rows(transaction, [5], exact=False)
    table.run(update_rows, 0, 4)
    assert transaction.commit() == 2
    assert {each for each, seen in table.seen().items() if seen} == {0, 4, 5}


def test_update_then_update_of_the_same_row_conflicts(table):
    transaction = table.begin()
    update_rows(transaction, [5, 6])
    table.run(update_rows, 6)
    with pytest.raises(ConcurrentDeleteDeleteException, match="1 of a"):
        transaction.commit()
    assert table.seen()[6] == 1 and table.seen()[5] == 0


def test_append_of_a_row_that_matches_then_delete_conflicts(table):
    transaction = table.begin()
    delete_rows(transaction, [5, 30])
    table.run(lambda other, ids: add_rows(other, dict.fromkeys(ids, 0)), 20, 30, 40)
    with pytest.raises(ConcurrentAppendException):
        transaction.commit()


def test_append_of_rows_that_do_not_match_then_delete_commits(table):
    transaction = table.begin()
    delete_rows(transaction, [5, 30])
    table.run(lambda other, ids: add_rows(other, dict.fromkeys(ids, 0)), 20, 31, 40)
    assert transaction.commit() == 2


def test_large_files_that_may_match_conflict_without_a_look_at_them():
    search = Search(TRUE, matcher=lambda files: pytest.fail("looked at"))
    assert search.may_match(pa.table({"size": [32 << 20, 33 << 20]}))
    assert not Search(TRUE, matcher=lambda files: False).may_match(pa.table({"size": [32 << 20, 31 << 20]}))


def test_append_that_statistics_rule_out_then_delete_commits_without_a_look_at_it(table):
    transaction = table.begin()
    transaction.read_files("id = 30", row_level=True, matcher=lambda files: pytest.fail("looked at"))
    table.run(lambda other, ids: add_rows(other, dict.fromkeys(ids, 0)), 40, 41)
    add_rows(transaction, {50: 0})
    assert transaction.commit() == 2


def test_blind_append_then_delete_at_write_serializable_commits_without_a_look_at_it(tmp_path):
    table = Table(tmp_path, **{"delta.isolationLevel": "WriteSerializable"})
    transaction = table.begin()
    transaction.read_files("id = 30", row_level=True, matcher=lambda files: pytest.fail("looked at"))
    table.run(lambda other, ids: add_rows(other, dict.fromkeys(ids, 0)), 30)
    add_rows(transaction, {50: 0})
    assert transaction.commit() == 2


def test_a_matcher_is_given_the_files_that_came_and_may_match(table):
    given = []
    transaction = table.begin()
    matcher = id_matcher(transaction.store, [30])
    transaction.read_files(
        "id = 30", row_level=True, matcher=lambda files: given.append(files) or matcher(files)
    )
    other = table.begin()
    add_rows(other, {40: 0})
    name = add_rows(other, {20: 0, 40: 0})
    delete_rows(other, [5])
    other.commit()
    add_rows(transaction, {50: 0})
    assert transaction.commit() == 2
    (files,) = given
    assert files["path"].to_pylist() == [name]
    assert files.schema.names == transaction.snapshot.files().schema.names


@pytest.mark.parametrize(("ids", "is_committed"), [((20, 31, 40), True), ((20, 30, 40), False)])
def test_a_matcher_may_scan_the_files_that_came(table, ids, is_committed):
    transaction = table.begin()
    snapshot = transaction.snapshot
    condition = parse_condition("id = 30 AND seen = 0", snapshot.schema)

    def matcher(files: pa.Table) -> bool:
        plan = scan.ScanPlan(scan.table_layout(snapshot), snapshot.version, ("id", "seen"), files)
        return any(True for _ in scan.find_matches(plan, condition))

    transaction.read_files(condition.predicate, row_level=True, matcher=matcher)
    add_rows(transaction, {50: 0})
    table.run(lambda other, ids: add_rows(other, dict.fromkeys(ids, 0)), *ids)
    with contextlib.nullcontext() if is_committed else pytest.raises(ConcurrentAppendException):
        transaction.commit()
    assert DeltaTable(table.path).version() == 1 + is_committed


# --- what comes of it ---------------------------------------------------------------------------------


def test_three_writers_rebase_one_after_the_other(table):
    transactions = [table.begin() for _ in range(4)]
    for number, transaction in enumerate(transactions):
        delete_rows(transaction, [number, 10 + number])
    for number, transaction in enumerate(transactions):
        assert transaction.commit() == 1 + number
    assert table.vectors() == {"a": [0, 1, 2, 3], "b": [0, 1, 2, 3]}
    assert DeltaTable(table.path).history(1)[0]["readVersion"] == 0


def test_the_rebased_file_is_the_one_of_the_earlier_commit_but_for_its_vector(table):
    transaction = table.begin()
    delete_rows(transaction, [3])
    vector = table.deletion_vector([1])
    stats = json.loads(table.a["add"]["stats"]) | {"tightBounds": False}
    theirs = table.a["add"] | {"deletionVector": vector, "stats": json.dumps(stats), "tags": {"of": "them"}}
    table.commit([table.remove(table.a), {"add": theirs}])
    transaction.commit()
    (remove,), (add,) = table.actions(2, "remove"), table.actions(2, "add")
    assert remove["deletionVector"] == vector and remove["tags"] == {"of": "them"}
    assert add["deletionVector"]["cardinality"] == 2
    assert json.loads(add.pop("stats")) == stats
    assert {**add, "deletionVector": vector} == {key: each for key, each in theirs.items() if key != "stats"}


def test_delete_of_rows_spelled_otherwise_then_delete_of_others_commits(table):
    transaction = table.begin()
    delete_rows(transaction, [3])
    theirs = table.a["add"] | {"path": "%61", "deletionVector": table.deletion_vector([1])}
    table.commit([table.remove(table.a, path="%61"), {"add": theirs}])
    assert transaction.commit() == 2
    assert table.missing() == [1, 3]


def test_commits_with_a_checkpoint_between_then_delete_of_other_rows_commits(table):
    transaction = table.begin()
    delete_rows(transaction, [3])
    table.run(delete_rows, 1)
    DeltaTable(table.path).create_checkpoint()
    table.run(delete_rows, 2)
    assert transaction.commit() == 3
    assert table.vectors() == {"a": [1, 2, 3]}


def test_commits_that_were_cleaned_up_then_delete_of_other_rows_conflicts(table):
    transaction = table.begin()
    delete_rows(transaction, [3])
    table.run(delete_rows, 1)
    table.run(delete_rows, 2)
    DeltaTable(table.path).create_checkpoint()
    (table.log / f"{1:020d}.json").unlink()
    with pytest.raises(ConcurrentWriteException, match="no longer in the log"):
        transaction.commit()
    assert table.missing() == [1, 2]


def come_first(monkeypatch, transaction: OptimisticTransaction, *winners) -> list[set[str]]:
    """Let others commit right before each put of the transaction, and note which vectors there are then."""
    real, pending, seen = type(transaction.store).put_if_absent, list(winners), []

    def put(self, name, data):
        if self is transaction.store:
            seen.append({each.name for each in self.list_from("") if each.name.endswith(".bin")})
            if pending:
                pending.pop(0)()
        real(self, name, data)

    monkeypatch.setattr(type(transaction.store), "put_if_absent", put)
    return seen


def test_vectors_of_a_try_that_came_too_late_are_deleted(table, monkeypatch):
    transaction = table.begin()
    delete_rows(transaction, [3, 13])
    seen = come_first(
        monkeypatch,
        transaction,
        lambda: table.run(delete_rows, 1),
        lambda: table.run(lambda other, ids: add_rows(other, dict.fromkeys(ids, 0)), 20),
        lambda: table.run(delete_rows, 2),
    )
    assert transaction.commit() == 4
    assert table.vectors() == {"a": [1, 2, 3], "b": [3]}
    assert [len(each) for each in seen] == [1, 2, 2, 3]
    assert seen[1] == seen[2], "files that stayed as they were keep their vectors"
    assert not seen[0] & seen[1], "and the others get new ones"


def test_vectors_of_a_conflict_after_a_try_that_came_too_late_are_deleted(table, monkeypatch):
    transaction = table.begin()
    delete_rows(transaction, [3])
    come_first(monkeypatch, transaction, lambda: table.run(delete_rows, 1), lambda: table.run(delete_rows, 3))
    with pytest.raises(ConcurrentDeleteDeleteException):
        transaction.commit()
    assert table.vectors() == {"a": [1, 3]}


def test_new_files_are_kept_while_vectors_are_written_anew(table, monkeypatch):
    transaction = table.begin()
    update_rows(transaction, [3, 4])
    come_first(monkeypatch, transaction, lambda: table.run(update_rows, 1, 9))
    assert transaction.commit() == 2
    assert {each for each, seen in table.seen().items() if seen} == {1, 3, 4, 9}


@pytest.mark.feature("rowTracking")
def test_three_updates_of_other_rows_keep_and_follow_on_with_row_ids(tmp_path):
    table = TableBuilder(tmp_path).features("deletionVectors", writer_only=["rowTracking", "domainMetadata"])
    table.metadata(SCHEMA, configuration=MARKED | PROPERTIES).commit()
    store = open_store(tmp_path)
    begin = lambda: OptimisticTransaction(store=store, snapshot=Snapshot.load(store))  # noqa: E731
    with begin() as transaction:
        name = add_rows(transaction, dict.fromkeys(range(10), 0))
    transactions = [begin() for _ in range(3)]
    for number, transaction in enumerate(transactions):
        update_rows(transaction, [number, 9 - number])
    for transaction in transactions:
        transaction.commit()
    files = {file["path"]: file for file in as_rows(Snapshot.load(store).files())}
    first = files.pop(name)
    assert (first["base_row_id"], first["default_row_commit_version"]) == (0, 1)
    assert first["deletion_vector"]["cardinality"] == 6
    given = sorted((file["base_row_id"], file["default_row_commit_version"]) for file in files.values())
    assert given == [(10, 2), (12, 3), (14, 4)]
    domain = json.loads(Snapshot.load(store).domains["delta.rowTracking"].configuration)
    assert domain["rowIdHighWaterMark"] == 15
    for version in (2, 3, 4):
        info = DeltaTable(tmp_path, version=version).history(1)[0]
        assert info["tags"] == {"delta.rowTracking.preserved": "true"}
    assert DeltaTable(tmp_path).verify(deep=True).ok
