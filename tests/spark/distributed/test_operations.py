"""Operations on executors of Spark beside the same operations on one node: the same commits and rows."""

import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import deltaarrow as da
import deltaarrow.spark
from deltaarrow.errors import ConstraintViolationError, UnsupportedFeatureError
from deltaarrow.runtime.executors import using
from deltaarrow.spark.executor import SparkExecutor
from deltaarrow.spark.tables import DeltaTable
from deltaarrow.spark.tables.statement_session import EXECUTORS
from tests.support.distributed import COPYING, EVERYTHING, Twins, tracked
from tests.support.rows import assert_same_rows
from tests.support.spark import delta_table, spark_rows
from tests.support.vacuum import put, stored, vacuum

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def judged(spark, path):
    return spark_rows(spark.sql(f"SELECT * FROM {delta_table(path)}"))


def test_changes_with_vectors_make_the_same_commits(spark, tmp_path):
    # Four files would be two tasks, each with new files of its own.
    twins = Twins(tmp_path, EVERYTHING, files=1, partition_by="p")
    for operation in (
        lambda table: table.delete("id % 10 = 3"),
        lambda table: table.update({"n": "n + id"}, predicate="id % 5 = 1"),
        lambda table: table.update(new_values={"n": 7}, predicate="p = 'p1' AND id < 10"),
        lambda table: table.optimize.compact(),
    ):
        twins.run(deltaarrow.spark.on_executors(spark), operation)
    twins.assert_same_commits()
    assert_same_rows(tracked(twins.there), tracked(twins.here))
    assert_same_rows(judged(spark, twins.there), da.DeltaTable(twins.here).to_pyarrow_table())


def test_copies_and_layouts_and_deleted_files_are_the_same(spark, tmp_path):
    twins = Twins(tmp_path, COPYING)
    for operation in (
        lambda table: table.update({"n": "n + 1"}, predicate="id % 5 = 1"),
        lambda table: table.optimize.z_order(["n"]),
        lambda table: table.analyze(full=True),
    ):
        twins.run(deltaarrow.spark.on_executors(spark), operation)
    twins.assert_same_commits()
    here, there = twins.run(
        deltaarrow.spark.on_executors(spark),
        lambda table: table.vacuum(0, dry_run=False, enforce_retention_duration=False),
    )
    assert len(here) == len(there) > 0
    assert not any(Path(twins.there, name).exists() for name in there)
    assert_same_rows(tracked(twins.there), tracked(twins.here))
    assert_same_rows(judged(spark, twins.there), da.DeltaTable(twins.here).to_pyarrow_table())


def test_the_folders_of_a_vacuum_are_listed_on_executors(spark, tmp_path, monkeypatch):
    """Twenty small folders are two tasks."""
    here, there = tmp_path / "here", tmp_path / "there"
    rows = pa.table({"id": range(60), "p": [id % 20 for id in range(60)]})
    settings = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}
    da.write_deltalake(here, rows, partition_by="p", configuration=settings)
    da.DeltaTable(here).update({"id": "id + 1000"}, predicate="id IN (4, 44, 50)")
    da.DeltaTable(here).delete("p = 19")
    put(here, "stray", "p=3/stray", "p=3/deep/er/stray", "p=3/_hidden/f", "p=5/inner/_delta_log/0.json")
    put(here, "p=5/inner/f", "p=6/empty/", "p=7/young", days=-1)
    os.utime(here / "p=6/empty", (0, 0))
    (here / "p=8" / "link").symlink_to("../p=9")
    shutil.copytree(here, there, symlinks=True)
    jobs, real = [], SparkExecutor._answers
    monkeypatch.setattr(
        SparkExecutor, "_answers", lambda self, given: jobs.append(given) or real(self, given)
    )
    options = {"full": True, "listed_here": 0, "dry_run": False}
    wanted = vacuum(here, 0, **options)
    assert not jobs
    with deltaarrow.spark.on_executors(spark):
        assert vacuum(there, 0, **options) == wanted
    # Two tasks list, one deletes.
    assert [len(bundles) for bundles in jobs] == [2, 1]
    assert {"stray", "p=3/stray", "p=3/deep/er/stray"} < {*wanted}
    assert stored(there) == stored(here)
    assert {"p=5/inner/f", "p=7/young", "p=3/_hidden/f"} < stored(there)
    metrics = [
        [each["operationMetrics"] for each in da.DeltaTable(path).history(2)] for path in (here, there)
    ]
    assert metrics[0] == metrics[1]
    assert_same_rows(judged(spark, there), da.DeltaTable(here).to_pyarrow_table())


class SmallParts(SparkExecutor):
    """Gives a task one file, however small it is."""

    def parts(self, sizes):
        return [[place] for place in range(len(sizes))]


def test_a_divided_z_order_has_the_rows_and_ids_of_one_node(spark, tmp_path):
    twins = Twins(tmp_path, EVERYTHING, files=4)
    for path in (twins.here, twins.there):
        da.DeltaTable(path).delete("id % 10 = 3")
    said = twins.run(
        using(SmallParts(spark)), lambda table: table.optimize.z_order(["n", "id"], target_size=1500)
    )
    assert min(each["numFilesAdded"] for each in said) > 2
    assert da.DeltaTable(twins.there).version() == da.DeltaTable(twins.here).version()
    assert_same_rows(tracked(twins.there), tracked(twins.here))
    assert_same_rows(judged(spark, twins.there), da.DeltaTable(twins.here).to_pyarrow_table())
    assert [*twins.there.glob("*.arrow")] == []


NEWS = pa.table({"id": [7, 8, 250, 5000, 5001], "n": [70, 80, 25, 50, 51], "p": ["p1", "p0", "x", "y", "y"]})


