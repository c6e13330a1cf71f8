"""Expressions over timestamps in many time zones, around the days on which clocks change, as in Spark."""

import datetime
import random
import zoneinfo

import pytest

import deltaarrow

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ZONES = (
    *("Europe/Berlin", "America/St_Johns", "America/Sao_Paulo", "Pacific/Apia", "Asia/Kolkata"),
    *("Australia/Lord_Howe", "Africa/Monrovia", "PST", "UTC-08:30", "UTC"),
)
POINT = "TIMESTAMP '2024-03-31 12:00:00'"
SECONDS = "yyyy-MM-dd HH:mm:ss"
PARTS = "year(n), month(n), day(n), hour(n), minute(n), second(n)"
EXPRESSIONS = (
    *("ts", "CAST(ts AS DATE)", "CAST(ts AS TIMESTAMP_NTZ)", "CAST(n AS TIMESTAMP)", "CAST(d AS TIMESTAMP)"),
    *("CAST(t AS TIMESTAMP)", "CAST(tz AS TIMESTAMP)", "try_cast(t AS TIMESTAMP)", "CAST(ts AS DOUBLE)"),
    *("try_cast(tz AS TIMESTAMP)", "CAST(k AS TIMESTAMP)", "CAST(CAST(ts AS STRING) AS TIMESTAMP)"),
    *("CAST(array(ts) AS STRING)", "transform(array(ts), x -> hour(x))", "map('a', ts)['a']"),
    *("element_at(CAST(array(d) AS ARRAY<TIMESTAMP>), 1)", "CAST(ts AS STRING)"),
    *(f"{part}(ts)" for part in ("year", "quarter", "month", "day", "dayofweek", "dayofyear", "weekofyear")),
    *("hour(ts)", "minute(ts)", "second(ts)", "hour(n)", "hour(d)", "hour(t)", "extract(SECOND FROM ts)"),
    *(f"date_trunc('{unit}', ts)" for unit in ("year", "quarter", "month", "week", "day", "hour", "minute")),
    *("date_trunc('second', ts)", "date_trunc('hour', n)", "trunc(ts, 'month')", "to_timestamp(t)"),
    *(f"{name}(t, '{SECONDS}')" for name in ("to_timestamp", "to_timestamp_ntz", "unix_timestamp")),
    f"to_date(t, '{SECONDS}')",
    *(f"try_to_timestamp(t, '{SECONDS}')", f"date_format(n, '{SECONDS}')", f"date_format(d, '{SECONDS}')"),
    *(f"date_format(ts, '{SECONDS}.SSSSSS E D a h')", "unix_timestamp(t)", "unix_timestamp(n)"),
    *("unix_timestamp(ts)", "unix_timestamp(d)", "from_unixtime(unix_seconds(ts))", "last_day(ts)"),
    *(f"make_timestamp({PARTS})", f"make_timestamp({PARTS}, 'America/Los_Angeles')", "date_add(ts, k)"),
    *(f"timestampadd({unit}, k, ts)" for unit in ("SECOND", "DAY", "WEEK", "MONTH", "QUARTER")),
    *("timestampadd(HOUR, k * 25, ts)", "timestampadd(DAY, k, n)", "timestampadd(YEAR, 1, ts)"),
    *(f"timestampdiff({unit}, ts, {POINT})" for unit in ("SECOND", "HOUR", "DAY", "MONTH", "YEAR")),
    *(f"ts + INTERVAL {length}" for length in ("1 DAY", "24 HOURS", "25 HOURS", "1 MONTH", "30 MINUTES")),
    *(f"ts - INTERVAL {length}" for length in ("1 DAY", "1 YEAR", "'1 02:03:04' DAY TO SECOND")),
    *("n + INTERVAL 1 DAY", "d + INTERVAL 5 HOURS", f"months_between(ts, {POINT})", "months_between(ts, d)"),
    *("datediff(ts, d)", "add_months(ts, k)", "next_day(ts, 'MO')", "dayname(ts)", "unix_date(to_date(ts))"),
    *("from_utc_timestamp(ts, 'America/Los_Angeles')", "to_utc_timestamp(ts, 'America/Los_Angeles')"),
    *("convert_timezone('America/Los_Angeles', 'Asia/Kolkata', n)", "convert_timezone('Asia/Kolkata', ts)"),
    *("ts = n", "ts < d", "ts > t", "n = t", "d < ts", "ts BETWEEN '2024-01-01' AND '2024-12-31 05:00:00'"),
    *(f"sequence(ts, ts + INTERVAL {length})" for length in ("3 DAYS", "5 MONTHS, INTERVAL 1 MONTH")),
    *("sequence(ts, ts - INTERVAL 50 HOURS, INTERVAL -7 HOURS)", "to_json(struct(ts, n, d))"),
    *("TIMESTAMP '2024-10-27 02:30:00 Europe/Paris'", "TIMESTAMP '2024-07-01 12:00:00 UTC+1'"),
    *("coalesce(ts, d)", "greatest(ts, d)", "concat('x', ts)", "current_timezone()"),
    *("TIMESTAMP '2024-10-27 02:30:00'", "TIMESTAMP '2024-03-31 02:30:00'", "TIMESTAMP '1883-01-01'"),
)
EPOCH = datetime.datetime(1970, 1, 1)
SECOND = datetime.timedelta(seconds=1)


