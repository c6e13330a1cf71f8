"""VACUUM in every kind of store."""

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import StorageError
from tests.support.stores import FEW_WRITABLE, Place, cloud, hub, place, s3_options, servers, writable_place
from tests.support.tables import TableBuilder
from tests.support.vacuum import vacuum

__all__ = ["cloud", "hub", "place", "s3_options", "servers", "writable_place"]

SETTINGS = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}
LATER = 10_000


def names(place: Place) -> set[str]:
    return {e.name for e in place.store.list_recursive() if not e.name.startswith("_delta_log/")}


def table_in(place: Place) -> DeltaTable:
    uri, options = place.store.uri, place.store.storage_options
    rows = pa.table({"id": range(10), "p": ["a b", "c"] * 5})
    write_deltalake(uri, rows, partition_by=["p"], configuration=SETTINGS, storage_options=options)
    table = DeltaTable(uri, storage_options=options)
    table.delete("id = 1")
    table.delete("id = 3")
    table.update({"id": "id + 100"}, predicate="id = 2")
    table.delete("p = 'c'")
    return table


@FEW_WRITABLE
@pytest.mark.parametrize("way", [{"full": True}, {"lite": True}, {}])
def test_what_goes_and_what_stays(writable_place: Place, way) -> None:
    table = table_in(writable_place)
    rows = sorted(table.to_pyarrow_table()["id"].to_pylist())
    live = {uri.removeprefix(f"{writable_place.store.uri}/") for uri in table.file_uris()}
    strays = {"stray*.parquet", "sub/a b%20?", "p=c/[x]"}
    for name in (*strays, "_hidden/f", "sub/.x"):
        writable_place.put(name, b"1")
    assert vacuum(writable_place.store, **way) == []
    gone = vacuum(writable_place.store, 0, later_ms=LATER, dry_run=False, **way)
    stayed = names(writable_place)
    assert live < stayed and stayed >= {"_hidden/f", "sub/.x"}
    assert len([name for name in stayed if name.endswith(".bin")]) == 1
    assert (strays < set(gone)) == ("full" in way)
    assert stayed.isdisjoint(gone)
    table.update_incremental()
    assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == rows
    assert table.verify(deep=True).ok
    assert vacuum(writable_place.store, 0, later_ms=LATER, dry_run=False, **way) == []


def test_an_object_is_as_young_as_its_second_may_be(writable_place: Place) -> None:
    table_in(writable_place)
    writable_place.put("stray", b"1")
    (entry,) = (e for e in writable_place.store.list_recursive() if e.name == "stray")
    whole_second = entry.modified_ms - entry.modified_ms % 1000
    if writable_place.store.uri.startswith("s3://"):
        assert entry.modified_ms == whole_second
    assert "stray" in vacuum(writable_place.store, 0, later_ms=LATER, full=True)


def test_a_store_that_is_only_read_says_what_would_go(place: Place, tmp_path) -> None:
    if place.store.can_put_if_absent:
        return
    table = TableBuilder(tmp_path).protocol()
    table.metadata(pa.schema([("id", pa.int64())]))
    add = table.add_file(pa.table({"id": [1]}), name="f")
    table.commit([add])
    table.commit([table.remove(add)])
    for file in tmp_path.rglob("*.*"):
        place.put(file.relative_to(tmp_path).as_posix(), file.read_bytes())
    place.put("f", (tmp_path / "f").read_bytes())
    place.put("stray", b"1")
    assert vacuum(place.store, 0, later_ms=LATER, full=True) == ["f", "stray"]
    assert vacuum(place.store, 0) == ["f"]
    with pytest.raises(StorageError, match="cannot be written to"):
        vacuum(place.store, 0, dry_run=False)
    assert names(place) == {"f", "stray"}


def test_an_inventory_of_a_bucket(s3_options) -> None:
    from tests.support.stores import BUCKET, open_store, raw_s3

    root = f"s3://{BUCKET}/inventory/t"
    for number in range(2):
        write_deltalake(root, pa.table({"id": [number]}), mode="overwrite", storage_options=s3_options)
    inner = f"{root}/inner"
    write_deltalake(inner, pa.table({"id": [1]}), storage_options=s3_options)
    client = raw_s3(s3_options)
    client.pipe_file(f"{root}/stray", b"1")
    client.pipe_file(f"{inner}/stray", b"1")
    paths = [f"s3a://{path}" for path in client.find(root)]
    count = len(paths)
    given = pa.table(
        {
            "path": paths,
            "length": [1] * count,
            "isDir": [False] * count,
            "modificationTime": pa.array([5] * count, pa.int64()),
        }
    )
    gone = vacuum(open_store(root, s3_options), inventory=given, dry_run=False)
    assert gone == ["stray"]
    assert DeltaTable(root, storage_options=s3_options).to_pyarrow_table().num_rows == 1
    assert len(DeltaTable(inner, storage_options=s3_options).file_uris()) == 1
    assert client.exists(f"{inner}/stray")
