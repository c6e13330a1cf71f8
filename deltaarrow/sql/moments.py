"""Times in statements and in their results, which are local times in the session time zone."""

import contextlib
import datetime

import pyarrow as pa

from deltaarrow.spark_sql import session_time_zone

__all__ = ["in_session_zone", "moment"]


def moment(written: int | str) -> int | str:
    """Return a version unchanged, and a time with the offset that the session time zone means.

    >>> from deltaarrow.spark_sql import in_time_zone, parse_time_zone
    >>> with in_time_zone(parse_time_zone("Europe/Berlin")):
    ...     moment("2026-07-01"), moment(3)
    ('2026-06-30T22:00:00+00:00', 3)
    """
    zone = session_time_zone()
    if zone.is_utc or isinstance(written, int):
        return written
    with contextlib.suppress(ValueError):  # What is no time is told where it is used.
        time = datetime.datetime.fromisoformat(written)
        if time.tzinfo is None:
            return zone.point_in_time_of(time).replace(tzinfo=datetime.UTC).isoformat()
    return written


def in_session_zone(rows: pa.Table) -> pa.Table:
    """Return a result whose columns of timestamps show the local time."""
    zone = session_time_zone()
    if zone.is_utc:
        return rows
    fields = [
        each.with_type(pa.timestamp(each.type.unit, zone.known_name))
        if pa.types.is_timestamp(each.type) and each.type.tz is not None
        else each
        for each in rows.schema
    ]
    return rows.cast(pa.schema(fields, rows.schema.metadata))
