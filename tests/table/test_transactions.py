import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow import CommitProperties, DeltaTable, PostCommitHookProperties, Transaction, write_deltalake
from deltaarrow.errors import CommitFailedError, UnsupportedFeatureError
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64())])


@pytest.fixture
def table(tmp_path) -> DeltaTable:
    return DeltaTable.create(tmp_path, SCHEMA)


def test_leaving_the_block_commits_and_moves_the_table(table):
    with table.transaction("LOAD", commit_properties=CommitProperties({"who": "me"})) as transaction:
        transaction.set_application("etl", 1)
    assert transaction.version == table.version() == 1
    assert {"operation": "LOAD", "who": "me"}.items() <= table.history(1)[0].items()


def test_a_block_in_which_nothing_is_staged_commits_nothing(table):
    with table.transaction() as transaction:
        transaction.read_files()
    assert transaction.version is None
    assert table.version() == 0


def test_a_block_that_fails_commits_nothing_and_deletes_what_was_written(table, tmp_path):
    (tmp_path / "f.parquet").write_bytes(b"")
    add = deltaarrow.actions.AddFile(
        path="f.parquet", partition_values={}, size=0, modification_time=0, data_change=True
    )
    with pytest.raises(KeyboardInterrupt), table.transaction() as transaction:
        transaction.add_files([add])
        raise KeyboardInterrupt
    assert DeltaTable(tmp_path).version() == 0
    assert not (tmp_path / "f.parquet").exists()


def test_a_conflict_leaves_the_table_where_it_was(table, tmp_path):
    write_deltalake(tmp_path, pa.table({"id": [1]}), mode="append")
    with pytest.raises(deltaarrow.ConcurrentAppendException), DeltaTable(tmp_path, 0).transaction() as stale:
        stale.read_whole_table()
        stale.set_application("etl", 1)
    assert table.version() == 0


def test_an_application_that_is_further_already_is_refused(table):
    given = CommitProperties(app_transactions=[Transaction("etl", 1)])
    with table.transaction(commit_properties=given):
        pass
    assert table.transaction_version("etl") == 1
    with pytest.raises(CommitFailedError, match="etl already"):
        table.transaction(commit_properties=given)


def test_checkpoints_are_written_when_they_are_due(tmp_path):
    table = DeltaTable.create(tmp_path, SCHEMA, configuration={"delta.checkpointInterval": "2"})
    for number in range(4):
        hooks = PostCommitHookProperties(create_checkpoint=number < 2)
        with table.transaction(post_commithook_properties=hooks) as transaction:
            transaction.set_application("etl", number)
    found = [file.name for file in (tmp_path / "_delta_log").glob("*.checkpoint*.parquet")]
    assert found == [f"{2:020d}.checkpoint.parquet"]


def test_a_table_that_cannot_be_written_is_refused_at_once(tmp_path):
    TableBuilder(tmp_path).protocol(3, 7, [], ["icebergWriterCompatV1"]).metadata(SCHEMA).commit()
    with pytest.raises(UnsupportedFeatureError, match="icebergWriterCompatV1"):
        DeltaTable(tmp_path).transaction()


# --- several writes in one transaction ----------------------------------------------------------------


def merged(transaction, **columns):
    write_deltalake(transaction, pa.table(columns), mode="append", schema_mode="merge")


