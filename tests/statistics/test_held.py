"""What is held of statistics leaves the files that they leave themselves, however they are written."""

import functools
import json
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaarrow.compute import sandbox_cursor
from deltaarrow.expressions import And, Column, Compare, IsNull, Literal, columns_of, from_sql
from deltaarrow.schema import Field, Schema, StructType
from deltaarrow.statistics import (
    HeldStatistics,
    StatisticsCondition,
    comparisons_of,
    held,
    parse_statistics,
    skipping_sql,
)
from tests.support.file_model import PARTITION_COLUMNS, SCHEMA, VALUES, data_file, leaf_predicates, predicates

UNTOLD = "(NULL::MAP(VARCHAR, VARCHAR))"
BROKEN = [
    None,
    "",
    "{",
    "null",
    "[1]",
    "17",
    '"text"',
    "{}",
    '{"minValues": 3}',
    '{"numRecords":1,"minValues":{"l":',
]
ODD = [None, True, {"x": 1}, [1], "", "x", " 1", "1", "1e3", 1.5, 10**30, "2024-01-01", "NaN"]


def bent(random, text):
    """The text as another writer might write it, or one that is in error."""
    choice = random.randrange(10)
    if choice == 0 or text is None:
        return random.choice(BROKEN)
    if choice == 1:
        return text[: random.randrange(len(text))]
    if choice == 2:
        return text + random.choice(["}", " ", "{}", "x"])
    if choice == 3:
        return '{"numRecords":0,"minValues":{"l":-5},' + text[1:]
    if choice == 4:
        return text
    try:
        stats = json.loads(text)
    except json.JSONDecodeError:
        return text
    if choice == 5:
        counts = stats.pop("nullCount", None)
        stats["nullCounts"] = random.choice([counts, json.dumps(counts)])
    if choice == 6:
        members = stats.get(random.choice(["minValues", "maxValues", "nullCount"]), {})
        for name in random.sample(sorted(members), min(4, len(members))):
            members[name] = random.choice(ODD)
    if choice == 7:
        stats.pop(random.choice(sorted(stats)), None)
    names = random.sample(sorted(stats), len(stats))
    indent, ascii_only = random.choice([None, 1]), random.random() < 0.5
    return json.dumps({name: stats[name] for name in names}, indent=indent, ensure_ascii=ascii_only)


def table_of(texts):
    places = pa.array([3 * number + 1 for number in range(len(texts))], pa.int64())
    return pa.table({"place": places, "stats": pa.array(texts, pa.string())})


def condition_on(predicate, schema=SCHEMA, mode="none", partition_columns=PARTITION_COLUMNS):
    return functools.partial(
        skipping_sql, predicate, schema, mode, partition_columns, partition_values=UNTOLD
    )


def judged_one_by_one(table, condition, **statistics):
    sql = condition(**statistics) or "TRUE"
    with sandbox_cursor() as cursor:
        cursor.register("files", table)
        return sorted(
            cursor.sql(f"SELECT place FROM files WHERE {sql}").to_arrow_table()["place"].to_pylist()
        )


def left(statistics, table, condition, *, may_read=True):
    predicate, schema, mode, partition_columns = condition.args
    is_of_data = {path[0] for path in columns_of(predicate)}.isdisjoint(partition_columns)
    comparisons = comparisons_of(predicate, schema, mode) if is_of_data else None
    asked = StatisticsCondition(lambda told: condition(statistics=told), comparisons)
    with sandbox_cursor() as cursor:
        cursor.register("files", table)
        return statistics.left(cursor, lambda: "FROM files", asked, may_read=may_read)


def has_bounds_of_nothing(table, place):
    """Whether the statistics of a file count NULLs alone in a column, and say between what its values are."""
    parsed = parse_statistics(table.column("stats"), SCHEMA, "none", PARTITION_COLUMNS)
    stats = parsed.filter(pc.equal(table.column("place"), place)).to_pylist()[0]
    counts, bounds = stats["nullCount"] or {}, stats["minValues"] or {}
    return any(
        count == stats["numRecords"] and bounds.get(name) is not None
        for name, count in counts.items()
        if not isinstance(count, dict)
    )


