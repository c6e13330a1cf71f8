"""The commands `restore` and `clone`: what they do, print and refuse."""

import json

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.cli.app import app


def run(*arguments: object):
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.fixture
def path(tmp_path):
    for number in range(3):
        write_deltalake(tmp_path / "t", pa.table({"id": [number]}), mode="append")
    return tmp_path / "t"


def test_a_version_is_restored(path):
    found = json.loads(run("restore", path, "--version", 0, "--dry-run", "--json").stdout)
    assert (found["version"], found["numRemovedFiles"], DeltaTable(path).version()) == (0, 2, 2)
    assert "numRemovedFiles" in run("restore", path, "--version", 0).stdout
    assert (DeltaTable(path).count(), DeltaTable(path).version()) == (1, 3)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ([], 2, "give one of --version and"),
        (["--version", 0, "--timestamp", "2026-01-01"], 2, "give one of --version and"),
        (["--version", 9], 1, "DELTA_CANNOT_RESTORE_TABLE_VERSION"),
        (["--timestamp", "2000-01-01"], 1, "DELTA_CANNOT_RESTORE_TIMESTAMP_EARLIER"),
    ],
)
def test_a_restore_that_cannot_be_is_refused(path, options, code, message):
    found = run("restore", path, *options)
    assert (found.exit_code, DeltaTable(path).version()) == (code, 2)
    assert message in found.output


def test_a_table_is_cloned(path, tmp_path):
    target = tmp_path / "clone"
    found = json.loads(run("clone", path, target, "--version", 1, "--dry-run", "--json").stdout)
    assert (found["version"], found["files"], DeltaTable.is_deltatable(target)) == (1, 2, False)
    assert "sourceNumOfFiles" in run("clone", path, target, "--property", "own=1").stdout
    assert (DeltaTable(target).count(), DeltaTable(target).snapshot.configuration["own"]) == (3, "1")
    deep = json.loads(run("clone", path, tmp_path / "deep", "--deep", "--json").stdout)
    assert deep["numCopiedFiles"] == 3


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ([], 1, "DELTA_TABLE_ALREADY_EXISTS"),
        (["--replace"], 1, "DELTA_UNSUPPORTED_NON_EMPTY_CLONE"),
        (["--property", "own"], 2, "KEY=VALUE"),
    ],
)
def test_a_clone_that_cannot_be_is_refused(path, tmp_path, options, code, message):
    write_deltalake(tmp_path / "there", pa.table({"id": [7]}))
    found = run("clone", path, tmp_path / "there", *options)
    assert found.exit_code == code
    assert message in found.output
    assert DeltaTable(tmp_path / "there").version() == 0
