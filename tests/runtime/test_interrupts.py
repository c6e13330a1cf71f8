"""Ctrl-C while DuckDB works: `KeyboardInterrupt` from every door, in a process of its own."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow import write_deltalake
from deltaarrow.columnar.row_sorter import RowSorter, SortLimits
from deltaarrow.compute import sandbox_cursor
from deltaarrow.engines import open_batches
from deltaarrow.runtime.executors import TaskLimits, Threads, run_all
from deltaarrow.runtime.interrupts import interruptible

DOORS = """
import functools, os, signal, sys, threading

import pyarrow as pa
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import deltaarrow
from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.compute import files_cursor, limited_cursor, sandbox_cursor
from deltaarrow.storage import open_store

folder = sys.argv[1]
rows = pa.table({"id": range(100), "v": [1.0] * 100})
for name in ("t", "vectors"):
    write_deltalake(f"{folder}/{name}", rows)
DeltaTable(f"{folder}/vectors").alter.set_table_properties({"delta.enableDeletionVectors": "true"})
files = lambda: sorted(os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)
before = files()

FOREVER = "SELECT CAST(count(*) AS DOUBLE) AS n FROM range(1000000) a, range(1000000) b, range(1000000) c"
SORTED = "SELECT a.range * 79 % 10003 AS x FROM range(1000000) a, range(1000000) b ORDER BY x, b.range"
spark, duckdb = deltaarrow.connect(dialect="spark"), deltaarrow.connect()
for connection in (spark, duckdb):
    connection.attach(folder, "lake")


config = Config()
config.HistoryManager.enabled = False
shell = InteractiveShell(config=config)
shell.run_line_magic("load_ext", "deltaarrow")
magic = functools.partial(shell.run_cell_magic, "delta")


def of_cursor(cursor):
    with cursor as found:
        found.sql(FOREVER).to_arrow_table()


