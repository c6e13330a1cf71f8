"""The files databases: their reads, their rights, and the lifetime of cursors."""

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow.compute import (
    database,
    files_cursor,
    files_database as files,
    prepare_files,
    quote_file,
    set_memory_limit,
)
from deltaarrow.storage import open_store
from tests.support.stores import BUCKET, Place, fork, raw_s3

VALUES = list(range(5000))


def parquet(values: list[int] = VALUES) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": pa.array(values, pa.int64())}), sink, row_group_size=1000)
    return sink.getvalue()


def total(store, name: str) -> int:
    with files_cursor(store) as cursor:
        return cursor.execute(
            f"SELECT sum(a) FROM read_parquet({quote_file(store.location(name))})"
        ).fetchone()[0]


def setting(cursor, name: str):
    return cursor.execute(f"SELECT current_setting('{name}')").fetchone()[0]


@pytest.mark.parametrize(
    "name", ["f.parquet", "p=x y%3A%2F/é+ü#.parquet", "x[1]*?{a}.parquet", "it's.parquet"]
)
def test_files_are_read_by_their_location(place: Place, name: str) -> None:
    place.put(name, parquet())
    place.put("x1_q{a}.parquet", parquet([1]))  # what the name would match as a pattern
    location = place.store.location(name)
    with files_cursor(place.store) as cursor:
        rows = cursor.execute(
            f"SELECT filename, sum(a) FROM read_parquet({quote_file(location)}, "
            "hive_partitioning=false) GROUP BY 1"
        ).fetchall()
    assert [count for _, count in rows] == [sum(VALUES)]
    if place.store.uri.startswith(("/", "s3:", "memory:")):
        assert rows[0][0] == location


def test_many_threads_read_one_file(place: Place) -> None:
    place.put("f.parquet", parquet())
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: total(place.store, "f.parquet"), range(24))) == {sum(VALUES)}


def test_a_file_that_was_replaced_is_read_anew(writable_place: Place) -> None:
    for number in range(3):
        writable_place.store.write("f.parquet", parquet([number, 7]))
        assert total(writable_place.store, "f.parquet") == number + 7


def test_the_session_is_in_utc_and_loads_nothing(tmp_path) -> None:
    with files_cursor(open_store(tmp_path)) as cursor:
        assert setting(cursor, "TimeZone") == "UTC"
        assert setting(cursor, "autoinstall_known_extensions") is False
        assert setting(cursor, "autoload_known_extensions") is False
        assert setting(cursor, "allow_persistent_secrets") is False


def test_python_variables_are_not_tables(tmp_path) -> None:
    secret = pa.table({"a": [1]})
    with files_cursor(open_store(tmp_path)) as cursor:
        with pytest.raises(duckdb.CatalogException):
            cursor.execute("FROM secret")
        cursor.register("given", secret)
        assert cursor.execute("FROM given").fetchall() == [(1,)]
    with files_cursor(open_store(tmp_path)) as cursor, pytest.raises(duckdb.CatalogException):
        cursor.execute("FROM given")


def test_the_cursor_is_closed_at_the_end(tmp_path) -> None:
    with pytest.raises(ZeroDivisionError), files_cursor(open_store(tmp_path)) as cursor:
        raise ZeroDivisionError
    with pytest.raises(duckdb.ConnectionException):
        cursor.execute("SELECT 1")


def test_local_stores_share_one_database(tmp_path) -> None:
    with files_cursor(open_store(tmp_path / "a")) as cursor:
        cursor.execute("CREATE OR REPLACE MACRO shared() AS 1")
        with files_cursor(open_store(tmp_path / "b")) as other:
            assert other.execute("SELECT shared()").fetchone() == (1,)
        with files_cursor(open_store("memory://x/t")) as other, pytest.raises(duckdb.CatalogException):
            other.execute("SELECT shared()")
        cursor.execute("DROP MACRO shared")


def test_stores_with_other_credentials_are_not_mixed_up(s3_options: dict[str, str]) -> None:
    raw_s3(s3_options).pipe_file(f"{BUCKET}/rights/f.parquet", parquet())
    nowhere = {
        **s3_options,
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "config_kwargs": {"retries": {"max_attempts": 0}},
    }
    good, bad = (open_store(f"s3://{BUCKET}/rights", options) for options in (s3_options, nowhere))
    bad.fsspec_filesystem().retries = 1
    assert total(good, "f.parquet") == sum(VALUES)
    with pytest.raises(Exception, match=r"connect|127\.0\.0\.1:9"):
        total(bad, "f.parquet")
    assert total(good, "f.parquet") == sum(VALUES)
    assert good.filesystem_key != bad.filesystem_key
    assert good.filesystem_key == open_store("s3a://other-bucket/t", s3_options).filesystem_key


