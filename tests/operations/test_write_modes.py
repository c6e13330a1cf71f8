import json

import pyarrow as pa
import pytest

from deltaarrow import CommitProperties, DeltaTable, PostCommitHookProperties, write_deltalake
from deltaarrow.errors import (
    CommitFailedError,
    ConstraintViolationError,
    DeltaError,
    InvalidTablePropertyError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from tests.support.tables import TableBuilder

ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "day": ["a", "b"]})


def rows(path) -> list[tuple]:
    table = DeltaTable(path).to_pyarrow_table()
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def actions(path, version: int) -> list[dict]:
    return [
        json.loads(line) for line in (path / "_delta_log" / f"{version:020d}.json").read_text().splitlines()
    ]


def test_append_adds_rows(tmp_path):
    write_deltalake(tmp_path, ROWS, mode="append")
    write_deltalake(tmp_path, ROWS, mode="append")
    assert rows(tmp_path) == [(1, "a"), (1, "a"), (2, "b"), (2, "b")]


def test_overwrite_replaces_all_rows_and_keeps_the_past(tmp_path):
    write_deltalake(tmp_path, ROWS)
    write_deltalake(tmp_path, ROWS.slice(0, 1), mode="overwrite")
    assert rows(tmp_path) == [(1, "a")]
    past = DeltaTable(tmp_path, version=0)
    assert past.count() == 2
    removed = [action["remove"] for action in actions(tmp_path, 1) if "remove" in action]
    assert [r["path"] for r in removed] == [a["add"]["path"] for a in actions(tmp_path, 0) if "add" in a]
    assert removed[0]["dataChange"] and removed[0]["extendedFileMetadata"]
    assert [r["stats"] for r in removed] == [a["add"]["stats"] for a in actions(tmp_path, 0) if "add" in a]


def test_overwrite_removes_deletion_vectors_with_their_files(tmp_path):
    table = TableBuilder(tmp_path).features("deletionVectors").metadata(pa.schema([("id", pa.int64())]))
    add = table.add_file(pa.table({"id": [1, 2, 3]}))
    table.commit([add]).commit(table.with_deletion_vector(add, table.deletion_vector([1])))
    write_deltalake(tmp_path, pa.table({"id": [9]}), mode="overwrite")
    assert rows(tmp_path) == [(9,)]
    (removed,) = [action["remove"] for action in actions(tmp_path, 2) if "remove" in action]
    assert removed["deletionVector"]["cardinality"] == 1


def test_error_refuses_a_table_that_exists(tmp_path):
    write_deltalake(tmp_path, ROWS)
    with pytest.raises(CommitFailedError, match="already"):
        write_deltalake(tmp_path, ROWS)
    assert DeltaTable(tmp_path).version() == 0


def test_ignore_leaves_a_table_that_exists_alone(tmp_path):
    write_deltalake(tmp_path, ROWS, mode="ignore")
    write_deltalake(tmp_path, ROWS, mode="ignore")
    assert DeltaTable(tmp_path).version() == 0


def test_an_unknown_mode_is_refused(tmp_path):
    with pytest.raises(ValueError, match="upsert"):
        write_deltalake(tmp_path, ROWS, mode="upsert")


def test_partitions_of_a_new_table(tmp_path):
    write_deltalake(tmp_path, ROWS, partition_by="day")
    table = DeltaTable(tmp_path)
    assert table.metadata().partition_columns == ["day"]
    assert {path.parent.name for path in tmp_path.rglob("*.parquet")} == {"day=a", "day=b"}
    assert sorted(p["day"] for p in table.partitions()) == ["a", "b"]
    assert rows(tmp_path) == [(1, "a"), (2, "b")]


def test_other_partitions_than_the_table_has_are_refused(tmp_path):
    write_deltalake(tmp_path, ROWS, partition_by=["day"])
    with pytest.raises(SchemaMismatchError, match="partitioned by"):
        write_deltalake(tmp_path, ROWS, mode="append", partition_by=["id"])


