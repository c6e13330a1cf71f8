"""Texts about a store hold no password and no token; a pickled store keeps all that it needs."""

import logging
import pickle
import socket

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import DeltaError, StorageError
from deltaarrow.scan import plan_scan
from deltaarrow.storage import open_store

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
