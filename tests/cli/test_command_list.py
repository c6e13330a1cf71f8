"""The list of commands: what help shows without loading them, and how the script is called."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.cli.app import app
from deltaarrow.cli.command_list import COMMANDS

HEAVY = ("pyarrow", "duckdb", "polars", "sqlglot", "rich", "deltaarrow.table")


@pytest.fixture
def path(tmp_path):
    name = pa.field("name", pa.string(), metadata={"comment": "of whom"})
    schema = pa.schema([pa.field("id", pa.int64(), False), name])
    rows = pa.table({"id": [1, 2, 3], "name": ["a", None, "c\td"]}, schema)
    write_deltalake(tmp_path / "t", rows, configuration={"delta.enableChangeDataFeed": "true"})
    return str(tmp_path / "t")


def run(*words: str):
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_begins_with_the_line_in_the_list(name):
    for option in ("-h", "--help"):
        found = run(name, option)
        assert found.exit_code == 0
        said = " ".join(found.stdout.partition("\n\n")[2].split())
        assert said.startswith(" ".join(COMMANDS[name].summary.split()))


def test_help_loads_no_command():
    code = f"""
import sys
from deltaarrow.cli.main import main
sys.argv = ["deltaarrow", "-h"]
try:
    main()
except SystemExit:
    print([name for name in {HEAVY!r} if name in sys.modules])
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Exit codes: 0 done, 1 refused" in found.stdout
    assert found.stdout.splitlines()[-1] == "[]"


def test_package_runs_as_a_program(path):
    words = [sys.executable, "-m", "deltaarrow", "count", path]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "rows\n3\n"


@pytest.mark.parametrize(
    ("words", "wanted"),
    [("deltaarrow opt", {"optimize"}), ("deltaarrow properties ", {"get", "set", "unset"})],
)
def test_the_shell_completes_names_of_commands(words, wanted):
    place = str(words.count(" "))
    given = {"_DELTAARROW_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": place}
    command = [sys.executable, "-c", "from deltaarrow.cli.main import main; main()"]
    shown = subprocess.run(command, env={**os.environ, **given}, capture_output=True, text=True, check=True)
    assert set(shown.stdout.split()) == wanted


def test_near_names_are_told():
    found = run("histroy", "t")
    assert (found.exit_code, "Did you mean 'history'?" in found.stderr) == (2, True)


def test_schema_lists_the_columns(path):
    assert run("schema", path).stdout.splitlines() == [
        "column\ttype\tnullable\tpartition\tcomment",
        "id\tlong\tFalse\tFalse\t",
        "name\tstring\tTrue\tFalse\tof whom",
    ]


def test_count_takes_a_condition_and_a_version(path):
    write_deltalake(path, pa.table({"id": [4], "name": ["d"]}), mode="append")
    for words, rows in (((), 4), (("--where", "id > 2"), 2), (("--version", "0"), 3)):
        assert run("count", path, *words).stdout == f"rows\n{rows}\n"
    assert json.loads(run("count", path, "--json").stdout) == 4


def test_properties_are_set_and_unset(path):
    done = run("properties", "set", path, "delta.appendOnly=true", "who=me")
    assert done.stdout == "name\tvalue\nversion\t1\n"
    assert run("properties", "get", path, "who", "none").stdout == "name\tvalue\nwho\tme\nnone\t\n"
    found = json.loads(run("properties", "get", path, "--json").stdout)
    assert found == {"delta.appendOnly": "true", "delta.enableChangeDataFeed": "true", "who": "me"}
    assert run("properties", "unset", path, "who").exit_code == 0
    assert "who" not in DeltaTable(path).metadata().configuration
    assert run("properties", "unset", path, "who").exit_code == 1
    assert run("properties", "unset", path, "who", "--if-exists").exit_code == 0
    assert run("properties", "set", path, "no value").exit_code == 2
    assert "`properties get orders` prints the properties of a table" in run("properties", "orders").stderr
    assert "Did you mean 'set'" in run("properties", "sett", path).stderr


def test_changes_of_versions_are_printed(path):
    DeltaTable(path).delete("id = 1")
    lines = run("changes", path, "--from", "1", "--format", "ndjson").stdout.splitlines()
    found = [json.loads(line) for line in lines]
    assert [(row["id"], row["_change_type"], row["_commit_version"]) for row in found] == [(1, "delete", 1)]
    first = run("changes", path, "--from", "2020-01-01T00:00:00Z", "--to", "0", "--where", "id < 3")
    assert len(first.stdout.splitlines()) == 3
    assert run("changes", path, "--from", "monday").exit_code == 2


def test_log_is_kept_in_order(path):
    assert run("checkpoint", path).stdout == "name\tvalue\nversion\t0\n"
    assert [*Path(path).glob("_delta_log/*.checkpoint.parquet")]
    assert run("cleanup", path).exit_code == 0


def test_every_format_has_the_rows(path):
    assert run("files", path, "--format", "csv").stdout.startswith("path,num_records,size_bytes")
    rows = pq.read_table(pa.BufferReader(run("files", path, "--format", "parquet").stdout_bytes))
    assert rows["num_records"].to_pylist() == [3]
    history = pq.read_table(pa.BufferReader(run("history", path, "--format", "parquet").stdout_bytes))
    assert history["version"].to_pylist() == [0]
    wide = run("history", path, "--format", "table").stdout.splitlines()
    assert len({len(line) for line in wide}) == 1 and len(wide[0]) > 80
