"""Benchmark cases: a dataset, several engines that do the same work, and the expected answer.

This module and those of `benchmarks.cases` import only the standard library when they are loaded:
a process that measures one engine must not hold the libraries of another.
"""

import inspect
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

__all__ = [
    "OURS",
    "READY",
    "SCALES",
    "Case",
    "Dataset",
    "Engine",
    "Measured",
    "Quantity",
    "Scale",
    "Target",
    "no_figures",
    "short",
]

OURS = "deltaarrow"
"""The engine with which all others of a case are compared."""

READY = object()
"""Yielded by an engine before a run, after preparation that is not timed."""


class Measured(NamedTuple):
    """A result with the seconds that count for it, from an engine that measures its runs by itself."""

    result: Any
    seconds: float


Engine = Callable[[Path, Path], Iterator[Any]]
"""A generator function over the dataset's folder and a scratch folder.

Nothing is timed up to its first ``yield``: imports, inputs. From there to the second ``yield`` is the *cold*
run, in a process that has done nothing else. Every later one is a *warm* run. An engine yields its result, or
`Measured`; if it yields `READY` before that, the time counts from there.
"""


@dataclass(frozen=True)
class Dataset:
    """Files that `write` puts into a folder; written once and kept under `name`."""

    name: str
    write: Callable[[Path], None]

    def folder(self, root: Path) -> Path:
        """Return the dataset's folder below `root`; its name changes with the module that writes it."""
        write = self.write.func if isinstance(self.write, partial) else self.write
        code = Path(inspect.getfile(write)).read_bytes()
        return root / f"{self.name}-{zlib.crc32(code):08x}"


Quantity = str
"""A measured quantity: ``cold`` and ``warm`` are seconds of the first run and of later runs, ``peak`` is
bytes. Any other is a figure of the case, by its column heading."""


@dataclass(frozen=True)
class Target:
    """A limit for deltaarrow in a case, relative to another engine or absolute.

    Args:
        beside: the engine whose median counts; none if the limit is `plus` alone.
        times: the allowed multiple of that median.
        plus: the allowed amount beyond that, in seconds or bytes.
        mean: the greatest geometric mean of the ratios to that engine, over all cases of the suite
            with an equal target. `times` then applies to each of them, unless it is `None`.
        of: the measured quantity.
    """

    beside: str = ""
    times: float | None = None
    plus: float = 0
    mean: float | None = None
    of: Quantity = "warm"

    def limit(self, peer: float) -> float:
        """Return the limit, given the median of the other engine."""
        return (self.times or 0) * peer + self.plus


def no_figures(result: Any) -> dict[str, float]:
    """Return nothing: a case whose result has no further figures."""
    return {}


@dataclass(frozen=True)
class Case:
    """The same work for several engines.

    Args:
        name: the shape of the data and the question.
        dataset: the input of the engines.
        engines: by name; `OURS` and its peers.
        answer: converts a result to JSON values that must be equal for all engines. An engine may leave
            out keys of an object that it cannot report.
        figures: further figures of a result, by column heading; computed after the timing.
        targets: the limits for deltaarrow.
        yardsticks: engines that do other work on purpose; their answers are not compared.
    """

    name: str
    dataset: Dataset
    engines: Mapping[str, Engine]
    answer: Callable[[Any], Any]
    figures: Callable[[Any], Mapping[str, float]] = no_figures
    targets: tuple[Target, ...] = ()
    yardsticks: frozenset[str] = frozenset()

    def without(self, text: str) -> Self:
        """Return the case without the engines whose names contain a text; ours stays."""
        kept = {
            name: run for name, run in self.engines.items() if name == OURS or not text or text not in name
        }
        return replace(self, engines=kept)


@dataclass(frozen=True)
class Scale:
    """The sizes of the datasets.

    Args:
        checkpoint_adds: files in the checkpoints of tables without data files, one table each.
        planned_adds: files in the checkpoint of the table of which few files are wanted.
        tail_adds: files in the log of 200 commits without a checkpoint.
        rows: rows of the scanned table.
        written_rows: rows written from memory and from a stream.
        streamed_rows: further lengths of streams.
        small_files: files of the table with two files in each partition.
        appends: number of small appends.
        merged_rows: rows of sources that are merged into tables ten times as large.
        deleted_percents: deleted shares of a table.
        tpch: the scale factor of TPC-H.
        columns: columns of the wide table.
    """

    checkpoint_adds: tuple[int, ...]
    planned_adds: int
    tail_adds: int
    rows: int
    written_rows: int
    streamed_rows: tuple[int, ...]
    small_files: int
    appends: int
    merged_rows: tuple[int, ...]
    deleted_percents: tuple[float, ...]
    tpch: float
    columns: int


_PERCENTS = (0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 40, 60, 90)

SCALES = {
    "tiny": Scale((1_000,), 1_000, 400, 8_000, 2_000, (), 40, 5, (200,), (1, 90), 0.01, 200),
    "normal": Scale(
        (100_000,), 1_000_000, 20_000, 2_000_000, 6_000_000, (), 2_000, 200, (), _PERCENTS, 1, 5_000
    ),
    "full": Scale(
        (100_000, 1_000_000),
        1_000_000,
        20_000,
        10_000_000,
        6_000_000,
        (60_000_000,),
        2_000,
        200,
        (6_000_000,),
        _PERCENTS,
        1,
        5_000,
    ),
}


def short(count: int) -> str:
    """Return a count as names spell it.

    >>> short(2_000_000), short(100_000), short(200)
    ('2m', '100k', '200')
    """
    for size, unit in ((1_000_000, "m"), (1_000, "k")):
        if count and count % size == 0:
            return f"{count // size}{unit}"
    return str(count)
