"""Listing a store folder by folder, and deleting many files of it."""

import os

import pytest

from deltaarrow.errors import StorageError
from deltaarrow.storage import FolderListing, LocalStore, open_store
from deltaarrow.storage.s3.writing import delete_objects
from tests.support.stores import Place

FILES = ["a.parquet", "p=1/b.parquet", "p=1/q=x y%3A/c.parquet", "p=1/q=x y%3A/d", "_delta_log/0.json"]


def walked(store) -> dict[str, FolderListing]:
    found = {}
    for listing in store.walk():
        assert listing.folder.rpartition("/")[0] in ("", *found), "a folder comes after the one it is in"
        found[listing.folder] = listing
    return found


def put_all(place: Place) -> None:
    for name in FILES:
        place.put(name, b"x" * len(name))


def test_walking_finds_all_that_a_recursive_listing_does(place: Place) -> None:
    put_all(place)
    found = walked(place.store)
    assert set(found) == {"", "p=1", "p=1/q=x y%3A", "_delta_log"}
    assert sorted(found[""].folders) == ["_delta_log", "p=1"]
    names = [f"{folder}/{base}".lstrip("/") for folder, each in found.items() for base in each.files]
    assert sorted(names) == sorted(FILES) == sorted(e.name for e in place.store.list_recursive())


