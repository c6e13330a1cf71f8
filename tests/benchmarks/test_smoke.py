"""Every benchmark case at its smallest: the engines agree, the report has the ratios; no time is asserted."""

import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from benchmarks.__main__ import main
from benchmarks.case import OURS, SCALES, Case
from benchmarks.cases import SUITES
from benchmarks.cases.distributed import ONE_NODE
from benchmarks.data_lineitem import MERGED
from benchmarks.extension import ELSEWHERE, is_elsewhere
from benchmarks.measure import Task, perform
from benchmarks.report import render_table
from benchmarks.runner import (
    EngineFailedError,
    Settings,
    WrongAnswerError,
    perform_in_fresh_process,
    run_case,
)

CASES = [(suite, case) for suite, cases in SUITES.items() for case in cases(SCALES["tiny"])]
MEASURED = {"cold": 1.0, "warm": [1.0], "peak_bytes": 1, "above_bytes": 0, "figures": {}}
"""What a task of timing returns, where none is timed."""
ON_SPARK = [(suite, case) for suite, case in CASES if "delta-spark" in case.engines]
ON_ONE_NODE = [(suite, case) for suite, case in CASES if "delta-spark" not in case.engines]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("benchmarks")


LIKE_ANOTHER = re.compile(r"_q(?!01_)[0-9]{2}_|^rows_40k_|_first_(delete|update)$")
"""Names of cases that ask or write something else with the code of another case of their suite."""
EVERYDAY = [each for each in ON_ONE_NODE if not LIKE_ANOTHER.search(each[1].name)]
TIMED = {suite: case for suite, case in reversed(EVERYDAY) if suite in ("snapshot_load", "commit")}
"""The cases that are timed every day, too."""


@pytest.mark.parametrize(("suite", "case"), EVERYDAY, ids=[case.name for _, case in EVERYDAY])
def test_engines_agree_and_are_compared(suite: str, case: Case, root: Path) -> None:
    check(suite, case.without(ELSEWHERE), root, is_timed=TIMED.get(suite) is case)


@pytest.mark.slow
@pytest.mark.parametrize(("suite", "case"), ON_ONE_NODE, ids=[case.name for _, case in ON_ONE_NODE])
def test_engines_are_timed(suite: str, case: Case, root: Path) -> None:
    check(suite, case.without(ELSEWHERE), root)


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("suite", "case"), ON_SPARK, ids=[case.name for _, case in ON_SPARK])
def test_engines_on_spark_agree_and_are_compared(suite: str, case: Case, root: Path) -> None:
    check(suite, case, root)


DISTRIBUTED = [case for _, case in ON_SPARK if ONE_NODE in case.engines]


@pytest.mark.parametrize("case", DISTRIBUTED, ids=[case.name for case in DISTRIBUTED])
def test_operations_of_executors_do_their_work_on_one_node(case: Case, root: Path) -> None:
    task = Task("distributed", case.name, "tiny", str(root), "prepare", ONE_NODE)
    data = Path(str(perform(task)))
    answer = perform(replace(task, do="answer"))
    if "vacuum" in case.name:
        assert answer["files"] == sum(1 for _ in data.rglob("part-*.parquet")) * 9 // 10
        return
    before = case.answer(data)
    kept = int(before["rows"])
    if "delete" in case.name:
        found = duckdb.sql(f"SELECT count(*) FROM '{data}/*.parquet' WHERE l_partkey % 100000 >= 1000")
        ((kept,),) = found.fetchall()
        assert kept < int(before["rows"])
    if "merge" in case.name:
        with pa.ipc.open_stream(pa.OSFile(str(data / MERGED))) as reader, duckdb.connect() as connection:
            connection.register("news", reader.read_all())
            ((new,),) = connection.sql(
                f"SELECT count(*) FROM news ANTI JOIN '{data}/*.parquet' USING (l_orderkey, l_linenumber)"
            ).fetchall()
        assert new > 0
        kept += new
    assert answer["rows"] == str(kept)
    is_same = "compact" in case.name or "z_order" in case.name
    assert (answer["hashes"] == before["hashes"]) is is_same


def check(suite: str, case: Case, root: Path, is_timed: bool = True) -> None:
    done: list[tuple[str, str]] = []

    def here(task: Task) -> object:
        done.append((task.do, task.engine))
        return perform(task) if is_timed or task.do != "time" else MEASURED

    result = run_case(suite, case, Settings("tiny", root, rounds=1, repeats=1), here)
    engines = list(case.engines)
    assert done == [("prepare", ""), *(("answer", e) for e in engines), *(("time", e) for e in engines)]
    table = render_table([result])
    for engine in engines[1:]:
        (line,) = [line for line in table.splitlines() if line.startswith(f"| {engine} ")]
        for of in ("cold", "warm", "peak"):
            assert result.ratio(engine, of) > 0
            assert f" {result.ratio(engine, of):.2f} |" in line


