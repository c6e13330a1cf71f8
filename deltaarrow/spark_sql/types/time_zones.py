"""The session time zone, and the SQL between points in time and local times.

Inside expressions a ``timestamp`` is a point in time, held as the local time of UTC, and a
``timestamp_ntz`` is a local time. Whatever Spark computes in the session time zone is a computation with
local times between two conversions. `TimeZone` has these conversions, by the rules of Java:

====================  ==================================================================================
local time            of a point in time; before the first rule of a region, the local mean time
point in time         of a local time that comes twice, the first; of one that is left out, as much
                      later as the clocks went forward
start of a day        midnight; if it is left out, the first time after it
====================  ==================================================================================

DuckDB knows the rules of regions. Where it takes the second of two points in time, the SQL looks for the
first one: clocks never went back by more than a day.
"""

import contextlib
import datetime
import functools
import re
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from deltaarrow.compute import quote_literal, sandbox_cursor
from deltaarrow.schema import DataType
from deltaarrow.spark_sql.tree.forms import let
from deltaarrow.spark_sql.tree.nodes import refused
from deltaarrow.spark_sql.types.type_rules import TIMESTAMP

__all__ = [
    "MOST_OFFSET",
    "UTC",
    "TimeZone",
    "ensure_utc",
    "in_time_zone",
    "local_time_zone",
    "offset_name",
    "parse_time_zone",
    "session_time_zone",
    "zone_of",
]

_OUTSIDE = "error('unsupported: a time outside the years 1 to 9999')"
_OTHER_CALENDAR = "error('unsupported: the Calendar of DuckDB, which is not gregorian,')"
_NO_MIDNIGHT = "error('unsupported: a day whose midnight the clocks left out')"
_DAY = 24 * 3_600_000_000
_MORE_THAN_A_DAY = 25 * 3_600_000_000
MOST_OFFSET = 18 * 3600
"""The most seconds by which a time zone is ahead of UTC or behind it."""

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(?:(\d)|(\d\d)(?:(:?)(\d\d)(?:\4(\d\d))?)?)", re.ASCII)
_SHORT_HOUR = re.compile(r"([+-])(\d):", re.ASCII)
_SHORT_MINUTE = re.compile(r"([+-]\d\d):(\d)$", re.ASCII)
_ZERO = ("Z", "UTC", "GMT", "UT")
_SHORT_NAMES = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "-05:00",
    "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "-07:00",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
"""The names of three letters that Java knows."""

_NO_REGIONS = frozenset(
    (
        *("Canada/East-Saskatchewan", "Factory", "ROC", "US/Pacific-New"),
        *("CST6CDT", "EST5EDT", "MST7MDT", "PST8PDT"),
    )
)
"""Names that Java does not know, and names that had other rules before 1967 in some releases of the rules."""


