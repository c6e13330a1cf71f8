"""Tables of Unity Catalog in an object store: credentials to read and to write, and no secret anywhere."""

import pickle
import traceback
import uuid

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, connect, write_deltalake
from deltaarrow.catalogs import UnityCatalog
from deltaarrow.errors import DeltaError, StorageError, UnsupportedFeatureError
from tests.support.logged import capture_logs, logged
from tests.support.stores import BUCKET, raw_s3
from tests.support.unity_server import KEY, TOKEN

pytestmark = pytest.mark.feature("catalogManaged")

NAME = "shop.orders"
ROWS = pa.table({"id": [1, 2, 3]})


@pytest.fixture
def unity(server, tmp_path):
    server.reset(tmp_path)
    server.root, server.credentials = f"s3://{BUCKET}/{uuid.uuid4()}", None
    yield server
    assert server.violations == []


@pytest.fixture
def reach(s3_options):
    return {name: text for name, text in s3_options.items() if "KEY" not in name}


@pytest.fixture
def catalog(unity, reach):
    return UnityCatalog(unity.url, "main", TOKEN, storage_options=reach, retry_delay=0.001)


def ids(catalog):
    return sorted(DeltaTable(NAME, catalog=catalog).to_pyarrow_table().column("id").to_pylist())


def test_a_table_is_created_written_and_read_with_credentials_of_its_own_place(catalog, unity, reach):
    assert write_deltalake(NAME, ROWS, catalog=catalog).version == 0
    assert unity.operations == []  # the place of a new table comes with credentials
    reader = UnityCatalog(unity.url, "main", TOKEN, storage_options=reach)
    assert ids(reader) == [1, 2, 3]
    assert unity.operations == ["READ"]
    table = DeltaTable(NAME, catalog=catalog)
    table.delete("id = 2")
    assert set(unity.operations) == {"READ", "READ_WRITE"}
    assert table.snapshot.store.fsspec_filesystem().secret == f"{KEY}-READ_WRITE"
    assert write_deltalake(NAME, pa.table({"id": [9]}), mode="append", catalog=catalog).version == 2
    table.update_incremental()
    table.create_checkpoint()
    assert ids(reader) == [1, 3, 9]
    assert unity.hosted(NAME).published == 2


def test_credentials_are_renewed_while_a_table_is_created_and_written(unity, reach):
    now = [1_000_000]
    unity.expires_ms = now[0] + 3_600_000
    catalog = UnityCatalog(unity.url, "main", TOKEN, storage_options=reach, clock=lambda: now[0])
    place = catalog.namespace("shop").place_for("orders")
    store = place.open()
    assert store.can_put_if_absent
    now[0] += 3_500_000
    unity.expires_ms = now[0] + 3_600_000
    store.write("_probe", b"")
    assert [path.rpartition("/")[2] for path in unity.paths if "staging-tables/" in path] == ["credentials"]
    write_deltalake(NAME, ROWS, catalog=catalog)
    table = DeltaTable(NAME, catalog=catalog)
    write_deltalake(table, pa.table({"id": [4]}), mode="append")
    now[0] += 3_500_000
    unity.expires_ms = now[0] + 3_600_000
    write_deltalake(table, pa.table({"id": [5]}), mode="append")
    assert unity.operations.count("READ_WRITE") == 2
    assert ids(catalog) == [1, 2, 3, 4, 5]


def test_a_user_who_may_only_read_is_told_so_before_anything_is_written(catalog, unity, s3_options):
    write_deltalake(NAME, ROWS, catalog=catalog)
    place = unity.hosted(NAME).location.removeprefix("s3://")
    before = set(raw_s3(s3_options).find(place))
    table = DeltaTable(NAME, catalog=catalog)
    refusal = 403, {"error": {"type": "PermissionDeniedException", "code": 403, "message": "no"}}
    unity.fault = lambda path: refusal if path.endswith("credentials") else None
    with pytest.raises(StorageError, match="403"):
        write_deltalake(table, pa.table({"id": [4]}), mode="append")
    assert set(raw_s3(s3_options).find(place)) == before


