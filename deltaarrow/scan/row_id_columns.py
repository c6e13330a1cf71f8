"""Row tracking columns `ROW_ID` and `ROW_COMMIT_VERSION`, chapter "Row Tracking" of the protocol.

Scans of tables with row tracking return them on request, under Spark's names. A row that was moved from
another file has its values in hidden, *materialized* columns of its file; the values of other rows are
computed from the log:

================================  ======================================  =============================
column                            in the file, if it is not NULL          otherwise
================================  ======================================  =============================
``_metadata.row_id``              the column `RowTracking.row_id`         ``baseRowId`` + position there
``_metadata.row_commit_version``  the column `RowTracking.commit_version` ``defaultRowCommitVersion``
================================  ======================================  =============================
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from deltaarrow.errors import CorruptLogError
from deltaarrow.expressions import (
    And,
    Column,
    Compare,
    CompareOp,
    IsIn,
    IsNull,
    Literal,
    LiteralValue,
    Or,
    Predicate,
)
from deltaarrow.schema import Field, PrimitiveType, Schema

__all__ = [
    "ROW_COMMIT_VERSION",
    "ROW_ID",
    "ROW_TRACKING_COLUMNS",
    "ROW_TRACKING_FIELDS",
    "RowTracking",
    "ensure_recorded",
    "filled",
    "may_hold",
    "recorded_columns",
    "with_row_tracking",
]

ROW_ID = "_metadata.row_id"
"""The row id: unique in the table, and kept when the row is updated or moved."""

ROW_COMMIT_VERSION = "_metadata.row_commit_version"
"""The row commit version: the table version that inserted or last updated the row."""

ROW_TRACKING_COLUMNS = (ROW_ID, ROW_COMMIT_VERSION)
ROW_TRACKING_FIELDS = tuple(Field(name, PrimitiveType("long")) for name in ROW_TRACKING_COLUMNS)

_RECORDED = {ROW_ID: "base_row_id", ROW_COMMIT_VERSION: "default_row_commit_version"}
_SPELLED = {"base_row_id": "baseRowId", "default_row_commit_version": "defaultRowCommitVersion"}
# A file has fewer than 2**40 rows, and all of their ids must fit 64 bits.
_GREATEST = {"base_row_id": 2**63 - 2**40, "default_row_commit_version": 2**63 - 1}


@dataclass(frozen=True)
class RowTracking:
    """The names of the materialized columns in the data files of one table."""

    row_id: str
    commit_version: str

    def materialized(self, column: str) -> str:
        """Return the name in data files of one of `ROW_TRACKING_COLUMNS`."""
        return {ROW_ID: self.row_id, ROW_COMMIT_VERSION: self.commit_version}[column]


def with_row_tracking(schema: Schema) -> Schema:
    """Return a schema with the two row tracking columns appended."""
    return Schema([*schema.fields, *ROW_TRACKING_FIELDS])


def recorded_columns(wanted: Collection[str]) -> list[str]:
    """Return the columns of the file list from which the requested columns are computed."""
    return [recorded for column, recorded in _RECORDED.items() if column in wanted]


def ensure_recorded(files: pa.Table, wanted: Collection[str]) -> None:
    """Raise `CorruptLogError` for a file that lacks the values needed for the requested columns."""
    for recorded in recorded_columns(wanted):
        column = files.column(recorded)
        if column.null_count:
            path = files.column("path").filter(column.is_null())[0].as_py()
            raise CorruptLogError(f"rowTracking is enabled, and the file {path} has no {_SPELLED[recorded]}")
        import pyarrow.compute as pc

        impossible = pc.or_(pc.less(column, 0), pc.greater(column, _GREATEST[recorded]))
        if pc.any(impossible).as_py():
            bad = files.filter(impossible)
            path, value = bad.column("path")[0].as_py(), bad.column(recorded)[0].as_py()
            raise CorruptLogError(f"the file {path} has a {_SPELLED[recorded]} out of range: {value}")


def may_hold(predicate: Predicate | None, row_ids: range) -> bool:
    """Whether a row with one of these ids, none of them materialized, may match a predicate.

    Only an opened file shows whether it has materialized row ids; the log does not record it.

    >>> from deltaarrow.expressions import from_filters
    >>> wanted = from_filters([("_metadata.row_id", ">=", 20)])
    >>> may_hold(wanted, range(10, 20)), may_hold(wanted, range(10, 21))
    (False, True)
    """
    match predicate:
        case And(operands):
            return all(may_hold(each, row_ids) for each in operands)
        case Or(operands):
            return any(may_hold(each, row_ids) for each in operands)
        case Compare(op, Column((name,)), Literal(value)) if name == ROW_ID and _is_number(value):
            return bool(row_ids) and _COMPARISONS[op](row_ids, value)
        case IsIn(Column((name,)), values) if name == ROW_ID and all(map(_is_number, values)):
            return any(row_ids[0] <= value <= row_ids[-1] for value in values) if row_ids else False  # type: ignore[operator]
        case IsNull(Column((name,))) if name == ROW_ID:
            return False
    return True


def _is_number(value: LiteralValue) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool) and value == value


_COMPARISONS: dict[CompareOp, Callable[[range, Any], bool]] = {
    "=": lambda ids, value: ids[0] <= value <= ids[-1] and value == int(value),
    "!=": lambda ids, value: ids[0] != value or ids[-1] != value,
    "<": lambda ids, value: ids[0] < value,
    "<=": lambda ids, value: ids[0] <= value,
    ">": lambda ids, value: ids[-1] > value,
    ">=": lambda ids, value: ids[-1] >= value,
}


def filled(materialized: pa.Array | None, default: int, positions: np.ndarray | None, rows: int) -> pa.Array:
    """Return the values of one of the two columns for `rows` rows of a file.

    Args:
        materialized: the materialized column of the file; None if it has none.
        default: the value of the file in the log.
        positions: the positions in the file, which are added to `default`; None to add nothing.
        rows: the number of rows.
    """
    if materialized is not None and not materialized.null_count:
        return materialized
    values = np.full(rows, default, np.int64) if positions is None else positions.astype(np.int64) + default
    derived = pa.Array.from_buffers(pa.int64(), rows, [None, pa.py_buffer(values)])
    if materialized is None:
        return derived
    import pyarrow.compute as pc

    return pc.coalesce(materialized, derived)
