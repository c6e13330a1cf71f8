"""Conditions on partition columns are asked of the texts of a large checkpoint: the files are the same."""

import importlib
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deltaarrow as da
from deltaarrow.expressions import from_sql
from tests.support.tables import TableBuilder

replay = importlib.import_module("deltaarrow.log.replay")
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


def table_of(folder, values, schema=SCHEMA):
    table = TableBuilder(folder)
    table.protocol().metadata(schema, partition_columns=[n for n in schema.names if n != "id"])
    stats = {"numRecords": 1, "minValues": {"id": 5}, "maxValues": {"id": 9}, "nullCount": {"id": 0}}
    table.commit([table.add_file(1, each, stats=stats) for each in values])
    table.checkpoint()
    table.commit([table.add_file(1, values[0], stats=stats)])
    return table


def paths(folder, condition):
    return da.DeltaTable(folder).snapshot.files(from_sql(condition), ["path"]).column("path").to_pylist()


def rows(optional):
    some = (lambda each: st.none() | each) if optional else (lambda each: each)
    row = st.fixed_dictionaries({"day": some(DAYS), "kind": some(KINDS), "number": some(NUMBERS)})
    return st.lists(row, min_size=1, max_size=12)


@settings(deadline=None, max_examples=30)
@given(
    values=st.one_of(rows(optional=False), rows(optional=True)), conditions=st.lists(CONDITIONS, max_size=4)
)
def test_files_are_those_that_are_judged_one_by_one(values, conditions):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        table_of(Path(folder), values)
        expected = [paths(folder, condition) for condition in conditions]
        patch.setattr(replay, "_LARGE_CHECKPOINT", 0)
        for listed in (256, 1):
            patch.setattr(texts, "_MOST_LISTED", listed)
            assert [paths(folder, condition) for condition in conditions] == expected


def test_texts_are_found_once_for_all_snapshots_of_a_checkpoint(tmp_path, monkeypatch):
    table = table_of(tmp_path, [{"day": "2024-01-01", "kind": "a", "number": "1"}])
    monkeypatch.setattr(replay, "_LARGE_CHECKPOINT", 0)
    found = []
    distinct = texts._distinct
    monkeypatch.setattr(texts, "_distinct", lambda *given: found.append(given[-1]) or distinct(*given))
    opened = da.DeltaTable(tmp_path)
    for condition in ("kind = 'a'", "kind = 'b'", "kind = 'a' AND day IS NOT NULL"):
        opened.snapshot.files(from_sql(condition))
    table.commit([table.add_file(1, {"day": None, "kind": None, "number": None})])
    opened.update_incremental()
    assert opened.snapshot.files(from_sql("kind = 'b'"), ["path"]).num_rows == 0
    assert found == ["kind", "day"]


def test_too_many_texts_are_not_held(tmp_path, monkeypatch):
    values = [{"day": "2024-01-01", "kind": str(number), "number": "1"} for number in range(5)]
    table_of(tmp_path, values)
    monkeypatch.setattr(replay, "_LARGE_CHECKPOINT", 0)
    monkeypatch.setattr(texts, "_MOST_TEXTS", 4)
    opened = da.DeltaTable(tmp_path)
    assert opened.snapshot.files(from_sql("kind = '3'"), ["path"]).num_rows == 1
    (held,) = opened.snapshot._state._head.partition_texts.values()
    assert held._found == {"kind": None}
