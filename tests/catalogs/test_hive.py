"""Hive's metastore as a catalog of names, against a stub and against Hive's own."""

import os
import pickle
import subprocess
import sys

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.catalogs import HiveCatalog, TableLocation, View, open_catalog
from deltaarrow.catalogs.hive_entries import HiveEntry
from deltaarrow.errors import DeltaError, StorageError, TableNotFoundError
from tests.support.hive_metastore import real_metastore, stub_metastore

ROWS = pa.table({"id": [1, 2]})
METASTORES = [
    pytest.param(stub_metastore, id="stub"),
    pytest.param(real_metastore, id="hive", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=METASTORES)
def address(request, tmp_path_factory):
    with request.param(tmp_path_factory.mktemp("hive")) as found:
        yield found


@pytest.fixture
def catalog(address):
    found = HiveCatalog(address)
    for database in set(found.namespaces()) - {"default"}:
        for entry in found.entries(database):
            found.forget(database, entry.name)
        found.drop_namespace(database)
    return found


@pytest.fixture
def shop(catalog):
    catalog.create_namespace("shop")
    return catalog.namespace("Shop")


def registered(catalog, name, parameters, location, path="", kind="EXTERNAL_TABLE") -> None:
    """Register a table as others do."""
    external = {"EXTERNAL": "TRUE"} if kind == "EXTERNAL_TABLE" else {}
    entry = HiveEntry(name, kind, {**parameters, **external}, location, {"path": path} if path else {})
    catalog.register("shop", entry)


def test_namespaces(catalog) -> None:
    catalog.create_namespace("Shop")
    assert catalog.namespaces() == ["default", "shop"]
    with pytest.raises(FileExistsError):
        catalog.create_namespace("shop")
    with pytest.raises(ValueError, match="not a valid database name"):
        catalog.create_namespace("a-b")
    shop = catalog.namespace("SHOP")
    assert shop.tables() == [] and catalog.namespace("none") is None
    shop.add("Orders", TableLocation("file:/tmp/deltaarrow-orders"))
    assert shop.names() == ["orders"]
    with pytest.raises(ValueError, match="not empty"):
        catalog.drop_namespace("shop")
    shop.remove("orders")
    with pytest.raises(KeyError):
        shop.remove("orders")
    catalog.drop_namespace("Shop")
    with pytest.raises(KeyError):
        catalog.drop_namespace("shop")


def test_tables_of_others_are_found(catalog, shop, tmp_path) -> None:
    spark = {"spark.sql.sources.provider": "delta"}
    placeholder = f"file:{tmp_path}/outside-__PLACEHOLDER__"
    registered(catalog, "outside", spark, placeholder, "s3a://bucket/out side")
    own = shop.place_for("inside").uri
    registered(catalog, "inside", spark, f"file:{own}", f"file:{own}", "MANAGED_TABLE")
    registered(catalog, "moved", spark, f"file:{tmp_path}/moved", f"file:{tmp_path}/moved", "MANAGED_TABLE")
    registered(catalog, "escaped", {"table_type": "DELTA"}, f"file:{tmp_path}/a%20b")
    registered(catalog, "csv", {"spark.sql.sources.provider": "csv"}, f"file:{tmp_path}/csv")
    assert shop.tables() == ["escaped", "inside", "moved", "outside"]
    assert shop.find("outside") == TableLocation("s3a://bucket/out side")
    assert shop.find("INSIDE") == TableLocation(own, is_managed=True)
    assert shop.find("moved") == TableLocation(f"{tmp_path}/moved"), "files elsewhere are nobody's to delete"
    assert shop.find("escaped").uri == f"{tmp_path}/a%20b", "the text of a Hadoop path has no escapes"
    assert shop.find("none") is None
    with pytest.raises(DeltaError, match=r"shop\.csv is in the metastore, but not marked as a Delta table"):
        shop.find("csv")
    with pytest.raises(ValueError, match="views are not kept in the metastore"):
        shop.add_view(View("v", "SELECT 1", da.StructType([])))


def test_tables_are_used_by_name(catalog, shop, tmp_path) -> None:
    place = f"{tmp_path}/a%20b"
    da.write_deltalake(place, ROWS)
    shop.add("orders", TableLocation(place))
    with pytest.raises(FileExistsError):
        shop.add("orders", TableLocation(place))
    assert da.DeltaTable("shop.orders", catalog=catalog).count() == 2
    with pytest.raises(TableNotFoundError):
        da.DeltaTable("shop.none", catalog=catalog)
    with da.connect(catalog=catalog, dialect="spark") as lake:
        lake.sql("CREATE TABLE shop.kept (id BIGINT) USING delta")
        lake.sql("INSERT INTO shop.kept SELECT id + 1 FROM shop.orders")
        assert lake.sql("SELECT sum(id) FROM shop.kept").fetchall() == [(5,)]
        kept = shop.find("kept")
        assert kept == TableLocation(shop.place_for("kept").uri, is_managed=True)
        lake.sql("DROP TABLE shop.orders")
        lake.sql("DROP TABLE shop.kept")
    assert shop.tables() == []
    assert da.DeltaTable(place).count() == 2, "the files of another place stay"
    assert not da.DeltaTable.is_deltatable(kept.uri)


def test_a_copy_of_the_catalog_works_and_shows_no_options(address) -> None:
    catalog = HiveCatalog(address, storage_options={"AWS_SECRET_ACCESS_KEY": "secret"})
    copy = pickle.loads(pickle.dumps(catalog))
    assert copy.namespaces() == catalog.namespaces()
    assert "secret" not in repr(catalog) + repr(copy.namespace("default").place_for("t"))


def test_the_next_address_is_asked_if_one_is_gone(address) -> None:
    assert "default" in HiveCatalog(f"thrift://127.0.0.1:9,{address}").namespaces()


def test_errors_say_what_to_check(address) -> None:
    with pytest.raises(StorageError, match=r"cannot reach the metastore at thrift://127.0.0.1:9: .*Kerberos"):
        HiveCatalog("thrift://127.0.0.1:9").namespaces()
    for wrong in ("http://host:9083", "thrift://", "thrift://host/shop", "thrift://user:key@host"):
        with pytest.raises(ValueError, match="write thrift://host:9083") as caught:
            HiveCatalog(wrong)
        assert "key" not in str(caught.value)


def test_a_text_names_the_catalog() -> None:
    assert repr(open_catalog("thrift://meta:9083")) == "HiveCatalog('thrift://meta:9083')"


SPARK = """
import sys
from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession

address, folder = sys.argv[1:]
settings = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalogImplementation": "hive",
    "spark.hadoop.hive.metastore.uris": address,
    "spark.sql.warehouse.dir": f"{folder}/warehouse",
    "spark.sql.shuffle.partitions": "1",
}
builder = SparkSession.builder.master("local[1]")
for setting in settings.items():
    builder = builder.config(*setting)
spark = configure_spark_with_delta_pip(builder).getOrCreate()
assert spark.table("shop.ours").count() == 2
assert spark.table("shop.elsewhere").count() == 2
spark.sql("INSERT INTO shop.ours VALUES (3)")
spark.sql("CREATE TABLE shop.Inside (id BIGINT, p STRING) USING delta PARTITIONED BY (p)")
spark.sql("INSERT INTO shop.inside VALUES (1, 'a'), (2, 'b')")
spark.sql(f"CREATE TABLE shop.outside USING delta LOCATION '{folder}/out side%20' AS SELECT 1 AS id")
spark.sql("CREATE TABLE shop.csv (id INT) USING csv")
spark.sql("CREATE VIEW shop.v AS SELECT * FROM shop.inside")
spark.stop()
"""


@pytest.mark.slow
def test_spark_and_we_use_the_names_of_each_other(tmp_path) -> None:
    with real_metastore(tmp_path) as address:
        catalog = HiveCatalog(address)
        catalog.create_namespace("shop")
        shop = catalog.namespace("shop")
        da.write_deltalake("shop.ours", ROWS, catalog=catalog)
        da.write_deltalake(f"{tmp_path}/else%20where", ROWS)
        shop.add("elsewhere", TableLocation(f"{tmp_path}/else%20where"))
        command = [sys.executable, "-c", SPARK, address, str(tmp_path)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
            env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert shop.tables() == ["elsewhere", "inside", "ours", "outside"]
        assert "v" in shop.names()
        counts = {name: da.DeltaTable(f"shop.{name}", catalog=catalog).count() for name in shop.tables()}
        assert counts == {"elsewhere": 2, "inside": 2, "ours": 3, "outside": 1}
        assert shop.find("inside").is_managed and not shop.find("outside").is_managed
