"""Every script of ``sql/`` on Spark gives the results that it holds; Spark refuses what is an extension.

Spark wrote these results, and ``tests/sql/test_scripts.py`` holds ours to them every day. So a few scripts
show every day that both still read the same files, and all of them do among the slow tests.
"""

import pytest

from tests.support.sql_scripts import OnSpark, matches, paths, read_steps, run_step

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

EVERYDAY = ("functions/conditionals", "errors/names")


@pytest.fixture
def engine(spark, tmp_path):
    engine = OnSpark(spark, tmp_path)
    yield engine
    engine.close()


def identity(path):
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.slow] * (identity(path) not in EVERYDAY))
        for path in paths("statements", "functions", "errors")
    ],
    ids=identity,
)
def test_script_gives_its_results(engine, path, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    wrong = []
    for step in read_steps(path.read_text("utf-8")):
        outcome = run_step(engine, step, folder)
        if not matches(outcome, step):
            wrong.append((f"{path.name}:{step.line}", step.text, outcome.rows or outcome.error))
    assert wrong == []


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.slow] * (place > 0))
        for place, path in enumerate(paths("extensions"))
    ],
    ids=identity,
)
def test_spark_refuses_an_extension(engine, path, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    steps = list(read_steps(path.read_text("utf-8")))
    wrong = []
    for step in steps:
        outcome = run_step(engine, step, folder)
        refused = None if outcome.error is None else f"[{outcome.error_class}]"
        if refused != step.spark_refuses:
            wrong.append((f"{path.name}:{step.line}", step.spark_refuses, refused))
    assert wrong == []
    assert any(step.spark_refuses for step in steps)
