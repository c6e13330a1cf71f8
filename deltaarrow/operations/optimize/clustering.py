"""Clustering: the rows of a table along the Hilbert curve through its clustering columns, cube by cube.

Files that were laid out together are a *ZCube*. They have the provider ``liquid`` and two tags, with the id
of the cube and the columns of the time, by which Spark and this package go on with each other's cubes:

- Files without a provider are new. They are laid out together with the cubes that are still small. If there
  is one such cube, they come to belong to it, and only what they overlap of it is laid out with them: see
  `deltaarrow.operations.optimize.layers`.
- A cube that has reached the minimum size is left alone, and so is a single small one without new files.
- Files of another provider, and cubes of other columns, are left alone, unless all files are asked for.

Chapter "Clustered Table" of the protocol; but for overlaps the rules are those of Spark's OPTIMIZE. A third
tag, of which Spark takes no notice, tells what was laid out at once.
"""

import functools
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson

from deltaarrow.columnar.numpy_arrays import integers
from deltaarrow.columnar.row_sorter import SortLimits
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.operations.define.clustering_domain import clustering_columns
from deltaarrow.operations.optimize.bins import Bin, FileFigures
from deltaarrow.operations.optimize.compaction import CompactionRules, target_size_of
from deltaarrow.operations.optimize.curve import hilbert, z_order
from deltaarrow.operations.optimize.layers import rewritten_with
from deltaarrow.operations.optimize.partition_selection import Selection, plan_files
from deltaarrow.operations.optimize.plan import OptimizePlan
from deltaarrow.operations.optimize.sort_task import Sorting, live_size
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.scan import ScanPlan
from deltaarrow.schema import physical_path, render_path
from deltaarrow.snapshot import Snapshot

__all__ = ["Clustering", "clustering_parameters"]

_PROVIDER = "liquid"
_CUBE = "ZCUBE_ID"
_COLUMNS = "ZCUBE_ZORDER_BY"
_LAYER = "deltaarrow.layer"
_MIN_CUBE_SIZE = 100 << 30
_LARGEST_CUBE = 1.5
"""A cube is made of files of not more than so many times the minimum size."""


