"""What a benchmark case is: a dataset, several engines that do the same with it, and what must come out.

This module and those of `benchmarks.cases` import nothing but the standard library when they are loaded:
a process that measures one engine must not hold the libraries of another.
"""

import inspect
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

__all__ = ["OURS", "READY", "SCALES", "Case", "Dataset", "Engine", "Quantity", "Scale", "Target", "short"]

OURS = "deltaarrow"
"""The engine of every case that the others are compared with."""

READY = object()
"""What an engine yields before a run when it has prepared something that is not to be timed."""

Engine = Callable[[Path, Path], Iterator[Any]]
"""A generator function over the folders of the dataset and of what may be written.

Up to its first ``yield`` nothing is timed: imports, inputs. From there to the second is the *cold* run, in
a process that has done nothing else. Every further one is a *warm* run. What is yielded is the result. An
engine that yields `READY` before its result is timed from there.
"""


@dataclass(frozen=True)
class Dataset:
    """Files that `write` puts into a folder; made once and kept under `name`."""

    name: str
    write: Callable[[Path], None]

    def folder(self, root: Path) -> Path:
        """Return where the files are below `root`; elsewhere once the module that writes them changes."""
        write = self.write.func if isinstance(self.write, partial) else self.write
        code = Path(inspect.getfile(write)).read_bytes()
        return root / f"{self.name}-{zlib.crc32(code):08x}"


Quantity = Literal["cold", "warm", "peak"]
"""What is measured of an engine: seconds of the first run, of later ones; bytes."""


@dataclass(frozen=True)
class Target:
    """What deltaarrow is held to in a case: a limit made of what another engine needs, or one of its own.

    Args:
        beside: the engine whose median counts; none where the limit is `plus` alone.
        times: how many times that median may be needed.
        plus: what may be needed beyond that, in seconds or bytes.
        mean: how large the geometric mean of the ratios to that engine may be, over all cases of the suite
            with an equal target. `times` then holds for each of them, if it is not `None`.
        of: which measurement.
    """

    beside: str = ""
    times: float | None = None
    plus: float = 0
    mean: float | None = None
    of: Quantity = "warm"

    def limit(self, peer: float) -> float:
        """Return the limit, given the median of the other engine."""
        return (self.times or 0) * peer + self.plus


@dataclass(frozen=True)
class Case:
    """The same work for several engines.

    Args:
        name: the shape of the data and what is asked of it.
        dataset: what the engines are given.
        engines: by name; `OURS` and those that it is compared with.
        answer: makes of a result what must be equal for all engines, as JSON has it. An engine may leave
            out keys of an object that it cannot tell.
        figures: what else is to be known of a result, by the heading of its column. The process is not
            timed any more when it is asked.
        targets: what is to be reached.
        yardsticks: engines that are asked something else, on purpose: their answers are not compared.
    """

    name: str
    dataset: Dataset
    engines: Mapping[str, Engine]
    answer: Callable[[Any], Any]
    figures: Callable[[Any], Mapping[str, float]] = field(default=lambda _: {})
    targets: tuple[Target, ...] = ()
    yardsticks: frozenset[str] = frozenset()

    def without(self, text: str) -> Self:
        """Return the case without the engines that have a text in their names; ours stays."""
        kept = {
            name: run for name, run in self.engines.items() if name == OURS or not text or text not in name
        }
        return replace(self, engines=kept)


@dataclass(frozen=True)
class Scale:
    """How large the datasets are.

    Args:
        checkpoint_adds: files in the checkpoints of the tables that are logs alone, a table each.
        planned_adds: the same of the table of which few files are wanted.
        tail_adds: files in the log of 200 commits without a checkpoint.
        rows: rows of the table that is scanned.
        written_rows: rows that are written from memory and from a stream.
        streamed_rows: further lengths of streams.
        small_files: files of the table with two files in each partition.
        appends: how many small appends.
        merged_rows: rows of sources that are merged into tables ten times as large.
        deleted_percents: how much of a table is deleted.
        tpch: the scale factor of TPC-H.
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


_PERCENTS = (0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 40, 60, 90)

SCALES = {
    "tiny": Scale((1_000,), 1_000, 400, 8_000, 2_000, (), 40, 5, (200,), (1, 90), 0.01),
    "normal": Scale((100_000,), 1_000_000, 20_000, 2_000_000, 6_000_000, (), 2_000, 200, (), _PERCENTS, 1),
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
    ),
}


def short(count: int) -> str:
    """Return a count as it stands in names.

    >>> short(2_000_000), short(100_000), short(200)
    ('2m', '100k', '200')
    """
    for size, unit in ((1_000_000, "m"), (1_000, "k")):
        if count and count % size == 0:
            return f"{count // size}{unit}"
    return str(count)