def assert_alike(table, predicates, condition=condition_on, **statistics):
    parsed_type, has_json = statistics.get("stats_parsed_type"), statistics.get("stats", "stats") is not None
    few = HeldStatistics(parsed_type, has_json=has_json, has_few=True)
    many = HeldStatistics(parsed_type, has_json=has_json)
    for predicate in predicates:
        expected = judged_one_by_one(table, condition(predicate), **statistics)
        for each in (few, many):
            for may_read in (True, False):
                found = left(each, table, condition(predicate), may_read=may_read)
                if found is None:
                    continue
                assert found.of == table.num_rows
                if found.is_exact and each is few:
                    assert found.places.tolist() == expected, predicate
                elif found.is_exact:
                    more = set(found.places.tolist()) - set(expected)
                    assert set(found.places.tolist()) >= set(expected), predicate
                    assert all(has_bounds_of_nothing(table, place) for place in more), predicate
                else:
                    assert each is many
                    assert set(found.places.tolist()) >= set(expected), predicate


@pytest.mark.parametrize("path", [path for path in VALUES if path[0] not in PARTITION_COLUMNS], ids=".".join)
def test_conditions_on_a_column(path):
    random = Random(f"{path}")
    texts = [bent(random, data_file(random, [path]).stats) for _ in range(50)]
    table = table_of(texts)
    every = leaf_predicates(path)
    conditions = random.sample(every, min(len(every), 12))
    assert_alike(table, conditions)
    parsed = parse_statistics(table.column("stats"), SCHEMA, "none", PARTITION_COLUMNS)
    struct = parsed.to_struct_array().combine_chunks()
    table = table.append_column("stats_parsed", struct)
    for stats in ("stats", None):
        assert_alike(
            table, conditions[:4], stats=stats, stats_parsed="stats_parsed", stats_parsed_type=struct.type
        )


@given(predicates(), st.integers())
@settings(deadline=None, max_examples=25)
def test_combinations_of_conditions(predicate, seed):
    random = Random(seed)
    wanted = sorted(columns_of(predicate))
    assert_alike(table_of([bent(random, data_file(random, wanted).stats) for _ in range(20)]), [predicate])


COUNTED = [("l",), ("i",), ("tiny",), ("day",)]


@given(st.data())
@settings(deadline=None, max_examples=40)
def test_comparisons_of_integers_and_days_need_no_query(data):
    """Several of them, on one column or more, and bounds of any kind beside good ones."""
    random = Random(data.draw(st.integers()))
    paths = data.draw(st.lists(st.sampled_from(COUNTED), min_size=1, max_size=2, unique=True))
    leaves = [
        leaf
        for path in paths
        for leaf in leaf_predicates(path)
        if comparisons_of(leaf, SCHEMA, "none") is not None
    ]
    predicate = And(tuple(data.draw(st.lists(st.sampled_from(leaves), min_size=1, max_size=4))))
    assert comparisons_of(predicate, SCHEMA, "none") is not None
    assert_alike(table_of([bent(random, data_file(random, paths).stats) for _ in range(20)]), [predicate])


@pytest.mark.parametrize(
    "text",
    [
        "f > 1",
        "s = 'a'",
        "l <> 3",
        "l IS NULL",
        "l > 1 OR l < 0",
        "l > 1 AND s = 'a'",
        "l > 1.5",
        "ts > '2024-01-01'",
    ],
)
def test_what_is_more_than_that_is_asked_by_a_query(text):
    assert comparisons_of(from_sql(text), SCHEMA, "none") is None


