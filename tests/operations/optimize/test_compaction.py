"""Compaction: which files are rewritten, what becomes of their rows, and what is said of it."""

import datetime
import json
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaarrow.operations.optimize.rewrite_task as rewrite_task
from deltaarrow import CommitProperties, DeltaTable, Transaction, WriterProperties, write_deltalake
from deltaarrow.errors import CommitFailedError, ConcurrentDeleteReadException, InvalidPredicateError
from deltaarrow.scan.row_id_columns import ROW_COMMIT_VERSION, ROW_ID
from tests.support.many_features import changed_table
from tests.support.optimizing import rewriting
from tests.support.rows import assert_same_rows

VECTORS = {"delta.enableDeletionVectors": "true"}


def rows(ids, **columns):
    return pa.table({"id": list(ids)} | {name: [value] * len(ids) for name, value in columns.items()})


def appended(path, count, size=10, configuration=None, partition_by=None, **columns):
    """A table with so many files of so many rows."""
    for number in range(count):
        write_deltalake(
            path,
            rows(range(number * size, (number + 1) * size), **columns),
            mode="append",
            configuration=None if number else configuration,
            partition_by=partition_by,
        )
    return DeltaTable(path)


def ids(table):
    return table.to_pyarrow_table().column("id").to_pylist()


def data_files(path):
    return {str(each.relative_to(path)) for each in path.rglob("*.parquet") if "_delta_log" not in each.parts}


def test_small_files_become_one_with_their_rows_in_order(tmp_path):
    table = appended(tmp_path, 5)
    metrics = table.optimize.compact()
    assert (table.version(), len(table.file_uris())) == (5, 1)
    assert ids(table) == list(range(50))
    assert (metrics["numFilesAdded"], metrics["numFilesRemoved"]) == (1, 5)
    assert ids(DeltaTable(tmp_path, version=4)) == list(range(50))
    assert list(table.verify(deep=True)) == []


def test_a_second_time_there_is_nothing_to_do(tmp_path):
    table = appended(tmp_path, 3, configuration=VECTORS)
    table.delete("id = 1")
    table.optimize.compact()
    metrics = table.optimize.compact()
    assert table.version() == 4
    assert (metrics["numFilesAdded"], metrics["numFilesRemoved"], metrics["totalFilesSkipped"]) == (0, 0, 1)


def test_metrics_are_those_of_deltalake(tmp_path):
    table = appended(tmp_path, 2)
    sizes = [task["size_bytes"] for task in table.get_add_actions().to_pylist()]
    metrics = table.optimize.compact()
    (added,) = [task["size_bytes"] for task in table.get_add_actions().to_pylist()]
    one = {"avg": float(added), "max": added, "min": added, "totalFiles": 1, "totalSize": added}
    assert json.loads(metrics["filesAdded"]) == one
    assert json.loads(metrics["filesRemoved"]) == {
        "avg": sum(sizes) / 2,
        "max": max(sizes),
        "min": min(sizes),
        "totalFiles": 2,
        "totalSize": sum(sizes),
    }
    assert metrics["partitionsOptimized"] == metrics["numBatches"] == 1
    assert (metrics["totalConsideredFiles"], metrics["totalFilesSkipped"]) == (2, 0)


