"""The demo shows what really happened."""

import json

import pytest
from typer.testing import CliRunner

import deltaarrow as da
from deltaarrow.cli import demo
from deltaarrow.cli.app import app


def run(*arguments: str):
    return CliRunner().invoke(app, ["demo", *arguments])


def test_demo_reports_the_table_that_it_wrote(tmp_path):
    path = tmp_path / "shop"
    result = run("--path", str(path), "--rows", "1000", "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["path"] == str(path)
    states = [step["result"][0] for step in report["steps"][:3]]
    assert [state["version"] for state in states] == [0, 1, 2]
    assert [state["rows"] for state in states] == [750, 1000, 1000]
    past = report["steps"][3]["result"]
    assert [row["price of tea"] for row in past] == ["2.70", "2.70", "2.50"]
    by_product = report["steps"][4]["result"]
    assert sum(row["n"] for row in by_product) == da.DeltaTable(path).count() == 1000
    ada = sum(row["orders of Ada"] for row in report["steps"][5]["result"])
    names = da.DeltaTable(path).to_pyarrow_table(columns=["customer"])["customer"].to_pylist()
    assert ada == names.count("Ada") > 0


def test_demo_prints_for_people_and_leaves_an_existing_table_alone(tmp_path):
    path = str(tmp_path / "shop")
    assert "Travel in time" in run("--path", path, "--rows", "100").stdout
    again = run("--path", path)
    assert again.exit_code == 1
    assert again.stderr.count("\n") == 1
    assert da.DeltaTable(path).version() == 2


def test_demo_names_the_extra_where_polars_is_absent(tmp_path, monkeypatch):
    monkeypatch.setattr(demo.importlib.util, "find_spec", lambda name: None)
    assert "pip install 'deltaarrow[polars]'" in run("--path", str(tmp_path / "shop"), "--rows", "100").stdout


def test_demo_has_a_folder_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    report = json.loads(run("--rows", "100", "--json").stdout)
    assert report["path"].startswith(str(tmp_path))


@pytest.mark.parametrize("rows", ["3", "many"])
def test_wrong_numbers_of_rows_are_wrong_usage(rows):
    assert run("--rows", rows).exit_code == 2
