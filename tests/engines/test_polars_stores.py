"""Polars's own reader reaches S3 with the credentials of the store, which no text and no plan shows."""

import logging
import pickle
from dataclasses import dataclass, field, replace

import polars as pl
import pyarrow as pa
import pytest
import s3fs

import deltaarrow as da
from deltaarrow.catalogs.lent_store import LentStore
from deltaarrow.engines.polars.object_stores import storage_arguments, store_obstacle
from deltaarrow.scan import plan_scan
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from tests.support.faulty_server import faulty_server
from tests.support.stores import BUCKET, s3_options, servers

__all__ = ["s3_options", "servers"]

URI = f"s3://{BUCKET}/of-polars"
ROWS = pa.table({"id": [1, 2, 3], "name": ["a", "b", None]})
SECRET = "pa55w0rd-of-tests"
CONFIG = """
[profile lake]
region = eu-west-1
endpoint_url = {AWS_ENDPOINT_URL}
aws_access_key_id = {AWS_ACCESS_KEY_ID}
aws_secret_access_key = pa55w0rd-of-tests
"""


@pytest.fixture(scope="module")
def options(s3_options):
    """Options for a table, with a secret that a text would show; the server does not check it."""
    da.write_deltalake(URI, ROWS, mode="overwrite", storage_options=s3_options)
    return s3_options | {"AWS_SECRET_ACCESS_KEY": SECRET}


