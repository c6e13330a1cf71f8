"""Version checksums that we write, read by Spark, which takes a wrong one for a broken table."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyroaring import BitMap64

from deltaarrow import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltaarrow.log import VersionChecksum, read_version_checksum
from deltaarrow.storage import open_store
from tests.support.spark import delta_table, spark_rows

pytestmark = pytest.mark.spark

ROWS = pa.table({"id": pa.array(range(100), pa.int64()), "day": ["a", "b"] * 50})


def checksum(path, version: int) -> VersionChecksum:
    found = read_version_checksum(open_store(path), version)
    assert found is not None
    return found


@pytest.mark.feature("deletionVectors")
def test_spark_confirms_our_checksums_and_leads_them_on(spark, tmp_path):
    """Spark holds its replay against the checksum of the version, and raises where they differ.

    Three transactions delete rows of one file beside each other, the later two behind the earlier ones.
    """
    properties = {"delta.enableDeletionVectors": "true"}
    write_deltalake(tmp_path, ROWS, partition_by=["day"], configuration=properties)
    application = CommitProperties(app_transactions=[Transaction("etl", 1)])
    write_deltalake(tmp_path, ROWS, mode="append", commit_properties=application)
    deletes = [DeltaTable(tmp_path).transaction("DELETE") for _ in range(3)]
    for number, transaction in enumerate(deletes):
        files = transaction.read_files("day = 'a'", row_level=True).sort_by("path")
        (file, _) = files.to_pylist(maps_as_pydicts="strict")
        transaction.remove_rows(file, BitMap64(range(number * 4, number * 4 + 4)))
    for transaction in deletes:
        transaction.commit()
    rest = ROWS.filter(pc.equal(ROWS["day"], "b"))
    write_deltalake(tmp_path, rest, mode="overwrite", predicate="day = 'b'")
    ours = checksum(tmp_path, 5)
    log = spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, str(tmp_path))
    snapshot = log.update(False, getattr(log, "update$default$2")(), getattr(log, "update$default$3")())
    assert snapshot.checksumOpt().isDefined()
    assert snapshot.validateChecksum(getattr(snapshot, "validateChecksum$default$1")())
    assert snapshot.numOfFiles() == ours.num_files
    spark.sql(f"INSERT INTO {delta_table(tmp_path)} VALUES (1000, 'c')")
    assert checksum(tmp_path, 6).num_files == ours.num_files + 1
    write_deltalake(tmp_path, ROWS.slice(0, 1), mode="append")
    led_on = checksum(tmp_path, 7)
    assert (led_on.num_files, led_on.num_deleted_records) == (ours.num_files + 2, 12)
    assert DeltaTable(tmp_path).verify().ok
    assert spark_rows(spark.sql(f"SELECT count(*) AS n FROM {delta_table(tmp_path)}"))["n"][0].as_py() == 140