def test_statuses_are_those_of_a_listing(place: Place) -> None:
    put_all(place)
    entries = {entry.name: entry for entry in place.store.list_recursive()}
    for name, status in zip(FILES, place.store.statuses(FILES), strict=True):
        listed = entries[name].modified_ms
        # The header of a single object has whole seconds, and the listings of some servers have more.
        assert (status.size, status.modified_ms) in {
            (len(name), ms) for ms in (listed, listed // 1000 * 1000)
        }
    for listing in place.store.walk():
        if listing.statuses is not None:
            assert [status.size for status in listing.statuses] == [
                len(f"{listing.folder}/{base}".lstrip("/")) for base in listing.files
            ]
    assert place.store.statuses(["nothing"]) == [None]


def test_a_folder_that_is_taken_out_of_the_list_is_not_entered(place: Place) -> None:
    put_all(place)
    entered = []
    for listing in place.store.walk():
        entered.append(listing.folder)
        listing.folders[:] = [base for base in listing.folders if base != "p=1"]
    assert sorted(entered) == ["", "_delta_log"]


def test_one_folder_is_listed_as_a_walk_finds_it(place: Place) -> None:
    put_all(place)
    for folder, walked_to in walked(place.store).items():
        listing = place.store.list_folder(folder)
        assert listing.folder == folder
        assert sorted(listing.files) == sorted(walked_to.files)
        assert sorted(listing.folders) == sorted(walked_to.folders)
        assert (listing.statuses is None) == (walked_to.statuses is None)
        if listing.statuses is not None:
            assert dict(zip(listing.files, listing.statuses, strict=True)) == dict(
                zip(walked_to.files, walked_to.statuses, strict=True)
            )


def test_a_walk_begins_where_it_is_told_to(place: Place) -> None:
    put_all(place)
    found = {listing.folder: listing for listing in place.store.walk("p=1")}
    assert found.keys() == {"p=1", "p=1/q=x y%3A"}
    assert found["p=1"].files == ["b.parquet"]
    assert [each for each in place.store.walk("p=2") if each.files or each.folders] == []


def test_nothing_is_walked_where_nothing_is(place: Place) -> None:
    assert [listing for listing in place.store.walk() if listing.files or listing.folders] == []


def test_many_files_are_deleted_and_absent_ones_do_not_matter(writable_place: Place) -> None:
    put_all(writable_place)
    writable_place.put("p=1/b?parquet", b"a pattern would match another file")
    gone = ["p=1/b?parquet", "p=1/q=x y%3A/c.parquet", "absent"]
    assert writable_place.store.delete_all(gone) == {}
    left = sorted(entry.name for entry in writable_place.store.list_recursive())
    assert left == sorted(set(FILES) - set(gone))
    assert writable_place.store.delete_all([]) == {}


def test_a_store_that_is_only_read_deletes_nothing(place: Place) -> None:
    if not place.store.can_put_if_absent:
        place.put("f", b"")
        with pytest.raises(StorageError, match="read-only"):
            place.store.delete_all(["f"])
        assert place.store.exists("f")


def test_s3_deletes_a_thousand_objects_with_a_request_and_names_those_it_keeps() -> None:
    class Server:
        def __init__(self):
            self.req_kw = {}
            self.requests = []

        def split_path(self, path):
            bucket, _, key = path.partition("/")
            return bucket, key, None

        def call_s3(self, method, **request):
            assert (method, request["Bucket"]) == ("delete_objects", "b")
            keys = [each["Key"] for each in request["Delete"]["Objects"]]
            self.requests.append(len(keys))
            denied = [
                {"Key": key, "Code": "AccessDenied", "Message": "no"} for key in keys if key == "t/1500"
            ]
            return {"Errors": denied} if denied else {}

    server = Server()
    failures = delete_objects(server, [f"b/t/{number}" for number in range(2001)])
    assert failures == {"b/t/1500": "AccessDenied: no"}
    assert server.requests == [1000, 1000, 1]


def test_a_folder_has_the_name_by_which_it_is_listed(place: Place) -> None:
    put_all(place)
    store = place.store
    assert store.real_folder("") == store.real_folder(store.uri) == ""
    assert store.real_folder("p=1") == store.real_folder(store.location("p=1")) == "p=1"
    assert store.real_folder("p=1/../p=2") == "p=2"
    assert store.real_folder(f"{store.uri}-elsewhere/p=1") is None
    assert store.real_folder("../p=1") is None
    assert store.real_folder("other://bucket/t") is None


# --- the local file system --------------------------------------------------------------------------


def test_links_to_folders_are_not_entered_and_links_to_files_are_files(tmp_path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "f").write_text("1")
    root = tmp_path / "t"
    root.mkdir()
    (root / "folder").symlink_to(tmp_path / "elsewhere")
    (root / "file").symlink_to(tmp_path / "elsewhere" / "f")
    (root / "broken").symlink_to(tmp_path / "nothing")
    os.mkfifo(root / "pipe")
    (listing,) = LocalStore(str(root)).walk()
    assert sorted(listing.files) == sorted(listing.links) == ["broken", "file"]
    assert sorted(listing.others) == ["folder", "pipe"]
    file, broken = LocalStore(str(root)).statuses(["file", "broken"])
    there = (tmp_path / "elsewhere" / "f").stat()
    assert file.identity == (there.st_dev, there.st_ino)
    assert broken is not None
    assert LocalStore(str(root)).delete_all(["file"]) == {}
    assert (tmp_path / "elsewhere" / "f").exists()


def test_links_to_a_folder_are_resolved(tmp_path) -> None:
    (tmp_path / "t" / "real").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "t" / "inside").symlink_to(tmp_path / "t" / "real")
    (tmp_path / "t" / "outside").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "link").symlink_to(tmp_path / "t")
    for root in ("t", "link"):
        store = open_store(tmp_path / root)
        assert store.real_folder("inside/x") == "real/x"
        assert store.real_folder("outside/x") is None
        assert store.real_folder(str(tmp_path / "t" / "real")) == "real"
        assert store.real_folder(str(tmp_path / "link" / "real")) == "real"


def test_only_an_empty_folder_is_deleted(tmp_path) -> None:
    store = open_store(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "f").write_text("1")
    (tmp_path / "empty").mkdir()
    assert not store.delete_folder("full")
    assert store.delete_folder("empty")
    assert not store.delete_folder("empty")
    assert not store.delete_folder("full/f")
    assert os.listdir(tmp_path) == ["full"]


def test_a_file_that_cannot_be_deleted_is_told_and_the_rest_goes(tmp_path) -> None:
    store = open_store(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "f").write_text("1")
    failures = store.delete_all(["folder", "f"])
    assert list(failures) == ["folder"]
    assert not (tmp_path / "f").exists()
