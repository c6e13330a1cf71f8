"""Z-order: the rows of each partition along the Z-order curve through some columns.

A partition is laid out as a whole, whatever its files are, as in Spark. Unlike Spark, it is left alone while
nothing has changed. Each new file has a tag that says by which columns and for which size its z-order was
made, and which one it was: while all files of a partition carry the same tag, and few rows of them are
deleted, the partition is as a z-order would leave it. Files that others append or rewrite do not carry it.
Spark keeps tags and takes no notice of this one.
"""

import functools
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from deltaarrow.columnar.row_sorter import SortLimits
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.operations.define.clustering_domain import clustering_columns, parse_clustering_columns
from deltaarrow.operations.optimize.bins import FileFigures
from deltaarrow.operations.optimize.compaction import CompactionRules, target_size_of
from deltaarrow.operations.optimize.curve import z_order
from deltaarrow.operations.optimize.partition_selection import Selection, plan_files
from deltaarrow.operations.optimize.plan import OptimizePlan
from deltaarrow.operations.optimize.ranges import has_order
from deltaarrow.operations.optimize.sort_task import Sorting
from deltaarrow.schema import physical_path, render_path, resolve_path
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import type_name
from deltaarrow.statistics import statistics_columns

__all__ = ["ZOrder", "z_order_parameters"]

_TAG = "deltaarrow.zOrder"
_MOST_DELETED = CompactionRules().max_deleted_rows_ratio


@dataclass(frozen=True)
class ZOrder:
    """A z-order of a table by columns, as paths of logical names in the spelling of the schema.

    `names` are the columns as the user wrote them.
    """

    snapshot: Snapshot
    paths: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    target_size: int

    @classmethod
    def by(cls, snapshot: Snapshot, columns: Sequence[str], target_size: int | None) -> "ZOrder":
        """Look up columns in Spark's notation.

        Raises:
            SchemaMismatchError: the table has clustering columns; or a column does not exist, is given twice,
                is a partition column, has a type without order or no statistics.
            ValueError: there are no columns, or the size is not positive.
        """
        rules = CompactionRules(target_size=target_size)
        if isinstance(columns, str):
            raise ValueError(f"give a list of columns, not a text: write [{columns!r}]")
        if not columns:
            raise ValueError("a z-order needs at least one column")
        clustered = clustering_columns(snapshot)
        if clustered:
            raise SchemaMismatchError(
                f"the table is clustered by {', '.join(map(render_path, clustered))} and takes no z-order;"
                " call table.optimize() to lay its rows out, or table.alter.cluster_by first"
                " (Spark: DELTA_CLUSTERING_WITH_ZORDER_BY)"
            )
        paths: list[tuple[str, ...]] = []
        given = parse_clustering_columns(columns)
        for path in given:
            found = _resolved(snapshot, path)
            if found in paths:
                raise SchemaMismatchError(f"z-order column {render_path(found)!r} is given twice")
            paths.append(found)
        names = tuple(map(render_path, given))
        return cls(snapshot, tuple(paths), names, target_size_of(snapshot, rules.target_size))

    def plan(self, selection: Selection) -> OptimizePlan:
        """Plan to lay out the chosen partitions that are not, from the log alone.

        Raises `InvalidPredicateError` for a condition that is not on partition columns.
        """
        planned = plan_files(self.snapshot, selection)
        tags = planned.files.column("tags").to_pylist(maps_as_pydicts="strict")
        figures = FileFigures.of(planned)
        sparse = figures.have_too_many_deleted_rows(_MOST_DELETED)
        bins = [
            figures.bin(places)
            for places in figures.by_partition()
            if sparse[places].any() or not self._is_done({(tags[place] or {}).get(_TAG) for place in places})
        ]
        return OptimizePlan(planned, tuple(bins), planned.files.num_rows)

    def _is_done(self, tags: set[str | None]) -> bool:
        """Whether files with these tags are as one z-order left them."""
        tag, *others = tags
        if others or tag is None:
            return False
        try:
            found = orjson.loads(tag)
        except orjson.JSONDecodeError:
            return False
        return isinstance(found, dict) and found | self._tag == found

    @property
    def _tag(self) -> dict[str, object]:
        # Physical names stay when a column is renamed, and are new when one comes again.
        mode = self.snapshot.mapping_mode
        columns = [list(physical_path(self.snapshot.schema, path, mode)) for path in self.paths]
        return {"columns": columns, "targetSize": self.target_size}

    def sorting(self, limits: SortLimits) -> Sorting:
        """How the rows are laid out."""
        new_tags = functools.partial(_new_tags, orjson.dumps(self._tag))
        return Sorting(self.paths, z_order, self.target_size, new_tags, limits=limits)


def _resolved(snapshot: Snapshot, path: Sequence[str]) -> tuple[str, ...]:
    try:
        fields = resolve_path(snapshot.schema, path)
    except SchemaMismatchError as error:
        raise SchemaMismatchError(f"{error} (Spark: DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST)") from error
    found = tuple(field.name for field in fields)
    column = render_path(found)
    if found[0] in snapshot.partition_columns:
        raise SchemaMismatchError(
            f"{column!r} is a partition column: its values divide the files already; z-order by others"
            " (Spark: DELTA_ZORDERING_ON_PARTITION_COLUMN)"
        )
    if not has_order(fields[-1].type):
        raise SchemaMismatchError(
            f"no z-order by column {column!r}: values of type {type_name(fields[-1].type)} have no order"
        )
    mode = snapshot.mapping_mode
    indexed = statistics_columns(snapshot.schema, snapshot.partition_columns, snapshot.configuration, mode)
    if physical_path(snapshot.schema, found, mode) not in {each.path for each in indexed}:
        raise SchemaMismatchError(
            f"a z-order by column {column!r} would skip no files: it has no statistics; change"
            " delta.dataSkippingNumIndexedCols or delta.dataSkippingStatsColumns to collect them"
        )
    return found


def _new_tags(tag: bytes) -> dict[str, str]:
    """Return the tag of the files of a bin, which no other bin has."""
    return {_TAG: orjson.dumps({**orjson.loads(tag), "id": str(uuid.uuid4())}).decode()}


def z_order_parameters(selection: Selection, order: ZOrder) -> dict[str, object]:
    """Return the parameters that history shows, as Spark has them."""
    columns = orjson.dumps(order.names).decode()
    return {"predicate": selection.text, "zOrderBy": columns, "clusterBy": "[]", "auto": False}
