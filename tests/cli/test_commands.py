"""Output of the commands, for people and for programs, and their exit codes."""

import json
import re

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from deltaarrow.cli.app import app
from tests.support.tables import TableBuilder

ROWS = pa.table({"id": [1, 2, 3], "name": ["a", "[bold]b[/bold]", "c\x1b[31m"]})


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def path(tmp_path):
    table = TableBuilder(tmp_path / "t").protocol().metadata(ROWS.schema)
    table.commit([table.add_file(ROWS.slice(0, 1))], info={"engineInfo": "a test"})
    table.commit([table.add_file(ROWS.slice(1))])
    return str(table.path)


def test_history_is_newest_first(path):
    found = json.loads(run("history", path, "--json").stdout)
    assert [commit["version"] for commit in found] == [1, 0]
    assert [
        commit["version"] for commit in json.loads(run("history", path, "--limit", "1", "--json").stdout)
    ] == [1]
    assert "a test" in run("history", path).stdout


def test_detail_names_the_table(path):
    found = json.loads(run("detail", path, "--json").stdout)
    assert found["numFiles"] == 2
    assert "numFiles" in run("detail", path).stdout


def test_files_lists_the_files_of_a_version(path):
    assert len(json.loads(run("files", path, "--json").stdout)) == 2
    assert len(json.loads(run("files", path, "--version", "0", "--json").stdout)) == 1
    assert len(json.loads(run("files", path, "--version", "2026-01-01T00:00:00.5Z", "--json").stdout)) == 1
    assert ".parquet" in run("files", path).stdout


def test_explain_tells_the_files_that_are_skipped(path):
    found = json.loads(run("explain", path, "--where", "id > 1", "--column", "name", "--json").stdout)
    assert (found["files"], found["left_files"], found["columns"]) == (2, 1, ["name", "id"])
    assert "id > 1  statistics: skips 1 file, 1 left" in run("explain", path, "--where", "id > 1").stdout
    assert "reads 1 of 1 file" in run("explain", path, "--version", "0").stdout
    refused = run("explain", path, "--where", "nowhere = 1")
    assert (refused.exit_code, refused.stderr.count("\n")) == (1, 1)


def test_verify_ends_with_the_verdict(path, tmp_path):
    healthy = run("verify", path, "--deep", "--json")
    assert (healthy.exit_code, json.loads(healthy.stdout)["ok"]) == (0, True)
    assert "version 1: no error" in run("verify", path).stderr
    lost = next((tmp_path / "t").glob("*.parquet"))
    lost.unlink()
    broken = run("verify", path, "--json")
    assert broken.exit_code == 1
    assert [finding["where"] for finding in json.loads(broken.stdout)["findings"]] == [lost.name]
    assert "errors: 1" in run("verify", path, "--format", "table").stdout


def test_query_names_the_table_t(path):
    found = run("query", path, "select id, name from t where id < 3 order by id", "--json")
    assert json.loads(found.stdout) == [{"id": 1, "name": "a"}, {"id": 2, "name": "[bold]b[/bold]"}]


def test_query_gives_every_column_a_name_of_its_own(path):
    assert json.loads(run("query", path, "select 1 as x, 2 as x from t limit 1", "--json").stdout) == [
        {"x": 1, "x_1": 2}
    ]


def test_values_json_does_not_know_are_strings(path):
    sql = "select 'nan'::double as f, 1.50::decimal(4,2) as d, '\\xff'::blob as b from t limit 1"
    assert json.loads(run("query", path, sql, "--json").stdout) == [{"f": "NaN", "d": "1.50", "b": "/w=="}]


def test_text_of_a_table_cannot_paint_the_terminal(path):
    shown = run("query", path, "select name from t order by id", "--format", "table").stdout
    assert "[bold]b[/bold]" in shown
    assert "\x1b" not in shown
    assert "c\\x1b[31m" in shown


def test_long_results_say_how_much_is_shown(path):
    assert "1 of 3 rows" in run("query", path, "select * from t", "--limit", "1", "--format", "table").stdout


def test_what_the_engine_refuses_is_one_line_and_exit_code_1(path, tmp_path):
    for arguments in (
        ["detail", str(tmp_path)],
        ["files", path, "--version", "9"],
        ["query", path, "select 1", "--version", "-1"],
        ["query", path, "select 1", "--version", "1900-01-01"],
        ["detail", "http://127.0.0.1:1/t"],
        ["demo", "--path", f"{path}/_delta_log/00000000000000000000.json/t"],
    ):
        result = run(*arguments)
        assert result.exit_code == 1
        assert result.stdout == ""
        assert result.stderr.startswith("error: ")
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (
            ["query", "select * from orders"],
            ["The table is named t, in line 1 of the statement:", "  select * from orders", " " * 16 + "^"],
        ),
        (["query", "select * from path"], ["  select * from path", " " * 16 + "^"]),
        (["query", "selct 1"], ["  selct 1", "  ^"]),
        (["query", "from t where id = 'x'"], ["  from t where id = 'x'", " " * 20 + "^"]),
        (["query", "select nothing from t"], ["  select nothing from t", " " * 9 + "^"]),
        (["count", "--where", "id = = 3"], ["  id = = 3", " " * 7 + "^"]),
    ],
)
def test_the_place_in_wrong_sql_is_marked(path, words, lines):
    command, *rest = words
    result = run(command, path, *rest)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines()[-len(lines) :] == lines


