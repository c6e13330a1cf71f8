"""Time zones by name, and expressions in a session time zone; `sql/functions/time_zones.sql` has Spark's."""

import datetime
import random
import zoneinfo

import pyarrow as pa
import pytest

from deltaarrow.compute import sandbox_cursor
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.expressions import Compare, Literal, Opaque, columns_of
from deltaarrow.expressions.predicates import Column
from deltaarrow.schema import Field, PrimitiveType, Schema
from deltaarrow.spark_sql import (
    DefaultColumn,
    GeneratedColumn,
    derived_predicate,
    evaluate,
    in_time_zone,
    parse_condition,
    parse_expression,
    parse_time_zone,
)

BERLIN = parse_time_zone("Europe/Berlin")
SCHEMA = Schema([Field("ts", "timestamp"), Field("n", "timestamp_ntz"), Field("d", "date")])


def time(text):
    return datetime.datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("name", "offset"),
    [
        *(("UTC", 0), ("Z", 0), ("GMT", 0), ("UT", 0), ("GMT+0", 0), ("+00:00", 0), ("-00", 0)),
        *(("+2", 7200), ("+02", 7200), ("+02:30", 9000), ("+0230", 9000), ("+2:30", 9000), ("+02:5", 7500)),
        *(("-08:00", -28800), ("UTC+1", 3600), ("GMT-01:30", -5400), ("UT+3", 10800), ("+18:00", 64800)),
        *(("+01:02:03", 3723), ("+010203", 3723), ("EST", -18000)),
    ],
)
def test_offset(name, offset):
    zone = parse_time_zone(name)
    assert (zone.name, zone.region, zone.offset) == (name, None, offset)


def test_region():
    assert parse_time_zone("America/Argentina/Buenos_Aires").region == "America/Argentina/Buenos_Aires"
    assert (parse_time_zone("PST").region, parse_time_zone("PST").name) == ("America/Los_Angeles", "PST")


@pytest.mark.parametrize(
    "name",
    [
        *("", "utc", "europe/berlin", "Nowhere/City", "LOCAL", "+18:01", "+19", "+130", "+01:60", "01:00"),
        *("UTC0", "+01:0203", "Factory", "PST8PDT", "SystemV/EST5", "x' OR 1", "+١"),
    ],
)
def test_no_zone(name):
    with pytest.raises(ValueError, match="a region such as"):
        parse_time_zone(name)


def test_names_by_which_times_are_shown():
    names = ["Europe/Berlin", "UTC", "+02:00", "-11:00", "+05:30", "+15:00", "-13"]
    shown = ["Europe/Berlin", "UTC", "Etc/GMT-2", "Etc/GMT+11", "UTC", "UTC", "UTC"]
    assert [parse_time_zone(name).known_name for name in names] == shown
    for name in shown:
        assert zoneinfo.ZoneInfo(name)


@pytest.mark.parametrize(
    ("name", "local", "point"),
    [
        ("Europe/Berlin", "2024-07-01 12:00:00", "2024-07-01 10:00:00"),
        ("Europe/Berlin", "2024-03-31 02:30:00", "2024-03-31 01:30:00"),  # left out
        ("Europe/Berlin", "2024-10-27 02:30:00", "2024-10-27 00:30:00"),  # comes twice
        ("Europe/Berlin", "2024-10-27 03:00:00", "2024-10-27 02:00:00"),
        ("Europe/Berlin", "1893-03-31 23:59:59", "1893-03-31 23:06:31"),  # mean time
        ("Europe/Berlin", "0001-01-02 00:00:00", "0001-01-01 23:06:32"),
        ("Europe/Berlin", "9999-12-31 23:59:59.999999", "9999-12-31 22:59:59.999999"),
        ("America/St_Johns", "2000-01-01 00:00:00", "2000-01-01 03:30:00"),
        ("Australia/Lord_Howe", "2024-04-07 01:45:00", "2024-04-06 14:45:00"),  # half an hour comes twice
        ("Pacific/Apia", "2011-12-30 12:00:00", "2011-12-30 22:00:00"),  # a day is left out
        ("America/Juneau", "1867-10-18 12:00:00", "1867-10-17 20:57:41"),  # a day comes twice
        ("+05:30", "2024-07-01 12:00:00", "2024-07-01 06:30:00"),
        ("-08:00", "1582-10-10 12:00:00", "1582-10-10 20:00:00"),
    ],
)
def test_point_in_time(name, local, point):
    zone = parse_time_zone(name)
    assert zone.point_in_time_of(time(local)) == time(point)
    if "02:30" not in local and "Apia" not in name:
        assert zone.local_time_of(time(point)) == time(local)