@dataclass(frozen=True, slots=True)
class TimeZone:
    """A time zone.

    Args:
        name: as the user wrote it.
        region: the name of its rules; None if it is an offset.
        offset: the seconds by which an offset is ahead of UTC.
    """

    name: str
    region: str | None = None
    offset: int = 0

    @property
    def is_utc(self) -> bool:
        """Whether points in time and local times are the same."""
        return self.region is None and not self.offset

    @property
    def known_name(self) -> str:
        """The name by which DuckDB and Arrow show times in the zone; ``UTC`` if there is none."""
        hours, rest = divmod(-self.offset, 3600)
        has_name = not rest and -14 <= hours <= 12 and hours
        return self.region or (f"Etc/GMT{hours:+d}" if has_name else "UTC")

    # --- SQL over the SQL of a TIMESTAMP ---

    def local_time(self, sql: str) -> str:
        """SQL of the local time of a point in time."""
        return sql if self.is_utc else _within_years(self._local(sql))

    def point_in_time(self, sql: str) -> str:
        """SQL of the point in time of a local time."""
        return sql if self.is_utc else _within_years(self._point(sql))

    def start_of_day(self, sql: str) -> str:
        """SQL of the point in time at which the day of a midnight begins."""
        if self.region is None:
            return self.point_in_time(sql)
        before = self._local(_later("p", "-1"))
        is_inside = f"{self._local('p')} <> m AND {before} >= m"
        begun = let(f"CASE WHEN {is_inside} THEN {_NO_MIDNIGHT} ELSE p END", p=self._point("m"))
        return _within_years(let(begun, m=sql))

    def with_local_time(self, sql: str, changed: str) -> str:
        """SQL of a point in time whose local time was changed.

        Of a time that comes twice it is the one with the offset of before, as in Java.

        Args:
            sql: SQL of the point in time.
            changed: SQL of the changed local time, in which ``{w}`` stands for the local time.
        """
        if self.is_utc:
            return changed.replace("{w}", sql)
        same = _later("x", "epoch_us(n) - epoch_us(w)")
        found = let(f"CASE WHEN {self._local('s')} = n THEN s ELSE {self._point('n')} END", s=same)
        return _within_years(let(found, x=sql, w=self._local("x"), n=changed.replace("{w}", "w")))

    def months_later(self, sql: str, months: str) -> str:
        """SQL of a point in time, some months later by its local time."""
        return self.with_local_time(sql, f"{{w}} + to_months({months})")

    def days_later(self, sql: str, days: str) -> str:
        """SQL of a point in time, some days later by its local time."""
        return self.with_local_time(sql, f"{{w}} + to_days(CAST({days} AS INTEGER))")

    def microseconds_later(self, sql: str, count: str) -> str:
        """SQL of a point in time, some microseconds later: whole days of them by its local time."""
        if self.region is None:
            return _later(sql, count)
        return _later(self.days_later(sql, f"({count}) // {_DAY}"), f"({count}) % {_DAY}")

    def _local(self, sql: str) -> str:
        if self.region is None:
            return _later(sql, str(self.offset * 1_000_000))
        return f"timezone({quote_literal(self.region)}, make_timestamptz(epoch_us({sql})))"

    def _point(self, sql: str) -> str:
        if self.region is None:
            return _later(sql, str(-self.offset * 1_000_000))
        last = f"make_timestamp(epoch_us(timezone({quote_literal(self.region)}, l)))"
        before = _later("d", str(-_MORE_THAN_A_DAY))
        first = _later("l", f"epoch_us(b) - epoch_us({self._local('b')})")
        found = let(f"CASE WHEN {self._local('f')} = l THEN f ELSE d END", d=last, b=before, f=first)
        return let(found, l=sql)

    # --- values ---

    def local_time_of(self, time: datetime.datetime) -> datetime.datetime:
        """The local time of a point in time, which is in UTC. `ValueError` outside the years 1 to 9999."""
        return time if self.is_utc else _value(self.local_time(_literal(time)))

    def point_in_time_of(self, time: datetime.datetime) -> datetime.datetime:
        """The point in time of a local time, in UTC. `ValueError` outside the years 1 to 9999."""
        return time if self.is_utc else _value(self.point_in_time(_literal(time)))

    def start_of_day_of(self, day: datetime.date) -> datetime.datetime:
        """The point in time at which a day begins, in UTC. `ValueError` outside the years 1 to 9999."""
        midnight = datetime.datetime.combine(day, datetime.time())
        return midnight if self.is_utc else _value(self.start_of_day(_literal(midnight)))


UTC = TimeZone("UTC")


