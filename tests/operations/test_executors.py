"""Operations by an executor that pickles tasks and runs each twice, beside the same operations by threads."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import deltaarrow as da
from deltaarrow.errors import ConstraintViolationError, CorruptDataFileError
from deltaarrow.runtime.executors import using
from tests.support.distributed import COPYING, EVERYTHING, TwiceExecutor, Twins, tracked
from tests.support.rows import assert_same_rows

CHANGES = [
    lambda table: table.delete("id % 10 = 3"),
    lambda table: table.update({"n": "n + id"}, predicate="id % 5 = 1"),
    lambda table: table.update(new_values={"n": 7}, predicate="p = 'p1' AND id < 20"),
]
LAYOUTS = [
    lambda table: table.optimize.compact(),
    lambda table: table.optimize.z_order(["n"]),
    lambda table: table.delete("id = 7"),
    lambda table: table.optimize.purge(),
    lambda table: table.analyze(full=True),
]


@pytest.mark.parametrize(
    ("configuration", "partition_by"),
    [({}, None), (COPYING, None), (EVERYTHING, "p")],
    ids=["plain", "copying", "everything"],
)
def test_tasks_that_run_twice_make_the_commits_of_one_node(tmp_path, configuration, partition_by):
    twins, executor = Twins(tmp_path, configuration, partition_by=partition_by), TwiceExecutor(files=4)
    for operation in (*CHANGES, *LAYOUTS):
        twins.run(using(executor), operation)
    assert executor.runs >= len([*CHANGES, *LAYOUTS]) - 2  # one file is not compacted, nothing purged
    twins.assert_same_commits()
    read = tracked if configuration else lambda path: da.DeltaTable(path).to_pyarrow_table()
    assert_same_rows(read(twins.there), read(twins.here))
    if configuration:
        tables = [da.DeltaTable(path) for path in (twins.here, twins.there)]
        feeds = [pa.table(table.load_cdf(2).read_all()) for table in tables]
        assert_same_rows(*(feed.drop_columns(["_commit_timestamp"]) for feed in feeds))


def test_parts_of_the_files_are_tasks_of_their_own(tmp_path):
    twins, executor = Twins(tmp_path, EVERYTHING, files=5), TwiceExecutor()
    changed = [lambda table: table.delete("id % 10 = 3 OR id > 450"), CHANGES[1]]
    for number, operation in enumerate(changed, 1):
        here, there = twins.run(using(executor), operation)
        names = [name for name in here if not name.endswith("_ms") and name != "num_added_files"]
        assert {name: here[name] for name in names} == {name: there[name] for name in names}
        assert executor.runs == 3 * number
    assert_same_rows(tracked(twins.there), tracked(twins.here))
    assert da.DeltaTable(twins.there).verify(deep=True).ok


def test_a_deep_clone_copies_each_file_once(tmp_path):
    """The second attempt of a task finds the copy of the first one."""
    twins, executor = Twins(tmp_path, EVERYTHING, files=3, partition_by="p"), TwiceExecutor()
    told = []
    for number, files in enumerate((6, 2)):
        with using(executor):
            target, before = str(tmp_path / "clone"), executor.runs
            how = {"shallow": False, "replace": bool(number)}
            da.DeltaTable(twins.there).clone(target, progress=lambda *each: told.append(each), **how)
        assert executor.runs - before == files
        clone = da.DeltaTable(target)
        assert_same_rows(clone.to_pyarrow_table(), da.DeltaTable(twins.there).to_pyarrow_table())
        assert clone.verify(deep=True).ok
        assert told[-1][0] == told[-1][1]
        if not number:
            da.DeltaTable(twins.there).update({"n": "0"}, predicate="id = 1")


def test_a_conversion_reads_footers_by_tasks(tmp_path):
    for name in ("here", "there"):
        for number in range(3):
            folder = tmp_path / name / f"p={number}"
            folder.mkdir(parents=True)
            rows = pa.table({"id": [number], "n": [number]} if number else {"id": [7]})
            pa.parquet.write_table(rows, folder / "a.parquet")
    executor, told = TwiceExecutor(), []
    da.convert_to_deltalake(tmp_path / "here", partition_by=da.Schema([da.Field("p", "integer")]))
    with using(executor):
        da.convert_to_deltalake(
            tmp_path / "there",
            partition_by=da.Schema([da.Field("p", "integer")]),
            progress=lambda *each: told.append(each),
        )
    assert executor.runs == 1
    assert told == [(3, 3)]
    here, there = (da.DeltaTable(tmp_path / name) for name in ("here", "there"))
    assert there.schema() == here.schema()
    assert_same_rows(there.to_pyarrow_table(), here.to_pyarrow_table())
    statistics = [table.get_add_actions(flatten=True).sort_by("path") for table in (there, here)]
    assert statistics[0].drop_columns(["modification_time"]) == statistics[1].drop_columns(
        ["modification_time"]
    )


def test_a_damaged_footer_that_a_task_reads_is_named(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nothing PAR1")
    with using(TwiceExecutor()), pytest.raises(CorruptDataFileError, match=r"a\.parquet"):
        da.convert_to_deltalake(tmp_path)


def test_a_failed_task_leaves_no_commit_and_no_file_of_other_tasks(tmp_path):
    twins = Twins(tmp_path, COPYING, files=5)
    before, last = sorted(twins.there.rglob("*.parquet")), da.DeltaTable(twins.there).version()
    with using(TwiceExecutor()), pytest.raises(ConstraintViolationError, match="division by zero"):
        da.DeltaTable(twins.there).update({"n": "IF(id = 450, 1 / 0, 1)"}, predicate="id % 3 = 0")
    assert da.DeltaTable(twins.there).version() == last
    left = set(twins.there.rglob("*.parquet")) - set(before)
    # The first attempts of two tasks, whose results never came back: VACUUM deletes their files.
    assert len([path for path in left if path.name.startswith("part")]) == 2


def test_vacuum_deletes_by_tasks(tmp_path):
    twins, executor = Twins(tmp_path, COPYING), TwiceExecutor()
    twins.run(using(executor), CHANGES[0])
    told = []
    here, there = twins.run(
        using(executor),
        lambda table: table.vacuum(
            0, dry_run=False, enforce_retention_duration=False, progress=lambda *each: told.append(each)
        ),
    )
    assert len(here) == len(there) > 0
    assert not any(Path(twins.there, name).exists() for name in there)
    assert told == [(len(here), len(here)), (len(there), len(there))]