def test_a_database_that_is_let_go_ends_with_its_last_cursor() -> None:
    store = open_store("memory://compute/lru", {"number": 0})
    store.write("f.parquet", parquet())
    with files_cursor(store) as cursor:
        for number in range(1, database._CAPACITY + 2):
            with files_cursor(open_store("memory://compute/lru", {"number": number})):
                pass
        assert ("files", store.filesystem_key) not in database._pool.databases
        assert len(database._pool.databases) == database._CAPACITY
        assert cursor.execute("SELECT count(*) FROM 'memory://compute/lru/f.parquet'").fetchone() == (5000,)
    assert total(store, "f.parquet") == sum(VALUES)


def test_reading_after_a_fork(place: Place) -> None:
    place.put("f.parquet", parquet())
    assert total(place.store, "f.parquet") == sum(VALUES)
    assert fork(lambda: total(place.store, "f.parquet")) == sum(VALUES)
    assert fork(lambda: fork(lambda: total(place.store, "f.parquet"))) == sum(VALUES)
    assert total(place.store, "f.parquet") == sum(VALUES)


@pytest.fixture
def no_databases() -> Iterator[None]:
    """No database is kept, before and after."""
    set_memory_limit()
    yield
    set_memory_limit()


def test_a_fork_waits_for_a_database_that_another_thread_makes(tmp_path, no_databases) -> None:
    (tmp_path / "f.parquet").write_bytes(parquet())
    store, begun, events = open_store(tmp_path), threading.Event(), []

    def make() -> duckdb.DuckDBPyConnection:
        begun.set()
        time.sleep(0.2)
        events.append("made")
        return duckdb.connect()

    def use() -> None:
        with database.pooled_cursor("slow", make):
            pass

    user = threading.Thread(target=use)
    user.start()
    begun.wait()
    assert fork(lambda: (list(events), total(store, "f.parquet"))) == (["made"], sum(VALUES))
    user.join()


def test_a_database_is_prepared_beside_what_the_caller_does(tmp_path, monkeypatch, no_databases) -> None:
    (tmp_path / "f.parquet").write_bytes(parquet())
    store, made = open_store(tmp_path), []
    connect = database.connect
    monkeypatch.setattr(
        files, "connect", lambda **given: made.append(threading.current_thread()) or connect(**given)
    )
    prepare_files(store)
    assert total(store, "f.parquet") == sum(VALUES)
    prepare_files(store)
    assert total(store, "f.parquet") == sum(VALUES)
    assert len(made) == 1


def test_a_database_that_cannot_be_prepared_fails_whoever_asks(tmp_path, monkeypatch, no_databases) -> None:
    def fail(**_: object) -> None:
        raise duckdb.IOException("no database")

    monkeypatch.setattr(files, "connect", fail)
    prepare_files(open_store(tmp_path))
    for thread in threading.enumerate():
        if thread.name == "deltaarrow-prepare":
            thread.join()
    with pytest.raises(duckdb.Error), files_cursor(open_store(tmp_path)):
        pass


def test_a_fork_waits_for_a_database_that_is_being_prepared(tmp_path, no_databases) -> None:
    (tmp_path / "f.parquet").write_bytes(parquet())
    store, events = open_store(tmp_path), []

    def make() -> duckdb.DuckDBPyConnection:
        time.sleep(0.2)
        events.append("made")
        return duckdb.connect()

    database.prepare("slow", make)
    assert fork(lambda: (list(events), total(store, "f.parquet"))) == (["made"], sum(VALUES))