def test_an_external_table_is_read_and_written_by_its_name(catalog, unity, reach, s3_options):
    place = f"s3://{BUCKET}/{uuid.uuid4()}"
    write_deltalake(place, ROWS, storage_options=s3_options)
    with connect(
        catalog=UnityCatalog(unity.url, "main", TOKEN, storage_options=s3_options), dialect="spark"
    ) as lake:
        lake.sql(f"CREATE TABLE shop.orders USING delta LOCATION '{place}'")
    assert unity.hosted(NAME).kind == "EXTERNAL"
    assert [each["name"] for each in unity.hosted(NAME).state["columns"]["fields"]] == ["id"]
    assert ids(catalog) == [1, 2, 3]
    assert unity.operations == ["READ"]
    assert (
        write_deltalake("main.shop.orders", pa.table({"id": [4]}), mode="append", catalog=catalog).version
        == 1
    )
    assert sorted(DeltaTable(place, storage_options=s3_options).to_pyarrow_table()["id"].to_pylist()) == [
        1,
        2,
        3,
        4,
    ]
    with connect(catalog=catalog, dialect="spark") as lake:
        lake.sql("DROP TABLE shop.orders")
    assert DeltaTable(place, storage_options=s3_options).version() == 1


def test_secrets_are_nowhere(catalog, unity, s3_options, monkeypatch, caplog):
    """Not in logs, errors, texts of objects, plans, pickles, nor in any file of the table."""
    capture_logs(caplog)
    said, pickles = [], []
    write_deltalake(NAME, ROWS, catalog=catalog)
    table = DeltaTable(NAME, catalog=catalog)
    table.delete("id = 1")
    table.alter.set_table_properties({"owner": "me"})
    table.create_checkpoint()
    with connect(catalog=catalog, dialect="spark") as lake:
        lake.sql("INSERT INTO main.shop.orders VALUES (7)")
        query = "SELECT * FROM main.shop.orders WHERE id > 2"
        asked = (f"EXPLAIN {query}", query, "DESCRIBE DETAIL shop.orders", "DESCRIBE HISTORY shop.orders")
        said += [lake.explain(query), *(lake.sql(each).fetchall() for each in asked)]
        unity.lost = lambda path, body: (500, {"error": {"message": f"{TOKEN} is odd"}})
        unity.fault = lambda path: (
            (0, {}) if path.endswith("orders") and unity.hosted(NAME).latest > 3 else None
        )
        for statement in (
            "INSERT INTO shop.orders VALUES (8)",
            "SELECT * FROM shop.orders",
            "DROP TABLE shop.orders",
        ):
            with pytest.raises(DeltaError) as caught:
                lake.sql(statement).fetchall()
            said += [*traceback.format_exception(caught.value), caught.value]
        unity.lost, unity.fault = lambda path, body: None, lambda path: None
    table.update_incremental()
    place = catalog.namespace("shop").place_for("another")
    store = place.open()
    objects = [catalog, catalog.namespace("shop").find("orders"), place, store, table, table.snapshot]
    objects += [
        table.snapshot.store,
        table.snapshot.store.catalog,
    ]
    for each in objects:
        said.append(repr(each))
        pickles.append(pickle.dumps(each))
    raw = raw_s3(s3_options)
    files = raw.find(unity.root.removeprefix("s3://"))
    assert any("_staged_commits" in each for each in files)
    texts = [*map(str, said), logged(caplog), *map(str, unity.paths)]
    for secret in (TOKEN, KEY):
        for text in texts:
            assert secret not in text
        for dumped in [*pickles, *map(raw.cat_file, files)]:
            assert secret.encode() not in dumped
    monkeypatch.setenv("UNITY_CATALOG_TOKEN", TOKEN)
    assert sorted(pickle.loads(pickle.dumps(table)).to_pyarrow_table()["id"].to_pylist()) == [2, 3, 7, 8]


@pytest.mark.parametrize("is_old", [True, False], ids=["old-server", "old-table"])
def test_external_tables_of_the_older_api_are_read_and_written(unity, catalog, s3_options, is_old):
    place = f"s3://{BUCKET}/{uuid.uuid4()}"
    write_deltalake(place, ROWS, storage_options=s3_options)
    unity.is_old, unity.old[NAME] = is_old, ("EXTERNAL", "DELTA", place)
    refusal = {"error": {"type": "UnsupportedTableFormatException", "code": 400, "message": "not here"}}
    unity.fault = lambda path: (400, refusal) if path.endswith("tables/orders") else None
    assert ids(catalog) == [1, 2, 3]
    assert unity.operations == ["READ"]
    write_deltalake(NAME, pa.table({"id": [4]}), mode="append", catalog=catalog)
    assert ids(catalog) == [1, 2, 3, 4]
    store = DeltaTable(NAME, catalog=catalog).snapshot.store
    assert KEY not in repr(store)
    assert KEY.encode() not in pickle.dumps(store)
    unity.old[NAME] = ("MANAGED", "DELTA", place)
    with pytest.raises(UnsupportedFeatureError, match=r"type 'MANAGED'"):
        DeltaTable(NAME, catalog=catalog)