def times_of_change(name):
    """A few points in time at which clocks changed, as local times of UTC."""
    short = {"PST": "America/Los_Angeles", "UTC-08:30": "UTC"}
    zone = zoneinfo.ZoneInfo(short.get(name, name))
    first = datetime.datetime(1880, 1, 1, tzinfo=datetime.UTC)
    days = [first + datetime.timedelta(days=day) for day in range(150 * 366)]
    offsets = [day.astimezone(zone).utcoffset() for day in days]
    changed = [place for place in range(1, len(days)) if offsets[place] != offsets[place - 1]]
    chosen = random.Random(3)
    for place in [*changed[:2], *chosen.sample(changed, min(len(changed), 6))]:
        before, after = days[place - 1], days[place]
        while after - before > SECOND:
            between = before + (after - before) // 2
            is_later = between.astimezone(zone).utcoffset() == offsets[place]
            before, after = (before, between) if is_later else (between, after)
        change = after.replace(tzinfo=None, microsecond=0)
        for offset in (datetime.timedelta(), offsets[place - 1], offsets[place]):
            yield change + offset


def rows(name):
    """Rows of a number, a time, a text of it, of its day and of an offset, and a small number."""
    found = {datetime.datetime(year, 7, 2, 3, 4, 5) for year in (2, 1581, 1583, 1899, 1970, 2024, 2038, 9997)}
    for change in times_of_change(name):
        for hours in (-744, -24, -1, -0.5, 0, 0.5, 1, 2, 24):
            found.add(change + datetime.timedelta(hours=hours))
        found.add(change - SECOND)
    return [
        (
            place,
            int((time - EPOCH) / SECOND) * 1_000_000 + place % 3 * 123_457,
            str(time),
            str(time.date()),
            ("+02:00", "-08:30", "Z", "UTC")[place % 4],
            place % 5 - 2,
        )
        for place, time in enumerate(sorted(found))
    ]


COLUMNS = "i, {made} AS ts, CAST(t AS TIMESTAMP_NTZ) AS n, CAST(d AS DATE) AS d, t, t || z AS tz, k"


@pytest.mark.parametrize("zone", ZONES)
def test_values_are_those_of_spark(spark, zone):
    data = rows(zone)
    spark.createDataFrame(data, "i INT, us LONG, t STRING, d STRING, z STRING, k INT").selectExpr(
        *COLUMNS.format(made="timestamp_micros(us)").split(", ")
    ).createOrReplaceTempView("zoned_times")
    listed = ", ".join(f"{text} AS c{place}" for place, text in enumerate(EXPRESSIONS))
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        wanted = spark.sql(f"SELECT {listed} FROM zoned_times ORDER BY i").toArrow()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        spark.catalog.dropTempView("zoned_times")
    with deltaarrow.connect(dialect="spark") as con:
        con.connection.execute("CREATE TABLE given (i INT, us BIGINT, t TEXT, d TEXT, z TEXT, k INT)")
        con.connection.executemany("INSERT INTO given VALUES (?, ?, ?, ?, ?, ?)", data)
        columns = COLUMNS.format(made="make_timestamptz(us)").replace("TIMESTAMP_NTZ", "TIMESTAMP")
        con.connection.execute(f"CREATE TABLE zoned_times AS SELECT {columns} FROM given")
        con.sql(f"SET TIME ZONE '{zone}'")
        # Python compares times in UTC alone by the point in time.
        con.connection.execute("SET TimeZone = 'UTC'")
        problems = []
        for place, text in enumerate(EXPRESSIONS):
            found = con.sql(f"SELECT {text} AS c FROM zoned_times ORDER BY i").to_arrow_table()["c"]
            pairs = zip(data, wanted[f"c{place}"].to_pylist(), found.to_pylist(), strict=True)
            problems += [(text, *each) for each in pairs if each[1] != each[2]]
    assert problems == []
