"""Stores that throttle, fail, break connections off or send half of an answer: what is read is whole."""

import functools
import http.server
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.engines.duckdb.view import register
from deltaarrow.errors import StorageError
from deltaarrow.storage import open_store
from tests.support.cloud_server import ACCOUNT, cloud_server
from tests.support.faulty_server import FAULTS, faulty_server
from tests.support.stores import BUCKET

KINDS = ("s3", "gs", "azure", "http")
ROWS = pa.table({"id": range(3000), "name": [f"name {number * 7919}" for number in range(3000)]})
_numbers = itertools.count()


class Place(NamedTuple):
    """A location behind a server of which `server.fault` says what fails, and where its files are written."""

    server: Any
    uri: str
    options: dict[str, Any]
    source: str

    def write(self) -> da.DeltaTable:
        """Write a table of two files there, and open it."""
        options = self.options if self.source == self.uri else None
        for _ in range(2):
            da.write_deltalake(self.source, ROWS, mode="append", storage_options=options)
        return da.DeltaTable(self.uri, storage_options=self.options)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # it holds a body back for 40 ms

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def servers(request, tmp_path_factory) -> Iterator[Callable[[str], tuple[Any, str, dict[str, Any]]]]:
    """The server of a kind of store, the location of its bucket and storage options."""
    folder = tmp_path_factory.mktemp("web")
    handler = functools.partial(_Quiet, directory=str(folder))
    with ExitStack() as stack:
        web = stack.enter_context(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=web.serve_forever, args=(0.01,), daemon=True).start()
        stack.callback(web.shutdown)
        before = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{web.server_address[1]}"}
        proxy = stack.enter_context(faulty_server(before))
        cloud = stack.enter_context(cloud_server(BUCKET))
        s3 = stack.enter_context(faulty_server(request.getfixturevalue("s3_options")))
        s3_options = {name: value for name, value in s3.options.items() if name != "config_kwargs"}

        def place(kind: str) -> Place:
            name = f"faults/{next(_numbers)}"
            server, bucket, options = {
                "s3": (s3, f"s3://{BUCKET}", s3_options),
                "gs": (cloud, f"gs://{BUCKET}", cloud.options_of_google),
                "azure": (cloud, f"abfss://{BUCKET}@{ACCOUNT}.dfs.core.windows.net", cloud.options_of_azure),
                "http": (proxy, proxy.options["AWS_ENDPOINT_URL"], {}),
            }[kind]
            uri = f"{bucket}/{name}"
            return Place(server, uri, options, str(folder / name) if kind == "http" else uri)

        yield place


@pytest.fixture
def place(request, servers) -> Iterator[Place]:
    found = servers(request.param)
    found.server.fault = lambda request: None
    yield found
    found.server.fault = lambda request: None


def read_by_arrow(table: da.DeltaTable) -> list[int]:
    return table.to_pyarrow_table()["id"].to_pylist()


def read_by_duckdb(table: da.DeltaTable) -> list[int]:
    con = duckdb.connect()
    register(con, "t", table)
    return [number for number, _ in con.sql("SELECT id, name FROM t").fetchall()]


def read_by_polars(table: da.DeltaTable) -> list[int]:
    return da.scan_delta(table).collect()["id"].to_list()


READERS = [read_by_arrow, read_by_duckdb, read_by_polars]


def assert_unreached(reader: Callable[[da.DeltaTable], Any], table: da.DeltaTable) -> None:
    """A reader raises a `StorageError` that names the place, or an error of Polars's own reader.

    The path in that one may be of another table: it is the first that Polars has read from the server.
    """
    with pytest.raises(Exception, match=r"cannot reach|object-store error") as caught:
        reader(table)
    told = str(caught.value)
    if reader is read_by_polars and "object-store error" in told:
        return
    assert isinstance(caught.value, StorageError)
    assert table.table_uri in told
    assert "Traceback" not in told


def first_of_each(fault: str) -> Callable[[Any], str | None]:
    """The first request about each object fails, and the first listing."""
    seen: set[tuple[str, str]] = set()

    def decide(request: Any) -> str | None:
        key = request[:2]  # the method, and the key of an object or the path of a request
        is_first = key not in seen
        seen.add(key)
        return fault if is_first else None

    return decide


USUAL = [("s3", "busy", 0), ("http", "cut off", 1)]


@pytest.mark.parametrize(
    ("place", "fault", "reader"),
    [
        *(pytest.param(kind, fault, READERS[n], id=f"{kind}-{fault}") for kind, fault, n in USUAL),
        *(
            pytest.param(kind, fault, reader, marks=pytest.mark.slow)
            for kind, fault, reader in itertools.product(KINDS, FAULTS, READERS)
        ),
    ],
    indirect=["place"],
)
def test_what_fails_once_is_asked_for_again(place: Place, fault, reader) -> None:
    place.write()
    place.server.fault = first_of_each(fault)
    table = da.DeltaTable(place.uri, storage_options=place.options)
    assert sorted(reader(table)) == sorted(2 * ROWS["id"].to_pylist())


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        ("s3", "cut off"),
        *(
            pytest.param(kind, fault, marks=pytest.mark.slow)
            for kind in ("s3", "azure")
            for fault in ("busy", "throttled", "broken")
        ),
    ],
    indirect=["place"],
)
def test_the_option_says_how_often_a_request_is_repeated(place: Place, fault) -> None:
    place.write()
    for retries in (0, 2):
        store = open_store(place.uri, {**place.options, "max_retries": str(retries)})
        data_file = next(each.name for each in store.list_recursive() if each.name.endswith(".parquet"))
        whole = store.read(data_file)
        for failing in (retries, retries + 1):
            left = itertools.count()
            place.server.fault = lambda _, left=left, failing=failing: fault if next(left) < failing else None
            if failing == retries:
                assert store.read(data_file) == whole
                continue
            with pytest.raises(StorageError, match="cannot reach") as caught:
                store.read(data_file)
            assert place.uri in str(caught.value)
        place.server.fault = lambda _: None


@pytest.mark.parametrize(
    "place",
    [pytest.param(each, marks=() if each == "s3" else pytest.mark.slow) for each in KINDS],
    indirect=True,
)
@pytest.mark.parametrize(
    "fault", [pytest.param(each, marks=() if each == "cut off" else pytest.mark.slow) for each in FAULTS]
)
def test_what_fails_each_time_is_an_error_that_names_the_place(place: Place, fault) -> None:
    table = place.write()
    few = {"max_retries": "0"} if place.uri.startswith(("s3", "abfss")) else {}
    table = da.DeltaTable(place.uri, storage_options={**place.options, **few})
    place.server.fault = lambda _: fault
    for reader in READERS:
        assert_unreached(reader, table)


@pytest.mark.parametrize("place", KINDS, indirect=True)
@pytest.mark.parametrize("reader", READERS)
def test_a_data_file_that_a_store_refuses_is_not_taken_for_a_damaged_one(place: Place, reader) -> None:
    table = place.write()
    place.server.fault = lambda _: "refused"
    assert_unreached(reader, table)


@pytest.mark.parametrize("place", ["http"], indirect=True)
def test_a_file_that_a_web_server_refuses_is_not_taken_for_a_deleted_one(place: Place) -> None:
    table = place.write()
    place.server.fault = lambda request: "refused"
    for use in (lambda: table.to_pyarrow_table(), lambda: table.snapshot.store.exists("f")):
        with pytest.raises(StorageError, match=r"cannot reach .*Forbidden"):
            use()
