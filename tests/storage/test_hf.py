"""Tables in datasets on the Hugging Face Hub are read; the server is `tests.support.hub_server`."""

import pickle
import traceback
from itertools import count

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import DeltaError, StorageError, TableNotFoundError
from deltaarrow.storage import open_store
from deltaarrow.storage.hf.options import hf_options
from tests.support.hub_server import SIGNATURE, HubServer, hub_server

TOKEN = "hf_t0ken"
ROWS = pa.table({"id": pa.array(range(20_000)), "name": [f"name {number}" for number in range(20_000)]})
_numbers = count()


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    """Nothing is told by the environment."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def table_files(tmp_path_factory):
    """The files of a table of two commits, deleted rows in the second."""
    folder = tmp_path_factory.mktemp("local") / "t"
    da.write_deltalake(folder, ROWS, configuration={"delta.enableDeletionVectors": "true"})
    da.DeltaTable(folder).delete("id < 10")
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def dataset(hub: HubServer, table_files) -> str:
    """A dataset of its own, with the table in its folder ``t``."""
    name = f"shop/orders-{next(_numbers)}"
    for path, data in table_files.items():
        hub.put(name, f"t/{path}", data)
    hub.taken()
    return name


def ensure_hidden(error: BaseException) -> None:
    text = "".join(traceback.format_exception(error))
    assert [secret for secret in (TOKEN, SIGNATURE) if secret in text] == []


def test_every_engine_reads_a_table(hub, dataset) -> None:
    options = {"endpoint": hub.url}
    table = da.DeltaTable(f"hf://datasets/{dataset}/t", storage_options=options)
    assert table.version() == 1
    assert table.to_pyarrow_table().sort_by("id") == ROWS.slice(10)
    assert da.scan_delta(table).select(pl.col("id").sum()).collect().item() == sum(range(10, 20_000))
    con = duckdb.connect()
    da.register(con, "t", table)
    assert con.sql("SELECT count(*), max(name) FROM t").fetchall() == [(19_990, "name 9999")]
    first = da.DeltaTable(f"hf://datasets/{dataset}/t", version=0, storage_options=options)
    assert first.count() == 20_000


def test_a_table_costs_few_requests(hub, dataset) -> None:
    table = da.DeltaTable(f"hf://datasets/{dataset}/t", storage_options={"endpoint": hub.url})
    asked = [path.partition("?")[0].split(dataset)[-1] for _, path in hub.taken()]
    assert asked[:3] == [
        "/resolve/main/t/_delta_log/_last_checkpoint",
        "/tree/main/t%2F_delta_log",
        "/paths-info/main",
    ]
    assert sorted(asked[3:]) == [f"/resolve/main/t/_delta_log/{version:020}.json" for version in (0, 1)]
    before = table.io_stats()
    table.to_pyarrow_table(columns=["id"])
    cost = table.io_stats() - before
    # The end of the data file with its footer, the column, and the deletion vector.
    assert (cost.lists, cost.heads, cost.gets) == (0, 0, 3)
    # The address of a larger file leads on to another one.
    asked = [path.split("/")[1] for _, path in hub.taken()]
    assert sorted(asked) == [*["datasets"] * 3, *["signed"] * 2]


def test_a_long_folder_is_listed_page_by_page(hub, dataset, monkeypatch) -> None:
    monkeypatch.setattr(hub, "page", 100)
    for number in range(250):
        hub.put(dataset, f"long/{number:020}.json", b"{}")
    store = open_store(f"hf://datasets/{dataset}", {"endpoint": hub.url})
    hub.taken()
    assert len(store.list_from("long", f"{40:020}")) == 210
    asked = [path.split("/")[5] for _, path in hub.taken()]
    assert sorted(asked) == [*["paths-info"] * 3, *["tree"] * 3]
    assert len(list(store.list_recursive("long"))) == 250


def test_a_file_that_goes_away_while_it_is_listed_is_no_gap_in_the_log(hub, dataset, monkeypatch) -> None:
    store = open_store(f"hf://datasets/{dataset}/t", {"endpoint": hub.url})
    monkeypatch.setattr("huggingface_hub.HfApi.get_paths_info", lambda *_, **__: [])
    with pytest.raises(StorageError, match="went away"):
        store.list_from("_delta_log")


def test_the_library_reads_the_same_from_the_server(hub, dataset, table_files) -> None:
    from huggingface_hub import HfFileSystem

    theirs = HfFileSystem(endpoint=hub.url, token=False, skip_instance_cache=True)
    root = f"datasets/{dataset}/t"
    assert {path.removeprefix(f"{root}/") for path in theirs.find(root)} == set(table_files)
    for name, data in table_files.items():
        assert theirs.cat_file(f"{root}/{name}") == data
        assert theirs.cat_file(f"{root}/{name}", 3, 11) == data[3:11]
    store = open_store(f"hf://{root}", {"endpoint": hub.url})
    for entry in store.list_recursive():
        told = theirs.info(f"{root}/{entry.name}", expand_info=True)
        modified = int(told["last_commit"].date.timestamp() * 1000)
        assert (told["size"], modified) == (entry.size, entry.modified_ms)


@pytest.mark.parametrize("revision", ["v1.0", "refs/convert/parquet", "feature/x"])
def test_a_revision_is_named_by_the_location_or_an_option(hub, dataset, table_files, revision) -> None:
    for path, data in table_files.items():
        if "0001.json" not in path:
            hub.put(dataset, f"t/{path}", data, revision)
    quoted = revision.replace("/", "%2F")
    options = {"endpoint": hub.url}
    named = da.DeltaTable(f"hf://datasets/{dataset}@{quoted}/t", storage_options=options)
    given = da.DeltaTable(f"hf://datasets/{dataset}/t", storage_options={**options, "revision": revision})
    assert named.version() == given.version() == 0
    assert named.snapshot.store.uri == given.snapshot.store.uri == f"hf://datasets/{dataset}@{quoted}/t"
    assert given.to_pyarrow_table().num_rows == 20_000
    copy = pickle.loads(pickle.dumps(given.snapshot.store))
    assert copy.list_from("_delta_log") == given.snapshot.store.list_from("_delta_log")


def test_a_reference_may_stand_unquoted() -> None:
    store = open_store("hf://datasets/shop/orders@refs/pr/3/t")
    assert store.uri == "hf://datasets/shop/orders@refs%2Fpr%2F3/t"


def test_two_revisions_that_disagree_are_refused() -> None:
    with pytest.raises(StorageError, match="disagree"):
        open_store("hf://datasets/shop/orders@v1/t", {"revision": "v2"})


@pytest.mark.parametrize("uri", ["hf://shop/model/t", "hf://spaces/shop/app/t", "hf://buckets/shop/b/t"])
def test_what_is_no_dataset_is_refused(uri) -> None:
    with pytest.raises(StorageError, match="is no dataset"):
        open_store(uri)


def test_a_dataset_is_not_written_to(hub, dataset) -> None:
    uri, options = f"hf://datasets/{dataset}/t", {"endpoint": hub.url}
    with pytest.raises(StorageError, match="cannot be written to: its store has no proven put-if-absent"):
        da.write_deltalake(uri, ROWS.slice(0, 1), mode="append", storage_options=options)
    with pytest.raises(StorageError, match="no proven put-if-absent"):
        da.DeltaTable(uri, storage_options=options).delete()
    assert [path for method, path in hub.taken() if method != "GET" and "paths-info" not in path] == []


def test_what_is_missing(hub, dataset) -> None:
    options = {"endpoint": hub.url}
    with pytest.raises(TableNotFoundError):
        da.DeltaTable(f"hf://datasets/{dataset}/absent", storage_options=options)
    with pytest.raises(StorageError, match="check the name; for a private dataset give HF_TOKEN"):
        da.DeltaTable("hf://datasets/shop/absent/t", storage_options=options)
    with pytest.raises(StorageError, match="check the revision"):
        da.DeltaTable(f"hf://datasets/{dataset}@absent/t", storage_options=options)


@pytest.fixture
def private(table_files):
    """A Hub whose datasets ask for a token."""
    with hub_server() as server:
        for path, data in table_files.items():
            server.put("shop/secret", f"t/{path}", data)
        server.token = TOKEN
        yield server


def test_a_token_opens_a_private_dataset_and_is_not_shown(private, monkeypatch) -> None:
    uri = "hf://datasets/shop/secret/t"
    with pytest.raises(StorageError, match="give HF_TOKEN"):
        da.DeltaTable(uri, storage_options={"endpoint": private.url})
    with pytest.raises(StorageError, match="give HF_TOKEN") as caught:
        da.DeltaTable(uri, storage_options={"endpoint": private.url, "token": TOKEN + "x"})
    ensure_hidden(caught.value)
    options = {"HF_ENDPOINT": private.url, "HF_TOKEN": TOKEN}
    table = da.DeltaTable(uri, storage_options=options)
    assert table.to_pyarrow_table().num_rows == 19_990
    for each in (table, table.snapshot.store, table.explain(), da.scan_delta(table).explain()):
        assert TOKEN not in repr(each)
    monkeypatch.setenv("HF_ENDPOINT", private.url)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert da.DeltaTable(uri).to_pyarrow_table().num_rows == 19_990
    assert private.tokens_elsewhere == []


def test_an_address_that_the_hub_signed_is_not_shown(private) -> None:
    options = {"endpoint": private.url, "token": TOKEN}
    table = da.DeltaTable("hf://datasets/shop/secret/t", storage_options=options)
    private.signed_status = 403
    with pytest.raises(DeltaError, match="403") as caught:
        table.to_pyarrow_table()
    ensure_hidden(caught.value)
    assert any(SIGNATURE in path for _, path in private.taken())


@pytest.mark.parametrize("attribute", ["knows_ranges", "knows_last_bytes"])
def test_a_server_without_ranges_is_read(hub, dataset, monkeypatch, attribute) -> None:
    monkeypatch.setattr(hub, attribute, False)
    table = da.DeltaTable(f"hf://datasets/{dataset}/t", storage_options={"endpoint": hub.url})
    assert table.to_pyarrow_table().sort_by("id") == ROWS.slice(10)


def test_options_that_are_unknown_or_cannot_be_followed() -> None:
    with pytest.raises(StorageError, match=r"unknown storage option 'tokn'.*token"):
        open_store("hf://datasets/shop/orders/t", {"tokn": TOKEN})
    with pytest.raises(StorageError, match="HF_HUB_DOWNLOAD_TIMEOUT"):
        open_store("hf://datasets/shop/orders/t", {"timeout": "5s"})
    with pytest.raises(StorageError, match="allow_http forbids"):
        open_store("hf://datasets/shop/orders/t", {"endpoint": "http://127.0.0.1:1", "allow_http": "false"})
    assert hf_options({"token": False}) == {"token": False}
