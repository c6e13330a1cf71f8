"""Unity Catalog: managed tables by name, with the commits, the versions and the credentials that it tells."""

import pickle
import traceback
from pathlib import Path

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, connect, write_deltalake
from deltaarrow.catalogs import FileCatalog, TableLocation, UnityCatalog
from deltaarrow.catalogs.lent_store import LentStore
from deltaarrow.catalogs.unity.api import store_credentials
from deltaarrow.errors import (
    CorruptLogError,
    DeltaError,
    StorageError,
    TableNotFoundError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)
from tests.support.faulty_server import faulty_server
from tests.support.managed_table import ManagedTable
from tests.support.stores import BUCKET, raw_s3, s3_options
from tests.support.unity_server import TOKEN

__all__ = ["s3_options"]

pytestmark = pytest.mark.feature("catalogManaged")

ORDERS = "/delta/v1/catalogs/main/schemas/shop/tables/orders"
KEY = "key-that-nobody-may-see"


@pytest.fixture
def unity(server, tmp_path):
    """Versions 0 and 1 of ``shop.orders`` are published, 2 is both, 3 is staged alone."""
    server.reset(tmp_path / "managed")
    table = ManagedTable(tmp_path / "orders")
    table.published()
    table.staged()
    table.staged()
    table.unpublish(3)
    server.tables = {"shop.orders": table, "home.things": table}
    yield server
    assert server.violations == []


@pytest.fixture
def orders(unity):
    return unity.tables["shop.orders"]


@pytest.fixture
def catalog(unity):
    return UnityCatalog(unity.url, "main", TOKEN, retry_delay=0.001)


@pytest.fixture
def s3(s3_options):
    """The server of `s3_options`, which tells the keys that sign its requests."""
    with faulty_server(s3_options) as server:
        yield server


def ids(table):
    return sorted(table.to_pyarrow_table().column("id").to_pylist())


# --- names and rows --------------------------------------------------------------------------------


def test_a_table_is_read_by_its_name_with_its_unpublished_commits(catalog, unity, orders):
    table = DeltaTable("shop.orders", catalog=catalog)
    assert (table.version(), ids(table)) == (3, [0, 1, 2, 3])
    assert table.table_uri == str(orders.path)
    assert unity.paths.count("/delta/v1/config") == 1
    orders.staged()
    orders.unpublish(4)
    table.update_incremental()
    assert ids(table) == [0, 1, 2, 3, 4]


def test_time_travel_reaches_published_and_staged_versions(catalog):
    assert ids(DeltaTable("shop.orders", 1, catalog=catalog)) == [0, 1]
    assert ids(DeltaTable("shop.`orders`", "2026-01-01T00:02:30Z", catalog=catalog)) == [0, 1, 2]


def test_sql_reads_the_names_of_the_catalog(catalog, orders):
    with connect(catalog=catalog, dialect="spark") as lake:
        assert lake.sql("SELECT sum(id) FROM shop.orders").fetchall() == [(6,)]
        assert lake.sql("SELECT sum(id) FROM shop.orders VERSION AS OF 2").fetchall() == [(3,)]
        orders.staged()
        orders.unpublish(4)
        assert lake.sql("SELECT sum(id) FROM shop.orders").fetchall() == [(10,)]
        assert lake.sql("SHOW SCHEMAS").column("namespace").to_pylist() == ["home", "shop"]
        assert lake.sql("SHOW TABLES IN shop").column("tableName").to_pylist() == ["orders"]
        with pytest.raises(DeltaError, match="nothing"):
            lake.sql("SELECT * FROM shop.nothing").fetchall()


def test_nothing_is_read_beyond_the_latest_version(catalog, unity, orders):
    orders.published()
    unity.extra["shop.orders"] = {"latest-table-version": 3}
    assert ids(DeltaTable("shop.orders", catalog=catalog)) == [0, 1, 2, 3]
    with pytest.raises(VersionNotFoundError, match="0 to 3"):
        DeltaTable("shop.orders", 4, catalog=catalog)


def test_a_commit_that_is_published_after_the_answer_is_read_once(catalog, unity, orders):
    staged = orders.log / "_staged_commits" / orders.ratified[3].staged_file

    def publish():
        if staged.exists():
            (orders.log / f"{3:020d}.json").write_bytes(staged.read_bytes())
            staged.unlink()

    unity.after = publish
    assert ids(DeltaTable("shop.orders", catalog=catalog)) == [0, 1, 2, 3]
    assert not staged.exists()


