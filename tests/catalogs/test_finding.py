"""Tables by their names in a catalog, which is given as an object or a text."""

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.catalogs import FileCatalog, TableLocation
from deltaarrow.errors import StorageError, TableNotFoundError

ROWS = pa.table({"id": [1, 2]})


class NamedCatalog(FileCatalog):
    """A file catalog with a name."""

    name = "main"


@pytest.fixture
def folder(tmp_path):
    catalog = FileCatalog(tmp_path / "names")
    catalog.create_namespace("shop")
    da.write_deltalake("shop.orders", ROWS, catalog=catalog)
    return f"{tmp_path}/names"


def told(use):
    with pytest.raises(TableNotFoundError) as caught:
        use()
    return str(caught.value)


# --- the catalog ------------------------------------------------------------------------------------


def test_each_entry_takes_a_catalog_as_text(folder):
    assert da.DeltaTable("shop.orders", catalog=folder).count() == 2
    assert da.DeltaTable.is_deltatable("shop.orders", catalog=folder)
    assert not da.DeltaTable.is_deltatable("shop.order", catalog=folder)
    assert da.scan_delta("shop.orders", catalog=folder).collect().height == 2
    da.write_deltalake("shop.orders", ROWS, mode="append", catalog=folder)
    da.write_deltalake("shop.copies", ROWS, catalog=folder)
    assert da.DeltaTable.create("shop.empty", ROWS.schema, catalog=folder).count() == 0
    with da.connect(catalog=folder) as lake:
        assert lake.sql("SELECT count(*) FROM shop.orders").fetchall() == [(4,)]
    assert FileCatalog(folder).namespace("shop").tables() == ["copies", "empty", "orders"]


def test_options_go_to_a_catalog_that_is_given_as_text(folder):
    with pytest.raises(StorageError, match="nonsense"):
        da.DeltaTable("shop.orders", storage_options={"nonsense": "1"}, catalog="s3://bucket/names")
    with pytest.raises(ValueError, match="give storage_options to the catalog"):
        da.DeltaTable("shop.orders", storage_options={"a": "b"}, catalog=FileCatalog(folder))


@pytest.mark.parametrize("catalog", [5, FileCatalog, object()])
def test_what_is_no_catalog_is_refused(catalog):
    for use in (
        lambda: da.connect(catalog=catalog),
        lambda: da.DeltaTable("shop.orders", catalog=catalog),
        lambda: da.DeltaTable.is_deltatable("shop.orders", catalog=catalog),
        lambda: da.DeltaTable.create("shop.orders", ROWS.schema, catalog=catalog),
        lambda: da.write_deltalake("shop.orders", ROWS, catalog=catalog),
        lambda: da.scan_delta("shop.orders", catalog=catalog),
    ):
        with pytest.raises(TypeError, match=r"a catalog must be an object, such as .* or a text"):
            use()


def test_an_open_table_takes_no_catalog(folder):
    table = da.DeltaTable("shop.orders", catalog=folder)
    with pytest.raises(TypeError, match="leave catalog out"):
        da.scan_delta(table, catalog=folder)
    with pytest.raises(TypeError, match="as text, not a DeltaTable"):
        da.DeltaTable(table, catalog=folder)


# --- names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("shop.order", "shop.order is not the name of a table; did you mean `orders`? (in shop are orders)"),
        (
            "shpo.orders",
            "shpo.orders is not the name of a table; did you mean `shop`? (namespaces: default, shop)",
        ),
        (
            "orders",
            "orders is not the name of a table: write namespace.table or catalog.namespace.table"
            " (namespaces: default, shop)",
        ),
        (
            "mian.shop.orders",
            "mian.shop.orders is not the name of a table; did you mean `main`? (the name of the catalog is"
            " main; write shop.orders)",
        ),
        ("main.shop.order", "main.shop.order is not the name of a table; did you mean `orders`?"),
        (
            "a.b.c.d",
            "is not the name of a table in a catalog: write namespace.table or catalog.namespace.table",
        ),
        ("shop orders", "write namespace.table or catalog.namespace.table, with `backquotes`"),
        ("/data/orders", "is a path, and a catalog knows tables by names: write namespace.table or"),
        ("s3://bucket/orders", "or leave catalog out, as in DeltaTable(path)"),
        ("delta.`/data/orders`", "'/data/orders' is a path"),
    ],
)
def test_a_name_of_no_table_is_answered_with_what_to_write(folder, name, message):
    catalog = NamedCatalog(folder)
    assert message in told(lambda: da.DeltaTable(name, catalog=catalog))
    if not name.endswith("shop.order"):
        assert message in told(lambda: da.write_deltalake(name, ROWS, catalog=catalog))
    assert not da.DeltaTable.is_deltatable(name, catalog=catalog)


def test_a_catalog_without_a_name_says_so(folder):
    catalog = FileCatalog(folder)
    assert "(the catalog has no name; write shop.orders)" in told(
        lambda: da.DeltaTable("main.shop.orders", catalog=catalog)
    )


def test_a_password_is_in_no_error_about_a_name(folder):
    assert "pa55" not in told(lambda: da.DeltaTable("s3://ann:pa55@host/t", catalog=folder))


@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
@pytest.mark.parametrize(
    "name", ["shop.order", "main.shop.order", "mian.shop.orders", "spark_catalog.shop.x"]
)
def test_sql_answers_as_the_table_does(folder, dialect, name):
    catalog = NamedCatalog(folder)
    with da.connect(catalog=catalog, dialect=dialect) as lake:
        message = told(lambda: lake.sql(f"SELECT * FROM {name}"))
    assert message.startswith("[TABLE_OR_VIEW_NOT_FOUND] ")
    if not name.startswith("spark_catalog"):
        assert told(lambda: da.DeltaTable(name, catalog=catalog)) in message


def test_databases_of_duckdb_keep_their_names(folder):
    with da.connect(catalog=NamedCatalog(folder)) as lake:
        lake.sql("ATTACH ':memory:' AS other")
        lake.sql("CREATE SCHEMA other.shop")
        lake.sql("CREATE TABLE other.shop.orders AS SELECT 7 AS id")
        assert lake.sql("SELECT id FROM other.shop.orders").fetchall() == [(7,)]


class Closed(FileCatalog):
    """A catalog whose names may not be listed."""

    def namespaces(self):
        raise StorageError("403")


def test_a_user_who_may_not_list_names_learns_what_is_unknown(folder):
    assert "none.t is not the name of a table" in told(
        lambda: da.DeltaTable("none.t", catalog=Closed(folder))
    )


def test_a_location_is_opened_without_a_catalog(folder):
    with pytest.raises(ValueError, match="knows its catalog"):
        da.DeltaTable(TableLocation("/t"), catalog=folder)
