"""Google and Azure: locations, options, conditional puts, lost answers, and errors without secrets."""

import itertools
import json
import pickle
import subprocess
import sys

import duckdb
import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.catalogs.lent_store import LentStore
from deltaarrow.engines.duckdb.view import register
from deltaarrow.errors import StorageError
from deltaarrow.storage import open_store
from deltaarrow.storage.azure.options import AZURE_OPTIONS, azure_settings
from deltaarrow.storage.gcs.options import GCS_OPTIONS, gcsfs_options
from deltaarrow.storage.gcs.requests import GcsService
from deltaarrow.storage.service import PART_BYTES
from tests.support.cloud_server import ACCOUNT, CloudServer, cloud_server
from tests.support.modules import ROOT
from tests.support.stores import BUCKET, Renewing

pytest.importorskip("gcsfs")
pytest.importorskip("adlfs")

ROWS = pa.table({"id": [1, 2], "name": ["a", "b"]})
HOST = f"{ACCOUNT}.dfs.core.windows.net"
_numbers = itertools.count()


@pytest.fixture(scope="module")
def running():
    with cloud_server(BUCKET) as server:
        yield server


@pytest.fixture
def server(running: CloudServer):
    running.fault = lambda request: None
    running.requests.clear()
    yield running
    running.fault = lambda request: None
    running.ignores_conditions = False
    running.page = 1000
    running.start_from = "honoured"
    running.knows_batches = True
    running.refusals = {}


@pytest.fixture(params=["gs", "azure"])
def place(request, server: CloudServer):
    """A location of its own and its storage options."""
    root = f"cloud/{next(_numbers)}/t"
    if request.param == "gs":
        return f"gs://{BUCKET}/{root}", server.options_of_google
    return f"abfss://{BUCKET}@{HOST}/{root}", server.options_of_azure


def data_files(server: CloudServer, uri: str) -> list[str]:
    root = uri.partition("cloud/")[2]
    found = [name for name in server.objects if f"cloud/{root}/" in name]
    return [name for name in found if name.endswith(".parquet") and "_delta_log" not in name]


# --- tables -----------------------------------------------------------------------------------------


def test_a_table_is_written_changed_read_and_cleaned(place, server) -> None:
    uri, options = place
    da.write_deltalake(uri, ROWS, storage_options=options)
    table = da.DeltaTable(uri, storage_options=options)
    da.write_deltalake(table, pa.table({"id": [3], "name": ["c"]}), mode="append")
    table = da.DeltaTable(uri, storage_options=options)
    table.delete("id = 1")
    assert sorted(table.to_pyarrow_table().column("id").to_pylist()) == [2, 3]
    table.create_checkpoint()
    server.page = 2  # listings of several pages
    again = da.DeltaTable(uri, storage_options=options)
    assert again.version() == table.version()
    assert again.verify(deep=True).ok
    before = set(data_files(server, uri))
    again.optimize.compact()
    again.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    left = set(data_files(server, uri))
    assert len(left) == 1
    assert not left & before
    assert da.DeltaTable(uri, storage_options=options).count() == 2


def test_duckdb_reads_by_the_store(place, server) -> None:
    uri, options = place
    da.write_deltalake(uri, ROWS, storage_options=options)
    con = duckdb.connect()
    register(con, "t", da.DeltaTable(uri, storage_options=options))
    assert con.sql("SELECT id, name FROM t ORDER BY id").fetchall() == [(1, "a"), (2, "b")]


# --- conditional puts -------------------------------------------------------------------------------


def test_a_server_that_ignores_conditions_is_not_written_to(place, server) -> None:
    uri, options = place
    server.ignores_conditions = True
    name = "timeout" if uri.startswith("gs") else "user_agent"
    store = open_store(uri, {**options, name: "77"})  # so that no earlier proof is there
    assert not store.can_put_if_absent
    with pytest.raises(StorageError, match="has no proven way"):
        store.write("f", b"1")
    assert list(store.list_recursive()) == []