def test_a_table_that_took_the_name_of_another_is_not_taken_for_it(catalog, unity):
    table = DeltaTable("shop.orders", catalog=catalog)
    unity.extra["shop.orders"] = {"metadata": {"table-uuid": "another"}}
    with pytest.raises(TableNotFoundError, match=r"main\.shop\.orders.*open it again"):
        table.update_incremental()
    assert DeltaTable("shop.orders", catalog=catalog).version() == 3


def test_tables_of_a_file_catalog_are_opened_by_name_too(tmp_path):
    write_deltalake(tmp_path / "t", pa.table({"id": [1]}))
    names = FileCatalog(tmp_path / "names")
    names.namespace("default").add("t", TableLocation(str(tmp_path / "t")))
    assert ids(DeltaTable("default.t", catalog=names)) == [1]
    with pytest.raises(TableNotFoundError, match=r"default\.u is not the name of a table"):
        DeltaTable("default.u", catalog=names)
    with pytest.raises(ValueError, match="storage_options"):
        DeltaTable("default.t", storage_options={}, catalog=names)


# --- what is refused -------------------------------------------------------------------------------


def test_changes_of_schemas_and_views_are_refused_by_name(catalog):
    with connect(catalog=catalog, dialect="spark") as lake:
        for statement in ("CREATE SCHEMA new", "DROP SCHEMA shop CASCADE", "DROP SCHEMA main.shop CASCADE"):
            with pytest.raises(UnsupportedFeatureError, match="schemas of Unity Catalog"):
                lake.sql(statement)
        assert lake.sql("SHOW TABLES IN main.shop").column("tableName").to_pylist() == ["orders"]
        lake.sql("USE main.shop")
        assert lake.sql("SELECT count(*) FROM orders").fetchall() == [(4,)]
        with pytest.raises(DeltaError, match="view"):
            lake.sql("CREATE VIEW shop.recent AS SELECT * FROM shop.orders")


@pytest.mark.parametrize(
    ("extra", "error", "text"),
    [
        ({"metadata": {"table-type": "EXTERNAL"}}, UnsupportedFeatureError, "no catalog is given"),
        ({"metadata": {"table-type": "VIEW"}}, UnsupportedFeatureError, "type 'VIEW'"),
        ({"metadata": {"location": "http://inside/x"}}, StorageError, "only s3, gs, abfss and file"),
        ({"metadata": {"location": "file:///x::s3://b"}}, StorageError, "only s3, gs, abfss and file"),
        ({"metadata": {"location": 3}}, CorruptLogError, "no location"),
        ({"commits": [{"version": 3, "file-name": "../../x.json"}]}, CorruptLogError, "not a staged commit"),
        ({"commits": [{"version": True, "file-name": "x"}]}, CorruptLogError, "no version"),
        ({"commits": [{"version": 3}]}, CorruptLogError, "no file-name"),
        ({"latest-table-version": None}, CorruptLogError, "no latest version"),
        ({"latest-table-version": 9}, CorruptLogError, "newest version is 9"),
    ],
)
def test_an_answer_that_cannot_be_is_refused(catalog, unity, extra, error, text):
    unity.extra["shop.orders"] = extra
    with pytest.raises(error, match=text):
        DeltaTable("shop.orders", catalog=catalog)


@pytest.mark.parametrize("name", ["..", "a/b", "", "a b", "no.such"])
def test_a_name_that_cannot_be_is_not_asked_for(catalog, unity, name):
    assert catalog.namespace("shop").find(name) is None
    assert unity.paths == ["/schemas", "/schemas"]


@pytest.mark.parametrize("url", ["unity", "file:///etc", "https://u:p@host", "https://host?token=1"])
def test_an_address_that_cannot_be_is_refused(url):
    with pytest.raises(ValueError, match="address"):
        UnityCatalog(url, "main")


def test_another_protocol_is_refused(catalog, unity):
    unity.config["protocol-version"] = "2.0"
    with pytest.raises(UnsupportedFeatureError, match=r"version '2\.0'"):
        DeltaTable("shop.orders", catalog=catalog)


# --- errors ----------------------------------------------------------------------------------------


def test_transient_failures_are_tried_again(catalog, unity):
    answers = [(429, {}), (503, {}), (0, {}), None]
    unity.fault = lambda path: answers.pop(0) if path == ORDERS and answers else None
    assert ids(DeltaTable("shop.orders", catalog=catalog)) == [0, 1, 2, 3]
    assert answers == []


