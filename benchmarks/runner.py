"""The runner of cases: every measurement in a fresh process, the engines of a case in turns.

Before a case is timed every engine answers it once, and the answers must be equal. A round is one process
per engine, and a different engine begins each round, so that disturbances hit all engines
alike. Figures are medians over the rounds, and ratios are ratios of medians.
"""

import json
import os
import statistics
import subprocess
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, Case
from benchmarks.extension import is_elsewhere, python_of
from benchmarks.measure import Step, Task
from benchmarks.results import CaseResult, Conditions, Measurements

__all__ = [
    "EngineFailedError",
    "Settings",
    "WrongAnswerError",
    "perform_in_fresh_process",
    "run_case",
]


_LONGEST_KEPT = 200
"""Characters of an answer; of a longer one only the checksum is kept."""


class EngineFailedError(Exception):
    """The process that ran an engine failed."""


class WrongAnswerError(Exception):
    """The answer of an engine differs from ours."""


@dataclass(frozen=True)
class Settings:
    """How cases are run.

    Args:
        scale: a name from `benchmarks.case.SCALES`.
        root: the folder of the datasets; it must exist.
        rounds: paired runs.
        repeats: warm runs in each process.
    """

    scale: str
    root: Path
    rounds: int
    repeats: int


def perform_in_fresh_process(task: Task) -> Any:
    """Carry out a task in its own process.

    Raises `EngineFailedError` with the standard error of the process.
    """
    python = Path(sys.executable)
    if is_elsewhere(task.engine):
        try:
            python = python_of(task.engine, Path(task.root))
        except subprocess.CalledProcessError as error:
            raise EngineFailedError(f"{task.case}: no environment for {task.engine}\n{error}") from error
    process = subprocess.run(
        [python, "-m", "benchmarks.measure", task.to_json()],
        cwd=Path(__file__).parent.parent,
        # An installed package has its bytecode next to it; a checkout has it after the first import.
        env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        raise EngineFailedError(f"{task.case}: {task.do} {task.engine} failed\n{process.stderr.strip()}")
    return json.loads(process.stdout.splitlines()[-1])


def run_case(
    suite: str,
    case: Case,
    settings: Settings,
    perform: Callable[[Task], Any] = perform_in_fresh_process,
) -> CaseResult:
    """Prepare, check and time a case; `perform` carries out each step.

    Raises `WrongAnswerError` if the answers differ; nothing is timed then.
    """

    def do(what: Step, engine: str = "") -> Any:
        return perform(
            Task(suite, case.name, settings.scale, str(settings.root), what, engine, settings.repeats)
        )

    conditions = Conditions.now(settings.scale, settings.rounds, settings.repeats)
    do("prepare")
    answers = {engine: do("answer", engine) for engine in case.engines}
    for engine, answer in answers.items():
        if engine not in case.yardsticks and not _agrees(answer, answers[OURS]):
            raise WrongAnswerError(f"{case.name}: {engine} says {answer}, {OURS} says {answers[OURS]}")
    measured = {engine: Measurements() for engine in case.engines}
    result = CaseResult(suite, case.name, _kept(answers[OURS]), measured, case.targets, conditions)
    for number in range(settings.rounds):
        for engine in _rotated(list(case.engines), number):
            found = do("time", engine)
            measurements = result.engines[engine]
            measurements.cold.append(found["cold"])
            measurements.warm.append(statistics.median(found["warm"]))
            measurements.peak_bytes.append(found["peak_bytes"])
            measurements.above_bytes.append(found["above_bytes"])
            measurements.figures.append(found["figures"])
    return result


def _kept(answer: Any) -> Any:
    """Return the form of an answer that is saved: of a long one its checksum."""
    text = json.dumps(answer)
    return answer if len(text) <= _LONGEST_KEPT else {"crc": zlib.crc32(text.encode())}


def _agrees(answer: Any, ours: Any) -> bool:
    """Whether an answer equals ours, or the part of ours that its engine can report."""
    if isinstance(answer, dict) and isinstance(ours, dict):
        return bool(answer) and answer.items() <= ours.items()
    return bool(answer == ours)


def _rotated(engines: Sequence[str], number: int) -> list[str]:
    start = number % len(engines)
    return [*engines[start:], *engines[:start]]