def test_extra_columns_are_refused_with_the_list_of_them(tmp_path):
    write_deltalake(tmp_path, ROWS)
    wider = ROWS.append_column("x", pa.array([1, 2])).append_column("y", pa.array([1, 2]))
    with pytest.raises(SchemaMismatchError, match=r"x.*y"):
        write_deltalake(tmp_path, wider, mode="append")
    assert DeltaTable(tmp_path).version() == 0


def test_a_missing_column_is_null(tmp_path):
    write_deltalake(tmp_path, ROWS)
    write_deltalake(tmp_path, ROWS.select(["id"]).slice(0, 1), mode="append")
    table = DeltaTable(tmp_path).to_pyarrow_table()
    assert sorted(map(str, table["day"].to_pylist())) == ["None", "a", "b"]


def test_null_for_a_column_that_is_not_null_is_refused_and_leaves_no_file(tmp_path):
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    DeltaTable.create(tmp_path, schema)
    with pytest.raises(ConstraintViolationError, match="id"):
        write_deltalake(tmp_path, pa.table({"id": pa.array([1, None], pa.int64())}), mode="append")
    assert not list(tmp_path.rglob("*.parquet"))
    assert DeltaTable(tmp_path).version() == 0


def test_a_source_that_fails_midway_leaves_nothing(tmp_path):
    def batches():
        yield pa.record_batch({"id": pa.array(range(1000))})
        raise RuntimeError("source failed")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), batches())
    with pytest.raises(RuntimeError, match="source failed"):
        write_deltalake(tmp_path / "t", reader)
    assert not list(tmp_path.rglob("*.parquet"))
    assert not DeltaTable.is_deltatable(tmp_path / "t")


def test_append_only_is_honoured(tmp_path):
    write_deltalake(tmp_path, ROWS, configuration={"delta.appendOnly": "true"})
    write_deltalake(tmp_path, ROWS, mode="append")
    with pytest.raises(DeltaError, match="appendOnly"):
        write_deltalake(tmp_path, ROWS, mode="overwrite")
    assert DeltaTable(tmp_path).count() == 4


@pytest.mark.parametrize(
    ("protocol", "metadata", "feature"),
    [
        ((1, 7, None, ["inventedByNobody"]), {}, "inventedByNobody"),
    ],
)
def test_a_writer_feature_is_refused_by_its_name_before_a_file_is_written(
    tmp_path, protocol, metadata, feature
):
    table = TableBuilder(tmp_path).protocol(*protocol).metadata(pa.schema([("id", pa.int64())]))
    table.commit()
    with pytest.raises(DeltaError, match=feature):
        write_deltalake(tmp_path, pa.table({"id": [1]}), mode="append")
    assert not list(tmp_path.rglob("*.parquet"))


def test_commit_info_is_as_spark_has_it(tmp_path):
    write_deltalake(tmp_path, ROWS, partition_by=["day"])
    write_deltalake(
        tmp_path, ROWS, mode="append", commit_properties=CommitProperties(custom_metadata={"load": "nightly"})
    )
    info = actions(tmp_path, 1)[0]["commitInfo"]
    assert info["operation"] == "WRITE"
    assert info["operationParameters"]["mode"] == "Append"
    assert info["readVersion"] == 0
    assert info["isBlindAppend"] is True
    assert info["isolationLevel"] == "Serializable"
    assert info["operationMetrics"]["numOutputRows"] == "2"
    assert info["operationMetrics"]["numFiles"] == "2"
    assert info["load"] == "nightly"
    assert info["operationParameters"] == {"mode": "Append", "partitionBy": "[]"}
    assert DeltaTable(tmp_path).history(1)[0]["version"] == 1
    assert json.loads(actions(tmp_path, 0)[0]["commitInfo"]["operationParameters"]["partitionBy"]) == ["day"]