def is_commit(version: int):
    return lambda request: (
        request.method in ("PUT", "POST") and (request.name or "").endswith(f"{version:020}.json")
    )


def test_a_commit_whose_answer_is_lost_is_made_once(place, server) -> None:
    uri, options = place
    da.write_deltalake(uri, ROWS, storage_options=options)
    left = itertools.count()
    wanted = is_commit(1)
    server.fault = lambda request: "lost answer" if wanted(request) and next(left) < 1 else None
    da.write_deltalake(uri, ROWS, mode="append", storage_options=options)
    server.fault = lambda request: None
    table = da.DeltaTable(uri, storage_options=options)
    assert (table.version(), table.count()) == (1, 4)
    assert table.verify(deep=True).ok


def test_a_large_file_is_sent_in_parts_and_does_not_replace_another(place, server) -> None:
    uri, options = place
    store = open_store(uri, options)
    data = bytes(range(256)) * ((2 * PART_BYTES + 12345) // 256)
    with store.open_output("d/large") as output:
        for start in range(0, len(data), 1 << 20):
            output.write(memoryview(data)[start : start + (1 << 20)])
        assert output.tell() == len(data)
        assert not store.exists("d/large")
    assert store.read("d/large") == data
    with pytest.raises(FileExistsError), store.open_output("d/large") as output:
        output.write(b"x" * (PART_BYTES + 1))
    assert store.size("d/large") == len(data)


@pytest.mark.parametrize("size", [10, PART_BYTES + 10])
def test_a_file_whose_last_answer_is_lost_is_recognised(place, server, size) -> None:
    uri, options = place
    store = open_store(uri, options)
    assert store.can_put_if_absent
    left = itertools.count()

    def fault(request):
        is_last = "comp=blocklist" in request.url or "comp=" not in request.url
        is_put = request.method in ("PUT", "POST") and (request.name or "").endswith("/f") and is_last
        is_put = is_put and "uploadType=resumable" not in request.url
        return "lost answer" if is_put and next(left) == (1 if size > 100 and "gs" in uri else 0) else None

    server.fault = fault
    with store.open_output("f") as output:
        output.write(b"x" * size)
    assert store.size("f") == size


def test_an_upload_that_fails_leaves_nothing(place, server) -> None:
    store = open_store(*place)
    with pytest.raises(KeyboardInterrupt), store.open_output("d/f") as output:
        output.write(b"x" * (PART_BYTES + 1))
        raise KeyboardInterrupt
    assert list(store.list_recursive()) == []


def test_few_requests(place, server) -> None:
    uri, options = place
    da.write_deltalake(uri, ROWS, storage_options=options)
    server.requests.clear()
    table = da.DeltaTable(uri, storage_options=options)
    assert [request.method for request in server.requests] == ["GET"] * 3  # checkpoint, listing, commit
    server.requests.clear()
    assert table.to_pyarrow_table().num_rows == 2
    # Google gives the size with the last bytes of a file; Azure is asked for the size before.
    assert [request.method for request in server.requests] == (
        ["GET"] if uri.startswith("gs") else ["HEAD", "GET"]
    )
    server.requests.clear()
    da.write_deltalake(table, ROWS, mode="append")
    # The data file, the commit and its version checksum; the others list the log and read the last checksum.
    assert [request.method for request in server.requests if request.method in ("PUT", "POST")] == [
        "POST" if uri.startswith("gs") else "PUT"
    ] * 3
    assert len(server.requests) == 5
    assert table.version() == 1


# --- locations --------------------------------------------------------------------------------------


def listings(server: CloudServer) -> int:
    return sum("comp=list" in request.url for request in server.requests)


@pytest.mark.parametrize(
    ("start_from", "pages"), [("honoured", 1), ("unknown", 5), ("refused", 6), ("elsewhere", 6)]
)
def test_azure_lists_from_a_name_on(server, start_from, pages) -> None:
    server.start_from, server.page = start_from, 5
    store = open_store(f"abfss://{BUCKET}@{HOST}/listing/{start_from}", server.options_of_azure)
    names = [f"_delta_log/{version:020}.json" for version in range(23)]
    for name in [*names, "_delta_log/_sidecars/00000000000000000022.parquet"]:
        server.put(f"{BUCKET}/listing/{start_from}/{name}", b"{}")
    server.requests.clear()
    found = [entry.name for entry in store.list_from("_delta_log", f"{19:020}")]
    assert found == names[19:]
    assert listings(server) == pages
    assert [entry.name for entry in store.list_from("_delta_log", f"{23:020}")] == []


@pytest.mark.parametrize(("knows_batches", "requests"), [(True, 3), (False, 3 + 250)])
def test_google_deletes_a_hundred_objects_with_a_request(server, knows_batches, requests) -> None:
    server.knows_batches = knows_batches
    store = open_store(f"gs://{BUCKET}/batches", server.options_of_google)
    assert store.can_put_if_absent
    names = [f"f#{number} a/%2F?x=é" for number in range(250)]
    for name in names:
        server.put(f"{BUCKET}/batches/{name}", b"")
    server.put(f"{BUCKET}/batches/kept", b"")
    server.requests.clear()
    assert store.delete_all(names) == {}
    assert [entry.name for entry in store.list_recursive()] == ["kept"]
    assert len(server.requests) == requests + 1
    assert store.delete_all(names[:3]) == {}


def test_what_a_batch_of_google_leaves_is_deleted_alone_or_told(server) -> None:
    store = open_store(f"gs://{BUCKET}/refusals", server.options_of_google)
    assert store.can_put_if_absent
    for name in ("a", "b", "c"):
        server.put(f"{BUCKET}/refusals/{name}", b"")
    server.refusals = {f"{BUCKET}/refusals/a": 503, f"{BUCKET}/refusals/b": 403}
    server.fault = lambda request: "refused" if request.name == f"{BUCKET}/refusals/b" else None
    failures = store.delete_all(["a", "b", "c"])
    assert list(failures) == ["b"]
    server.fault = lambda request: None
    assert [entry.name for entry in store.list_recursive()] == ["b"]


def test_a_commit_on_azure_lists_only_what_is_new(server) -> None:
    uri, options = f"abfss://{BUCKET}@{HOST}/listing/commits", {"storage_options": server.options_of_azure}
    da.write_deltalake(uri, pa.table({"id": [0]}), **options)
    table = da.DeltaTable(uri, **options)
    server.page = 4
    for number in range(1, 8):
        server.requests.clear()
        da.write_deltalake(table, pa.table({"id": [number]}), mode="append")
        assert listings(server) <= 2
    assert da.DeltaTable(uri, **options).count() == 8


@pytest.mark.parametrize(
    ("uri", "root"),
    [
        ("gs://bucket/t/", "gs://bucket/t"),
        ("gcs://bucket/t", "gs://bucket/t"),
        (f"abfss://c@{HOST}/t", f"abfss://c@{HOST}/t"),
        (f"abfs://c@{HOST}/t/", f"abfss://c@{HOST}/t"),
        ("az://c/t", f"abfss://c@{HOST}/t"),
        ("adl://c/t", f"abfss://c@{HOST}/t"),
        ("abfss://c/t", f"abfss://c@{HOST}/t"),
    ],
)
def test_a_location_has_one_spelling_which_spark_knows(server, uri, root) -> None:
    options = server.options_of_google if root.startswith("gs") else server.options_of_azure
    store = open_store(uri, options)
    assert store.uri == root
    assert store.location("f") == f"{root}/f"
    assert store.location(f"{uri.rstrip('/')}/f") == f"{root}/f"
    assert repr(store) == f"FsspecStore({root!r})"
    assert pickle.loads(pickle.dumps(store)) == store


def test_a_file_of_another_account_is_refused(server) -> None:
    store = open_store("az://c/t", server.options_of_azure)
    assert store.location(f"abfss://other@{HOST}/f") == f"abfss://other@{HOST}/f"
    with pytest.raises(StorageError, match="another file system"):
        store.read("abfss://c@elsewhere.dfs.core.windows.net/f")
    with pytest.raises(StorageError, match="the storage options name another"):
        open_store("abfss://c@elsewhere.dfs.core.windows.net/t", server.options_of_azure)


def test_an_account_must_be_named(monkeypatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(StorageError, match="nothing names the account of Azure; give abfss://"):
        open_store("az://c/t", {"sas_token": "sig=x"})
    with pytest.raises(StorageError, match="names no container"):
        open_store(f"abfss://@{HOST}/t", {"sas_token": "sig=x"})


@pytest.mark.parametrize("name", ["f?versionid=1", "f?", "a\tb", "a#b", "generation=1?generation=1"])
def test_names_with_characters_of_urls_are_literal(place, server, name) -> None:
    uri, options = place
    store = open_store(uri, options)
    store.write(name, b"1")
    assert store.read(name) == b"1"
    assert [entry.name for entry in store.list_from("")] == [name]
    filesystem = store.fsspec_filesystem()  # as DuckDB reads
    assert filesystem.cat_file(store.location(name)) == b"1"
    assert filesystem.info(store.location(name))["size"] == 1


# --- options ----------------------------------------------------------------------------------------


@pytest.fixture
def service_account(tmp_path, server):
    text = json.dumps(
        {"gcs_base_url": server.url, "disable_oauth": True, "client_email": "", "private_key": ""}
    )
    file = tmp_path / "account.json"
    file.write_text(text)
    return str(file), text


@pytest.mark.parametrize("prefix", ["GOOGLE_", "google_", ""])
def test_a_service_account_as_deltalake_takes_it(server, service_account, prefix) -> None:
    file, text = service_account
    server.put(f"{BUCKET}/account/f", b"found")
    for name, value in (("service_account", file), ("service_account_key", text)):
        key = prefix + (name.upper() if prefix == "GOOGLE_" else name)
        assert open_store(f"gs://{BUCKET}/account", {key: value}).read("f") == b"found"


def test_parts_of_an_upload_follow_renewed_credentials(server) -> None:
    options = {name: value for name, value in server.options_of_azure.items() if "KEY" not in name}
    lender = Renewing(
        *({**options, "AZURE_STORAGE_SAS_TOKEN": f"sig={each}"} for each in ("first", "second"))
    )
    store = LentStore(f"abfss://{BUCKET}@{HOST}/renewed", lender)
    with store.open_output("large") as output:
        output.write(bytes(PART_BYTES + 1))
        begun = len(server.requests)
        assert "sig=first" in server.requests[-1].url
        lender.renew()
        output.write(bytes(PART_BYTES))
    sent = [request.url for request in server.requests[begun:]]
    assert len(sent) == 3  # two further parts, and the end
    assert all("sig=second" in url for url in sent)
    assert store.size("large") == 2 * PART_BYTES + 1


def test_options_of_the_environment(server, service_account, monkeypatch) -> None:
    server.put(f"{BUCKET}/environment/f", b"found")
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", service_account[0])
    assert open_store(f"gs://{BUCKET}/environment").read("f") == b"found"
    for name, value in server.options_of_azure.items():
        if name.isupper():
            monkeypatch.setenv(name, value)
    assert open_store(f"az://{BUCKET}/environment").read("f") == b"found"


def test_an_option_is_preferred_to_the_environment(monkeypatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "of the environment")
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", "AccountName=other;AccountKey=x")
    given = {"account_name": "lake", "sas_token": "sig=x"}
    assert dict(azure_settings(given, None).options) == {"sas_token": "sig=x"}
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", "/nowhere.json")
    assert gcsfs_options({"skip_signature": "true"})["token"] == "anon"


@pytest.mark.parametrize(
    ("given", "url", "options"),
    [
        ({"azure_storage_access_key": "k"}, "https://lake.blob.core.windows.net", {"account_key": "k"}),
        ({"AZURE_STORAGE_SAS_KEY": "?sig=x"}, "https://lake.blob.core.windows.net", {"sas_token": "?sig=x"}),
        ({"bearer_token": "t"}, "https://lake.blob.core.windows.net", {"token": "t"}),
        ({"skip_signature": "true"}, "https://lake.blob.core.windows.net", {"anon": True}),
        (
            {"azure_client_id": "i", "client_secret": "s", "authority_id": "t"},
            "https://lake.blob.core.windows.net",
            {"client_id": "i", "client_secret": "s", "tenant_id": "t"},
        ),
        (
            {"connection_string": "AccountName=lake;AccountKey=a=b;EndpointSuffix=core.chinacloudapi.cn"},
            "https://lake.blob.core.chinacloudapi.cn",
            {"account_key": "a=b"},
        ),
        (
            {"sas_token": "sig=x", "timeout": "20s", "connect_timeout": 2, "max_retries": 1},
            "https://lake.blob.core.windows.net",
            {
                "sas_token": "sig=x",
                "client": (("connection_timeout", 2.0), ("read_timeout", 20.0), ("retry_total", 1)),
            },
        ),
    ],
)
def test_options_of_azure(given, url, options) -> None:
    settings = azure_settings(given, "lake.dfs.core.windows.net")
    assert (settings.account, settings.url, dict(settings.options)) == ("lake", url, options)
    settings.client()


def test_the_emulator_and_fabric() -> None:
    assert azure_settings({"use_emulator": "true"}, None).url == f"http://127.0.0.1:10000/{ACCOUNT}"
    fabric = azure_settings({"use_fabric_endpoint": "true", "token": "t"}, None)
    assert (fabric.host, fabric.url) == (
        "onelake.dfs.fabric.microsoft.com",
        "https://onelake.blob.fabric.microsoft.com",
    )
    of_location = azure_settings({"token": "t"}, "onelake.dfs.fabric.microsoft.com")
    assert of_location.url == "https://onelake.blob.fabric.microsoft.com"


@pytest.mark.parametrize(
    ("uri", "given", "message"),
    [
        ("az://c/t", {"AZURE_STORAGE_ACOUNT_KEY": "pa55"}, "did you mean `AZURE_STORAGE_ACCOUNT_KEY`"),
        ("az://c/t", {"acount_name": "pa55"}, "did you mean `account_name`"),
        ("az://c/t", {"account_key": "pa55", "access_key": "pa56"}, "disagrees with another"),
        ("az://c/t", {"use_emulator": "pa55"}, "must be true or false"),
        ("az://c/t", {"container_name": "pa55"}, "cannot be followed: the URI names the container"),
        ("az://c/t", {"connection_string": "pa55"}, "must be names and values"),
        (
            "az://c/t",
            {"account_name": "a", "endpoint": "http://h", "allow_http": "false"},
            "allow_http forbids",
        ),
        ("gs://b/t", {"GOOGLE_SERVICE_ACOUNT": "pa55"}, "did you mean `GOOGLE_SERVICE_ACCOUNT`"),
        ("gs://b/t", {"service_account_key": "pa55"}, "must be the JSON text of a service account"),
        ("gs://b/t", {"service_account_key": '{"private_key": "pa55"}'}, "lack client_email and token_uri"),
        ("gs://b/t", {"service_account": "/nowhere.json"}, "cannot read the credentials in '/nowhere.json'"),
        ("gs://b/t", {"bearer_token": "pa55", "skip_signature": "true"}, "several credentials"),
        ("gs://b/t", {"max_retries": "1"}, "gcsfs repeats a failed request five times"),
    ],
)
def test_options_that_are_refused(uri, given, message) -> None:
    with pytest.raises(StorageError, match=message) as caught:
        open_store(uri, given)
    assert "pa55" not in str(caught.value)


def test_an_option_of_the_client_reaches_google(server) -> None:
    times = {"timeout": "200ms", "connect_timeout": "100ms"}
    store = open_store(f"gs://{BUCKET}/t", {**server.options_of_google, **times})
    server.put(f"{BUCKET}/t/f", b"1")
    assert store.read("f") == b"1"
    told = store.fsspec_filesystem().session_kwargs["timeout"]
    assert (told.total, told.sock_connect) == (0.2, 0.1)


@pytest.mark.parametrize(("name", "table"), [("gcs", GCS_OPTIONS), ("azure", AZURE_OPTIONS)])
def test_the_page_on_stores_has_the_options(name, table) -> None:
    page = (ROOT / "docs" / "stores.md").read_text()
    start = page.partition(f"<!-- {name}_options:")[2]
    between = start.partition("-->\n")[2].partition(f"\n<!-- end of {name}_options -->")[0]
    assert between == table.render()


# --- errors -----------------------------------------------------------------------------------------


def test_a_missing_bucket_is_an_empty_folder_and_is_not_written_to(place, server) -> None:
    uri, options = place
    store = open_store(uri.replace(BUCKET, "absent-bucket"), options)
    assert store.list_from("_delta_log") == []
    with pytest.raises(StorageError, match=r"cannot write to .*check the name of the (bucket|container)"):
        store.write("f", b"1")


def test_a_refusal_is_no_empty_folder(place, server) -> None:
    uri, options = place
    server.fault = lambda request: "refused"
    store = open_store(uri, options)
    for use in (lambda: store.list_from("_delta_log"), lambda: store.read("f"), lambda: store.exists("f")):
        with pytest.raises(StorageError, match="cannot reach"):
            use()


def test_secrets_are_not_shown(server) -> None:
    options = {**server.options_of_azure, "AZURE_STORAGE_ACCOUNT_KEY": "pa55word"}
    store = open_store(f"az://{BUCKET}/t", options)
    server.fault = lambda request: "refused"
    with pytest.raises(StorageError) as caught:
        store.read("f")
    settings = azure_settings(options, None)
    for text in (str(caught.value), repr(store), repr(settings), repr(store.fsspec_filesystem())):
        assert "pa55" not in text


def test_stores_with_different_credentials_share_nothing(server) -> None:
    first = open_store("az://c/t", server.options_of_azure)
    again = open_store("az://c/u", server.options_of_azure)
    other = open_store("az://c/t", {**server.options_of_azure, "AZURE_STORAGE_ACCOUNT_KEY": "b3RoZXI="})
    assert first.fsspec_filesystem() is again.fsspec_filesystem()
    assert first.fsspec_filesystem() is not other.fsspec_filesystem()
    assert first.filesystem_key != other.filesystem_key


FORKED = """
import atexit, os, sys
from deltaarrow.storage import open_store
from tests.support.cloud_server import cloud_server

with cloud_server("b") as server:
    options = server.options_of_google if sys.argv[1].startswith("gs") else server.options_of_azure
    store = open_store(sys.argv[1], options)
    store.write("f", b"1")
    child = os.fork()
    if child == 0:
        found = store.read("f")
        atexit._run_exitfuncs()
        os._exit(0 if found == b"1" else 1)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("uri", ["gs://b/t", "az://b/t"])
def test_a_forked_child_ends(uri) -> None:
    ended = subprocess.run([sys.executable, "-c", FORKED, uri], capture_output=True, timeout=60, cwd=ROOT)
    assert ended.returncode == 0, ended.stderr.decode()


def test_the_port_of_a_server_is_not_taken_for_the_number_of_an_error() -> None:
    said = "http://127.0.0.1:40157/upload/storage/v1/b/absent-bucket/o"
    assert GcsService().remedy(said) == "; check the name of the bucket"
    assert "may have expired" in GcsService().remedy("Invalid grant, 401")