@pytest.mark.parametrize("name", ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Africa/Monrovia"])
def test_times_of_a_century_are_those_of_python(name):
    """Python takes the first of two points in time and the offset before a gap, too."""
    chosen = random.Random(7)
    first = time("1930-01-01").timestamp()
    times = [
        datetime.datetime.fromtimestamp(first + 900 * chosen.randrange(3_750_000), datetime.UTC).replace(
            tzinfo=None
        )
        for _ in range(2000)
    ]
    region = zoneinfo.ZoneInfo(name)
    zone = parse_time_zone(name)
    rows = pa.table({"t": pa.array(times, pa.timestamp("us"))})
    with sandbox_cursor() as cursor:
        cursor.register("times", rows)
        sql = f"SELECT {zone.local_time('t')}, {zone.point_in_time('t')} FROM times"
        found = cursor.execute(sql).fetchall()
    utc = datetime.UTC
    wanted = [
        (
            each.replace(tzinfo=utc).astimezone(region).replace(tzinfo=None),
            each.replace(tzinfo=region).astimezone(utc).replace(tzinfo=None),
        )
        for each in times
    ]
    assert found == wanted


def test_start_of_day():
    sao_paulo = parse_time_zone("America/Sao_Paulo")
    assert sao_paulo.start_of_day_of(datetime.date(2018, 11, 4)) == time("2018-11-04 03:00:00")
    assert sao_paulo.start_of_day_of(datetime.date(2018, 11, 5)) == time("2018-11-05 02:00:00")
    assert parse_time_zone("+02:00").start_of_day_of(datetime.date(2024, 1, 1)) == time("2023-12-31 22:00:00")
    with pytest.raises(ValueError, match="midnight that was left out"):
        parse_time_zone("America/Toronto").start_of_day_of(datetime.date(1919, 3, 31))


def test_time_outside_the_years_is_refused():
    with pytest.raises(ValueError, match="years 1 to 9999"):
        BERLIN.point_in_time_of(time("0001-01-01"))
    with in_time_zone(BERLIN):
        expression = parse_expression("CAST(n AS TIMESTAMP)", SCHEMA)
    batch = rows(n=time("0001-01-01"))
    with pytest.raises(UnsupportedFeatureError, match="years 1 to 9999"):
        evaluate(expression, batch)


def rows(ts=None, n=None, d=None):
    return pa.RecordBatch.from_arrays(
        [
            pa.array([ts], pa.timestamp("us", "UTC")),
            pa.array([n], pa.timestamp("us")),
            pa.array([d], pa.date32()),
        ],
        names=["ts", "n", "d"],
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("hour(ts)", 0),
        ("CAST(ts AS DATE)", datetime.date(2024, 7, 2)),
        ("CAST(ts AS STRING)", "2024-07-02 00:30:00"),
        ("CAST(ts AS TIMESTAMP_NTZ)", time("2024-07-02 00:30:00")),
        ("CAST(n AS TIMESTAMP)", time("2024-03-31 01:30:00+00:00")),
        ("CAST(d AS TIMESTAMP)", time("2024-03-30 23:00:00+00:00")),
        ("TIMESTAMP '2024-07-01 12:00:00'", time("2024-07-01 10:00:00+00:00")),
        ("TIMESTAMP '2024-07-01 12:00:00 +05:00'", time("2024-07-01 07:00:00+00:00")),
        ("ts < '2024-07-02 00:30:01' AND ts >= '2024-07-02 00:30:00'", True),
        ("ts + INTERVAL 1 DAY", time("2024-07-02 22:30:00+00:00")),
        ("date_trunc('month', ts)", time("2024-06-30 22:00:00+00:00")),
        ("current_timezone()", "Europe/Berlin"),
        ("current_date()", datetime.date(1970, 1, 2)),
        ("localtimestamp()", time("1970-01-02 00:30:00")),
        ("try_cast('2024-07-01 12:00:00' AS TIMESTAMP)", time("2024-07-01 10:00:00+00:00")),
        ("try_cast(concat('2024-07-01 12:00:00', '+05:00') AS TIMESTAMP)", time("2024-07-01 07:00:00+00:00")),
        ("try_cast('x' AS TIMESTAMP)", None),
        ("to_json(struct(ts))", '{"ts":"2024-07-02T00:30:00.000+02:00"}'),
        ("to_json(array(TIMESTAMP '1880-01-01'))", '["1880-01-01T00:00:00.000+00:53:28"]'),
        ("sequence(n, CAST(n AS TIMESTAMP) + INTERVAL 1 DAY)[1]", time("2024-04-01 01:30:00+00:00")),
    ],
)
def test_value_in_a_time_zone(text, value):
    batch = rows(time("2024-07-01 22:30:00+00:00"), time("2024-03-31 02:30:00"), datetime.date(2024, 3, 31))
    with in_time_zone(BERLIN):
        expression = parse_expression(text, SCHEMA, is_stored=False)
    # The zone of the text counts, not that of the moment when it is computed.
    assert evaluate(expression, batch, clock=lambda: (23 * 60 + 30) * 60_000).to_pylist() == [value]


