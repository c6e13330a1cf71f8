"""Rows deleted by position: the actions that replace their files."""

import json
import os
from decimal import Decimal

import pyarrow as pa
import pytest
from pyroaring import BitMap64

from deltaarrow import DeltaTable
from deltaarrow.deletion_vectors import DeletionVectorDescriptor, read_deletion_vector
from deltaarrow.errors import CorruptLogError, DeltaProtocolError, UnsupportedFeatureError
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from deltaarrow.transaction import OptimisticTransaction
from tests.support.tables import EPOCH_MS, TableBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])


def build(path, **configuration: str) -> TableBuilder:
    """Files `a` with the ids 0 to 9 and `b` with 10 to 19; 12 and 13 are deleted."""
    table = TableBuilder(path).features("deletionVectors")
    table.metadata(SCHEMA, ["p"], {"delta.enableDeletionVectors": "true"} | configuration)
    ids = pa.table({"id": pa.array(range(20), pa.int64())})
    vector = table.deletion_vector([2, 3])
    tags = {"INSERTION_TIME": "1"}
    return table.commit(
        [
            table.add_file(ids.slice(0, 10), {"p": "x"}, name="a", tags=tags),
            table.add_file(ids.slice(10), {"p": None}, name="b", deletion_vector=vector),
        ]
    )


@pytest.fixture
def table(tmp_path) -> TableBuilder:
    return build(tmp_path)


def begin(table: TableBuilder) -> OptimisticTransaction:
    store = open_store(table.path)
    return OptimisticTransaction(
        store=store, snapshot=Snapshot.load(store), operation="TEST", clock=lambda: EPOCH_MS + 5
    )


def files(transaction: OptimisticTransaction) -> dict[str, dict]:
    return {row["path"]: row for row in transaction.read_files().to_pylist(maps_as_pydicts="strict")}


def ids(table: TableBuilder) -> list[int]:
    return sorted(DeltaTable(table.path).to_pyarrow_table()["id"].to_pylist())


def commit(table: TableBuilder, version: int) -> list[dict]:
    return [json.loads(line) for line in (table.log / f"{version:020d}.json").read_text().splitlines()]


def bins(table: TableBuilder) -> set[str]:
    return {os.path.relpath(file, table.path) for file in table.path.rglob("*.bin")}


def test_rows_of_several_files_are_deleted_by_vectors_in_one_file(table):
    before = bins(table)
    with begin(table) as transaction:
        found = files(transaction)
        transaction.remove_rows(found["a"], BitMap64([0, 9]))
        transaction.remove_rows(found["b"], BitMap64([0]))
    assert ids(table) == [1, 2, 3, 4, 5, 6, 7, 8, 11, 14, 15, 16, 17, 18, 19]
    assert len(bins(table) - before) == 1
    assert DeltaTable(table.path).verify(deep=True).ok


def test_what_is_deleted_stays_deleted(table):
    with begin(table) as transaction:
        transaction.remove_rows(files(transaction)["b"], BitMap64([3, 4]))
    (add,) = (action["add"] for action in commit(table, 1) if "add" in action)
    assert add["deletionVector"]["cardinality"] == 3
    assert 14 not in ids(table) and 12 not in ids(table) and len(ids(table)) == 17


def test_the_rows_of_several_calls_are_deleted_together(table):
    positions = BitMap64([1])
    with begin(table) as transaction:
        row = files(transaction)["a"]
        transaction.remove_rows(row, positions)
        positions.add(7)  # the caller's own, to do with as it likes
        transaction.remove_rows(row, BitMap64([2]))
    assert ids(table)[:3] == [0, 3, 4] and 7 in ids(table)


def test_the_place_of_a_file_is_taken_by_itself_but_for_vector_and_bounds(table):
    old = {add["path"]: add for add in table.live_files().values()}
    with begin(table) as transaction:
        transaction.remove_rows(files(transaction)["a"], BitMap64([1]))
    actions = commit(table, 1)
    (remove,) = (action["remove"] for action in actions if "remove" in action)
    (add,) = (action["add"] for action in actions if "add" in action)
    stats = json.loads(add.pop("stats"))
    assert stats == json.loads(old["a"]["stats"]) | {"tightBounds": False}
    vector = add.pop("deletionVector")
    assert vector["storageType"] == "u" and vector["offset"] == 1 and vector["cardinality"] == 1
    assert add == {key: value for key, value in old["a"].items() if key != "stats"}
    assert remove == {
        "path": "a",
        "deletionTimestamp": EPOCH_MS + 5,
        "dataChange": True,
        "extendedFileMetadata": True,
        "partitionValues": {"p": "x"},
        "size": old["a"]["size"],
        "stats": '{"numRecords":10}',
        "tags": {"INSERTION_TIME": "1"},
    }


def test_statistics_that_were_tight_with_a_vector_become_wide(tmp_path):
    table = TableBuilder(tmp_path).features("deletionVectors")
    schema = pa.schema([("id", pa.int64()), ("n", pa.int64()), ("m", pa.decimal128(38, 2))])
    table.metadata(schema, [], {"delta.enableDeletionVectors": "true"})
    least = "123456789012345678901234567890123456.78"
    stats = (
        f'{{"numRecords":4,"minValues":{{"id":2,"m":{least}}},"maxValues":{{"id":4,"m":{least}}},'
        '"nullCount":{"id":0,"n":3,"m":2},"tightBounds":true}'
    )
    rows = pa.table(
        {
            "id": [1, 2, 3, 4],
            "n": pa.array([9, None, None, None], pa.int64()),
            "m": pa.array([None, None, None, Decimal(least)], pa.decimal128(38, 2)),
        }
    )
    vector = table.deletion_vector([0])
    table.commit([table.add_file(rows, stats=stats, name="a", deletion_vector=vector)])
    with begin(table) as transaction:
        transaction.remove_rows(files(transaction)["a"], BitMap64([1]))
    (add,) = (action["add"] for action in commit(table, 1) if "add" in action)
    assert add["stats"] == stats.replace('"n":3', '"n":4').replace("true", "false")
    changed = DeltaTable(tmp_path)
    assert changed.explain("n = 9").left_files == 0
    assert changed.to_pyarrow_table(filters=[("m", "=", Decimal(least))])["id"].to_pylist() == [4]
    assert changed.verify(deep=True).ok


