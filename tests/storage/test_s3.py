"""S3: options in two spellings, paged listings, and errors that must not read as an empty table."""

import datetime
import email.utils
import random
import socket

import duckdb
import pyarrow as pa
import pytest
from botocore.exceptions import ReadTimeoutError
from botocore.utils import parse_timestamp
from hypothesis import given as drawn, strategies as st

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.catalogs.lent_store import LentStore
from deltaarrow.engines import register
from deltaarrow.errors import StorageError
from deltaarrow.storage import open_store
from deltaarrow.storage.s3.options import S3_OPTIONS, s3fs_options
from deltaarrow.storage.s3.requests import list_s3_objects, time_of_answer
from tests.support.faulty_server import faulty_server
from tests.support.modules import ROOT
from tests.support.stores import BUCKET, Renewing, raw_s3


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


OF_ENVIRONMENT = {
    "region": ("region_name", "far"),
    "endpoint": ("endpoint_url", "http://127.0.0.1:1"),
    "skip_signature": ("anon", "true"),
    "virtual_hosted_style_request": ("addressing_style", "true"),
    "unsigned_payload": ("payload_signing_enabled", "true"),
    "request_payer": ("requester_pays", "requester"),
    "server_side_encryption": ("ServerSideEncryption", "aws:kms"),
    "sse_kms_key_id": ("SSEKMSKeyId", "a key"),
    "sse_bucket_key_enabled": ("BucketKeyEnabled", "true"),
}


@pytest.mark.parametrize("name", OF_ENVIRONMENT)
def test_variables_of_the_environment_give_options(name, monkeypatch) -> None:
    argument, value = OF_ENVIRONMENT[name]
    variable = f"AWS_{name}".upper()
    wanted = options(**{variable: value})
    assert argument in repr(wanted)
    monkeypatch.setenv(variable, value)
    assert options() == wanted
    monkeypatch.setenv(variable, "")
    assert options() == {}


def test_every_option_of_the_server_has_a_variable() -> None:
    """AWS's library reads the variables of the others; `LockSettings` reads those of the lock."""
    others = {"access_key_id", "secret_access_key", "session_token", "profile", "endpoint_url"}
    named = {option.names[0] for option in S3_OPTIONS.of_service if option.place[0] != "lock"}
    assert named == {*OF_ENVIRONMENT, *others} - {"endpoint"}


def test_options_are_preferred_to_variables(monkeypatch) -> None:
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    monkeypatch.setenv("AWS_REGION", "far")
    monkeypatch.setenv("AWS_ENDPOINT", "http://127.0.0.1:1")
    given = {
        "key": "a",
        "secret": "b",
        "endpoint_url": "http://127.0.0.1:2",
        "client_kwargs": {"region_name": "near"},
    }
    assert options(**given) == given
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:3")  # which AWS's library reads
    assert "endpoint_url" not in options(key="a", secret="b")


def test_names_of_options_are_texts() -> None:
    with pytest.raises(StorageError, match="the name of a storage option is a text, not 1"):
        s3fs_options({1: "a"})


