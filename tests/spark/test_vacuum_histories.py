"""Random histories with RESTORE and shallow clones of Spark's: VACUUM lists nothing that a version needs."""

import itertools
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.deletion_vectors import DeletionVectorDescriptor
from deltaarrow.operations import VacuumOptions, vacuum_files
from tests.support.leftovers import files_on_disk
from tests.support.spark import delta_table, spark_table

STEPS = ("append", "append", "overwrite", "delete", "delete", "update", "compact", "drop partition")
RESTORE, VACUUM = "restore", "vacuum"


def rows(first: int, count: int) -> pa.Table:
    return pa.table({"id": range(first, first + count), "_p": [number % 2 for number in range(count)]})


class History:
    """A table, what each version of it holds, and the oldest version that no VACUUM has let go."""

    def __init__(self, spark: Any, path: Path, seed: random.Random) -> None:
        self.spark, self.path, self.seed = spark, path, seed
        self.oldest, self.versions = 0, {}
        self.ids = itertools.count(1000, 10)
        self.look()

    @property
    def newest(self) -> int:
        return DeltaTable(self.path).version()

    def read(self, version: int) -> list:
        found = DeltaTable(self.path, version=version).to_pyarrow_table().to_pylist()
        return sorted(found, key=repr)

    def look(self) -> None:
        """Note what the new versions hold."""
        for version in range(max(self.versions, default=-1) + 1, self.newest + 1):
            self.versions[version] = self.read(version)

    def do(self, step: str) -> None:
        time.sleep(0.003)  # so that no two commits have one time
        table, ids = DeltaTable(self.path), [row["id"] for row in self.versions[self.newest]]
        match step:
            case "append" | "overwrite":
                write_deltalake(self.path, rows(next(self.ids), self.seed.randint(1, 6)), mode=step)
            case "delete" if ids:
                table.delete(f"id = {self.seed.choice(ids)}")
            case "update" if ids:
                table.update({"id": "id + 100000"}, predicate=f"id = {self.seed.choice(ids)}")
            case "compact":
                table.optimize.compact()
            case "drop partition":
                table.delete(f"`_p` = {self.seed.randint(0, 1)}")
            case "restore":
                version = self.seed.randint(self.oldest, self.newest)
                self.spark.sql(f"RESTORE TABLE {delta_table(self.path)} TO VERSION AS OF {version}")
                assert self.read(self.newest) == self.versions[version]
            case "vacuum":
                self.vacuum(self.seed.choice(["full", "lite", ""]), self.seed.randint(0, 3))
        self.look()

    def vacuum(self, way: str, back: int) -> None:
        """Delete what no version needs from some versions back on; all from there on stay."""
        kept = max(self.oldest, self.newest - back)
        commit = self.path / "_delta_log" / f"{kept:020d}.json"
        cutoff = commit.stat().st_mtime_ns // 1_000_000
        retained = range(kept, self.newest + 1)
        needed = {name for version in retained for name in self.names(version)}
        snapshot, options = DeltaTable(self.path).snapshot, {way: True} if way else {}
        for dry_run in (True, False):
            given = VacuumOptions(
                retention_hours=0, dry_run=dry_run, enforce_retention_duration=False, **options
            )
            gone = vacuum_files(snapshot, given, clock=lambda: cutoff).paths
            assert not needed & {os.path.normpath(self.path / name) for name in gone}
        self.oldest = kept
        self.look()
        for version in retained:
            assert self.read(version) == self.versions[version], version

    def names(self, version: int) -> Iterator[str]:
        """The files of a version, wherever they are."""
        snapshot = DeltaTable(self.path, version=version).snapshot
        files = snapshot.files().to_pylist()
        yield from (os.path.normpath(self.path / each["path"]) for each in files)
        vectors = (each["deletion_vector"] for each in files)
        for vector in filter(None, vectors):
            if (name := DeletionVectorDescriptor(**vector).file_name()) is not None:
                yield os.path.normpath(self.path / name)

    def check(self, *, all_in_spark: bool) -> None:
        """Each retained version can be read, by Spark at least the first and the last."""
        for version in range(self.oldest, self.newest + 1):
            assert self.read(version) == self.versions[version], version
            if not all_in_spark and self.oldest < version < self.newest:
                continue
            found = spark_table(self.spark, self.path, version).to_pylist()
            assert sorted(found, key=repr) == self.versions[version], version
        assert list(DeltaTable(self.path).verify()) == []


def steps_of(seed: random.Random, count: int) -> list[str]:
    """Steps with a RESTORE and a VACUUM in each part of them."""
    parts = []
    for _ in range(count):
        parts += [
            *seed.choices(STEPS, k=seed.randint(1, 3)),
            RESTORE,
            seed.choice([VACUUM, "append"]),
            VACUUM,
        ]
    return parts


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 22))
def test_no_retained_version_of_a_table_or_of_its_clone_loses_a_file(spark, tmp_path, number):
    parts = 4
    seed = random.Random(number)
    path = tmp_path / "source %20"
    clone_path = tmp_path / "clone é"
    configuration = {"delta.enableDeletionVectors": "true", "delta.checkpointInterval": "6"}
    write_deltalake(path, rows(0, 8), partition_by=["_p"], configuration=configuration)
    source = History(spark, path, seed)
    for step in steps_of(seed, parts):
        source.do(step)
    version = seed.randint(source.oldest, source.newest)
    spark.sql(
        f"CREATE TABLE {delta_table(clone_path)} SHALLOW CLONE {delta_table(path)} VERSION AS OF {version}"
    )
    clone = History(spark, clone_path, seed)
    assert clone.versions[0] == source.versions[version]
    for step in steps_of(seed, parts):
        files = files_on_disk(path)
        clone.do(step)
        assert files_on_disk(path) == files
        if step == RESTORE:
            source.do("delete")
    files = files_on_disk(path)
    clone.vacuum("full", 0)
    assert files_on_disk(path) == files
    clone.check(all_in_spark=parts > 1)
    # This one may delete what the clone needs of the source, but nothing of the clone's own.
    files = files_on_disk(clone_path)
    source.vacuum("full", 0)
    assert files_on_disk(clone_path) == files
    source.check(all_in_spark=parts > 1)
