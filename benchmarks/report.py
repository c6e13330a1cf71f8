"""What people read of results: a Markdown table for each suite; and the JSON of all measurements."""

import os
import platform
import statistics
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from benchmarks.case import OURS
from benchmarks.runner import CaseResult, Measurements, Settings

__all__ = ["render_table", "results_json"]

_HEADER = ("engine", "cold s", "warm s", "peak MB", "above MB", "cold", "warm", "peak")
"""Followed by the figures that the cases of a suite have."""
_PACKAGES = ("deltaarrow", "deltalake", "duckdb", "polars", "pyarrow")


def render_table(results: Sequence[CaseResult]) -> str:
    """Return a table of the results; the columns without a unit are ours divided by the engine's."""
    figures = list(dict.fromkeys(name for result in results for name in _figures(result)))
    header = (*_HEADER, *figures)
    rows: list[tuple[str, ...]] = []
    for result in results:
        rows.append((f"**{result.case}**", *[""] * (len(header) - 1)))
        for engine, measurements in result.engines.items():
            cold, warm, peak = measurements.medians()
            ratios = ("", "", "") if engine == OURS else tuple(f"{r:.2f}" for r in result.ratios(engine))
            above = statistics.median(measurements.above_bytes)
            memory = (f"{peak / 1e6:.0f}", f"{above / 1e6:.0f}")
            others = (_figure(measurements, name) for name in figures)
            rows.append((engine, _seconds(cold), _seconds(warm), *memory, *ratios, *others))
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    rule = ("-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:]))
    lines = [header, rule, *rows]
    return "\n".join(_line(line, widths) for line in lines)


def _figures(result: CaseResult) -> list[str]:
    return [name for engine in result.engines.values() for each in engine.figures for name in each]


def _figure(measurements: Measurements, name: str) -> str:
    """The median over the rounds, as it stands in the table."""
    found = [each[name] for each in measurements.figures if name in each]
    return f"{statistics.median(found):.3g}" if found else ""


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    others = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))
    return f"| {' | '.join([first, *others])} |"


def _seconds(value: float) -> str:
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}"


def results_json(results: Sequence[CaseResult], settings: Settings) -> dict[str, Any]:
    """Return everything that was measured, in seconds and bytes, and on what."""
    return {
        "machine": {
            "processors": os.cpu_count(),
            "platform": platform.platform(),
            "python": platform.python_version(),
            "packages": {name: version(name) for name in _PACKAGES},
        },
        "scale": settings.scale,
        "rounds": settings.rounds,
        "repeats": settings.repeats,
        "cases": [
            {
                "suite": result.suite,
                "case": result.case,
                "answer": result.answer,
                "engines": {
                    engine: {
                        "cold": each.cold,
                        "warm": each.warm,
                        "peak_bytes": each.peak_bytes,
                        "above_bytes": each.above_bytes,
                        "figures": each.figures,
                        "ratios": dict(zip(("cold", "warm", "peak"), result.ratios(engine), strict=True)),
                    }
                    for engine, each in result.engines.items()
                },
            }
            for result in results
        ],
    }
