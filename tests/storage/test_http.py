"""Tables on web servers, with and without ranges, are read."""

import functools
import http.server
import re
import sys
import threading
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.compute import files_cursor, quote_file
from deltaarrow.engines.duckdb.view import register
from deltaarrow.errors import MissingDependencyError, StorageError
from deltaarrow.storage import open_store

ROWS = pa.table({"id": pa.array(range(100_000)), "name": [f"name {number}" for number in range(100_000)]})


class _WithoutRanges(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # it holds a body back for 40 ms

    def log_message(self, *arguments: object) -> None:
        pass


class _WithRanges(_WithoutRanges):
    def do_GET(self) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked is None:
            super().do_GET()
            return
        data = Path(self.translate_path(self.path)).read_bytes()
        first, last = int(asked[1]), min(int(asked[2]), len(data) - 1)
        if first >= len(data):
            self.send_error(416)
            return
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        self.wfile.write(data[first : last + 1])


@pytest.fixture(params=[_WithRanges, _WithoutRanges], ids=["ranges", "no ranges"])
def uri(request, tmp_path):
    folder = tmp_path / "t"
    da.write_deltalake(folder, ROWS.slice(0, 50_000))
    da.write_deltalake(folder, ROWS.slice(50_000), mode="append")
    handler = functools.partial(request.param, directory=str(tmp_path))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/t"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_table_on_a_web_server_is_read(uri, tmp_path) -> None:
    table = da.DeltaTable(uri)
    assert table.version() == 1
    assert table.to_pyarrow_table().sort_by("id") == ROWS
    assert da.DeltaTable(uri, version=0).count() == 50_000
    table = da.DeltaTable(uri)
    con = duckdb.connect()
    register(con, "t", table)
    assert con.sql("SELECT count(*), sum(id) FROM t").fetchall() == [(100_000, sum(range(100_000)))]


def test_a_checkpoint_on_a_web_server_is_read(uri, tmp_path) -> None:
    local = da.DeltaTable(tmp_path / "t")
    local.create_checkpoint()
    da.write_deltalake(local, ROWS.slice(0, 1), mode="append")
    table = da.DeltaTable(uri)
    assert (table.version(), table.count()) == (2, 100_001)
    with files_cursor(table.snapshot.store) as cursor:
        location = table.snapshot.store.location(f"_delta_log/{1:020}.checkpoint.parquet")
        found = cursor.execute(f"SELECT count(add) FROM read_parquet({quote_file(location)})")
        assert found.fetchone() == (2,)


def test_files_of_a_web_server(uri, tmp_path) -> None:
    store, local = open_store(uri), open_store(tmp_path / "t")
    found = store.list_from("_delta_log", f"{1:020}")
    assert [(entry.name, entry.size) for entry in found] == [
        (entry.name, entry.size) for entry in local.list_from("_delta_log", f"{1:020}")
    ]
    assert sorted(e.name for e in store.list_recursive()) == sorted(e.name for e in local.list_recursive())
    name = found[0].name
    assert store.read(name) == local.read(name)
    assert store.read_range(name, 5, 7) == local.read(name)[5:12]
    assert store.read_range(name, found[0].size + 5, 7) == b""


def test_a_web_server_is_not_written_to(uri) -> None:
    with pytest.raises(StorageError, match="no proven"):
        da.write_deltalake(uri, ROWS.slice(0, 1), mode="append")


def test_an_unknown_option_of_a_web_server_is_refused() -> None:
    with pytest.raises(StorageError, match=r"unknown storage option 'header' of http://.*headers"):
        open_store("http://127.0.0.1:1/t", {"header": {"a": "b"}})


def test_a_missing_library_of_web_servers_is_named_with_its_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'deltaarrow\[http\]'"):
        open_store("http://127.0.0.1:1/missing")
