"""Servers of others with the interfaces of S3, Google and Azure, started on this machine and stopped again.

moto's server comes from pip. No other does, so only slow tests use them, and only those that are found on the
path. docs/testing.md says how to get them.
"""

import logging
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

__all__ = ["azurite", "fake_gcs_server", "gofakes3", "moto_server", "raw_s3", "versitygw"]

_SECONDS = 30


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def _running(command: list[str], port: int, log: Path) -> Iterator[None]:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not on the path")
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            deadline = time.monotonic() + _SECONDS
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    assert process.poll() is None, log.read_text()
                    assert time.monotonic() < deadline, log.read_text()
                    time.sleep(0.1)
            yield
        finally:
            process.terminate()


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


@contextmanager
def moto_server(bucket: str) -> Iterator[dict[str, str]]:
    """Run moto's S3, DynamoDB, Glue, STS and metadata of machines; gives the storage options."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    options = _options_of_s3(port) | {"AWS_REGION": "eu-west-1"}
    raw_s3(options).makedirs(bucket, exist_ok=True)  # the server's buckets outlive it
    try:
        yield options
    finally:
        server.stop()


@contextmanager
def azurite(folder: Path, container: str) -> Iterator[dict[str, str]]:
    """Run Microsoft's Azurite; gives the storage options."""
    port = _free_port()
    command = ["azurite-blob", "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(folder)]
    command += ["--skipApiVersionCheck", "--silent", "--disableTelemetry"]
    with _running(command, port, folder / "azurite.log"):
        from deltaarrow.storage.azure.options import azure_settings

        emulator = azure_settings({"use_emulator": "true"}, None)
        options = {
            "AZURE_STORAGE_ACCOUNT_NAME": emulator.account,
            "AZURE_STORAGE_ACCOUNT_KEY": dict(emulator.options)["account_key"],
            "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{port}/{emulator.account}",
        }
        from azure.storage.blob import BlobServiceClient

        credential = {"account_name": emulator.account, "account_key": options["AZURE_STORAGE_ACCOUNT_KEY"]}
        BlobServiceClient(options["AZURE_STORAGE_ENDPOINT"], credential).create_container(container)
        yield options


@contextmanager
def fake_gcs_server(folder: Path, bucket: str) -> Iterator[dict[str, str]]:
    """Run fake-gcs-server; gives the storage options."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    command = ["fake-gcs-server", "-scheme", "http", "-host", "127.0.0.1", "-port", str(port)]
    command += ["-backend", "memory", "-external-url", url, "-public-host", f"127.0.0.1:{port}"]
    with _running(command, port, folder / "fake-gcs-server.log"):
        body = f'{{"name": "{bucket}"}}'.encode()
        request = urllib.request.Request(f"{url}/storage/v1/b?project=tests", body, method="POST")
        request.add_header("Content-Type", "application/json")
        urllib.request.urlopen(request).close()
        yield {"GOOGLE_BASE_URL": url, "GOOGLE_SKIP_SIGNATURE": "true"}


@contextmanager
def versitygw(folder: Path, bucket: str) -> Iterator[dict[str, str]]:
    """Run the Versity S3 gateway over a folder; gives the storage options."""
    port = _free_port()
    (folder / "root" / bucket).mkdir(parents=True)
    (folder / "sidecar").mkdir()
    command = ["versitygw", "--port", f"127.0.0.1:{port}", "--access", "key", "--secret", "secret"]
    command += ["posix", "--sidecar", str(folder / "sidecar"), str(folder / "root")]
    with _running(command, port, folder / "versitygw.log"):
        yield _options_of_s3(port)


@contextmanager
def gofakes3(folder: Path, bucket: str) -> Iterator[dict[str, Any]]:
    """Run gofakes3 with its objects in memory; gives the storage options.

    It tells the checksum of the whole object with each range, so that clients must not compare checksums.
    """
    port = _free_port()
    command = ["gofakes3", "-host", f"127.0.0.1:{port}", "-backend", "memory", "-initialbucket", bucket]
    with _running([*command, "-quiet"], port, folder / "gofakes3.log"):
        unchecked = {"config_kwargs": {"response_checksum_validation": "when_required"}}
        yield _options_of_s3(port) | unchecked


def _options_of_s3(port: int) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
    }
