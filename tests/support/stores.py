"""Every kind of store, with a way to put files into it from outside: the fixture `place`."""

import contextlib
import faulthandler
import itertools
import os
import pickle
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote
from urllib.request import Request, urlopen

import fsspec
import pytest

from deltaarrow.storage import Store, open_store
from tests.support.cloud_server import ACCOUNT, CloudServer, cloud_server
from tests.support.hub_server import HubServer, hub_server
from tests.support.object_servers import azurite, fake_gcs_server, gofakes3, moto_server, raw_s3, versitygw

__all__ = [
    "FEW_WRITABLE",
    "Place",
    "Renewing",
    "cloud",
    "fork",
    "hub",
    "place",
    "raw_s3",
    "s3_options",
    "servers",
    "writable_place",
]

BUCKET = "deltaarrow-tests"
READ_ONLY = ("other", "hf")
SERVERS = {
    "azurite": azurite,
    "fake-gcs-server": fake_gcs_server,
    "versitygw": versitygw,
    "gofakes3": gofakes3,
}
WRITABLE = (
    *("local", "memory", "s3", "gs", "azure"),
    *(pytest.param(server, marks=pytest.mark.slow) for server in SERVERS),
)
FEW_WRITABLE = pytest.mark.parametrize(
    "writable_place",
    [
        "local",
        "memory",
        "s3",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("gs", "azure", *SERVERS)),
    ],
    indirect=True,
)
"""For a test that takes seconds and asks nothing of a store that the tests of stores do not."""
_numbers = itertools.count()


class Renewing:
    """A lender of storage options, which lends the next ones from each `renew` on."""

    def __init__(self, *options: dict[str, Any]) -> None:
        self._left = list(options)

    def renew(self) -> None:
        del self._left[0]

    def storage_options(self, *, writes: bool = False) -> dict[str, Any]:
        return self._left[0]


class Place(NamedTuple):
    """A store, and how to put a file of it without its help."""

    store: Store
    put: Callable[[str, bytes], None]


@pytest.fixture(scope="session")
def s3_options() -> Iterator[dict[str, str]]:
    """The storage options, as deltalake spells them, for an S3 server on this machine with one bucket."""
    with moto_server(BUCKET) as options:
        yield options


@pytest.fixture(scope="session")
def cloud() -> Iterator[CloudServer]:
    """A server of Google and Azure with one bucket."""
    with cloud_server(BUCKET) as server:
        yield server


@pytest.fixture(scope="session")
def hub() -> Iterator[HubServer]:
    """A Hugging Face Hub with one dataset."""
    with hub_server() as server:
        server.put("tests/tables", "README.md", b"")
        yield server


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], dict[str, str]]]:
    """The storage options for a server of others, which runs from its first use on."""
    started: dict[str, dict[str, str]] = {}
    with contextlib.ExitStack() as stack:

        def start(name: str) -> dict[str, str]:
            if name not in started:
                folder = tmp_path_factory.mktemp(name)
                started[name] = stack.enter_context(SERVERS[name](folder, BUCKET))
            return started[name]

        yield start


