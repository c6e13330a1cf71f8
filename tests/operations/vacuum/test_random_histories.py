"""Random histories, and a VACUUM at a random moment of them: no version within the retention loses a row."""

import os
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.actions import AddFile
from deltaarrow.deletion_vectors import DeletionVectorDescriptor
from deltaarrow.operations import VacuumOptions, vacuum_files
from tests.support.examples import examples
from tests.support.vacuum import stored, vacuum

SETTINGS = {
    "delta.enableDeletionVectors": "true",
    "delta.enableChangeDataFeed": "true",
    "delta.checkpointInterval": "4",
    "delta.checkpointPolicy": "v2",
}
STEPS = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 4)),
    st.tuples(st.just("overwrite"), st.integers(1, 4)),
    st.tuples(st.just("delete"), st.integers(0, 12)),
    st.tuples(st.just("update"), st.integers(0, 12)),
    st.tuples(st.just("drop partition"), st.integers(0, 1)),
    st.tuples(st.just("restore"), st.integers(0, 5)),
    st.tuples(st.just("checkpoint"), st.just(0)),
    st.tuples(st.just("vacuum"), st.tuples(st.sampled_from(["full", "lite", ""]), st.integers(0, 4))),
)


def rows(first: int, count: int) -> pa.Table:
    return pa.table({"id": range(first, first + count), "_p": [number % 2 for number in range(count)]})


class History:
    """A table, what each version of it holds, and the oldest version that no VACUUM has let go."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.oldest = 0
        self.next = 4
        write_deltalake(path, rows(0, 4), partition_by=["_p"], configuration=SETTINGS)
        self.versions = {0: self.read(0)}

    def read(self, version: int) -> list:
        found = DeltaTable(self.path, version=version).to_pyarrow_table().to_pylist()
        return sorted(found, key=repr)

    def do(self, step: str, argument) -> None:
        time.sleep(0.003)  # so that no two commits have one time
        table = DeltaTable(self.path)
        match step:
            case "append" | "overwrite":
                write_deltalake(self.path, rows(self.next, argument), mode=step)
                self.next += argument
            case "delete":
                table.delete(f"id = {argument}")
            case "update":
                table.update({"id": "id + 1000"}, predicate=f"id = {argument}")
            case "drop partition":
                table.delete(f"`_p` = {argument}")
            case "restore":
                self.restore(max(self.oldest, table.version() - argument))
            case "checkpoint":
                table.create_checkpoint()
            case "vacuum":
                self.vacuum(*argument)
        newest = DeltaTable(self.path).version()
        for version in range(max(self.versions) + 1, newest + 1):
            self.versions[version] = self.read(version)

    def restore(self, version: int) -> None:
        """Put the files of an older version back, as RESTORE does."""
        wanted = files_of(DeltaTable(self.path, version=version))
        with DeltaTable(self.path).transaction("RESTORE") as transaction:
            present = transaction.read_files()
            keys = files_of(DeltaTable(self.path))
            goes = [key not in wanted for key in keys]
            transaction.remove_files(present.filter(pa.array(goes, pa.bool_())))
            transaction.stage([added(row) for key, row in wanted.items() if key not in keys])

    def vacuum(self, way: str, back: int) -> None:
        newest = DeltaTable(self.path).version()
        kept = max(self.oldest, newest - back)
        commit = self.path / "_delta_log" / f"{kept:020d}.json"
        options = VacuumOptions(
            retention_hours=0, dry_run=False, enforce_retention_duration=False, **({way: True} if way else {})
        )
        # What was removed after this version stays: the commits before it are past the retention.
        cutoff = commit.stat().st_mtime_ns // 1_000_000
        changes = self.changes(kept + 1, newest)
        vacuum_files(DeltaTable(self.path).snapshot, options, clock=lambda: cutoff)
        self.oldest = kept
        for version in range(kept, newest + 1):
            assert self.read(version) == self.versions[version], version
        assert self.changes(kept + 1, newest) == changes
        assert DeltaTable(self.path).verify().ok

    def changes(self, first: int, last: int) -> list:
        if first > last:
            return []
        found = DeltaTable(self.path).load_cdf(first, last).read_all().drop_columns(["_commit_timestamp"])
        return sorted(found.to_pylist(), key=repr)


def files_of(table: DeltaTable) -> dict:
    """The live files by path and vector, in the order of the snapshot."""
    found = table.snapshot.files().to_pylist(maps_as_pydicts="strict")
    return {(row["path"], repr(row["deletion_vector"])): row for row in found}


def added(row) -> AddFile:
    vector = row["deletion_vector"]
    return AddFile(
        path=row["log_path"],
        partition_values=row["partition_values"],
        size=row["size"],
        modification_time=row["modification_time"],
        data_change=True,
        stats=row["stats"],
        deletion_vector=None if vector is None else DeletionVectorDescriptor(**vector),
    )


def run(steps) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = History(Path(folder) / "t")
        for step in steps:
            history.do(*step)
        vacuum(history.path, 0, full=True, dry_run=False)
        newest = DeltaTable(history.path).version()
        assert history.read(newest) == history.versions[max(history.versions)]
        needed = {os.path.relpath(uri, history.path) for uri in DeltaTable(history.path).file_uris()}
        left = {name for name in stored(history.path) if not name.endswith((".bin", "/"))}
        assert left == needed, "nothing is left that nobody needs"


@settings(max_examples=examples(3), deadline=None)
@given(st.lists(STEPS, min_size=3, max_size=8))
def test_no_version_within_the_retention_loses_a_row(steps):
    run(steps)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(STEPS, min_size=5, max_size=30))
def test_no_version_within_the_retention_loses_a_row_in_longer_histories(steps):
    run(steps)