def test_history_says_what_spark_says(tmp_path):
    table = appended(tmp_path, 4, configuration=VECTORS)
    table.delete("id in (3, 13)")
    removed = table.get_add_actions().column("size_bytes").to_pylist()
    table.optimize.compact(commit_properties=CommitProperties(custom_metadata={"my_job": "night"}))
    (added,) = table.get_add_actions().column("size_bytes").to_pylist()
    (commit,) = table.history(1)
    assert commit["operation"] == "OPTIMIZE"
    assert commit["operationParameters"] == {
        "predicate": "[]",
        "zOrderBy": "[]",
        "clusterBy": "[]",
        "auto": "false",
    }
    quantiles = ("minFileSize", "p25FileSize", "p50FileSize", "p75FileSize", "maxFileSize")
    assert commit["operationMetrics"] == {
        "numAddedFiles": "1",
        "numRemovedFiles": "4",
        "numAddedBytes": str(added),
        "numRemovedBytes": str(sum(removed)),
        "numDeletionVectorsRemoved": "2",
        **dict.fromkeys(quantiles, str(added)),
    }
    assert (commit["isolationLevel"], commit["isBlindAppend"]) == ("SnapshotIsolation", False)
    assert commit["my_job"] == "night"
    log = (tmp_path / "_delta_log" / f"{table.version():020d}.json").read_text().splitlines()
    files = [action for line in log for action in json.loads(line).values() if "path" in action]
    assert [each["dataChange"] for each in files] == [False] * 5


def test_bins_are_filled_by_size_next_fit(tmp_path):
    table = appended(tmp_path, 6)
    sizes = sorted(table.get_add_actions().column("size_bytes").to_pylist())
    plan = table.optimize.compact(target_size=sum(sizes[:2]) + 2, dry_run=True)
    assert [len(each) for each in plan.paths] == [2, 2, 2]
    assert (plan.num_files, plan.num_bytes, table.version()) == (6, sum(sizes), 5)


def test_a_bin_of_one_file_is_left_alone(tmp_path):
    table = appended(tmp_path, 3)
    plan = table.optimize.compact(target_size=10, dry_run=True)
    assert (plan.bins, plan.considered) == ((), 3)


def test_large_files_are_left_alone(tmp_path):
    table = appended(tmp_path, 2)
    assert table.optimize.compact(min_file_size=10, dry_run=True).num_files == 0


@pytest.mark.parametrize(("deleted", "rewritten"), [(5, 0), (6, 1)])
def test_one_file_is_rewritten_when_too_many_of_its_rows_are_deleted(tmp_path, deleted, rewritten):
    table = appended(tmp_path, 1, size=100, configuration=VECTORS)
    table.delete(f"id < {deleted}")
    assert table.optimize.compact(min_file_size=1, dry_run=True).num_files == rewritten
    table.optimize.compact()
    assert ids(table) == list(range(deleted, 100))
    assert all(each["deletionVector"] is None for each in deletion_vectors(table)) or not rewritten


def deletion_vectors(table):
    files = table.snapshot.files(columns=["deletion_vector"])
    return [{"deletionVector": value} for value in files.column("deletion_vector").to_pylist()]


def test_a_file_without_live_rows_goes(tmp_path):
    table = appended(tmp_path, 2, configuration=VECTORS)
    write_deltalake(tmp_path, rows(range(100, 110)), mode="append")
    table = DeltaTable(tmp_path)
    with table.transaction() as transaction:
        (file, *_) = table.snapshot.files().to_pylist(maps_as_pydicts="strict")
        from pyroaring import BitMap64

        transaction.remove_rows(file, BitMap64(range(9)))
    table = DeltaTable(tmp_path)
    left = sorted(ids(table))
    table.optimize.compact()
    assert sorted(ids(table)) == left
    assert len(table.file_uris()) == 1


def test_partitions_stay_apart(tmp_path):
    for number in range(6):
        write_deltalake(
            tmp_path,
            pa.table({"id": [number], "p": [datetime.date(2026, 1, 1 + number % 2)]}),
            mode="append",
            partition_by=["p"],
        )
    table = DeltaTable(tmp_path)
    before = table.to_pyarrow_table()
    metrics = table.optimize.compact()
    assert (metrics["numFilesAdded"], metrics["partitionsOptimized"]) == (2, 2)
    assert_same_rows(table.to_pyarrow_table(), before)