def test_half_of_the_credentials_may_be_in_the_environment(monkeypatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    assert options(AWS_SECRET_ACCESS_KEY="c") == {"key": "a", "secret": "c"}
    assert options(key="c") == {"key": "c", "secret": "b"}
    assert options(AWS_SECRET_ACCESS_KEY="c", key="d") == {"key": "d", "secret": "c"}
    assert options() == {}
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    assert options(AWS_SECRET_ACCESS_KEY="c") == {"secret": "c"}


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
    found = list_s3_objects(filesystem, BUCKET, "")
    assert {"name": f"{BUCKET}/pages", "type": "directory"} in found
    assert {each["type"] for each in found} == {"directory"}


@pytest.fixture
def gets(s3_options: dict[str, str], monkeypatch) -> list[tuple[str, str | None]]:
    """The method and range of each request for an object, as they are made."""
    filesystem_class = type(raw_s3(s3_options))
    real, made = filesystem_class._call_s3, []

    async def call(self, method, *arguments, **request):
        made.append((method, request.get("Range")))
        return await real(self, method, *arguments, **request)

    monkeypatch.setattr(filesystem_class, "_call_s3", call)
    return made


def test_objects_are_read_by_few_requests(s3_options: dict[str, str], gets) -> None:
    raw, size = raw_s3(s3_options), 1 << 20
    data = random.Random(7).randbytes(size)
    for name, length in [("small", 1000), ("middle", 200_000), ("large", size), ("empty", 0)]:
        raw.pipe_file(f"{BUCKET}/gets/{name}", data[:length])
    store = open_store(f"s3://{BUCKET}/gets", s3_options)
    filesystem = store.arrow_filesystem()

    def read(name: str, *ranges: tuple[int, int]) -> list[tuple[str, str | None]]:
        gets.clear()
        for begin, length in ranges:
            with filesystem.open_input_file(store.arrow_path(name)) as file:  # as often as it has ranges
                file.seek(begin)
                expected = data[: file.size()][begin : begin + length]
                assert file.read(length) == expected
        return list(gets)

    tail = ("get_object", "bytes=-65536")
    assert read("small", (990, 10), (0, 1000), (5, 5)) == [tail]
    assert read("middle", (199_000, 1000), (0, 10), (100, 100)) == [tail, ("get_object", "bytes=0-134463")]
    assert read("large", (size - 10, 10), (5, 10)) == [tail, ("get_object", "bytes=5-14")]
    assert read("empty", (0, 10))[0] == tail  # servers refuse the range, or give nothing
    with pytest.raises(FileNotFoundError):
        filesystem.open_input_file(store.arrow_path("none"))


def test_an_object_that_has_become_shorter_is_refused(s3_options: dict[str, str]) -> None:
    raw = raw_s3(s3_options)
    raw.pipe_file(f"{BUCKET}/shorter/f", bytes(1 << 20))
    store = open_store(f"s3://{BUCKET}/shorter", s3_options)
    with store.arrow_filesystem().open_input_file(store.arrow_path("f")) as file:
        raw.pipe_file(f"{BUCKET}/shorter/f", bytes(100_000))
        with pytest.raises(StorageError, match="fewer bytes"):
            file.read(200_000)


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


@pytest.mark.parametrize(
    ("given", "place", "value"),
    [
        ({"timeout": "30s"}, ("config_kwargs", "read_timeout"), 30.0),
        ({"timeout": "5 minutes"}, ("config_kwargs", "read_timeout"), 300.0),
        ({"connect_timeout": 2}, ("config_kwargs", "connect_timeout"), 2.0),
        ({"connect_timeout": "1m 500ms"}, ("config_kwargs", "connect_timeout"), 60.5),
        ({"pool_idle_timeout": "90 seconds"}, ("config_kwargs", "connector_args", "keepalive_timeout"), 90.0),
        ({"max_retries": "2"}, ("config_kwargs", "retries", "max_attempts"), 2),
        ({"proxy_url": "http://p:1"}, ("config_kwargs", "proxies", "https"), "http://p:1"),
        ({"user_agent": "me"}, ("config_kwargs", "user_agent"), "me"),
        ({"aws_unsigned_payload": "true"}, ("config_kwargs", "s3", "payload_signing_enabled"), False),
        (
            {"aws_server_side_encryption": "AES256"},
            ("s3_additional_kwargs", "ServerSideEncryption"),
            "AES256",
        ),
        ({"default_content_type": "a/b"}, ("s3_additional_kwargs", "ContentType"), "a/b"),
        ({"AWS_PROFILE": "me"}, ("profile",), "me"),
    ],
)
def test_options_of_the_client_arrive(given, place, value) -> None:
    found = options(**given)
    for key in place:
        found = found[key]
    assert found == value


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tiemout": "1s"}, "unknown storage option 'tiemout'; did you mean `timeout`"),
        ({"AWS_REGON": "x"}, "unknown storage option 'AWS_REGON'; did you mean `AWS_REGION`"),
        ({"endpoint_ulr": "x"}, "did you mean `endpoint_url`"),
        ({"timeout": "soon"}, "'timeout' must be a time such as '30s'"),
        ({"timeout": "-1s"}, "'timeout' must be a time"),
        ({"timeout": ""}, "'timeout' must be a time"),
        ({"max_retries": "many"}, "'max_retries' must be a number"),
        ({"http2_only": "true"}, r"'http2_only' cannot be followed: s3fs speaks HTTP/1\.1 only"),
        ({"retry_timeout": "1s"}, "'retry_timeout' cannot be followed: give max_retries"),
        ({"AWS_ROLE_ARN": "x"}, "'AWS_ROLE_ARN' cannot be followed: set the variable"),
        ({"AWS_SERVER_SIDE_ENCRYPTION": "sse-c"}, "keys of customers are not supported"),
    ],
)
def test_options_of_the_client_that_are_refused(given, message) -> None:
    with pytest.raises(StorageError, match=message):
        s3fs_options(given)


def test_a_table_is_read_with_options_of_the_client(s3_options: dict[str, str]) -> None:
    raw_s3(s3_options).pipe_file(f"{BUCKET}/client/f", b"found")
    given = {"timeout": "20s", "connect_timeout": "5s", "pool_idle_timeout": "30s", "max_retries": "1"}
    given |= {"user_agent": "reader", "http1_only": "true", "AWS_UNSIGNED_PAYLOAD": "true"}
    assert open_store(f"s3://{BUCKET}/client", {**s3_options, **given}).read("f") == b"found"


def test_requests_are_repeated_as_often_as_the_option_says(s3_options: dict[str, str], monkeypatch) -> None:
    import aiobotocore.httpsession

    sent = []

    async def lost(self, request):
        sent.append(request.url)
        raise ReadTimeoutError(endpoint_url=request.url)

    monkeypatch.setattr(aiobotocore.httpsession.AIOHTTPSession, "send", lost)
    store = open_store(f"s3://{BUCKET}/lost", {**s3_options, "max_retries": "1"})
    with pytest.raises(
        StorageError, match="check AWS_ENDPOINT_URL and the network, or give a longer timeout"
    ):
        store.read("f")
    assert len(sent) == 2