@pytest.mark.parametrize("mode", ["none", "name"])
@pytest.mark.feature("columnMapping")
def test_each_write_of_a_transaction_may_add_columns(tmp_path, mode):
    properties = {"delta.columnMapping.mode": mode} if mode == "name" else {}
    table = DeltaTable.create(tmp_path, SCHEMA, configuration=properties)
    with table.transaction() as transaction:
        merged(transaction, id=[1], a=["x"], s=[{"u": 1}])
        merged(transaction, id=[2], b=[2.5], s=[{"v": 2}])
        write_deltalake(transaction, pa.table({"b": [3.5], "a": ["y"], "id": [3]}), mode="append")
    assert table.version() == 1
    assert table.schema().names == ["id", "a", "s", "b"]
    found = DeltaTable(tmp_path).to_pyarrow_table().sort_by("id").to_pylist()
    assert found == [
        {"id": 1, "a": "x", "s": {"u": 1, "v": None}, "b": None},
        {"id": 2, "a": None, "s": {"u": None, "v": 2}, "b": 2.5},
        {"id": 3, "a": "y", "s": None, "b": 3.5},
    ]
    if mode == "name":
        ids = [field.metadata["delta.columnMapping.id"] for field in table.schema().fields]
        assert len(set(ids)) == 4
        assert table.metadata().configuration["delta.columnMapping.maxColumnId"] == "6"


def test_a_write_that_fails_leaves_the_columns_of_those_before(table, tmp_path):
    with table.transaction() as transaction:
        merged(transaction, id=[1], a=["x"])
        with pytest.raises(deltaarrow.SchemaMismatchError):
            merged(transaction, id=["text"], b=[1])
        merged(transaction, id=[2], c=[True])
    assert table.schema().names == ["id", "a", "c"]
    assert sorted(DeltaTable(tmp_path).to_pyarrow_table()["id"].to_pylist()) == [1, 2]


@pytest.mark.feature("timestampNtz")
@pytest.mark.feature("variantType")
def test_protocols_grow_with_each_write(table):
    table.alter.add_feature(deltaarrow.TableFeatures.TimestampWithoutTimezone, True)
    times = pa.array([0], pa.timestamp("us"))
    with table.transaction() as transaction:
        merged(transaction, id=[1], at=times)
        merged(transaction, id=[2], more=times)
        assert transaction.staged_snapshot.schema.names == ["id", "at", "more"]
    assert table.to_pyarrow_table().num_rows == 2


@pytest.mark.feature("identityColumns")
def test_numbers_go_on_over_writes_that_add_columns(tmp_path):
    number = {
        "delta.identity.start": 1,
        "delta.identity.step": 1,
        "delta.identity.allowExplicitInsert": False,
    }
    columns = [deltaarrow.Field("n", "long", metadata=number), deltaarrow.Field("id", "long")]
    table = DeltaTable.create(tmp_path, deltaarrow.Schema(columns))
    with table.transaction() as transaction:
        write_deltalake(transaction, pa.table({"id": [1, 2]}), mode="append")
        merged(transaction, id=[3], a=["x"])
        merged(transaction, id=[4], b=["y"])
    assert "delta.identity.schemaUpdate" not in table.history(1)[0].get("tags", {})
    rows = table.to_pyarrow_table().sort_by("id")
    assert rows["n"].to_pylist() == [1, 2, 3, 4]
    write_deltalake(tmp_path, pa.table({"id": [5]}), mode="append")
    assert max(DeltaTable(tmp_path).to_pyarrow_table()["n"].to_pylist()) == 5


def test_an_overwrite_that_changes_the_schema_may_be_followed_by_one_that_adds_to_it(table):
    write_deltalake(table, pa.table({"id": [1]}), mode="append")
    with table.transaction() as transaction:
        write_deltalake(transaction, pa.table({"k": [1]}), mode="overwrite", schema_mode="overwrite")
        merged(transaction, k=[2], z=["z"])
    assert table.to_pyarrow_table().sort_by("k").to_pylist() == [{"k": 1, "z": None}, {"k": 2, "z": "z"}]


def test_columns_that_another_writer_adds_meanwhile_are_a_conflict(table, tmp_path):
    transaction = table.transaction()
    merged(transaction, id=[1], a=["x"])
    write_deltalake(tmp_path, pa.table({"id": [1], "b": [1]}), mode="append", schema_mode="merge")
    merged(transaction, id=[2], c=["x"])
    with pytest.raises(deltaarrow.MetadataChangedException):
        transaction.commit()
    files = {path.name for path in tmp_path.glob("*.parquet")}
    assert len(files) == 1