@pytest.fixture(params=[*WRITABLE, *READ_ONLY])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A fresh, empty folder in every kind of store."""
    return _place(request, tmp_path)


@pytest.fixture(params=WRITABLE)
def writable_place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """The same for the stores that can be written."""
    return _place(request, tmp_path)


def _place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    number = next(_numbers)
    match request.param:
        case "local":
            return Place(open_store(tmp_path / "t"), _local_put(tmp_path / "t"))
        case "other":  # fsspec's own view of the disk stands for all its other file systems
            return Place(open_store(f"local://{tmp_path}/t"), _local_put(tmp_path / "t"))
        case "memory":
            store = open_store(f"memory://tests/{number}/t")
            return Place(store, _put(fsspec.filesystem("memory"), f"/tests/{number}/t"))
        case "s3":
            options = request.getfixturevalue("s3_options")
            root = f"{BUCKET}/{number}/t"
            return Place(open_store(f"s3://{root}", options), _put(raw_s3(options), root))
        case "hf":
            hub = request.getfixturevalue("hub")
            options = {"endpoint": hub.url, "token": False}
            store = open_store(f"hf://datasets/tests/tables/{number}/t", options)
            return Place(store, lambda name, data: hub.put("tests/tables", f"{number}/t/{name}", data))
        case "gs" | "azure":
            pytest.importorskip("gcsfs" if request.param == "gs" else "adlfs")
            server = request.getfixturevalue("cloud")
            is_azure = request.param == "azure"
            options = server.options_of_azure if is_azure else server.options_of_google
            return _in_cloud(
                request.param,
                number,
                options,
                lambda name, data: server.put(f"{BUCKET}/{number}/t/{name}", data),
            )
        case "versitygw" | "gofakes3":
            options = request.getfixturevalue("servers")(request.param)
            root = f"{BUCKET}/{number}/t"
            return Place(open_store(f"s3://{root}", options), _put(raw_s3(options), root))
        case "azurite":
            options = request.getfixturevalue("servers")(request.param)
            return _in_cloud("azure", number, options, _raw_put("azure", f"{BUCKET}/{number}/t", options))
        case "fake-gcs-server":
            options = request.getfixturevalue("servers")(request.param)
            return _in_cloud("gs", number, options, _raw_put("gs", f"{BUCKET}/{number}/t", options))
        case _:
            raise AssertionError(request.param)


def _in_cloud(kind: str, number: int, options: dict[str, str], put: Callable[[str, bytes], Any]) -> Place:
    root = f"{number}/t"
    location = (
        f"gs://{BUCKET}/{root}" if kind == "gs" else f"abfss://{BUCKET}@{ACCOUNT}.dfs.core.windows.net/{root}"
    )
    return Place(open_store(location, options), put)


def _raw_put(kind: str, root: str, options: dict[str, str]) -> Callable[[str, bytes], None]:
    """A way to put files by requests of Google's or Azure's own."""

    def put_in_google(name: str, data: bytes) -> None:
        bucket, _, key = f"{root}/{name}".partition("/")
        place = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(key, safe='')}"
        request = Request(options["GOOGLE_BASE_URL"] + place, data, method="POST")
        request.add_header("Content-Type", "application/octet-stream")
        urlopen(request).close()

    def put_in_azure(name: str, data: bytes) -> None:
        from azure.storage.blob import BlobServiceClient

        key = {"account_name": ACCOUNT, "account_key": options["AZURE_STORAGE_ACCOUNT_KEY"]}
        client = BlobServiceClient(options["AZURE_STORAGE_ENDPOINT"], key)
        container, _, blob = f"{root}/{name}".partition("/")
        client.get_blob_client(container, blob).upload_blob(data, overwrite=True)

    return put_in_google if kind == "gs" else put_in_azure


def _local_put(root: Path) -> Callable[[str, bytes], None]:
    def put(name: str, data: bytes) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)

    return put


def _put(filesystem: Any, root: str) -> Callable[[str, bytes], None]:
    return lambda name, data: filesystem.pipe_file(f"{root}/{name}", data)


def fork(function: Callable[[], Any], seconds: float = 300) -> Any:
    """What `function` returns, or raises, in a forked child of this process.

    A child that waits for what no thread of it will do prints where its threads stand. The time is long, as
    a child gets little of it on a machine that has much else to do.
    """
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of threads that a child does not have. That is what is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        faulthandler.register(signal.SIGUSR1, file=sys.__stderr__)
        try:
            result = pickle.dumps((True, function()))
        except BaseException as error:
            result = pickle.dumps((False, error))
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(result)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        if select.select([pipe], [], [], seconds)[0]:
            answer = pipe.read()
        else:
            # A child of the child may have the pipe open, so it is not read.
            answer = b""
            os.kill(child, signal.SIGUSR1)
            time.sleep(1)
            os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert answer, f"the child ended with status {status}"
    good, result = pickle.loads(answer)
    if not good:
        raise result
    return result