@pytest.mark.parametrize(
    "chosen",
    [
        {"partition_filters": [("p", "=", "b")]},
        {"predicate": "p = 'b'"},
        {"predicate": "upper(p) = 'B'"},
        {"predicate": "p IS NOT NULL AND p > 'a'"},
    ],
    ids=str,
)
def test_a_predicate_chooses_partitions_exactly(tmp_path, chosen):
    for number in range(6):
        value = ["a", "b", None][number % 3]
        data = pa.table({"id": [number], "p": pa.array([value], pa.string())})
        write_deltalake(tmp_path, data, mode="append", partition_by=["p"])
    table = DeltaTable(tmp_path)
    plan = table.optimize.compact(**chosen, dry_run=True)
    (paths,) = plan.paths
    assert plan.considered == len(paths) == 2
    assert all(path.startswith("p=b/") for path in paths)


def test_a_predicate_is_in_history(tmp_path):
    table = appended(tmp_path, 2, partition_by=["p"], p="a")
    table.optimize.compact(predicate="p = 'a'")
    (commit,) = table.history(1)
    assert commit["operationParameters"]["predicate"] == "[\"(p = 'a')\"]"


@pytest.mark.parametrize(
    "chosen", [{"partition_filters": [("id", "=", 1)]}, {"predicate": "id = 1"}], ids=str
)
def test_a_predicate_on_data_columns_is_refused(tmp_path, chosen):
    table = appended(tmp_path, 2, partition_by=["p"], p="a")
    with pytest.raises(InvalidPredicateError, match="id"):
        table.optimize.compact(**chosen)
    assert table.version() == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"target_size": 0},
        {"target_size": 1.5},
        {"min_file_size": -1},
        {"max_concurrent_tasks": 0},
        {"max_deleted_rows_ratio": 1.1},
        {"min_commit_interval": -1},
    ],
    ids=str,
)
def test_values_out_of_range_are_refused(tmp_path, wrong):
    table = appended(tmp_path, 2)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        table.optimize.compact(**wrong)
    assert table.version() == 1


def test_every_interval_has_a_commit(tmp_path):
    for number in range(6):
        write_deltalake(tmp_path, rows([number], p=number % 3), mode="append", partition_by=["p"])
    table = DeltaTable(tmp_path)
    metrics = table.optimize.compact(min_commit_interval=datetime.timedelta(0))
    assert (metrics["numFilesAdded"], table.version()) == (3, 8)
    assert [commit["operationMetrics"]["numAddedFiles"] for commit in table.history(3)] == ["1"] * 3
    assert sorted(ids(table)) == list(range(6))


def test_an_application_is_recorded_once(tmp_path):
    for number in range(6):
        write_deltalake(tmp_path, rows([number], p=number % 3), mode="append", partition_by=["p"])
    table = DeltaTable(tmp_path)
    given = CommitProperties(app_transactions=[Transaction("maintenance", 7)])
    table.optimize.compact(min_commit_interval=0, commit_properties=given)
    assert (len(table.file_uris()), table.transaction_version("maintenance")) == (3, 7)
    with pytest.raises(CommitFailedError, match="maintenance"):
        table.optimize.compact(commit_properties=given)


def test_progress_is_told_in_bytes(tmp_path):
    for number in range(4):
        write_deltalake(tmp_path, rows([number], p=number % 2), mode="append", partition_by=["p"])
    table = DeltaTable(tmp_path)
    total = sum(table.get_add_actions().column("size_bytes").to_pylist())
    told = []
    table.optimize.compact(progress=lambda done, all_of_it: told.append((done, all_of_it)))
    assert [each[1] for each in told] == [total, total]
    assert told[-1][0] == total


def test_the_writer_properties_are_followed(tmp_path):
    table = appended(tmp_path, 2)
    table.optimize.compact(writer_properties=WriterProperties(compression="ZSTD"))
    (uri,) = table.file_uris()
    assert pq.read_metadata(uri).row_group(0).column(0).compression == "ZSTD"


