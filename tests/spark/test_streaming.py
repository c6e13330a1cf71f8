"""``spark.readStream.format("deltaarrow")`` and delta-spark's stream, each stopped after every step."""

import json

import pyarrow as pa
import pytest

import deltaarrow as da
import deltaarrow.spark
from tests.support.rows import assert_same_rows
from tests.support.spark import create_table, spark_rows


@pytest.fixture(scope="module", autouse=True)
def registered(spark):
    deltaarrow.spark.register(spark)


def refused(pattern):
    """Spark raises exceptions of its own; what ours said is in their texts."""
    return pytest.raises(Exception, match=f"(?s){pattern}")


def load(spark, path, source="deltaarrow", **options):
    return spark.readStream.format(source).options(**options).load(str(path))


def run(frame, checkpoint):
    """Let a stream go from a checkpoint to the end of its table; return the batches that hold rows."""
    batches = []
    writer = frame.writeStream.foreachBatch(lambda batch, _: batches.append(spark_rows(batch)))
    writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()
    return [batch for batch in batches if batch.num_rows]


class Both:
    """The stream of delta-spark and ours over one table, with the same options and a checkpoint each."""

    def __init__(self, spark, table, checkpoints, **options):
        self.spark, self.table, self.checkpoints, self.options = spark, table, checkpoints, options

    def run(self, **further):
        """Start both anew, hold the batches of one against those of the other, and return them."""
        theirs, ours = (
            run(
                load(self.spark, self.table, source, **self.options, **further),
                self.checkpoints / source,
            )
            for source in ("delta", "deltaarrow")
        )
        assert [batch.num_rows for batch in ours] == [batch.num_rows for batch in theirs]
        for own, other in zip(ours, theirs, strict=True):
            assert_same_rows(own, other)
        return ours


def counts(batches):
    return [batch.num_rows for batch in batches]


def forget(commits):
    """Have Spark forget that the last batch was done, as if it was stopped just before it noted that."""
    last = max(int(path.name) for path in commits.iterdir() if path.name.isdecimal())
    for name in (f"{last}", f".{last}.crc"):
        (commits / name).unlink()


