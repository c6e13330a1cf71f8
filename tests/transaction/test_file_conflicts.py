"""Schedules of two transactions on files: the reads and removals of the second against the first.

Each test's name is the schedule, in which the transaction under test ends last, and its verdict.
"""

import pyarrow as pa
import pytest
from pyroaring import BitMap64

from deltaarrow import DeltaTable
from deltaarrow.actions import AddCDCFile, AddFile, RemoveFile
from deltaarrow.errors import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentWriteException,
)
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from deltaarrow.transaction import OptimisticTransaction
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string())])


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


class Table(TableBuilder):
    """Partitioned by day: ids 1 and 2 on Monday, 11 and 12 on Tuesday."""

    def __init__(self, path, **configuration: str) -> None:
        super().__init__(path)
        self.features("deletionVectors").metadata(SCHEMA, ["day"], configuration)
        self.monday = self.add_file(rows(1, 2), {"day": "mon"})
        self.tuesday = self.add_file(rows(11, 12), {"day": "tue"})
        self.commit([self.monday, self.tuesday])

    def begin(self) -> OptimisticTransaction:
        store = open_store(self.path)
        return OptimisticTransaction(store=store, snapshot=Snapshot.load(store), operation="TEST")

    def append(self, *ids: int, day: str, blind: bool = True, **fields) -> None:
        self.commit([self.add_file(rows(*ids), {"day": day}, **fields)], info={"isBlindAppend": blind})

    def ids(self) -> list[int]:
        return sorted(DeltaTable(self.path).to_pyarrow_table()["id"].to_pylist())


@pytest.fixture
def table(tmp_path) -> Table:
    return Table(tmp_path, **{"delta.enableDeletionVectors": "true"})


def new_file(table: Table, *ids: int, day: str = "wed", data_change: bool = True) -> AddFile:
    add = table.add_file(rows(*ids), {"day": day})["add"]
    return AddFile(
        path=add["path"],
        partition_values=add["partitionValues"],
        size=add["size"],
        modification_time=1,
        data_change=data_change,
        stats=add["stats"],
    )


def read(transaction: OptimisticTransaction, condition: str) -> pa.Table:
    return transaction.read_files(condition)


def last_info(table: Table) -> dict:
    return DeltaTable(table.path).history(1)[0]


# --- appends ----------------------------------------------------------------------------------------


def test_append_then_append_commits(table):
    transaction = table.begin()
    table.append(21, day="wed")
    transaction.add_files([new_file(table, 31)])
    assert transaction.commit() == 2
    assert table.ids() == [1, 2, 11, 12, 21, 31]


def test_append_then_overwrite_conflicts(table):
    transaction = table.begin()
    transaction.remove_files(transaction.read_files())
    table.append(21, day="wed")
    transaction.add_files([new_file(table, 31)])
    with pytest.raises(ConcurrentAppendException, match=r"version 1 \(WRITE\)"):
        transaction.commit()
    assert table.ids() == [1, 2, 11, 12, 21]


def test_overwrite_then_append_commits(table):
    transaction = table.begin()
    transaction.add_files([new_file(table, 31)])
    table.commit(
        [table.remove(table.monday), table.remove(table.tuesday), table.add_file(rows(21), {"day": "wed"})]
    )
    assert transaction.commit() == 2
    assert table.ids() == [21, 31]


def test_append_then_read_of_its_partition_conflicts(table):
    transaction = table.begin()
    read(transaction, "day = 'mon'")
    table.append(3, day="mon")
    transaction.add_files([new_file(table, 31)])
    with pytest.raises(ConcurrentAppendException):
        transaction.commit()


def test_append_then_read_of_another_partition_commits(table):
    transaction = table.begin()
    read(transaction, "day = 'mon'")
    table.append(3, day="tue")
    transaction.add_files([new_file(table, 31)])
    assert transaction.commit() == 2


