"""Values that name a version: integers of any library, texts, datetimes and dates, and nothing else."""

import os
from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, scan_delta, write_deltalake
from deltaarrow.errors import VersionNotFoundError

ROWS = pa.table({"id": [1]})
DAY = 86_400


@pytest.fixture
def path(tmp_path):
    for day in range(3):
        write_deltalake(tmp_path, ROWS, mode="append")
        os.utime(tmp_path / f"_delta_log/{day:020}.json", (day * DAY + 3_600, day * DAY + 3_600))
    return tmp_path


@pytest.mark.parametrize(
    ("wanted", "version"),
    [
        (0, 0),
        (np.int64(1), 1),
        (np.uint8(2), 2),
        (date(1970, 1, 2), 0),
        (date(1970, 1, 3), 1),
        (datetime(1970, 1, 2, 1), 1),
        (datetime(1970, 1, 2, 0, 59, tzinfo=UTC), 0),
        ("1970-01-03", 1),
        ("1970-01-03T01:00:00Z", 2),
    ],
)
def test_a_version_is_an_integer_or_a_point_in_time(path, wanted, version):
    assert DeltaTable(path, version=wanted).version() == version
    table = DeltaTable(path)
    table.load_as_version(wanted)
    assert table.version() == version
    assert type(table.version()) is int
    for source in (path, DeltaTable(path)):
        assert scan_delta(source, version=wanted).collect().height == version + 1


@pytest.mark.parametrize(
    "wanted", [True, False, 1.0, np.float64(1), np.bool_(True), b"1", [1], np.array([1, 2])]
)
def test_nothing_else_is_a_version(path, wanted):
    with pytest.raises(TypeError, match="an int, an ISO 8601 text, a datetime or a date, not "):
        DeltaTable(path, version=wanted)
    with pytest.raises(TypeError, match="an int, an ISO 8601 text, a datetime or a date, not "):
        DeltaTable(path).load_as_version(wanted)
    with pytest.raises(TypeError, match="an int, an ISO 8601 text, a datetime or a date, not "):
        scan_delta(path, version=wanted)


@pytest.mark.parametrize("wanted", [-1, np.int64(-1), 3, 10**30, date(1969, 12, 31)])
def test_a_version_that_is_not_there_is_not_found(path, wanted):
    with pytest.raises(VersionNotFoundError):
        DeltaTable(path, version=wanted)


def test_a_text_that_is_no_time_is_refused(path):
    with pytest.raises(ValueError, match="abc"):
        DeltaTable(path, version="abc")
