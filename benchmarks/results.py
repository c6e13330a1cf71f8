"""Measurements of cases, their conditions, and the JSON file that keeps them between runs."""

import json
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from math import prod
from pathlib import Path
from typing import Any, Self

from benchmarks.case import OURS, Quantity, Target

__all__ = ["CaseResult", "Conditions", "Measurements", "ResultsFile", "geometric_mean"]

_PACKAGES = ("deltaarrow", "deltalake", "duckdb", "polars", "pyarrow")


@dataclass
class Measurements:
    """The measurements of one engine, one entry per round; seconds and bytes."""

    cold: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    peak_bytes: list[int] = field(default_factory=list)
    above_bytes: list[int] = field(default_factory=list)
    """The part of the peak above the memory of imports and inputs."""
    figures: list[dict[str, float]] = field(default_factory=list)
    """Further figures of a result, by column heading."""

    def median(self, of: Quantity) -> float:
        """Return the median over the rounds: seconds, bytes of the peak of memory, or a figure."""
        values: dict[Quantity, Sequence[float]] = {
            "cold": self.cold,
            "warm": self.warm,
            "peak": self.peak_bytes,
        }
        return statistics.median(values[of] if of in values else [each[of] for each in self.figures])


@dataclass(frozen=True)
class Conditions:
    """The conditions of a measurement; `load` is that of the machine before it began."""

    scale: str
    rounds: int
    repeats: int
    day: str
    load: float
    processors: int
    platform: str
    python: str
    packages: dict[str, str]

    @classmethod
    def now(cls, scale: str, rounds: int, repeats: int) -> Self:
        """Return the conditions of a run that begins now."""
        return cls(
            scale,
            rounds,
            repeats,
            datetime.now(UTC).date().isoformat(),
            round(os.getloadavg()[0], 1),
            os.cpu_count() or 1,
            platform.platform(),
            platform.python_version(),
            {name: version(name) for name in _PACKAGES},
        )


@dataclass
class CaseResult:
    """The measurements of a case, by engine; `answer` is the common answer, or its checksum."""

    suite: str
    case: str
    answer: Any
    engines: dict[str, Measurements]
    targets: tuple[Target, ...]
    conditions: Conditions

    def ratio(self, engine: str, of: Quantity) -> float:
        """Return our median divided by the engine's: below one we need less."""
        return self.engines[OURS].median(of) / self.engines[engine].median(of)

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values, with the ratios."""
        found = asdict(self)
        quantities: tuple[Quantity, ...] = ("cold", "warm", "peak")
        for engine, measurements in found["engines"].items():
            measurements["ratios"] = {of: self.ratio(engine, of) for of in quantities}
        return found

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """Return the result that `to_json` rendered."""
        engines = {
            name: Measurements(**{key: value for key, value in each.items() if key != "ratios"})
            for name, each in found["engines"].items()
        }
        targets = tuple(Target(**target) for target in found["targets"])
        conditions = Conditions(**found["conditions"])
        return cls(found["suite"], found["case"], found["answer"], engines, targets, conditions)


class ResultsFile:
    """The results file: a result stays until the same case is measured again at the same scale."""

    def __init__(self, path: Path) -> None:
        self._path = path
        found = json.loads(path.read_text())["cases"] if path.exists() else []
        self._results = {_key(result): result for result in map(CaseResult.from_json, found)}

    @property
    def results(self) -> Sequence[CaseResult]:
        """All saved results."""
        return list(self._results.values())

    def keep(self, result: CaseResult) -> None:
        """Add a result and write the file at once, so that an interrupted run keeps its measurements."""
        self._results[_key(result)] = result
        draft = self._path.with_name(f".{self._path.name}.draft")
        cases = [each.to_json() for each in self._results.values()]
        draft.write_text(json.dumps({"cases": cases}, indent=1) + "\n")
        draft.replace(self._path)


def _key(result: CaseResult) -> tuple[str, str, str]:
    return result.suite, result.case, result.conditions.scale


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of ratios.

    >>> geometric_mean([0.5, 2.0])
    1.0
    """
    return float(prod(values) ** (1 / len(values)))