@pytest.fixture
def no_variables(monkeypatch):
    """Nothing is told by the environment; s3fs looks at it once for each set of options."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    s3fs.S3FileSystem.clear_instance_cache()
    yield
    s3fs.S3FileSystem.clear_instance_cache()


def is_native(frame: pl.LazyFrame) -> bool:
    return "Parquet SCAN" in frame.explain()


def keys_of(frame_store) -> dict[str, str]:
    keys, _ = storage_arguments(frame_store)["credential_provider"]()
    return keys


def check(uri: str, options: dict[str, str]) -> None:
    frame = da.scan_delta(uri, storage_options=options)
    assert is_native(frame)
    assert frame.collect().to_arrow().to_pylist() == ROWS.to_pylist()


def test_credentials_of_the_options(options, no_variables) -> None:
    token = options | {"AWS_SESSION_TOKEN": "t0ken"}
    assert keys_of(open_store(URI, token)) == {
        "aws_access_key_id": options["AWS_ACCESS_KEY_ID"],
        "aws_secret_access_key": SECRET,
        "aws_session_token": "t0ken",
    }
    check(URI, token)
    check(URI.replace("s3://", "s3a://"), options)
    spelled = {
        "key": options["AWS_ACCESS_KEY_ID"],
        "secret": SECRET,
        "client_kwargs": {"region_name": "eu-west-1"},
        "endpoint_url": options["AWS_ENDPOINT_URL"],
    }
    check(URI, spelled)


def test_credentials_of_the_environment(options, no_variables, monkeypatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", options["AWS_ACCESS_KEY_ID"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", options["AWS_ENDPOINT_URL"])
    assert keys_of(open_store(URI, {"AWS_REGION": "eu-west-1"}))["aws_secret_access_key"] == SECRET
    check(URI, {"AWS_REGION": "eu-west-1"})


def test_credentials_of_a_profile(options, no_variables, monkeypatch, tmp_path) -> None:
    (tmp_path / "config").write_text(CONFIG.format(**options))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    assert keys_of(open_store(URI, {"AWS_PROFILE": "lake"}))["aws_secret_access_key"] == SECRET
    check(URI, {"AWS_PROFILE": "lake"})


def test_anonymous_access(options, no_variables) -> None:
    anonymous = {name: value for name, value in options.items() if "KEY" not in name}
    arguments = storage_arguments(open_store(URI, anonymous | {"AWS_SKIP_SIGNATURE": "true"}))
    assert arguments["credential_provider"] is None
    assert arguments["storage_options"]["aws_skip_signature"] == "true"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("server", "uri"),
    [
        ("versitygw", URI),
        ("azurite", f"abfss://{BUCKET}@devstoreaccount1.dfs.core.windows.net/of-polars"),
        ("fake-gcs-server", f"gs://{BUCKET}/of-polars"),
    ],
)
def test_servers_of_others(servers, server, uri) -> None:
    options = servers(server)
    da.write_deltalake(uri, ROWS, storage_options=options)
    check(uri, options)


@dataclass
class Lender:
    """Lends other credentials each time that `number` has grown; its pickle holds none."""

    place: dict[str, str]
    number: int = 1
    lent: dict[int, dict[str, str]] = field(default_factory=dict)

    def storage_options(self, *, writes: bool = False) -> dict[str, str]:
        keys = {"AWS_ACCESS_KEY_ID": f"key {self.number}", "AWS_SECRET_ACCESS_KEY": f"{SECRET} {self.number}"}
        return self.lent.setdefault(self.number, self.place | keys)

    def __reduce__(self) -> tuple[object, ...]:
        return Lender, (self.place, self.number)


def test_credentials_that_a_catalog_lends_are_renewed(options) -> None:
    place = {name: value for name, value in options.items() if "KEY" not in name}
    lender = Lender(place)
    store = LentStore(URI, lender)
    provider = storage_arguments(store)["credential_provider"]
    assert provider()[0]["aws_access_key_id"] == "key 1"
    frame = da.scan_delta(Snapshot.load(store))
    assert is_native(frame)
    assert SECRET.encode() not in pickle.dumps(frame)
    lender.number = 2
    assert provider()[0] == {"aws_access_key_id": "key 2", "aws_secret_access_key": f"{SECRET} 2"}
    assert pickle.loads(pickle.dumps(provider))()[0]["aws_access_key_id"] == "key 2"
    assert frame.collect().to_arrow().to_pylist() == ROWS.to_pylist()


def test_each_table_is_read_with_its_own_credentials(options) -> None:
    """Polars keeps connections to a server; they must not outlive the credentials of a table."""
    with faulty_server(options) as server:
        place = options | {"AWS_ENDPOINT_URL": server.options["AWS_ENDPOINT_URL"]}

        def signers(run) -> set[str]:
            server.signers.clear()
            assert run().height == 3
            return {key for client, key in server.signers if client == "polars"}

        for key in ("ann", "bob", "ann"):
            frame = da.scan_delta(URI, storage_options=place | {"AWS_ACCESS_KEY_ID": key})
            assert signers(frame.collect) == {key}
        lender = Lender({name: value for name, value in place.items() if "KEY" not in name})
        snapshot = Snapshot.load(LentStore(URI, lender))
        arguments = storage_arguments(snapshot.store)
        arguments["credential_provider"] = replace(arguments["credential_provider"], kept_seconds=0)
        (path,) = (snapshot.store.location(task.path) for task in plan_scan(snapshot).tasks)
        lent = pl.scan_parquet(path, **arguments)
        for number in (1, 2):
            lender.number = number
            assert signers(lent.collect) == {f"key {number}"}


def test_no_text_shows_the_credentials(options, monkeypatch, capfd, caplog) -> None:
    monkeypatch.setenv("POLARS_VERBOSE", "1")
    caplog.set_level(logging.INFO)
    uri = f"{URI}-without-a-file"
    da.write_deltalake(uri, ROWS, mode="overwrite", storage_options=options)
    frame = da.scan_delta(uri, storage_options=options)
    table = da.DeltaTable(uri, storage_options=options)
    texts = [frame.explain(), frame.explain(optimized=False), repr(frame), da.explain(frame)]
    arguments = storage_arguments(table.snapshot.store)
    texts += [repr(arguments), str(arguments["credential_provider"])]
    assert frame.collect().height == 3
    (name,) = table.file_uris()
    s3fs.S3FileSystem(
        key="key", secret="x", endpoint_url=options["AWS_ENDPOINT_URL"], use_listings_cache=False
    ).rm(name)
    with pytest.raises(Exception, match="parquet") as caught:
        da.scan_delta(table).collect()
    texts += [str(caught.value), *(record.getMessage() for record in caplog.records)]
    texts += capfd.readouterr()
    assert [text for text in map(str, texts) if SECRET in text] == []


def test_credentials_of_google_and_azure(monkeypatch) -> None:
    google = open_store("gs://bucket/t", {"GOOGLE_BEARER_TOKEN": SECRET})
    arguments = storage_arguments(google)
    assert (arguments["storage_options"], SECRET in repr(arguments)) == ({}, False)
    assert arguments["credential_provider"]()[0] == {"bearer_token": SECRET}
    anonymous = open_store(
        "gs://bucket/t", {"GOOGLE_SKIP_SIGNATURE": "true", "base_url": "http://127.0.0.1:1"}
    )
    assert storage_arguments(anonymous) == {
        "storage_options": {
            "google_base_url": "http://127.0.0.1:1",
            "allow_http": "true",
            "google_skip_signature": "true",
        },
        "credential_provider": None,
    }
    uri = "abfss://box@lake.dfs.core.windows.net/t"
    for given, keys in (
        ({"account_key": "c2VjcmV0"}, {"account_key": "c2VjcmV0"}),
        ({"sas_token": "?sv=1&sig=x"}, {"sas_token": "sv=1&sig=x"}),
        ({"bearer_token": SECRET}, {"bearer_token": SECRET}),
    ):
        arguments = storage_arguments(open_store(uri, given))
        assert arguments["storage_options"] == {"azure_storage_account_name": "lake"}
        assert arguments["credential_provider"]()[0] == keys
        assert [key for key in keys.values() if key in repr(arguments)] == []
    assert storage_arguments(open_store(uri, {"skip_signature": "true"}))["credential_provider"] is None


@pytest.mark.parametrize(
    ("further", "reason"),
    [
        ({"timeout": "30s"}, "the storage option config_kwargs.read_timeout"),
        ({"AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true"}, "config_kwargs.s3.addressing_style"),
        ({"s3_additional_kwargs": {"SSECustomerKey": "k"}}, "s3_additional_kwargs.SSECustomerKey"),
        ({"cache_folder": "/tmp/absent"}, "the cache on disk"),
    ],
)
def test_what_polars_would_not_follow(further, reason, tmp_path) -> None:
    if "cache_folder" in further:
        further = {"cache_folder": str(tmp_path)}
    assert reason in store_obstacle(open_store(URI, further))


def test_what_polars_would_not_follow_elsewhere() -> None:
    google = open_store("gs://bucket/t", {"GOOGLE_SKIP_SIGNATURE": "true", "requester_pays": True})
    assert "requester_pays" in store_obstacle(google)
    azure = open_store("abfss://box@lake.dfs.core.windows.net/t", {"skip_signature": "true", "timeout": "5s"})
    assert "the storage option read_timeout" in store_obstacle(azure)
    fabric = open_store("abfss://w@onelake.dfs.fabric.microsoft.com/t", {"skip_signature": "true"})
    assert "fabric" in store_obstacle(fabric)
    assert "no reader" in store_obstacle(open_store("memory://x/t"))


def test_what_only_writers_and_other_readers_follow() -> None:
    options = {
        "AWS_SERVER_SIDE_ENCRYPTION": "AES256",
        "AWS_UNSIGNED_PAYLOAD": "true",
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false",
        "default_block_size": 1 << 20,
        "AWS_REQUEST_PAYER": "true",
    }
    assert store_obstacle(open_store(URI, options)) is None
