"""`sink_delta` runs lazy frames of Polars into tables."""

import subprocess
import sys

import polars as pl
import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import CommitFailedError, SchemaMismatchError

FRAME = pl.LazyFrame({"id": [1, 2, 3], "p": ["a", "b", "b"]})


def ids(path):
    return sorted(da.DeltaTable(path).to_pyarrow_table()["id"].to_pylist())


def test_modes_are_those_of_polars(tmp_path):
    assert da.sink_delta(FRAME, tmp_path).version == 0
    with pytest.raises(CommitFailedError, match="is a Delta table already"):
        da.sink_delta(FRAME, tmp_path)
    assert da.sink_delta(FRAME, tmp_path, mode="ignore").version is None
    table = da.DeltaTable(tmp_path)
    assert da.sink_delta(FRAME.filter(pl.col("id") == 3), table, mode="append").version == 1
    assert table.version() == 1
    assert ids(tmp_path) == [1, 2, 3, 3]
    options = {"predicate": "p = 'b'"}
    da.sink_delta(FRAME.filter(pl.col("id") == 2), tmp_path, mode="overwrite", delta_write_options=options)
    assert ids(tmp_path) == [1, 2]
    da.sink_delta(FRAME.head(0), tmp_path, mode="overwrite")
    assert ids(tmp_path) == []


def test_merge_returns_a_merger(tmp_path):
    da.sink_delta(FRAME, tmp_path)
    changes = pl.LazyFrame({"id": [3, 4], "p": ["new", "new"]})
    options = {"predicate": "s.id = t.id", "source_alias": "s", "target_alias": "t"}
    merger = da.sink_delta(changes, tmp_path, mode="merge", delta_merge_options=options)
    merger.when_matched_update_all().when_not_matched_insert_all().execute()
    rows = da.DeltaTable(tmp_path).to_pyarrow_table().sort_by("id").to_pydict()
    assert rows == {"id": [1, 2, 3, 4], "p": ["a", "b", "new", "new"]}


def test_a_query_that_fails_commits_nothing(tmp_path):
    da.sink_delta(FRAME, tmp_path)
    failing = FRAME.with_columns(pl.col("p").cast(pl.Int64).alias("id"))
    with pytest.raises((pl.exceptions.PolarsError, OSError, pa.ArrowException)):
        da.sink_delta(failing, tmp_path, mode="append")
    with pytest.raises(SchemaMismatchError):
        da.sink_delta(FRAME.with_columns(other=1), tmp_path, mode="append")
    assert da.DeltaTable(tmp_path).version() == 0
    assert ids(tmp_path) == [1, 2, 3]


@pytest.mark.parametrize(
    ("frame", "options", "error"),
    [
        (pl.DataFrame({"id": [1]}), {}, "takes a polars.LazyFrame, not DataFrame"),
        (FRAME, {"mode": "merge"}, "needs delta_merge_options with a predicate"),
        (FRAME, {"delta_merge_options": {"predicate": "true"}}, "are for mode 'merge', not 'error'"),
        (FRAME, {"mode": "other"}, "mode"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, frame, options, error):
    with pytest.raises((TypeError, ValueError), match=error):
        da.sink_delta(frame, tmp_path / "t", **options)
    assert not (tmp_path / "t").exists()


MEASURED = """
import resource, sys
import polars as pl
import deltaarrow as da
folder, rows = sys.argv[1], int(sys.argv[2])
frame = pl.scan_parquet(folder + "/source/*.parquet").with_columns(total=pl.col("a") + pl.col("b"))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
da.sink_delta(frame.head(rows), folder + f"/t{rows}")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows(tmp_path):
    """The peak above that of the imports, in kB: 24 files of 16 MB in Arrow, or four of them."""
    (tmp_path / "source").mkdir()
    for number in range(24):
        columns = {name: pl.int_range(1_000_000, eager=True).shuffle(number) for name in ("a", "b")}
        pl.DataFrame(columns).write_parquet(tmp_path / f"source/{number}.parquet")
    peaks = []
    for rows in (4_000_000, 24_000_000):
        command = [sys.executable, "-c", MEASURED, str(tmp_path), str(rows)]
        found = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(int(found.stdout))
        assert da.DeltaTable(tmp_path / f"t{rows}").count() == rows
    assert peaks[1] < peaks[0] + 160_000  # the rows between take 320,000
