"""The contract of every store: one suite that all of them pass."""

import io
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow.errors import StorageError
from deltaarrow.storage import FileEntry, open_store
from tests.support.stores import Place, fork


def names(entries) -> list[str]:
    return [entry.name for entry in entries]


def test_the_root_has_no_slash_at_its_end(place: Place) -> None:
    assert not place.store.uri.endswith("/")
    again = open_store(place.store.uri + "/", place.store.storage_options)
    assert again.uri == place.store.uri
    assert again == place.store
    assert hash(again) == hash(place.store)


def test_a_missing_folder_is_empty(place: Place) -> None:
    assert place.store.list_from("_delta_log") == []
    assert list(place.store.list_recursive()) == []


def test_a_file_where_a_folder_is_asked_for_is_no_folder(place: Place) -> None:
    place.put("f", b"1")
    assert place.store.list_from("f") == []
    assert place.store.list_from("f/_delta_log") == []
    assert list(place.store.list_recursive("f")) == []
    assert not place.store.exists("f/_delta_log")
    with pytest.raises(FileNotFoundError):
        place.store.read("f/x")


def test_list_from_is_sorted_and_begins_at_start(place: Place) -> None:
    for version in (10, 0, 9, 2):
        place.put(f"_delta_log/{version:020}.json", b"x" * version)
    place.put("_delta_log/_sidecars/deep.parquet", b"not listed")
    place.put("_delta_log/_last_checkpoint", b"{}")
    place.put("elsewhere.json", b"")
    commits = [f"_delta_log/{version:020}.json" for version in (0, 2, 9, 10)]
    assert names(place.store.list_from("_delta_log")) == [*commits, "_delta_log/_last_checkpoint"]
    assert names(place.store.list_from("_delta_log/")) == [*commits, "_delta_log/_last_checkpoint"]
    assert names(place.store.list_from("_delta_log", f"{2:020}.json"))[:3] == commits[1:]
    assert names(place.store.list_from("_delta_log", f"{3:020}"))[:2] == commits[2:]
    assert names(place.store.list_from("_delta_log", "_last_checkpoint")) == ["_delta_log/_last_checkpoint"]
    assert place.store.list_from("_delta_log", "z") == []
    assert [entry.size for entry in place.store.list_from("_delta_log")] == [0, 2, 9, 10, 2]
    assert names(place.store.list_from("")) == ["elsewhere.json"]


def test_list_from_is_in_the_order_of_code_points(place: Place) -> None:
    listed = ["A", "Z", "_", "a", "ä", "\ufffd", "\U0001f600"]
    for name in reversed(listed):
        place.put(f"d/{name}", b"")
    assert names(place.store.list_from("d")) == [f"d/{name}" for name in listed]
    assert names(place.store.list_from("d", "ä")) == ["d/ä", "d/\ufffd", "d/\U0001f600"]


def test_a_listing_tells_when_files_were_modified(place: Place) -> None:
    before = time.time_ns() // 1_000_000
    place.put("d/f", b"1")
    after = time.time_ns() // 1_000_000
    [entry] = place.store.list_from("d")
    assert entry == FileEntry("d/f", 1, entry.modified_ms)
    # Coarse clocks: the kernel's ticks, and seconds on S3.
    assert before - 1_100 <= entry.modified_ms <= after + 10
    assert list(place.store.list_recursive()) == [entry]


def test_listings_are_never_stale(place: Place) -> None:
    for version in range(3):
        place.put(f"_delta_log/{version}.json", b"{}")
        assert len(place.store.list_from("_delta_log")) == version + 1
        assert len(list(place.store.list_recursive())) == version + 1
        assert place.store.exists(f"_delta_log/{version}.json")
        assert not place.store.exists(f"_delta_log/{version + 1}.json")


def test_list_recursive_finds_all_below(place: Place) -> None:
    files = ["a.parquet", "p=1/b.parquet", "p=1/q=x y%3A/c.parquet", "_delta_log/0.json"]
    for name in files:
        place.put(name, b"1")
    assert sorted(names(place.store.list_recursive())) == sorted(files)
    assert sorted(names(place.store.list_recursive("p=1"))) == sorted(files[1:3])
    assert sorted(names(place.store.list_recursive("p=1/"))) == sorted(files[1:3])


def test_read_and_size(place: Place) -> None:
    data = bytes(range(256)) * 40
    place.put("d/f", data)
    place.put("d/empty", b"")
    assert place.store.read("d/f") == data
    assert place.store.size("d/f") == len(data)
    assert place.store.read("d/empty") == b""
    assert place.store.size("d/empty") == 0
    assert place.store.exists("d/empty")


@pytest.mark.parametrize(
    ("offset", "length", "found"),
    [(0, 4, b"0123"), (3, 3, b"345"), (8, 5, b"89"), (9, 1, b"9"), (10, 5, b""), (99, 5, b""), (4, 0, b"")],
)
def test_read_range(place: Place, offset: int, length: int, found: bytes) -> None:
    place.put("f", b"0123456789")
    assert place.store.read_range("f", offset, length) == found


