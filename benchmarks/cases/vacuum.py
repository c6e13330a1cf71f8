"""VACUUM. What it would delete is found and not deleted, so that each run finds the same.

A run opens the table and lists the files that go: by the log of a table of many files, and by a listing of
the folder, for which files are there.
"""

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, Case, Dataset, Engine, Scale, Target, short
from benchmarks.data import write_log_of_checkpoint
from benchmarks.data_maintenance import write_folder_of_files

__all__ = ["cases"]

_COMMITS = 20


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    adds = scale.planned_adds
    shape = f"adds_{short(adds)}_tombstones_{short(adds // 10)}_commits_{_COMMITS}_since_classic_checkpoint"
    write = partial(write_log_of_checkpoint, adds=adds, commits=_COMMITS, tombstones=adds // 10)
    by_log = Dataset(shape, write)
    files = scale.small_files * 100
    folder = Dataset(f"files_{short(files)}_unneeded_10_percent", partial(write_folder_of_files, files=files))
    whole = adds >= 1_000_000
    limits = (Target(plus=3, of="cold"), Target(plus=300e6, of="peak")) if whole else ()
    listing = (Target("deltalake", 0.5),) if whole else ()
    return [
        Case(f"{shape}_vacuum_by_log", by_log, _engines(full=False), _checksum, targets=limits),
        Case(f"{folder.name}_vacuum_full", folder, _engines(full=True), _checksum, targets=listing),
    ]


def _engines(*, full: bool) -> dict[str, Engine]:
    return {OURS: _engine(_ours, full), "deltalake": _engine(_deltalake, full)}


def _engine(load: Callable[[], Callable[[Path], Any]], full: bool) -> Engine:
    def run(data: Path, scratch: Path) -> Iterator[Any]:
        open_table = load()
        yield
        while True:
            yield open_table(data).vacuum(full=full)

    return run


def _ours() -> Callable[[Path], Any]:
    import duckdb  # noqa: F401  the package loads it at its first query

    from deltaarrow import DeltaTable

    return DeltaTable


def _deltalake() -> Callable[[Path], Any]:
    from deltalake import DeltaTable

    return DeltaTable


def _checksum(paths: list[str]) -> dict[str, int]:
    """Which files go; by their base names, as some are spelled absolutely."""
    names = sorted(path.rpartition("/")[2] for path in paths)
    return {"files": len(names), "crc": zlib.crc32("\n".join(names).encode())}
