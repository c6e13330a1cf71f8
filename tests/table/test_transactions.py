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
