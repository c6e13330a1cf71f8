"""Identity columns: numbers are given once, whoever writes; chapter "Identity Columns"."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import (
    ConcurrentAppendException,
    ConstraintViolationError,
    CorruptLogError,
    DeltaProtocolError,
    MetadataChangedException,
    SchemaMismatchError,
)
from deltaarrow.operations import WriteOptions, stage_write, sync_identity
from deltaarrow.schema import Field, Schema, StructType
from deltaarrow.transaction import OptimisticTransaction
from deltaarrow.write import IdentityColumn, RowNumbering
from tests.support.tables import TableBuilder

pytestmark = pytest.mark.feature("identityColumns")

TAGS = {"delta.identity.schemaUpdate": "true"}
LEAST, GREATEST = -(2**63), 2**63 - 1


def identity(name="id", start=1, step=1, explicit=False, type="long", **more) -> Field:
    metadata = {
        "delta.identity.start": start,
        "delta.identity.step": step,
        "delta.identity.allowExplicitInsert": explicit,
    }
    return Field(name, type, metadata={key: v for key, v in (metadata | more).items() if v is not None})


def create(path, *fields: Field, **options) -> DeltaTable:
    return DeltaTable.create(path, Schema([*fields, Field("v", "string")]), **options)


def rows(count: int, **columns) -> pa.Table:
    return pa.table({"v": ["x"] * count} | columns)


def ids(path, column="id") -> list:
    return sorted(DeltaTable(path).to_pyarrow_table()[column].to_pylist(), key=lambda i: (i is None, i))


def mark(path, column="id") -> int | None:
    return DeltaTable(path).snapshot.schema.field(column).metadata.get("delta.identity.highWaterMark")


def commit_info(path, version: int) -> dict:
    log = path / "_delta_log" / f"{version:020d}.json"
    return json.loads(log.read_text().splitlines()[0])["commitInfo"]


def test_rows_are_numbered_on_from_the_high_water_mark(tmp_path):
    create(tmp_path, identity(), identity("down", start=10, step=-3, explicit=True))
    write_deltalake(tmp_path, rows(3), mode="append")
    write_deltalake(tmp_path, rows(2), mode="append")
    assert ids(tmp_path) == [1, 2, 3, 4, 5]
    assert ids(tmp_path, "down") == [-2, 1, 4, 7, 10]
    assert (mark(tmp_path), mark(tmp_path, "down")) == (5, -2)
    info = commit_info(tmp_path, 2)
    assert info["tags"] == TAGS
    assert info["isBlindAppend"]
    write_deltalake(tmp_path, rows(2), mode="overwrite")
    assert ids(tmp_path) == [6, 7]


def test_a_stream_of_many_batches_and_partitions_is_numbered_in_its_order(tmp_path):
    create(tmp_path, identity(step=2), partition_by=["v"])
    batches = [pa.record_batch({"V": pa.array(["a", "b"] * n, pa.string())}) for n in (1, 0, 70_000, 3)]
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    write_deltalake(tmp_path, reader, mode="append")
    assert ids(tmp_path) == list(range(1, 2 * 140_008, 2))
    assert mark(tmp_path) == 2 * 140_008 - 1
    table = DeltaTable(tmp_path).to_pyarrow_table(filters=[("v", "=", "b")])
    assert sorted(table["id"].to_pylist()) == list(range(3, 2 * 140_008, 4))


def test_a_write_without_rows_makes_no_version(tmp_path):
    create(tmp_path, identity())
    write_deltalake(tmp_path, rows(0), mode="append")
    assert DeltaTable(tmp_path).version() == 0


def test_data_gives_numbers_only_where_the_column_allows_it(tmp_path):
    create(tmp_path, identity("always"), identity("given", explicit=True))
    given = pa.array([7, None], pa.int64())
    with pytest.raises(SchemaMismatchError, match="'always' is GENERATED ALWAYS"):
        write_deltalake(tmp_path, rows(2, ALWAYS=given), mode="append")
    assert DeltaTable(tmp_path).version() == 0
    write_deltalake(tmp_path, rows(2, given=given), mode="append")
    assert ids(tmp_path, "given") == [7, None]
    assert mark(tmp_path, "given") is None
    write_deltalake(tmp_path, rows(1, given=pa.array([8])), mode="append")
    assert ids(tmp_path, "always") == [1, 2, 3]


def test_only_explicit_numbers_leave_the_metadata_alone(tmp_path):
    create(tmp_path, identity(explicit=True))
    write_deltalake(tmp_path, rows(1, id=pa.array([50])), mode="append")
    assert "tags" not in commit_info(tmp_path, 1)
    write_deltalake(tmp_path, rows(1), mode="append")
    assert ids(tmp_path) == [1, 50]


@pytest.mark.parametrize(
    ("start", "step", "fitting"),
    [(GREATEST - 1, 1, 2), (LEAST + 2, -1, 3), (LEAST, 2**62, 4), (GREATEST, -(2**63), 2), (GREATEST, 1, 1)],
)
def test_no_number_is_beyond_64_bits(tmp_path, start, step, fitting):
    create(tmp_path, identity(start=start, step=step))
    with pytest.raises(ConstraintViolationError, match="'id' has no numbers left"):
        write_deltalake(tmp_path, rows(fitting + 1), mode="append")
    assert DeltaTable(tmp_path).version() == 0
    assert list(tmp_path.glob("*.parquet")) == []
    write_deltalake(tmp_path, rows(fitting), mode="append")
    assert ids(tmp_path) == sorted(start + step * i for i in range(fitting))
    with pytest.raises(ConstraintViolationError, match="'id' has no numbers left"):
        write_deltalake(tmp_path, rows(1), mode="append")


@pytest.mark.parametrize(
    ("field", "options", "said"),
    [
        (identity(type="integer"), {}, "of type integer"),
        (identity(step=0), {}, "'delta.identity.step': 0"),
        (identity(step=None), {}, "cannot be an identity column"),
        (identity(start="1"), {}, "cannot be an identity column"),
        (identity(explicit="true"), {}, "cannot be an identity column"),
        (identity(start=2**63), {}, "cannot be an identity column"),
        (identity(step=2, **{"delta.identity.highWaterMark": 2}), {}, "highWaterMark"),
        (identity(), {"partition_by": ["id"]}, "partition column"),
        (identity(**{"delta.generationExpression": "1L"}), {}, "generationExpression"),
        (Field("s", StructType([identity()])), {}, "'id' inside column 's'"),
    ],
    ids=str,
)
def test_columns_that_cannot_be_identity_columns(tmp_path, field, options, said):
    with pytest.raises(SchemaMismatchError, match=said):
        create(tmp_path, field, **options)
    assert not (tmp_path / "_delta_log").exists()


def test_metadata_of_others_that_contradicts_itself_is_refused(tmp_path):
    schema = Schema([identity(**{"delta.identity.highWaterMark": "9"}), Field("v", "string")])
    table = TableBuilder(tmp_path).protocol(1, 6)
    table.metadata(pa.schema([]))
    table._staged[-1]["metaData"]["schemaString"] = schema.to_json()
    table.commit()
    with pytest.raises(CorruptLogError, match="'id'"):
        write_deltalake(tmp_path, rows(1), mode="append")


def test_a_schema_that_grows_keeps_the_mark_of_the_same_commit(tmp_path):
    create(tmp_path, identity())
    write_deltalake(tmp_path, rows(2, more=pa.array([1, 2])), mode="append", schema_mode="merge")
    assert mark(tmp_path) == 2
    assert "tags" not in commit_info(tmp_path, 1)
    assert ids(tmp_path) == [1, 2]


def test_rows_that_are_copied_keep_their_numbers(tmp_path):
    create(tmp_path, identity(), Field("k", "long"))
    write_deltalake(tmp_path, rows(3, k=pa.array([1, 2, 3])), mode="append")
    write_deltalake(tmp_path, rows(1, k=pa.array([2])), mode="overwrite", predicate="k = 2")
    assert ids(tmp_path) == [1, 3, 4]
    assert mark(tmp_path) == 4


def test_two_writes_of_one_transaction_count_on(tmp_path):
    snapshot = create(tmp_path, identity()).snapshot
    with OptimisticTransaction(store=snapshot.store, snapshot=snapshot) as transaction:
        for _ in range(2):
            stage_write(transaction, rows(2).to_reader(), WriteOptions(mode="append"))
    assert ids(tmp_path) == [1, 2, 3, 4]
    assert mark(tmp_path) == 4
    assert commit_info(tmp_path, 1)["tags"] == TAGS


# --- tasks of unknown number ----------------------------------------------------------------------------


def places(task: int, *batches: int) -> list[int]:
    """Which numbers of the sequence a task gives to rows that come in batches."""
    numbered = RowNumbering((IdentityColumn("id", 0, 1, False),)).of_task(task).begin()
    found = [numbered.extend(pa.record_batch({"v": [0] * rows}))["id"].to_pylist() for rows in batches]
    given = [place for each in found for place in each]
    assert numbered.taken == (given[-1] + 1 if given else 0)
    return given


def test_every_number_belongs_to_one_task():
    """Rows before row 63 of tasks before task 63 have all numbers of the areas of up to 32 numbers."""
    given = [place for task in range(63) for place in places(task, 63)]
    assert len(set(given)) == len(given)
    assert set(range(5 * 2**6 + 1)) <= set(given)


@pytest.mark.parametrize("task", [0, 1, 6, 4000])
def test_numbers_of_a_task_rise_and_do_not_depend_on_its_batches(task):
    rows = 5000
    whole = places(task, rows)
    assert whole == sorted(set(whole))
    assert places(task, 0, 1, 2, 0, 1000, 3, rows - 1006) == whole


@pytest.mark.parametrize(("tasks", "rows"), [(1, 1), (1, 100_000), (3, 8), (200, 1000), (1000, 1)])
def test_tasks_take_few_more_numbers_than_they_have_rows(tasks, rows):
    taken = max(places(task, rows)[-1] for task in {0, tasks // 2, tasks - 1}) + 1
    assert tasks * rows <= taken < 2 * tasks * rows * (math.log2(tasks * rows) + 1)


# --- schedules ------------------------------------------------------------------------------------------


def test_metadata_cannot_take_a_mark_back_after_the_write(tmp_path):
    table = create(tmp_path, identity())
    back = pytest.raises(DeltaProtocolError, match=r"'id' has numbered rows up to 2, but .* back to None")
    with back, table.transaction() as transaction:
        write_deltalake(transaction, rows(2), mode="append")
        transaction.set_metadata(replace(table.snapshot.metadata, description="new"))
    assert DeltaTable(tmp_path).version() == 0
    with table.transaction() as transaction:
        transaction.set_metadata(replace(table.snapshot.metadata, description="new"))
        write_deltalake(transaction, rows(2), mode="append")
    assert (ids(tmp_path), mark(tmp_path)) == ([1, 2], 2)
    assert DeltaTable(tmp_path).metadata().description == "new"


def test_a_write_that_fails_leaves_no_tag(tmp_path):
    table = create(tmp_path, identity(start=GREATEST))
    with table.transaction() as transaction:
        with pytest.raises(ConstraintViolationError):
            write_deltalake(transaction, rows(2), mode="append")
        transaction.set_application("etl", 1)
    assert "tags" not in commit_info(tmp_path, 1)


def stale(path) -> DeltaTable:
    """A handle that another writer is about to overtake."""
    table = DeltaTable(path)
    assert table.snapshot.schema.names
    return table


def test_numbering_then_numbering_conflicts(tmp_path):
    create(tmp_path, identity())
    late = stale(tmp_path)
    write_deltalake(tmp_path, rows(2), mode="append")
    with pytest.raises(MetadataChangedException):
        write_deltalake(late, rows(2), mode="append")
    assert ids(tmp_path) == [1, 2]
    assert len(list(tmp_path.glob("*.parquet"))) == 1


def test_numbering_then_explicit_numbers_commits(tmp_path):
    create(tmp_path, identity(explicit=True))
    late = stale(tmp_path)
    write_deltalake(tmp_path, rows(2), mode="append")
    write_deltalake(late, rows(1, id=pa.array([9])), mode="append")
    assert ids(tmp_path) == [1, 2, 9]
    assert mark(tmp_path) == 2


def test_writers_in_threads_never_give_one_number_twice(tmp_path):
    create(tmp_path, identity())

    def append(_: int) -> None:
        while True:
            try:
                return write_deltalake(tmp_path, rows(3), mode="append")
            except MetadataChangedException:
                pass  # another was first; this one counts anew

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(append, range(12)))
    assert ids(tmp_path) == list(range(1, 37))
    assert mark(tmp_path) == 36


# --- synchronising --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "step", "given", "expected"),
    [
        (1, 1, [50, 7], 50),
        (1, 10, [50], 51),
        (1, 10, [51], 51),
        (10, -3, [-100, 0], -101),
        (10, -3, [11], None),
        (5, 1, [4], None),
        (1, 1, [None], None),
    ],
)
def test_the_mark_moves_past_explicit_numbers(tmp_path, start, step, given, expected):
    create(tmp_path, identity(start=start, step=step, explicit=True))
    write_deltalake(tmp_path, rows(len(given), id=pa.array(given, pa.int64())), mode="append")
    assert sync_identity(DeltaTable(tmp_path).snapshot, "id") == 2
    assert mark(tmp_path) == expected
    info = commit_info(tmp_path, 2)
    assert (info["operation"], info["tags"], info["isBlindAppend"]) == ("CHANGE COLUMN", TAGS, False)


def test_the_mark_never_goes_back(tmp_path):
    create(tmp_path, identity())
    write_deltalake(tmp_path, rows(5), mode="append")
    write_deltalake(tmp_path, rows(1), mode="overwrite")
    sync_identity(DeltaTable(tmp_path).snapshot, "id")
    assert mark(tmp_path) == 6


def test_what_cannot_be_synchronised(tmp_path):
    create(tmp_path, identity(start=2, step=4, explicit=True))
    snapshot = DeltaTable(tmp_path).snapshot
    for name in ("v", "nosuch"):
        with pytest.raises(SchemaMismatchError, match=f"no identity column '{name}'"):
            sync_identity(snapshot, name)
    write_deltalake(tmp_path, rows(1, id=pa.array([GREATEST])), mode="append")
    with pytest.raises(ConcurrentAppendException):
        sync_identity(snapshot, "id")
    with pytest.raises(ConstraintViolationError, match="no numbers left"):
        sync_identity(DeltaTable(tmp_path).snapshot, "id")