@pytest.mark.parametrize(
    "error",
    [
        PermissionError(13, "Permission denied", "/t"),
        ValueError("no\nsense"),
        OverflowError("date value out of range"),
        pa.ArrowInvalid("no number"),
        OSError(),
    ],
)
def test_what_the_libraries_beneath_raise_is_one_line_too(path, monkeypatch, error):
    def refuse(table):
        raise error

    monkeypatch.setattr("deltaarrow.table.DeltaTable.detail", refuse)
    result = run("detail", path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ")
    assert len(result.stderr.split("error: ")[1].strip()) > 0
    assert result.stderr.count("\n") == 1


TIMES = {
    "timestamp 'infinity'": "infinity",
    "'-infinity'::timestamptz": "-infinity",
    "date 'infinity'": "infinity",
    "date '0044-03-15 (BC)'": "-0043-03-15",
    "timestamp '0044-03-15 (BC) 12:00:00'": "-0043-03-15 12:00:00.000000",
    "[date '2020-01-01', date '-infinity']": ["2020-01-01", "-infinity"],
    "{'a': date 'infinity', 'b': 1}": {"a": "infinity", "b": 1},
    "map {'a': date 'infinity'}": [["a", "infinity"]],
    "timestamp_ns '2020-01-01 00:00:00.000000001'": "2020-01-01 00:00:00.000000001",
}


@pytest.mark.parametrize("sql", TIMES)
def test_times_that_python_cannot_hold_are_texts(path, sql):
    select = f"select {sql} as x, date '2020-01-02' as y"
    [row] = json.loads(run("query", path, select, "--json").stdout)
    assert row == {"x": TIMES[sql], "y": "2020-01-02"}
    shown = run("query", path, select)
    assert shown.exit_code == 0
    assert "2020-01-02" in shown.stdout


def test_people_see_times_and_programs_milliseconds(path):
    shown = run("detail", path, "--format", "table")
    assert re.search(r"lastModified +│ 2\d{3}-\d\d-\d\d \d\d:\d\d:\d\d", shown.stdout)
    assert type(json.loads(run("detail", path, "--json").stdout)["lastModified"]) is int
    [file, *_] = json.loads(run("files", path, "--json").stdout)
    assert type(file["modification_time"]) is int
    assert str(file["modification_time"]) not in run("files", path, "--format", "table").stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["history"],
        ["detail", "x", "--storage-option", "novalue"],
        ["query", "x", "select 1", "--limit", "a"],
        ["query", "x", "select 1", "--version", "abc"],
    ],
)
def test_wrong_usage_is_exit_code_2(arguments):
    assert run(*arguments).exit_code == 2


def test_version_is_the_release():
    assert run("--version").stdout.strip().count(".") >= 2


def test_analyze_computes_statistics(tmp_path):
    table = TableBuilder(tmp_path / "t").protocol().metadata(ROWS.schema, ["name"])
    rows = ROWS.select(["id"])
    table.commit([table.add_file(rows.slice(n, 1), {"name": str(n)}, stats=False) for n in range(3)])
    path = str(table.path)
    assert json.loads(run("analyze", path, "--dry-run", "--json").stdout)["files"] == 3
    found = json.loads(run("analyze", path, "--where", "name = '1'", "--json").stdout)
    assert (found["numFilesConsidered"], found["numFilesUpdated"]) == (1, 1)
    assert "numFilesUpdated" in run("analyze", path, "--column", "id", "--full").stdout
    assert run("analyze", path, "--column", "name").exit_code == 1


def test_report_is_a_page(path, tmp_path):
    page = tmp_path / "report.html"
    assert run("report", path, "-o", str(page)).stdout == ""
    assert page.read_text(encoding="utf-8") == run("report", path).stdout
    assert "version 0" in run("report", path, "--version", "0").stdout
    assert run("report", path, "-o", str(tmp_path / "no" / "folder")).exit_code == 1


def test_optimize_compacts(path):
    planned = json.loads(run("optimize", path, "--dry-run", "--json").stdout)
    assert (planned["files"], planned["newFiles"]) == (2, 1)
    assert len(json.loads(run("files", path, "--json").stdout)) == 2
    assert json.loads(run("optimize", path, "--json").stdout)["numFilesRemoved"] == 2
    assert len(json.loads(run("files", path, "--json").stdout)) == 1
    assert "numFilesRemoved" in run("optimize", path).stdout
    assert json.loads(run("history", path, "--json").stdout)[0]["operation"] == "OPTIMIZE"


def test_optimize_purges(path):
    assert json.loads(run("optimize", path, "--purge", "--json").stdout)["numFilesRemoved"] == 0
    assert run("optimize", path, "--purge", "--target-size", "5").exit_code == 2


def test_optimize_upgrades_to_the_rules_of_iceberg(path):
    found = json.loads(run("optimize", path, "--upgrade-uniform", "--dry-run", "--json").stdout)
    assert found["files"] > 0
    done = json.loads(run("optimize", path, "--upgrade-uniform", "--json").stdout)
    assert done["numFilesRemoved"] == found["files"]
    assert (
        json.loads(run("detail", path, "--json").stdout)["properties"]["delta.enableIcebergCompatV2"]
        == "true"
    )
    for others in (["--purge"], ["--where", "id = 1"], ["--target-size", "5"]):
        assert run("optimize", path, "--upgrade-uniform", *others).exit_code == 2


def test_optimize_orders_rows_along_columns(path):
    done = json.loads(run("optimize", path, "--z-order", "id", "--format", "json").stdout)
    assert done["numFilesAdded"] == 1
    newest = json.loads(run("history", path, "--limit", "1", "--json").stdout)[0]
    assert newest["operationParameters"]["zOrderBy"] == '["id"]'
    both = run("optimize", path, "--z-order", "id", "--purge")
    assert (both.exit_code, "choose one of --z-order, --purge" in both.stderr) == (2, True)


def test_optimize_refuses_a_condition_on_data_columns(path):
    refused = run("optimize", path, "--where", "id = 1")
    assert (refused.exit_code, "partition columns" in refused.stderr) == (1, True)
