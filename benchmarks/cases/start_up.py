"""The start-up cost of a program: importing the package, and opening a small table.

The package imports only what the requested names need, so importing ``DeltaTable`` is timed as well.
Every run, warm ones too, is its own process that has imported nothing else; the start of Python is not
timed. In a warm run the imported files are in the page cache. The memory is that of the process that starts
the others.
"""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, READY, Case, Dataset, Engine, Scale, Target
from benchmarks.data import write_log_of_commits

__all__ = ["cases"]

_OPEN = "version = DeltaTable({folder!r}).version()"
_SCRIPT = """
{untimed}
version = 0
print("ready", flush=True)
input()
{timed}
print(version, flush=True)
"""


def cases(_: Scale) -> list[Case]:
    """Return the cases, which are the same at every scale."""
    dataset = Dataset("adds_1_commits_1", partial(write_log_of_commits, adds=1, commits=1))
    pyarrow = {"pyarrow": _program(timed="import pyarrow")}
    package = {OURS: _program(timed="import deltaarrow")} | pyarrow
    table = {
        OURS: _program(timed="from deltaarrow import DeltaTable"),
        **pyarrow,
        "deltalake": _program(timed="from deltalake import DeltaTable"),
    }
    both = {
        OURS: _program(timed=f"from deltaarrow import DeltaTable; {_OPEN}"),
        "deltalake": _program(timed=f"from deltalake import DeltaTable; {_OPEN}"),
    }
    opening = {
        OURS: _program("from deltaarrow import DeltaTable", _OPEN),
        "deltalake": _program("from deltalake import DeltaTable", _OPEN),
    }
    targets = (Target("pyarrow", 1.3),)
    return [
        Case("import_package", dataset, package, int, targets=targets),
        Case("import_table", dataset, table, int, targets=targets),
        Case(f"open_{dataset.name}", dataset, opening, int, targets=(Target(plus=0.005),)),
        Case(f"import_and_open_{dataset.name}", dataset, both, int),
    ]


def _program(untimed: str = "", timed: str = "") -> Engine:
    """A program of two parts, of which the second is timed; its answer is the version that it found."""

    def run(data: Path, _: Path) -> Iterator[Any]:
        yield
        while True:
            parts = {
                name: text.format(folder=str(data)) for name, text in (("untimed", untimed), ("timed", timed))
            }
            command = [sys.executable, "-c", _SCRIPT.format(**parts)]
            with subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            ) as process:
                assert process.stdin and process.stdout
                process.stdout.readline()
                yield READY
                process.stdin.write("\n")
                process.stdin.flush()
                version = process.stdout.readline()
                yield version

    return run
