"""`python -m tests.support NAME [FOLDER]`: one server of the tests by itself, until it is interrupted.

It prints how to reach the server. `NAMES` are the servers; the code that runs one is that of the fixtures.
Where a server shows tables and nothing can be written to it, FOLDER is the table that it shows.
"""

import argparse
import json
import random
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.cloud_server import ACCOUNT, cloud_server
from tests.support.faulty_server import FAULTS, faulty_server
from tests.support.hive_metastore import real_metastore, stub_metastore
from tests.support.hub_server import hub_server
from tests.support.object_servers import moto_server
from tests.support.recording_server import recording_server
from tests.support.sharing_server import SharedFolder, sharing_server
from tests.support.stores import BUCKET, SERVERS
from tests.support.unity_server import TOKEN, unity_server

__all__ = ["NAMES"]

Told = dict[str, Any]
"""What a user needs to reach a server."""
_URIS = {"azurite": f"abfss://{BUCKET}@{ACCOUNT}.dfs.core.windows.net", "fake-gcs-server": f"gs://{BUCKET}"}


@contextmanager
def _moto(scratch: Path, table: Path | None) -> Iterator[Told]:
    with moto_server(BUCKET) as options:
        yield {"URI": f"s3://{BUCKET}", "storage_options": options, "Glue": options["AWS_ENDPOINT_URL"]}


@contextmanager
def _faulty(scratch: Path, table: Path | None) -> Iterator[Told]:
    """moto's S3 behind a proxy; a twentieth of the requests fails."""
    chance = random.Random(0)
    with moto_server(BUCKET) as options, faulty_server(options) as proxy:
        proxy.fault = lambda _: chance.choice(FAULTS) if chance.random() < 0.05 else None
        url = proxy.options["AWS_ENDPOINT_URL"]
        yield {"URI": f"s3://{BUCKET}", "storage_options": {**options, "AWS_ENDPOINT_URL": url}}


@contextmanager
def _cloud(scratch: Path, table: Path | None) -> Iterator[Told]:
    with cloud_server(BUCKET) as server:
        yield {
            f"gs://{BUCKET}": server.options_of_google,
            f"abfss://{BUCKET}@{ACCOUNT}.dfs.core.windows.net": server.options_of_azure,
        }


@contextmanager
def _hub(scratch: Path, table: Path | None) -> Iterator[Told]:
    with hub_server() as server:
        server.put("tests/tables", "README.md", b"")
        for path in table.rglob("*") if table else ():
            if table and path.is_file():
                server.put("tests/tables", f"t/{path.relative_to(table)}", path.read_bytes())
        options = {"endpoint": server.url, "token": False}
        yield {"URI": "hf://datasets/tests/tables/t", "storage_options": options}


@contextmanager
def _unity(scratch: Path, table: Path | None) -> Iterator[Told]:
    with unity_server() as server:
        server.reset(scratch)
        yield {"URL": server.url, "catalog": "main", "token": TOKEN}


@contextmanager
def _sharing(scratch: Path, table: Path | None) -> Iterator[Told]:
    with sharing_server() as server:
        if table:
            server.tables["share.schema.t"] = SharedFolder(table)
        yield {"profile": server.profile()}


@contextmanager
def _recording(scratch: Path, table: Path | None) -> Iterator[Told]:
    with recording_server() as server:
        yield {"URL": server.url}


def _metastore(run: Callable[[Path], AbstractContextManager[str]]) -> Callable[..., Any]:
    @contextmanager
    def told(scratch: Path, table: Path | None) -> Iterator[Told]:
        with run(scratch) as address:
            yield {"address": address}

    return told


def _store_of_others(name: str) -> Callable[..., Any]:
    @contextmanager
    def told(scratch: Path, table: Path | None) -> Iterator[Told]:
        with SERVERS[name](scratch, BUCKET) as options:
            yield {"URI": _URIS.get(name, f"s3://{BUCKET}"), "storage_options": options}

    return told


NAMES: dict[str, Callable[[Path, Path | None], AbstractContextManager[Told]]] = {
    "moto": _moto,
    "faulty-s3": _faulty,
    "google-azure": _cloud,
    "hub": _hub,
    "unity": _unity,
    "sharing": _sharing,
    "recording": _recording,
    "hive-stub": _metastore(stub_metastore),
    "hive": _metastore(real_metastore),
    **{name: _store_of_others(name) for name in SERVERS},
}
"""Name -> the server; it takes a scratch folder and the folder of a table, and tells how to reach it."""


def main() -> None:
    """Run a server until the process is interrupted or told to end."""
    parser = argparse.ArgumentParser(prog="python -m tests.support", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("folder", nargs="?", type=Path, help="a table that hub or sharing shows")
    given = parser.parse_args()
    told_to_end = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told_to_end.set())
    try:
        with (
            tempfile.TemporaryDirectory() as scratch,
            NAMES[given.name](Path(scratch), given.folder) as told,
        ):
            for name, text in told.items():
                print(name, text if isinstance(text, str) else json.dumps(text), flush=True)
            # A wait without end would not notice a signal that comes just before it.
            while not told_to_end.wait(0.2):
                pass
    except pytest.skip.Exception as skipped:
        sys.exit(str(skipped))


if __name__ == "__main__":
    main()