def test_append_of_the_null_partition_then_read_of_partitions_that_are_not_null_commits(table):
    transaction = table.begin()
    read(transaction, "day IS NOT NULL")
    table.append(3, day=None)
    transaction.add_files([new_file(table, 31)])
    assert transaction.commit() == 2


def test_append_then_read_of_values_in_its_bounds_conflicts(table):
    transaction = table.begin()
    read(transaction, "id > 20")
    table.append(15, 25, day="tue")
    transaction.add_files([new_file(table, 31)])
    with pytest.raises(ConcurrentAppendException):
        transaction.commit()


def test_append_then_read_of_values_outside_its_bounds_commits(table):
    transaction = table.begin()
    read(transaction, "id > 20")
    table.append(15, 19, day="tue")
    transaction.add_files([new_file(table, 31)])
    assert transaction.commit() == 2


def test_append_without_statistics_then_read_of_values_conflicts(table):
    transaction = table.begin()
    read(transaction, "id > 20")
    table.append(15, day="tue", stats=False)
    transaction.add_files([new_file(table, 31)])
    with pytest.raises(ConcurrentAppendException):
        transaction.commit()


def test_append_then_two_reads_of_which_the_second_matches_conflicts(table):
    transaction = table.begin()
    read(transaction, "day = 'mon'")
    read(transaction, "id > 20")
    table.append(25, day="tue")
    transaction.add_files([new_file(table, 31)])
    with pytest.raises(ConcurrentAppendException):
        transaction.commit()


def test_append_then_read_that_found_no_file_conflicts(table):
    transaction = table.begin()
    assert read(transaction, "day = 'sun'").num_rows == 0
    table.append(25, day="sun")
    transaction.add_files([new_file(table, 31)])
    with pytest.raises(ConcurrentAppendException):
        transaction.commit()


def test_append_then_read_of_the_whole_table_conflicts(table):
    transaction = table.begin()
    transaction.read_whole_table()
    table.append(25, day="sun")
    transaction.add_files([new_file(table, 31)])
    with pytest.raises(ConcurrentAppendException):
        transaction.commit()


def test_append_then_removal_of_a_file_that_was_not_looked_for_commits(table):
    transaction = table.begin()
    files = transaction.snapshot.files()
    transaction.remove_files(files.slice(0, 1))
    table.append(21, day="wed")
    assert transaction.commit() == 2


def test_two_appends_of_which_the_second_matches_then_read_conflicts(table):
    transaction = table.begin()
    read(transaction, "day = 'mon'")
    table.append(13, day="tue")
    table.append(3, day="mon")
    transaction.add_files([new_file(table, 31)])
    with pytest.raises(ConcurrentAppendException, match="version 2"):
        transaction.commit()


# --- removals ---------------------------------------------------------------------------------------


def test_delete_then_read_of_its_file_conflicts(table):
    transaction = table.begin()
    read(transaction, "day = 'mon'")
    table.commit([table.remove(table.monday)])
    transaction.add_files([new_file(table, 31)])
    with pytest.raises(ConcurrentDeleteReadException):
        transaction.commit()


def test_delete_then_read_of_another_file_commits(table):
    transaction = table.begin()
    read(transaction, "day = 'mon'")
    table.commit([table.remove(table.tuesday)])
    transaction.add_files([new_file(table, 31)])
    assert transaction.commit() == 2


def test_delete_then_read_of_the_whole_table_conflicts(table):
    transaction = table.begin()
    transaction.read_whole_table()
    table.commit([table.remove(table.tuesday)])
    transaction.add_files([new_file(table, 31)])
    with pytest.raises(ConcurrentDeleteReadException):
        transaction.commit()


def test_delete_of_rows_then_read_of_their_file_conflicts(table):
    transaction = table.begin()
    read(transaction, "day = 'mon'")
    table.commit(table.with_deletion_vector(table.monday, table.deletion_vector([0])))
    transaction.add_files([new_file(table, 31)])
    # The file comes back with its vector, as an added file that should have been read.
    with pytest.raises(ConcurrentAppendException):
        transaction.commit()