def test_a_checkpoint_is_written_every_so_many_commits(tmp_path):
    write_deltalake(tmp_path, ROWS, configuration={"delta.checkpointInterval": "3"})
    for _ in range(6):
        write_deltalake(tmp_path, ROWS, mode="append")
    found = sorted(path.name for path in (tmp_path / "_delta_log").glob("*.checkpoint.parquet"))
    assert found == [f"{3:020d}.checkpoint.parquet", f"{6:020d}.checkpoint.parquet"]
    assert json.loads((tmp_path / "_delta_log" / "_last_checkpoint").read_text())["version"] == 6
    for version in range(7):
        (tmp_path / "_delta_log" / f"{version:020d}.json").unlink()
    assert DeltaTable(tmp_path).count() == 14


def test_checkpoints_can_be_turned_off(tmp_path):
    write_deltalake(tmp_path, ROWS, configuration={"delta.checkpointInterval": "1"})
    hooks = PostCommitHookProperties(create_checkpoint=False)
    write_deltalake(tmp_path, ROWS, mode="append", post_commithook_properties=hooks)
    assert not list((tmp_path / "_delta_log").glob("*checkpoint*"))


def test_a_checkpoint_that_fails_does_not_fail_the_commit(tmp_path, monkeypatch, caplog):
    write_deltalake(tmp_path, ROWS, configuration={"delta.checkpointInterval": "1"})
    monkeypatch.setattr(
        "deltaarrow.log.write_checkpoint",
        lambda *args, **kwargs: (_ for _ in ()).throw(OSError("disk full")),
    )
    write_deltalake(tmp_path, ROWS, mode="append")
    assert DeltaTable(tmp_path).version() == 1
    assert "maintain_log failed after version 1" in caplog.text


def test_unknown_fields_outlive_the_checkpoint_that_was_due(tmp_path, caplog):
    table = TableBuilder(tmp_path).protocol()
    table.metadata(pa.schema([("id", pa.int64())]), (), {"delta.checkpointInterval": "2"})
    table.commit().commit([{"txn": {"appId": "a", "version": 1, "fromTheFuture": 5}}])
    write_deltalake(tmp_path, pa.table({"id": [1]}), mode="append")
    assert DeltaTable(tmp_path).version() == 2
    assert "txn.fromTheFuture" in caplog.text
    with pytest.raises(UnsupportedFeatureError, match=r"txn\.fromTheFuture"):
        DeltaTable(tmp_path).create_checkpoint()
    assert not list((tmp_path / "_delta_log").glob("*checkpoint*"))


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("target_file_size", "1MB"),
        ("target_file_size", 1e6),
        ("target_file_size", True),
        ("writer_properties", {}),
        ("writer_properties", {"compression": "ZSTD"}),
        ("writer_properties", "ZSTD"),
    ],
)
def test_an_argument_of_another_type_is_refused_by_its_name(tmp_path, argument, value):
    with pytest.raises(TypeError, match=argument):
        write_deltalake(tmp_path, ROWS, **{argument: value})
    assert not list(tmp_path.iterdir())


def test_properties_may_be_given_again_and_not_changed(tmp_path):
    for _ in range(2):
        write_deltalake(tmp_path, ROWS, mode="append", configuration={"delta.checkpointInterval": "7"})
    assert DeltaTable(tmp_path).version() == 1
    with pytest.raises(InvalidTablePropertyError, match="checkpointInterval"):
        write_deltalake(tmp_path, ROWS, mode="append", configuration={"delta.checkpointInterval": "8"})
    assert DeltaTable(tmp_path).version() == 1


def test_a_table_object_moves_to_the_version_that_was_written(tmp_path):
    write_deltalake(tmp_path, ROWS)
    table = DeltaTable(tmp_path)
    write_deltalake(table, ROWS, mode="append")
    assert (table.version(), table.count()) == (1, 4)
