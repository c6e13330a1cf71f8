"""Rendering of results: one line per case, tables per suite, and the results in ``README.md``."""

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.case import OURS, Quantity
from benchmarks.plot import render_plot
from benchmarks.results import CaseResult, Conditions, Measurements
from benchmarks.targets import Check, check_targets

__all__ = ["PLOT_NAME", "render_line", "render_table", "render_targets", "renew_readme"]

PLOT_NAME = "results.svg"
"""The file of the plot, in the folder of the README."""

_BEGIN, _END = "<!-- results: begin -->", "<!-- results: end -->"

_HEADER = ("engine", "cold s", "warm s", "peak MB", "above MB", "cold", "warm", "peak")
"""The first columns; the figures of a suite's cases follow."""
_QUANTITIES: tuple[Quantity, ...] = ("cold", "warm", "peak")
_TARGETS_HEADER = ("target", "run", "ours", "peer's", "limit", "ratio", "held", "peer")


def render_line(result: CaseResult) -> str:
    """Return the warm medians of a case and their ratios to ours, in one line."""
    parts = [
        f"{engine} {_seconds(each.median('warm'))} s"
        + ("" if engine == OURS else f" ({result.ratio(engine, 'warm'):.2f})")
        for engine, each in result.engines.items()
    ]
    return f"{result.suite} {result.case}: {'; '.join(parts)}"


def render_table(results: Sequence[CaseResult]) -> str:
    """Return a table of the results; columns without a unit are ours divided by the engine's."""
    figures = list(dict.fromkeys(name for result in results for name in _figures(result)))
    header = (*_HEADER, *figures)
    rows: list[tuple[str, ...]] = []
    for result in results:
        rows.append((f"**{result.case}**", *[""] * (len(header) - 1)))
        for engine, each in result.engines.items():
            seconds = (_seconds(each.median("cold")), _seconds(each.median("warm")))
            memory = (_megabytes(each.median("peak")), _megabytes(statistics.median(each.above_bytes)))
            ratios = ("" if engine == OURS else f"{result.ratio(engine, of):.2f}" for of in _QUANTITIES)
            rows.append((engine, *seconds, *memory, *ratios, *(_figure(each, name) for name in figures)))
    return _table(header, rows)


def render_targets(results: Sequence[CaseResult]) -> str:
    """Return a table of the targets of a suite, or nothing if it has none."""
    checks = check_targets(results)
    return _table(_TARGETS_HEADER, [_target_row(check) for check in checks]) if checks else ""


def renew_readme(readme: Path, results: Sequence[CaseResult]) -> None:
    """Write the results into the README between its two marks, and the plot next to it."""
    before, mark, rest = readme.read_text().partition(_BEGIN)
    _, last, after = rest.partition(_END)
    if not (mark and last):
        raise ValueError(f"{readme} lacks the lines {_BEGIN} and {_END} around the results")
    suites: dict[str, list[CaseResult]] = {}
    for result in results:
        suites.setdefault(result.suite, []).append(result)
    checks = [check for each in suites.values() for check in check_targets(each)]
    parts = []
    if checks:
        readme.with_name(PLOT_NAME).write_text(render_plot(checks))
        held = sum(check.used <= 1 for check in checks)
        parts += [
            "### Targets",
            f"{held} of {len(checks)} are held.",
            f"![How much of each limit was needed]({PLOT_NAME})",
            _table(_TARGETS_HEADER, [_target_row(check) for check in checks]),
        ]
    for suite, found in suites.items():
        parts += [
            f"### {suite}",
            _describe_conditions(each.conditions for each in found),
            f"<details><summary>{len(found)} cases</summary>",
            render_table(found),
            "</details>",
        ]
    readme.write_text("\n\n".join([before + mark, *parts, last + after]))


def _describe_conditions(found: Iterable[Conditions]) -> str:
    """The conditions of a suite's measurements; values that differ between cases become a range."""
    all_of = list(found)

    def spread(values: Iterable[object]) -> str:
        distinct = sorted(set(values), key=lambda value: (str(type(value)), value))
        return " to ".join(str(value) for value in dict.fromkeys((distinct[0], distinct[-1])))

    last = all_of[-1]
    packages = ", ".join(f"{name} {number}" for name, number in last.packages.items())
    return (
        f"Rounds: {spread(each.rounds for each in all_of)}, warm runs in each:"
        f" {spread(each.repeats for each in all_of)}; measured on {spread(each.day for each in all_of)}"
        f" at a load of {spread(each.load for each in all_of)}, on {last.processors} processors,"
        f" Python {last.python}, {packages}."
    )


def _target_row(check: Check) -> tuple[str, ...]:
    def amount(value: float | None) -> str:
        if value is None:
            return ""
        if check.of == "peak":
            return f"{_megabytes(value)} MB"
        return f"{_seconds(value)} s" if check.of in _QUANTITIES else f"{value:.3g}"

    limit = f"{check.limit:g} times" if check.ours is None else amount(check.limit)
    ratio = "" if check.ratio is None else f"{check.ratio:.3f}"
    held = "yes" if check.used <= 1 else "**no**"
    return (check.what, check.of, amount(check.ours), amount(check.peer), limit, ratio, held, check.beside)


def _figures(result: CaseResult) -> list[str]:
    return [name for engine in result.engines.values() for each in engine.figures for name in each]


def _figure(measurements: Measurements, name: str) -> str:
    """The median over the rounds, as the table shows it."""
    found = [each[name] for each in measurements.figures if name in each]
    return f"{statistics.median(found):.3g}" if found else ""


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(_line(line, widths) for line in [header, rule, *rows])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    others = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))
    return f"| {' | '.join([first, *others])} |"


def _seconds(value: float) -> str:
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}"


def _megabytes(value: float) -> str:
    return f"{value / 1e6:.0f}"