@pytest.mark.parametrize(
    ("answer", "asked", "error", "text"),
    [
        ((403, {"error": {"type": "PermissionDeniedException", "message": "no"}}), 1, StorageError, "SELECT"),
        ((302, {}), 1, StorageError, "redirections are not followed"),
        ((500, {"error": "odd"}), 1, StorageError, "answers 500"),
        ((503, {}), 5, StorageError, "answers 503"),
        ((0, {}), 5, StorageError, "cannot reach"),
        ("<html>", 1, StorageError, "no JSON object"),
        ("[" * 100_000, 1, StorageError, "no JSON object"),
    ],
)
def test_errors_name_the_table_and_what_to_do(catalog, unity, answer, asked, error, text):
    unity.fault = lambda path: answer if path == ORDERS else None
    with pytest.raises(error, match=rf"(?s)(main\.shop\.orders.*{text}|{text}.*main\.shop\.orders)"):
        DeltaTable("shop.orders", catalog=catalog)
    assert unity.paths.count(ORDERS) == asked


def test_a_catalog_that_the_server_does_not_have_is_named(unity):
    catalog = UnityCatalog(unity.url, "mian", TOKEN)
    asked = {"catalog": "mian", "protocol-versions": "1.0"}
    told = r"answers 404 \((CATALOG_NOT_FOUND|NoSuchCatalogException): no catalog mian\): check the names"
    for use in (
        catalog.namespaces,
        lambda: DeltaTable("shop.orders", catalog=catalog),
        lambda: write_deltalake("mian.shop.orders", pa.table({"id": [1]}), catalog=catalog),
        lambda: connect(catalog=catalog, dialect="spark"),
        lambda: catalog._api.client.get(("delta", "v1", "config"), asked, "mian"),
    ):
        with pytest.raises(TableNotFoundError, match=told):
            use()


def test_unknown_names_are_not_found(catalog):
    for name in ("shop.nothing", "nowhere.orders", "orders"):
        with pytest.raises(TableNotFoundError, match=f"{name} is not the name of a table"):
            DeltaTable(name, catalog=catalog)


# --- credentials and secrets -----------------------------------------------------------------------


def signers(s3):
    """The keys that have signed the requests since the last call."""
    found = {key for _, key in s3.signers}
    s3.signers.clear()
    return found


def lent(unity, expires, key=KEY, *, prefix=None, place="s3://bucket/orders", identity="id"):
    config = {"s3.access-key-id": identity, "s3.secret-access-key": key, "s3.session-token": f"{key}-session"}
    unity.credentials = [
        {"prefix": "s3://bucket", "expiration-time-ms": expires, "config": {"azure.sas-token": "wrong"}},
        {"prefix": prefix or place, "expiration-time-ms": expires, "config": config},
    ]
    unity.extra["shop.orders"] = {"metadata": {"location": place}}


def test_credentials_are_renewed_before_they_expire(unity):
    now = [1_000_000]
    catalog = UnityCatalog(
        unity.url, "main", TOKEN, storage_options={"AWS_REGION": "eu-west-1"}, clock=lambda: now[0]
    )
    lent(unity, now[0] + 3_600_000)
    store = catalog.namespace("shop").find("orders").open()
    filesystem = store.fsspec_filesystem()
    assert (filesystem.secret, filesystem.token) == (KEY, f"{KEY}-session")
    assert filesystem.client_kwargs["region_name"] == "eu-west-1"
    lent(unity, now[0] + 7_200_000, "second")
    now[0] += 3_299_999
    assert store.fsspec_filesystem() is filesystem
    now[0] += 1
    assert store.fsspec_filesystem().secret == "second"
    lent(unity, now[0])
    now[0] += 7_200_000
    with pytest.raises(StorageError, match=r"expired.*main\.shop\.orders"):
        store.fsspec_filesystem()
    lent(unity, now[0] + 3_600_000, prefix="s3://bucket/ord")
    with pytest.raises(StorageError, match="that are understood"):
        store.fsspec_filesystem()


def test_secrets_are_in_no_text_and_no_pickle(catalog, unity):
    lent(unity, 1 << 60)
    location = catalog.namespace("shop").find("orders")
    store = location.open()
    assert store.fsspec_filesystem().secret == KEY
    for each in (catalog, location, store, catalog.namespace("shop")):
        dumped = pickle.dumps(each)
        for secret in (TOKEN, KEY):
            assert secret not in repr(each)
            assert secret.encode() not in dumped


