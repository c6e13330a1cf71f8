"""The commands convert, generate, repair and drop, for people and for programs."""

import json
import os

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from typer.testing import CliRunner

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.cli.app import app
from tests.operations.convert.test_converting import put
from tests.support.iceberg_catalog import iceberg_folder, new_iceberg_table


def run(*arguments, **options):
    return CliRunner().invoke(app, list(map(str, arguments)), **options)


def test_convert_makes_a_table(tmp_path):
    put(tmp_path, "p=1/a.parquet", {"id": [1, 2]})
    given = ("convert", tmp_path, "--partition", "p=long", "--property", "delta.appendOnly=true", "--json")
    found = json.loads(run(*given, "--dry-run").stdout)
    assert (found["converted"], found["files"], found["rows"]) == (False, 1, 2)
    assert json.loads(run(*given).stdout)["converted"]
    assert DeltaTable(tmp_path).schema().field("p").type.type == "long"
    refused = run(*given)
    assert refused.exit_code == 1
    assert "is a Delta table already" in refused.stderr
    assert json.loads(run(*given, "--ignore").stdout) == {"converted": False}
    assert run("convert", tmp_path, "--partition", "p").exit_code == 2


def test_convert_from_iceberg(tmp_path):
    source = new_iceberg_table(tmp_path, Schema(NestedField(1, "id", LongType())))
    source.append(pa.table({"id": [1, 2]}))
    folder = iceberg_folder(source)
    assert run("convert", folder, "--from", "hudi").exit_code != 0
    given = ("convert", folder, "--from", "iceberg", "--iceberg-metadata", source.metadata_location)
    assert json.loads(run(*given, "--json").stdout)["rows"] == 2
    assert DeltaTable(folder).count() == 2


def test_generate_writes_manifests(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": [1]}))
    assert run("generate", tmp_path).exit_code == 0
    assert (tmp_path / "_symlink_format_manifest" / "manifest").exists()


def test_repair_prints_what_is_lost(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": [1]}))
    os.remove(DeltaTable(tmp_path).file_uris()[0])
    assert "files that would be removed: 1" in run("repair", tmp_path, "--dry-run").stderr
    assert list(json.loads(run("repair", tmp_path, "--json").stdout)["reasons"].values()) == ["gone"]
    assert "files that were removed: 0" in run("repair", tmp_path).stderr


def test_drop_asks_first(tmp_path):
    path = tmp_path / "t"
    write_deltalake(path, pa.table({"id": [1]}))
    assert run("drop", path, input="n\n").exit_code == 1
    assert json.loads(run("drop", path, "--dry-run", "--json").stdout)["num_files"] == 3
    assert DeltaTable(path).count() == 1
    assert run("drop", path, input="y\n").exit_code == 0
    assert not path.exists()
    refused = run("drop", path, "--yes")
    assert (refused.exit_code, refused.stderr.count("\n")) == (1, 1)
