"""Compaction of ``lineitem``; every run has its own table of a log and links to files.

Both libraries make one file of many. Our table may have deletion vectors, which ``deltalake`` refuses to
compact. Another case has a deletion vector for every file.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, READY, Case, Dataset, Engine, Scale, Target, short
from benchmarks.cases.dml import both_engines, describe_rows, lineitem_dataset, linked_table, written_files
from benchmarks.data_lineitem import DELETED, VECTORS, write_lineitem_tables

__all__ = ["cases", "deleted_dataset", "linked"]

_FILES = 200
_DELETED_PERCENT = 6
"""Above 5 %, from which on a file is compacted whatever its size."""

_TARGET_SIZE = 1 << 30


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    rows = scale.written_rows
    files = min(_FILES, max(2, rows // 10_000))
    name = f"rows_{short(rows)}_files_{files}"
    is_whole = rows >= 6_000_000
    limits = (Target("deltalake", 0.6), Target(plus=600e6, of="peak")) if is_whole else ()
    deleted = deleted_dataset(scale)
    return [
        Case(
            f"{name}_compact",
            lineitem_dataset(rows, files, rows // 60),
            both_engines(_compact),
            describe_rows,
            written_files,
            targets=limits,
        ),
        Case(
            f"{deleted.name}_compact",
            deleted,
            {OURS: linked(DELETED, _compact), _NOTHING_DELETED: linked(VECTORS, _compact)},
            describe_rows,
            written_files,
            targets=(Target(_NOTHING_DELETED, 1.3),) if is_whole else (),
            yardsticks=frozenset({_NOTHING_DELETED}),
        ),
    ]


_NOTHING_DELETED = "deltaarrow, nothing deleted"


def deleted_dataset(scale: Scale) -> Dataset:
    """A table with a deletion vector for every file, and the same one with none."""
    rows = scale.written_rows
    files = min(_FILES, max(2, rows // 10_000))
    write = partial(write_lineitem_tables, rows=rows, files=files, deleted_percent=_DELETED_PERCENT)
    return Dataset(f"rows_{short(rows)}_files_{files}_deleted_{_DELETED_PERCENT}_percent", write)


def _compact(table: Any, _: Any = None) -> None:
    table.optimize.compact(target_size=_TARGET_SIZE)


def linked(which: str, change: Callable[[Any], object]) -> Engine:
    """Our change of one of the two tables of `deleted_dataset`; every run has a table of its own."""

    def run(data: Path, scratch: Path) -> Iterator[Any]:
        import duckdb  # noqa: F401  the package loads it at its first query

        from deltaarrow import DeltaTable

        yield
        number = 0
        while True:
            number += 1
            folder = linked_table(data / which, scratch / str(number), "")
            yield READY
            change(DeltaTable(folder))
            yield folder

    return run