@pytest.mark.parametrize(
    ("uri", "config", "options"),
    [
        ("abfss://box@account.dfs.core.windows.net/t", {"azure.sas-token": "s"}, {"sas_token": "s"}),
        ("gs://b/t", {"gcs.oauth-token": "o", "azure.sas-token": "s"}, {"bearer_token": "o"}),
        (
            "s3a://b/t",
            {"s3.access-key-id": "i", "s3.secret-access-key": "k"},
            {"AWS_ACCESS_KEY_ID": "i", "AWS_SECRET_ACCESS_KEY": "k"},
        ),
    ],
)
def test_credentials_become_options_of_the_store(uri, config, options):
    assert store_credentials(uri, config, "t") == options


def test_secrets_are_in_no_error(unity):
    wrong = "a-wrong-token"
    with pytest.raises(StorageError, match=r"401.*a token that is valid") as caught:
        UnityCatalog(unity.url, "main", wrong).namespaces()
    assert wrong not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(ValueError, match="printable") as refused:
        UnityCatalog(unity.url, "main", "two words")
    assert "two words" not in str(refused.value)


def test_a_token_comes_from_the_environment_or_a_function(unity, monkeypatch):
    known = UnityCatalog(unity.url, "main", TOKEN)
    arrived = pickle.loads(pickle.dumps(known))
    with pytest.raises(StorageError, match="set UNITY_CATALOG_TOKEN there"):
        arrived.namespaces()
    monkeypatch.setenv("UNITY_CATALOG_TOKEN", TOKEN)
    assert arrived.namespaces() == UnityCatalog(unity.url, "main").namespaces() == ["home", "shop"]
    monkeypatch.delenv("UNITY_CATALOG_TOKEN")
    assert UnityCatalog(unity.url, "main", lambda: TOKEN).namespaces() == ["home", "shop"]


def test_a_table_in_an_object_store_is_read_across_a_renewal_and_tells_no_secret(
    unity, orders, s3_options, s3, monkeypatch
):
    raw = raw_s3(s3_options)
    root = Path(orders.path)
    for file in root.rglob("*"):
        if file.is_file():
            raw.pipe_file(f"{BUCKET}/unity/{file.relative_to(root)}", file.read_bytes())
    now = [1_000_000]
    reach = {name: text for name, text in s3.options.items() if "KEY" not in name and name != "config_kwargs"}
    catalog = UnityCatalog(unity.url, "main", TOKEN, storage_options=reach, clock=lambda: now[0])
    lent(unity, now[0] + 3_600_000, place=f"s3://{BUCKET}/unity")
    table = DeltaTable("shop.orders", catalog=catalog)
    with connect(catalog=catalog) as lake:
        assert lake.sql("SELECT sum(id) FROM shop.orders").fetchall() == [(6,)]
        plans = f"{lake.sql('EXPLAIN FROM shop.orders').fetchall()} {lake.explain('FROM shop.orders')}"
        assert signers(s3) == {"id"}
        lent(unity, now[0] + 7_200_000, "second", place=f"s3://{BUCKET}/unity", identity="id-of-the-second")
        now[0] += 3_400_000
        assert lake.sql("SELECT sum(id) FROM shop.orders").fetchall() == [(6,)]
        assert signers(s3) == {"id-of-the-second"}
    assert ids(table) == [0, 1, 2, 3]
    assert signers(s3) == {"id-of-the-second"}
    lent(unity, 1 << 60, place=f"s3://{BUCKET}/unity")
    known = UnityCatalog(unity.url, "main", TOKEN, storage_options=reach)
    dumped = pickle.dumps(DeltaTable("shop.orders", catalog=known))
    monkeypatch.setenv("UNITY_CATALOG_TOKEN", TOKEN)
    assert ids(pickle.loads(dumped)) == [0, 1, 2, 3]
    for secret in (TOKEN, KEY, "second"):
        assert secret not in plans
        assert secret.encode() not in dumped


def test_a_pickled_table_asks_for_credentials_where_it_arrives(catalog, unity, monkeypatch):
    lent(unity, 1 << 60)
    store = LentStore("s3://bucket/orders", catalog.namespace("shop").find("orders").opener.__self__)
    monkeypatch.setenv("UNITY_CATALOG_TOKEN", TOKEN)
    arrived = pickle.loads(pickle.dumps(store))
    assert arrived == store
    assert arrived.fsspec_filesystem().secret == KEY
