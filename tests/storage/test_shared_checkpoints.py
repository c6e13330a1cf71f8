"""A checkpoint on an object store is opened once for all readers of a plan, and anew once it is replaced."""

import io
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow.live_files.checkpoint_source import CheckpointRows
from deltaarrow.log.limits import LogLimits
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from deltaarrow.storage.open_objects import open_object_at
from tests.support.conditions import predicate_of
from tests.support.stores import Place
from tests.support.tables import TableBuilder

FILES = 3000
CHECKPOINT = "_delta_log/00000000000000000000.checkpoint.parquet"
CONDITIONS = {"p = 'b'": range(1, FILES, 3), "id = 4": [4], "p = 'c' AND id < 6": [2, 5]}
in_clouds = pytest.mark.parametrize("place", ["s3", "gs", "azure"], indirect=True)


def paths(snapshot: Snapshot, condition: str) -> list[str]:
    found = snapshot.files(predicate_of(condition, snapshot.schema), ["path"])
    return sorted(found.column("path").to_pylist())


def names(numbers) -> list[str]:
    return sorted(f"f{number}.parquet" for number in numbers)


def written_again(data: bytes) -> bytes:
    """The same actions in another order, with another footer."""
    table = pq.read_table(pa.BufferReader(data))
    order = random.Random(3).sample(range(len(table)), len(table))
    sink = io.BytesIO()
    pq.write_table(table.take(pa.array(order)), sink, row_group_size=700)
    return sink.getvalue()


@pytest.fixture(scope="module")
def log(tmp_path_factory) -> dict[str, bytes]:
    """A log of a checkpoint, which is larger than what is read whole."""
    folder = tmp_path_factory.mktemp("table")
    table = TableBuilder(folder).protocol()
    table.metadata(pa.schema([("id", pa.int64()), ("p", pa.string())]), ["p"])
    noise = random.Random(5)
    adds = []
    for number in range(FILES):
        values = {"id": number, "noise": noise.randbytes(80).hex()}
        stats = {"numRecords": 1, "minValues": values, "maxValues": values, "nullCount": {"id": 0}}
        adds.append(table.add_file(1, {"p": "abc"[number % 3]}, name=f"f{number}.parquet", stats=stats))
    table.commit(adds)
    table.checkpoint()
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("_delta_log/*")}
    assert len(found[CHECKPOINT]) > 512 << 10
    return found


@pytest.fixture
def snapshot(place: Place, log: dict[str, bytes]) -> Snapshot:
    for name, data in log.items():
        place.put(name, data)
    return Snapshot.load(place.store, limits=LogLimits(replayed_bytes=-1, listed_bytes=-1))


@in_clouds
def test_a_plan_asks_only_for_the_columns_that_it_needs(place: Place, snapshot: Snapshot) -> None:
    before = place.store.io_stats()
    assert paths(snapshot, "p = 'b'") == names(range(1, FILES, 3))
    asked = place.store.io_stats() - before
    # Whether the file is still the same, before and after; partition values; paths, by at most three ranges.
    assert (asked.heads, asked.lists) == (2, 0)
    assert asked.gets <= 4


@in_clouds
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_checkpoint_replaced_between_plans_is_opened_anew(
    place: Place, snapshot: Snapshot, log: dict[str, bytes], condition: str
) -> None:
    assert paths(snapshot, "p = 'a'") == names(range(0, FILES, 3))
    place.put(CHECKPOINT, written_again(log[CHECKPOINT]))
    assert paths(snapshot, condition) == names(CONDITIONS[condition])


@in_clouds
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_checkpoint_replaced_within_a_plan_is_read_once_more(
    place: Place, snapshot: Snapshot, log: dict[str, bytes], condition: str, monkeypatch
) -> None:
    read, found = CheckpointRows.table, []

    def replace_after_reading(*given):
        found.append(read(*given))
        if len(found) == 1:
            place.put(CHECKPOINT, written_again(log[CHECKPOINT]))
        return found[-1]

    monkeypatch.setattr(CheckpointRows, "table", replace_after_reading)
    assert paths(snapshot, condition) == names(CONDITIONS[condition])
    assert len(found) == 2


@pytest.mark.parametrize("tag", ["", None])
def test_a_file_without_a_tag_is_told_from_another_by_its_time(monkeypatch, tag: str | None) -> None:
    store = open_store("memory://shared-checkpoints/t")
    found = []
    for seconds in (1, 2):
        info = {"name": "f", "size": 3, "type": "file", "ETag": tag, "mtime": seconds}
        monkeypatch.setattr(type(store), "_info", lambda self, name, info=info: info)
        found.append(store.identity("f"))
    assert found == [(3, "1"), (3, "2")]


@pytest.mark.parametrize("place", ["s3"], indirect=True)
def test_only_its_holder_knows_the_address_of_an_open_file(place: Place, log: dict[str, bytes]) -> None:
    place.put(CHECKPOINT, log[CHECKPOINT])
    opened = place.store.open_file(CHECKPOINT)
    assert opened is not None
    assert opened.identity == place.store.identity(CHECKPOINT)
    assert open_object_at(opened.address) is opened
    address = opened.address
    assert place.store.open_file(CHECKPOINT) is opened
    place.put(CHECKPOINT, written_again(log[CHECKPOINT]))
    replaced = place.store.open_file(CHECKPOINT)
    assert replaced is not None
    assert replaced.address != address
    del opened
    assert open_object_at(address) is None
