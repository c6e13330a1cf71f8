"""File actions a part at a time are those of a list, and a list that is not whole is refused at its end."""

import json

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable
from deltaarrow.errors import CorruptLogError
from deltaarrow.log import list_segment, replay
from deltaarrow.log.file_sources import list_files, list_tombstones, stream_files
from deltaarrow.log.limits import LogLimits
from deltaarrow.log.removed_files import read_named_files, read_removed_files
from deltaarrow.storage import open_store
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64())])
COLUMNS = ["path", "size", "deletion_vector"]


def table_of(path, kind: str | None) -> TableBuilder:
    """Nine live files, one of them in two forms, and tombstones before and after a checkpoint."""
    table = TableBuilder(path).features("deletionVectors", "v2Checkpoint").metadata(SCHEMA)
    adds = [table.add_file(pa.table({"id": [number, number]}), name=f"f{number}") for number in range(10)]
    table.commit(adds)
    table.commit([table.remove(adds[0])])
    if kind is not None:
        table.checkpoint(kind=kind, **({"sidecars": 2} if kind.startswith("v2") else {}))
    table.commit(table.with_deletion_vector(adds[1], table.deletion_vector([0])))
    return table


def rows(tables) -> list:
    return sorted((row for table in tables for row in table.to_pylist()), key=repr)


@pytest.mark.parametrize("batch", [1, 4, 1 << 15])
@pytest.mark.parametrize("kind", [None, "classic", "v2-json", "v2-parquet"])
def test_the_parts_are_the_list(tmp_path, kind, batch):
    table = table_of(tmp_path, kind)
    store = open_store(table.path)
    state = replay(store, list_segment(store), limits=LogLimits(streamed_rows=batch))
    live = [*stream_files(state, "add", COLUMNS)]
    assert rows(live) == rows([list_files(state, COLUMNS)])
    assert sum(map(len, live)) == 9
    removed = [*stream_files(state, "remove", ["path", "deletion_vector"])]
    assert rows(removed) == rows([list_tombstones(state).select(["path", "deletion_vector"])])
    assert sum(map(len, removed)) == 2
    if kind is None:
        assert max(map(len, [*live, *removed])) <= batch


MISCOUNTED = [({"numFiles": 8}, "8 files"), ({"tableSizeBytes": 1}, "1 bytes")]


@pytest.mark.parametrize(("fields", "what"), MISCOUNTED, ids=["files", "bytes"])
def test_other_totals_than_those_of_the_version_checksum_are_refused(tmp_path, fields, what):
    table = table_of(tmp_path, "classic")
    files = table.live_files(table.version)
    by_key = {key: body for line in table.commits[0] for key, body in line.items()}
    said = {
        "tableSizeBytes": sum(add["size"] for add in files.values()),
        "numFiles": len(files),
        "numMetadata": 1,
        "numProtocol": 1,
        "protocol": by_key["protocol"],
        "metadata": by_key["metaData"],
    }
    (table.log / f"{table.version:020d}.crc").write_text(json.dumps(said | fields))
    store = open_store(table.path)
    with pytest.raises(CorruptLogError, match=f"crc says {what}"):
        list(stream_files(replay(store, list_segment(store)), "add", COLUMNS))
    with pytest.raises(CorruptLogError, match=f"crc says {what}"):
        DeltaTable(tmp_path).vacuum(0, False, False, full=True)
    assert {each.name for each in tmp_path.glob("f*")} == {f"f{number}" for number in range(10)}


def test_the_files_that_commits_name(tmp_path):
    table = table_of(tmp_path, None)
    store = open_store(table.path)
    names = [f"_delta_log/{version:020d}.json" for version in (1, 2)]
    assert read_removed_files(store, names[0])["path"].to_pylist() == ["f0"]
    assert read_removed_files(store, names[1])["path"].to_pylist() == ["f1"]
    named = read_named_files(store, names)
    assert named["action"].to_pylist() == ["remove", "remove", "add"]
    assert [vector is None for vector in named["deletion_vector"].to_pylist()] == [True, True, False]
    with pytest.raises(CorruptLogError, match="cleaned up meanwhile"):
        read_removed_files(store, f"_delta_log/{7:020d}.json")
