"""Credentials of S3 that the cloud's library finds: a web identity, and the role of a machine."""

import os
from collections.abc import Iterator

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import StorageError
from tests.support.faulty_server import FaultyServer, faulty_server
from tests.support.stores import BUCKET

TOKEN = "eyJhbGciOiJub25lIn0.e30."
"""A token without claims or signature, which moto does not check."""
URI = f"s3://{BUCKET}/identities"


@pytest.fixture
def server(s3_options, monkeypatch, tmp_path) -> Iterator[FaultyServer]:
    """A proxy that records who signed a request, in an environment without credentials."""
    for name in [each for each in os.environ if each.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "absent"))
    da.write_deltalake(URI, pa.table({"id": [1, 2]}), mode="overwrite", storage_options=s3_options)
    with faulty_server(s3_options) as proxy:
        yield proxy


def of_web_identity(monkeypatch, tmp_path, url: str) -> None:
    (tmp_path / "token").write_text(TOKEN)
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/reader")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", url)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def of_machine(monkeypatch, tmp_path, url: str) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", url)


def in_duckdb(uri: str, options: dict[str, str]) -> list[int]:
    with da.connect(storage_options=options) as lake:
        return [row[0] for row in lake.sql(f"SELECT id FROM delta.'{uri}'").fetchall()]


READERS = {
    "arrow": lambda uri, options: (
        da.DeltaTable(uri, storage_options=options).to_pyarrow_table()["id"].to_pylist()
    ),
    "duckdb": in_duckdb,
    "polars": lambda uri, options: da.scan_delta(uri, storage_options=options).collect()["id"].to_list(),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("identity", [of_web_identity, of_machine])
def test_a_table_is_read_by_an_identity(server, s3_options, monkeypatch, tmp_path, identity, reader) -> None:
    identity(monkeypatch, tmp_path, s3_options["AWS_ENDPOINT_URL"])
    # No two tests have equal options, since stores with equal options share a client and its credentials.
    proxy = server.options["AWS_ENDPOINT_URL"]
    options = {"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": proxy, "AWS_ALLOW_HTTP": "true"}
    assert sorted(READERS[reader](URI, options)) == [1, 2]
    signers = {key for _, key in server.signers}
    assert signers, "requests go through the proxy"
    # moto's temporary keys; those of its metadata have a name of their own.
    assert all(key.startswith("ASIA") or key == "test-key" for key in signers), signers


def test_a_role_is_used_by_writers(server, s3_options, monkeypatch, tmp_path) -> None:
    of_web_identity(monkeypatch, tmp_path, s3_options["AWS_ENDPOINT_URL"])
    options = {"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": server.options["AWS_ENDPOINT_URL"]}
    da.write_deltalake(URI, pa.table({"id": [3]}), mode="append", storage_options=options)
    assert sorted(READERS["arrow"](URI, options)) == [1, 2, 3]
    assert all(key.startswith("ASIA") for _, key in server.signers)


def test_without_an_identity_nothing_is_read(server, monkeypatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    options = {"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": server.options["AWS_ENDPOINT_URL"]}
    with pytest.raises(StorageError, match=r"(?i)credentials"):
        da.DeltaTable(URI, storage_options=options)
    assert server.requests == []
