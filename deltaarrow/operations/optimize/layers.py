"""Layers of a cube: which of its files are clustered again when files are added.

Spark rewrites a small cube for each file that is added. Here the files of a cube that no new file overlaps
stay. A layer, the files of one layout, stays too while the new rows are few compared with the rows that they
overlap. The new rows are then sorted by themselves, as a further layer of the cube. A query opens a few more
small files, and far fewer bytes are written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from deltaarrow.operations.optimize.sort_task import live_size
from deltaarrow.scan import FileTask

__all__ = ["Box", "rewritten_with"]

_MOST_TIMES = 20
"""Old bytes are rewritten with new ones if they are not more than so many times as many."""


@dataclass(frozen=True)
class Box:
    """The least and greatest values of some columns in some files, as their statistics spell them.

    None stands for a column whose values are not known: any may be there.
    """

    bounds: tuple[tuple[Any, Any] | None, ...]

    @classmethod
    def of(cls, task: FileTask, paths: Sequence[Sequence[str]]) -> "Box":
        """Return the box of a file, by physical paths of columns."""
        try:
            found = orjson.loads(task.stats or "{}")
        except orjson.JSONDecodeError:
            found = {}
        return cls(tuple(_bounds(found, path) for path in paths))

    def overlaps(self, other: "Box") -> bool:
        """Whether a point may be in both."""
        return all(map(_overlap, self.bounds, other.bounds))

    def joined(self, other: "Box") -> "Box":
        """Return the least box that holds both."""
        return Box(tuple(map(_joined, self.bounds, other.bounds)))


def _bounds(statistics: Any, path: Sequence[str]) -> tuple[Any, Any] | None:
    found = []
    for name in ("minValues", "maxValues"):
        value = statistics.get(name) if isinstance(statistics, dict) else None
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        found.append(value)
    low, high = found
    kinds = (int, float) if isinstance(low, int | float) else (str,)
    return (low, high) if isinstance(low, kinds) and isinstance(high, kinds) else None


def _are_comparable(first: tuple[Any, Any] | None, second: tuple[Any, Any] | None) -> bool:
    if first is None or second is None:
        return False
    return isinstance(first[0], str) == isinstance(second[0], str)


def _overlap(first: tuple[Any, Any] | None, second: tuple[Any, Any] | None) -> bool:
    if first is None or second is None or not _are_comparable(first, second):
        return True
    return bool(first[0] <= second[1] and second[0] <= first[1])


def _joined(first: tuple[Any, Any] | None, second: tuple[Any, Any] | None) -> tuple[Any, Any] | None:
    if first is None or second is None or not _are_comparable(first, second):
        return None
    return min(first[0], second[0]), max(first[1], second[1])


def rewritten_with(
    new: Sequence[int],
    layers: Sequence[Sequence[int]],
    tasks: Sequence[FileTask],
    paths: Sequence[Sequence[str]],
) -> list[int]:
    """Return the files of layers that are laid out anew together with new files.

    Args:
        new: the places of the new files.
        layers: the places of the files of each layer.
        tasks: all files.
        paths: the physical paths of the clustering columns.
    """
    boxes = {place: Box.of(tasks[place], paths) for layer in [new, *layers] for place in layer}
    box = _box_of(new, boxes)
    size = sum(live_size(tasks[place]) for place in new)
    chosen: list[int] = []

    def bytes_of(places: Sequence[int]) -> float:
        return sum(live_size(tasks[place]) for place in places)

    for layer in sorted(layers, key=bytes_of):
        overlapping = [place for place in layer if boxes[place].overlaps(box)]
        if overlapping and bytes_of(overlapping) <= _MOST_TIMES * size:
            chosen += overlapping
            size += bytes_of(overlapping)
            box = box.joined(_box_of(overlapping, boxes))
    return chosen


def _box_of(places: Sequence[int], boxes: Mapping[int, Box]) -> Box:
    first, *others = places
    box = boxes[first]
    for place in others:
        box = box.joined(boxes[place])
    return box
