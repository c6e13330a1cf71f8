"""Maintenance killed before any call of the system, or on a full disk: rows stay, and others go on.

A file that nobody committed is waste, which VACUUM deletes.
"""

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import CommitStateUnknownError, StorageError
from deltaarrow.scan.row_id_columns import ROW_ID
from tests.support.leftovers import files_of_log, files_on_disk
from tests.support.optimizing import rewriting
from tests.support.system_calls import Calls, Killed
from tests.support.vacuum import vacuum

PROPERTIES = {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true"}


def compact(table: DeltaTable) -> None:
    table.optimize.compact(max_concurrent_tasks=1, min_commit_interval=0)


def purge(table: DeltaTable) -> None:
    table.optimize.purge(max_concurrent_tasks=1)


def z_order(table: DeltaTable) -> None:
    table.optimize.z_order(["id", "v"], max_concurrent_tasks=1)


def cluster(table: DeltaTable) -> None:
    table.optimize(max_concurrent_tasks=1)


def cluster_in_full(table: DeltaTable) -> None:
    table.optimize.full(max_concurrent_tasks=1)


class Work(NamedTuple):
    """One way to rewrite files, the commits that it makes, and how the table is laid out."""

    run: Callable[[DeltaTable], None]
    layout: dict[str, list[str]]
    commits: int = 1


PARTITIONED, CLUSTERED = {"partition_by": ["p"]}, {"cluster_by": ["id", "v"]}
IN_ORDER, ANEW = Work(compact, PARTITIONED, commits=2), Work(z_order, PARTITIONED)
OTHERS = [Work(purge, PARTITIONED), Work(cluster, CLUSTERED), Work(cluster_in_full, CLUSTERED)]


def works(*some: Work) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("work", some, ids=lambda work: work.run.__name__)


def made(path: Path, layout: dict[str, list[str]]) -> DeltaTable:
    """A table of small files in two partitions, or in none; of each file a row is deleted."""
    for first in (0, 20):
        ids = range(first, first + 20)
        rows = pa.table({"id": ids, "v": [id * 7 % 40 for id in ids], "p": [id % 2 for id in ids]})
        configuration = None if first else PROPERTIES
        write_deltalake(path, rows, mode="append", configuration=configuration, **layout)
    DeltaTable(path).delete("id % 10 < 2")
    return DeltaTable(path)


def rows(path: str) -> list[tuple[int, ...]]:
    """The rows with their ids, in order."""
    found = DeltaTable(path).to_pyarrow_table(columns=["id", "v", "p", ROW_ID])
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True))


STEPS = pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
"""How many calls of the system later the next run fails."""


def runs(table: DeltaTable, monkeypatch, act, error, step: int, **options) -> Iterator[tuple[str, int]]:
    """Run on copies of the table, failing some calls later each time; yield each copy and its new commits."""
    number = 0
    while True:
        path = str(shutil.copytree(table.table_uri, f"{table.table_uri}-{number}"))
        handle = DeltaTable(path)
        with monkeypatch.context() as patch:
            calls = Calls(patch, number, error, **options)
            with contextlib.suppress(type(error), StorageError, CommitStateUnknownError):
                act(handle)
        yield path, DeltaTable(path).version() - table.version()
        shutil.rmtree(path)
        if calls.left >= 0:
            return
        number += step


@STEPS
@works(IN_ORDER, ANEW, *OTHERS)
def test_whoever_is_killed_leaves_the_rows_and_the_next_one_goes_on(tmp_path, monkeypatch, work, step):
    table = made(tmp_path / "t", work.layout)
    wanted, outcomes = rows(table.table_uri), []
    for path, commits in runs(table, monkeypatch, work.run, Killed(), step, is_last=True):
        outcomes.append(commits)
        assert rows(path) == wanted
        if len(outcomes) % 6:
            continue  # what follows differs less from one step to the next, and takes longer
        assert list(DeltaTable(path).verify(deep=True)) == []
        work.run(DeltaTable(path))
        newest = DeltaTable(path)
        assert newest.version() <= table.version() + work.commits
        assert len(newest.file_uris()) == (2 if "partition_by" in work.layout else 1)
        before = newest.version()
        vacuum(path, 0, full=True, dry_run=False, later_ms=60_000)
        assert rows(path) == wanted
        assert list(DeltaTable(path).verify(deep=True)) == []
        live = {os.path.relpath(uri, path) for uri in DeltaTable(path).file_uris()}
        assert files_on_disk(path) == live
        assert DeltaTable(path).version() == before + 2
    # The next files are rewritten while a commit is made, so the call that fails may come before or after it.
    assert (outcomes[0], outcomes[-1]) == (0, work.commits) and set(outcomes) == {*range(work.commits + 1)}


@STEPS
@works(IN_ORDER, ANEW)
def test_a_disk_that_is_full_at_any_call_leaves_no_file_behind(tmp_path, monkeypatch, work, step):
    table = made(tmp_path / "t", work.layout)
    wanted, outcomes = rows(table.table_uri), set()
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    for path, commits in runs(table, monkeypatch, work.run, full, step, is_last=False):
        outcomes.add(commits)
        assert rows(path) == wanted
        assert files_on_disk(path) == files_of_log(DeltaTable(path))
    assert outcomes == {*range(work.commits + 1)}


@STEPS
def test_whoever_is_killed_while_it_carries_deletions_over_shows_no_row_again(tmp_path, monkeypatch, step):
    """Others delete rows between the reading of the rows and the commit."""
    table = made(tmp_path / "t", {})
    kept = [row for row in rows(table.table_uri) if row[0] not in (5, 26)]
    outcomes = []

    def act(handle: DeltaTable) -> None:
        compaction = rewriting(handle)

        def delete(done: int, total: int) -> None:
            with pytest.MonkeyPatch.context() as patch:
                for name, call in real.items():
                    patch.setattr(os, name, call)
                DeltaTable(handle.table_uri).delete("id IN (5, 26)")

        compaction.run(delete)

    real = {name: getattr(os, name) for name in (*Calls.ADDING, "unlink")}
    for path, commits in runs(table, monkeypatch, act, Killed(), step, is_last=True):
        outcomes.append(commits)
        assert rows(path) == (kept if commits else rows(table.table_uri))
        if len(outcomes) % 6:
            continue
        DeltaTable(path).optimize.compact()
        DeltaTable(path).delete("id IN (5, 26)")
        assert rows(path) == kept
        assert list(DeltaTable(path).verify(deep=True)) == []
    assert outcomes == sorted(outcomes) and set(outcomes) == {0, 1, 2}
