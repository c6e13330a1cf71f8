"""DELETE, UPDATE and MERGE interrupted at each step: the table is the old one or the new one, whole."""

import contextlib
import errno
import itertools
import multiprocessing
import os
import shutil
import sys
import time

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, WriterProperties, write_deltalake
from deltaarrow.errors import CommitStateUnknownError, ConstraintViolationError, StorageError
from deltaarrow.operations.dml import merge as merging
from tests.support.leftovers import files_of_log, files_on_disk
from tests.support.system_calls import Calls, Killed

FEED = {"delta.enableRowTracking": "true", "delta.enableChangeDataFeed": "true"}
MODES = {"vectors": FEED | {"delta.enableDeletionVectors": "true"}, "rewriting": FEED}
OLD = {1: 0, 3: 0, 4: 0, 5: 0, 11: 0, 12: 0}


def rows(seen: dict[int, int]) -> pa.Table:
    return pa.table({"id": pa.array(seen, pa.int64()), "seen": pa.array(seen.values(), pa.int64())})


def delete(table):
    table.delete("id IN (3, 11)")


def update(table):
    table.update({"seen": "seen + 1"}, predicate="id IN (3, 11)")


def merge(table):
    merger = table.merge(rows({3: 7, 11: 7, 20: 7}), "target.id = source.id")
    merger = merger.when_matched_delete("target.id = 11").when_matched_update_all()
    merger.when_not_matched_insert_all().execute()


NEW = {
    delete: {1: 0, 4: 0, 5: 0, 12: 0},
    update: OLD | {3: 1, 11: 1},
    merge: {1: 0, 3: 7, 4: 0, 5: 0, 12: 0, 20: 7},
}
STATEMENTS = pytest.mark.parametrize(
    ("table", "statement"),
    [
        *(pytest.param(mode, merge, id=f"merge-{mode}") for mode in MODES),
        pytest.param("vectors", delete, id="delete-vectors"),
        pytest.param("rewriting", update, id="update-rewriting"),
        pytest.param("rewriting", delete, id="delete-rewriting", marks=pytest.mark.slow),
        pytest.param("vectors", update, id="update-vectors", marks=pytest.mark.slow),
    ],
    indirect=["table"],
)
"""A MERGE deletes and updates as the other two do, in either mode."""


@pytest.fixture(params=MODES)
def table(request, tmp_path):
    """A folder with a table of two files, one of which has lost a row already."""
    path = str(tmp_path / "table")
    write_deltalake(path, rows(dict.fromkeys(range(1, 6), 0)), configuration=MODES[request.param])
    write_deltalake(path, rows({11: 0, 12: 0}), mode="append")
    DeltaTable(path).delete("id = 2")
    return path


def seen(path) -> dict[int, int]:
    found = DeltaTable(path).to_pyarrow_table().to_pylist()
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: row["seen"] for row in found}


STEPS = pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
"""How many calls of the system later the next run fails."""


def runs(table, tmp_path, monkeypatch, statement, error, step, **options):
    """Run the statement on copies of the table, failing some calls later each time, until none fails."""
    number = 0
    while True:
        path = str(shutil.copytree(table, tmp_path / f"copy{number}"))
        handle = DeltaTable(path)
        with monkeypatch.context() as patch:
            calls = Calls(patch, number, error, **options)
            with contextlib.suppress(Killed, StorageError, CommitStateUnknownError):
                statement(handle)
        yield path, DeltaTable(path).version() == 3
        shutil.rmtree(path)
        if calls.left >= 0:
            return
        number += step


@STEPS
@STATEMENTS
def test_a_process_killed_before_any_call_of_the_system_leaves_the_old_version_or_the_new(
    table, tmp_path, monkeypatch, statement, step
):
    outcomes = []
    for path, is_made in runs(table, tmp_path, monkeypatch, statement, Killed(), step, is_last=True):
        outcomes.append(is_made)
        assert seen(path) == (NEW[statement] if is_made else OLD)
        if len(outcomes) % 3:
            continue  # what follows differs less from one step to the next, and takes longer
        if not is_made:
            statement(DeltaTable(path))
            assert seen(path) == NEW[statement]
            assert DeltaTable(path).version() == 3
        assert DeltaTable(path).verify(deep=True).ok
    assert outcomes == sorted(outcomes) and set(outcomes) == {False, True}


def update_forever(path: str, is_under_way) -> None:
    while True:
        DeltaTable(path).update({"seen": "seen + 1"})
        is_under_way.set()


@pytest.mark.parametrize("table", ["vectors"], indirect=True)
def test_a_process_killed_at_any_moment_leaves_a_version(table):
    context, first = multiprocessing.get_context("spawn"), DeltaTable(table).version()
    for milliseconds in (0, 15):
        is_under_way = context.Event()
        process = context.Process(target=update_forever, args=(table, is_under_way))
        process.start()
        assert is_under_way.wait(60)
        time.sleep(milliseconds / 1000)
        process.kill()
        process.join(60)
        current = DeltaTable(table)
        assert seen(table) == dict.fromkeys(OLD, current.version() - first)
        assert current.verify(deep=True).ok


