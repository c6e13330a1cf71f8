"""How well clustering lays rows out, and how much it writes for that, beside delta-spark on the same rows."""

import json
import random
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from tests.support.spark import delta_table

MAX_FILE_SIZE = "spark.databricks.delta.optimize.maxFileSize"
SPAN = 1 << 20
"""Values of both columns are below it."""


@pytest.fixture
def small_files(spark):
    """The size of files in bytes that both make, so that there are several."""
    size = 2 << 20
    spark.conf.set(MAX_FILE_SIZE, str(size))
    yield size
    spark.conf.unset(MAX_FILE_SIZE)


def rows(count, seed):
    """Rows whose two clustering columns have nothing to do with their order."""
    numbers = np.random.default_rng(seed)
    columns = {name: pa.array(numbers.integers(0, SPAN, count)) for name in ("x", "y")}
    return pa.table(columns | {"n": pa.array(np.arange(count) + seed * 10_000_000)})


def queries(share, count=40):
    """Conditions on a range of both columns, each of a share of its values."""
    drawn = random.Random(7)
    width = int(SPAN * share)
    for _ in range(count):
        x, y = drawn.randrange(SPAN - width), drawn.randrange(SPAN - width)
        yield f"x BETWEEN {x} AND {x + width} AND y BETWEEN {y} AND {y + width}"


def opened(path):
    """The sizes of the files that the queries open, in all."""
    table = DeltaTable(path)
    sizes = {Path(uri): Path(uri).stat().st_size for uri in table.file_uris()}
    conditions = [each for share in (0.01, 0.1) for each in queries(share)]
    return [sizes[Path(uri)] for each in conditions for uri in table.file_uris(file_pruning_predicate=each)]


def written_by_optimize(path):
    """The bytes that all OPTIMIZE commits of a table have added."""
    total = 0
    for file in path.glob("_delta_log/*.json"):
        actions = [json.loads(line) for line in file.read_text().splitlines()]
        if any(each.get("commitInfo", {}).get("operation") == "OPTIMIZE" for each in actions):
            total += sum(each["add"]["size"] for each in actions if "add" in each)
    return total


@pytest.mark.slow
def test_a_query_opens_about_as_few_files_as_in_spark(spark, tmp_path, small_files):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for part in range(6):
        write_deltalake(ours, rows(1_000_000, part), mode="append", cluster_by=["x", "y"])
    shutil.copytree(ours, theirs)
    spark.sql(f"OPTIMIZE {delta_table(theirs)}")
    DeltaTable(ours).optimize(target_size=small_files)
    files = [len(DeltaTable(path).file_uris()) for path in (ours, theirs)]
    assert min(files) > 10, "there is something to skip"
    found = [len(opened(path)) for path in (ours, theirs)]
    print(f"files {files}, opened {found}")
    assert found[0] <= 1.2 * found[1], files


@pytest.mark.slow
def test_many_appends_write_less_than_in_spark_and_skip_as_well(spark, tmp_path, small_files):
    """What a query reads is compared by bytes: what was added last is a small file that most queries open."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    write_deltalake(ours, rows(1_000_000, 0), cluster_by=["x", "y"])
    shutil.copytree(ours, theirs)
    spark.sql(f"OPTIMIZE {delta_table(theirs)}")
    DeltaTable(ours).optimize(target_size=small_files)
    before = {path: written_by_optimize(path) for path in (ours, theirs)}
    read = dict.fromkeys(before, 0)
    for number in range(1, 21):
        for path in (ours, theirs):
            write_deltalake(path, rows(10_000, number), mode="append")
        spark.sql(f"OPTIMIZE {delta_table(theirs)}")
        DeltaTable(ours).optimize(target_size=small_files)
        for path in (ours, theirs):
            read[path] += sum(opened(path))
    written = {path: written_by_optimize(path) - before[path] for path in (ours, theirs)}
    print(f"bytes written {[*written.values()]}, opened {[*read.values()]}")
    assert written[ours] <= 0.3 * written[theirs], written
    assert read[ours] <= 1.2 * read[theirs], read