@pytest.mark.parametrize(("offset", "length"), [(-1, 2), (0, -1)])
def test_a_range_out_of_a_corrupt_log_is_refused(place: Place, offset: int, length: int) -> None:
    place.put("f", b"0123456789")
    with pytest.raises(StorageError, match="no such range of 'f'"):
        place.store.read_range("f", offset, length)


def test_a_file_that_is_replaced_has_another_identity(place: Place) -> None:
    place.put("f", b"12")
    place.put("g", b"12")
    before = place.store.identity("f")
    assert before is not None
    assert place.store.identity("f") == before
    place.put("g", b"34")
    assert place.store.identity("f") == before
    time.sleep(0.02)  # The clock of a file system may stand still for some milliseconds.
    place.put("f", b"21")
    assert place.store.identity("f") != before
    with pytest.raises(FileNotFoundError):
        place.store.identity("absent")


def test_absent_files(place: Place) -> None:
    place.put("d/f", b"1")
    for name in ("nothing", "d/nothing", "nothing/f", "d"):
        assert not place.store.exists(name)
        with pytest.raises(FileNotFoundError):
            place.store.size(name)
    for name in ("nothing", "d/nothing", "nothing/f"):
        with pytest.raises(FileNotFoundError):
            place.store.read(name)
        with pytest.raises(FileNotFoundError):
            place.store.read_range(name, 0, 1)
        with pytest.raises(FileNotFoundError):
            place.store.read_range(name, 0, 0)


@pytest.mark.parametrize(
    "name", ["p=a b%3A%2F/é ü.bin", "p=a+b&c=d/#~.bin", "x[1]*?{a}.bin", "100%.bin", "a:b"]
)
def test_names_are_taken_literally(place: Place, name: str) -> None:
    place.put(name, b"1")
    assert place.store.read(name) == b"1"
    assert place.store.size(name) == 1
    assert names(place.store.list_recursive()) == [name]
    folder, _, base = name.rpartition("/")
    assert names(place.store.list_from(folder, base)) == [name]
    assert place.store.read(place.store.location(name)) == b"1"
    assert place.store.location(place.store.location(name)) == place.store.location(name)


def test_an_absolute_name_reaches_another_folder_of_the_file_system(place: Place) -> None:
    place.put("source/f", b"1")
    source = place.store.location("source/f")
    clone = open_store(place.store.location("clone"), place.store.storage_options)
    assert clone.read(source) == b"1"
    assert clone.location(source) == source


@pytest.mark.parametrize("name", ["../f", "d/../../f", "..", "a/b/../../../t/f"])
def test_a_relative_name_does_not_leave_the_root(place: Place, name: str) -> None:
    for use in (
        place.store.read,
        place.store.size,
        place.store.exists,
        place.store.location,
        place.store.list_from,
        place.store.arrow_path,
        lambda name: place.store.read_range(name, 0, 1),
        lambda name: list(place.store.list_recursive(name)),
    ):
        with pytest.raises(StorageError, match="leaves the folder of the table"):
            use(name)


def test_dots_within_the_root_are_resolved(place: Place) -> None:
    place.put("f", b"1")
    place.put("a..b/..c", b"2")
    assert place.store.read("d/../f") == b"1"
    assert place.store.read("a..b/..c") == b"2"


@pytest.mark.parametrize("name", ["oss://bucket/f", "file://host/f", "hdfs://host:1/f"])
def test_a_name_on_another_file_system_is_refused(place: Place, name: str) -> None:
    with pytest.raises(StorageError, match="file system"):
        place.store.read(name)


def test_a_name_with_nul_is_refused(place: Place) -> None:
    for name in ("a\0b", place.store.uri + "/a\0b"):
        with pytest.raises(StorageError, match="NUL"):
            place.store.read(name)


def test_arrow_reads_the_files(place: Place) -> None:
    sink = io.BytesIO()
    table = pa.table({"a": pa.array(range(1000))})
    pq.write_table(table, sink, row_group_size=100)
    place.put("p=x y%3A/f.parquet", sink.getvalue())
    path = place.store.arrow_path("p=x y%3A/f.parquet")
    assert pq.read_table(path, filesystem=place.store.arrow_filesystem(), partitioning=None) == table


def test_a_store_pickles(place: Place) -> None:
    place.put("f", b"1")
    copy = pickle.loads(pickle.dumps(place.store))
    assert copy == place.store
    assert copy.storage_options == place.store.storage_options
    assert copy.read("f") == b"1"


def test_a_store_works_after_a_fork(place: Place) -> None:
    place.put("d/f", b"1")
    assert place.store.read("d/f") == b"1"
    found = fork(lambda: (place.store.read("d/f"), names(place.store.list_from("d"))))
    assert found == (b"1", ["d/f"])
    assert place.store.read("d/f") == b"1"


def test_a_store_works_in_threads(place: Place) -> None:
    for number in range(8):
        place.put(f"d/{number}", bytes([number]) * 1000)
    with ThreadPoolExecutor(8) as pool:
        read = list(pool.map(lambda number: place.store.read(f"d/{number % 8}"), range(32)))
    assert read == [bytes([number % 8]) * 1000 for number in range(32)]


def test_the_options_are_not_shown(place: Place) -> None:
    assert repr(place.store).endswith(f"Store({place.store.uri!r})")
