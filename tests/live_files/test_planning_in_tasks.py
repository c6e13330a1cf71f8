"""Files that tasks of an executor choose from parts of a large checkpoint, beside those of one process."""

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow.errors import CorruptLogError
from deltaarrow.log.limits import LogLimits
from deltaarrow.runtime.executors import using
from tests.support.conditions import predicate_of
from tests.support.distributed import TwiceExecutor
from tests.support.engines import open_snapshot
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])
CONDITIONS = ["id = 3", "p = 'a'", "p = 'b' AND id > 4", "id < 2 OR p = 'c'", "id > 100", "id = 6 OR id = 9"]
LARGE = {"replayed_bytes": -1, "listed_bytes": -1}
IN_TASKS = LogLimits(**LARGE, divided_bytes=-1)


def table_of(folder, **kind):
    """Files in a checkpoint of several files, of which later commits remove, mark and repeat some."""
    table = TableBuilder(folder).features("v2Checkpoint", "deletionVectors").metadata(SCHEMA, ["p"])

    def add(number):
        values = {"id": number}
        stats = {"numRecords": 1, "minValues": values, "maxValues": values, "nullCount": {"id": 0}}
        return table.add_file(1, {"p": "abc"[number % 3]}, name=f"f{number}", stats=stats)

    adds = [add(number) for number in range(12)]
    table.commit(adds).checkpoint(**kind)
    table.commit([table.remove(adds[0]), table.remove(adds[4]), adds[6], add(12)])
    table.commit(table.with_deletion_vector(adds[9], table.deletion_vector([0], "i")))
    return table


def chosen(snapshot, condition):
    return snapshot.files(predicate_of(condition, snapshot.schema)).to_pylist(maps_as_pydicts="strict")


KINDS = [
    {"kind": "v2-parquet", "sidecars": 4, "stats": "both"},
    {"kind": "v2-json", "sidecars": 3},
    {"kind": "multipart", "parts": 3, "stats": "struct"},
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind["kind"])
def test_tasks_choose_the_files_that_one_process_chooses(tmp_path, kind):
    table_of(tmp_path, **kind)
    here = open_snapshot(tmp_path, limits=LogLimits(**LARGE))
    wanted = [chosen(here, condition) for condition in CONDITIONS]
    assert [len(files) for files in wanted] == [1, 4, 2, 5, 0, 2]
    executor = TwiceExecutor(2)
    with using(executor):
        there = open_snapshot(tmp_path, limits=IN_TASKS)
        for condition, files in zip(CONDITIONS, wanted, strict=True):
            assert chosen(there, condition) == files
    assert executor.runs == 2 * len(CONDITIONS)


def test_no_task_runs_where_every_file_is_wanted(tmp_path):
    table_of(tmp_path, **KINDS[0])
    with using(executor := TwiceExecutor(1)):
        snapshot = open_snapshot(tmp_path, limits=IN_TASKS)
        assert len(snapshot.files()) == len(chosen(snapshot, "1 = 1")) == 11
    assert executor.runs == 0


class ChangingExecutor(TwiceExecutor):
    """Changes files of the log before or after the first tasks."""

    def __init__(self, before=None, after=None):
        super().__init__()
        self.changes = [before, after]

    def _change(self, place):
        change, self.changes[place] = self.changes[place], None
        if change is not None:
            change()

    def run(self, tasks, limits, discard=lambda result: None):
        self._change(0)
        results = list(super().run(tasks, limits, discard))
        self._change(1)
        yield from results


def test_a_checkpoint_that_is_deleted_meanwhile_is_looked_for_again(tmp_path):
    table = table_of(tmp_path, **KINDS[0])

    def delete_sidecars():
        table.checkpoint(kind="v2-parquet", sidecars=2)
        for file in old:
            file.unlink()

    old = [*(table.log / "_sidecars").iterdir()]
    snapshot = open_snapshot(tmp_path, limits=IN_TASKS)
    with using(executor := ChangingExecutor(before=delete_sidecars)):
        found = chosen(snapshot, "p = 'b' AND id > 4")
    assert sorted(each["path"] for each in found) == ["f10", "f7"]
    assert executor.changes[0] is None


def test_rows_of_a_part_that_is_rewritten_meanwhile_are_not_used(tmp_path):
    """Its rows come in another order, so that the numbers of the tasks mean other files."""
    table = table_of(tmp_path, kind="multipart", parts=3)

    def turn_around():
        for file in table.log.glob("*.checkpoint.*.parquet"):
            rows = pq.read_table(file)
            draft = file.with_suffix(".draft")
            pq.write_table(rows.take(pa.array(range(len(rows) - 1, -1, -1))), draft)
            draft.replace(file)

    snapshot = open_snapshot(tmp_path, limits=IN_TASKS)
    with using(executor := ChangingExecutor(after=turn_around)):
        found = chosen(snapshot, "p = 'b' AND id > 4")
    assert sorted(each["path"] for each in found) == ["f10", "f7"]
    assert executor.changes == [None, None]


def test_a_part_that_a_task_cannot_read_is_an_error(tmp_path):
    table = table_of(tmp_path, **KINDS[1])
    snapshot = open_snapshot(tmp_path, limits=IN_TASKS)
    snapshot.state.loaded()
    file = next((table.log / "_sidecars").iterdir())
    file.write_bytes(file.read_bytes()[:-20])
    with using(TwiceExecutor(1)), pytest.raises(CorruptLogError, match=file.name):
        chosen(snapshot, "id = 3")


def test_a_store_that_cannot_tell_a_file_from_its_replacement_is_read_here(tmp_path):
    table_of(tmp_path, kind="multipart", parts=3)
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path), "/planning-in-tasks", recursive=True)
    try:
        snapshot = open_snapshot("memory://planning-in-tasks", limits=IN_TASKS)
        with using(TwiceExecutor(1)):
            found = chosen(snapshot, "p = 'b' AND id > 4")
    finally:
        memory.rm("/planning-in-tasks", recursive=True)
    assert sorted(each["path"] for each in found) == ["f10", "f7"]
