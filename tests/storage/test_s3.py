"""S3: options in two spellings, paged listings, and errors that must not read as an empty table."""

import pytest

from deltaarrow.errors import StorageError
from deltaarrow.storage import open_store
from deltaarrow.storage.s3 import list_s3_objects, s3fs_options
from tests.support.stores import BUCKET, raw_s3


def options(**given):
    found = s3fs_options(given)
    assert found.pop("default_cache_type") == "none"
    return found


@pytest.mark.parametrize("prefix", ["AWS_", "aws_", ""])
def test_options_in_deltalakes_spelling(prefix: str) -> None:
    def key(name: str) -> str:
        return prefix + (name if prefix == "AWS_" else name.lower())

    given = {
        key("ACCESS_KEY_ID"): "a",
        key("SECRET_ACCESS_KEY"): "b",
        key("SESSION_TOKEN"): "c",
        key("REGION"): "eu-west-1",
        key("ENDPOINT_URL"): "http://127.0.0.1:1",
        key("ALLOW_HTTP"): "true",
        key("SKIP_SIGNATURE"): "false",
        key("VIRTUAL_HOSTED_STYLE_REQUEST"): "true",
    }
    assert options(**given) == {
        "key": "a",
        "secret": "b",
        "token": "c",
        "client_kwargs": {"region_name": "eu-west-1"},
        "endpoint_url": "http://127.0.0.1:1",
        "anon": False,
        "config_kwargs": {"s3": {"addressing_style": "virtual"}},
    }


def test_options_of_s3fs_stay() -> None:
    client = {"verify": "/ca.pem"}
    given = {"key": "a", "client_kwargs": client, "AWS_REGION": "eu-west-1", "requester_pays": True}
    assert options(**given) == {
        "key": "a",
        "client_kwargs": {"verify": "/ca.pem", "region_name": "eu-west-1"},
        "requester_pays": True,
    }
    assert client == {"verify": "/ca.pem"}
    assert s3fs_options({"default_cache_type": "bytes"}) == {"default_cache_type": "bytes"}


def test_options_for_writers_mean_nothing_to_a_reader() -> None:
    assert options(AWS_S3_ALLOW_UNSAFE_RENAME="true", conditional_put="etag") == {}


def test_invalid_certificates() -> None:
    assert options(allow_invalid_certificates="true") == {"client_kwargs": {"verify": False}}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"AWS_ACESS_KEY_ID": "a"}, "unknown storage option 'AWS_ACESS_KEY_ID'"),
        ({"AWS_ACCESS_KEY_ID": "a", "aws_access_key_id": "b"}, "disagrees"),
        ({"AWS_ACCESS_KEY_ID": "a", "key": "b"}, "given twice"),
        ({"AWS_SKIP_SIGNATURE": "perhaps"}, "must be true or false, and has neither value"),
        ({"AWS_ALLOW_HTTP": "false", "AWS_ENDPOINT_URL": "HTTP://x"}, "allow_http forbids"),
    ],
)
def test_options_that_are_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(StorageError, match=message):
        s3fs_options(given)


def test_a_listing_of_many_pages(s3_options: dict[str, str], monkeypatch) -> None:
    raw = raw_s3(s3_options)
    names = [f"{version:020}.json" for version in range(25)]
    for name in names:
        raw.pipe_file(f"{BUCKET}/pages/_delta_log/{name}", b"{}")
    store = open_store(f"s3://{BUCKET}/pages", s3_options)
    filesystem = store.fsspec_filesystem()
    requests = []
    real = filesystem.call_s3

    def call_s3(method, **request):
        requests.append(dict(request))
        return real(method, MaxKeys=10, **request)

    monkeypatch.setattr(filesystem, "call_s3", call_s3)
    assert [entry.name for entry in store.list_from("_delta_log")] == [f"_delta_log/{name}" for name in names]
    assert len(requests) == 3
    requests.clear()
    assert [entry.name for entry in store.list_from("_delta_log", names[18])] == [
        f"_delta_log/{name}" for name in names[18:]
    ]
    assert len(requests) == 1, "a listing from a name does not fetch what is before it"
    assert list_s3_objects(filesystem, BUCKET, "") == []


def test_the_object_that_stands_for_a_folder_is_no_file(s3_options: dict[str, str]) -> None:
    raw = raw_s3(s3_options)
    raw.pipe_file(f"{BUCKET}/marked/_delta_log/", b"")
    raw.pipe_file(f"{BUCKET}/marked/_delta_log/0.json", b"{}")
    store = open_store(f"s3://{BUCKET}/marked", s3_options)
    assert [entry.name for entry in store.list_from("_delta_log")] == ["_delta_log/0.json"]
    assert [entry.name for entry in store.list_recursive()] == ["_delta_log/0.json"]
    assert store.list_from("") == []


def test_a_missing_bucket_is_an_empty_folder(s3_options: dict[str, str]) -> None:
    assert open_store("s3://no-such-bucket/t", s3_options).list_from("_delta_log") == []


def test_a_denied_listing_is_not_an_empty_folder(s3_options: dict[str, str], monkeypatch) -> None:
    store = open_store(f"s3://{BUCKET}/denied", s3_options)
    filesystem = store.fsspec_filesystem()

    def denied(*args, **kwargs):
        raise PermissionError("Access Denied")

    monkeypatch.setattr(filesystem, "call_s3", denied)
    monkeypatch.setattr(filesystem, "find", denied)
    with pytest.raises(StorageError, match="Access Denied"):
        store.list_from("_delta_log")
    with pytest.raises(StorageError, match="Access Denied"):
        list(store.list_recursive())


def test_secrets_are_not_shown(s3_options: dict[str, str]) -> None:
    assert "secret" not in repr(open_store(f"s3://{BUCKET}/t", s3_options))
