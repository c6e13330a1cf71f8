"""What users say of rows, files and times, as predicates and milliseconds of a table.

Conditions come as SQL text, as tuples in the notation of ``deltalake`` or as pyarrow expressions; moments
as ISO 8601 texts, `datetime` or `date` objects.
"""

import contextlib
import operator
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, SupportsIndex

import deltaarrow.scan as scan
from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions import And, Filters, Predicate, bind, columns_of, from_filters, from_sql, to_arrow
from deltaarrow.schema import Schema
from deltaarrow.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow.compute as pc

__all__ = ["file_predicate", "parse_moment", "parse_version", "row_condition", "row_predicate"]

_MILLISECOND = timedelta(milliseconds=1)


def parse_version(version: SupportsIndex | str | date) -> int | str | date:
    """Return a version as an `int` and a point in time as it is; everything else is a `TypeError`.

    >>> import numpy
    >>> parse_version(numpy.int64(3)), parse_version("2026-01-01")
    (3, '2026-01-01')
    """
    if isinstance(version, str | date):
        return version
    if not isinstance(version, bool) and isinstance(version, SupportsIndex):
        with contextlib.suppress(TypeError):  # an array of numpy's has the method too
            return operator.index(version)
    raise TypeError(f"a version is an int, an ISO 8601 text, a datetime or a date, not {_type(version)}")


def parse_moment(moment: str | date, *, later: bool = False) -> int:
    """Return the millisecond in which a moment lies, or with `later` the first that is not before it.

    A time without zone is UTC, a date its midnight.

    >>> parse_moment("1970-01-01T00:00:01.0005Z"), parse_moment("1970-01-01T00:00:01.0005Z", later=True)
    (1000, 1001)
    """
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    elif not isinstance(moment, date):
        raise TypeError(f"a time is an ISO 8601 text, a datetime or a date, not {_type(moment)}")
    elif not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return -(-since // _MILLISECOND) if later else since // _MILLISECOND


def _type(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


def row_predicate(filters: str | Filters, schema: Schema, partition_columns: Sequence[str] = ()) -> Predicate:
    """Return the predicate of SQL text or tuples, with the names and types of a schema.

    Raises `InvalidPredicateError` for what is not understood, and for a column that is not there, and
    `TypeError` for what is neither.
    """
    if not isinstance(filters, str | list | tuple):
        raise TypeError(f"a condition is SQL text or (column, operator, value) tuples, not {_type(filters)}")
    predicate = from_sql(filters) if isinstance(filters, str) else from_filters(filters, partition_columns)
    return bind(predicate, schema)


def _partition_predicate(snapshot: Snapshot, filters: Filters) -> Predicate:
    """Return the predicate of tuples that may name partition columns only; values may be texts."""
    partitions = snapshot.partition_columns
    predicate = row_predicate(filters, snapshot.schema, partitions)
    if other := sorted({path[0] for path in columns_of(predicate)} - set(partitions)):
        raise InvalidPredicateError(f"{other} are not partition columns; there are {list(partitions)}")
    return predicate


def file_predicate(
    snapshot: Snapshot, partitions: Filters | None, files: str | Filters | None
) -> Predicate | None:
    """Return what files must be able to match: tuples on partition columns, and a condition on any."""
    predicates = []
    if partitions is not None:
        predicates.append(_partition_predicate(snapshot, partitions))
    if files is not None:
        predicates.append(row_predicate(files, snapshot.schema, snapshot.partition_columns))
    return And(tuple(predicates)) if predicates else None


def row_condition(
    snapshot: Snapshot, partitions: Filters | None, filters: "str | Filters | pc.Expression | None"
) -> "pc.Expression | None":
    """Return what rows must match, as a pyarrow expression: tuples on partition columns, and a condition.

    Raises what `row_predicate` raises.
    """
    import pyarrow.compute as pc

    conditions = []
    if partitions is not None:
        conditions.append(to_arrow(_partition_predicate(snapshot, partitions)))
    if isinstance(filters, str | list | tuple):
        conditions.append(
            to_arrow(row_predicate(filters, scan.scan_schema(snapshot), snapshot.partition_columns))
        )
    elif isinstance(filters, pc.Expression):
        conditions.append(filters)
    elif filters is not None:
        raise TypeError(
            "filters are SQL text, (column, operator, value) tuples or a pyarrow expression,"
            f" not {_type(filters)}"
        )
    if len(conditions) == 2:
        return conditions[0] & conditions[1]
    return conditions[0] if conditions else None
