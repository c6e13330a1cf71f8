"""`table.analyze`: statistics become what a write would have collected, and rows stay."""

import contextlib
import datetime as dt
import json
import math
import shutil
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import deltaarrow as da
from deltaarrow.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    CorruptDataFileError,
    InvalidPredicateError,
    MetadataChangedException,
    SchemaMismatchError,
    StorageError,
)
from tests.support.commits import commit
from tests.support.examples import examples
from tests.support.system_calls import Calls, Killed
from tests.support.tables import TableBuilder

VECTORS = {"delta.enableDeletionVectors": "true"}
MAPPED = VECTORS | {"delta.columnMapping.mode": "name"}
UTC = dt.UTC
SCHEMA = pa.schema(
    [
        ("i", pa.int8()),
        ("n", pa.int64()),
        ("x", pa.float32()),
        ("d", pa.float64()),
        ("small", pa.decimal128(9, 2)),
        ("large", pa.decimal128(38, 10)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("wall", pa.timestamp("us")),
        ("text", pa.string()),
        ("raw", pa.binary()),
        ("yes", pa.bool_()),
        ("s", pa.struct([("a.b", pa.int32()), ("t", pa.struct([("u", pa.string())]))])),
        ("tags", pa.list_(pa.int32())),
        ("m", pa.map_(pa.string(), pa.int32())),
    ]
)
VALUES = {
    "i": st.integers(-128, 127),
    "n": st.integers(-(2**63), 2**63 - 1),
    "x": st.floats(width=32),
    "d": st.floats(),
    "small": st.decimals(Decimal(-9999999), Decimal(9999999), places=2, allow_nan=False),
    "large": st.integers(-(10**38) + 1, 10**38 - 1).map(
        lambda number: Decimal((number < 0, tuple(map(int, str(abs(number)))), -10))
    ),
    "day": st.dates(),
    "at": st.datetimes(timezones=st.just(UTC)),
    "wall": st.datetimes(),
    "text": st.text(max_size=80) | st.just("x" * 5000) | st.just("\U0010ffff" * 70),
    "raw": st.binary(max_size=4),
    "yes": st.booleans(),
    "s": st.fixed_dictionaries(
        {
            "a.b": st.none() | st.integers(-9, 9),
            "t": st.none() | st.fixed_dictionaries({"u": st.none() | st.text(max_size=3)}),
        }
    ),
    "tags": st.lists(st.none() | st.integers(0, 9), max_size=2),
    "m": st.dictionaries(st.text(max_size=2), st.integers(0, 9), max_size=2).map(lambda m: list(m.items())),
}


def statistics(table):
    rows = table.snapshot.files(columns=["path", "stats"]).to_pylist()
    return {row["path"]: row["stats"] for row in rows}


def forget(table):
    """Commit every file again without statistics but the number of rows."""
    log = Path(table.table_uri) / "_delta_log"
    lines = [{"commitInfo": {"operation": "FORGET"}}]
    for version in range(table.version() + 1):
        # As bytes: texts have characters that end a line elsewhere.
        for action in map(json.loads, (log / f"{version:020d}.json").read_bytes().splitlines()):
            if "add" in action:
                count = json.loads(action["add"]["stats"])["numRecords"]
                kept = {"stats": json.dumps({"numRecords": count}), "dataChange": False}
                lines.append({"add": action["add"] | kept})
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (log / f"{table.version() + 1:020d}.json").write_text(text, encoding="utf-8")
    table.update_incremental()


@settings(max_examples=examples(3), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=st.lists(
        st.fixed_dictionaries({name: st.none() | value for name, value in VALUES.items()}), max_size=5
    ),
    group=st.sampled_from([1, 1000]),
    mapped=st.booleans(),
)
def test_statistics_become_those_that_the_write_collected(tmp_path_factory, rows, group, mapped):
    folder = tmp_path_factory.mktemp("t")
    table = da.DeltaTable.create(folder, SCHEMA, configuration=MAPPED if mapped else VECTORS)
    properties = da.WriterProperties(max_row_group_size=group)
    data = pa.Table.from_pylist([{"i": 1}, *rows], schema=SCHEMA)
    da.write_deltalake(table, data, mode="append", writer_properties=properties)
    written = statistics(table)
    forget(table)
    assert table.analyze()["numFilesUpdated"] == len(written) == 1
    assert statistics(table) == written
    assert table.verify(deep=True).ok


def two_files(folder, **options):
    rows = {"id": range(10), "v": [n / 2 for n in range(10)], "p": ["a"] * 5 + ["b"] * 5}
    options = {"configuration": VECTORS, "partition_by": ["p"]} | options
    da.write_deltalake(folder, pa.table(rows), **options)
    return da.DeltaTable(folder)


def test_bounds_of_a_file_with_deleted_rows_become_those_of_the_rows_left(tmp_path):
    table = two_files(tmp_path, configuration=VECTORS | {"delta.enableRowTracking": "true"})
    table.delete("id IN (0, 4)")
    rows = table.to_pyarrow_table().sort_by("id")
    before = {row["path"]: row for row in table.snapshot.files().to_pylist(maps_as_pydicts="strict")}
    plan = table.analyze(dry_run=True)
    assert (plan.num_files, plan.considered, len(plan.paths)) == (1, 2, 1)
    assert plan.num_bytes == before[plan.paths[0]]["size"]
    version, seen = table.version(), []
    told = table.analyze(progress=lambda done, total: seen.append((done, total)))
    assert told == {"numFilesConsidered": 2, "numFilesExamined": 1, "numFilesRead": 1, "numFilesUpdated": 1}
    assert seen == [(plan.num_bytes, plan.num_bytes)]
    info, *others = commit(tmp_path, version + 1)
    assert info["commitInfo"]["operation"] == "COMPUTE STATS"
    assert info["commitInfo"]["operationParameters"] == {"predicate": '["true"]'}
    assert [list(each) for each in others] == [["add"]]
    assert others[0]["add"]["dataChange"] is False
    assert json.loads(others[0]["add"]["stats"]) == {
        "numRecords": 5,
        "minValues": {"id": 1, "v": 0.5},
        "maxValues": {"id": 3, "v": 1.5},
        "nullCount": {"id": 0, "v": 0},
        "tightBounds": True,
    }
    after = {row["path"]: row for row in table.snapshot.files().to_pylist(maps_as_pydicts="strict")}
    changed = plan.paths[0]
    assert after[changed] == before[changed] | {"stats": after[changed]["stats"], "data_change": False}
    assert table.to_pyarrow_table().sort_by("id") == rows
    assert table.verify(deep=True).ok
    # There is nothing left to do, and nothing is committed.
    assert table.analyze(full=True)["numFilesUpdated"] == 0
    assert table.version() == version + 1


def test_properties_take_effect(tmp_path):
    table = two_files(tmp_path)
    table.alter.set_table_properties({"delta.dataSkippingStatsColumns": "v"})
    assert table.analyze()["numFilesUpdated"] == 2
    assert all(list(json.loads(each)["maxValues"]) == ["v"] for each in statistics(table).values())
    table.alter.unset_table_properties(["delta.dataSkippingStatsColumns"])
    told = table.analyze(predicate="p = 'a'")
    assert (told["numFilesConsidered"], told["numFilesUpdated"], told["numFilesRead"]) == (1, 1, 1)
    assert commit(tmp_path, table.version())[0]["commitInfo"]["operationParameters"] == {
        "predicate": json.dumps(["(p = 'a')"])
    }
    table.alter.set_table_properties({"delta.dataSkippingStatsColumns": "id"})
    assert table.analyze()["numFilesRead"] == 0
    assert all(list(json.loads(each)["nullCount"]) == ["id"] for each in statistics(table).values())


def test_some_columns_are_told_and_the_others_stay(tmp_path):
    table = two_files(tmp_path)
    table.delete("id = 0")
    kept = {path: json.loads(text) for path, text in statistics(table).items()}
    assert table.analyze(["ID"])["numFilesUpdated"] == 1
    found = {path: json.loads(text) for path, text in statistics(table).items()}
    (path,) = [path for path in kept if kept[path] != found[path]]
    kept[path]["minValues"]["id"] = 1
    assert found == kept
    assert kept[path]["tightBounds"] is False
    assert table.analyze(["id"], full=True)["numFilesUpdated"] == 0
    assert table.verify(deep=True).ok
    table = two_files(tmp_path / "other")
    forget(table)
    assert table.analyze(["v"])["numFilesUpdated"] == 2
    assert all(list(json.loads(each)["nullCount"]) == ["v"] for each in statistics(table).values())


def test_columns_are_found_by_id_and_read_with_wider_types(tmp_path):
    properties = VECTORS | {"delta.columnMapping.mode": "id", "delta.enableTypeWidening": "true"}
    table = da.DeltaTable.create(tmp_path, SCHEMA, configuration=properties)
    row = {"i": 1, "text": "a", "s": {"a.b": 4, "t": {"u": "x"}}}
    da.write_deltalake(table, pa.Table.from_pylist([row], schema=SCHEMA), mode="append")
    written = [json.loads(text) for text in statistics(table).values()]
    forget(table)
    table.alter.change_column("i", type="long")
    table.alter.rename_column("text", "other")
    assert table.analyze()["numFilesUpdated"] == 1
    assert [json.loads(text) for text in statistics(table).values()] == written
    assert table.verify(deep=True).ok


def test_footers_of_others_are_taken_where_they_tell(tmp_path):
    """What a footer lacks is read: here NaN, which it ignores, and a column without statistics."""
    schema = pa.schema([("id", pa.int64()), ("d", pa.float64()), ("old", pa.int32()), ("new", pa.string())])
    rows = pa.table({"id": [3, 1], "d": [1.5, math.nan], "old": pa.array([7, None], pa.int32())})
    builder = TableBuilder(tmp_path).protocol().metadata(schema)
    builder.commit(
        [
            builder.add_file(rows.select(["id", "old"]), stats=False, name="a.parquet"),
            builder.add_file(rows, stats="nonsense", name="b.parquet"),
            builder.add_file(
                rows, stats=False, name="c.parquet", parquet={"write_statistics": False}, tags={"k": "v"}
            ),
        ]
    )
    table = da.DeltaTable(tmp_path)
    assert table.analyze()["numFilesRead"] == 2
    found = {path: json.loads(text) for path, text in statistics(table).items()}
    assert (
        found["b.parquet"]
        == found["c.parquet"]
        == {
            "numRecords": 2,
            "minValues": {"id": 1, "d": 1.5, "old": 7},
            "maxValues": {"id": 3, "d": "NaN", "old": 7},
            "nullCount": {"id": 0, "d": 0, "old": 1, "new": 2},
        }
    )
    assert found["a.parquet"]["nullCount"] == {"id": 0, "d": 2, "old": 1, "new": 2}
    assert table.snapshot.files(columns=["tags"])["tags"].to_pylist().count([("k", "v")]) == 1
    assert table.verify(deep=True).ok


def test_a_cut_bound_of_a_string_is_not_taken_for_whole(tmp_path):
    """Footers may cut strings, and a cut maximum is above all values: rows tell the value itself."""
    rows = pa.table({"s": ["x" * 100, "y" * 70]})
    builder = TableBuilder(tmp_path).protocol().metadata(rows.schema)
    builder.commit([builder.add_file(rows, stats=False)])
    table = da.DeltaTable(tmp_path)
    assert table.analyze()["numFilesRead"] == 1
    (text,) = statistics(table).values()
    assert json.loads(text)["maxValues"] == {"s": "y" * 32 + "\x7f"}


def test_files_that_others_change_meanwhile_are_left_out(tmp_path):
    table = two_files(tmp_path)
    da.write_deltalake(table, pa.table({"id": [50], "v": [0.5], "p": ["c"]}), mode="append")
    forget(table)
    other = da.DeltaTable(tmp_path)
    changes = [lambda: other.delete("p = 'a'"), lambda: other.delete("id = 7")]
    told = table.analyze(progress=lambda done, total: changes and changes.pop()())
    assert (told["numFilesExamined"], told["numFilesUpdated"], changes) == (3, 1, [])
    assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == [5, 6, 8, 9, 50]
    stats = [text for text in statistics(table).values() if '"minValues"' in text]
    assert [json.loads(each)["minValues"]["id"] for each in stats] == [50]
    assert table.verify(deep=True).ok


def test_a_change_of_metadata_is_a_conflict(tmp_path):
    table = two_files(tmp_path)
    forget(table)

    def change(done, total):
        if done == total:
            other = da.DeltaTable(tmp_path)
            other.alter.set_table_properties({"delta.dataSkippingStatsColumns": "v"})

    with pytest.raises(MetadataChangedException):
        table.analyze(progress=change)
    assert all(list(json.loads(text)) == ["numRecords"] for text in statistics(table).values())


CHANGES = {
    "delete": lambda table: table.delete("id IN (1, 6)"),
    "update": lambda table: table.update({"v": "-1.0"}, predicate="id = 1"),
    "compact": lambda table: table.optimize.compact(),
    "append": lambda table: da.write_deltalake(table, pa.table({"id": [90], "p": ["a"]}), mode="append"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_is_committed_after_keeps_its_rows(tmp_path, monkeypatch, change):
    """Statistics that are computed between the read and the commit of another operation harm nothing."""
    alone, table = two_files(tmp_path / "alone"), two_files(tmp_path / "beside")
    for each in (alone, table):
        each.delete("id IN (0, 5)")
    CHANGES[change](alone)
    store, done = type(table.snapshot.store), []
    put = store.put_if_absent

    def late(self, name, data):
        if not done:
            done.append(True)
            done.append(da.DeltaTable(tmp_path / "beside").analyze()["numFilesUpdated"])
        return put(self, name, data)

    with monkeypatch.context() as patch:
        patch.setattr(store, "put_if_absent", late)
        CHANGES[change](table)
    assert done == [True, 2]
    found = da.DeltaTable(tmp_path / "beside")
    assert found.to_pyarrow_table().sort_by("id") == da.DeltaTable(
        tmp_path / "alone"
    ).to_pyarrow_table().sort_by("id")
    assert found.verify(deep=True).ok


@pytest.mark.slow
def test_rows_stay_while_writers_and_analyses_run_together(tmp_path):
    table = two_files(tmp_path)
    rounds = 12

    def run(change):
        for number in range(rounds):
            with contextlib.suppress(CommitFailedError):  # a conflict
                change(da.DeltaTable(tmp_path), number)

    changes = [
        lambda table, number: table.analyze(full=number % 2 == 0),
        lambda table, number: table.analyze(["id"]),
        lambda table, number: table.delete(f"id = {100 + number - 2}"),
        lambda table, number: da.write_deltalake(
            table, pa.table({"id": [100 + number], "v": [0.5], "p": ["a"]}), mode="append"
        ),
        lambda table, number: number % 4 or table.optimize.compact(),
    ]
    with ThreadPoolExecutor(len(changes)) as pool:
        list(pool.map(run, changes))
    table.update_incremental()
    ids = table.to_pyarrow_table()["id"].to_pylist()
    assert len(ids) == len(set(ids)) and {*range(10), 100 + rounds - 1} <= set(ids)
    table.analyze()
    assert table.verify(deep=True).ok


def test_what_is_refused(tmp_path):
    table = two_files(tmp_path)
    with pytest.raises(SchemaMismatchError, match=r"keeps no statistics of 'p' \(it does of: id, v"):
        table.analyze(["p"])
    with pytest.raises(SchemaMismatchError, match="'nope'"):
        table.analyze(["id", "nope"])
    with pytest.raises(TypeError, match="list of names"):
        table.analyze("id")
    with pytest.raises(InvalidPredicateError, match="partition columns"):
        table.analyze(predicate="id = 1")
    forget(table)
    version = table.version()
    name = table.snapshot.files(columns=["path"])["path"][0].as_py()
    pq.write_table(pa.table({"id": [1], "v": [1.0]}), tmp_path / name)
    with pytest.raises(CorruptDataFileError, match="rows"):
        table.analyze()
    (tmp_path / name).unlink()
    with pytest.raises(CorruptDataFileError, match="not in storage"):
        table.analyze()
    assert da.DeltaTable(tmp_path).version() == version


def test_a_process_killed_before_any_call_of_the_system_leaves_the_old_version_or_the_new(
    tmp_path, monkeypatch
):
    table = two_files(tmp_path / "t")
    table.delete("id = 0")
    rows, outcomes, calls = table.to_pyarrow_table().sort_by("id"), [], None
    while calls is None or calls.left < 0:
        path = shutil.copytree(tmp_path / "t", tmp_path / f"copy{len(outcomes)}")
        with monkeypatch.context() as patch:
            calls = Calls(patch, len(outcomes), Killed(), is_last=True)
            with contextlib.suppress(Killed, StorageError, CommitStateUnknownError):
                da.DeltaTable(path).analyze()
        found = da.DeltaTable(path)
        outcomes.append(found.version() == 2)
        assert found.to_pyarrow_table().sort_by("id") == rows
        assert found.analyze()["numFilesUpdated"] == (not outcomes[-1])
        assert found.verify(deep=True).ok
    assert outcomes == sorted(outcomes) and set(outcomes) == {False, True}
