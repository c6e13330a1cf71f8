"""Statistics that a large checkpoint has as typed columns, read and held a row group at a time.

Implements the reading side of ``stats_parsed`` of the chapter "Checkpoint Schema" of the protocol. Parquet
keeps the bounds of every column of a row group: the least of ``minValues.id`` and the greatest of
``maxValues.id`` bound the values in all files of the row group. A condition that is false of them is false of
each of the files, so that most row groups of a table in order are never read. Of the others nothing but the
members is read that the condition asks for.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deltaarrow.actions.arrow import build_array
from deltaarrow.arrays import booleans, integers, numbers_of, validity
from deltaarrow.log.row_groups import place_of, read_adds
from deltaarrow.schema import PrimitiveType, to_arrow_type
from deltaarrow.statistics.bounds import FileStatisticsSql
from deltaarrow.statistics.held import Asked, Left, NamedStatistics, StatisticsCondition, left_rows
from deltaarrow.statistics.ranges import COUNTED_TYPES, day_number
from deltaarrow.storage.store import Store

if TYPE_CHECKING:
    import duckdb

__all__ = ["StructStatistics"]

_STRUCT = "stats_parsed"
_MOST_BYTES = 128 << 20


@dataclass
class _RowGroup:
    """A row group of a Parquet file, with what was read of it."""

    metadata: Any
    leaves: Mapping[str, int]
    number: int
    file: int
    first_row: int
    places: pa.Array | None = None
    columns: dict[Asked, pa.Array] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in [*self.columns.values(), self.places] if column is not None)


class StructStatistics:
    """The typed statistics of a list of Parquet files that do not change; safe to share among threads.

    Args:
        store: where the files are.
        names: the files.
        parsed_type: the type of their column ``add.stats_parsed``.
        has_json: whether they have statistics as JSON texts as well, which a query asks where the struct
            has nothing.
    """

    def __init__(
        self, store: Store, names: Sequence[str], parsed_type: pa.DataType, *, has_json: bool
    ) -> None:
        self._store = store
        self._names = names
        self._has_json = has_json
        self._parsed = FileStatisticsSql(None, _STRUCT, parsed_type)
        self._lock = threading.Lock()
        self._groups: list[_RowGroup] | None = None

    def left(self, cursor: "duckdb.DuckDBPyConnection", condition: StatisticsCondition) -> Left | None:
        """Return the files that a condition leaves; None where that is not to be told from the struct."""
        named = NamedStatistics()
        sql = condition.sql(named)
        if sql is None or not named.asked or not self._tells(named.asked):
            return None
        with self._lock:
            try:
                groups = self._all_groups()
                read = [groups[number] for number in left_rows(cursor, self._bounds(groups, named), sql)]
                self._read(cursor, read, [*named.asked])
            except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError):
                # It is for the query over the files to say what that means.
                return None
            columns = [
                pa.chunked_array([group.columns[asked] for group in read], group.columns[asked].type)
                for asked in named.asked
                for group in read[:1]
            ]
            places = pa.chunked_array([group.places for group in read], pa.int64())
            is_exact = not self._has_json or not any(column.null_count for column in columns)
            of = sum(group.metadata.row_group(group.number).num_rows for group in groups)
            self._forget(groups)
        if not read:
            return Left(np.empty(0, np.int64), of, is_exact=True)
        found = numbers_of(places)[left_rows(cursor, pa.table(columns, [*named.asked.values()]), sql)]
        return Left(found, of, is_exact)

    def _tells(self, asked: Iterable[Asked]) -> bool:
        """Whether the struct has bounds of all columns that have any, of a type that tells them."""
        bounds = [each for each in asked if each.field is not None]
        return bool(bounds) and all(each.is_typed(self._parsed) for each in bounds)

    def _all_groups(self) -> list[_RowGroup]:
        import pyarrow.parquet as pq

        if self._groups is None:
            groups = []
            for file, name in enumerate(self._names):
                filesystem = self._store.arrow_filesystem()
                metadata = pq.read_metadata(self._store.arrow_path(name), filesystem=filesystem)
                paths = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
                # Names with a dot may give two leaves one path.
                leaves = {path: i for i, path in enumerate(paths) if paths.count(path) == 1}
                row = 0
                for number in range(metadata.num_row_groups):
                    groups.append(_RowGroup(metadata, leaves, number, file, row))
                    row += metadata.row_group(number).num_rows
            self._groups = groups
        return self._groups

    def _bounds(self, groups: Sequence[_RowGroup], named: NamedStatistics) -> pa.Table:
        """What is asked of each row group, as far as it bounds what is asked of its files; NULL beyond."""
        found = [_bounds_of(asked, groups) for asked in named.asked]
        return pa.table(found, [*named.asked.values()])

    def _read(
        self, cursor: "duckdb.DuckDBPyConnection", groups: Sequence[_RowGroup], asked: Sequence[Asked]
    ) -> None:
        """Read what is asked of row groups and not held."""
        import pyarrow.parquet as pq

        missing = [group for group in groups if not group.columns.keys() >= {*asked}]
        members = [".".join((_STRUCT, *each.member)) for each in asked]
        selected = ", ".join(f"{each.sql(self._parsed)} AS c{number}" for number, each in enumerate(asked))
        for file in sorted({group.file for group in missing}):
            own = [group for group in missing if group.file == file]
            path, filesystem = self._store.arrow_path(self._names[file]), self._store.arrow_filesystem()
            # INT96 reaches beyond what 64 bits of nanoseconds hold, and 9999-12-31 is in many tables.
            options = {"metadata": own[0].metadata, "coerce_int96_timestamp_unit": "us"}
            with pq.ParquetFile(path, filesystem=filesystem, **options) as parquet:
                for group in own:
                    adds = read_adds(parquet, group.number, members)
                    is_add = validity(adds)
                    is_add = np.ones(len(adds), bool) if is_add is None else is_add
                    structs = pa.table([adds.field(_STRUCT), booleans(is_add)], [_STRUCT, "is_add"])
                    cursor.register("structs", structs)
                    found = cursor.sql(f"SELECT {selected} FROM structs WHERE is_add").to_arrow_table()
                    cursor.unregister("structs")
                    rows = group.first_row + np.flatnonzero(is_add)
                    group.places = integers(place_of(file, rows))
                    group.columns |= {
                        each: column.combine_chunks()
                        for each, column in zip(asked, found.columns, strict=True)
                    }

    def _forget(self, groups: Sequence[_RowGroup]) -> None:
        """Let go of row groups where too much is held."""
        if sum(group.nbytes for group in groups) <= _MOST_BYTES:
            return
        for group in groups:
            group.columns, group.places = {}, None


def _bounds_of(asked: Asked, groups: Sequence[_RowGroup]) -> pa.Array:
    """What is asked of row groups, as far as it bounds what is asked of their files; NULL beyond."""
    if asked.field is None:
        return build_array([None] * len(groups), pa.int64())
    name = asked.field.type.type if isinstance(asked.field.type, PrimitiveType) else ""
    if name not in COUNTED_TYPES:
        return build_array([None] * len(groups), to_arrow_type(asked.field.type))
    found = [_bound(group, ".".join(("add", _STRUCT, *asked.member)), asked.what) for group in groups]
    if name != "date":
        return build_array(found, pa.int64())
    days = [None if each is None else day_number(each) for each in found]
    return build_array(days, pa.int32()).view(pa.date32())


def _bound(group: _RowGroup, leaf: str, what: str) -> Any:
    """The least or the greatest value of a leaf in a row group; None where a file may have another."""
    if leaf not in group.leaves or "add.path" not in group.leaves:
        return None
    row_group = group.metadata.row_group(group.number)
    known = row_group.column(group.leaves[leaf]).statistics
    paths = row_group.column(group.leaves["add.path"]).statistics
    if known is None or paths is None or not known.has_min_max:
        return None
    # The leaf is NULL for what is no file, where the path is NULL too.
    if not (known.has_null_count and paths.has_null_count) or known.null_count != paths.null_count:
        return None
    return known.min if what == "lower" else known.max
