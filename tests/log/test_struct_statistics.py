"""Typed statistics of a large checkpoint are read where row groups may match: the files are the same."""

import importlib
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deltaarrow as da
from deltaarrow.expressions import from_sql
from deltaarrow.log import choice, struct_statistics
from tests.support.tables import TableBuilder

replay = importlib.import_module("deltaarrow.log.replay")

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("small", pa.int16()),
        ("day", pa.date32()),
        ("name", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("x", pa.float64()),
        ("st", pa.struct([("n", pa.int32())])),
        ("p", pa.string()),
    ]
)
CONDITIONS = st.sampled_from(
    [
        "id = 5",
        "id >= 3 AND id < 7",
        "id <> 4",
        "id IN (1, 8)",
        "NOT (id IN (2, 3))",
        "id IS NULL",
        "id IS NOT NULL AND small > 4",
        "small = 3 OR id > 8",
        "day > DATE '2024-01-04' AND day <= DATE '2024-01-06'",
        "name LIKE 'n1%'",
        "NOT (name LIKE 'n%')",
        "at >= TIMESTAMP '2024-01-05 00:00:00Z'",
        "x < 2.5",
        "st.n = 7",
        "p = 'a' AND id < 5",
        "p = 'b' OR id = 4",
        "id = 99",
    ]
)
NUMBERS = st.integers(0, 9)


def statistics_of(low, high):
    def values(number):
        day = f"2024-01-{number + 1:02}"
        at = f"{day}T00:00:00.000Z"
        return {
            "id": number,
            "small": number,
            "day": day,
            "name": f"n{number}",
            "at": at,
            "x": number / 2,
            "st": {"n": number},
        }

    counts = {name: 0 for name in SCHEMA.names if name not in ("p", "st")} | {"st": {"n": 0}}
    return {"numRecords": 2, "minValues": values(low), "maxValues": values(high), "nullCount": counts}


def without(statistics, member):
    return {name: value for name, value in statistics.items() if name != member}


NULLS = {"numRecords": 2, "nullCount": {"id": 2, "small": 2, "day": 2, "name": 2, "at": 2, "x": 2}}
STATISTICS = st.one_of(
    st.tuples(NUMBERS, NUMBERS).map(lambda pair: statistics_of(*sorted(pair))),
    st.tuples(NUMBERS, NUMBERS, st.sampled_from(["minValues", "maxValues", "nullCount", "numRecords"])).map(
        lambda given: without(statistics_of(*sorted(given[:2])), given[2])
    ),
    st.sampled_from([False, {}, NULLS]),
)


@pytest.fixture(autouse=True)
def every_checkpoint_is_asked_by_queries(monkeypatch):
    monkeypatch.setattr(replay, "_SMALL_CHECKPOINT", -1)
    monkeypatch.setattr(replay.RecentAnswers, "of", lambda self, question, find: find())


def paths(snapshot, condition):
    """Sorted, as DuckDB reads several files in any order."""
    return sorted(snapshot.files(from_sql(condition), ["path"]).column("path").to_pylist())


def regrouped(file, rows, bend=lambda add: add, **options):
    """Write a checkpoint again, so many rows a row group."""
    table = pq.read_table(file)
    field = table.schema.field("add")
    adds = [bend(add) for add in table.column("add").to_pylist()]
    place = table.schema.get_field_index("add")
    changed = table.set_column(place, field, pa.array(adds, field.type))
    pq.write_table(changed, file, row_group_size=rows, **options)


def without_struct(add):
    """What a writer leaves that has a text alone."""
    return add and add | {"stats_parsed": None}


def empty_struct(add):
    """What a writer leaves that has no NULL for a struct."""
    return add or {}