@pytest.mark.parametrize("configuration", [{}, VECTORS], ids=["rewritten", "marked"])
def test_a_table_with_many_features_has_the_same_rows(tmp_path, configuration):
    table = changed_table(tmp_path, configuration)
    columns = [*table.schema().to_arrow().names, ROW_ID, ROW_COMMIT_VERSION]
    version = table.version()
    before = table.to_pyarrow_table(columns=columns)
    partitions = {(file["partition"]["year"]) for file in table.get_add_actions().to_pylist()}
    plan = table.optimize.compact(dry_run=True)
    metrics = table.optimize.compact()
    assert metrics["numFilesRemoved"] == plan.num_files
    assert_same_rows(table.to_pyarrow_table(columns=columns), before)
    assert len(table.file_uris()) == len(partitions)
    assert table.version() == version + bool(plan.bins)
    assert table.load_cdf(version + 1, allow_out_of_range=True).read_all().num_rows == 0
    assert list(table.verify(deep=True)) == []


def test_an_append_only_table_may_be_compacted(tmp_path):
    table = appended(tmp_path, 2, configuration={"delta.appendOnly": "true"})
    table.optimize.compact()
    assert ids(table) == list(range(20))


def test_statistics_of_the_new_file_are_tight(tmp_path):
    table = appended(tmp_path, 2, configuration=VECTORS)
    table.delete("id in (0, 19)")
    table.optimize.compact()
    (stats,) = map(json.loads, table.snapshot.files(columns=["stats"]).column("stats").to_pylist())
    assert stats == {
        "numRecords": 18,
        "minValues": {"id": 1},
        "maxValues": {"id": 18},
        "nullCount": {"id": 0},
        "tightBounds": True,
    }


def test_nothing_is_left_when_a_bin_fails(tmp_path, monkeypatch):
    for number in range(8):
        write_deltalake(tmp_path, rows([number], p=number % 4), mode="append", partition_by=["p"])
    table = DeltaTable(tmp_path)
    before, run = data_files(tmp_path), rewrite_task.RewriteTask.run

    def failing(task, clock):
        if task.tasks[0].partition_values == {"p": "2"}:
            raise OSError("the disk is full")
        return run(task, clock)

    monkeypatch.setattr(rewrite_task.RewriteTask, "run", failing)
    with pytest.raises(OSError, match="the disk is full"):
        table.optimize.compact()
    assert (data_files(tmp_path), DeltaTable(tmp_path).version()) == (before, 7)


@pytest.mark.parametrize("interval", [None, 0])
def test_nothing_is_left_when_the_caller_stops_it(tmp_path, interval):
    for number in range(8):
        write_deltalake(tmp_path, rows([number], p=number % 4), mode="append", partition_by=["p"])
    table = DeltaTable(tmp_path)
    told = []

    def stop(done, total):
        told.append(done)
        if len(told) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.optimize.compact(progress=stop, min_commit_interval=interval)
    after = DeltaTable(tmp_path)
    assert sorted(ids(after)) == list(range(8))
    versions = [DeltaTable(tmp_path, version=version) for version in range(after.version() + 1)]
    assert data_files(tmp_path) == {
        uri.removeprefix(f"{tmp_path}/") for version in versions for uri in version.file_uris()
    }


def test_nothing_is_left_after_a_conflict(tmp_path):
    for number in range(8):
        write_deltalake(tmp_path, rows([number], p=number % 4), mode="append", partition_by=["p"])
    table = DeltaTable(tmp_path)
    before = data_files(tmp_path)

    def interfere(done, total):
        if DeltaTable(tmp_path).version() == 7:
            DeltaTable(tmp_path).delete()

    with pytest.raises(ConcurrentDeleteReadException):
        table.optimize.compact(progress=interfere, min_commit_interval=0, max_concurrent_tasks=4)
    assert data_files(tmp_path) == before
    assert DeltaTable(tmp_path).count() == 0


def test_tasks_travel(tmp_path):
    table = changed_table(tmp_path, VECTORS)
    compaction = rewriting(table)
    for task in compaction.tasks:
        copied = pickle.loads(pickle.dumps(task)).run()
        (added,) = copied.added
        assert sum(copied.counts) == json.loads(added.stats)["numRecords"]
