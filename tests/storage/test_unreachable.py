"""Unreachable places: a `StorageError` names the place, whichever library fails."""

import asyncio
import socket
import time
from types import SimpleNamespace

import pytest

from deltaarrow.errors import StorageError, StorageSystemError
from deltaarrow.storage import open_store
from tests.support.cloud_server import ACCOUNT

pytest.importorskip("gcsfs")
pytest.importorskip("adlfs")


@pytest.fixture(scope="module")
def endpoint():
    """An address at which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def without_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the libraries of Google and the Hub repeat requests at once; neither has an option for it."""
    import gcsfs.retry
    import huggingface_hub.utils._http

    async def no_wait(seconds: float) -> None:
        pass

    waiting = SimpleNamespace(**{**vars(asyncio), "sleep": no_wait})
    monkeypatch.setattr(gcsfs.retry, "asyncio", waiting)
    at_once = SimpleNamespace(**{**vars(time), "sleep": lambda seconds: None})
    monkeypatch.setattr(huggingface_hub.utils._http, "time", at_once)


@pytest.fixture(params=["http", "s3", "gs", "azure", "hf"])
def store(request, endpoint, monkeypatch):
    url = f"http://{endpoint}"
    if request.param == "http":
        return open_store(f"{url}/t")
    if request.param in ("gs", "hf"):
        without_waits(monkeypatch)
    uri, options = {
        "s3": (
            "s3://bucket/t",
            {
                "AWS_ACCESS_KEY_ID": "key",
                "AWS_SECRET_ACCESS_KEY": "secret",
                "AWS_REGION": "eu-west-1",
                "AWS_ENDPOINT_URL": url,
                "config_kwargs": {"retries": {"max_attempts": 0}},
            },
        ),
        "gs": ("gs://bucket/t", {"GOOGLE_BASE_URL": url, "GOOGLE_BEARER_TOKEN": "secret"}),
        "azure": (
            f"abfss://box@{ACCOUNT}.dfs.core.windows.net/t",
            {
                "AZURE_STORAGE_ENDPOINT": f"{url}/{ACCOUNT}",
                "AZURE_STORAGE_SAS_TOKEN": "sv=1&sig=secret",
                "max_retries": "0",
            },
        ),
        "hf": ("hf://datasets/tests/tables/t", {"HF_ENDPOINT": url, "HF_TOKEN": "secret"}),
    }[request.param]
    return open_store(uri, options)


@pytest.mark.parametrize(
    "use",
    [
        lambda store: store.read("f"),
        lambda store: store.read_range("f", 0, 1),
        lambda store: store.size("f"),
        lambda store: store.list_from("_delta_log"),
        lambda store: list(store.list_recursive()),
    ],
    ids=["read", "read_range", "size", "list_from", "list_recursive"],
)
def test_a_place_that_cannot_be_reached_is_a_storage_error(store, use):
    with pytest.raises(StorageError, match="cannot reach") as caught:
        use(store)
    assert store.uri in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("error", [ConnectionResetError("reset"), TimeoutError()])
def test_a_lost_connection_is_a_storage_error(tmp_path, monkeypatch, error):
    store = open_store(f"local://{tmp_path}/t")

    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr(type(store.fsspec_filesystem()), "cat_file", fail)
    with pytest.raises(StorageError, match=r"cannot reach .*/t'"):
        store.read("f")


@pytest.mark.parametrize("error", [PermissionError(13, "denied"), OSError(24, "open files")])
def test_what_the_system_refuses_keeps_its_number(tmp_path, monkeypatch, error):
    store = open_store(f"local://{tmp_path}/t")

    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr(type(store.fsspec_filesystem()), "cat_file", fail)
    with pytest.raises(StorageSystemError, match=r"cannot reach .*/t'") as caught:
        store.read("f")
    assert caught.value.errno == error.errno


@pytest.mark.parametrize("error", [KeyError("a fault"), TypeError("another")])
def test_faults_stay_what_they_are(tmp_path, monkeypatch, error):
    store = open_store(f"local://{tmp_path}/t")

    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr(type(store.fsspec_filesystem()), "cat_file", fail)
    with pytest.raises(type(error)):
        store.read("f")
