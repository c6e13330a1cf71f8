"""A checkpoint of any kind gives the same files as one table of all files."""

import json
import random
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.errors import CorruptLogError
from deltaarrow.live_files.checkpoint_source import CheckpointRows
from deltaarrow.log.limits import LogLimits
from tests.support.conditions import predicate_of
from tests.support.engines import open_snapshot
from tests.support.examples import examples
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


def opened(folder, **limits):
    """The newest version; no file of its checkpoint is listed in memory."""
    return open_snapshot(folder, limits=LogLimits(replayed_bytes=-1, listed_bytes=-1, **limits))


@pytest.fixture
def reads(monkeypatch):
    """What was asked of the statistics of all rows of a checkpoint, each time that they were read."""
    found = []
    read = CheckpointRows.read_statistics

    def note_and_read(checkpoint, asked, rows):
        if rows is None:
            found.append(asked)
        return read(checkpoint, asked, rows)

    monkeypatch.setattr(CheckpointRows, "read_statistics", note_and_read)
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
    return sorted(
        snapshot.files(predicate_of(condition, snapshot.schema), ["path"]).column("path").to_pylist()
    )


def of_one_table(snapshot, condition):
    """The same, by a table of all files."""
    files = snapshot.files()
    kept = files.take(np.flatnonzero(snapshot.may_match(files, predicate_of(condition, snapshot.schema))))
    return sorted(kept.column("path").to_pylist())


@pytest.mark.parametrize("stats", ["json", "struct", pytest.param("both", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind["kind"])
def test_the_files_are_those_of_one_table(tmp_path, kind, stats, reads):
    table_of(tmp_path, kind, stats)
    conditions = random.Random(f"{kind} {stats}").sample(CONDITIONS, 7)
    snapshot = opened(tmp_path)
    expected = [of_one_table(snapshot, condition) for condition in conditions]
    assert not reads
    for numbered in (256, 1):
        snapshot = opened(tmp_path, numbered_rows=numbered)
        assert [paths(snapshot, condition) for condition in conditions] == expected
    reads.clear()
    assert [paths(snapshot, condition) for condition in conditions] == expected
    assert not reads, "what was asked for once is cached"


TEXTS = st.one_of(
    st.none(),
    st.integers(-3, 9).map(lambda number: json.dumps(statistics_of(max(number, 0)))),
    st.integers(-3, 9).map(lambda number: json.dumps({"minValues": {"id": number}}, indent=1)),
    st.integers(0, 9).map(lambda number: json.dumps({"maxValues": {"id": number}, "numRecords": 2})),
    st.sampled_from(["", "{", "null", "[]", '{"minValues":{"id":"7"},"maxValues":{"id":7.5}}']),
    st.just('{"numRecords":1,"minValues":{"id":9},"maxValues":{"id":9}'),
)


@settings(deadline=None, max_examples=examples(4))
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=9),
    conditions=st.lists(st.sampled_from(CONDITIONS), max_size=5),
)
def test_whatever_the_texts_of_statistics_are(texts, conditions):
    with tempfile.TemporaryDirectory() as folder:
        table = TableBuilder(Path(folder)).protocol().metadata(SCHEMA, ["p"])
        stats = [False if text is None else text for text in texts]
        table.commit(
            [table.add_file(1, {"p": "a"}, name=f"f{n}", stats=each) for n, each in enumerate(stats)]
        )
        table.checkpoint()
        snapshot = opened(folder)
        for condition in conditions:
            assert paths(snapshot, condition) == of_one_table(snapshot, condition)


def test_statistics_are_read_once_for_all_snapshots_of_a_checkpoint(tmp_path, reads):
    table = table_of(tmp_path, {"kind": "classic"})
    snapshot = opened(tmp_path)
    assert paths(snapshot, "id = 4") == ["f4", "new", "none"]
    table.commit([table.add_file(1, {"p": "a"}, name="newer", stats=statistics_of(8))])
    snapshot = snapshot.update()
    assert paths(snapshot, "id = 8") == ["f8", "newer", "none"]
    assert len(reads) == 1


def test_of_a_few_files_of_a_partition_the_statistics_are_read_alone(tmp_path, reads):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p"])
    table.commit(
        [table.add_file(1, {"p": str(n)}, name=f"f{n}", stats=statistics_of(n)) for n in range(20)]
    ).checkpoint()
    snapshot = opened(tmp_path)
    assert paths(snapshot, "p = '7' AND id = 7") == ["f7"]
    assert paths(snapshot, "p = '7' AND id = 8") == []
    assert not reads
    assert paths(snapshot, "id = 8") == ["f8"]
    assert paths(snapshot, "p = '7' AND id = 8") == []
    assert len(reads) == 1


