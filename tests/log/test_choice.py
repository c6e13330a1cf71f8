"""Large checkpoints of every kind are asked for the rows that may be files wanted: the files are the same."""

import importlib
import json
import random
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deltaarrow as da
from deltaarrow.errors import CorruptLogError
from deltaarrow.expressions import from_sql
from deltaarrow.log import choice
from deltaarrow.statistics import HeldStatistics
from tests.support.tables import TableBuilder

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("st", pa.struct([("x", pa.float64())])),
        ("p", pa.string()),
    ]
)
KINDS = [
    {"kind": "classic"},
    {"kind": "multipart", "parts": 3},
    {"kind": "v2-parquet", "sidecars": 3},
    {"kind": "v2-json", "sidecars": 2},
    {"kind": "v2-classic"},
]
CONDITIONS = [
    "id = 5",
    "id >= 3 AND id < 7",
    "id > 2",
    "id IN (1, 8)",
    "id IS NULL",
    "id IS NOT NULL AND name = 'n4'",
    "name LIKE 'n%'",
    "at > TIMESTAMP '2024-01-05 00:00:00Z'",
    "st.x < 2.5",
    "p = 'a' AND id = 4",
    "p = 'a'",
    "p = 'b' OR id = 4",
    "id = 4 OR name = 'n7'",
    "NOT (id = 4)",
    "id = 99",
    "id = 5 AND p = 'none'",
]


replay = importlib.import_module("deltaarrow.log.replay")


@pytest.fixture(autouse=True)
def every_checkpoint_is_asked_by_queries(monkeypatch):
    monkeypatch.setattr(replay, "_SMALL_CHECKPOINT", -1)
    monkeypatch.setattr(replay.RecentAnswers, "of", lambda self, question, find: find())


@pytest.fixture
def every_checkpoint_is_large(monkeypatch):
    monkeypatch.setattr(replay, "LARGE_CHECKPOINT", 0)


@pytest.fixture
def reads(monkeypatch):
    """How often statistics of all files of a checkpoint were read."""
    found = []
    read = HeldStatistics._read

    def note_and_read(held, cursor, source, asked):
        if "read_parquet" in source:
            found.append(asked)
        return read(held, cursor, source, asked)

    monkeypatch.setattr(HeldStatistics, "_read", note_and_read)
    return found


def statistics_of(number):
    day = f"2024-01-{number + 1:02}T00:00:00.000Z"
    values = {"id": number, "name": f"n{number}", "at": day, "st": {"x": number / 2}}
    counts = {"id": 0, "name": 0, "at": 0, "st": {"x": 0}}
    return {"numRecords": 1, "minValues": values, "maxValues": values, "nullCount": counts}


def table_of(folder, kind, stats="json", count=12):
    """Files with an `id` each; some without statistics, some removed or added after the checkpoint."""
    table = TableBuilder(folder)
    features = ["v2Checkpoint"] if kind["kind"].startswith("v2") else []
    table.features(*features).metadata(SCHEMA, ["p"])
    adds = [
        table.add_file(1, {"p": "ab"[number % 2]}, name=f"f{number}", stats=statistics_of(number))
        for number in range(count)
    ]
    adds[9] = table.add_file(1, {"p": "a"}, name="none", stats=False)
    nulls = {"numRecords": 1, "nullCount": {"id": 1, "name": 1, "at": 1, "st": {"x": 1}}}
    adds[10] = table.add_file(1, {"p": None}, name="nulls", stats=nulls)
    table.commit(adds)
    table.commit([table.remove(adds[6])])
    table.checkpoint(stats=stats, **kind)
    table.delete_commits(*range(table.version + 1))
    table.commit([table.remove(adds[5])])
    table.commit([table.add_file(1, {"p": "a"}, name="new", stats=statistics_of(4))])
    return table


def paths(snapshot, condition):
    """Sorted, as DuckDB reads several files in any order."""
    return sorted(snapshot.files(from_sql(condition), ["path"]).column("path").to_pylist())


