"""The start-up cost of a program: importing the package, opening a small table, and a first statement.

The package imports only what the requested names need, so importing ``DeltaTable`` is timed as well.
Every run, warm ones too, is its own process that has imported nothing else. In a warm run the imported files
are in the page cache. The memory is that of the process that starts the others.

For imports the start of Python is not timed. Counting or reading 1,000 rows, a statement that changes a row
and the help of the command line are whole programs: their seconds are the processor time of the process, from
the start of Python to its end. The program that only imports pyarrow is the measure.
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, READY, Case, Dataset, Engine, Measured, Scale, Target, short
from benchmarks.data import write_log_of_commits, write_small_table

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

_ROWS = 1_000
_OPENED = "import pyarrow as pa; from {package} import DeltaTable; table = DeltaTable({folder!r})"
_MERGE = """
source = pa.ipc.open_stream(pa.OSFile({folder!r} + "/source.arrow")).read_all()
merge = table.merge(source, "t.id = s.id", "s", "t")
done = merge.when_matched_update_all().when_not_matched_insert_all().execute()
print(10 * done["num_target_rows_updated"] + done["num_target_rows_inserted"])
"""
_FIRST = {
    "count": "print(table.count())",
    "read": "print(table.to_pyarrow_table().num_rows)",
    "delete": "print(table.delete('id = 5')['num_deleted_rows'])",
    "update": "print(table.update({{'status': \"'lost'\"}}, predicate='id = 5')['num_updated_rows'])",
    "merge": _MERGE,
}
"""The first statement of a program, by name."""

_LIMITS = {"count": 2, "read": 3, "delete": 5}
"""How many times the processor time of importing pyarrow a first statement may take."""

_TRIES = 5
"""How often a program of deltalake's is run at most.

pyarrow's threads read its files through Python, and abort the process if the interpreter ends meanwhile. On
a busy machine that happened after one answer in forty.
"""

_HELP = """
import contextlib, io, sys
from deltaarrow.cli.main import main
sys.argv = ["deltaarrow", "--help"]
said = io.StringIO()
with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
    main()
print(int("Exit codes" in said.getvalue()))
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
    return [
        Case("import_package", dataset, package, int, targets=(Target("pyarrow", 0.2),)),
        Case("import_table", dataset, table, int),
        Case(f"open_{dataset.name}", dataset, opening, int, targets=(Target(plus=0.005),)),
        Case(f"import_and_open_{dataset.name}", dataset, both, int),
        *_programs(),
    ]


def _programs() -> list[Case]:
    """The cases of whole programs, measured by the one that only imports pyarrow."""
    dataset = Dataset(f"rows_{short(_ROWS)}", partial(write_small_table, rows=_ROWS))
    measure = {"pyarrow": _whole("import pyarrow; print(0)")}
    measured = frozenset(measure)

    def limit(times: float) -> tuple[Target, ...]:
        return (Target("pyarrow", times),)

    found = []
    for name, statement in _FIRST.items():
        engines = {
            package: _whole(f"{_OPENED.replace('{package}', package)}\n{statement}", tries)
            for package, tries in ((OURS, 1), ("deltalake", _TRIES))
        }
        targets = limit(_LIMITS[name]) if name in _LIMITS else ()
        engines = {OURS: engines[OURS], **measure, **engines}
        found.append(
            Case(f"{dataset.name}_first_{name}", dataset, engines, int, targets=targets, yardsticks=measured)
        )
    help_engines = {OURS: _whole(_HELP), **measure}
    found.append(Case("command_line_help", dataset, help_engines, int, targets=limit(1), yardsticks=measured))
    return found


def _whole(program: str, tries: int = 1) -> Engine:
    """A program from the start of Python to its end; it prints its answer and may change the table.

    One that aborts is run again, up to `tries` times in all.
    """

    def run(data: Path, scratch: Path) -> Iterator[Any]:
        # Modules are compiled once, as where a package is installed.
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        yield
        while True:
            for remaining in reversed(range(tries)):
                folder = scratch / "table"
                shutil.rmtree(folder, ignore_errors=True)
                shutil.copytree(data, folder)
                command = [sys.executable, "-c", program.format(folder=str(folder))]
                before = _processor_seconds()
                done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
                if not (remaining and done.returncode == -signal.SIGABRT):
                    done.check_returncode()
                    break
            yield Measured(done.stdout, _processor_seconds() - before)

    return run


def _processor_seconds() -> float:
    """The processor time of all processes that this one has waited for, in user and system mode."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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
