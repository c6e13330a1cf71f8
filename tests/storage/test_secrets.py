"""Texts about a store hold no password and no token; a pickled store keeps all that it needs."""

import functools
import http.server
import io
import logging
import pickle
import socket
import threading
import traceback
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deltaarrow as da
from deltaarrow.catalogs import (
    DeltaSharingCatalog,
    FileCatalog,
    FolderNamespace,
    GlueCatalog,
    HiveCatalog,
    TableLocation,
    UnityCatalog,
)
from deltaarrow.catalogs.hive_entries import HiveEntry
from deltaarrow.display.hidden_causes import hide_secrets
from deltaarrow.errors import DeltaError, StorageError
from deltaarrow.scan import plan_scan
from deltaarrow.storage import open_store
from tests.support.cloud_server import ACCOUNT, cloud_server
from tests.support.faulty_server import faulty_server
from tests.support.hive_metastore import stub_metastore
from tests.support.logged import capture_logs, logged
from tests.support.shown import shown
from tests.support.spark_log_store import create_lock_table
from tests.support.stores import BUCKET

ROWS = pa.table({"id": [1, 2, 3]})
SECRETS = ("ann3", "pa55", "s1gned", "t0ken")
PLACE = "ann3:pa55@host/t?sig=s1gned&delegation=t0ken"


def ensure_hidden(text: str) -> None:
    assert "host" in text
    assert [secret for secret in SECRETS if secret in text] == []


@pytest.fixture
def table():
    da.write_deltalake(f"memory://{PLACE}", pa.table({"id": [1, 2]}), mode="overwrite")
    return da.DeltaTable(f"memory://{PLACE}")


@pytest.fixture
def closed_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_objects_show_no_secrets(table):
    dataset = table.to_pyarrow_dataset()
    snapshot = da.DeltaTable(f"memory://{PLACE}").snapshot
    for each in (table, snapshot, dataset, snapshot.store, table.explain(), dataset.explain()):
        ensure_hidden(repr(each))
    for each in (table, snapshot, plan_scan(snapshot)):
        ensure_hidden(each._repr_html_())


def test_locations_and_details_show_no_secrets(table):
    catalog = FileCatalog(f"memory://{PLACE.replace('/t?', '/names?')}")
    folder = FolderNamespace(f"memory://{PLACE}")
    location = TableLocation(f"memory://{PLACE}", {"key": "s1gned"})
    for each in (location, catalog.namespace("default").place_for("t"), folder.place_for("t")):
        ensure_hidden(repr(each))
    ensure_hidden(folder.title)
    ensure_hidden(table.detail()["location"])
    with pytest.raises(ValueError, match="leave LOCATION out") as caught:
        folder.add("t", location)
    ensure_hidden(str(caught.value))


@pytest.mark.parametrize("place", [f"memory://{PLACE}", "https://ann3@host/t", "s3://host/t?sig=s1gned"])
def test_a_location_with_a_secret_is_not_registered(tmp_path, place):
    names = FileCatalog(tmp_path).namespace("default")
    for add in (partial(names.add, "t"), partial(HiveEntry.of, "t")):
        with pytest.raises(ValueError, match="give it as storage_options") as caught:
            add(TableLocation(place))
        ensure_hidden(str(caught.value))
    assert not list(tmp_path.rglob("*.json"))


def test_a_catalog_with_a_password_in_its_folder_keeps_it_out_of_its_files():
    folder = f"memory://ann3:pa55@host/{uuid.uuid4()}"
    catalog = FileCatalog(folder)
    da.write_deltalake("default.t", ROWS, catalog=catalog)
    assert da.DeltaTable("default.t", catalog=catalog).count() == 3
    assert catalog.namespace("default").find("t").is_managed
    ensure_hidden(open_store(folder).read("default/t.json").decode())


def test_errors_show_no_secrets(table):
    with pytest.raises(DeltaError) as caught:
        da.DeltaTable(f"memory://{PLACE}".replace("/t?", "/absent?"))
    ensure_hidden(str(caught.value))
    with pytest.raises(DeltaError) as caught:
        da.write_deltalake(table, pa.table({"id": [1]}), mode="error")
    ensure_hidden(str(caught.value))


