"""The demo shows true figures."""

import json
import warnings

import pytest
from typer.testing import CliRunner

import deltaarrow as da
from deltaarrow.cli import demo
from deltaarrow.cli.app import app


def run(*arguments: str):
    return CliRunner().invoke(app, ["demo", *arguments])


def rows_of(path, version=None):
    return da.DeltaTable(path, version=version).to_pyarrow_table().to_pylist()


def test_demo_reports_the_table_that_it_wrote(tmp_path):
    path = tmp_path / "shop"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run("--path", str(path), "--rows", "1000", "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["path"] == str(path)
    results = iter([step["result"] for step in report["steps"]])
    states = [next(results)[0] for _ in range(5)]
    assert [state["version"] for state in states] == [0, 1, 2, 3, 4]
    assert [state["rows"] for state in states] == [750, 1000, 1000, 980, 982]
    changed = [state["rows updated"] for state in (states[2], states[4])]
    assert changed == [tea := sum(row["product"] == "tea" for row in rows_of(path, 1)), 2] and tea > 100
    assert (states[3]["rows deleted"], states[4]["rows inserted"]) == (20, 2)

    commits = next(results)
    assert [row["operation"] for row in commits] == ["WRITE", "WRITE", "UPDATE", "DELETE", "MERGE"]
    assert [row["vectors"] for row in commits[:2]] == [0, 0]
    assert [row["add"] - row["remove"] for row in commits[2:]] == [4, 0, 3]
    assert [row["cdc"] > 0 for row in commits] == [False, False, True, False, True]
    written = {file.name: file.stat().st_size for file in path.rglob("*.bin")}
    assert len(written) == 3, "one file a commit"
    vectors = next(results)
    assert {row["file"]: row["bytes"] for row in vectors}.items() <= written.items()
    assert sum(row["rows marked"] for row in vectors) == tea + 20 + 2

    changes = next(results)
    kinds = ["update_preimage", "update_postimage"] * 2 + ["insert"] * 2
    assert [row["_change_type"] for row in changes] == kinds
    assert [row["order_id"] for row in changes] == [2, 2, 3, 3, 1001, 1002]
    followed = next(results)
    assert len({row["_metadata.row_id"] for row in followed}) == 1
    assert [row["_metadata.row_commit_version"] for row in followed] == [0, 0, 0, 0, 4]

    past = next(results)
    assert [row["price of tea"] for row in past] == ["2.70", "2.70", "2.50", "2.50", "2.50"]
    assert sum(row["n"] for row in next(results)) == da.DeltaTable(path).count() == 982
    ada = sum(row["orders of Ada"] for row in next(results))
    assert ada == sum(row["customer"] == "Ada" for row in rows_of(path)) > 0
    (compacted,) = next(results)
    assert (compacted["version"], compacted["files after"], compacted["rows"]) == (5, 4, 982)
    assert compacted["files before"] > 4
    kept = {row["reason"]: row["files"] for row in next(results)}
    assert kept["live"] == 4
    assert kept["tombstone within retention"] > compacted["files before"], "with deletion vectors"
    assert da.DeltaTable(path).verify(deep=True).ok


def test_demo_of_very_few_rows(tmp_path):
    assert run("--path", str(tmp_path / "shop"), "--rows", "4").exit_code == 0


def test_demo_prints_for_people_and_leaves_an_existing_table_alone(tmp_path):
    path = str(tmp_path / "shop")
    assert "Travel in time" in run("--path", path, "--rows", "100").stdout
    again = run("--path", path)
    assert again.exit_code == 1
    assert again.stderr.count("\n") == 1
    assert da.DeltaTable(path).version() == 5


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