def test_a_proxy_is_asked(s3_options: dict[str, str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        proxy = f"http://127.0.0.1:{taken.getsockname()[1]}"
        store = open_store(f"s3://{BUCKET}/t", {**s3_options, "proxy_url": proxy, "max_retries": "0"})
        with pytest.raises(StorageError, match=r"proxy"):
            store.read("f")


def test_the_page_on_stores_has_the_options() -> None:
    page = (ROOT / "docs" / "stores.md").read_text()
    between = page.partition("-->\n")[2].partition("\n<!-- end of s3_options -->")[0]
    assert between == S3_OPTIONS.render()


def test_requests_are_counted_by_location(s3_options: dict[str, str], gets) -> None:
    uri = f"s3://{BUCKET}/counted"
    write_deltalake(uri, pa.table({"id": range(1000)}), storage_options=s3_options)
    write_deltalake(f"{uri}-other", pa.table({"id": [1]}), storage_options=s3_options)
    table = DeltaTable(uri, storage_options=s3_options)
    before = table.io_stats()
    gets.clear()
    assert table.to_pyarrow_table().num_rows == 1000
    read = table.io_stats() - before
    assert (read.requests, read.gets, len(gets)) == (1, 1, 1)
    assert read.received_bytes == table.get_add_actions().to_struct_array()[0]["size_bytes"].as_py()
    before = table.io_stats()
    write_deltalake(table, pa.table({"id": [1000]}), mode="append")
    written = table.io_stats() - before
    assert (written.puts, written.lists, written.deletes) == (3, 1, 0)
    con = duckdb.connect()
    register(con, "counted", table)
    before = DeltaTable(uri, storage_options=s3_options).io_stats()
    assert con.sql("SELECT count(*), max(id) FROM counted").fetchall() == [(1001, 1000)]
    assert (DeltaTable(uri, storage_options=s3_options).io_stats() - before).gets >= 2
    assert "secret" not in repr(table.io_stats())


def test_a_local_table_makes_no_requests(tmp_path) -> None:
    write_deltalake(tmp_path, pa.table({"id": [1]}))
    assert DeltaTable(tmp_path).io_stats().requests == 0


@drawn(st.integers(0, 4_000_000_000_000))
def test_times_of_answers_are_those_that_botocore_reads(milliseconds: int) -> None:
    moment = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    told = moment.replace(tzinfo=None).isoformat(timespec="milliseconds")
    forms = [f"{told}Z", f"{told[:19]}Z", f"{told}+00:00", f"{told}+05:30", told[:10], milliseconds / 1000]
    for form in (*forms, email.utils.format_datetime(moment, usegmt=True), str(milliseconds // 1000)):
        assert time_of_answer(form) == parse_timestamp(form)
    assert time_of_answer(f"{told}Z") == parse_timestamp(f"{told}Z").astimezone(datetime.UTC)


def test_an_unreachable_place_is_asked_once(s3_options: dict[str, str]) -> None:
    with faulty_server(s3_options) as server:
        server.fault = lambda request: "lost request"
        options = {name: value for name, value in server.options.items() if name != "config_kwargs"}
        with pytest.raises(StorageError, match="cannot reach"):
            DeltaTable(f"s3://{BUCKET}/unreachable", storage_options={**options, "max_retries": "0"})
        assert {request.key for request in server.requests} == {"unreachable/_delta_log/_last_checkpoint"}


def test_parts_of_an_upload_follow_renewed_credentials(s3_options: dict[str, str]) -> None:
    with faulty_server(s3_options) as server:
        lender = Renewing(*({**server.options, "AWS_ACCESS_KEY_ID": key} for key in ("first", "second")))
        store = LentStore(f"s3://{BUCKET}/renewed", lender)
        with store.open_output("large") as output:
            output.write(bytes(9 << 20))
            proof = len(server.requests) - 2  # the upload has begun, and has one part
            lender.renew()
            output.write(bytes(9 << 20))
        signers = [key for _, key in server.signers[proof:]]
        assert signers == ["first"] * 2 + ["second"] * 2  # the last part, and the end
        store.open_output("next").close()
        assert server.requests[proof + 4].key == "renewed/next"  # nothing is proven again
        assert store.size("large") == 18 << 20


def test_a_listing_reads_its_times_by_time_of_answer(s3_options: dict[str, str]) -> None:
    store = open_store(f"s3://{BUCKET}/times", s3_options)
    store.write("a", b"a")
    (found,) = list_s3_objects(store.fsspec_filesystem(), store.arrow_path(""), "")
    assert found["LastModified"].tzinfo is datetime.UTC  # that of botocore's own reader is dateutil's
