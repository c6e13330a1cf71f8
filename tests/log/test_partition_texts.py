"""Conditions on partition columns are asked of the texts of a large checkpoint: the files are the same."""

import importlib
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deltaarrow as da
from deltaarrow.expressions import from_sql
from tests.support.tables import TableBuilder

replay = importlib.import_module("deltaarrow.log.replay")
choice = importlib.import_module("deltaarrow.log.choice")
texts = importlib.import_module("deltaarrow.log.partition_texts")

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("kind", pa.string()), ("number", pa.int64())])
DAYS = st.sampled_from(["2024-01-01", "2024-01-02", "2024-1-3", "1999-12-31", "nonsense"])
KINDS = st.sampled_from(["a", "it's", "é", "Z", "%41", " a"])
NUMBERS = st.sampled_from(["1", "02", "-5", "1e3", "9999999999999999999"])
CONDITIONS = st.sampled_from(
    [
        "day = DATE '2024-01-01'",
        "day > DATE '2024-01-01'",
        "day BETWEEN DATE '2000-01-01' AND DATE '2024-01-03'",
        "day <> DATE '2024-01-02' AND kind = 'a'",
        "day IS NULL",
        "day IS NOT NULL AND kind IS NOT NULL",
        "kind IN ('it''s', 'é', 'none such')",
        "kind LIKE 'a%'",
        "NOT (kind = 'a')",
        "kind > 'Z' OR day = DATE '1999-12-31'",
        "number = 2 AND kind <> 'Z'",
        "number IS NULL AND day IS NOT NULL",
        "number < 0 AND id > 7",
        "kind = 'none such'",
    ]
)


@pytest.fixture(autouse=True)
def every_checkpoint_is_asked_by_queries(monkeypatch):
    monkeypatch.setattr(replay, "_SMALL_CHECKPOINT", -1)


KINDS_OF_CHECKPOINTS = st.sampled_from(
    [
        {"kind": "classic"},
        {"kind": "multipart", "parts": 3},
        {"kind": "v2-parquet", "sidecars": 2},
        {"kind": "v2-json", "sidecars": 2},
    ]
)


def table_of(folder, values, schema=SCHEMA, **kind):
    """Some files are removed before the checkpoint and some after it."""
    table = TableBuilder(folder)
    table.features(*["v2Checkpoint"] * kind.get("kind", "").startswith("v2"))
    table.metadata(schema, partition_columns=[n for n in schema.names if n != "id"])
    stats = {"numRecords": 1, "minValues": {"id": 5}, "maxValues": {"id": 9}, "nullCount": {"id": 0}}
    adds = [table.add_file(1, each, name=f"f{n}", stats=stats) for n, each in enumerate(values)]
    table.commit(adds)
    table.commit([table.remove(add) for add in adds[4:6]])
    table.checkpoint(**kind)
    table.commit([table.add_file(1, values[0], stats=stats), *[table.remove(add) for add in adds[1:3]]])
    return table


def paths(snapshot, condition):
    """Sorted, as DuckDB reads several files in any order."""
    return sorted(snapshot.files(from_sql(condition), ["path"]).column("path").to_pylist())


def rows(optional):
    values = {"day": DAYS, "kind": KINDS, "number": NUMBERS}
    if not optional:
        return st.lists(st.fixed_dictionaries(values), min_size=1, max_size=12)
    some = {name: st.none() | each for name, each in values.items()}
    return st.lists(
        st.one_of(st.fixed_dictionaries(some), st.fixed_dictionaries({}, optional=some)),
        min_size=1,
        max_size=12,
    )