def test_logs_show_no_secrets(table, caplog):
    caplog.set_level(logging.INFO)
    for _ in range(2):
        once = da.CommitProperties(app_transactions=[da.Transaction("job", 1)])
        da.write_deltalake(table, pa.table({"id": [3]}), mode="append", commit_properties=once)
    [text] = [
        record.getMessage() for record in caplog.records if "already has this write" in record.getMessage()
    ]
    ensure_hidden(text)


@pytest.mark.parametrize("scheme", ["http", "webhdfs"])
def test_a_library_that_names_the_place_in_its_error(scheme, closed_port):
    is_http = scheme == "http"
    place = f"{'ann3:pa55@' if is_http else ''}127.0.0.1:{closed_port}/t?sig=s1gned"
    store = open_store(f"{scheme}://{place}", {} if is_http else {"token": "t0ken"})
    with pytest.raises(StorageError) as caught:
        store.read("f")
    assert "127.0.0.1" in str(caught.value)
    assert [secret for secret in SECRETS if secret in str(caught.value)] == []


def test_a_value_that_is_given_under_a_wrong_name_is_not_echoed():
    with pytest.raises(StorageError, match="AWS_ALLOW_HTTP") as caught:
        open_store("s3://bucket/t", {"AWS_ALLOW_HTTP": "s1gned"})
    assert "s1gned" not in str(caught.value)


def test_a_table_that_was_pickled_still_reads_there(table):
    assert pickle.loads(pickle.dumps(table)).count() == 2


# --- pickles ----------------------------------------------------------------------------------------


def pickles_of(table: da.DeltaTable, *others: object) -> list[bytes]:
    frame = da.scan_delta(table).filter(pl.col("id") > 1)
    each = (table, table.snapshot, table.to_pyarrow_dataset(), plan_scan(table.snapshot), frame, *others)
    return [*map(pickle.dumps, each), frame.serialize()]


