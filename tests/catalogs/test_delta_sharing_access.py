"""Access to a share: profiles and their credentials, addresses that expire, and secrets that stay secret."""

import json
import logging
import pickle
import traceback

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, connect, write_deltalake
from deltaarrow.catalogs import DeltaSharingCatalog
from deltaarrow.errors import DeltaError, StorageError, UnsupportedFeatureError
from tests.support.sharing_server import PASSWORD, SIGNATURE, TOKEN, SharedFolder

NAME = "sales.shop.orders"
ROWS = pa.table({"id": [1, 2, 3, 4], "day": ["a", "a", "b", "b"]})


@pytest.fixture
def orders(sharing, tmp_path):
    """A shared table of two files, and its folder."""
    write_deltalake(tmp_path / "orders", ROWS, partition_by="day")
    sharing.tables[NAME] = shared = SharedFolder(tmp_path / "orders")
    return shared


def catalog_of(sharing, **profile):
    return DeltaSharingCatalog(
        sharing.profile(**profile), "sales", clock=lambda: sharing.now_ms, retry_delay=0.001, timeout=10
    )


def opened(sharing, **profile):
    return DeltaTable("shop.orders", catalog=catalog_of(sharing, **profile))


def ids(table):
    return sorted(table.to_pyarrow_table()["id"].to_pylist())


# --- profiles ---------------------------------------------------------------------------------------


def test_a_token_that_has_expired_is_told_before_anything_is_asked(sharing, orders):
    soon = "2023-11-14T22:13:21.0Z"  # a second after the server's time
    assert ids(opened(sharing, expirationTime=soon)) == [1, 2, 3, 4]
    sharing.now_ms += 1000
    asked = len(sharing.paths)
    with pytest.raises(StorageError, match=r"expired at 2023-11-14T22:13:21\+00:00; ask the provider"):
        opened(sharing, expirationTime=soon)
    assert len(sharing.paths) == asked


def test_client_credentials_are_exchanged_for_tokens(sharing, orders):
    more = {
        "shareCredentialsVersion": 2,
        "type": "oauth_client_credentials",
        "tokenEndpoint": f"{sharing.url}/token",
        "clientId": "me",
        "clientSecret": PASSWORD,
    }
    table = opened(sharing, **more)
    assert (ids(table), sharing.tokens_given) == ([1, 2, 3, 4], 1)
    sharing.now_ms += 3_000_001  # ten minutes before the end of the hour
    table.update_incremental()
    assert sharing.tokens_given == 2
    sharing.accepts = set()  # the server takes the token no longer
    table.update_incremental()
    assert sharing.tokens_given == 3
    with pytest.raises(StorageError, match="answers 401; check clientId and clientSecret"):
        opened(sharing, **{**more, "clientSecret": "wrong"})


def test_user_and_password(sharing, orders):
    sharing.accepts = {"Basic bWU6cGFzc3dvcmQtdGhhdC1ub2JvZHktbWF5LXNlZQ=="}
    more = {"shareCredentialsVersion": 2, "type": "basic", "username": "me"}
    assert ids(opened(sharing, **more, password=PASSWORD)) == [1, 2, 3, 4]
    with pytest.raises(StorageError, match=r"401 .*refuses the credentials of the profile"):
        opened(sharing, **more, password="wrong")


