"""What users say of rows, files and times, as predicates and milliseconds of a table.

Conditions come as SQL text, as tuples in the notation of ``deltalake`` or as pyarrow expressions; moments
as ISO 8601 texts or `datetime` objects.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions import And, Filters, Predicate, bind, columns_of, from_filters, from_sql, to_arrow
from deltaarrow.scan import scan_schema
from deltaarrow.schema import Schema
from deltaarrow.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow.compute as pc

__all__ = ["file_predicate", "parse_moment", "row_condition", "row_predicate"]

_MILLISECOND = timedelta(milliseconds=1)


def parse_moment(moment: str | datetime, *, later: bool = False) -> int:
    """Return the millisecond in which a moment lies, or with `later` the first that is not before it.

    A time without zone is UTC.

    >>> parse_moment("1970-01-01T00:00:01.0005Z"), parse_moment("1970-01-01T00:00:01.0005Z", later=True)
    (1000, 1001)
    """
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return -(-since // _MILLISECOND) if later else since // _MILLISECOND


def row_predicate(filters: str | Filters, schema: Schema, partition_columns: Sequence[str] = ()) -> Predicate:
    """Return the predicate of SQL text or tuples, with the names and types of a schema.

    Raises `InvalidPredicateError` for what is not understood, and for a column that is not there.
    """
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
    snapshot: Snapshot, partitions: Filters | None, filters: "Filters | pc.Expression | None"
) -> "pc.Expression | None":
    """Return what rows must match, as a pyarrow expression: tuples on partition columns, and a condition."""
    conditions = []
    if partitions is not None:
        conditions.append(to_arrow(_partition_predicate(snapshot, partitions)))
    if isinstance(filters, list | tuple):
        conditions.append(to_arrow(row_predicate(filters, scan_schema(snapshot), snapshot.partition_columns)))
    elif filters is not None:
        conditions.append(filters)
    if len(conditions) == 2:
        return conditions[0] & conditions[1]
    return conditions[0] if conditions else None
