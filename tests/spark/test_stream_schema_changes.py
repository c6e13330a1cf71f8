"""Streams over a table whose columns change: both sources stop there and continue after a restart."""

import pytest

import deltaarrow as da
import deltaarrow.spark
from tests.support.spark import create_table

pytestmark = pytest.mark.slow

SOURCES = ("delta", "deltaarrow")


class Stream:
    """A stream that keeps what its batches bring, by a source, from a checkpoint of its own."""

    def __init__(self, spark, source, table, folder):
        self.spark, self.source, self.table, self.folder = spark, source, table, folder
        self.rows = []
        self.start()

    def start(self):
        """Load the table as it is now, and go on from the checkpoint."""
        frame = self.spark.readStream.format(self.source).load(str(self.table))
        self.columns = frame.columns
        writer = frame.writeStream.foreachBatch(lambda batch, _: self.rows.extend(batch.collect()))
        self.query = writer.option("checkpointLocation", str(self.folder / self.source)).start()

    def stopped(self):
        """Take in all there is; what the stream says where it stops, None where it goes on."""
        try:
            self.query.processAllAvailable()
        except Exception as error:
            return str(error)
        return None

    def ids(self):
        return sorted(row["id"] for row in self.rows)


ADDITIONS = (
    "ALTER TABLE {} ALTER COLUMN id DROP NOT NULL",
    "ALTER TABLE {} ADD COLUMN more INT",
    "ALTER TABLE {} ADD COLUMN st.b STRING",
)


def test_streams_stop_where_columns_change_and_go_on_when_started_anew(spark, tmp_path):
    deltaarrow.spark.register(spark)
    table = tmp_path / "table"
    name = create_table(spark, table, "id BIGINT NOT NULL, st STRUCT<a: INT>", columnMapping__mode="name")
    theirs, ours = streams = [Stream(spark, source, table, tmp_path) for source in SOURCES]

    def run(*statements):
        """Change the table; what each stream says to it."""
        for statement in statements:
            spark.sql(statement.format(name))
        said = [stream.stopped() for stream in streams]
        assert theirs.ids() == ours.ids()
        return said

    assert run("INSERT INTO {} (id) VALUES (0)") == [None, None]
    commented = "ALTER TABLE {} ALTER COLUMN st COMMENT 'x'", "COMMENT ON TABLE {} IS 'y'"
    assert run(*commented, "INSERT INTO {} (id) VALUES (1)") == [None, None]
    for number, addition in enumerate(ADDITIONS, 1):
        before, after = (f"INSERT INTO {{}} (id) VALUES ({10 * number + each})" for each in (0, 1))
        their_words, our_words = run(before, addition, after)
        assert "[DELTA_SCHEMA_CHANGED_WITH_VERSION]" in their_words
        version = da.DeltaTable(table).version() - 1
        assert f"version {version} adds columns to the table" in our_words
        assert ours.ids()[-1] == 10 * number
        for stream in streams:
            stream.start()
        assert run() == [None, None]
        assert ours.ids()[-1] == 10 * number + 1
        assert sorted(ours.rows, key=str) == sorted(theirs.rows, key=str)
    assert ours.columns == ["id", "st", "more"]

    for stream in streams:
        stream.query.stop()
    renamed = "ALTER TABLE {} RENAME COLUMN more TO other"
    for statement in ("INSERT INTO {} (id) VALUES (100)", renamed):
        spark.sql(statement.format(name))
    for stream in streams:
        stream.start()
    their_words, our_words = run()
    assert "[DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE" in their_words
    assert "'more' was renamed to 'other'; begin a new stream" in our_words
    assert ours.ids()[-1] == 31