def test_a_part_that_breaks_is_left_for_the_commits(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p"])
    table.commit([table.add_file(1, {"p": "a"}, name=f"f{n}", stats=statistics_of(n)) for n in range(9)])
    _, *parts = table.checkpoint(kind="multipart", parts=3)
    snapshot = opened(tmp_path)
    parts[-1].write_bytes(parts[-1].read_bytes()[:-40] + bytes(40))
    # The commits say the same.
    assert paths(snapshot, "id = 4") == ["f4"]


def test_a_broken_part_without_which_no_version_is_left_is_named(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p"])
    table.commit([table.add_file(1, {"p": "a"}, name=f"f{n}", stats=statistics_of(n)) for n in range(9)])
    _, *parts = table.checkpoint(kind="multipart", parts=3)
    table.delete_commits(0)
    snapshot = opened(tmp_path)
    parts[-1].write_bytes(parts[-1].read_bytes()[:-40] + bytes(40))
    with pytest.raises(CorruptLogError, match=parts[-1].name):
        paths(snapshot, "id = 4")


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
    rows = rows.set_column(place, rows.schema.field("add"), pa.array(adds, rows.schema.field("add").type))
    # Without what tells it before a row is read.
    pq.write_table(rows, file, write_statistics=False)
    table.delete_commits(0)
    snapshot = opened(tmp_path)
    assert paths(snapshot, "id = 4") == ["f4"]
    with pytest.raises(CorruptLogError, match="without a required field"):
        snapshot.files(predicate_of("id = 4", snapshot.schema), ["path", "size"])


PARTITIONED = pa.schema(
    [("id", pa.int64()), ("day", pa.date32()), ("word", pa.string()), ("number", pa.int64())]
)
DAYS = st.sampled_from(["2024-01-01", "2024-01-02", "2024-1-3", "1999-12-31", "nonsense"])
WORDS = st.sampled_from(["a", "it's", "é", "Z", "%41", " a"])
NUMBERS = st.sampled_from(["1", "02", "-5", "1e3", "9999999999999999999"])
ON_PARTITIONS = st.sampled_from(
    [
        "day = DATE '2024-01-01'",
        "day > DATE '2024-01-01'",
        "day BETWEEN DATE '2000-01-01' AND DATE '2024-01-03'",
        "day <> DATE '2024-01-02' AND word = 'a'",
        "day IS NULL",
        "day IS NOT NULL AND word IS NOT NULL",
        "word IN ('it''s', 'é', 'none such')",
        "word LIKE 'a%'",
        "NOT (word = 'a')",
        "word > 'Z' OR day = DATE '1999-12-31'",
        "number = 2 AND word <> 'Z'",
        "number IS NULL AND day IS NOT NULL",
        "number < 0 AND id > 7",
        "word = 'none such'",
    ]
)


KINDS_OF_CHECKPOINTS = st.sampled_from(
    [
        {"kind": "classic"},
        {"kind": "multipart", "parts": 3},
        {"kind": "v2-parquet", "sidecars": 2},
        {"kind": "v2-json", "sidecars": 2},
    ]
)


def partitioned(folder, values, **kind):
    """Some files are removed before the checkpoint and some after it."""
    table = TableBuilder(folder)
    table.features(*["v2Checkpoint"] * kind.get("kind", "").startswith("v2"))
    table.metadata(PARTITIONED, ["day", "word", "number"])
    stats = {"numRecords": 1, "minValues": {"id": 5}, "maxValues": {"id": 9}, "nullCount": {"id": 0}}
    adds = [table.add_file(1, each, name=f"f{n}", stats=stats) for n, each in enumerate(values)]
    table.commit(adds)
    table.commit([table.remove(add) for add in adds[4:6]])
    table.checkpoint(**kind)
    table.commit([table.add_file(1, values[0], stats=stats), *[table.remove(add) for add in adds[1:3]]])
    return table


def rows(optional):
    values = {"day": DAYS, "word": WORDS, "number": NUMBERS}
    if not optional:
        return st.lists(st.fixed_dictionaries(values), min_size=1, max_size=12)
    some = {name: st.none() | each for name, each in values.items()}
    return st.lists(
        st.one_of(st.fixed_dictionaries(some), st.fixed_dictionaries({}, optional=some)),
        min_size=1,
        max_size=12,
    )


@settings(deadline=None, max_examples=examples(4))
@given(
    values=st.one_of(rows(optional=False), rows(optional=True)),
    conditions=st.lists(ON_PARTITIONS, max_size=4),
    kind=KINDS_OF_CHECKPOINTS,
    at_once=st.sampled_from([1, 3, 1 << 16]),
)
def test_whatever_the_texts_of_partition_values_are(values, conditions, kind, at_once):
    with tempfile.TemporaryDirectory() as folder:
        partitioned(Path(folder), values, **kind)
        snapshot = opened(folder, rows_at_once=at_once)
        for condition in conditions:
            assert paths(snapshot, condition) == of_one_table(snapshot, condition)


def test_partition_values_are_read_once_for_all_snapshots_of_a_checkpoint(tmp_path, monkeypatch):
    table = partitioned(tmp_path, [{"day": "2024-01-01", "word": "a", "number": "1"}])
    found = []
    read = CheckpointRows.read_partition_values
    monkeypatch.setattr(
        CheckpointRows, "read_partition_values", lambda self, name: found.append(name) or read(self, name)
    )
    snapshot = opened(tmp_path)
    for condition in ("word = 'a'", "word = 'b'", "word = 'a' AND day IS NOT NULL"):
        snapshot.files(predicate_of(condition, snapshot.schema))
    table.commit([table.add_file(1, {"day": None, "word": None, "number": None})])
    snapshot = snapshot.update()
    assert snapshot.files(predicate_of("word = 'b'", snapshot.schema), ["path"]).num_rows == 0
    assert found == ["word", "day"]


def test_a_partition_of_each_file_is_told_by_its_text(tmp_path):
    values = [{"day": "2024-01-01", "word": str(number), "number": "1"} for number in range(300)]
    partitioned(tmp_path, values)
    snapshot = opened(tmp_path)
    assert paths(snapshot, "word = '299' AND day IS NOT NULL") == ["f299"]
    assert len(paths(snapshot, "word > '5' AND number = 1")) == 54


def test_a_file_with_two_values_of_a_column_is_not_left_out(tmp_path):
    table = partitioned(tmp_path, [{"day": "2024-01-01", "word": word, "number": "1"} for word in "abcdefg"])
    (file,) = tmp_path.glob("_delta_log/*.checkpoint.parquet")
    rows = pq.read_table(file)
    field = rows.schema.field("add")
    adds = rows.column("add").to_pylist()
    for add in adds:
        if add is not None:
            add["partitionValues"] = [*add["partitionValues"], ("word", "a")]
    place = rows.schema.get_field_index("add")
    pq.write_table(rows.set_column(place, field, pa.array(adds, field.type)), file)
    table.delete_commits(0, 1)
    assert "f3" in paths(opened(tmp_path), "word = 'd'")


PLAIN = pa.schema([("id", pa.int64()), ("p", pa.string())])
WIDE = {"numRecords": 9, "minValues": {"id": 0}, "maxValues": {"id": 8}, "nullCount": {"id": 0}}
ON_P = ["p = 'a'", "p = 'b'", "p <> 'b'", "p = 'new'", "p = 'none'", "p IS NULL", "p = 'a' AND id = 3"]


@pytest.fixture
def table(tmp_path):
    """Files that were given a deletion vector before and after the checkpoint, removed, and added again."""
    table = TableBuilder(tmp_path).features("deletionVectors").metadata(PLAIN, ["p"])
    stats = WIDE
    adds = [table.add_file(9, {"p": "ab"[n % 2]}, name=f"f{n}", stats=stats) for n in range(8)]
    table.commit(adds)
    (_, marked) = table.with_deletion_vector(adds[0], table.deletion_vector([1]))
    table.commit([table.remove(adds[0]), marked])
    table.checkpoint()
    table.delete_commits(0, 1)
    # Another logical file of the same path is none of the checkpoint's.
    table.commit([table.remove(adds[0])])
    table.commit([table.remove(adds[2]), table.add_file(9, {"p": "new"}, name="g", stats=stats)])
    table.commit(table.with_deletion_vector(adds[4], table.deletion_vector([2])))
    table.commit([table.remove(adds[6]), table.add_file(9, {"p": "a"}, name="h", stats=False)])
    table.commit([adds[6]])
    return table


def test_what_commits_say_of_a_file_stands(table):
    snapshot = opened(table.path)
    assert paths(snapshot, "p = 'a'") == ["f0", "f4", "f6", "h"]
    names = ["path", "deletion_vector", "partition_values", "stats"]
    for condition in ON_P:
        files = snapshot.files(columns=names)
        kept = files.take(
            np.flatnonzero(snapshot.may_match(files, predicate_of(condition, snapshot.schema)))
        ).to_pylist()
        assert sorted(
            snapshot.files(predicate_of(condition, snapshot.schema), names).to_pylist(), key=repr
        ) == sorted(kept, key=repr)


PATHS = [
    "a%20b/f",
    "bad%zz",
    "p=%C3%A9%2525/f",
    "%FF",
    "file:/abs/f",
    "file:///abs/g%20h",
    "s3://b/x%20y",
    "ä",
]


def test_paths_are_canonical(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(PLAIN, ["p"])
    adds = [table.add_file(9, {"p": "a"}, stats=WIDE) for _ in PATHS]
    for add, path in zip(adds, PATHS, strict=True):
        add["add"]["path"] = path
    table.commit(adds).checkpoint()
    table.commit([{"remove": {"path": "a b/f", "deletionTimestamp": 1, "dataChange": True}}])
    snapshot = opened(tmp_path)
    for condition in ("p = 'a'", "id = 3"):
        assert len(paths(snapshot, condition)) == len(PATHS) - 1
        assert paths(snapshot, condition) == of_one_table(snapshot, condition)


def regrouped(file, rows, bend=lambda add: add, **options):
    """Write a checkpoint again, so many rows a row group."""
    table = pq.read_table(file)
    field = table.schema.field("add")
    adds = [bend(add) for add in table.column("add").to_pylist()]
    place = table.schema.get_field_index("add")
    changed = table.set_column(place, field, pa.array(adds, field.type))
    pq.write_table(changed, file, row_group_size=rows, **options)


@pytest.mark.parametrize("bend", [lambda add: add and add | {"stats_parsed": None}, lambda add: add or {}])
@pytest.mark.parametrize("stats", ["struct", "both"])
def test_structs_that_writers_leave_empty(tmp_path, stats, bend):
    """Where there is a text alone, and where there is no file."""
    table = table_of(tmp_path, {"kind": "classic"}, stats)
    (file,) = tmp_path.glob("_delta_log/*.checkpoint.parquet")
    regrouped(file, 3, bend)
    snapshot = opened(table.path)
    for condition in CONDITIONS:
        assert paths(snapshot, condition) == of_one_table(snapshot, condition)


def test_times_of_int96_are_not_cut_to_what_nanoseconds_hold(tmp_path):
    """Spark writes times so, and 9999-12-31 stands for the end of all times."""
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p"])
    for name, year in (("begin", "0001"), ("now", "2024"), ("end", "9999")):
        at = {"at": f"{year}-12-30T00:00:00.000Z"}
        stats = {"numRecords": 1, "minValues": at, "maxValues": at, "nullCount": {"at": 0}}
        table.commit([table.add_file(1, {"p": "a"}, name=name, stats=stats)])
    (file,) = table.checkpoint(stats="struct")
    regrouped(file, 2, use_deprecated_int96_timestamps=True)
    snapshot = opened(tmp_path)
    assert "end" in paths(snapshot, "at > TIMESTAMP '2025-01-01 00:00:00Z'")
    assert "begin" in paths(snapshot, "at < TIMESTAMP '2024-01-01 00:00:00Z'")
    assert "now" not in paths(snapshot, "at > TIMESTAMP '2025-01-01 00:00:00Z'")


def test_a_partition_column_in_another_case_is_no_data_column(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p"])
    adds = [table.add_file(1, {"p": "ab"[n % 2]}, name=f"f{n}", stats=statistics_of(n)) for n in range(9)]
    table.commit(adds).checkpoint(stats="struct")
    assert paths(opened(tmp_path), "P = 'a' AND ID < 3") == ["f0", "f2"]


def test_a_question_that_comes_again_reads_nothing_of_the_log(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(PLAIN, ["p"])
    table.commit([table.add_file(9, {"p": name}, name=name, stats=WIDE) for name in "ab"])
    (checkpoint,) = table.checkpoint()
    table.delete_commits(0)
    snapshot = opened(tmp_path)
    assert paths(snapshot, "p = 'a'") == ["a"]
    checkpoint.unlink()
    assert paths(snapshot, "p = 'a'") == ["a"]
    with pytest.raises(CorruptLogError):
        paths(snapshot, "p = 'b'")