def test_names_of_time_zones_in_literals():
    for text, hour in (("Europe/Paris", 10), ("PST", 19), ("UTC+1", 11), ("GMT", 12)):
        expression = parse_expression(f"TIMESTAMP '2024-07-01 12:00:00 {text}'", SCHEMA)
        assert evaluate(expression, rows()).to_pylist() == [time(f"2024-07-01 {hour}:00:00+00:00")]
    for text in ("12:00 Europe/Paris", "12:00:00 Nowhere/City"):
        with pytest.raises(UnsupportedFeatureError, match="not a TIMESTAMP"):
            parse_expression(f"TIMESTAMP '2024-07-01 {text}'", SCHEMA)


def test_local_dates_choose_no_files_by_points_in_time():
    text = "CAST(ts AS TIMESTAMP_NTZ) > TIMESTAMP_NTZ '2024-07-02' AND CAST(d AS TIMESTAMP) < '2024-07-02'"
    assert not any(isinstance(each, Opaque) for each in parse_condition(text, SCHEMA).predicate.operands)
    with in_time_zone(BERLIN):
        condition = parse_condition(text, SCHEMA)
    assert all(isinstance(each, Opaque) for each in condition.predicate.operands)
    batch = rows(time("2024-07-01 22:30:00+00:00"), None, datetime.date(2024, 7, 1))
    assert condition.select(batch).num_rows == 1


def test_partitions_of_generated_columns_are_chosen_for_all_time_zones():
    day = Field("day", "date", metadata={"delta.generationExpression": "CAST(ts AS DATE)"})
    schema = Schema([Field("ts", "timestamp"), day])
    wanted = Compare(">=", Column(("ts",)), Literal(time("2024-07-01 12:00:00+00:00")))
    usual = derived_predicate(wanted, schema, ["day"])
    assert columns_of(usual) == {("day",)}
    with in_time_zone(BERLIN):
        assert derived_predicate(wanted, schema, ["day"]) == usual


def test_default_has_the_time_zone_in_which_it_was_read():
    with in_time_zone(BERLIN):
        column = DefaultColumn("ts", PrimitiveType("timestamp"), "TIMESTAMP '2024-07-01 12:00:00'")
    assert column.value().as_py() == time("2024-07-01 10:00:00+00:00")


def test_generated_column_has_the_time_zone_in_which_it_was_read():
    with in_time_zone(BERLIN):
        column = GeneratedColumn("day", PrimitiveType("date"), parse_expression("ts", SCHEMA))
    values = evaluate(column.values(), rows(time("2024-07-01 22:30:00+00:00")))
    assert values.to_pylist() == [datetime.date(2024, 7, 2)]