@pytest.mark.parametrize("stats", ["json", "struct", "both"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind["kind"])
def test_files_are_those_that_are_judged_one_by_one(tmp_path, kind, stats, reads, monkeypatch):
    table_of(tmp_path, kind, stats)
    conditions = random.Random(f"{kind} {stats}").sample(CONDITIONS, 7)
    expected = [paths(da.DeltaTable(tmp_path).snapshot, condition) for condition in conditions]
    assert not reads
    monkeypatch.setattr(replay, "LARGE_CHECKPOINT", 0)
    for listed, left in ((256, 1 / 2), (1, 1 / 2), (1, 1)):
        monkeypatch.setattr(choice, "_MOST_LISTED", listed)
        monkeypatch.setattr(choice, "_MOST_LEFT", left)
        snapshot = da.DeltaTable(tmp_path).snapshot
        assert [paths(snapshot, condition) for condition in conditions] == expected
    reads.clear()
    assert [paths(snapshot, condition) for condition in conditions] == expected
    assert not reads, "what was asked for once is held"


TEXTS = st.one_of(
    st.none(),
    st.integers(-3, 9).map(lambda number: json.dumps(statistics_of(max(number, 0)))),
    st.integers(-3, 9).map(lambda number: json.dumps({"minValues": {"id": number}}, indent=1)),
    st.integers(0, 9).map(lambda number: json.dumps({"maxValues": {"id": number}, "numRecords": 2})),
    st.sampled_from(["", "{", "null", "[]", '{"minValues":{"id":"7"},"maxValues":{"id":7.5}}']),
    st.just('{"numRecords":1,"minValues":{"id":9},"maxValues":{"id":9}'),
)


@settings(deadline=None, max_examples=20)
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=9),
    conditions=st.lists(st.sampled_from(CONDITIONS), max_size=5),
)
def test_whatever_the_texts_are(texts, conditions):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        table = TableBuilder(Path(folder)).protocol().metadata(SCHEMA, ["p"])
        stats = [False if text is None else text for text in texts]
        table.commit(
            [table.add_file(1, {"p": "a"}, name=f"f{n}", stats=each) for n, each in enumerate(stats)]
        )
        table.checkpoint()
        expected = [paths(da.DeltaTable(folder).snapshot, condition) for condition in conditions]
        patch.setattr(replay, "LARGE_CHECKPOINT", 0)
        snapshot = da.DeltaTable(folder).snapshot
        assert [paths(snapshot, condition) for condition in conditions] == expected


@pytest.mark.usefixtures("every_checkpoint_is_large")
def test_statistics_are_read_once_for_all_snapshots_of_a_checkpoint(tmp_path, reads):
    table = table_of(tmp_path, {"kind": "classic"})
    opened = da.DeltaTable(tmp_path)
    assert paths(opened.snapshot, "id = 4") == ["f4", "new", "none"]
    table.commit([table.add_file(1, {"p": "a"}, name="newer", stats=statistics_of(8))])
    opened.update_incremental()
    assert paths(opened.snapshot, "id = 8") == ["f8", "newer", "none"]
    assert len(reads) == 1


@pytest.mark.usefixtures("every_checkpoint_is_large")
def test_few_files_of_a_partition_are_judged_by_their_texts(tmp_path, reads):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p"])
    table.commit(
        [table.add_file(1, {"p": str(n)}, name=f"f{n}", stats=statistics_of(n)) for n in range(20)]
    ).checkpoint()
    snapshot = da.DeltaTable(tmp_path).snapshot
    assert paths(snapshot, "p = '7' AND id = 7") == ["f7"]
    assert paths(snapshot, "p = '7' AND id = 8") == []
    assert not reads
    assert paths(snapshot, "id = 8") == ["f8"]
    assert paths(snapshot, "p = '7' AND id = 8") == []
    assert len(reads) == 1


@pytest.mark.usefixtures("every_checkpoint_is_large")
def test_a_broken_part_is_named(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p"])
    table.commit([table.add_file(1, {"p": "a"}, name=f"f{n}", stats=statistics_of(n)) for n in range(9)])
    _, *parts = table.checkpoint(kind="multipart", parts=3)
    snapshot = da.DeltaTable(tmp_path).snapshot
    parts[-1].write_bytes(parts[-1].read_bytes()[:-40] + bytes(40))
    with pytest.raises(CorruptLogError, match=parts[-1].name):
        paths(snapshot, "id = 4")


@pytest.mark.usefixtures("every_checkpoint_is_large")
def test_an_add_without_a_size_is_not_left_out_in_silence(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p"])
    table.commit([table.add_file(1, {"p": "a"}, name=f"f{n}", stats=statistics_of(n)) for n in range(9)])
    (file,) = table.checkpoint()
    rows = pq.read_table(file)
    adds = rows.column("add").to_pylist(maps_as_pydicts="strict")
    adds = [
        add and add | {"size": None, "partitionValues": list(add["partitionValues"].items())} for add in adds
    ]
    place = rows.schema.get_field_index("add")
    pq.write_table(
        rows.set_column(place, rows.schema.field("add"), pa.array(adds, rows.schema.field("add").type)), file
    )
    table.delete_commits(0)
    snapshot = da.DeltaTable(tmp_path).snapshot
    assert paths(snapshot, "id = 4") == ["f4"]
    with pytest.raises(CorruptLogError, match="without a field"):
        snapshot.files(from_sql("id = 4"), ["path", "size"])
