"""Statistics of files that stay while rows in them go: the JSON text with other members, the rest as it was.

Chapter "Per-file Statistics" of the protocol. Numbers keep their spelling: a decimal bound that went through
a float could end up on the wrong side of a value.
"""

import json
from typing import Any

from deltaarrow.statistics.render import JsonTree, render_tree

__all__ = ["with_num_records", "with_wide_bounds"]


class _Number(str):
    """The text of a number in JSON."""

    __slots__ = ()


def with_wide_bounds(stats: str, deleted_rows: int) -> str:
    """Say of statistics that they are bounds of what the data file holds, no longer of what is live of it.

    Args:
        stats: the statistics of the file, which have ``numRecords``.
        deleted_rows: how many rows its deletion vector has marked up to now.

    Of tight statistics ``nullCount`` counts live rows. Where that is all of them it becomes ``numRecords``,
    which says in wide ones that all are NULL; 0 says in both that none is, and any other count says nothing.

    >>> with_wide_bounds('{"numRecords":3,"nullCount":{"a":2,"b":1},"tightBounds":true}', 1)
    '{"numRecords":3,"nullCount":{"a":3,"b":1},"tightBounds":false}'
    """
    members = _parse(stats)
    if deleted_rows and members.get("tightBounds") == "true" and "nullCount" in members:
        live = _Number(int(str(members["numRecords"])) - deleted_rows)
        members["nullCount"] = _replaced(members["nullCount"], live, members["numRecords"])
    return render_tree(members | {"tightBounds": "false"})


def with_num_records(stats: str | None, num_records: int) -> str:
    """Add to statistics how many rows the data file has; there may be none, or what is no statistics.

    >>> with_num_records('{"maxValues":{"a":1.10}}', 5)
    '{"numRecords":5,"maxValues":{"a":1.10}}'
    """
    try:
        members = {} if stats is None else _parse(stats)
    except (ValueError, RecursionError):
        members = {}
    members.pop("numRecords", None)
    return render_tree({"numRecords": str(num_records), **members})


def _parse(stats: str) -> JsonTree:
    # What is no number in JSON becomes the text that writers should have left.
    parsed = json.loads(stats, parse_float=_Number, parse_int=_Number, parse_constant=str)
    if not isinstance(parsed, dict):
        raise ValueError("statistics are an object")
    return {name: _tree(value) for name, value in parsed.items()}


def _tree(value: Any) -> JsonTree | str:
    if isinstance(value, dict):
        return {name: _tree(inner) for name, inner in value.items()}
    return value if isinstance(value, _Number) else json.dumps(value, ensure_ascii=False)


def _replaced(tree: JsonTree | str, old: JsonTree | str, new: JsonTree | str) -> JsonTree | str:
    if isinstance(tree, dict):
        return {name: _replaced(inner, old, new) for name, inner in tree.items()}
    return new if tree == old else tree
