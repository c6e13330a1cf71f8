"""Names of tables: folders, and catalogs in the files of a folder."""

import multiprocessing

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, connect, write_deltalake
from deltaarrow.catalogs import FileCatalog, FolderNamespace, TableLocation
from deltaarrow.catalogs.hive_entries import HiveEntry
from deltaarrow.errors import DeltaError, UnsupportedFeatureError

ROWS = pa.table({"id": [1]})


def test_tables_of_a_folder_are_its_subfolders_with_a_log(tmp_path):
    write_deltalake(f"{tmp_path}/Orders", ROWS)
    (tmp_path / "other").mkdir()
    folder = FolderNamespace(tmp_path)
    assert folder.tables() == ["Orders"]
    assert folder.find("ORDERS").uri == f"{tmp_path}/Orders"
    assert folder.find("other") is None
    assert folder.place_for("new").uri == f"{tmp_path}/new"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", "a\\b", "_delta_log", "a\0"])
def test_names_that_leave_a_folder_are_none_of_its_tables(tmp_path, name):
    folder = FolderNamespace(tmp_path)
    assert folder.find(name) is None
    with pytest.raises(ValueError, match="the name of one folder"):
        folder.place_for(name)


def test_folder_holds_only_what_is_in_it(tmp_path):
    with pytest.raises(ValueError, match="leave LOCATION out"):
        FolderNamespace(tmp_path).add("orders", TableLocation("/elsewhere"))


def test_namespaces_of_a_catalog_come_and_go(tmp_path):
    catalog = FileCatalog(tmp_path / "catalog")
    assert catalog.namespaces() == ["default"]
    catalog.create_namespace("Shop")
    with pytest.raises(FileExistsError):
        catalog.create_namespace("shop")
    shop = catalog.namespace("SHOP")
    shop.add("Orders", TableLocation("/data/orders"))
    with pytest.raises(FileExistsError):
        shop.add("orders", TableLocation("/elsewhere"))
    with pytest.raises(ValueError, match="is not empty"):
        catalog.drop_namespace("shop")
    shop.remove("orders")
    with pytest.raises(KeyError):
        shop.remove("orders")
    catalog.drop_namespace("shop")
    assert catalog.namespaces() == ["default"]
    assert catalog.namespace("shop") is None


@pytest.mark.parametrize("name", ["", "..", "a/b", "a.b", "_delta_log", "é", "a\n"])
def test_names_that_no_file_can_have_are_refused(tmp_path, name):
    catalog = FileCatalog(tmp_path)
    assert catalog.namespace(name) is None
    assert catalog.namespace("default").find(name) is None
    with pytest.raises(ValueError, match="is no name"):
        catalog.create_namespace(name)
    with pytest.raises(ValueError, match="is no name"):
        catalog.namespace("default").add(name, TableLocation("/t"))


def test_name_that_no_file_can_have_is_an_error_of_ours(tmp_path):
    text = 'COPY (SELECT 1 AS id) TO default."a.b" (FORMAT delta)'
    for make in (
        lambda: write_deltalake("default.`a.b`", ROWS, catalog=tmp_path),
        lambda: DeltaTable.create("default.`a.b`", ROWS.schema, catalog=tmp_path),
        lambda: connect(catalog=tmp_path).sql(text),
    ):
        with pytest.raises(UnsupportedFeatureError, match="INVALID_SCHEMA_OR_RELATION_NAME"):
            make()


def test_files_belong_to_the_catalog_only_in_its_own_folder(tmp_path):
    default = FileCatalog(tmp_path).namespace("default")
    default.add("own", default.place_for("own"))
    assert default.find("own").is_managed
    default.add("foreign", TableLocation("/data/foreign", is_managed=True))
    assert not default.find("foreign").is_managed


def test_a_relative_location_is_kept_as_an_absolute_path(tmp_path, monkeypatch):
    write_deltalake(tmp_path / "here" / "orders", ROWS)
    monkeypatch.chdir(tmp_path / "here")
    names = FileCatalog(tmp_path / "names")
    names.namespace("default").add("orders", TableLocation("orders"))
    monkeypatch.chdir(tmp_path)
    assert names.namespace("default").find("orders").uri == f"{tmp_path}/here/orders"
    assert DeltaTable("default.orders", catalog=names).count() == 1
    assert HiveEntry.of("orders", TableLocation("orders")).uri == f"{tmp_path}/orders"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"location": 1, "managed": true}'])
def test_damaged_file_of_a_table_is_refused(tmp_path, text):
    default = FileCatalog(tmp_path).namespace("default")
    default.add("t", TableLocation("/t"))
    (tmp_path / "default" / "t.json").write_text(text)
    with pytest.raises(DeltaError, match=r"file of default\.t is damaged"):
        default.find("t")


def add(folder, barrier, results):
    barrier.wait()
    try:
        FileCatalog(folder).namespace("default").add("t", TableLocation("/t"))
    except FileExistsError:
        results.put(False)
    else:
        results.put(True)


def test_of_two_processes_that_register_a_name_one_fails(tmp_path):
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(2), context.Queue()
    workers = [context.Process(target=add, args=(tmp_path, barrier, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    found = sorted(results.get(timeout=60) for _ in workers)
    for worker in workers:
        worker.join()
    assert found == [False, True]
