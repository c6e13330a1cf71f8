"""The adapter of dbt: by dbt's own tests and an example project, and by what it sends without dbt."""

import subprocess
from pathlib import Path

import pytest

import deltaarrow
from tests.dbt import shop
from tests.dbt.suite import AREAS, in_project, make_environment, run_area
from tests.support.modules import ROOT

SENT = Path(__file__).parent / "sent.sql"
"""What dbt sends for the example project; `python -m tests.dbt.shop FOLDER` writes it."""


@pytest.fixture(scope="session")
def python(tmp_path_factory):
    return make_environment(tmp_path_factory.mktemp("dbt") / "environment")


def test_statements_of_the_example_project_build_its_tables(tmp_path):
    first, second = SENT.read_text(encoding="utf-8").split("-- the second day\n")
    shop.make_sources(tmp_path)
    with deltaarrow.connect(catalog=tmp_path / "lake") as lake:
        lake.attach(tmp_path / "raw", "raw")
        lake.register("__dbt_seed:products", shop.SEED)
        run(lake, first, tmp_path)
        shop.change_sources(tmp_path)
        run(lake, second, tmp_path)
    shop.ensure_built(tmp_path)


def run(lake, statements, folder):
    for statement in statements.replace("${folder}", str(folder)).split("\n;;\n"):
        if statement:
            lake.execute(statement)


@pytest.mark.slow
def test_dbt_builds_the_example_project(python, tmp_path):
    command = [python, "-m", "tests.dbt.shop", tmp_path]
    sent = subprocess.run(command, cwd=ROOT, env=in_project(), check=True, stdout=subprocess.PIPE, text=True)
    assert sent.stdout == SENT.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("area", AREAS)
def test_classes_of_dbts_tests_pass(python, tmp_path, area):
    passed, total, output = run_area(python, area, tmp_path / "report.xml")
    assert passed == total, output
    assert total.total() > 0


def test_every_module_of_classes_is_an_area():
    assert {path.stem.removeprefix("test_") for path in ROOT.glob("tests/dbt/adapter/test_*.py")} == set(
        AREAS
    )