@pytest.mark.slow
def test_the_extensions_of_duckdb_agree_in_their_own_environments(root: Path) -> None:
    asked = [
        (suite, case, engine) for suite, case in CASES for engine in case.engines if is_elsewhere(engine)
    ]
    assert {suite for suite, *_ in asked} == {"snapshot_load", "scan", "tpch", "stores"}
    for suite, case, engine in asked:
        alone = replace(case, engines={each: case.engines[each] for each in (OURS, engine)})

        def here(task: Task) -> object:
            if task.do == "time":
                return MEASURED
            return perform_in_fresh_process(task) if is_elsewhere(task.engine) else perform(task)

        targets = tuple(each for each in case.targets if each.beside in ("", engine))
        run_case(suite, replace(alone, targets=targets), Settings("tiny", root, rounds=1, repeats=1), here)


def test_targets_are_beside_engines_of_their_cases() -> None:
    for _, case in CASES:
        assert next(iter(case.engines)) == OURS
        assert {target.beside for target in case.targets} <= {"", *case.engines}
        assert case.yardsticks <= set(case.engines)


def test_datasets_of_one_name_are_the_same_data() -> None:
    written: dict[str, object] = {}
    for _, case in CASES:
        write = case.dataset.write
        arguments = (write.func, write.args, write.keywords) if isinstance(write, partial) else write
        assert written.setdefault(case.dataset.name, arguments) == arguments


def test_names_of_cases_are_their_own() -> None:
    assert len({(suite, case.name) for suite, case in CASES}) == len(CASES)


def test_a_wrong_answer_is_not_timed(root: Path) -> None:
    suite, case = next(each for each in CASES if each[0] == "snapshot_load")
    done: list[str] = []

    def lying(task: Task) -> object:
        done.append(task.do)
        return {"files": -1} if task.engine == OURS else perform(task)

    with pytest.raises(WrongAnswerError, match="'files': -1"):
        run_case(suite, case.without(ELSEWHERE), Settings("tiny", root, rounds=1, repeats=1), lying)
    assert "time" not in done


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [({"files": 1, "crc": 7}, True), ({"files": 1}, True), ({"files": 2}, False), ({}, False)],
)
def test_an_engine_may_tell_a_part_of_the_answer(answer: dict[str, int], is_right: bool, root: Path) -> None:
    suite, case = next(each for each in CASES if each[0] == "snapshot_load")
    case = replace(case, engines={engine: case.engines[engine] for engine in (OURS, "deltalake")}, targets=())
    settings = Settings("tiny", root, rounds=1, repeats=1)

    def fake(task: Task) -> object:
        if task.do == "time":
            return MEASURED
        return {"files": 1, "crc": 7} if task.engine == OURS else answer

    if is_right:
        assert run_case(suite, case, settings, fake).answer == {"files": 1, "crc": 7}
        return
    with pytest.raises(WrongAnswerError):
        run_case(suite, case, settings, fake)
    # A yardstick is asked something else.
    run_case(suite, replace(case, yardsticks=frozenset({"deltalake"})), settings, fake)


def test_engines_take_turns_in_beginning_a_round(root: Path) -> None:
    suite, case = CASES[0]
    timed: list[str] = []

    def fake(task: Task) -> object:
        if task.do == "time":
            timed.append(task.engine)
        return {"cold": 2.0, "warm": [1.0, 3.0, 2.0], "peak_bytes": 5, "above_bytes": 3, "figures": {}}

    case = replace(case, engines=dict(list(case.engines.items())[:2]))
    first, second = case.engines
    result = run_case(suite, case, Settings("tiny", root, rounds=2, repeats=3), fake)
    assert timed == [first, second, second, first]
    assert [result.engines[OURS].median(of) for of in ("cold", "warm", "peak")] == [2.0, 2.0, 5]
    assert result.ratio(second, "warm") == 1.0
    assert result.to_json()["engines"][OURS]["cold"] == [2.0, 2.0]


def test_command_line(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "start_up", "--scale", "tiny", "--match", "import_pack"]) == 0
    assert capsys.readouterr().out.split()[:2] == ["start_up", "import_package"]
    file = root / "results.json"
    options = ["--scale", "tiny", "--match", "import_pack", "--rounds", "1", "--repeats", "1"]
    assert main(["run", "start_up", *options, "--data", str(root), "--json", str(file)]) == 0
    shown = capsys.readouterr()
    assert "| **import_package**" in shown.out
    assert shown.err.startswith("start_up import_package: deltaarrow 0.")
    (case,) = json.loads(file.read_text())["cases"]
    assert set(case["engines"]) == {"deltaarrow", "pyarrow"}


def test_a_case_that_fails_does_not_end_the_run(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def perform_or_fail(task: Task) -> object:
        if task.case == "import_package":
            raise EngineFailedError("import_package: no such package")
        return MEASURED

    monkeypatch.setattr("benchmarks.__main__.perform_in_fresh_process", perform_or_fail)
    file = root / "after_failure.json"
    options = ["--scale", "tiny", "--match", "import", "--without", "deltalake", "--data", str(root)]
    assert main(["run", "start_up", *options, "--json", str(file)]) == 1
    shown = capsys.readouterr()
    assert "no such package" in shown.err
    assert "import_package" not in shown.out
    kept = json.loads(file.read_text())["cases"]
    assert [each["case"] for each in kept] == ["import_table", "import_and_open_adds_1_commits_1"]
    assert set(kept[0]["engines"]) == {"deltaarrow", "pyarrow"}