@pytest.mark.slow
def test_batches_are_those_of_delta_spark(spark, tmp_path):
    table = tmp_path / "table"
    properties = {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true"}
    parts = [number % 3 for number in range(300)]
    rows = pa.table({"id": range(300), "old": ["a"] * 300, "p": pa.array(parts, pa.int32())})
    da.write_deltalake(table, rows, partition_by=["p"], configuration=properties)
    da.DeltaTable(table).delete("id % 10 = 1")
    da.DeltaTable(table).alter.rename_column("old", "new")
    both = Both(spark, table, tmp_path, maxFilesPerTrigger=2)
    assert counts(both.run()) == [180, 90]
    more = da.DeltaTable(table).to_pyarrow_table().slice(0, 5)
    da.write_deltalake(table, more, mode="append")
    assert counts(both.run()) == [more.num_rows]
    da.DeltaTable(table).delete("id = 0")
    with refused("UnsupportedFeatureError: version 4 changes rows.*skipChangeCommits"):
        run(load(spark, table), tmp_path / "deltaarrow")


def test_rows_go_from_our_source_to_our_sink_exactly_once(spark, tmp_path):
    source, sink, checkpoint = (tmp_path / name for name in ("source", "sink", "checkpoint"))
    for number in range(2):
        da.write_deltalake(source, pa.table({"id": [number]}), mode="append")

    def copy():
        writer = load(spark, source, maxFilesPerTrigger=1).writeStream.format("deltaarrow")
        writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start(
            str(sink)
        ).awaitTermination()

    def copied():
        return sorted(da.DeltaTable(sink).to_pyarrow_table()["id"].to_pylist())

    copy()
    assert copied() == [0, 1]
    assert da.DeltaTable(sink).version() == 1
    forget(checkpoint / "commits")
    da.write_deltalake(source, pa.table({"id": [2, 3]}), mode="append")
    copy()
    assert copied() == [0, 1, 2, 3]
    table = da.DeltaTable(sink)
    assert table.version() == 2
    query = json.loads((checkpoint / "metadata").read_text())["id"]
    assert table.transaction_version(query) == 2
    newest = table.history(1)[0]
    assert newest["operation"] == "STREAMING UPDATE"
    assert newest["operationParameters"] == {"outputMode": "Append", "queryId": query, "epochId": "2"}
    assert newest["isBlindAppend"] is True


@pytest.mark.slow
def test_stream_that_is_refused_says_why(spark, tmp_path):
    da.write_deltalake(tmp_path, pa.table({"id": [1]}))
    with refused("unknown option 'maxfilespertriger'"):
        load(spark, tmp_path, maxFilesPerTriger=1)
    with refused("startingVersion requires readChangeFeed"):
        spark.read.format("deltaarrow").option("startingVersion", 0).load(str(tmp_path)).count()
    for options, said in [
        ({"versionAsOf": 0}, "unknown option 'versionasof'"),
        ({"readChangeFeed": "true"}, "ChangeDataNotRecordedError: .* off in version 0"),
    ]:
        with refused(said):
            run(load(spark, tmp_path, **options), tmp_path / "checkpoint")


@pytest.mark.slow
def test_feed_is_that_of_delta_spark(spark, tmp_path):
    table = tmp_path / "table"
    columns = "id BIGINT, s STRING, at TIMESTAMP_NTZ, v STRUCT<a: INT, b: ARRAY<STRING>>"
    name = create_table(spark, table, columns, enableDeletionVectors="true", enableChangeDataFeed="true")
    values = "TIMESTAMP_NTZ '2026-01-01 00:00:00', named_struct('a', 1, 'b', array('x', null))"
    spark.sql(f"INSERT INTO {name} SELECT id, 'a', {values} FROM range(0, 100, 1, 2)")
    begun = Both(spark, table, tmp_path / "snapshot", readChangeFeed="true", maxFilesPerTrigger=1)
    assert counts(begun.run()) == [50, 50]
    spark.sql(f"UPDATE {name} SET s = 'b' WHERE id < 10")
    spark.sql(f"DELETE FROM {name} WHERE id >= 90")
    spark.sql(f"OPTIMIZE {name}")
    assert counts(begun.run()) == [20, 10]
    spark.sql(
        f"MERGE INTO {name} t USING (SELECT 5L id UNION ALL SELECT 500L) u ON t.id = u.id"
        f" WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, s) VALUES (u.id, 'c')"
    )
    spark.sql(f"ALTER TABLE {name} ADD COLUMN more INT")
    spark.sql(f"INSERT INTO {name} (id, more) VALUES (600, 1)")
    found = begun.run()
    assert [row["more"] for batch in found for row in batch.to_pylist()] == [None, None, 1]
    since = Both(spark, table, tmp_path / "commits", readChangeFeed="true", startingVersion=2)
    assert sum(counts(since.run())) == 20 + 10 + 2 + 1


@pytest.mark.slow
def test_stream_goes_on_after_each_kind_of_commit(spark, tmp_path):
    table = tmp_path / "table"
    name = create_table(spark, table, "id BIGINT", enableDeletionVectors="true")
    spark.sql(f"INSERT INTO {name} SELECT id FROM range(0, 10, 1, 2)")
    both = Both(spark, table, tmp_path, skipChangeCommits="true")
    assert counts(both.run()) == [10]
    for number in range(3):
        spark.sql(f"INSERT INTO {name} VALUES ({100 + number})")
    spark.sql(f"OPTIMIZE {name}")
    spark.sql(f"DELETE FROM {name} WHERE id = 1")
    spark.sql(f"UPDATE {name} SET id = -id WHERE id = 2")
    assert counts(both.run(maxFilesPerTrigger=2)) == [2, 1]
    spark.sql(f"INSERT OVERWRITE {name} VALUES (7)")
    spark.sql(f"INSERT INTO {name} VALUES (8)")
    assert counts(both.run()) == [1]
    changed = Both(spark, table, tmp_path / "changes", startingVersion=1, ignoreChanges="true")
    assert sum(counts(changed.run())) > 15

    frame = load(spark, table, skipChangeCommits="true")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN s STRING")
    spark.sql(f"INSERT INTO {name} VALUES (9, 'new')")
    with refused("SchemaMismatchError: version [0-9]+ adds columns to the table.*load the stream again"):
        run(frame, tmp_path / "deltaarrow")
    assert [batch.to_pylist() for batch in both.run()] == [[{"id": 9, "s": "new"}]]
    first = Both(
        spark, table, tmp_path / "first", startingVersion=0, maxBytesPerTrigger="1b", ignoreChanges="true"
    )
    assert len(first.run()) > 5
    forget(tmp_path / "first" / "deltaarrow" / "commits")
    assert counts(
        run(load(spark, table, startingVersion=0, ignoreChanges="true"), tmp_path / "first" / "deltaarrow")
    ) == [1]


@pytest.mark.slow
def test_first_batch_is_repeated_as_it_was_whatever_came_meanwhile(spark, tmp_path):
    table, checkpoint = tmp_path / "table", tmp_path / "checkpoint"
    da.write_deltalake(table, pa.table({"id": [1, 2]}))
    [first] = run(load(spark, table), checkpoint)
    forget(checkpoint / "commits")
    da.write_deltalake(table, pa.table({"id": [3]}), mode="append")
    repeated, following = run(load(spark, table), checkpoint)
    assert_same_rows(repeated, first)
    assert following["id"].to_pylist() == [3]


@pytest.mark.slow
def test_stream_that_runs_on_takes_in_what_comes(spark, tmp_path):
    table = tmp_path / "table"
    spark.range(3).write.format("deltaarrow").mode("append").save(str(table))
    stream = load(spark, table).writeStream.format("memory").queryName("taken")
    query = stream.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    for number in range(3, 6):
        query.processAllAvailable()
        assert spark.table("taken").count() == number
        spark.range(number, number + 1).write.format("deltaarrow").mode("append").save(str(table))
    query.processAllAvailable()
    batches = query.lastProgress["batchId"]
    assert sorted(row["id"] for row in spark.table("taken").collect()) == list(range(6))
    da.DeltaTable(table).alter.set_table_properties({"delta.appendOnly": "false"})
    query.processAllAvailable()
    assert query.lastProgress["batchId"] <= batches + 1
    da.DeltaTable(table).delete("id = 1")
    with refused("version 5 changes rows"):
        query.processAllAvailable()
