"""Statistics of one data file, collected while it is written (PROTOCOL.md, *Per-file Statistics*).

The Parquet writer computes the bounds of most columns anyway, so they are taken from the footer, row group by
row group. If the footer is not exact, kernels compute them from the row group before it is written:

* floating point: Parquet ignores NaN, which Spark orders above all numbers. The footer gets no bounds for
  such columns, because Spark's own reader would lose NaN by them;
* strings: Parquet drops bounds that are longer than its limit;
* NULLs: counted in the column; a NULL struct counts for every leaf below it. Parquet counts the elements of
  an array or map, Delta the arrays and maps themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Context
from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.schema import FLOATING, DataType, PrimitiveType
from deltaarrow.statistics.column_selection import DEFAULT_STRING_PREFIX_LENGTH, StatisticsColumn
from deltaarrow.statistics.footer_bounds import FooterBounds
from deltaarrow.statistics.render import Bound, bound_renderer, render_bound
from deltaarrow.statistics.renderers import StatisticsTexts

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData, Statistics

__all__ = ["FOOTER_BOUND_LIMIT", "CollectedColumns", "ColumnStatistics", "FileStatistics", "parquet_leaves"]

FOOTER_BOUND_LIMIT = 4096
"""The longest bound, in bytes, that the Parquet writer keeps."""


_ANY_DECIMAL = Context(prec=76)


class CollectedColumns:
    """What the statistics of all files of a write have in common; usable by several threads.

    Args:
        columns: the columns that have statistics.
        prefix_length: the largest number of UTF-16 units in a string bound.
        tight_bounds: whether to write ``tightBounds``, which tables with deletion vectors require.
    """

    def __init__(
        self,
        columns: Sequence[StatisticsColumn],
        *,
        prefix_length: int = DEFAULT_STRING_PREFIX_LENGTH,
        tight_bounds: bool = False,
    ) -> None:
        self.columns = columns
        self._renderers = [
            (
                bound_renderer(each.type, prefix_length, upper=False),
                bound_renderer(each.type, prefix_length, upper=True),
            )
            if each.has_bounds
            else None
            for each in columns
        ]
        self._texts = StatisticsTexts(
            [each.path for each in columns],
            [each.has_bounds for each in columns],
            tight_bounds=True if tight_bounds else None,
        )
        self._leaves: tuple[pa.Schema | None, Sequence[int | None]] = (None, ())

    def leaves(self, schema: pa.Schema) -> Sequence[int | None]:
        """For each column, its leaf in a file of this schema; None for a column without bounds."""
        known, leaves = self._leaves
        if known is not schema:
            # Dotted paths in a footer are ambiguous if names contain dots; the order of leaves is not.
            indexes = {path: index for index, (path, _) in enumerate(parquet_leaves(schema))}
            leaves = [indexes[each.path] if each.has_bounds else None for each in self.columns]
            self._leaves = (schema, leaves)
        return leaves

    def render(self, num_records: int, found: Sequence[ColumnStatistics]) -> str:
        """Return the text of ``add.stats`` for what was found of the columns."""
        lows: list[str | None] = []
        highs: list[str | None] = []
        for each, renderers in zip(found, self._renderers, strict=True):
            bounds = each.bounds
            if renderers is None or bounds is None:
                lows.append(None)
                highs.append(None)
            else:
                lows.append(renderers[0](bounds[0]))
                highs.append(renderers[1](bounds[1]))
        return self._texts.render(num_records, lows, highs, [str(each.null_count) for each in found])


class FileStatistics:
    """Statistics of one data file, collected row group by row group.

    Call `observe` with every row group before it is written, then `add_footer`, then `render`.
    """

    def __init__(self, common: CollectedColumns) -> None:
        self.num_records = 0
        self._common = common
        self._columns = [ColumnStatistics(each) for each in common.columns]

    def observe(self, row_group: pa.Table) -> None:
        """Add the rows of the next row group."""
        self.num_records += row_group.num_rows
        for each in self._columns:
            each.observe(row_group)

    def add_footer(self, footer: FileMetaData, schema: pa.Schema) -> None:
        """Take the remaining bounds from the footer of a file with the columns of `schema`."""
        row_groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
        for each, leaf in zip(self._columns, self._common.leaves(schema), strict=True):
            if leaf is not None:
                each.add_footer([row_group.column(leaf).statistics for row_group in row_groups])

    def render(self) -> str:
        """Return the text of ``add.stats``."""
        return self._common.render(self.num_records, self._columns)


class ColumnStatistics:
    """Statistics of one column of a data file."""

    __slots__ = ("_bounds", "_exact", "_has_bounds", "_known", "_name", "column", "null_count")

    def __init__(self, column: StatisticsColumn) -> None:
        self.column = column
        self.null_count = 0
        self._name = column.type.type if isinstance(column.type, PrimitiveType) else ""
        self._has_bounds = column.has_bounds
        self._bounds: tuple[Bound, Bound] | None = None
        # Per row group: whether its bounds are known without the footer.
        self._known: list[bool] = []
        self._exact = True

    def observe(self, row_group: pa.Table) -> None:
        """Add the rows of a row group; `add_footer` takes the bounds that the footer is going to have."""
        if self._name == "void":
            # Data files do not store void columns.
            self.null_count += row_group.num_rows
            return
        values = row_group.column(self.column.path[0])
        if len(self.column.path) > 1:
            values = pc.struct_field(values, list(self.column.path[1:]))
        null_count = values.null_count
        self.null_count += null_count
        if not self._has_bounds:
            return
        known = null_count == len(values)
        if not known and self._name in ("float", "double"):
            self._add(*_float_bounds(values))
            known = True
        elif not known and self._name == "string" and _longest(values) > FOOTER_BOUND_LIMIT:
            if pa.types.is_dictionary(values.type):
                values = values.cast(pa.string())
            low, high = pc.min_max(values).values()
            self._add(low.as_buffer().to_pybytes(), high.as_buffer().to_pybytes())
            known = True
        self._known.append(known)

    def observe_rows(self, values: pa.ChunkedArray) -> None:
        """Add values of the column, which kernels tell all of."""
        self.null_count += values.null_count
        if not self.column.has_bounds or values.null_count == len(values):
            return
        self._add(*_bounds(values, self.column.type))

    def take_footer(self, found: FooterBounds) -> bool:
        """Take what the footer of a present file tells; return False, and take nothing, if it is not all."""
        if found.null_count is None or (self.column.has_bounds and not found.is_exact):
            return False
        self.null_count = found.null_count
        if self.column.has_bounds and found.low is not None and found.high is not None:
            self._add(found.low, found.high)
        return True

    def add_footer(self, statistics: Sequence[Statistics | None]) -> None:
        """Add the bounds of the row groups that kernels have not told."""
        for known, each in zip(self._known, statistics, strict=True):
            if known:
                continue
            if each is None or not each.has_min_max:
                self._exact = False
                return
            self._add(self._from_raw(each.min_raw), self._from_raw(each.max_raw))

    def _from_raw(self, raw: int | bytes) -> Bound:
        # Decimals of more than 18 digits are stored as big-endian bytes.
        if isinstance(raw, bytes) and self._name != "string":
            return int.from_bytes(raw, "big", signed=True)
        return raw

    def _add(self, low: Bound, high: Bound) -> None:
        if self._bounds is not None:
            low = _least(self._bounds[0], low)
            high = _greatest(self._bounds[1], high)
        self._bounds = low, high

    @property
    def bounds(self) -> tuple[Bound, Bound] | None:
        """The least and the greatest value; None if they are unknown, or there are only NULLs."""
        return self._bounds if self._exact else None

    def render(self, prefix_length: int, *, upper: bool) -> str | None:
        """Return a bound as JSON text, or None if there is none."""
        if self.bounds is None:
            return None
        return render_bound(self.bounds[upper], self.column.type, prefix_length, upper=upper)


def _longest(values: pa.ChunkedArray) -> int:
    """The bytes of the longest text; more where that is known to be short enough without a kernel.

    Of dictionary arrays, which may hold unused texts, it is the longest of all.
    """
    size: int = values.nbytes
    if size <= FOOTER_BOUND_LIMIT:
        return size
    if pa.types.is_dictionary(values.type):
        values = pa.chunked_array([chunk.dictionary for chunk in values.chunks], pa.string())
    longest: int = pc.max(pc.binary_length(values)).as_py()
    return longest


def _bounds(values: pa.ChunkedArray, data_type: DataType) -> tuple[Bound, Bound]:
    """Return the bounds of values that are not all NULL, in the form of `deltaarrow.statistics.render`."""
    if data_type in FLOATING:
        return _float_bounds(values)
    low, high = pc.min_max(values).values()
    return _plain(low), _plain(high)


def _plain(value: pa.Scalar) -> Bound:
    types = pa.types
    if types.is_string(value.type) or types.is_large_string(value.type):
        text: bytes = value.as_buffer().to_pybytes()
        return text
    if types.is_decimal(value.type):
        return int(value.as_py().scaleb(value.type.scale, _ANY_DECIMAL))
    if types.is_date32(value.type) or types.is_timestamp(value.type):
        # Dates and times exceed the range of Python's.
        return int(value.value)
    number: int = value.as_py()
    return number


def _float_bounds(values: pa.ChunkedArray) -> tuple[float, float]:
    low, high = pc.min_max(values).values()
    has_nan = pc.any(pc.is_nan(values)).as_py()
    return low.as_py(), math.nan if has_nan else high.as_py()


def _least(one: Bound, other: Bound) -> Bound:
    if isinstance(one, float) and math.isnan(one):
        return other
    return other if other < one else one  # type: ignore[operator]  # bounds of one column are of one kind


def _greatest(one: Bound, other: Bound) -> Bound:
    if isinstance(one, float) and math.isnan(one):
        return one
    if isinstance(other, float) and math.isnan(other):
        return other
    return other if other > one else one  # type: ignore[operator]  # bounds of one column are of one kind


def parquet_leaves(
    fields: Iterable[pa.Field], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], pa.DataType]]:
    """Yield the paths and types of the Parquet leaf columns that pyarrow writes for Arrow fields, in order.

    >>> [path for path, _ in parquet_leaves(pa.schema({"a": pa.int64(), "b": pa.list_(pa.int64())}))]
    [('a',), ('b', 'list', 'element')]
    """
    types = pa.types
    for field in fields:
        here = (*path, field.name)
        if types.is_struct(field.type):
            yield from parquet_leaves(field.type.fields, here)
        elif types.is_map(field.type):
            parts = [field.type.key_field.with_name("key"), field.type.item_field.with_name("value")]
            yield from parquet_leaves(parts, (*here, "key_value"))
        elif types.is_list(field.type):
            yield from parquet_leaves([field.type.value_field.with_name("element")], (*here, "list"))
        else:
            yield here, field.type
