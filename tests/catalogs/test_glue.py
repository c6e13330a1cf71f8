"""AWS Glue as a catalog of names, against moto's server."""

import pickle

import boto3
import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.catalogs import GlueCatalog, TableLocation, open_catalog
from deltaarrow.errors import DeltaError, StorageError, TableNotFoundError, VersionExistsError
from tests.support.stores import BUCKET

ROWS = pa.table({"id": [1, 2]})


@pytest.fixture
def catalog(s3_options, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, s3_options[name])
    found = GlueCatalog(
        s3_options["AWS_REGION"], endpoint_url=s3_options["AWS_ENDPOINT_URL"], storage_options=s3_options
    )
    for database in found.listed("get_databases", "DatabaseList"):
        for table in found.listed("get_tables", "TableList", DatabaseName=database["Name"]):
            found.call("delete_table", DatabaseName=database["Name"], Name=table["Name"])
        found.call("delete_database", Name=database["Name"])
    return found


@pytest.fixture
def shop(catalog, s3_options):
    """A database with a place."""
    place = {"Name": "shop", "LocationUri": f"s3://{BUCKET}/glue"}
    catalog.call("create_database", DatabaseInput=place)
    return catalog.namespace("Shop")


def registered(catalog, name: str, parameters: dict[str, str], location: str, path: str = "") -> None:
    """Register a table as others do."""
    storage = {"Location": location, "SerdeInfo": {"Parameters": {"path": path} if path else {}}}
    table = {"Name": name, "TableType": "EXTERNAL_TABLE", "Parameters": parameters}
    catalog.call("create_table", DatabaseName="shop", TableInput={**table, "StorageDescriptor": storage})


def test_namespaces(catalog) -> None:
    catalog.create_namespace("Shop")
    assert catalog.namespaces() == ["shop"]
    with pytest.raises(FileExistsError):
        catalog.create_namespace("shop")
    shop = catalog.namespace("SHOP")
    assert shop.tables() == [] and catalog.namespace("none") is None
    with pytest.raises(ValueError, match="no location in Glue"):
        shop.place_for("orders").open()
    shop.add("Orders", TableLocation("s3://bucket/orders"))
    with pytest.raises(ValueError, match=r"not empty: .*orders"):
        catalog.drop_namespace("shop")
    shop.remove("orders")
    with pytest.raises(KeyError):
        shop.remove("orders")
    catalog.drop_namespace("Shop")
    with pytest.raises(KeyError):
        catalog.drop_namespace("shop")


def test_tables_of_others_are_found(catalog, shop) -> None:
    registered(
        catalog,
        "spark",
        {"spark.sql.sources.provider": "delta"},
        "s3://b/__PLACEHOLDER__",
        "s3a://b/of_spark",
    )
    registered(catalog, "athena", {"table_type": "DELTA"}, "s3://b/athena/")
    registered(catalog, "crawled", {"classification": "delta"}, "s3://b/crawled")
    registered(catalog, "csv", {"classification": "csv"}, "s3://b/csv")
    assert shop.tables() == ["athena", "crawled", "spark"]
    assert [shop.find(name).uri for name in shop.tables()] == [
        "s3://b/athena",
        "s3://b/crawled",
        "s3a://b/of_spark",
    ]
    assert not shop.find("Spark").is_managed and shop.find("none") is None
    with pytest.raises(DeltaError, match=r"shop\.csv is in Glue, but not marked as a Delta table"):
        shop.find("csv")
    registered(catalog, "nowhere", {"table_type": "delta"}, "")
    with pytest.raises(DeltaError, match="has no location"):
        shop.find("nowhere")