def test_delete_then_append_commits(table):
    transaction = table.begin()
    transaction.add_files([new_file(table, 31)])
    table.commit([table.remove(table.tuesday)])
    assert transaction.commit() == 2
    assert table.ids() == [1, 2, 31]


def test_delete_then_delete_of_the_same_file_conflicts(table):
    transaction = table.begin()
    transaction.remove_files(transaction.snapshot.files())
    table.commit([table.remove(table.tuesday)])
    with pytest.raises(ConcurrentDeleteDeleteException):
        transaction.commit()


def test_delete_then_delete_of_the_same_file_spelled_otherwise_conflicts(table):
    transaction = table.begin()
    transaction.remove_files(transaction.snapshot.files())
    path = table.tuesday["add"]["path"]
    table.commit([table.remove(table.tuesday, path=f"%{ord(path[0]):02X}{path[1:]}")])
    with pytest.raises(ConcurrentDeleteDeleteException):
        transaction.commit()


def test_delete_then_delete_of_another_file_commits(table):
    transaction = table.begin()
    files = transaction.snapshot.files()
    transaction.remove_files(files.filter(pa.array([p == table.monday["add"]["path"] for p in paths(files)])))
    table.commit([table.remove(table.tuesday)])
    assert transaction.commit() == 2
    assert table.ids() == []


def paths(files: pa.Table) -> list[str]:
    return files["path"].to_pylist()


def test_delete_of_rows_then_delete_of_other_rows_of_the_file_that_was_read_conflicts(table):
    transaction = table.begin()
    read(transaction, "day = 'mon'")
    row = row_of(transaction, table.monday)
    transaction.remove_rows(row, BitMap64([1]))
    table.commit(table.with_deletion_vector(table.monday, table.deletion_vector([0])))
    with pytest.raises(ConcurrentAppendException):
        transaction.commit()
    assert table.ids() == [2, 11, 12]
    assert len(list(table.path.rglob("*.bin"))) == 1


def row_of(transaction: OptimisticTransaction, add) -> dict:
    files = transaction.snapshot.files().to_pylist(maps_as_pydicts="strict")
    return next(row for row in files if row["log_path"] == add["add"]["path"])


# --- compaction -------------------------------------------------------------------------------------


def compact(table: Table) -> OptimisticTransaction:
    transaction = table.begin()
    transaction.remove_files(transaction.read_files(), data_change=False)
    transaction.add_files([new_file(table, 1, 2, 11, 12, day="all", data_change=False)])
    return transaction


def test_append_then_compaction_commits(table):
    transaction = compact(table)
    table.append(3, day="mon")
    assert transaction.commit() == 2
    assert last_info(table)["isolationLevel"] == "SnapshotIsolation"
    assert table.ids() == [1, 2, 3, 11, 12]


def test_delete_then_compaction_of_its_file_conflicts(table):
    transaction = compact(table)
    table.commit([table.remove(table.tuesday)])
    with pytest.raises(ConcurrentDeleteReadException):
        transaction.commit()


def test_compaction_then_read_of_its_files_conflicts(table):
    transaction = table.begin()
    read(transaction, "day = 'mon'")
    compacted = table.add_file(rows(1, 2, 11, 12), {"day": "all"}, dataChange=False)
    removes = [table.remove(each, dataChange=False) for each in (table.monday, table.tuesday)]
    table.commit([*removes, compacted])
    transaction.add_files([new_file(table, 31)])
    with pytest.raises(ConcurrentDeleteReadException):
        transaction.commit()


