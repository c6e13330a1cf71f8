"""``deltaarrow diff``: what is printed, in every format."""

import io
import json

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import deltaarrow as da
from deltaarrow.cli.app import app


def run(*arguments):
    return CliRunner().invoke(app, ["diff", *arguments])


@pytest.fixture
def path(tmp_path):
    da.write_deltalake(tmp_path, pa.table({"id": [1, 2, 3]}))
    da.write_deltalake(tmp_path, pa.table({"id": [4], "s": ["x"]}), mode="append", schema_mode="merge")
    da.DeltaTable(tmp_path).delete("id = 1")
    return str(tmp_path)


def test_the_document_has_all_parts(path):
    found = json.loads(run(path, "--from", "0", "--to", "2", "--json").stdout)
    assert (found["from"], found["to"]) == (0, 2)
    assert found["changes"] == [
        {"part": "column", "name": "s", "before": None, "after": "string", "change": "added"}
    ]
    assert found["files"] == {"added": 2, "removed": 1}
    assert found["bytes"]["added"] > 0
    assert found["rows"] == {"added": 1, "removed": 1}


def test_the_newer_version_is_the_newest_if_not_said(path):
    lines = run(path, "--from", "1").stdout.splitlines()
    assert lines[0].split("\t") == ["part", "change", "name", "before", "after"]
    assert [line.split("\t")[:2] for line in lines[1:]] == [
        [part, change] for part in ("files", "bytes", "rows") for change in ("added", "removed")
    ]
    assert lines[-1].split("\t")[-1] == "1"


def test_rows_are_printed_in_every_format(path):
    asked = [path, "--from", "0", "--rows"]
    wanted = [
        {"_change_type": "delete", "id": 1, "s": None},
        {"_change_type": "insert", "id": 4, "s": "x"},
    ]

    def found(form):
        return run(*asked, "--format", form).stdout_bytes

    assert sorted(json.loads(found("json")), key=repr) == wanted
    assert sorted(map(json.loads, found("ndjson").splitlines()), key=repr) == wanted
    for form, separator in (("csv", ","), ("tsv", "\t")):
        head, *lines = found(form).decode().splitlines()
        assert head.split(separator) == ["_change_type", "id", "s"]
        assert sorted(lines) == [separator.join(("delete", "1", "")), separator.join(("insert", "4", "x"))]
    parquet = pa.parquet.read_table(io.BytesIO(found("parquet")))
    arrow = pa.ipc.open_stream(found("arrow")).read_all()
    assert sorted(parquet.to_pylist(), key=repr) == sorted(arrow.to_pylist(), key=repr) == wanted
    assert b"delete" in found("table")


def test_versions_the_wrong_way_round_are_wrong_usage(path):
    refused = run(path, "--from", "2", "--to", "1")
    assert refused.exit_code == 2
    assert "version 2 is after version 1" in refused.stderr
    assert run(path, "--from", "x").exit_code == 2
