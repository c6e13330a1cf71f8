"""Every benchmark case at its smallest: the engines agree, the report has the ratios; no time is asserted."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.case import OURS, SCALES, Case
from benchmarks.cases import SUITES
from benchmarks.measure import Task, perform
from benchmarks.report import render_table, results_json
from benchmarks.runner import Settings, WrongAnswerError, run_case

CASES = [(suite, case) for suite, cases in SUITES.items() for case in cases(SCALES["tiny"])]
ON_SPARK = [case for suite, case in CASES if suite == "spark_source"]
ON_ONE_NODE = [(suite, case) for suite, case in CASES if suite != "spark_source"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("benchmarks")


@pytest.mark.parametrize(("suite", "case"), ON_ONE_NODE, ids=[case.name for _, case in ON_ONE_NODE])
def test_engines_agree_and_are_compared(suite: str, case: Case, root: Path) -> None:
    check(suite, case, root)


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("case", ON_SPARK, ids=[case.name for case in ON_SPARK])
def test_sources_of_spark_agree_and_are_compared(case: Case, root: Path) -> None:
    check("spark_source", case, root)


def check(suite: str, case: Case, root: Path) -> None:
    done: list[tuple[str, str]] = []

    def here(task: Task) -> object:
        done.append((task.do, task.engine))
        return perform(task)

    result = run_case(suite, case, Settings("tiny", root, rounds=1, repeats=1), here)
    engines = list(case.engines)
    assert done == [("prepare", ""), *(("answer", e) for e in engines), *(("time", e) for e in engines)]
    table = render_table([result])
    for engine in engines[1:]:
        (line,) = [line for line in table.splitlines() if line.startswith(f"| {engine} ")]
        for ratio in result.ratios(engine):
            assert ratio > 0
            assert f" {ratio:.2f} |" in line


def test_a_wrong_answer_is_not_timed(root: Path) -> None:
    suite, case = CASES[0]
    done: list[str] = []

    def lying(task: Task) -> object:
        done.append(task.do)
        return {"files": -1} if task.engine == OURS else perform(task)

    with pytest.raises(WrongAnswerError, match="'files': -1"):
        run_case(suite, case, Settings("tiny", root, rounds=1, repeats=1), lying)
    assert "time" not in done


def test_engines_take_turns_in_beginning_a_round(root: Path) -> None:
    suite, case = CASES[0]
    timed: list[str] = []

    def fake(task: Task) -> object:
        if task.do == "time":
            timed.append(task.engine)
        return {"cold": 2.0, "warm": [1.0, 3.0, 2.0], "peak_bytes": 5, "above_bytes": 3, "figures": {}}

    case = replace(case, engines=dict(list(case.engines.items())[:2]))
    settings = Settings("tiny", root, rounds=2, repeats=3)
    result = run_case(suite, case, settings, fake)
    assert timed == ["deltaarrow", "deltalake", "deltalake", "deltaarrow"]
    assert result.engines[OURS].medians() == (2.0, 2.0, 5)
    assert result.ratios("deltalake") == (1.0, 1.0, 1.0)
    assert results_json([result], settings)["cases"][0]["engines"][OURS]["cold"] == [2.0, 2.0]


def test_command_line(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "snapshot_load", "--scale", "tiny", "--match", "_open"]) == 0
    assert capsys.readouterr().out.split()[:2] == ["snapshot_load", "adds_1_commits_1_open"]
    file = root / "results.json"
    options = ["--scale", "tiny", "--match", "_open", "--rounds", "1", "--repeats", "1"]
    assert main(["run", "snapshot_load", *options, "--data", str(root), "--json", str(file)]) == 0
    assert "| **adds_1_commits_1_open**" in capsys.readouterr().out
    (case,) = json.loads(file.read_text())["cases"]
    assert set(case["engines"]) == {"deltaarrow", "deltalake"}