@pytest.mark.parametrize(
    "number",
    [
        errno.ENOSPC,
        errno.EACCES,
        *(pytest.param(each, marks=pytest.mark.slow) for each in (errno.EIO, errno.EMFILE)),
    ],
    ids=errno.errorcode.get,
)
@STEPS
@STATEMENTS
def test_a_call_that_the_disk_refuses_is_a_storage_error_and_leaves_no_file_behind(
    table, tmp_path, monkeypatch, statement, step, number
):
    refused, outcomes = OSError(number, os.strerror(number)), set()
    for path, is_made in runs(table, tmp_path, monkeypatch, statement, refused, step, is_last=False):
        outcomes.add(is_made)
        assert seen(path) == (NEW[statement] if is_made else OLD)
        assert files_on_disk(path) == files_of_log(DeltaTable(path))
    assert outcomes == {False, True}


class Interrupter:
    """Raises KeyboardInterrupt at the n-th line of the transaction that runs once a file is there."""

    WHERE = ("/transaction/transaction.py", "/transaction/commit_loop.py", "/transaction/committer.py")

    def __init__(self, nth: int, file: str) -> None:
        self.left, self.file = nth, file

    def __call__(self, frame, event, argument):
        return self.line if frame.f_code.co_filename.endswith(self.WHERE) else None

    def line(self, frame, event, argument):
        if event == "line" and os.path.exists(self.file):
            self.left -= 1
            if self.left == -1:
                raise KeyboardInterrupt
        return self.line


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("table", ["vectors"], indirect=True)
def test_an_interrupt_at_any_line_after_the_commit_is_made_deletes_nothing(table, tmp_path, step):
    before = sys.gettrace()
    for number in itertools.count(0, step):
        path = str(shutil.copytree(table, tmp_path / f"copy{number}"))
        handle, tracer = DeltaTable(path), Interrupter(number, f"{path}/_delta_log/{3:020d}.json")
        sys.settrace(tracer)
        try:
            merge(handle)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        assert seen(path) == NEW[merge]
        assert files_on_disk(path) == files_of_log(DeltaTable(path))
        if tracer.left >= 0:
            break
    assert number > 5


# --- errors on the way --------------------------------------------------------------------------------


MANY = 300_000
"""Rows that come from DuckDB in several batches, of which the first are in files when the last comes."""


@pytest.fixture(params=MODES)
def many(request, tmp_path):
    """A table whose new files are small, and whose constraint the last row is near to breaking."""
    path = str(tmp_path / "many")
    configuration = MODES[request.param] | {"delta.targetFileSize": "1kb"}
    with pytest.warns(UserWarning, match="targetFileSize"):
        write_deltalake(path, rows(dict.fromkeys(range(MANY), 0)), configuration=configuration)
    table = DeltaTable(path)
    table.alter.add_constraint({"small": "seen < 2"})
    return table


def fails_and_leaves_nothing(table, monkeypatch, error, statement) -> int:
    """Return how many files there were before they were deleted."""
    version, made, real = table.version(), [], os.link

    def link(source, target, **options):
        made.append(target)
        real(source, target, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", link)
        with pytest.raises(type(error), match=str(error)):
            statement()
    table.update_incremental()
    assert table.version() == version
    assert files_on_disk(table.table_uri) == files_of_log(table)
    return len(made)


SMALL = WriterProperties(max_row_group_size=10_000)
LAST = f"if(target.id = {MANY - 1}, 2, 1)"


def test_a_constraint_that_the_last_row_breaks(many, monkeypatch):
    broken = ConstraintViolationError("small")
    update = lambda: many.update({"seen": LAST}, writer_properties=SMALL)  # noqa: E731
    assert fails_and_leaves_nothing(many, monkeypatch, broken, update) > 0
    source = rows(dict.fromkeys(range(MANY + 10), 1))
    merger = many.merge(source, "target.id = source.id", writer_properties=SMALL)
    merger = merger.when_matched_update({"seen": LAST}).when_not_matched_insert_all()
    assert fails_and_leaves_nothing(many, monkeypatch, broken, merger.execute) > 0


def test_a_source_that_fails(many, monkeypatch):
    def batches():
        yield from rows({0: 1, 1: 1}).to_batches()
        raise RuntimeError("the source is gone")

    source = pa.RecordBatchReader.from_batches(rows({}).schema, batches())
    merger = many.merge(source, "target.id = source.id").when_matched_update_all()
    fails_and_leaves_nothing(many, monkeypatch, RuntimeError("the source is gone"), merger.execute)


def test_an_interrupt_between_the_writing_and_the_commit(many, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt("now")

    monkeypatch.setattr(merging, "merge_metrics", interrupt)
    merger = many.merge(rows({0: 1, MANY: 1}), "target.id = source.id").when_matched_update_all()
    merger = merger.when_not_matched_insert_all()
    assert fails_and_leaves_nothing(many, monkeypatch, KeyboardInterrupt("now"), merger.execute) > 0