@settings(deadline=None, max_examples=20)
@given(
    values=st.one_of(rows(optional=False), rows(optional=True)),
    conditions=st.lists(CONDITIONS, max_size=4),
    kind=KINDS_OF_CHECKPOINTS,
)
def test_files_are_those_that_are_judged_one_by_one(values, conditions, kind):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        table_of(Path(folder), values, **kind)
        snapshot = da.DeltaTable(folder).snapshot
        expected = [paths(snapshot, condition) for condition in conditions]
        patch.setattr(replay, "LARGE_CHECKPOINT", 0)
        for listed, most in ((256, 10_000), (1, 10_000), (1, 3)):
            patch.setattr(choice, "_MOST_LISTED", listed)
            patch.setattr(texts, "MOST_TEXTS", most)
            patch.setattr(texts, "_ROWS_AT_ONCE", listed)
            snapshot = da.DeltaTable(folder).snapshot
            assert [paths(snapshot, condition) for condition in conditions] == expected


def test_texts_are_found_once_for_all_snapshots_of_a_checkpoint(tmp_path, monkeypatch):
    table = table_of(tmp_path, [{"day": "2024-01-01", "kind": "a", "number": "1"}])
    monkeypatch.setattr(replay, "LARGE_CHECKPOINT", 0)
    found = []
    read = texts.PartitionTexts._read
    monkeypatch.setattr(
        texts.PartitionTexts, "_read", lambda self, names: found.append(names) or read(self, names)
    )
    opened = da.DeltaTable(tmp_path)
    for condition in ("kind = 'a'", "kind = 'b'", "kind = 'a' AND day IS NOT NULL"):
        opened.snapshot.files(from_sql(condition))
    table.commit([table.add_file(1, {"day": None, "kind": None, "number": None})])
    opened.update_incremental()
    assert opened.snapshot.files(from_sql("kind = 'b'"), ["path"]).num_rows == 0
    assert found == [["kind"], ["day"]]


def held(snapshot):
    (found,) = snapshot._state._head.held.values()
    return found.texts._held


def test_too_many_texts_are_not_held(tmp_path, monkeypatch):
    values = [{"day": "2024-01-01", "kind": str(number), "number": "1"} for number in range(8)]
    table_of(tmp_path, values)
    monkeypatch.setattr(replay, "LARGE_CHECKPOINT", 0)
    monkeypatch.setattr(texts, "MOST_TEXTS", 4)
    opened = da.DeltaTable(tmp_path)
    assert paths(opened.snapshot, "kind = '3' AND day IS NOT NULL") == ["f3"]
    assert held(opened.snapshot)["kind"] is None
    assert held(opened.snapshot)["day"] is not None


def test_two_bytes_are_held_of_a_file(tmp_path, monkeypatch):
    table_of(tmp_path, [{"day": "2024-01-01", "kind": "a", "number": "1"}] * 9)
    monkeypatch.setattr(replay, "LARGE_CHECKPOINT", 0)
    snapshot = da.DeltaTable(tmp_path).snapshot
    paths(snapshot, "day = DATE '2024-01-01'")
    assert held(snapshot)["day"].numbers.dtype == "uint16"
    assert held(snapshot)["day"].texts == ["2024-01-01"]


def test_a_text_that_is_there_twice_is_left_to_the_query(tmp_path, monkeypatch):
    table = table_of(tmp_path, [{"day": "2024-01-01", "kind": kind, "number": "1"} for kind in "abcdefg"])
    (file,) = tmp_path.glob("_delta_log/*.checkpoint.parquet")
    rows = pq.read_table(file)
    field = rows.schema.field("add")
    adds = rows.column("add").to_pylist()
    for add in adds:
        if add is not None:
            add["partitionValues"] = [*add["partitionValues"], ("kind", "a")]
    place = rows.schema.get_field_index("add")
    pq.write_table(rows.set_column(place, field, pa.array(adds, field.type)), file)
    table.delete_commits(0, 1)
    expected = paths(da.DeltaTable(tmp_path).snapshot, "kind = 'd'")
    monkeypatch.setattr(replay, "LARGE_CHECKPOINT", 0)
    snapshot = da.DeltaTable(tmp_path).snapshot
    assert paths(snapshot, "kind = 'd'") == expected
    assert held(snapshot) == {"kind": None}
