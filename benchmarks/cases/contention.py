"""Statements beside other writers of the same table, on other rows: processes of their own, on a disk.

Every run has its own table. An UPDATE beside two writers that append without a pause is compared with the
same UPDATE alone. The last case counts the commits of many writers of four kinds in a fixed time. The
answers show that no commit was lost and none made twice.
"""

import importlib
import itertools
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.case import OURS, Case, Dataset, Measured, Scale, Target
from benchmarks.data import write_orders_table
from benchmarks.writers import ROWS_OF_A_WRITER, Writer, writing

__all__ = ["cases"]

ALONE = "deltaarrow, alone"
"""The same statements on a table that nobody else writes."""

_UNEQUAL = "most / fewest commits"
_WRITERS = 12
_KINDS = ("append", "append", "update", "update", "merge", "delete")


class _Done(NamedTuple):
    """The table after a run, the commits of each writer, and the number of rows that were to be changed."""

    folder: Path
    commits: Sequence[int]


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale; the smallest has few writers, for little time."""
    is_small = scale.appends < _WRITERS
    writers = len(_KINDS) if is_small else _WRITERS
    files = Dataset(
        f"orders_files_{writers}_of_rows_{ROWS_OF_A_WRITER}",
        partial(write_orders_table, rows=writers * ROWS_OF_A_WRITER, files=writers),
    )
    updates = 2 if is_small else 10
    mixed = partial(_mixed, kinds=[*itertools.islice(itertools.cycle(_KINDS), writers)])
    return [
        Case(
            f"updates_{updates}_beside_2_appenders_{files.name}",
            files,
            {
                OURS: partial(_updates, library="deltaarrow", count=updates, appenders=2),
                ALONE: partial(_updates, library="deltaarrow", count=updates, appenders=0),
                "deltalake": partial(_updates, library="deltalake", count=updates, appenders=2),
            },
            _lost,
            targets=(Target(ALONE, 5),),
        ),
        Case(
            f"mixed_writers_{writers}_{files.name}",
            files,
            {
                OURS: partial(mixed, library="deltaarrow", seconds=1 if is_small else 20),
                "deltalake": partial(mixed, library="deltalake", seconds=1 if is_small else 20),
            },
            _lost,
            _fairness,
            targets=(Target(plus=10, of=_UNEQUAL),),
        ),
    ]


# --- engines ---------------------------------------------------------------------------------------


def _updates(data: Path, scratch: Path, *, library: str, count: int, appenders: int) -> Iterator[Any]:
    """Time `count` UPDATEs of single rows."""
    importlib.import_module(library)
    yield None
    for folder in _tables(data, scratch):
        own = Writer(library, str(folder), "update", 0)
        own.write(0)
        others = [Writer(library, str(folder), "append", 1 + number) for number in range(appenders)]
        with writing(others) as running:
            begun = time.perf_counter()
            for turn in range(1, 1 + count):
                own.write(turn)
            seconds = time.perf_counter() - begun
        yield Measured(_Done(folder, [1 + count, *running.commits]), seconds)


def _mixed(data: Path, scratch: Path, *, kinds: Sequence[str], library: str, seconds: float) -> Iterator[Any]:
    """Let writers write for some seconds."""
    importlib.import_module(library)
    yield None
    for folder in _tables(data, scratch):
        writers = [Writer(library, str(folder), kind, number) for number, kind in enumerate(kinds)]
        with writing(writers) as running:
            time.sleep(seconds)
        yield _Done(folder, running.commits)


def _tables(data: Path, scratch: Path) -> Iterator[Path]:
    """Yield copies of the table, each in a folder of its own."""
    for number in itertools.count():
        yield Path(shutil.copytree(data, scratch / str(number)))


# --- answers ---------------------------------------------------------------------------------------


def _lost(done: _Done) -> dict[str, int]:
    from deltalake import DeltaTable

    return {"commits lost": sum(done.commits) - DeltaTable(done.folder).version()}


def _fairness(done: _Done) -> Mapping[str, float]:
    most, fewest = max(done.commits), min(done.commits)
    return {"commits": sum(done.commits), _UNEQUAL: most / max(fewest, 0.5)}
