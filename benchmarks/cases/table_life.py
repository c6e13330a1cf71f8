"""The life of a table: RESTORE of one version, clones, and DROP FEATURE.

A shallow clone and a restore work on a table whose many files are in its log alone. A deep clone is
measured beside a plain copy of the same files, which also waits until they are on the disk.
"""

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, READY, Case, Dataset, Engine, Scale, Target, short
from benchmarks.cases.compaction import deleted_dataset, linked
from benchmarks.cases.dml import describe_rows
from benchmarks.data import write_log_of_checkpoint, write_orders_table
from benchmarks.data_lineitem import DELETED

__all__ = ["cases"]

_COMMITS = 20
_FILES = 50


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    adds = scale.planned_adds
    shape = f"adds_{short(adds)}_commits_{_COMMITS}_since_classic_checkpoint"
    log = Dataset(shape, partial(write_log_of_checkpoint, adds=adds, commits=_COMMITS))
    rows = scale.written_rows
    copied = Dataset(
        f"rows_{short(rows)}_files_{_FILES}", partial(write_orders_table, rows=rows, files=_FILES)
    )
    is_whole = adds >= 1_000_000
    restore = (Target(plus=1, of="cold"), Target(plus=400e6, of="peak")) if is_whole else ()
    shallow = (Target(plus=3, of="cold"),) if is_whole else ()
    deep = (Target("copy", 1.25),) if is_whole else ()
    return [
        Case(f"{shape}_restore_one_version", log, {OURS: _restore}, _counts, targets=restore),
        Case(f"{shape}_shallow_clone", log, {OURS: _shallow_clone}, _counts, targets=shallow),
        Case(
            f"{copied.name}_deep_clone",
            copied,
            {OURS: _each(_deep_clone), "copy": _each(_copy)},
            lambda files: files,
            targets=deep,
        ),
        Case(
            f"{deleted_dataset(scale).name}_drop_deletion_vectors",
            deleted_dataset(scale),
            {OURS: linked(DELETED, _drop_vectors), _PURGED: linked(DELETED, _purge)},
            describe_rows,
            targets=(Target(_PURGED, 1.2),) if is_whole else (),
            yardsticks=frozenset({_PURGED}),
        ),
    ]


_PURGED = "deltaarrow, purged"


def _drop_vectors(table: Any) -> None:
    table.alter.drop_feature("deletionVectors")


def _purge(table: Any) -> None:
    table.optimize.purge()


def _restore(data: Path, scratch: Path) -> Iterator[Any]:
    import duckdb  # noqa: F401  the package loads it at its first query

    from deltaarrow import DeltaTable

    number = 0
    yield
    while True:
        # The log alone: a restore adds to it.
        folder = scratch / f"restored{number}"
        shutil.copytree(data / "_delta_log", folder / "_delta_log")
        yield READY
        table = DeltaTable(folder)
        yield table.restore(table.version() - 1, ignore_missing_files=True)
        shutil.rmtree(folder)
        number += 1


def _shallow_clone(data: Path, scratch: Path) -> Iterator[Any]:
    import duckdb  # noqa: F401  the package loads it at its first query

    from deltaarrow import DeltaTable

    yield
    while True:
        yield DeltaTable(data).clone(scratch / "clone")
        shutil.rmtree(scratch / "clone")
        yield READY


def _each(copy: Callable[[Path, Path], None]) -> Engine:
    def run(data: Path, scratch: Path) -> Iterator[Any]:
        import deltaarrow  # noqa: F401

        number = 0
        yield
        while True:
            target = scratch / f"copy{number}"
            yield READY
            copy(data, target)
            yield sorted((file.name, file.stat().st_size) for file in target.glob("*.parquet"))
            shutil.rmtree(target)
            number += 1

    return run


def _deep_clone(data: Path, target: Path) -> None:
    from deltaarrow import DeltaTable

    DeltaTable(data).clone(target, shallow=False)


def _copy(data: Path, target: Path) -> None:
    import os

    shutil.copytree(data, target)
    for file in target.rglob("*.*"):
        if file.is_file():
            descriptor = os.open(file, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)


def _counts(metrics: dict[str, int]) -> dict[str, int]:
    return metrics