@pytest.mark.parametrize("are_given", [False, True])
def test_pickles_hold_the_secrets_that_were_given_and_no_others(s3_options, tmp_path, monkeypatch, are_given):
    secrets = {f"AWS_{name}": SECRET for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY")}
    options = {**s3_options, **secrets}
    if not are_given:
        for name in secrets:
            monkeypatch.setenv(name, options.pop(name))
    names = FileCatalog(tmp_path, options)
    glue = GlueCatalog("eu-west-1", storage_options=options)
    hive = HiveCatalog("thrift://host", storage_options=options)
    place = f"s3://{BUCKET}/{uuid.uuid4()}"
    da.write_deltalake(place, ROWS, storage_options=options)
    names.namespace("default").add("t", TableLocation(place))
    table = da.DeltaTable("default.t", catalog=names)
    location = names.namespace("default").find("t")
    for pickled in pickles_of(table, names, glue, hive, location):
        assert (SECRET.encode() in pickled) == are_given
    assert pickle.loads(pickle.dumps(table)).count() == 3
    assert pickle.loads(pickle.dumps(da.scan_delta(table))).collect().height == 3
    assert da.DeltaTable("default.t", catalog=pickle.loads(pickle.dumps(names))).count() == 3


# --- whole runs -------------------------------------------------------------------------------------

SECRET = "h1ddenS3cretOfTheTest"
"""A part of each password, key and token of the runs below; base64 may hold it."""


@dataclass
class Run:
    """A table, how to open it, and how to let its server refuse.

    Args:
        uri: its location.
        options: its storage options.
        refuse: makes the server refuse each request, or answer again.
        source: where to write it, for a store that is read only.
        folders: folders of this machine that may hold no secret.
        catalog: a catalog with the namespace ``shop``, for the table ``shop.t``.
    """

    uri: str
    options: dict[str, str]
    refuse: Callable[[bool], None]
    source: str = ""
    folders: tuple[Path, ...] = ()
    catalog: Any = None


@contextmanager
def run_on_s3(request, **more: str):
    secrets = {f"AWS_{name}": SECRET for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN")}
    with faulty_server(request.getfixturevalue("s3_options")) as server:
        options = {**server.options, **secrets, "max_retries": "0", **more}
        del options["config_kwargs"]
        yield Run(f"s3://{BUCKET}/secrets/{uuid.uuid4()}", options, refusing(server))


@contextmanager
def run_under_a_lock(request):
    create_lock_table(request.getfixturevalue("s3_options"), "lock-of-secrets")
    lock = {"AWS_S3_LOCKING_PROVIDER": "dynamodb", "DELTA_DYNAMO_TABLE_NAME": "lock-of-secrets"}
    names = ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN")
    with run_on_s3(request, **lock, **{f"AWS_{name}_DYNAMODB": SECRET for name in names}) as run:
        yield run


@contextmanager
def run_on_google(request):
    pytest.importorskip("gcsfs")
    with cloud_server(BUCKET) as server:
        options = {"GOOGLE_BASE_URL": server.url, "GOOGLE_BEARER_TOKEN": SECRET}
        yield Run(f"gs://{BUCKET}/t", options, refusing(server))


@contextmanager
def run_on_azure(request, **credentials: str):
    pytest.importorskip("adlfs")
    with cloud_server(BUCKET) as server:
        options = {**server.options_of_azure, "max_retries": "0"}
        if credentials:
            del options["AZURE_STORAGE_ACCOUNT_KEY"]
        given = credentials or {"AZURE_STORAGE_ACCOUNT_KEY": f"{SECRET}abc="}
        uri = f"abfss://{BUCKET}@{ACCOUNT}.dfs.core.windows.net/t"
        yield Run(uri, {**options, **given}, refusing(server))


def run_on_azure_with_a_signature(request):
    return run_on_azure(request, AZURE_STORAGE_SAS_TOKEN=f"sv=1&sig={SECRET}")


@contextmanager
def run_on_a_web_server(request):
    """A user and a password in the location, and a cache on the disk."""
    root = request.getfixturevalue("tmp_path")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(root / "web"))
    with ExitStack() as stack, redirect_stderr(io.StringIO()):  # the server tells of each request
        web = stack.enter_context(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=web.serve_forever, args=(0.01,), daemon=True).start()
        stack.callback(web.shutdown)
        before = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{web.server_address[1]}"}
        server = stack.enter_context(faulty_server(before))
        uri = server.options["AWS_ENDPOINT_URL"].replace("://", f"://ann:{SECRET}@") + "/t"
        cache = root / "cache"
        options = {"cache_folder": str(cache)}
        yield Run(uri, options, refusing(server), str(root / "web" / "t"), (cache, root / "web"))


@contextmanager
def run_by_glue(request):
    environment = request.getfixturevalue("monkeypatch")
    reach = request.getfixturevalue("s3_options")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        environment.setenv(name, SECRET)
    with run_on_s3(request) as run:
        endpoint = reach["AWS_ENDPOINT_URL"]
        run.catalog = GlueCatalog("eu-west-1", endpoint_url=endpoint, storage_options=run.options)
        yield run


@contextmanager
def run_by_hive(request):
    folder = request.getfixturevalue("tmp_path")
    with run_on_s3(request) as run, stub_metastore(folder) as address:
        run.catalog, run.folders = HiveCatalog(address, storage_options=run.options), (folder,)
        yield run


def refusing(server) -> Callable[[bool], None]:
    def refuse(is_refused: bool) -> None:
        server.fault = lambda _: "refused" if is_refused else None

    return refuse


RUNS = {
    "s3": run_on_s3,
    "lock": run_under_a_lock,
    "google": run_on_google,
    "azure key": run_on_azure,
    "azure signature": run_on_azure_with_a_signature,
    "web and cache": run_on_a_web_server,
    "glue": run_by_glue,
    "hive": run_by_hive,
}


def told_by_catalog(run: Run) -> Iterator[object]:
    """What people see of a table that a catalog names."""
    catalog = run.catalog
    with da.connect(catalog=catalog, dialect="spark") as lake:
        lake.sql("CREATE SCHEMA shop_of_secrets")
        lake.sql(f"CREATE TABLE shop_of_secrets.t USING delta LOCATION '{run.uri}'")
        names = catalog.namespace("shop_of_secrets")
        yield from (catalog, names, names.find("t"), names.tables())
        for statement in (
            "SELECT * FROM shop_of_secrets.t",
            "EXPLAIN SELECT * FROM shop_of_secrets.t",
            "DESCRIBE DETAIL shop_of_secrets.t",
            "SHOW CREATE TABLE shop_of_secrets.t",
            "INSERT INTO shop_of_secrets.t VALUES (9)",
        ):
            for is_refused in (False, True):
                run.refuse(is_refused)
                try:
                    yield lake.sql(statement).fetchall()
                except Exception as error:
                    yield from traceback.format_exception(error)
        run.refuse(False)
        lake.sql("DROP TABLE shop_of_secrets.t")
        lake.sql("DROP SCHEMA shop_of_secrets")


def told_by(run: Run) -> Iterator[object]:
    """What people see of a table that is written, read and explained, and then refused."""
    table = da.DeltaTable(run.uri, storage_options=run.options)
    snapshot, dataset = table.snapshot, table.to_pyarrow_dataset()
    condition = pc.field("id") > 1
    frame = da.scan_delta(table).filter(pl.col("id") > 1)
    yield from (table, snapshot, dataset, snapshot.store, plan_scan(snapshot), frame)
    yield from (snapshot.store.storage_options.keys(), snapshot.store.fsspec_filesystem())
    yield from (table.explain(), dataset.explain(filter=condition), frame.explain(), table.io_stats())
    yield from (table.history(), table.metadata(), table.verify())
    assert dataset.to_table(filter=condition).num_rows == frame.collect().height
    with da.connect(storage_options=run.options) as lake:
        query = f"SELECT * FROM delta.'{run.uri}' WHERE id > 1"
        yield from (lake, lake.sql(query), lake.explain(query), lake.sql(f"EXPLAIN {query}").fetchall())
        yield lake.sql(f"DESCRIBE DETAIL delta.'{run.uri}'").to_pylist()
        yield lake.sql(f"DESCRIBE HISTORY delta.'{run.uri}'").to_pylist()
    uses: list[Callable[[], object]] = [
        lambda: da.DeltaTable(run.uri, storage_options=run.options),
        lambda: da.write_deltalake(run.uri, ROWS, mode="append", storage_options=run.options),
        lambda: table.update_incremental(),
        lambda: table.to_pyarrow_dataset().to_table(),
        lambda: da.scan_delta(table).collect(),
        lambda: snapshot.store.exists("absent"),
        lambda: snapshot.store.read("absent"),
        lambda: da.DeltaTable(f"{run.uri}-absent", storage_options=run.options),
    ]
    if not run.source:
        uses += [lambda: table.delete("id = 1"), lambda: table.vacuum(0, False, False)]
    for is_refused in (True, False):
        run.refuse(is_refused)
        for use in uses if is_refused else uses[-2:]:
            try:
                yield use()
            except Exception as error:
                yield from traceback.format_exception(error)
                yield repr(error)


USUAL_RUNS = ("lock", "google", "azure key", "web and cache")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in USUAL_RUNS else pytest.mark.slow) for name in RUNS]
)
def test_a_run_tells_no_secret(request, name, caplog, capfd) -> None:
    """Not in logs, errors, texts of objects and plans, files of the table, nor in the cache."""
    capture_logs(caplog)
    with RUNS[name](request) as run:
        place, options = (run.source, None) if run.source else (run.uri, run.options)
        da.write_deltalake(place, ROWS, storage_options=options)
        da.DeltaTable(place, storage_options=options).delete("id = 1")
        told = told_by(run) if run.catalog is None else told_by_catalog(run)
        texts = [*map(str, told), logged(caplog), *capfd.readouterr()]
        store = open_store(place, options)
        files = [store.read(entry.name) for entry in store.list_recursive()]
        files += [path.read_bytes() for folder in run.folders for path in folder.rglob("*") if path.is_file()]
    assert "\n".join(text for text in texts if SECRET in text) == ""
    assert caplog.records
    assert [data for data in files if SECRET.encode() in data] == []
    assert any("Error" in text for text in texts)


