"""Failures below a table raise a `DeltaError` that says where, with a class for each kind of failure.

A damaged file is a fault of the table; too many open files, a full disk and a broken connection
are not. If the engine belongs to the caller, an error of the engine's own reader keeps the engine's class.
"""

import contextlib
import errno
import http.client
import http.server
import json
import os
import re
import resource
import subprocess
import sys
import threading

import duckdb
import pyarrow as pa
import pytest
import s3fs

import deltaarrow as da
from deltaarrow.engines.duckdb.view import query
from deltaarrow.errors import CorruptDataFileError, StorageError, StorageSystemError, UnsupportedFeatureError
from tests.support.stores import BUCKET, s3_options

__all__ = ["s3_options"]

ROWS = pa.table({"id": range(5000), "text": [f"text {i * 7919 % 1000}" for i in range(5000)]})


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "t"


@pytest.fixture
def table(folder):
    da.write_deltalake(folder, ROWS)
    return da.DeltaTable(folder)


def fetch(table):
    con = da.connect().register("t", table)
    return con.execute("SELECT sum(id), max(text) FROM t").fetchall()


def merge(table):
    rows = pa.table({"id": [1], "text": ["new"]})
    merger = table.merge(rows, "t.id = s.id", source_alias="s", target_alias="t")
    return merger.when_matched_update_all().execute()


USES = {
    "arrow": lambda table: table.to_pyarrow_table(),
    "connect": fetch,
    "query": lambda table: query(table, "SELECT sum(id), max(text) FROM t").read_all(),
    "delete": lambda table: table.delete("id % 2 = 1 AND text LIKE 'text%'"),
    "update": lambda table: table.update({"text": "'new'"}, predicate="id > 4000"),
    "merge": merge,
}
every_use = pytest.mark.parametrize("use", USES.values(), ids=USES)


def put(file, at, data):
    content = bytearray(file.read_bytes())
    content[at : at + len(data)] = data
    file.write_bytes(content)


