"""Times in statements, in tables and in results, which are local times in the session time zone."""

import contextlib
import datetime

import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.schema import PrimitiveType, physical_name
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import session_time_zone

__all__ = ["ensure_points_in_time", "in_session_zone", "moment"]

_WITH_OFFSET = "(Z|[+-][0-9]{2}:?[0-9]{2})$"


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


def ensure_points_in_time(table: Snapshot) -> None:
    """Refuse a table whose partition values are local times, unless the session time zone is UTC.

    Old writers left such texts. Spark reads them in the session time zone, this package in UTC.
    """
    zone = session_time_zone()
    if zone.is_utc:
        return
    fields = [table.schema.field(name) for name in table.partition_columns]
    times = [each for each in fields if each.type == PrimitiveType("timestamp")]
    if not times:
        return
    values = table.files(columns=["partition_values"]).column("partition_values").combine_chunks()
    for field in times:
        texts = pc.map_lookup(values, physical_name(field, table.mapping_mode), "first")
        has_offset = pc.match_substring_regex(texts, _WITH_OFFSET)
        if not pc.all(has_offset, min_count=0).as_py():
            raise UnsupportedFeatureError(
                f"the partition column {field.name} of {table.store.uri} has local times, which are not read"
                f" in the session time zone {zone.name}: use SET TIME ZONE 'UTC'",
                feature="session time zone",
            )


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
