"""Conditions on generated partition columns, derived from conditions on their source columns."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.expressions import TRUE, to_duckdb
from deltaarrow.schema import Field, Schema, to_arrow_type
from deltaarrow.spark_sql import derived_predicate, evaluate, parse_expression
from tests.support.conditions import predicate_of
from tests.support.duckdb_session import duckdb_session
from tests.support.examples import examples

pytestmark = pytest.mark.feature("generatedColumns")

UTC = dt.UTC
DAYS = [
    dt.date(1, 1, 1),
    dt.date(1582, 10, 10),
    dt.date(1999, 12, 31),
    dt.date(2024, 2, 29),
    dt.date(9999, 12, 31),
]
TIMES = [
    dt.datetime(1, 1, 2),
    dt.datetime(1999, 12, 31, 23, 59, 59, 999_999),
    dt.datetime(2000, 1, 1),
    dt.datetime(2024, 2, 29, 5, 30),
    dt.datetime(2024, 3, 31, 1, 30),
    dt.datetime(9999, 12, 30),
]
TEXTS = ["", "a", "ab", "abc", "Abd", "é", "👍x", "\uffff", "2024-02-29"]
SOURCES = {
    "i": ("integer", [-(2**31), -7, -1, 0, 1, 7, 99, 2**31 - 1]),
    "d": ("date", DAYS),
    "z": ("timestamp_ntz", TIMES),
    "t": ("timestamp", [time.replace(tzinfo=UTC) for time in TIMES]),
    "s": ("string", TEXTS),
    "m": ("decimal(5,2)", [Decimal("-1.50"), Decimal("0.00"), Decimal("1.25")]),
}
EXPRESSIONS = {
    "i": ["i", "i % 10", "i * 2", "abs(i)", "i div 3", "CAST(i AS BIGINT)", "i IS NULL", "coalesce(i, 7)"],
    "d": [
        "d",
        "year(d)",
        "month(d)",
        "trunc(d, 'MM')",
        "last_day(d)",
        "date_format(d, 'yyyy-MM')",
        "CAST(d AS STRING)",
    ],
    "z": ["CAST(z AS DATE)", "year(z)", "hour(z)", "date_format(z, 'yyyy-MM-dd')", "CAST(z AS STRING)", "z"],
    "t": [
        "CAST(t AS DATE)",
        "year(t)",
        "month(t)",
        "hour(t)",
        "date_format(t, 'yyyy-MM-dd-HH')",
        "date_format(t, 'MM-yyyy')",
        "trunc(t, 'YEAR')",
        "CAST(date_trunc('HOUR', t) AS DATE)",
        "date_trunc('DAY', t)",
        "t IS NULL",
        "t",
    ],
    "s": ["s", "substring(s, 1, 2)", "substring(s, 2, 1)", "left(s, 1)", "trim(s)", "length(s)", "s = 'a'"],
    "m": ["m", "floor(m)", "m * 2"],
}
CASES = [(name, text) for name, texts in EXPRESSIONS.items() for text in texts]
ZONES = [dt.timedelta(hours=hours) for hours in (-18, -8, 0, 5.5, 14, 18)]


def literal(value):
    if isinstance(value, dt.datetime) and value.tzinfo is None:
        return f"'{value.isoformat(sep=' ')}'"
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    return (
        f"DATE '{value}'"
        if isinstance(value, dt.date)
        else repr(value)
        if isinstance(value, str)
        else str(value)
    )


def generated(name, values, text, zone):
    """What a writer whose session is in another zone computes, as partition values are stored."""
    data_type = SOURCES[name][0]
    array = pa.array(values, to_arrow_type(Field(name, data_type).type))
    if data_type == "timestamp":
        if text == "t":
            return array
        array = pa.array([None if each is None else each + zone for each in values], array.type)
    expression = parse_expression(text, Schema([Field(name, data_type)]))
    found = evaluate(expression, pa.record_batch({name: array}))
    return pa.array([None if each == "" else each for each in found.to_pylist()], found.type)


def table_schema(name, text):
    source = Field(name, SOURCES[name][0])
    made = Field(
        "p", parse_expression(text, Schema([source])).type, metadata={"delta.generationExpression": text}
    )
    return Schema([source, made])


@pytest.mark.parametrize(("name", "text"), CASES)
def test_no_row_is_hidden(name, text):
    schema = table_schema(name, text)
    values = [*SOURCES[name][1], None]
    safe = [
        value
        for value in values
        if not (text == "i * 2" and value and abs(value) > 2**30) and value != -(2**31)
    ]
    conditions = [
        f"{name} {op} {literal(each)}"
        for op in ("=", "<", "<=", ">", ">=", "!=")
        for each in safe
        if each is not None
    ]
    conditions += [f"{name} IS NULL", f"{name} IS NOT NULL", f"NOT ({conditions[0]})"]
    conditions += [
        f"{name} IN ({literal(safe[0])}, {literal(safe[1])})",
        f"{conditions[1]} OR {name} IS NULL",
    ]
    conditions += [f"{conditions[7]} AND {conditions[2]}", f"{conditions[0]} OR p IS NULL"]
    zones = ZONES if name == "t" else ZONES[2:3]
    usual = [each for each in safe if name != "t" or each is None or 1 < each.year < 9999]
    column = pa.array(usual, to_arrow_type(schema.field(name).type))
    rows = pa.concat_tables(
        [pa.table({name: column, "p": generated(name, usual, text, zone)}) for zone in zones]
    )
    con = duckdb_session()
    con.execute("SET TimeZone = 'UTC'")
    con.register("rows", rows)
    predicates = [predicate_of(each, schema) for each in conditions]
    derived = [derived_predicate(each, schema, ["p"]) for each in predicates]
    hidden = con.sql(
        "SELECT "
        + ", ".join(
            f"count_if(({to_duckdb(predicate)}) AND ({to_duckdb(found)}) IS NOT TRUE)"
            for predicate, found in zip(predicates, derived, strict=True)
        )
        + " FROM rows"
    ).fetchall()[0]
    for condition, found, count in zip(conditions, derived, hidden, strict=True):
        assert count == 0, (condition, found)
    derived_some = any(found != TRUE for found in derived)
    undecided = {"date_trunc('DAY', t)", "t"}
    assert derived_some == (text not in undecided)


CALENDARS = {
    "t": ["year(t)", "month(t)", "day(t)", "hour(t)"],
    "z": ["extract(YEAR FROM z)", "month(CAST(z AS DATE))", "dayofmonth(z)", "hour(z)"],
    "d": ["year(d)", "month(d)", "day(d)"],
}
STEPS = [dt.timedelta(hours=hours) for hours in (0, 1, 17, 24, 24 * 31)]


def parts_of(time, count):
    return (time.year, time.month, time.day, time.hour)[:count]


@settings(deadline=None, max_examples=examples(20))
@given(
    name=st.sampled_from(list(CALENDARS)),
    count=st.integers(2, 4),
    op=st.sampled_from(["=", "<", "<=", ">", ">="]),
    bound=st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2500, 1, 1)),
    others=st.lists(st.datetimes(dt.datetime(1650, 1, 1), dt.datetime(2600, 1, 1)), max_size=9),
)
def test_year_month_day_and_hour_are_one_condition(name, count, op, bound, others):
    """It hides no row, and keeps no partition but those on the right side of the bound, and NULL."""
    count = min(count, len(CALENDARS[name]))
    if name == "d":
        bound = dt.datetime.combine(bound.date(), dt.time())
    moved = dt.timedelta(hours=18) if name == "t" else dt.timedelta(0)
    least, most = parts_of(bound - moved, count), parts_of(bound + moved, count)
    rows, kept = [], []
    for time in [*others, *(bound + sign * step for step in STEPS for sign in (-1, 1))]:
        for zone in ZONES if name == "t" else [dt.timedelta(0)]:
            parts = parts_of(time + zone, count)
            is_after, is_before = op in ("<", "<=") or parts >= least, op in (">", ">=") or parts <= most
            rows += [(time, *parts), (time, *parts[:-1], None)]
            kept += [is_after and is_before, None]
    values = [time.date() if name == "d" else time for time, *_ in rows]
    columns = {f"p{place}": pa.array([row[place + 1] for row in rows], pa.int32()) for place in range(count)}
    arrow_type = to_arrow_type(Field(name, SOURCES[name][0]).type)
    table = pa.table({name: pa.array(values, arrow_type), **columns, "kept": kept})
    made = [
        Field(column, "integer", metadata={"delta.generationExpression": text})
        for column, text in zip(columns, CALENDARS[name], strict=False)
    ]
    schema = Schema([Field(name, SOURCES[name][0]), *made])
    value = bound.date() if name == "d" else bound.replace(tzinfo=UTC) if name == "t" else bound
    predicate = predicate_of(f"{name} {op} {literal(value)}", schema)
    found = derived_predicate(predicate, schema, list(columns)[::-1])
    with duckdb_session() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("rows", table)
        meets, is_kept = to_duckdb(predicate), f"(({to_duckdb(found)}) IS TRUE)"
        assert not connection.sql(f"SELECT * FROM rows WHERE ({meets}) AND NOT {is_kept}").fetchall()
        assert not connection.sql(f"SELECT * FROM rows WHERE {is_kept} <> kept").fetchall()


def test_nothing_is_said_of_what_is_not_known():
    schema = Schema(
        [
            Field("f", "double"),
            Field("a", "long"),
            Field("b", "long"),
            Field("p", "double", metadata={"delta.generationExpression": "f * 2"}),
            Field("q", "long", metadata={"delta.generationExpression": "a + b"}),
            Field("r", "long", metadata={"delta.generationExpression": "my_udf(a)"}),
            Field("v", "long", metadata={"delta.generationExpression": "1000 div a"}),
        ]
    )
    for condition in (
        "f = 0",
        "a = 5",
        "a = 5 AND b = 2",
        "a > 5",
        "a = 0",
        "a IN (0, 1)",
        "a = b",
        "a != 5",
    ):
        found = derived_predicate(predicate_of(condition, schema), schema, ["p", "q", "r"])
        assert found == TRUE, condition
    assert derived_predicate(predicate_of("a = 0", schema), schema, ["v"]) == TRUE
    assert derived_predicate(predicate_of("a = 1", schema), schema, ["v"]) != TRUE


@pytest.mark.parametrize("mapping", ["none", "name"])
def test_files_are_left_out_without_statistics(tmp_path, mapping):
    schema = Schema(
        [
            Field("id", "long"),
            Field("at", "timestamp"),
            Field("day", "date", metadata={"delta.generationExpression": "CAST(at AS DATE)"}),
            Field("bucket", "long", metadata={"delta.generationExpression": "id % 3"}),
        ]
    )
    properties = {"delta.dataSkippingNumIndexedCols": "0", "delta.columnMapping.mode": mapping}
    DeltaTable.create(tmp_path, schema, partition_by=["day", "bucket"], configuration=properties)
    times = [dt.datetime(2026, 1, day, 12, tzinfo=UTC) for day in (1, 10, 20)] + [None]
    rows = pa.table(
        {"id": pa.array([0, 1, 2, 3], pa.int64()), "at": pa.array(times, pa.timestamp("us", "UTC"))}
    )
    write_deltalake(tmp_path, rows, mode="append")
    snapshot = DeltaTable(tmp_path).snapshot

    def files(condition):
        return snapshot.files(predicate_of(condition, snapshot.schema)).num_rows

    assert files("id = 7") == 1
    assert files("id > 1") == 4
    # Partitions that are NULL stay in, since it may be that the writer could not compute them.
    assert files("at > TIMESTAMP '2026-01-15 00:00:00Z'") == 2
    assert files("at = TIMESTAMP '2026-01-10 12:00:00Z' OR id = 2") == 3
    assert files("at IS NULL") == 1
    found = DeltaTable(tmp_path).to_pyarrow_table(filters=[("at", "<=", times[1])])
    assert sorted(found["id"].to_pylist()) == [0, 1]


def test_year_month_and_day_leave_files_out_together(tmp_path):
    parts = {"y": "year(at)", "m": "month(at)", "d": "day(at)"}
    made = [Field(name, "integer", metadata={"delta.generationExpression": parts[name]}) for name in parts]
    schema = Schema([Field("id", "long"), Field("at", "timestamp"), *made])
    properties = {"delta.dataSkippingNumIndexedCols": "0"}
    DeltaTable.create(tmp_path, schema, partition_by=["d", "m", "y"], configuration=properties)
    days = [(2025, 12, 31), (2026, 1, 1), (2026, 1, 20), (2026, 2, 10), (2026, 11, 1), (2027, 1, 1)]
    times = pa.array([dt.datetime(*day, 12, tzinfo=UTC) for day in days], pa.timestamp("us", "UTC"))
    write_deltalake(tmp_path, pa.table({"id": range(len(days)), "at": times}), mode="append")
    snapshot = DeltaTable(tmp_path).snapshot

    def files(condition):
        return snapshot.files(predicate_of(condition, snapshot.schema)).num_rows

    assert files("at >= TIMESTAMP '2026-01-25 00:00:00Z'") == 3
    assert files("at < TIMESTAMP '2026-01-10 00:00:00Z'") == 2
    assert files("at BETWEEN TIMESTAMP '2026-01-10 00:00:00Z' AND TIMESTAMP '2026-03-01 00:00:00Z'") == 2
    assert files("at = TIMESTAMP '2026-02-10 12:00:00Z'") == 1
    found = DeltaTable(tmp_path).to_pyarrow_table(filters=[("at", ">", dt.datetime(2026, 1, 25, tzinfo=UTC))])
    assert sorted(found["id"].to_pylist()) == [3, 4, 5]