DAMAGES = {
    "page header": lambda file: put(file, 4, b"\xff" * 36),
    "zeroed page header": lambda file: put(file, 4, bytes(16)),
    "footer": lambda file: put(file, file.stat().st_size - 60, b"\xfe" * 40),
    "cut": lambda file: os.truncate(file, file.stat().st_size // 2),
    "gone": os.unlink,
    "empty": lambda file: os.truncate(file, 0),
}


@every_use
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_data_file_is_named(table, folder, use, damage):
    [file] = folder.glob("*.parquet")
    damage(file)
    with pytest.raises(CorruptDataFileError, match=re.escape(file.name)):
        use(table)


@contextlib.contextmanager
def open_files_allowed(more):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def no_more_open_files():
    with open_files_allowed(8), contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            while True:
                held.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        yield


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are counted in /proc")
@pytest.mark.parametrize("name", ["arrow", "delete", "update", "merge", "open"])
def test_too_many_open_files_are_not_a_damaged_table(table, folder, name):
    use = {**USES, "open": lambda _: da.DeltaTable(folder)}[name]
    use(table)  # what is set up at the first use is there
    with no_more_open_files(), pytest.raises(StorageSystemError, match="Too many open files") as caught:
        use(table)
    assert caught.value.errno == errno.EMFILE


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are counted in /proc")
def test_a_write_of_many_partitions_needs_few_open_files(tmp_path):
    rows = pa.table({"p": [str(number) for number in range(300)], "x": range(300)})
    da.write_deltalake(tmp_path / "warm", rows.slice(0, 2), partition_by=["p"])
    with open_files_allowed(210):
        da.write_deltalake(tmp_path / "t", rows, partition_by=["p"])
    assert da.DeltaTable(tmp_path / "t").count() == 300


def test_a_statement_that_is_wrong_keeps_the_class_of_duckdb(table):
    with pytest.raises(duckdb.BinderException):
        da.connect().register("t", table).execute("SELECT nothing FROM t")


def test_another_file_in_a_statement_is_not_taken_for_one_of_the_table(table, tmp_path):
    con = da.connect().register("t", table)
    with pytest.raises(duckdb.IOException):
        con.execute(f"SELECT * FROM t, read_parquet('{tmp_path}/absent.parquet')")


SPILLING = """
import resource, signal, sys
from deltaarrow.compute import files_cursor
from deltaarrow.engines.duckdb.view import query
from deltaarrow.errors import StorageError
from deltaarrow.storage import open_store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
rows = "SELECT i, repeat(i::VARCHAR, 9) AS s FROM range(3000000) t(i) ORDER BY s DESC LIMIT 2000000"
try:
    with files_cursor(open_store("/"), memory_limit="60MB") as cursor:
        cursor.sql(f"SELECT count(*) FROM ({rows})").fetchall()
except StorageError as error:
    print(error)
"""


def test_a_disk_that_is_too_full_to_spill_to():
    done = subprocess.run([sys.executable, "-c", SPILLING], capture_output=True, text=True, check=False)
    assert "cannot spill" in done.stdout
    assert "make room" in done.stdout


WRITING = """
import resource, signal, sys
import pyarrow as pa
import deltaarrow as da
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
try:
    da.write_deltalake(sys.argv[1], pa.table({"id": range(1_000_000)}), mode="append")
except da.DeltaError as error:
    print(type(error).__name__, error)
"""


def test_a_disk_that_is_too_full_to_write_to(table, folder):
    command = [sys.executable, "-c", WRITING, os.fspath(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("StorageSystemError cannot reach")
    assert "File too large" in done.stdout
    assert [*folder.glob(".*.tmp")] == []
    assert da.DeltaTable(folder).version() == table.version()


class BreakingProxy(http.server.BaseHTTPRequestHandler):
    """Passes requests on to `server`; the bodies of data files that it answers with end too early."""

    server_address: str

    def do_GET(self):
        behind = http.client.HTTPConnection(self.server_address)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        behind.request(self.command, self.path, body, dict(self.headers))
        answer = behind.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", answer.getheader("Content-Length") or str(len(content)))
        self.end_headers()
        is_cut = self.command == "GET" and self.path.partition("?")[0].endswith(".parquet")
        self.wfile.write(content[:-1] if is_cut else content)
        self.close_connection = True
        behind.close()

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def breaking_server(options):
    """The storage options for a server that breaks off in the middle of data files."""
    address = options["AWS_ENDPOINT_URL"].removeprefix("http://")
    proxy = type("Proxy", (BreakingProxy,), {"server_address": address})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), proxy) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        no_retries = {"config_kwargs": {"retries": {"max_attempts": 0}}}
        yield {**options, **no_retries, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}"}
        server.shutdown()
        thread.join()


@pytest.fixture
def breaking_options(s3_options, monkeypatch):
    # The client pauses before each further try, for up to a second.
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    with breaking_server(s3_options) as options:
        yield options


@pytest.mark.parametrize("use", [USES["arrow"], USES["delete"]], ids=["arrow", "delete"])
def test_a_server_that_is_gone_is_not_a_file_that_is_gone(s3_options, use):
    uri = f"s3://{BUCKET}/server-is-gone"
    da.write_deltalake(uri, ROWS, mode="overwrite", storage_options=s3_options)
    with breaking_server(s3_options) as options:
        table = da.DeltaTable(uri, storage_options=options)
    with pytest.raises(StorageError, match="cannot reach 's3://"):
        use(table)


@pytest.mark.parametrize("use", [USES["arrow"], USES["delete"]], ids=["arrow", "delete"])
def test_a_connection_that_breaks_off_is_not_a_damaged_file(s3_options, breaking_options, use):
    uri = f"s3://{BUCKET}/breaks-off"
    da.write_deltalake(uri, ROWS, mode="overwrite", storage_options=s3_options)
    with pytest.raises(StorageError, match="cannot reach 's3://"):
        use(da.DeltaTable(uri, storage_options=breaking_options))


def test_a_connection_that_breaks_off_is_not_a_broken_checkpoint(s3_options, breaking_options):
    uri = f"s3://{BUCKET}/breaks-off-in-a-checkpoint"
    da.write_deltalake(uri, ROWS, mode="overwrite", storage_options=s3_options)
    da.DeltaTable(uri, storage_options=s3_options).create_checkpoint()
    with pytest.raises(StorageError, match="cannot reach 's3://"):
        da.DeltaTable(uri, storage_options=breaking_options)


def test_a_bucket_that_is_not_there(s3_options):
    with pytest.raises(StorageError, match="no-such-bucket"):
        da.write_deltalake("s3://no-such-bucket/t", ROWS, storage_options=s3_options)


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_a_name_that_no_view_can_have(table, name):
    with pytest.raises(da.DeltaError, match="cannot register"):
        da.register(duckdb.connect(), name, table)
    with pytest.raises(da.DeltaError, match="cannot register"):
        da.connect().register(name, table)


def rewrite_first_commit(folder, change):
    file = folder / "_delta_log/00000000000000000000.json"
    actions = [json.loads(line) for line in file.read_text().splitlines()]
    for action in actions:
        change(action)
    file.write_text("\n".join(map(json.dumps, actions)))
    (file.parent / "00000000000000000000.crc").unlink(missing_ok=True)
    return da.DeltaTable(folder)


@every_use
def test_a_physical_name_with_a_nul_is_refused(table, folder, use):
    def change(action):
        if "protocol" in action:
            action["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}
        if "metaData" in action:
            action["metaData"]["configuration"] = {"delta.columnMapping.mode": "name"}
            schema = json.loads(action["metaData"]["schemaString"])
            for number, field in enumerate(schema["fields"]):
                mapping = {"id": number, "physicalName": f"a\0{number}"}
                field["metadata"] = {f"delta.columnMapping.{key}": value for key, value in mapping.items()}
            action["metaData"]["schemaString"] = json.dumps(schema)

    with pytest.raises(UnsupportedFeatureError, match="NUL"):
        use(rewrite_first_commit(folder, change))


def test_statistics_that_are_nested_deeper_than_python_reads(table, folder):
    deep = '{"numRecords":5000,"minValues":' + '{"a":' * 5000 + "1" + "}" * 5000 + "}"

    def change(action):
        if "add" in action:
            action["add"]["stats"] = deep

    read = rewrite_first_commit(folder, change)
    read.create_checkpoint()
    assert da.DeltaTable(folder).to_pyarrow_table().num_rows == 5000
