"""Benchmark results: the file that keeps them, the targets, the README and the plot."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.__main__ import recorded_results
from benchmarks.case import OURS, Target
from benchmarks.plot import render_plot
from benchmarks.report import PLOT_NAME, render_line, render_targets, renew_readme
from benchmarks.results import CaseResult, Conditions, Measurements, ResultsFile
from benchmarks.targets import check_targets

CONDITIONS = Conditions("tiny", 1, 1, "2026-11-22", 0.5, 2, "Linux", "3.11.7", {"duckdb": "2.0.0"})


def measured(warm: float, cold: float = 9.0, peak: int = 100_000_000) -> Measurements:
    return Measurements([cold], [warm], [peak], [0], [{}])


def result(
    case: str = "a_case", ours: float = 1.0, peer: float = 2.0, targets: Sequence[Target] = ()
) -> CaseResult:
    engines = {OURS: measured(ours), "peer": measured(peer)}
    return CaseResult("suite", case, {"rows": 3}, engines, tuple(targets), CONDITIONS)


def test_results_are_kept_until_the_case_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    first, other = result(ours=1.0, targets=[Target("peer", 0.5, of="cold")]), result("other")
    file = ResultsFile(path)
    file.keep(first)
    assert ResultsFile(path).results == [first]
    ResultsFile(path).keep(other)
    assert ResultsFile(path).results == [first, other]
    again = result(ours=3.0)
    ResultsFile(path).keep(again)
    assert ResultsFile(path).results == [again, other]
    larger = replace(again, conditions=replace(CONDITIONS, scale="full"))
    ResultsFile(path).keep(larger)
    assert ResultsFile(path).results == [again, other, larger]
    assert [file.name for file in tmp_path.iterdir()] == ["results.json"]


@pytest.mark.parametrize(
    ("target", "limit", "used"),
    [
        (Target("peer", 1.0), 2.0, 0.5),
        (Target("peer", 0.25), 0.5, 2.0),
        (Target("peer", 1, plus=0.5), 2.5, 0.4),
        (Target(plus=0.5), 0.5, 2.0),
        (Target(plus=200_000_000, of="peak"), 200_000_000, 0.5),
        (Target("peer", 1, of="cold"), 9.0, 1.0),
    ],
)
def test_a_limit_is_made_of_what_the_peer_needs(target: Target, limit: float, used: float) -> None:
    (check,) = check_targets([result(targets=[target])])
    assert (check.limit, check.used) == (limit, pytest.approx(used))
    assert check.what == "a_case"
    assert (check.peer is None) == (not target.beside)


def test_a_mean_is_over_the_cases_that_share_it() -> None:
    target = Target("peer", 1.2, mean=1.05)
    results = [
        result("tpch_q01", ours=1.0, peer=2.0, targets=[target]),
        result("tpch_q02", ours=4.0, peer=2.0, targets=[target]),
        result("alone", targets=[Target("peer", mean=2.0)]),
    ]
    mean, slowest, alone = check_targets(results)
    assert mean.what == "tpch_q0*, geometric mean of 2"
    assert (mean.ratio, mean.limit, mean.ours) == (1.0, 1.05, None)
    assert (slowest.what, slowest.ratio) == ("tpch_q02", 2.0)
    assert slowest.limit == pytest.approx(2.4)
    assert (alone.what, alone.ratio) == ("alone, geometric mean of 1", 0.5)


def test_targets_beside_engines_that_were_left_out_are_not_checked() -> None:
    found = result(targets=[Target("another", 1), Target("peer", 1)])
    assert [check.beside for check in check_targets([found])] == ["peer"]


def test_the_table_of_targets_has_ours_the_peers_and_the_limit() -> None:
    held, missed = render_targets(
        [result(targets=[Target("peer", 0.75), Target(plus=50_000_000, of="peak")])]
    ).splitlines()[2:]
    assert [cell.strip() for cell in held.split("|")[1:-1]] == [
        *("a_case", "warm", "1.000 s", "2.000 s", "1.500 s", "0.500", "yes", "peer")
    ]
    assert [cell.strip() for cell in missed.split("|")[1:-1]] == [
        *("a_case", "peak", "100 MB", "", "50 MB", "", "**no**", "")
    ]
    assert render_targets([result()]) == ""


def test_the_line_of_a_case() -> None:
    assert render_line(result()) == "suite a_case: deltaarrow 1.000 s; peer 2.000 s (0.50)"


def test_the_readme_keeps_what_is_around_the_results(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("before\n\n<!-- results: begin -->\nstale\n<!-- results: end -->\n\nafter\n")
    results = [result(targets=[Target("peer", 1)])]
    renew_readme(readme, results)
    text = readme.read_text()
    assert text.startswith("before\n\n<!-- results: begin -->\n\n### Targets\n\n1 of 1 are held.")
    assert text.endswith("\n\n<!-- results: end -->\n\nafter\n")
    assert "stale" not in text
    assert "measured on 2026-11-22 at a load of 0.5, on 2 processors" in text
    assert (tmp_path / PLOT_NAME).read_text().startswith("<svg ")
    renew_readme(readme, results)
    assert readme.read_text() == text


def test_a_readme_without_a_place_for_results_is_left_alone(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("nothing")
    with pytest.raises(ValueError, match="lacks the lines"):
        renew_readme(readme, [])
    assert readme.read_text() == "nothing"


def test_the_plot_has_a_bar_for_each_target() -> None:
    targets = [Target("peer", 0.25), Target("peer", 1), Target(plus=1e-9), Target(plus=1e9)]
    checks = check_targets([result("a<b", targets=targets)])
    plot = ET.fromstring(render_plot(checks))
    name = "{http://www.w3.org/2000/svg}"
    bars = plot.findall(f"{name}rect")[1:]
    assert len({bar.get("fill") for bar in bars}) == 2
    assert [bar.get("fill") == bars[0].get("fill") for bar in bars] == [True, False, True, False]
    widths = [float(bar.get("width", "")) for bar in bars]
    assert widths[2] > widths[0] > widths[1] > widths[3] == 0
    assert any(text.text == "a<b, warm / peer" for text in plot.findall(f"{name}text"))


def test_the_readme_of_the_project_shows_what_is_recorded(tmp_path: Path) -> None:
    folder = Path(__file__).parents[2] / "benchmarks"
    copy = tmp_path / "README.md"
    copy.write_text((folder / "README.md").read_text())
    renew_readme(copy, recorded_results())
    assert copy.read_text() == (folder / "README.md").read_text()
    assert (tmp_path / PLOT_NAME).read_text() == (folder / PLOT_NAME).read_text()
