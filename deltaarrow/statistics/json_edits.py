"""Changes to the JSON statistics of files that get a deletion vector; other members stay unchanged.

Chapter "Per-file Statistics" of the protocol. Numbers keep their spelling, because a decimal bound that is
converted to a float could cross a value.
"""

import json
from typing import Any

from deltaarrow.statistics.render import JsonTree, render_tree

__all__ = ["parse_tree", "with_num_records", "with_wide_bounds"]


class _Number(str):
    """The text of a number in JSON."""

    __slots__ = ()


def with_wide_bounds(stats: str, deleted_rows: int) -> str:
    """Set ``tightBounds`` to false: the bounds then cover all rows of the data file, not only live rows.

    Args:
        stats: the statistics of the file, which have ``numRecords``.
        deleted_rows: the number of rows in the present deletion vector of the file.

    With tight bounds, ``nullCount`` counts live rows. If all live rows are NULL, the count becomes
    ``numRecords``, which means "all NULL" with wide bounds. 0 means "no NULL" with both, and any other count
    has no meaning with wide bounds.

    >>> with_wide_bounds('{"numRecords":3,"nullCount":{"a":2,"b":1},"tightBounds":true}', 1)
    '{"numRecords":3,"nullCount":{"a":3,"b":1},"tightBounds":false}'
    """
    members = parse_tree(stats)
    if deleted_rows and members.get("tightBounds") == "true" and "nullCount" in members:
        live = _Number(int(str(members["numRecords"])) - deleted_rows)
        members["nullCount"] = _replaced(members["nullCount"], live, members["numRecords"])
    return render_tree(members | {"tightBounds": "false"})


def with_num_records(stats: str | None, num_records: int) -> str:
    """Set ``numRecords`` in statistics; absent or invalid statistics are replaced.

    >>> with_num_records('{"maxValues":{"a":1.10}}', 5)
    '{"numRecords":5,"maxValues":{"a":1.10}}'
    """
    try:
        members = {} if stats is None else parse_tree(stats)
    except (ValueError, RecursionError):
        members = {}
    members.pop("numRecords", None)
    return render_tree({"numRecords": str(num_records), **members})


def parse_tree(stats: str) -> JsonTree:
    """Return statistics whose numbers keep their spelling; `ValueError` if they are none."""
    # NaN and infinities, which are not JSON numbers, become texts.
    parsed = json.loads(stats, parse_float=_Number, parse_int=_Number, parse_constant=str)
    if not isinstance(parsed, dict):
        raise ValueError(f"statistics are a JSON object, not {type(parsed).__name__}")
    return {name: _tree(value) for name, value in parsed.items()}


def _tree(value: Any) -> JsonTree | str:
    if isinstance(value, dict):
        return {name: _tree(inner) for name, inner in value.items()}
    return value if isinstance(value, _Number) else json.dumps(value, ensure_ascii=False)


def _replaced(tree: JsonTree | str, old: JsonTree | str, new: JsonTree | str) -> JsonTree | str:
    if isinstance(tree, dict):
        return {name: _replaced(inner, old, new) for name, inner in tree.items()}
    return new if tree == old else tree