@pytest.mark.parametrize("host", ["127.0.0.1:99999", "127.0.0.1:bad", "127.0.0.1:1", "127.0.0.1:pa55"])
def test_causes_of_errors_show_no_secrets(host):
    endpoint = f"http://ann3:pa55@{host}"
    keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "s1gned", "AWS_REGION": "us-east-1"}
    once = {"timeout": "1s", "max_retries": "0", "AWS_ALLOW_HTTP": "true"}
    azure = {"account_name": "x", "account_key": "aGVsbG8=", "azure_endpoint": endpoint}
    profile = {"shareCredentialsVersion": 1, "endpoint": f"{endpoint}/x", "bearerToken": "t0ken"}
    for call in (
        partial(da.DeltaTable, "s3://ann3:pa55@bucket/t", storage_options=keys | once),
        partial(da.write_deltalake, "s3://ann3:pa55@bucket/t", ROWS, storage_options=keys | once),
        partial(da.DeltaTable, "s3://bucket/t", storage_options=keys | once | {"AWS_ENDPOINT_URL": endpoint}),
        partial(da.DeltaTable, "az://c/t", storage_options=azure | once),
        partial(da.DeltaTable, f"{endpoint}/t?sig=s1gned"),
        partial(da.connect(dialect="spark").sql, f"SELECT * FROM delta.`{endpoint}/t`"),
        partial(da.connect().sql, f"SELECT * FROM delta.'http://{host.replace('bad', 'pa55')}/t'"),
        lambda: UnityCatalog(endpoint, "main", token="t0ken").namespaces(),
        lambda: DeltaSharingCatalog(profile, "s").namespaces(),
        lambda: UnityCatalog(f"http://{host}", "main", token="t0ken", retry_delay=0).namespaces(),
        lambda: HiveCatalog(f"thrift://{host}", timeout=1).namespaces(),
        lambda: GlueCatalog("eu-west-1", endpoint_url=endpoint).namespaces(),
    ):
        with pytest.raises((DeltaError, ValueError)) as caught:
            call()
        text = shown(caught.value)
        assert [secret for secret in SECRETS if secret in text] == []