def test_compaction_then_append_commits(table):
    transaction = table.begin()
    transaction.add_files([new_file(table, 31)])
    compacted = table.add_file(rows(1, 2, 11, 12), {"day": "all"}, dataChange=False)
    removes = [table.remove(each, dataChange=False) for each in (table.monday, table.tuesday)]
    table.commit([*removes, compacted])
    assert transaction.commit() == 2
    assert table.ids() == [1, 2, 11, 12, 31]


# --- levels -----------------------------------------------------------------------------------------


def write_serializable(path) -> Table:
    return Table(path, **{"delta.isolationLevel": "WriteSerializable"})


def test_blind_append_then_read_at_write_serializable_commits(tmp_path):
    table = write_serializable(tmp_path)
    transaction = table.begin()
    read(transaction, "day = 'mon'")
    table.append(3, day="mon")
    transaction.add_files([new_file(table, 31)])
    assert transaction.commit() == 2
    assert last_info(table)["isolationLevel"] == "WriteSerializable"


@pytest.mark.parametrize("info", [{"isBlindAppend": False}, {}])
def test_append_that_has_read_then_read_at_write_serializable_conflicts(tmp_path, info):
    table = write_serializable(tmp_path)
    transaction = table.begin()
    read(transaction, "day = 'mon'")
    table.commit([table.add_file(rows(3), {"day": "mon"})], info=info)
    transaction.add_files([new_file(table, 31)])
    with pytest.raises(ConcurrentAppendException):
        transaction.commit()


def test_blind_append_then_read_with_new_metadata_at_write_serializable_conflicts(tmp_path):
    table = write_serializable(tmp_path)
    transaction = table.begin()
    read(transaction, "day = 'mon'")
    transaction.set_metadata(transaction.snapshot.metadata)
    table.append(3, day="mon")
    with pytest.raises(ConcurrentAppendException):
        transaction.commit()


def test_an_append_is_blind(table):
    transaction = table.begin()
    transaction.add_files([new_file(table, 31)])
    transaction.commit()
    assert last_info(table)["isBlindAppend"] is True
    assert last_info(table)["isolationLevel"] == "Serializable"


def test_an_append_that_has_read_is_not_blind(table):
    transaction = table.begin()
    read(transaction, "day = 'sun'")
    transaction.add_files([new_file(table, 31)])
    transaction.commit()
    assert last_info(table)["isBlindAppend"] is False


def test_an_append_with_change_data_is_not_blind(table):
    transaction = table.begin()
    transaction.add_files([new_file(table, 31)])
    transaction.stage([AddCDCFile(path="_change_data/f", partition_values={"day": "wed"}, size=1)])
    transaction.commit()
    assert last_info(table)["isBlindAppend"] is False


def test_a_removal_is_not_blind(table):
    transaction = table.begin()
    transaction.remove_files(transaction.snapshot.files())
    transaction.commit()
    assert last_info(table)["isBlindAppend"] is False


# --- what is missing --------------------------------------------------------------------------------


def append_without_commit_info(table: Table) -> None:
    table.append(3, day="mon")
    file = table.log / f"{1:020d}.json"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if "commitInfo" not in line))


def test_commit_without_commit_info_then_read_conflicts(table):
    transaction = table.begin()
    read(transaction, "day = 'mon'")
    append_without_commit_info(table)
    transaction.add_files([new_file(table, 31)])
    with pytest.raises(ConcurrentAppendException, match="version 1 "):
        transaction.commit()


def test_commit_without_commit_info_then_append_commits(table):
    transaction = table.begin()
    append_without_commit_info(table)
    transaction.add_files([new_file(table, 31)])
    assert transaction.commit() == 2


def test_commits_that_were_cleaned_up_then_removal_conflicts(table):
    transaction = table.begin()
    transaction.stage([RemoveFile(path=table.monday["add"]["path"], data_change=True)])
    table.append(3, day="mon")
    table.append(4, day="mon")
    table.checkpoint()
    table.delete_commits(0, 1)
    with pytest.raises(ConcurrentWriteException, match="no longer in the log"):
        transaction.commit()
