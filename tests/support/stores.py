"""Every kind of store, with a way to put files into it from outside: the fixture `place`."""

import faulthandler
import itertools
import logging
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

import fsspec
import pytest

from deltaarrow.storage import Store, open_store

__all__ = ["Place", "fork", "place", "raw_s3", "s3_options", "writable_place"]

BUCKET = "deltaarrow-tests"
READ_ONLY = ("other",)
WRITABLE = ("local", "memory", "s3")
_numbers = itertools.count()


class Place(NamedTuple):
    """A store, and how to put a file of it without its help."""

    store: Store
    put: Callable[[str, bytes], None]


@pytest.fixture(scope="session")
def s3_options() -> Iterator[dict[str, str]]:
    """The storage options, as deltalake spells them, for an S3 server on this machine with one bucket."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    options = {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "eu-west-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ALLOW_HTTP": "true",
    }
    raw_s3(options).makedirs(BUCKET, exist_ok=True)  # the server's buckets outlive it
    yield options
    server.stop()


def raw_s3(options: dict[str, str]) -> Any:
    """An s3fs client of its own, without caches."""
    import s3fs

    return s3fs.S3FileSystem(
        key=options["AWS_ACCESS_KEY_ID"],
        secret=options["AWS_SECRET_ACCESS_KEY"],
        endpoint_url=options["AWS_ENDPOINT_URL"],
        client_kwargs={"region_name": options["AWS_REGION"]},
        use_listings_cache=False,
    )


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
        case _:
            raise AssertionError(request.param)


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
