"""The command line: ``python -m benchmarks run snapshot_load scan write commit checkpoint``."""

import argparse
import importlib.util
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.case import SCALES
from benchmarks.cases import SUITES
from benchmarks.measure import Task
from benchmarks.report import render_table, results_json
from benchmarks.runner import (
    EngineFailedError,
    Settings,
    WrongAnswerError,
    perform_in_fresh_process,
    run_case,
)

__all__ = ["main"]

_PEERS = ("deltalake", "polars")
_PEERS_ON_SPARK = ("pyspark", "delta")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    options = _parser().parse_args(arguments)
    suites = {name: SUITES[name](SCALES[options.scale]) for name in options.suites or SUITES}
    chosen = [
        (suite, case) for suite, cases in suites.items() for case in cases if options.match in case.name
    ]
    if options.command == "list":
        for suite, case in chosen:
            print(f"{suite:17} {case.name}  ({'; '.join(case.engines)})")
        return 0
    peers = (*_PEERS, *_PEERS_ON_SPARK) if "spark_source" in suites else _PEERS
    if missing := [name for name in peers if importlib.util.find_spec(name) is None]:
        print(f"{', '.join(missing)} not installed: pip install 'deltaarrow[bench,spark]'", file=sys.stderr)
        return 2
    options.data.mkdir(parents=True, exist_ok=True)
    settings = Settings(options.scale, options.data.resolve(), options.rounds, options.repeats)
    results = []
    try:
        for suite in suites:
            found = [run_case(suite, case, settings, _perform) for name, case in chosen if name == suite]
            _show_progress("")
            if found:
                print(f"\n### {suite}\n\n{render_table(found)}", flush=True)
            results += found
    except (EngineFailedError, WrongAnswerError) as error:
        _show_progress("")
        print(error, file=sys.stderr)
        return 1
    if options.json is not None:
        options.json.write_text(json.dumps(results_json(results, settings), indent=1) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("list", "show the cases"), ("run", "check and time cases")):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument(
            "suites",
            nargs="*",
            type=_suite,
            metavar="SUITE",
            help=f"{', '.join(SUITES)}; default all",
        )
        command.add_argument("--scale", choices=SCALES, default="normal", help="how large the data are")
        command.add_argument("--match", default="", metavar="TEXT", help="only cases with this in their name")
    command.add_argument(
        "--rounds", type=_positive, default=5, help="paired runs, a process each (default 5)"
    )
    command.add_argument("--repeats", type=_positive, default=3, help="warm runs in a process (default 3)")
    command.add_argument(
        "--data",
        type=Path,
        default=Path(tempfile.gettempdir()) / "deltaarrow-benchmarks",
        metavar="FOLDER",
        help="where the data are kept (default %(default)s)",
    )
    command.add_argument("--json", type=Path, metavar="FILE", help="write all measurements to a file")
    return parser


def _suite(text: str) -> str:
    if text not in SUITES:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(SUITES)}")
    return text


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def _perform(task: Task) -> Any:
    _show_progress(f"{task.case}: {task.do} {task.engine}")
    return perform_in_fresh_process(task)


def _show_progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
