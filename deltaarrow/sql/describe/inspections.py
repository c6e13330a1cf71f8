"""Table functions of DuckDB's dialect that describe a table from its log, such as ``delta_history('t')``."""

from typing import Any

import pyarrow as pa

from deltaarrow.display.redaction import redacted
from deltaarrow.snapshot import Snapshot
from deltaarrow.table.describe import describe_detail
from deltaarrow.table.inspector import TableInspector

__all__ = ["detail_of", "inspected", "spark_uri"]

_TEXT, _TIME = pa.string(), pa.timestamp("us", "UTC")
_DETAIL = pa.schema(
    [
        *((name, _TEXT) for name in ("format", "id", "name", "description", "location")),
        ("createdAt", _TIME),
        ("lastModified", _TIME),
        ("partitionColumns", pa.list_(_TEXT)),
        ("clusteringColumns", pa.list_(_TEXT)),
        ("numFiles", pa.int64()),
        ("sizeInBytes", pa.int64()),
        ("properties", pa.map_(_TEXT, _TEXT)),
        ("minReaderVersion", pa.int32()),
        ("minWriterVersion", pa.int32()),
        ("tableFeatures", pa.list_(_TEXT)),
    ]
)


def inspected(function: str, snapshot: Snapshot) -> pa.Table:
    """Return the rows of a function of `deltaarrow.engines.duckdb.time_travel` for a version of a table."""
    what = function.removeprefix("delta_")
    if what == "detail":
        return detail_of(snapshot, None)
    found: pa.Table = getattr(TableInspector(snapshot), what)()
    return found


def detail_of(snapshot: Snapshot, name: str | None) -> pa.Table:
    """Return the columns of Spark's ``DESCRIBE DETAIL``; `name` is None for a table without a name."""
    detail: dict[str, Any] = describe_detail(snapshot)
    detail |= {"location": redacted(spark_uri(snapshot)), "name": name}
    for time in ("createdAt", "lastModified"):
        detail[time] = None if detail[time] is None else detail[time] * 1000
    detail["properties"] = list(detail["properties"].items())
    return pa.Table.from_pylist([{each: detail[each] for each in _DETAIL.names}], _DETAIL)


def spark_uri(snapshot: Snapshot) -> str:
    """Return the place of a table as Spark spells it."""
    store = snapshot.store
    return f"file:{store.uri}" if store.is_local else store.uri
