"""Statistics of existing data files: whether they are tight, and their replacement.

Chapter *Per-file Statistics* of the protocol. Tight statistics have the NULL count of every column that has
statistics, and its bounds unless all values are NULL. They count live rows alone, while ``numRecords`` counts
deleted rows too.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.statistics.collect import ColumnStatistics
from deltaarrow.statistics.column_selection import StatisticsColumn
from deltaarrow.statistics.footer_bounds import FooterBounds
from deltaarrow.statistics.json_edits import parse_tree
from deltaarrow.statistics.render import JsonTree, nest, render_tree

__all__ = ["RecountedStatistics", "are_tight"]

_BOUNDS = ("minValues", "maxValues")


def are_tight(
    text: str | None, columns: Sequence[StatisticsColumn], deleted_rows: int | None, *, alone: bool = True
) -> bool:
    """Whether statistics tell all that they can of the columns.

    Args:
        text: the statistics of a file.
        columns: the columns that should have statistics, by physical paths.
        deleted_rows: the cardinality of the file's deletion vector; None without one.
        alone: whether no other columns may have statistics.

    >>> from deltaarrow.schema import PrimitiveType
    >>> columns = [StatisticsColumn(("a",), PrimitiveType("long"))]
    >>> text = '{"numRecords":2,"minValues":{"a":1},"maxValues":{"a":1},"nullCount":{"a":1}}'
    >>> are_tight(text, columns, None), are_tight(text, columns, 1), are_tight(text, [], None)
    (True, False, False)
    """
    try:
        found: Any = orjson.loads(text or "null")
    except orjson.JSONDecodeError:
        return False
    if not isinstance(found, dict) or not _is_count(found.get("numRecords")):
        return False
    if found.get("tightBounds", deleted_rows is None) is not True:
        return False
    live = found["numRecords"] - (deleted_rows or 0)
    counts = found.get("nullCount", {})
    for each in columns:
        nulls = _at(counts, each.path)
        if not _is_count(nulls):
            return False
        if (
            each.has_bounds
            and nulls < live
            and any(_at(found.get(key), each.path) is None for key in _BOUNDS)
        ):
            return False
    if not alone:
        return True
    wanted = {each.path for each in columns}
    return all(path in wanted for key in ("nullCount", *_BOUNDS) for path in _leaves(found.get(key), ()))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _at(tree: Any, path: Sequence[str]) -> Any:
    for name in path:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree


def _leaves(tree: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(tree, dict):
        for name, inner in tree.items():
            yield from _leaves(inner, (*path, name))
    elif path:
        yield path


class RecountedStatistics:
    """Statistics of the live rows of a data file, from its footer and from rows.

    Args:
        columns: the columns to tell of, by physical paths.
    """

    def __init__(self, columns: Sequence[StatisticsColumn]) -> None:
        self._columns = [ColumnStatistics(each) for each in columns]

    def take_footer(self, place: int, found: FooterBounds) -> bool:
        """Take a column, by its place, from a footer; return False if it does not tell all of the column."""
        return self._columns[place].take_footer(found)

    def take_nulls(self, place: int, rows: int) -> None:
        """Take a column that the file lacks."""
        self._columns[place].null_count = rows

    def observe(self, rows: pa.RecordBatch, names: Mapping[int, Sequence[str]]) -> None:
        """Add live rows; `names` has the paths in the rows of the columns that they tell of, by place."""
        for place, path in names.items():
            values = rows.column(path[0])
            if len(path) > 1:
                values = pc.struct_field(values, list(path[1:]))
            self._columns[place].observe_rows(pa.chunked_array([values]))

    def render(
        self,
        num_records: int,
        prefix_length: int,
        *,
        tight_bounds: bool | None,
        others: str | None = None,
    ) -> str:
        """Return the text of ``add.stats``.

        Args:
            num_records: the rows of the file, deleted rows included.
            prefix_length: the largest number of UTF-16 units in a string bound.
            tight_bounds: the value of ``tightBounds``, which is left out if None.
            others: present statistics, of which those of other columns stay.
        """
        trees: dict[str, JsonTree | None] = {}
        bounded = [each for each in self._columns if each.column.has_bounds]
        for key, upper in zip(_BOUNDS, (False, True), strict=True):
            trees[key] = nest((each.column.path, each.render(prefix_length, upper=upper)) for each in bounded)
        trees["nullCount"] = nest((each.column.path, str(each.null_count)) for each in self._columns)
        known = {} if others is None else parse_tree(others)
        members: JsonTree = {"numRecords": str(num_records)}
        for key, tree in trees.items():
            before = known.get(key)
            if isinstance(before, dict):
                for each in self._columns:
                    _forget(before, each.column.path)
                tree = before if tree is None else _merged(before, tree)
            if tree is not None:
                members[key] = tree
        if tight_bounds is not None:
            members["tightBounds"] = "true" if tight_bounds else "false"
        return render_tree(members)


def _forget(tree: JsonTree, path: Sequence[str]) -> None:
    for name in path[:-1]:
        inner = tree.get(name)
        if not isinstance(inner, dict):
            return
        tree = inner
    tree.pop(path[-1], None)


def _merged(one: JsonTree, other: JsonTree) -> JsonTree:
    both = dict(one)
    for name, value in other.items():
        before = both.get(name)
        is_struct = isinstance(before, dict) and isinstance(value, dict)
        both[name] = _merged(before, value) if is_struct else value  # type: ignore[arg-type]
    return both
