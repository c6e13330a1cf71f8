"""Large checkpoints on executors: sidecars that they write, files that they choose, read by Spark."""

import pyarrow as pa
import pytest

import deltaarrow as da
import deltaarrow.spark
from deltaarrow.log import list_segment, replay, write_checkpoint
from deltaarrow.log.checkpoint_writing.row_stream import CheckpointSizes
from deltaarrow.log.limits import LogLimits
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from tests.support.conditions import predicate_of
from tests.support.rows import assert_same_rows
from tests.support.spark import delta_table, spark_rows

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

LIMITS = LogLimits(replayed_bytes=-1, listed_bytes=-1, divided_bytes=-1)
SMALL = CheckpointSizes(sidecar_rows=2, batch_rows=1)


def write(path):
    store = open_store(path)
    return write_checkpoint(replay(store, list_segment(store), limits=LIMITS), sizes=SMALL)


def test_executors_write_sidecars_and_choose_files_that_spark_reads(spark, tmp_path):
    """Eight files are four sidecars, which are two tasks; later commits change some of the files."""
    configuration = {"delta.checkpointPolicy": "v2", "delta.enableDeletionVectors": "true"}
    rows = pa.table({"id": range(80), "p": [id // 10 for id in range(80)]})
    da.write_deltalake(tmp_path, rows, configuration=configuration, partition_by="p")
    write(tmp_path)
    table = da.DeltaTable(tmp_path)
    table.delete("id IN (5, 33) OR id BETWEEN 50 AND 59")
    da.write_deltalake(tmp_path, pa.table({"id": [500], "p": [1]}), mode="append")
    wanted, old = da.DeltaTable(tmp_path).to_pyarrow_table(), set(tmp_path.rglob("_sidecars/*"))
    with deltaarrow.spark.on_executors(spark):
        snapshot = Snapshot.load(open_store(tmp_path), limits=LIMITS)
        found = snapshot.files(predicate_of("(p = 1 OR p = 6) AND id > 15", snapshot.schema), ["path"])
        write(tmp_path)
    assert found.num_rows == 3
    assert len(set(tmp_path.rglob("_sidecars/*")) - old) >= 3
    # Nothing but the new checkpoint is left of the log.
    for file in [*tmp_path.glob("_delta_log/*.json"), *tmp_path.glob("_delta_log/*.crc")]:
        if int(file.name[:20]) < table.version() + 1:
            file.unlink()
    for file in old:
        file.unlink()
    assert_same_rows(spark_rows(spark.sql(f"SELECT * FROM {delta_table(tmp_path)}")), wanted)
    assert_same_rows(da.DeltaTable(tmp_path).to_pyarrow_table(), wanted)
