"""The command that deletes files: what it lists, deletes and refuses."""

import json

import pytest
from typer.testing import CliRunner

from deltaarrow import DeltaTable
from deltaarrow.cli.app import app
from tests.support.vacuum import overwrite, put, stored


def run(*arguments: str):
    return CliRunner().invoke(app, ["vacuum", *arguments])


@pytest.fixture
def path(tmp_path):
    overwrite(tmp_path, 1)
    overwrite(tmp_path, 2)
    put(tmp_path, "stray", "young")
    put(tmp_path, "young", days=0)
    return tmp_path


def test_files_are_listed_unless_they_are_to_be_deleted(path):
    before = stored(path)
    found = run(str(path), "--full")
    assert (found.stdout, found.stderr) == ("path\nstray\n", "files that would be deleted: 1\n")
    assert stored(path) == before
    assert "files that would be deleted: 0\n" in run(str(path), "--format", "table").stdout
    done = run(str(path), "--full", "--no-dry-run", "--parallelism", "2")
    assert done.stderr == "files that were deleted: 1\n"
    assert stored(path) == before - {"stray"}
    assert DeltaTable(path).history(1)[0]["operation"] == "VACUUM END"


def test_one_document_for_programs(path):
    short = ("--retention-hours", "0", "--no-enforce-retention", "--json")
    found = json.loads(run(str(path), *short).stdout)
    assert found["dry_run"] and len(found["files"]) == 1
    assert json.loads(run(str(path), *short, "--keep-version", "0").stdout)["files"] == []
    assert len(json.loads(run(str(path), *short, "--lite", "--no-dry-run").stdout)["files"]) == 1


def test_the_report_says_why(path):
    rows = json.loads(run(str(path), "--full", "--report", "--json").stdout)
    reasons = {row["path"]: (row["is_deleted"], row["reason"]) for row in rows}
    assert reasons["stray"] == (True, "not referenced")
    assert reasons["young"] == (False, "younger than retention")
    assert reasons["_delta_log/00000000000000000000.json"] == (False, "log")
    assert "not referenced" in run(str(path), "--full", "--report").stdout
    assert "stray" in stored(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--retention-hours", "1"], "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT"),
        (["--full", "--lite"], "full and lite are different ways"),
        (["--keep-version", "9"], "9"),
    ],
)
def test_what_is_refused_is_one_line(path, options, message):
    refused = run(str(path), *options)
    assert refused.exit_code == 1
    assert refused.stderr.count("\n") == 1 and message in refused.stderr


def test_wrong_numbers_are_wrong_usage(path):
    assert run(str(path), "--retention-hours", "-1").exit_code == 2
    assert run(str(path), "--parallelism", "0").exit_code == 2