@pytest.mark.parametrize(
    "uri", ["http://host:pa55/t", "https://ann3:s1gned@host:pa55/t", "http://host:99999/t"]
)
@pytest.mark.parametrize(
    "call", [da.DeltaTable, da.DeltaTable.is_deltatable, partial(da.write_deltalake, data=ROWS)]
)
def test_an_address_with_a_wrong_port_is_refused(call, uri):
    with pytest.raises(StorageError, match=r"cannot open 'https?://.*[Pp]ort") as caught:
        call(uri)
    ensure_hidden(shown(caught.value))


HUB = "hf://datasets/ann3:pa55@host/name"


@pytest.mark.parametrize(
    "call",
    [
        partial(da.DeltaTable, f"{HUB}/t"),
        partial(da.write_deltalake, f"{HUB}/t", ROWS),
        partial(da.connect(dialect="spark").sql, f"SELECT 1 FROM delta.`{HUB}/t` WHERE x"),
    ],
)
def test_user_of_a_hub_is_a_secret(call, closed_port, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{closed_port}")
    with pytest.raises(DeltaError) as caught:
        call()
    ensure_hidden(shown(caught.value) + repr(getattr(caught.value, "place", None)))


def test_attributes_of_errors_of_other_libraries_are_redacted():
    class OfALibrary(Exception):
        def __str__(self):
            return f"{self.where}, {self.args}"

    place = "https://ann3:pa55@host/t"
    error = OfALibrary(place, (place, 1), {"url": [place]}, OSError(2, place, place))
    error.where, error.inner = f"{place}?sig=s1gned", ValueError(place)
    error.add_note(place)
    hide_secrets(error)
    ensure_hidden(shown(error) + shown(error.inner) + shown(error.args[3]))


def test_exception_that_the_caller_handles_stays_as_it_is():
    try:
        raise ValueError(f"cannot reach https://{PLACE}")
    except ValueError as error:
        with pytest.raises(DeltaError) as caught:
            da.DeltaTable(f"memory://{PLACE}".replace("/t?", "/absent?"))
        assert caught.value.__context__ is not None
        assert str(error) == f"cannot reach https://{PLACE}"