@pytest.mark.parametrize(
    ("more", "error", "told"),
    [
        ({"shareCredentialsVersion": 3}, UnsupportedFeatureError, "shareCredentialsVersion 3"),
        ({"shareCredentialsVersion": True}, UnsupportedFeatureError, "shareCredentialsVersion True"),
        ({"shareCredentialsVersion": 2}, UnsupportedFeatureError, "type None"),
        (
            {"type": "basic"},
            UnsupportedFeatureError,
            "type 'basic'; this release knows bearer_token in version 1",
        ),
        (
            {"shareCredentialsVersion": 2, "type": "oauth_jwt_bearer_private_key_jwt"},
            UnsupportedFeatureError,
            "oauth_jwt_bearer_private_key_jwt",
        ),
        ({"bearerToken": ""}, ValueError, "has no bearerToken"),
        ({"bearerToken": "a\nb"}, ValueError, "printable ASCII"),
        ({"endpoint": "file:///etc"}, ValueError, "not the address of a server"),
        ({"endpoint": "https://me:secret@host/"}, ValueError, "has a user or a password"),
        ({"expirationTime": "soon"}, ValueError, "no time of ISO 8601"),
    ],
)
def test_profiles_that_are_not_understood_are_refused(sharing, more, error, told):
    with pytest.raises(error, match=told) as caught:
        DeltaSharingCatalog(sharing.profile(**more), "sales")
    assert TOKEN not in str(caught.value)


def test_a_profile_is_read_from_any_store(sharing, orders, tmp_path):
    import fsspec

    fsspec.filesystem("memory").pipe_file("/profiles/my.share", json.dumps(sharing.profile()).encode())
    sharing.fault = lambda path: (
        (200, {}, json.dumps(sharing.profile()).encode()) if path == "/my.share" else None
    )
    for place in ("memory://profiles/my.share", f"{sharing.url}/my.share?sig=abc"):
        catalog = DeltaSharingCatalog(place, "sales")
        assert catalog.namespaces() == ["shop"]
        assert "abc" not in repr(catalog)
    (tmp_path / "no.share").write_text("[")
    with pytest.raises(ValueError, match=r"no\.share is no JSON object"):
        DeltaSharingCatalog(tmp_path / "no.share", "sales").namespaces()


# --- addresses --------------------------------------------------------------------------------------


def test_addresses_are_renewed_before_they_expire(sharing, orders):
    table = opened(sharing)
    dataset = table.to_pyarrow_dataset()
    assert table.count() == 4
    first = len(sharing.bodies)
    sharing.now_ms += sharing.lifetime_ms - 300_000  # five minutes before the end
    assert dataset.to_table().num_rows == 4
    assert len(sharing.bodies) == first + 1
    assert dataset.to_table().num_rows == 4
    assert len(sharing.bodies) == first + 1


def test_addresses_are_renewed_in_the_middle_of_a_scan(sharing, tmp_path):
    """Also of files that a newer version no longer has, and of vectors."""
    rows = pa.table({"id": pa.array(range(200_000)), "text": [f"{n * 7919}" for n in range(200_000)]})
    for start in range(0, 200_000, 50_000):
        write_deltalake(
            tmp_path / "t",
            rows.slice(start, 50_000),
            mode="append",
            configuration={"delta.enableDeletionVectors": "true"} if start == 0 else None,
        )
    DeltaTable(tmp_path / "t").delete("id % 50000 = 7")
    sharing.tables[NAME] = SharedFolder(tmp_path / "t")
    sharing.lifetime_ms = 1000
    table = opened(sharing)
    seen = 0
    for batch in table.to_pyarrow_dataset().to_batches(batch_size=20_000):
        seen += batch.num_rows
        sharing.now_ms += 700
    assert seen == 199_996
    DeltaTable(tmp_path / "t").delete()
    with connect(catalog=catalog_of(sharing)) as lake:
        assert lake.sql("SELECT count(text) FROM shop.orders").fetchall() == [(0,)]
    sharing.now_ms += 5000
    assert table.to_pyarrow_dataset().to_table().num_rows == 199_996


def test_a_refusal_is_answered_by_one_renewal(sharing, orders):
    table = opened(sharing)
    sharing.refused_downloads = 1
    assert ids(table) == [1, 2, 3, 4]
    assert len(sharing.bodies) == 2
    sharing.refused_downloads = 1 << 30
    with pytest.raises(StorageError, match="answers 403, also with an address that was renewed") as caught:
        ids(opened(sharing))
    assert SIGNATURE not in str(caught.value)


