"""Statistics of other writers' files, from their Parquet footers (PROTOCOL.md, *Per-file Statistics*).

No row is read: of a column, the statistics have what `deltaarrow.statistics.footer_bounds` takes from
footers. Bounds of a string may be cut: the table's are cut as well. A file without a column has only NULLs
in it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from deltaarrow.columnar.parquet_footers import Leaf, RowGroup
from deltaarrow.statistics.collect import parquet_leaves
from deltaarrow.statistics.column_selection import DEFAULT_STRING_PREFIX_LENGTH, StatisticsColumn
from deltaarrow.statistics.footer_bounds import LeafBounds
from deltaarrow.statistics.render import Bound, bound_renderer
from deltaarrow.statistics.renderers import StatisticsTexts

__all__ = ["FooterStatistics"]

_Render = Callable[[Bound], str | None]


@dataclass(frozen=True)
class _Column:
    """A column with statistics in files of one schema; `leaf` is None where they lack it."""

    column: StatisticsColumn
    leaf: int | None
    bounds: LeafBounds | None
    render_low: _Render
    render_high: _Render

    @property
    def may_have_bounds(self) -> bool:
        return self.column.has_bounds and self.bounds is not None and self.bounds.decode is not None


class FooterStatistics:
    """Renders the statistics of files with one Parquet schema.

    Args:
        columns: the columns of the table that have statistics, by physical paths.
        leaves: the leaves of the schema.
        arrow_schema: its columns in Arrow.
        names: the path in the files of each path in the table, where they differ.
        prefix_length: the largest number of UTF-16 units in a string bound.
    """

    def __init__(
        self,
        columns: Sequence[StatisticsColumn],
        leaves: Sequence[Leaf],
        arrow_schema: pa.Schema,
        names: Mapping[tuple[str, ...], tuple[str, ...]],
        *,
        prefix_length: int = DEFAULT_STRING_PREFIX_LENGTH,
    ) -> None:
        renderers = [
            {
                name: bound_renderer(each.type, prefix_length, upper=name == "render_high")
                if each.has_bounds
                else _no_text
                for name in ("render_low", "render_high")
            }
            for each in columns
        ]
        types = [found for _, found in parquet_leaves(arrow_schema)]
        numbers = {leaf.path: number for number, leaf in enumerate(leaves) if not leaf.repetition_level}
        begins = {leaf.path[:length] for leaf in leaves for length in range(1, len(leaf.path) + 1)}
        self._columns: list[_Column] = []
        for each, renders in zip(columns, renderers, strict=True):
            path = names.get(each.path, each.path)
            number = numbers.get(path)
            if number is not None:
                bounds = LeafBounds.of(types[number], leaves[number].physical_type)
                self._columns.append(_Column(each, number, bounds, **renders))
            elif path not in begins:
                self._columns.append(_Column(each, None, None, **renders))
        paths = [each.column.path for each in self._columns]
        self._texts = StatisticsTexts(paths, [each.may_have_bounds for each in self._columns])

    def render(self, groups: Sequence[RowGroup]) -> str:
        """Return the text of ``add.stats`` of a file with these row groups."""
        lows: list[str | None] = []
        highs: list[str | None] = []
        nulls: list[str | None] = []
        num_rows = sum(group.num_rows for group in groups)
        for each in self._columns:
            low = high = None
            count: int | None = num_rows
            if each.leaf is not None and each.bounds is not None:
                leaf = each.leaf
                count, low, high, _ = each.bounds.over([chunks[leaf] for _, chunks in groups])
            lows.append(None if low is None else each.render_low(low))
            highs.append(None if high is None else each.render_high(high))
            nulls.append(None if count is None else str(count))
        return self._texts.render(num_rows, lows, highs, nulls)


def _no_text(_: Bound) -> None:
    return None
