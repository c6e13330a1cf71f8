"""`scan_delta` reads one version, chosen when it is called; points in time choose versions, too."""

import datetime
import pickle

import polars as pl
import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import CorruptDataFileError, VersionNotFoundError
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])
DAY = datetime.timedelta(days=1)


def ids(frame):
    return sorted(frame.select("id").collect()["id"])


@pytest.mark.parametrize("partition_by", [None, ["p"]])
def test_the_version_is_chosen_when_the_frame_is_made(tmp_path, partition_by):
    """Polars opens a plain table by itself, and a partitioned one file by file."""
    rows = pa.table({"id": [1, 2], "p": ["a", "b"]})
    features = {"delta.enableDeletionVectors": "true"}
    da.write_deltalake(tmp_path, rows, partition_by=partition_by, configuration=features)
    frame = da.scan_delta(tmp_path)
    filtered, pickled = frame.filter(pl.col("id") > 1), pickle.dumps(frame)
    da.write_deltalake(tmp_path, rows, mode="append")
    da.DeltaTable(tmp_path).delete("id = 2")
    assert ids(frame) == [1, 2]
    assert ids(filtered) == [2]
    assert ids(pickle.loads(pickled)) == [1, 2]
    assert ids(da.scan_delta(tmp_path)) == [1, 1]


def test_an_opened_table_keeps_its_version(tmp_path):
    da.write_deltalake(tmp_path, pa.table({"id": [1]}))
    table = da.DeltaTable(tmp_path)
    da.write_deltalake(tmp_path, pa.table({"id": [2]}), mode="append")
    assert ids(da.scan_delta(table)) == [1]
    assert ids(da.scan_delta(table, version=1)) == [1, 2]


@pytest.fixture
def days(tmp_path):
    """One commit a day at noon of the first three days of 2026, in UTC; each adds a row."""
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA)
    noon = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
    for number in range(3):
        add = table.add_file(pa.table({"id": [number], "p": ["a"]}), stats=False)
        table.commit([add], timestamp=int((noon + number * DAY).timestamp() * 1000))
    return tmp_path, noon


@pytest.mark.parametrize(
    "spelled",
    [
        lambda time: time,
        lambda time: time.astimezone(datetime.timezone(datetime.timedelta(hours=5))),
        lambda time: time.isoformat(),
        lambda time: time.strftime("%Y-%m-%dT%H:%M:%SZ"),
    ],
)
def test_a_point_in_time_is_a_version(days, spelled):
    path, noon = days
    hour = datetime.timedelta(hours=1)
    assert ids(da.scan_delta(path, version=spelled(noon))) == [0]
    assert ids(da.scan_delta(path, version=spelled(noon + DAY - hour))) == [0]
    assert ids(da.scan_delta(path, version=spelled(noon + DAY + hour))) == [0, 1]
    assert ids(da.scan_delta(path, version=spelled(noon + 2 * DAY))) == [0, 1, 2]
    for outside in (noon - hour, noon + 9 * DAY):
        with pytest.raises(VersionNotFoundError):
            da.scan_delta(path, version=spelled(outside))


def test_a_missing_file_is_an_os_error(tmp_path):
    """So is any file that is damaged, as for who reads Parquet files without deltaarrow."""
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA)
    table.commit([table.add_file(10, name="absent.parquet")])
    opened = da.DeltaTable(tmp_path)
    for read in (
        opened.to_pyarrow_table,
        opened.to_pandas,
        lambda: da.connect().sql(f"FROM delta.`{tmp_path}`").fetchall(),
    ):
        with pytest.raises(OSError, match=r"absent\.parquet") as raised:
            read()
        assert raised.type is CorruptDataFileError
        assert pickle.loads(pickle.dumps(raised.value)).args == raised.value.args
    with pytest.raises((OSError, pl.exceptions.PolarsError), match=r"absent\.parquet"):
        da.scan_delta(tmp_path).collect()