@dataclass(frozen=True)
class Clustering:
    """A clustering of a table.

    Args:
        snapshot: the version.
        paths: the clustering columns, as paths of logical names.
        is_full: whether files of other columns or of another provider are laid out too.
        target_size: bytes of old files that become one new file, about.
        min_cube_size: cubes of so many bytes are left alone.
    """

    snapshot: Snapshot
    paths: tuple[tuple[str, ...], ...]
    is_full: bool
    target_size: int
    min_cube_size: int

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        *,
        is_full: bool = False,
        target_size: int | None = None,
        min_cube_size: int | None = None,
    ) -> "Clustering":
        """Look up the clustering columns of a table.

        Raises:
            SchemaMismatchError: the table has none.
            ValueError: a size is not positive.
        """
        rules = CompactionRules(target_size=target_size)
        if min_cube_size is not None and (type(min_cube_size) is not int or min_cube_size < 1):
            raise ValueError(f"min_cube_size must be a whole number of at least 1, not {min_cube_size!r}")
        paths = clustering_columns(snapshot)
        if not paths:
            raise SchemaMismatchError(
                "the table has no clustering columns; set them with table.alter.cluster_by, or call"
                " table.optimize.compact() or table.optimize.z_order(columns)"
                " (Spark: DELTA_OPTIMIZE_FULL_NOT_SUPPORTED)"
            )
        size = target_size_of(snapshot, rules.target_size)
        return cls(snapshot, tuple(paths), is_full, size, min_cube_size or _MIN_CUBE_SIZE)

    @property
    def columns(self) -> str:
        """The columns as tags and history have them: a JSON list."""
        return orjson.dumps([render_path(path) for path in self.paths]).decode()

    def plan(self) -> OptimizePlan:
        """Plan to lay out what is new, from the log alone."""
        planned, (groups, _) = self._planned, self._choice
        return OptimizePlan(planned, tuple(self._bins(planned, groups)), planned.files.num_rows)

    @cached_property
    def _planned(self) -> ScanPlan:
        return plan_files(self.snapshot, Selection())

    @cached_property
    def _choice(self) -> tuple[list[list[int]], str | None]:
        """The files that are laid out, and the cube that they are to belong to; None for new cubes."""
        tasks = self._planned.tasks
        cubes = self._cubes(self._planned)
        new = cubes.pop(None, [])
        small = {cube: places for cube, places in cubes.items() if self._size(places) < self.min_cube_size}
        if not self.is_full and new and len(small) == 1:
            ((cube, places),) = small.items()
            mode = self.snapshot.mapping_mode
            columns = [physical_path(self.snapshot.schema, path, mode) for path in self.paths]
            chosen = rewritten_with(new, self._layers(places), tasks, columns)
            if len(chosen) < len(places) and self._size([*places, *new]) <= self._largest_cube:
                return [[*chosen, *new]], cube
        is_in_layers = self.is_full and any(len(self._layers(places)) > 1 for places in small.values())
        if new or len(small) > 1 or is_in_layers:
            return [*small.values(), new], None
        return [], None

    @property
    def _largest_cube(self) -> float:
        return self.min_cube_size * _LARGEST_CUBE

    def _size(self, places: Sequence[int]) -> float:
        return sum(live_size(self._planned.tasks[place]) for place in places)

    def _layers(self, places: Sequence[int]) -> list[list[int]]:
        """Return the files of a cube by the layouts that wrote them."""
        tags = self._planned.files.column("tags").take(integers(places)).to_pylist(maps_as_pydicts="strict")
        layers: dict[str | None, list[int]] = {}
        for place, of_file in zip(places, tags, strict=True):
            layers.setdefault((of_file or {}).get(_LAYER), []).append(place)
        return list(layers.values())

    def _cubes(self, planned: ScanPlan) -> dict[str | None, list[int]]:
        """Return the files that may be laid out, by their cubes; None for files without a cube."""
        cubes: dict[str | None, list[int]] = {}
        providers = planned.files.column("clustering_provider").to_pylist()
        tags = planned.files.column("tags").to_pylist(maps_as_pydicts="strict")
        for place, (provider, of_file) in enumerate(zip(providers, tags, strict=True)):
            cube = (of_file or {}).get(_CUBE)
            is_ours = provider == _PROVIDER and (of_file or {}).get(_COLUMNS) == self.columns
            if is_ours and cube is not None:
                cubes.setdefault(cube, []).append(place)
            elif provider is None or self.is_full:
                cubes.setdefault(None, []).append(place)
        return cubes

    def _bins(self, planned: ScanPlan, groups: Sequence[Sequence[int]]) -> Iterator[Bin]:
        """Yield the files of each new cube."""
        figures = FileFigures.of(planned)
        places: list[int] = []
        size = 0.0
        for place in (each for group in groups for each in group):
            if places and size + live_size(planned.tasks[place]) > self._largest_cube:
                yield figures.bin(places)
                places, size = [], 0.0
            places.append(place)
            size += live_size(planned.tasks[place])
        if places:
            yield figures.bin(places)

    def sorting(self, limits: SortLimits) -> Sorting:
        """How the rows are laid out."""
        curve = hilbert if len(self.paths) > 1 else z_order
        new_tags = functools.partial(_new_tags, self.columns, self._choice[1])
        return Sorting(self.paths, curve, self.target_size, new_tags, _PROVIDER, limits)


def _new_tags(columns: str, cube: str | None) -> dict[str, str]:
    """Return the tags of files that are laid out at once, in a new cube if None is given."""
    layer = str(uuid.uuid4())
    return {_CUBE: cube or layer, _COLUMNS: columns, _LAYER: layer}


def clustering_parameters(clustering: Clustering) -> dict[str, object]:
    """Return the parameters that history shows, as Spark has them."""
    return {
        "predicate": "[]",
        "zOrderBy": "[]",
        "clusterBy": clustering.columns,
        "auto": False,
        "isFull": clustering.is_full,
    }