def test_tables_are_used_by_name(catalog, shop, s3_options) -> None:
    uri = f"s3://{BUCKET}/elsewhere"
    da.write_deltalake(uri, ROWS, storage_options=s3_options, mode="overwrite")
    shop.add("orders", TableLocation(uri))
    with pytest.raises(FileExistsError):
        shop.add("orders", TableLocation(uri))
    assert da.DeltaTable("shop.orders", catalog=catalog).count() == 2
    with pytest.raises(TableNotFoundError):
        da.DeltaTable("shop.none", catalog=catalog)
    with da.connect(catalog=catalog, dialect="spark") as lake:
        lake.sql("CREATE TABLE shop.kept (id BIGINT) USING delta")
        lake.sql("INSERT INTO shop.kept SELECT id + 1 FROM shop.orders")
        assert lake.sql("SELECT sum(id) FROM shop.kept").fetchall() == [(5,)]
        assert shop.find("kept") == TableLocation(f"s3://{BUCKET}/glue/kept", s3_options, is_managed=True)
        lake.sql("DROP TABLE shop.orders")
        lake.sql("DROP TABLE shop.kept")
    assert shop.tables() == []
    assert da.DeltaTable(uri, storage_options=s3_options).count() == 2, "the files of another place stay"
    assert not da.DeltaTable.is_deltatable(f"s3://{BUCKET}/glue/kept", s3_options)


def test_a_database_without_a_place_has_tables_with_places(catalog, s3_options) -> None:
    uri = f"s3://{BUCKET}/without-place"
    catalog.create_namespace("shop")
    with da.connect(catalog=catalog, dialect="spark") as lake:
        with pytest.raises(ValueError, match="database shop has no location in Glue: give one to the"):
            lake.sql("CREATE TABLE shop.orders (id INT)")
        lake.sql(f"CREATE TABLE shop.orders (id INT) LOCATION '{uri}'")
        lake.sql("INSERT INTO shop.orders VALUES (1)")
        assert lake.sql("SELECT id FROM shop.orders").fetchall() == [(1,)]
        shop = catalog.namespace("shop")
        shop.add("sales", shop.find("orders"))  # a rename is stopped half-way, and repeated
        lake.sql("ALTER TABLE shop.orders RENAME TO shop.sales")
        assert shop.tables() == ["sales"]
        with pytest.raises(VersionExistsError, match="ALREADY_EXISTS"):
            lake.sql("ALTER TABLE shop.sales RENAME TO shop.Sales")
        lake.sql("DROP TABLE shop.sales")
    assert da.DeltaTable(uri, storage_options=s3_options).count() == 1


def test_what_is_registered_says_so_to_spark_and_athena(catalog, shop) -> None:
    shop.add("orders", TableLocation("s3://b/orders"))
    found = boto3.client("glue", "eu-west-1", endpoint_url=catalog._endpoint_url).get_table(
        DatabaseName="shop", Name="orders"
    )["Table"]
    assert found["Parameters"]["spark.sql.sources.provider"] == "delta"
    assert found["Parameters"]["table_type"] == "DELTA"
    assert found["StorageDescriptor"]["Location"] == "s3://b/orders"
    assert found["StorageDescriptor"]["SerdeInfo"]["Parameters"]["path"] == "s3://b/orders"


def test_a_copy_of_the_catalog_works_and_shows_no_options(catalog, shop) -> None:
    copy = pickle.loads(pickle.dumps(catalog))
    assert copy.namespaces() == ["shop"]
    assert "secret" not in repr(catalog) + repr(shop.place_for("t"))


def test_errors_say_what_to_check(monkeypatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.delenv("AWS_REGION", raising=False)
    with pytest.raises(StorageError, match="cannot reach Glue: You must specify a region"):
        GlueCatalog().namespaces()
    with pytest.raises(StorageError, match=r"cannot reach Glue: Could not connect.*check the region"):
        GlueCatalog("eu-west-1", endpoint_url="http://127.0.0.1:9").namespaces()


def test_a_text_names_the_catalog() -> None:
    assert repr(open_catalog("glue://eu-west-1")) == "GlueCatalog('eu-west-1')"
    assert repr(open_catalog("glue://")) == "GlueCatalog(None)"