def merge():
    def endless():
        while True:
            yield from rows.to_batches()

    source = pa.RecordBatchReader.from_batches(rows.schema, endless())
    merge = DeltaTable(f"{folder}/vectors").merge(source, "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update({"v": "s.v"}).execute()


def polite():
    # An `except Exception` around the work does not keep the interrupt.
    try:
        duckdb.sql(FOREVER).fetchall()
    except Exception as error:
        print("swallowed", error)


DOORS = {
    "sandbox": lambda: of_cursor(sandbox_cursor()),
    "limited": lambda: of_cursor(limited_cursor("a test")),
    "files": lambda: of_cursor(files_cursor(open_store(folder))),
    "fetchall": lambda: duckdb.sql(FOREVER).fetchall(),
    "sorted": lambda: duckdb.sql(SORTED).to_arrow_table(),
    "stream": lambda: list(duckdb.sql(SORTED).to_arrow_reader()),
    "shown": lambda: str(duckdb.sql(FOREVER)),
    "polite": polite,
    "execute": lambda: duckdb.execute(FOREVER).fetchall(),
    "spark": lambda: spark.sql(FOREVER).fetchall(),
    "insert": lambda: spark.sql(f"INSERT INTO lake.t SELECT 1, n FROM ({FOREVER})"),
    "create": lambda: spark.sql(f"CREATE TABLE lake.u USING delta AS {FOREVER}"),
    "delete": lambda: spark.sql(f"DELETE FROM lake.t WHERE v IN (SELECT n FROM ({FOREVER}))"),
    "update": lambda: spark.sql(f"UPDATE lake.t SET v = 0 WHERE v IN (SELECT n FROM ({FOREVER}))"),
    "merge": merge,
    "merge in SQL": lambda: spark.sql(
        f"MERGE INTO lake.vectors t USING ({FOREVER}) s ON t.v = s.n WHEN MATCHED THEN DELETE"
    ),
    "copy": lambda: duckdb.execute(f"COPY ({FOREVER}) TO '{folder}/copy.parquet'"),
    "cell": lambda: magic(
        f"--dialect spark --attach lake={folder}", f"INSERT INTO lake.t SELECT 1, n FROM ({FOREVER})"
    ),
    "cell's rows": lambda: repr(magic("", FOREVER)),
}
for name, door in DOORS.items():
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        door()
        said = "finished"
    except BaseException as error:
        said = type(error).__name__
    print(name, "-", said, "-", [each for each in files() if each not in before], flush=True)
"""


def test_ctrl_c_is_a_keyboard_interrupt_at_every_door_and_leaves_no_file(tmp_path, tmp_path_factory):
    child = subprocess.run(
        [sys.executable, "-c", DOORS, tmp_path],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "IPYTHONDIR": str(tmp_path_factory.mktemp("ipython"))},
    )
    lines = child.stdout.splitlines()
    assert [line for line in lines if not line.endswith("- KeyboardInterrupt - []")] == [], child.stderr
    assert len(lines) == 19, child.stderr


def _rows(batch):
    while True:
        yield batch


def _sort(batch, folder):
    with RowSorter(SortLimits(1 << 30), 1) as sorter:
        for each in _rows(batch):
            sorter.add(each, np.arange(each.num_rows, dtype=np.uint64))


def _write(batch, folder):
    write_deltalake(folder, pa.RecordBatchReader.from_batches(batch.schema, _rows(batch)))


@pytest.mark.parametrize("work", [_sort, _write])
def test_work_in_a_thread_that_nobody_waits_for_ends_at_its_next_batch(tmp_path, work):
    batch, has_begun = pa.record_batch({"id": [1, 2, 3]}), threading.Event()

    def endless():
        has_begun.set()
        work(batch, tmp_path)

    def interrupted():
        has_begun.wait()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all([endless, interrupted], TaskLimits(2, "a test"))
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.fixture(autouse=True)
def handler():
    """Python's handler of SIGINT, which a SparkContext of an earlier test has replaced."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_query_of_another_thread_goes_on():
    interrupted = []

    def work() -> None:
        with interruptible(lambda: interrupted.append("thread")):
            begun.set()
            done.wait()

    begun, done = threading.Event(), threading.Event()
    other = threading.Thread(target=work)
    other.start()
    begun.wait()
    came = threading.Event()
    with pytest.raises(KeyboardInterrupt), interruptible(came.set):
        os.kill(os.getpid(), signal.SIGINT)
        came.wait()
    done.set()
    other.join()
    assert interrupted == []


def press_ctrl_c() -> None:
    """Press Ctrl-C and handle it, and wait until everything was interrupted that runs."""
    came = threading.Event()
    with interruptible(came.set):
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait()
        assert came.wait(60)


def test_tasks_of_another_thread_go_on():
    interrupted = []
    begun, done = threading.Event(), threading.Event()

    def task() -> None:
        with interruptible(lambda: interrupted.append("task")):
            begun.set()
            done.wait()

    other = threading.Thread(target=run_all, args=([task], TaskLimits(1, "deltaarrow-test")))
    other.start()
    begun.wait()
    press_ctrl_c()
    done.set()
    other.join()
    assert interrupted == []


def test_tasks_of_the_main_thread_are_interrupted_whatever_the_name_of_their_threads():
    begun, done = threading.Event(), threading.Event()

    def task() -> None:
        begun.wait()  # until the main thread has started all threads
        with interruptible(done.set):
            os.kill(os.getpid(), signal.SIGINT)
            done.wait()

    with (
        pytest.raises(KeyboardInterrupt),
        contextlib.closing(Threads().run([lambda: None, task], TaskLimits(2, "test"))) as results,
    ):
        next(results)
        begun.set()
        next(results)
    assert done.is_set()


def _of_reader(relation):
    return relation.to_arrow_reader(10_000)


def _of_batches(relation):
    return open_batches(relation)[1]


def _of_tasks(relation):
    return Threads().run([lambda: 1] * 30, TaskLimits(1, "test"))


@pytest.fixture
def relation(tmp_path):
    """300,000 rows, which DuckDB computes as they are read."""
    write_deltalake(tmp_path / "table", pa.table({"a": range(300_000)}))
    query = f"SELECT a + 1 AS b FROM delta.`{tmp_path / 'table'}`"
    return deltaarrow.connect().sql(query, dialect="spark")


@pytest.mark.parametrize("begin", [_of_reader, _of_batches, _of_tasks])
def test_a_stream_may_be_begun_in_the_main_thread_and_finished_in_another(relation, begin):
    stream = begin(relation)
    next(stream)
    with ThreadPoolExecutor(1) as pool:
        assert len(pool.submit(list, stream).result()) > 0
    press_ctrl_c()
    assert signal.set_wakeup_fd(-1) == -1


@pytest.mark.parametrize("begin", [_of_reader, _of_batches])
def test_a_stream_goes_on_after_ctrl_c_that_the_caller_handled_between_two_batches(relation, begin):
    stream = begin(relation)
    next(stream)
    press_ctrl_c()
    assert len(list(stream)) > 0


def test_a_socket_is_put_back_once_a_block_of_the_main_thread_begins_after_one_that_ended_elsewhere():
    block = interruptible(lambda: None)
    block.__enter__()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(block.__exit__, None, None, None).result()
    here, there = socket.socketpair()
    there.setblocking(False)
    signal.set_wakeup_fd(there.fileno())
    with here, there:
        press_ctrl_c()
        assert signal.set_wakeup_fd(-1) == there.fileno()


def test_a_socket_that_was_closed_meanwhile_is_not_put_back():
    here, there = socket.socketpair()
    there.setblocking(False)
    signal.set_wakeup_fd(there.fileno())
    with interruptible(lambda: None):
        here.close()
        there.close()
    assert signal.set_wakeup_fd(-1) == -1


def test_one_ctrl_c_counts_once_where_another_library_puts_the_socket_back():
    with interruptible(lambda: None):
        saved = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(saved)
    interrupted = []
    with interruptible(lambda: interrupted.append("query")):
        for _ in range(3):
            press_ctrl_c()
    assert len(interrupted) == 3
    assert signal.set_wakeup_fd(-1) == -1


def test_a_handler_of_the_program_decides():
    handled = []
    before = signal.signal(signal.SIGINT, lambda *_: handled.append("program"))
    try:
        with interruptible(lambda: handled.append("query")):
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.set_wakeup_fd(-1) == -1
    finally:
        signal.signal(signal.SIGINT, before)
    assert handled == ["program"]


def test_a_query_ends_beside_the_handler_of_a_spark_context():
    def of_spark(number, frame):
        raise KeyboardInterrupt

    of_spark.__module__ = "pyspark.core.context"
    signal.signal(signal.SIGINT, of_spark)
    press_ctrl_c()


def test_signals_reach_the_socket_that_another_library_waits_at():
    here, there = socket.socketpair()
    there.setblocking(False)
    signal.set_wakeup_fd(there.fileno())
    try:
        with pytest.raises(KeyboardInterrupt), interruptible(lambda: None):
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait()
        assert signal.set_wakeup_fd(-1) == there.fileno()
        here.settimeout(60)
        assert here.recv(1) == bytes([signal.SIGINT])
    finally:
        signal.set_wakeup_fd(-1)
        here.close()
        there.close()


def test_a_failure_without_ctrl_c_stays_what_it_is():
    with pytest.raises(ValueError, match="no interrupt"), interruptible(lambda: None):
        raise ValueError("no interrupt")


def test_a_forked_child_does_not_wake_its_parent():
    interrupted = []
    with sandbox_cursor(), interruptible(lambda: interrupted.append("parent")):
        child = os.fork()
        if not child:
            with pytest.raises(KeyboardInterrupt), interruptible(lambda: None):
                os.kill(os.getpid(), signal.SIGINT)
                threading.Event().wait()
            os._exit(7)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert interrupted == []


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="the system does not list descriptors")
@pytest.mark.parametrize("is_put_back", [False, True])
def test_a_forked_child_keeps_no_descriptor_of_its_parent(is_put_back):
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    here, there = socket.socketpair()
    there.setblocking(False)
    with here, there:
        signal.set_wakeup_fd(there.fileno())
        with interruptible(lambda: None):
            saved = signal.set_wakeup_fd(-1)
            signal.set_wakeup_fd(saved)
        if is_put_back:
            signal.set_wakeup_fd(saved)
        opened = descriptors()
        child = os.fork()
        if not child:
            closed = opened - descriptors()
            os._exit(closed if signal.set_wakeup_fd(-1) == (-1 if is_put_back else there.fileno()) else 0)
        _, status = os.waitpid(child, 0)
        # Both ends of the socket, and the descriptor that signals are passed on to; others may close theirs.
        assert os.waitstatus_to_exitcode(status) >= 3
        signal.set_wakeup_fd(-1)