@settings(deadline=None, max_examples=15)
@given(
    statistics=st.lists(STATISTICS, min_size=4, max_size=14),
    conditions=st.lists(CONDITIONS, min_size=1, max_size=4),
    stats=st.sampled_from(["struct", "both"]),
    in_order=st.booleans(),
    rows=st.integers(1, 5),
    parts=st.sampled_from([1, 3]),
    bend=st.sampled_from([lambda add: add, without_struct, empty_struct]),
    most_bytes=st.sampled_from([0, 1 << 20]),
)
def test_files_are_those_that_are_judged_one_by_one(
    statistics, conditions, stats, in_order, rows, parts, bend, most_bytes
):
    if in_order:
        statistics = sorted(statistics, key=lambda each: json.dumps(each or {}))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        table = TableBuilder(Path(folder)).protocol().metadata(SCHEMA, ["p"])
        adds = [
            table.add_file(1, {"p": "ab"[n % 2]}, name=f"f{n}", stats=each)
            for n, each in enumerate(statistics)
        ]
        table.commit(adds)
        table.commit([table.remove(adds[2])])
        for file in table.checkpoint(kind="multipart", parts=parts, stats=stats):
            regrouped(file, rows, bend)
        table.delete_commits(*range(table.version + 1))
        table.commit([table.remove(adds[3]), table.add_file(1, {"p": "a"}, stats=statistics_of(4, 4))])
        snapshot = da.DeltaTable(folder).snapshot
        expected = [paths(snapshot, condition) for condition in conditions]
        patch.setattr(replay, "LARGE_CHECKPOINT", 0)
        patch.setattr(choice, "_MOST_LEFT", 1)
        patch.setattr(struct_statistics, "_MOST_BYTES", most_bytes)
        snapshot = da.DeltaTable(folder).snapshot
        for _ in range(2):
            assert [paths(snapshot, condition) for condition in conditions] == expected


def test_row_groups_are_read_once_and_where_they_may_match(tmp_path, monkeypatch):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p"])
    table.commit([table.add_file(1, {"p": "a"}, name=f"f{n}", stats=statistics_of(n, n)) for n in range(9)])
    (file,) = table.checkpoint(stats="both")
    regrouped(file, 3)
    table.delete_commits(0)
    monkeypatch.setattr(replay, "LARGE_CHECKPOINT", 0)
    groups = []
    read = struct_statistics.read_adds
    monkeypatch.setattr(
        struct_statistics,
        "read_adds",
        lambda file, group, *given: groups.append(group) or read(file, group, *given),
    )
    snapshot = da.DeltaTable(tmp_path).snapshot
    assert paths(snapshot, "id = 4 AND p = 'a'") == ["f4"]
    assert len(groups) == 1
    assert paths(snapshot, "id >= 4 AND id < 5") == ["f4"]
    assert len(groups) == 1
    assert paths(snapshot, "day = DATE '2024-01-09'") == ["f8"]
    assert len(groups) == 2
    assert paths(snapshot, "id = 99") == []
    assert len(groups) == 2


def test_times_of_int96_are_not_cut_to_what_nanoseconds_hold(tmp_path, monkeypatch):
    """Spark writes times so, and 9999-12-31 stands for the end of all times."""
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p"])
    for name, year in (("begin", "0001"), ("now", "2024"), ("end", "9999")):
        at = {"at": f"{year}-12-30T00:00:00.000Z"}
        stats = {"numRecords": 1, "minValues": at, "maxValues": at, "nullCount": {"at": 0}}
        table.commit([table.add_file(1, {"p": "a"}, name=name, stats=stats)])
    (file,) = table.checkpoint(stats="both")
    regrouped(file, 2, use_deprecated_int96_timestamps=True)
    monkeypatch.setattr(replay, "LARGE_CHECKPOINT", 0)
    monkeypatch.setattr(choice, "_MOST_LEFT", 1)
    snapshot = da.DeltaTable(tmp_path).snapshot
    assert paths(snapshot, "at > TIMESTAMP '2025-01-01 00:00:00Z'") == ["end"]
    assert paths(snapshot, "at < TIMESTAMP '2024-01-01 00:00:00Z'") == ["begin"]


def test_a_partition_column_in_another_case_is_no_data_column(tmp_path, monkeypatch):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p"])
    adds = [table.add_file(1, {"p": "ab"[n % 2]}, name=f"f{n}", stats=statistics_of(n, n)) for n in range(9)]
    table.commit(adds).checkpoint(stats="struct")
    monkeypatch.setattr(replay, "LARGE_CHECKPOINT", 0)
    assert paths(da.DeltaTable(tmp_path).snapshot, "P = 'a' AND ID < 3") == ["f0", "f2"]
