"""The benchmark command line: ``python -m benchmarks run start_up snapshot_load scan arrow_dataset tpch``."""

import argparse
import importlib.util
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.case import SCALES, Case
from benchmarks.cases import SUITES
from benchmarks.measure import Task
from benchmarks.report import render_line, render_table, render_targets, renew_readme
from benchmarks.results import CaseResult, ResultsFile
from benchmarks.runner import (
    EngineFailedError,
    Settings,
    WrongAnswerError,
    perform_in_fresh_process,
    run_case,
)

__all__ = ["main", "recorded_results"]

_PEERS = ("deltalake", "polars")
_PEERS_ON_SPARK = ("pyspark", "delta")

_HERE = Path(__file__).parent
_README, _RECORD = _HERE / "README.md", _HERE / "results.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    options = _parser().parse_args(arguments)
    if options.command == "report":
        _renew_readme()
        return 0
    chosen = {
        name: [
            case.without(options.without)
            for case in SUITES[name](SCALES[options.scale])
            if options.match in case.name
        ]
        for name in options.suites or SUITES
    }
    if options.command == "list":
        for suite, cases in chosen.items():
            for case in cases:
                print(f"{suite:17} {case.name}  ({'; '.join(case.engines)})")
        return 0
    is_on_spark = any("delta-spark" in case.engines for cases in chosen.values() for case in cases)
    peers = (*_PEERS, *_PEERS_ON_SPARK) if is_on_spark else _PEERS
    if missing := [name for name in peers if importlib.util.find_spec(name) is None]:
        print(f"{', '.join(missing)} not installed: pip install 'deltaarrow[bench,spark]'", file=sys.stderr)
        return 2
    return _run(chosen, options)


def _run(chosen: dict[str, list[Case]], options: argparse.Namespace) -> int:
    """Run the cases, suite after suite; print and save the results of each."""
    options.data.mkdir(parents=True, exist_ok=True)
    settings = Settings(options.scale, options.data.resolve(), options.rounds, options.repeats)
    paths = [path for path in (options.json, _RECORD if options.record else None) if path is not None]
    files = [ResultsFile(path) for path in paths]
    failed = False
    for suite, cases in chosen.items():
        found: list[CaseResult] = []
        try:
            for case in cases:
                try:
                    found.append(run_case(suite, case, settings, _perform))
                except (EngineFailedError, WrongAnswerError) as error:
                    failed = True
                    _tell(str(error))
                    continue
                for file in files:
                    file.keep(found[-1])
                _tell(render_line(found[-1]))
        finally:
            if found:
                tables = filter(None, [render_targets(found), render_table(found)])
                print("\n\n".join([f"\n### {suite}", *tables]), flush=True)
                if options.record:
                    _renew_readme()
    return 1 if failed else 0


def recorded_results() -> list[CaseResult]:
    """Return the saved results in the present order of suites and cases, with their present targets."""
    kept = {(each.suite, each.case, each.conditions.scale): each for each in ResultsFile(_RECORD).results}
    return [
        replace(kept[key], targets=case.targets)
        for suite, cases in SUITES.items()
        for scale in SCALES
        for case in cases(SCALES[scale])
        if (key := (suite, case.name, scale)) in kept
    ]


def _renew_readme() -> None:
    renew_readme(_README, recorded_results())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("report", help="rewrite the README and the plot from the saved results")
    for name, text in (("list", "show the cases"), ("run", "check and time cases")):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument(
            "suites",
            nargs="*",
            type=_suite,
            metavar="SUITE",
            help=f"{', '.join(SUITES)}; default all",
        )
        command.add_argument("--scale", choices=SCALES, default="normal", help="size of the data")
        command.add_argument(
            "--match", default="", metavar="TEXT", help="only cases whose name contains this"
        )
        command.add_argument(
            "--without", default="", metavar="TEXT", help="leave out engines whose name contains this"
        )
    command.add_argument(
        "--rounds", type=_positive, default=5, help="paired runs, a process each (default 5)"
    )
    command.add_argument("--repeats", type=_positive, default=3, help="warm runs in a process (default 3)")
    command.add_argument(
        "--data",
        type=Path,
        default=Path(tempfile.gettempdir()) / "deltaarrow-benchmarks",
        metavar="FOLDER",
        help="folder for the data (default %(default)s)",
    )
    command.add_argument("--json", type=Path, metavar="FILE", help="add the measurements to a file")
    command.add_argument(
        "--record",
        action="store_true",
        help="add them to benchmarks/results.json, and rewrite benchmarks/README.md and its plot",
    )
    return parser


def _suite(text: str) -> str:
    if text not in SUITES:
        raise argparse.ArgumentTypeError(f"unknown suite {text!r}; choose from {', '.join(SUITES)}")
    return text


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def _perform(task: Task) -> Any:
    if sys.stderr.isatty():
        print(f"\r\x1b[2K{task.case}: {task.do} {task.engine}", end="", file=sys.stderr, flush=True)
    return perform_in_fresh_process(task)


def _tell(text: str) -> None:
    """Print a line on standard error, over the progress line."""
    print(f"\r\x1b[2K{text}" if sys.stderr.isatty() else text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