def test_names_that_json_has_to_escape_and_mapped_ones():
    names = ["a/b", "c~d", 'say "so"', "back\\slash", "é", "a.b", "*", "0", "$.x"]
    inner = [Field(name, "long") for name in names]
    schema = Schema([*inner, Field("st", StructType(inner))])
    texts = []
    for number in range(12):
        values = {name: number + place for place, name in enumerate(names)}
        stats = {"numRecords": 1, "minValues": values | {"st": values}, "maxValues": values | {"st": values}}
        texts.append(json.dumps(stats, ensure_ascii=number % 2 == 0))
    paths = [*((name,) for name in names), *(("st", name) for name in names)]
    conditions = [Compare("=", Column(path), Literal(7)) for path in paths]
    assert_alike(table_of(texts), conditions, lambda each: condition_on(each, schema, "none", ()))
    mapped = Schema(
        [Field("a", "long", metadata={"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "é"})]
    )
    condition = condition_on(from_sql("a = 7"), mapped, "name", ())
    found = left(HeldStatistics(has_few=True), table_of(texts), condition)
    assert found.places.tolist() == judged_one_by_one(table_of(texts), condition) == [10]


def numbers(count):
    bounds = [{"minValues": {"l": n, "i": n}, "maxValues": {"l": n + 1, "i": n + 1}} for n in range(count)]
    return table_of([json.dumps({"numRecords": 1, "nullCount": {"l": 0}} | each) for each in bounds])


@pytest.fixture
def reads(monkeypatch):
    found = []
    read = HeldStatistics._read
    monkeypatch.setattr(
        HeldStatistics, "_read", lambda s, c, q, asked: found.append(asked) or read(s, c, q, asked)
    )
    return found


def test_what_is_held_is_not_read_again(reads):
    statistics, table = HeldStatistics(), numbers(10)
    conditions = [condition_on(from_sql(text)) for text in ("l = 5", "l > 2 AND l < 7", "l IN (1, 3)")]
    assert left(statistics, table, conditions[0], may_read=False) is None
    assert not reads
    for condition in conditions:
        found = left(statistics, table, condition)
        assert found.places.tolist() == judged_one_by_one(table, condition)
    assert [[each.what for each in asked] for asked in reads] == [["lower", "upper"]]
    left(statistics, table, condition_on(from_sql("l = 5 AND i = 5")))
    assert [each.path for each in reads[1]] == [("i",), ("i",)]
    for what in (IsNull(Column(("l",))), from_sql("l IS NOT NULL")):
        assert left(statistics, table, condition_on(what)).is_exact
    assert [[each.what for each in asked] for asked in reads[2:]] == [["null_count"], ["num_records"]]


def test_memory_is_bounded(reads, monkeypatch):
    statistics, table = HeldStatistics(), numbers(1000)
    monkeypatch.setattr(held, "_MOST_BYTES", 3 * 8_000 + 1_000)
    for text in ("l = 5", "l = 6", "i = 5", "l = 7"):
        assert len(left(statistics, table, condition_on(from_sql(text))).places) == 2
    assert len(reads) == 3
    assert statistics.nbytes <= 2 * 8_200
    # What is too large on its own is judged once, and no more.
    assert left(statistics, table, condition_on(from_sql("l = 5 AND i = 5"))) is not None
    assert left(statistics, table, condition_on(from_sql("l = 5 AND i = 5"))) is None


def test_files_that_are_others_than_before_are_not_told_of():
    statistics = HeldStatistics()
    assert left(statistics, numbers(10), condition_on(from_sql("l = 5"))) is not None
    assert left(statistics, numbers(9), condition_on(from_sql("i = 5"))) is None


def test_files_may_come_in_another_order():
    statistics, table = HeldStatistics(), numbers(10)
    backwards = table.take(list(range(9, -1, -1)))
    assert left(statistics, table, condition_on(from_sql("l = 5"))).places.tolist() == [13, 16]
    assert left(statistics, backwards, condition_on(from_sql("i = 5"))).places.tolist() == [13, 16]
    assert left(statistics, table, condition_on(from_sql("l = 5 AND i = 5"))).places.tolist() == [13, 16]