def parse_time_zone(name: str) -> TimeZone:
    """Return the time zone of a name or an offset, as Spark reads it.

    Raises `ValueError`, with what a text must be, for one that names none.

    >>> parse_time_zone("UTC+1").offset, parse_time_zone("PST").region
    (3600, 'America/Los_Angeles')
    """
    spelled = _SHORT_MINUTE.sub(r"\1:0\2", _SHORT_HOUR.sub(r"\g<1>0\2:", name))
    spelled = _SHORT_NAMES.get(spelled, spelled)
    if spelled in _ZERO:
        return TimeZone(name)
    found = _OFFSET.fullmatch(spelled)
    if found is not None:
        hours, minutes, seconds = (int(each or 0) for each in (found[2] or found[3], found[5], found[6]))
        offset = (hours * 60 + minutes) * 60 + seconds
        if minutes < 60 and seconds < 60 and offset <= MOST_OFFSET:
            return TimeZone(name, offset=-offset if found[1] == "-" else offset)
    elif spelled in _regions():
        return TimeZone(name, spelled)
    raise ValueError("a region such as Europe/Berlin or an offset such as +02:00")


def local_time_zone() -> str:
    """The name of the time zone that this machine is set to."""
    import duckdb

    with duckdb.connect() as connection:  # A new one takes the machine's.
        ((name,),) = connection.execute("SELECT current_setting('TimeZone')").fetchall()
    return str(name)


def offset_name(seconds: int) -> str:
    """The name of an offset, as Java writes it.

    >>> offset_name(0), offset_name(-12600), offset_name(90)
    ('Z', '-03:30', '+00:01:30')
    """
    minutes, rest = divmod(abs(seconds), 60)
    text = f"{'-' if seconds < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    return "Z" if not seconds else text + (f":{rest:02}" if rest else "")


@functools.cache
def _regions() -> frozenset[str]:
    """The regions whose rules DuckDB knows."""
    with sandbox_cursor() as cursor:
        found = cursor.execute("SELECT name FROM pg_timezone_names()").fetchall()
    return frozenset(name for (name,) in found if name not in _NO_REGIONS and not name.startswith("SystemV/"))


_session: ContextVar[TimeZone] = ContextVar("session time zone", default=UTC)


def session_time_zone() -> TimeZone:
    """Return the time zone in which expressions are bound."""
    return _session.get()


def zone_of(data_type: DataType) -> TimeZone:
    """Return the time zone in which times of a type are moved: a local time is in none."""
    return session_time_zone() if data_type == TIMESTAMP else UTC


def ensure_utc(what: str) -> None:
    """Refuse what is not computed in the session time zone, unless that is UTC."""
    zone = session_time_zone()
    if not zone.is_utc:
        raise refused(f"{what} in the session time zone {zone.name}")


@contextlib.contextmanager
def in_time_zone(zone: TimeZone) -> Iterator[None]:
    """Bind expressions in a time zone.

    >>> with in_time_zone(TimeZone("+02:00", offset=7200)):
    ...     session_time_zone().name
    '+02:00'
    """
    token = _session.set(zone)
    try:
        yield
    finally:
        _session.reset(token)


def _later(sql: str, microseconds: str) -> str:
    return f"make_timestamp(epoch_us({sql}) + {microseconds})"


def _within_years(sql: str) -> str:
    """SQL that refuses times of other years, and all where DuckDB counts years by another calendar."""
    wrong = f"WHEN current_setting('Calendar') <> 'gregorian' THEN {_OTHER_CALENDAR}"
    return let(f"CASE {wrong} WHEN year(t) NOT BETWEEN 1 AND 9999 THEN {_OUTSIDE} ELSE t END", t=sql)


def _literal(time: datetime.datetime) -> str:
    return f"TIMESTAMP {quote_literal(time.isoformat(' '))}"


@functools.lru_cache(maxsize=1_000)
def _value(sql: str) -> datetime.datetime:
    import duckdb

    try:
        with sandbox_cursor() as cursor:
            ((value,),) = cursor.execute(f"SELECT {sql}").fetchall()
    except duckdb.InvalidInputException as error:
        raise ValueError("a time outside the years 1 to 9999, or a midnight that was left out") from error
    assert isinstance(value, datetime.datetime)
    return value