def test_a_forked_process_that_exits_in_the_ordinary_way() -> None:
    program = """
import os, sys
from deltaarrow.compute import files_cursor, sandbox_cursor
from deltaarrow.storage import open_store
def use():
    for store in (open_store("/"), open_store("memory://x/t")):
        with files_cursor(store) as cursor:
            cursor.execute("SELECT sum(range) FROM range(1000000)").fetchall()
    with sandbox_cursor() as cursor:
        cursor.execute("SELECT 1").fetchall()
use()
if child := os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
use()
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_the_memory_limit_is_half_of_the_machines_unless_set(tmp_path) -> None:
    store = open_store(tmp_path)
    with duckdb.connect() as plain:
        usual = _gib(setting(plain, "memory_limit"))  # 80 % of the machine's
    with files_cursor(store) as cursor:
        assert _gib(setting(cursor, "memory_limit")) == pytest.approx(usual * 5 / 8, rel=0.02)
        set_memory_limit("2GiB")
        try:
            assert _gib(setting(cursor, "memory_limit")) == pytest.approx(usual * 5 / 8, rel=0.02)
            with files_cursor(store) as other:
                assert setting(other, "memory_limit") == "2.0 GiB"
            assert fork(lambda: _limit(store)) == "2.0 GiB"
        finally:
            set_memory_limit()
    with files_cursor(store) as cursor:
        assert _gib(setting(cursor, "memory_limit")) == pytest.approx(usual * 5 / 8, rel=0.02)
    with pytest.raises(ValueError, match="not a memory limit: 'much'"):
        set_memory_limit("much")


def _limit(store) -> str:
    with files_cursor(store) as cursor:
        return setting(cursor, "memory_limit")


def _gib(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"MiB": 1 / 1024, "GiB": 1, "TiB": 1024}[unit]


def test_work_beyond_the_limit_spills_to_a_private_folder_that_is_removed(tmp_path) -> None:
    program = """
import os, sys, threading
from deltaarrow.compute import files_cursor, set_memory_limit
from deltaarrow.storage import open_store
set_memory_limit("120MB")
with files_cursor(open_store("/")) as cursor:
    folder = cursor.execute("SELECT current_setting('temp_directory')").fetchone()[0]
    assert not os.path.exists(folder), "nothing is spilled yet"
    values = "hash(range)::VARCHAR || repeat('x', 40)"
    reader = cursor.execute(f"SELECT {values} AS b FROM range(3000000) ORDER BY b")
    assert reader.fetchmany(2)
    assert os.listdir(folder), "nothing was spilled"
    assert os.stat(os.path.dirname(folder)).st_mode & 0o777 == 0o700
print(folder)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert done.stderr == ""
    folder = done.stdout.strip()
    assert os.path.dirname(folder) == f"{tmp_path}/deltaarrow-{os.getuid()}"
    assert not os.path.exists(folder)


KILLED = """
import os, signal, sys
from deltaarrow.compute import files_cursor
from deltaarrow.storage import open_store
with files_cursor(open_store("/")) as cursor:
    cursor.execute("SELECT 1").fetchall()
    print(cursor.execute("SELECT current_setting('temp_directory')").fetchone()[0], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def _spill_folder_of_a_killed_process(tmp_path) -> str:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    killed = subprocess.run(
        [sys.executable, "-c", KILLED], capture_output=True, text=True, check=False, env=environment
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    return killed.stdout.strip()


def test_killed_processes_leave_no_folder_each(tmp_path) -> None:
    folders = {_spill_folder_of_a_killed_process(tmp_path) for _ in range(2)}
    assert len(folders) == 2
    assert [each.name for each in tmp_path.rglob("*")] == [f"deltaarrow-{os.getuid()}"]


@pytest.mark.parametrize("other", ["file", "link", "open to all"])
def test_a_folder_that_others_may_read_is_not_used(tmp_path, other) -> None:
    shared = tmp_path / f"deltaarrow-{os.getuid()}"
    if other == "file":
        shared.touch()
    elif other == "link":
        (tmp_path / "private").mkdir(0o700)
        shared.symlink_to("private")
    else:
        shared.mkdir()
        shared.chmod(0o755)
    folder = _spill_folder_of_a_killed_process(tmp_path)
    assert os.path.dirname(folder) == str(tmp_path)
    assert os.stat(folder).st_mode & 0o777 == 0o700


def test_an_ordinary_process_ends_in_silence() -> None:
    program = """
from deltaarrow.compute import files_cursor, sandbox_cursor
from deltaarrow.storage import open_store
for store in (open_store("/"), open_store("memory://x/t")):
    with files_cursor(store) as cursor:
        cursor.execute("SELECT sum(range) FROM range(1000000)").fetchall()
with sandbox_cursor() as cursor:
    cursor.execute("SELECT 1").fetchall()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