def upsert(table):
    merger = table.merge(NEWS, "t.id = s.id", source_alias="s", target_alias="t")
    merger = merger.when_matched_delete("s.id = 8").when_matched_update_all().when_not_matched_insert_all()
    return merger.execute()


def test_a_merge_of_few_files_makes_the_same_commit(spark, tmp_path):
    twins = Twins(tmp_path, EVERYTHING)
    twins.run(deltaarrow.spark.on_executors(spark), upsert)
    twins.assert_same_commits()
    assert_same_rows(tracked(twins.there), tracked(twins.here))
    assert_same_rows(judged(spark, twins.there), da.DeltaTable(twins.here).to_pyarrow_table())


def test_a_merge_in_parts_changes_the_same_rows_and_refuses_the_same_source(spark, tmp_path):
    """Nine small files are three tasks, and the new rows are a fourth one."""
    twins = Twins(tmp_path, EVERYTHING, files=9)
    here, there = twins.run(deltaarrow.spark.on_executors(spark), upsert)
    counts = [name for name in here if name.startswith("num_target_rows")]
    assert {name: there[name] for name in counts} == {name: here[name] for name in counts}
    assert_same_rows(judged(spark, twins.there), da.DeltaTable(twins.here).to_pyarrow_table())
    feeds = [pa.table(da.DeltaTable(path).load_cdf(9).read_all()) for path in (twins.here, twins.there)]
    assert_same_rows(*(feed.drop_columns(["_commit_timestamp"]) for feed in feeds))
    assert da.DeltaTable(twins.there).verify(deep=True).ok

    def refused(path):
        twice = pa.concat_tables([NEWS, NEWS.slice(2, 1)])
        with pytest.raises(UnsupportedFeatureError) as raised:
            merger = da.DeltaTable(path).merge(twice, "target.id = source.id")
            merger.when_matched_update_all().when_not_matched_insert_all().execute()
        return str(raised.value)

    wanted, files = refused(twins.here), sorted(twins.there.rglob("*.*"))
    with deltaarrow.spark.on_executors(spark):
        assert refused(twins.there) == wanted
    assert sorted(twins.there.rglob("*.*")) == files


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_a_merge_takes_a_frame_of_spark_and_its_facade_too(spark, tmp_path):
    twins = Twins(tmp_path, {"delta.enableDeletionVectors": "true"}, files=9)
    upsert(da.DeltaTable(twins.here))
    frame = spark.createDataFrame(NEWS)
    with deltaarrow.spark.on_executors(spark):
        table = DeltaTable.forPath(spark, str(twins.there)).alias("t")
        merge = table.merge(frame.alias("s"), "t.id = s.id").whenMatchedDelete("s.id = 8")
        counts = merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute().first()
    assert (counts["num_updated_rows"], counts["num_inserted_rows"]) == (2, 2)
    assert_same_rows(judged(spark, twins.there), da.DeltaTable(twins.here).to_pyarrow_table())
    assert len(da.DeltaTable(twins.there).history(1)[0]["operationMetrics"]) > 10


def test_a_clone_and_a_conversion_are_the_same(spark, tmp_path):
    twins, target = Twins(tmp_path, {}, partition_by="p"), tmp_path / "clone"
    wanted = da.DeltaTable(twins.here).to_pyarrow_table()
    with deltaarrow.spark.on_executors(spark):
        assert da.DeltaTable(twins.there).clone(target, shallow=False)["numCopiedFiles"] == 4
        assert_same_rows(judged(spark, target), wanted)
        shutil.rmtree(target / "_delta_log")
        da.convert_to_deltalake(target, partition_by={"p": "string"})
    assert_same_rows(judged(spark, target), wanted)
    assert da.DeltaTable(target).history(1)[0]["operation"] == "CONVERT"


def test_a_failed_task_leaves_no_commit_and_no_file(spark, tmp_path):
    """Nine small files are three tasks, of which two succeed."""
    twins = Twins(tmp_path, COPYING, files=9)
    before = sorted(twins.there.rglob("*.parquet"))

    def fail(path):
        with pytest.raises(ConstraintViolationError) as raised:
            da.DeltaTable(path).update({"n": "IF(id = 850, 1 / 0, 1)"}, predicate="id % 3 = 1")
        assert da.DeltaTable(path).version() == 8
        return raised.value

    wanted = fail(twins.here)
    with deltaarrow.spark.on_executors(spark):
        found = fail(twins.there)
    assert str(found) == str(wanted)
    assert "on an executor of Spark" in found.__notes__[0]
    assert sorted(twins.there.rglob("*.parquet")) == before


def test_a_setting_of_the_session_lets_tables_of_spark_use_executors(spark, tmp_path, monkeypatch):
    da.write_deltalake(tmp_path, pa.table({"id": range(10)}))
    jobs, real = [], SparkExecutor._answers
    monkeypatch.setattr(
        SparkExecutor, "_answers", lambda self, given: jobs.append(given) or real(self, given)
    )
    table = DeltaTable.forPath(spark, str(tmp_path))
    table.delete("id = 3")
    assert not jobs
    spark.conf.set(EXECUTORS, "True")
    try:
        table.delete("id = 4")
        assert jobs
        spark.conf.set(EXECUTORS, "maybe")
        with pytest.raises(da.errors.DeltaError, match="true or false, not 'maybe'"):
            table.delete("id = 5")
    finally:
        spark.conf.unset(EXECUTORS)
    assert sorted(da.DeltaTable(tmp_path).to_pyarrow_table()["id"].to_pylist()) == [0, 1, 2, 5, 6, 7, 8, 9]
