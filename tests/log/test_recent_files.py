"""Conditions on partition columns are asked of the texts of many commits: the files are the same."""

import importlib
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deltaarrow as da
from deltaarrow.errors import CorruptLogError
from deltaarrow.expressions import from_sql
from tests.support.tables import TableBuilder

recent_files = importlib.import_module("deltaarrow.log.recent_files")
replay = importlib.import_module("deltaarrow.log.replay")

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("kind", pa.string())])
CONDITIONS = st.sampled_from(
    [
        "day = DATE '2024-01-01'",
        "day <> DATE '2024-01-02' AND kind = 'a'",
        "day IS NULL",
        "kind IN ('it''s', 'none such')",
        "NOT (kind = 'a')",
        "kind > 'Z' OR day = DATE '1999-12-31'",
        "kind = 'a' AND id > 7",
        "kind = 'a' AND id > 70",
        "kind = 'none such'",
        "id > 70",
    ]
)
VALUES = {
    "day": st.none() | st.sampled_from(["2024-01-01", "2024-01-02", "2024-1-3", "nonsense"]),
    "kind": st.none() | st.sampled_from(["a", "it's", "Z", " a", ""]),
}
ROWS = st.lists(st.fixed_dictionaries({}, optional=VALUES), min_size=5, max_size=12)
STATISTICS = {"numRecords": 1, "minValues": {"id": 5}, "maxValues": {"id": 9}, "nullCount": {"id": 0}}


def files(snapshot, condition):
    names = ["path", "size", "partition_values"]
    return snapshot.files(from_sql(condition), names).to_pylist()


@settings(deadline=None, max_examples=25)
@given(
    values=ROWS,
    conditions=st.lists(CONDITIONS, max_size=4),
    has_checkpoint=st.booleans(),
    most=st.sampled_from([10_000, 2]),
)
def test_files_are_those_that_are_judged_one_by_one(values, conditions, has_checkpoint, most):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        table = TableBuilder(Path(folder)).protocol().metadata(SCHEMA, ["day", "kind"])
        adds = [table.add_file(1, each, name=f"f{n}", stats=STATISTICS) for n, each in enumerate(values)]
        table.commit(adds[:3])
        if has_checkpoint:
            table.checkpoint()
        table.commit([table.remove(adds[0])])
        table.commit([adds[0], *adds[3:]])
        table.commit([table.remove(adds[4])])
        patch.setattr(replay, "_SMALL_CHECKPOINT", -1)
        snapshot = da.DeltaTable(folder).snapshot
        expected = [files(snapshot, condition) for condition in conditions]
        patch.setattr(replay, "_MANY_ADDS", 0)
        patch.setattr(recent_files, "MOST_TEXTS", most)
        for large in (1 << 20, 0):
            patch.setattr(replay, "LARGE_CHECKPOINT", large)
            snapshot = da.DeltaTable(folder).snapshot
            found = [files(snapshot, condition) for condition in conditions]
            assert found == expected if large else sorted(map(repr, found)) == sorted(map(repr, expected))


@pytest.mark.parametrize(
    ("member", "value", "message"),
    [
        ("size", None, "no size"),
        ("partitionValues", None, "no partitionValues"),
        ("partitionValues", [], "impossible value"),
        ("partitionValues", {"day": 5}, "impossible value"),
        ("partitionValues", {"day": ["2024-01-01"]}, "impossible value"),
    ],
)
def test_an_ill_formed_file_is_no_less_an_error_where_others_are_wanted(
    tmp_path, monkeypatch, member, value, message
):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["day", "kind"])
    bent = table.add_file(1, {"day": "2024-01-02", "kind": "a"}, name="bent")
    bent["add"] |= {member: value}
    table.commit([table.add_file(1, {"day": "2024-01-01", "kind": "a"}, name="f"), bent])
    monkeypatch.setattr(replay, "_MANY_ADDS", 0)
    with pytest.raises(CorruptLogError, match=message):
        files(da.DeltaTable(tmp_path).snapshot, "day = DATE '2024-01-01'")


def test_no_table_is_made_of_files_that_are_left_out(tmp_path, monkeypatch):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["day", "kind"])
    days = [f"2024-01-0{n + 1}" for n in range(6)]
    table.commit([table.add_file(1, {"day": day, "kind": "a"}, name=day) for day in days])
    monkeypatch.setattr(replay, "_MANY_ADDS", 5)
    made = []
    make = replay.file_table
    monkeypatch.setattr(
        replay, "file_table", lambda adds, *given: made.append(len(adds)) or make(adds, *given)
    )
    snapshot = da.DeltaTable(tmp_path).snapshot
    assert [each["path"] for each in files(snapshot, "day = DATE '2024-01-03'")] == ["2024-01-03"]
    assert [each["path"] for each in files(snapshot, "day >= DATE '2024-01-05' AND id = 3")] == days[4:]
    assert made == [1, 2]


def test_plain_conditions_on_partitions_need_no_database(tmp_path, monkeypatch):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["day", "kind"])
    table.commit([table.add_file(1, {"day": "2024-01-01", "kind": kind}, name=kind) for kind in "abc"])
    monkeypatch.setattr(replay, "_MANY_ADDS", 0)
    monkeypatch.setattr(replay, "files_cursor", lambda store: pytest.fail("a database is opened"))
    snapshot = da.DeltaTable(tmp_path).snapshot
    assert [each["path"] for each in files(snapshot, "day = DATE '2024-01-01' AND kind > 'a'")] == ["b", "c"]