def test_the_remove_of_a_file_names_the_vector_that_it_had(table):
    with begin(table) as transaction:
        transaction.remove_rows(files(transaction)["b"], BitMap64([0]))
    (remove,) = (action["remove"] for action in commit(table, 1) if "remove" in action)
    (old,) = (add for add in table.live_files().values() if add["path"] == "b")
    assert remove["deletionVector"] == old["deletionVector"]


def test_a_file_whose_last_rows_are_deleted_is_removed_and_no_vector_is_written(table):
    before = bins(table)
    with begin(table) as transaction:
        transaction.remove_rows(files(transaction)["b"], BitMap64([0, 1, *range(4, 10)]))
    assert [key for action in commit(table, 1) for key in action] == ["commitInfo", "remove"]
    assert ids(table) == list(range(10))
    assert bins(table) == before


def test_rows_that_are_deleted_already_change_nothing(table):
    with begin(table) as transaction:
        found = files(transaction)
        transaction.remove_rows(found["b"], BitMap64([2, 3]))
        transaction.remove_rows(found["a"], BitMap64())
    assert [key for action in commit(table, 1) for key in action] == ["commitInfo"]
    assert len(ids(table)) == 18


@pytest.mark.parametrize("length", [None, "5"])
def test_vectors_lie_in_a_random_folder_where_files_do(tmp_path, length):
    configuration = {"delta.randomizeFilePrefixes": "true"}
    configuration |= {} if length is None else {"delta.randomPrefixLength": length}
    table = build(tmp_path, **configuration)
    before = bins(table)
    with begin(table) as transaction:
        transaction.remove_rows(files(transaction)["a"], BitMap64([0]))
    (made,) = bins(table) - before
    assert len(made.partition("/")[0]) == int(length or 2)
    (add,) = (action["add"] for action in commit(table, 1) if "add" in action)
    assert add["deletionVector"]["pathOrInlineDv"].startswith(made.partition("/")[0])
    assert ids(table)[0] == 1


def test_positions_beyond_the_file_are_refused_and_nothing_is_left(table):
    before = bins(table)
    transaction = begin(table)
    transaction.remove_rows(files(transaction)["a"], BitMap64([10]))
    with pytest.raises(ValueError, match="a has 10 rows, so there is none at position 10"):
        transaction.commit()
    assert bins(table) == before and DeltaTable(table.path).version() == 0


def test_a_file_without_a_row_count_is_refused(tmp_path):
    table = TableBuilder(tmp_path).features("deletionVectors")
    table.metadata(SCHEMA.remove(1), configuration={"delta.enableDeletionVectors": "true"})
    table.commit([table.add_file(pa.table({"id": [1, 2]}), name="a", stats=False)])
    transaction = begin(table)
    transaction.remove_rows(files(transaction)["a"], BitMap64([0]))
    with pytest.raises(CorruptLogError, match="a has no numRecords"):
        transaction.commit()


def test_a_file_as_it_was_in_another_version_is_refused(table):
    row = files(begin(table))["a"]
    with begin(table) as transaction:
        transaction.remove_rows(row, BitMap64([0]))
    for stale in (row, row | {"path": "gone"}):
        transaction = begin(table)
        transaction.remove_rows(stale, BitMap64([1]))
        with pytest.raises(DeltaProtocolError, match="is not live in version 1"):
            transaction.commit()
    assert DeltaTable(table.path).version() == 1


def test_vectors_that_are_not_switched_on_are_refused(tmp_path):
    table = build(tmp_path, **{"delta.enableDeletionVectors": "false"})
    transaction = begin(table)
    with pytest.raises(UnsupportedFeatureError, match=r"delta\.enableDeletionVectors"):
        transaction.remove_rows(files(transaction)["a"], BitMap64([0]))


def test_vectors_of_a_refused_commit_are_deleted_again(table):
    before = bins(table)
    transaction = begin(table)
    found = files(transaction)
    transaction.remove_rows(found["a"], BitMap64([0]))
    table.commit([table.txn("etl", 1)]).metadata(SCHEMA, ["p"], name="other").commit()
    with pytest.raises(Exception, match="metadata"):
        transaction.commit()
    assert bins(table) == before


def test_a_second_vector_holds_what_the_first_did(table):
    with begin(table) as transaction:
        transaction.remove_rows(files(transaction)["a"], BitMap64([5]))
    with begin(table) as transaction:
        transaction.remove_rows(files(transaction)["a"], BitMap64([6]))
    store = open_store(table.path)
    rows = Snapshot.load(store).files().to_pylist()
    vectors = {
        row["path"]: list(
            read_deletion_vector(store, DeletionVectorDescriptor(**row["deletion_vector"])).bitmap
        )
        for row in rows
    }
    assert vectors == {"a": [5, 6], "b": [2, 3]}