def test_addresses_of_a_file_that_is_gone_are_not_renewed(sharing, orders):
    orders.has_history = False
    table = opened(sharing)
    dataset = table.to_pyarrow_dataset()
    assert table.count() == 4
    write_deltalake(orders.path, ROWS, mode="overwrite")
    sharing.now_ms += sharing.lifetime_ms
    with pytest.raises(DeltaError, match="newest version alone: open the table again"):
        dataset.to_table()


def test_refresh_tokens_keep_the_version(sharing, orders):
    """With them, a table without shared history is read on after its files were replaced."""
    orders.has_history, sharing.gives_refresh_tokens = False, True
    table = opened(sharing)
    dataset = table.to_pyarrow_dataset()
    assert table.count() == 4
    write_deltalake(orders.path, ROWS.slice(0, 1), mode="overwrite")
    sharing.now_ms += sharing.lifetime_ms
    assert dataset.to_table().num_rows == 4
    assert "refreshToken" in sharing.bodies[-1]
    assert sharing.violations == []


def test_a_clock_that_is_ahead_does_not_stop_a_scan(sharing, orders):
    catalog = DeltaSharingCatalog(sharing.profile(), "sales", clock=lambda: sharing.now_ms + (1 << 40))
    assert ids(DeltaTable("shop.orders", catalog=catalog)) == [1, 2, 3, 4]
    assert len(sharing.bodies) == 1


# --- secrets ----------------------------------------------------------------------------------------


def test_secrets_are_nowhere(sharing, orders, tmp_path, caplog):
    """Not in logs, errors, texts of objects, plans, nor in pickles."""
    caplog.set_level(logging.DEBUG)
    profile = tmp_path / "my.share"
    profile.write_text(json.dumps(sharing.profile()))
    clock = Clock(sharing.now_ms)
    said, pickles = [], []
    for source in (profile, sharing.profile()):
        catalog = DeltaSharingCatalog(source, "sales", clock=clock, retry_delay=0.001)
        table = DeltaTable("shop.orders", catalog=catalog)
        assert ids(table) == [1, 2, 3, 4]
        with connect(catalog=catalog) as lake:
            query = "SELECT * FROM shop.orders WHERE id > 2"
            said += [lake.explain(query), lake.sql(f"EXPLAIN {query}").fetchall(), lake.sql(query).fetchall()]
            sharing.refused_downloads = 1 << 30
            with pytest.raises(Exception) as caught:
                lake.sql("SELECT max(length(day || id)) FROM shop.orders").fetchall()
            said += traceback.format_exception(caught.value)
        with pytest.raises(DeltaError) as caught:
            ids(DeltaTable("shop.orders", catalog=catalog))
        said += traceback.format_exception(caught.value)
        sharing.refused_downloads = 0
        sharing.fault = lambda path: (500, {}, json.dumps({"message": f"{TOKEN} is odd"}).encode())
        with pytest.raises(StorageError, match=r"\*\*\* is odd") as caught:
            table.update_incremental()
        said += traceback.format_exception(caught.value)
        sharing.fault = lambda path: None
        location = catalog.namespace("shop").find("orders")
        store = table.snapshot.store
        said += [table.file_uris(), table.get_add_actions().to_pylist(), store.fsspec_filesystem()]
        for each in (catalog, location, store, table, table.snapshot, table.to_pyarrow_dataset()):
            said.append(repr(each))
            pickles.append(pickle.dumps(each))
    for secret in (TOKEN, SIGNATURE):
        assert all(secret not in text for text in [*map(str, said), caplog.text, *map(str, sharing.paths)])
        assert all(secret.encode() not in dumped for dumped in pickles)
    assert ids(pickle.loads(pickles[3])) == [1, 2, 3, 4]
    with pytest.raises(
        StorageError, match="do not travel to other processes: give DeltaSharingCatalog the path"
    ):
        pickle.loads(pickles[9])


class Clock:
    """A clock that stands still and can be pickled."""

    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now
