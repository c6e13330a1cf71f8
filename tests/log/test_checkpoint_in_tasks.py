"""V2 checkpoints whose sidecars are written by tasks of an executor, beside those of one process."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.errors import CorruptLogError
from deltaarrow.log import clean_up_log, list_segment, replay, write_checkpoint
from deltaarrow.log.checkpoint_writing.row_stream import CheckpointSizes
from deltaarrow.log.file_sources import list_files, list_tombstones
from deltaarrow.log.limits import LogLimits
from deltaarrow.runtime.executors import using
from deltaarrow.storage import open_store
from tests.support.distributed import OnceExecutor, TwiceExecutor
from tests.support.tables import EPOCH_MS, TableBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.int32())])
QUERIED = LogLimits(replayed_bytes=-1, divided_bytes=-1)
SMALL = CheckpointSizes(sidecar_rows=2, batch_rows=1)
DAY_MS = 24 * 3600 * 1000


def table_of(path) -> TableBuilder:
    table = TableBuilder(path).features("v2Checkpoint", "deletionVectors")
    return table.metadata(SCHEMA, ["p"], {"delta.checkpointPolicy": "v2"})


def version_of(path, **options):
    store = open_store(path)
    return replay(store, list_segment(store), limits=QUERIED, **options)


def write(table) -> str:
    return write_checkpoint(version_of(table.path), clock=lambda: EPOCH_MS, sizes=SMALL)


def everything(path):
    state = version_of(path)
    files = list_files(state).drop_columns(["data_change"]).to_pylist(maps_as_pydicts="strict")
    stones = list_tombstones(state).drop_columns(["data_change", "stats", "tags"])
    return sorted(files, key=str), sorted(stones.to_pylist(maps_as_pydicts="strict"), key=str)


def add(table, number, rows=2):
    stats = {"numRecords": rows, "minValues": {"id": number}, "maxValues": {"id": number + rows}}
    return table.add_file(rows, {"p": str(number % 3)}, stats=stats, name=f"f{number}")


def sidecars(table):
    return {file.name for file in (table.log / "_sidecars").iterdir()}


def named(table, name):
    rows = pq.read_table(table.path / name).column("sidecar").drop_null().to_pylist()
    return {row["path"] for row in rows}


@pytest.fixture
def table(tmp_path):
    """Twelve files in a checkpoint with sidecars, and commits after it that add, remove and mark some."""
    table = table_of(tmp_path)
    adds = [add(table, number) for number in range(12)]
    table.commit(adds).commit([table.remove(adds[11])])
    write(table)
    table.delete_commits(0, 1)
    table.commit([table.remove(adds[0]), add(table, 20)])
    table.commit([*table.with_deletion_vector(adds[5], table.deletion_vector([0])), table.remove(adds[7])])
    # Once more, as a writer does that only changes what is said of a file.
    return table.commit([adds[3] | {"add": adds[3]["add"] | {"tags": {"a": "b"}}}])


def test_tasks_write_what_one_process_writes(table):
    before, old = everything(table.path), sidecars(table)
    assert (len(before[0]), len(before[1])) == (10, 4)
    executor = TwiceExecutor(2)
    with using(executor):
        name = write(table)
    table.delete_commits(2, 3, 4)
    assert executor.runs == (len(old) + 1) // 2 >= 3
    assert everything(table.path) == before
    counted = json.loads((table.log / "_last_checkpoint").read_text())
    assert (counted["numOfAddFiles"], counted["v2Checkpoint"]["path"]) == (10, name.rpartition("/")[2])
    tags = {each["key"]: each["value"] for each in _metadata(table, name)}
    assert tags["sidecarNumActions"] == str(len(before[0]) + len(before[1]))


def _metadata(table, name):
    (found,) = pq.read_table(table.path / name).column("checkpointMetadata").drop_null().to_pylist()
    return [{"key": key, "value": value} for key, value in found["tags"]]


def test_the_parts_of_a_classic_checkpoint_are_read_by_tasks(tmp_path):
    table = table_of(tmp_path)
    adds = [add(table, number) for number in range(6)]
    table.commit(adds).checkpoint(kind="multipart", parts=3)
    table.delete_commits(0)
    table.commit([table.remove(adds[2])])
    before, executor = everything(tmp_path), TwiceExecutor(1)
    with using(executor):
        write(table)
    table.delete_commits(1)
    assert executor.runs == 3
    assert everything(tmp_path) == before


def test_cleanup_deletes_the_sidecars_of_lost_attempts(table):
    before = everything(table.path)
    with using(TwiceExecutor(2)):
        name = write(table)
    table.delete_commits(2, 3, 4)
    kept = named(table, name)
    lost = sidecars(table) - kept
    assert lost
    for old in table.log.glob("*.checkpoint.*"):
        if old.name != name.rpartition("/")[2]:
            old.unlink()
    in_time = max(file.stat().st_mtime_ns for file in (table.log / "_sidecars").iterdir()) // 10**6
    clean_up_log(open_store(table.path), now_ms=in_time + 3 * DAY_MS, retention_ms=30 * DAY_MS)
    assert sidecars(table) == kept
    assert everything(table.path) == before


def test_a_broken_sidecar_leaves_no_sidecar_of_any_task(table):
    """The third part is broken; two tasks and this process have written sidecars by then."""
    old, executor = sidecars(table), OnceExecutor(2)
    order = [name for files in version_of(table.path).checkpoint_files for name in files.names]
    broken = table.path / order[4]
    rows = pq.read_table(broken).to_pylist(maps_as_pydicts="strict")
    for row in rows:
        for action in ("add", "remove"):
            if row[action] is not None:
                row[action]["path"] = None
                row["add"] = (row["add"] or {}) | {"path": "x", "size": None}
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(broken)), broken, write_statistics=False)
    with using(executor), pytest.raises(CorruptLogError, match="without a required field"):
        write(table)
    assert executor.runs == 2
    assert sidecars(table) == old


def test_other_files_than_the_version_checksum_counts_are_never_written(table):
    """A sidecar lacks a file; one process and tasks both tell."""
    order = [name for files in version_of(table.path).checkpoint_files for name in files.names]
    # Its first file is one that no commit names.
    second = table.path / order[1]
    state = version_of(table.path)
    files = list_files(state)
    said = {"numFiles": files.num_rows, "tableSizeBytes": sum(files["size"].to_pylist())}
    lines = {key: body for line in table.commits[0] for key, body in line.items()}
    said |= {"protocol": lines["protocol"], "metadata": lines["metaData"], "numMetadata": 1, "numProtocol": 1}
    (table.log / f"{table.version:020d}.crc").write_text(json.dumps(said))
    pq.write_table(pq.read_table(second).slice(1), second)
    old = sidecars(table)
    for executor in (OnceExecutor(2), OnceExecutor(99)):
        with using(executor), pytest.raises(CorruptLogError, match="checksum"):
            write(table)
        assert sidecars(table) == old


NUMBERS = st.integers(0, 7)
STEPS = st.lists(
    st.lists(st.tuples(st.sampled_from(["add", "remove", "mark"]), NUMBERS), max_size=6),
    min_size=1,
    max_size=4,
)


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(STEPS)
def test_the_state_is_the_same_with_checkpoints_of_tasks_as_without(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("t")
    table = table_of(folder).commit([add(TableBuilder(folder), number) for number in range(8)])
    write(table)
    for version, step in enumerate(steps, 1):
        actions = {}
        for what, number in step:
            made = add(table, number, rows=version + 1)
            if what == "mark":
                made["add"]["deletionVector"] = table.deletion_vector([0], "i")
            actions[number] = table.remove(made) if what == "remove" else made
        table.commit([*actions.values(), table.txn("a", version)])
        before = everything(folder)
        with using(TwiceExecutor(1)):
            write(table)
        table.delete_commits(version)
        assert everything(folder) == before
