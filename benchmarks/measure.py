"""Measurement of one engine in its own process: ``python -m benchmarks.measure`` with a `Task` as JSON.

Prints a JSON object as its last line. `benchmarks.runner` starts it; it is not meant for use by hand.
"""

import contextlib
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.case import READY, SCALES, Case, Measured
from benchmarks.cases import SUITES

__all__ = ["Step", "Task", "perform"]

Step = Literal["prepare", "answer", "time"]


@dataclass(frozen=True)
class Task:
    """The work of one process.

    Args:
        suite: the suite.
        case: the name of the case.
        scale: a name from `SCALES`.
        root: the folder of all datasets.
        do: write the dataset, run an engine once for its answer, or time it.
        engine: the engine, if one is needed.
        repeats: the number of warm runs.
    """

    suite: str
    case: str
    scale: str
    root: str
    do: Step
    engine: str = ""
    repeats: int = 0

    def to_json(self) -> str:
        """Return the task as text."""
        return json.dumps(asdict(self))


def perform(task: Task) -> Any:
    """Carry out the task in this process."""
    (case,) = (each for each in SUITES[task.suite](SCALES[task.scale]) if each.name == task.case)
    root = Path(task.root)
    if task.do == "prepare":
        return _prepare(case, root)
    scratch = Path(tempfile.mkdtemp(dir=root, prefix="scratch-"))
    try:
        # An engine may have started a server, which ends with it.
        with contextlib.closing(case.engines[task.engine](case.dataset.folder(root), scratch)) as runs:
            next(runs)
            if task.do == "answer":
                return case.answer(_timed(runs)[0])
            return _measured(case, runs, task.repeats)
    finally:
        shutil.rmtree(scratch)


def _measured(case: Case, runs: Iterator[Any], repeats: int) -> dict[str, Any]:
    seconds = []
    result = None
    held = _held_bytes()
    for _ in range(1 + repeats):
        result, duration = _timed(runs)
        seconds.append(duration)
    peak = _peak_bytes()
    return {
        "cold": seconds[0],
        "warm": seconds[1:],
        "peak_bytes": peak,
        "above_bytes": max(0, peak - held),
        "figures": dict(case.figures(result)),
    }


def _timed(runs: Iterator[Any]) -> tuple[Any, float]:
    """The result of the next run, and its seconds."""
    start = time.perf_counter()
    result = next(runs)
    if result is READY:
        start = time.perf_counter()
        result = next(runs)
    seconds = time.perf_counter() - start
    return (result.result, result.seconds) if isinstance(result, Measured) else (result, seconds)


def _prepare(case: Case, root: Path) -> str:
    """Write the dataset unless it exists; a folder under its final name is complete."""
    folder = case.dataset.folder(root)
    if not folder.exists():
        draft = Path(tempfile.mkdtemp(dir=root, prefix="draft-"))
        try:
            case.dataset.write(draft)
            with contextlib.suppress(FileExistsError):
                draft.rename(folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return str(folder)


def _held_bytes() -> int:
    """The memory that this process holds now, for imports and inputs; the peak so far if that is unknown."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except FileNotFoundError:
        return _peak_bytes()
    return pages * resource.getpagesize()


def _peak_bytes() -> int:
    """The peak memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    result = perform(Task(**json.loads(sys.argv[1])))
    print(json.dumps(result), flush=True)
    # The work of libraries when a process ends is not measured, and may be slow.
    os._exit(0)
