"""Symlink manifests: written whole, kept up to date by the property, refused where they would mislead."""

import logging

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, convert_to_deltalake, write_deltalake
from deltaarrow.errors import InvalidTablePropertyError, UnsupportedFeatureError
from tests.operations.convert.test_converting import put

ENABLED = {"delta.compatibility.symlinkFormatManifest.enabled": "true"}
FOLDER = "_symlink_format_manifest"


def manifests(path):
    """The lines of each manifest by its folder."""
    root = path / FOLDER
    return {
        str(file.parent.relative_to(root)): file.read_text().splitlines() for file in root.rglob("manifest")
    }


def live(path):
    return sorted(f"file:{each}" for each in DeltaTable(path).file_uris())


def test_a_table_without_partitions_has_one_manifest(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": [1]}))
    write_deltalake(tmp_path, pa.table({"id": [2]}), mode="append")
    DeltaTable(tmp_path).generate()
    assert manifests(tmp_path) == {".": live(tmp_path)}
    DeltaTable(tmp_path).delete()
    DeltaTable(tmp_path).generate()
    assert manifests(tmp_path) == {".": []}


def test_a_partition_that_is_gone_loses_its_manifest(tmp_path):
    data = pa.table({"id": [1, 2, 3], "p": ["a b", None, "x/y"], "q": [1, None, 3]})
    write_deltalake(tmp_path, data, partition_by=["p", "q"])
    DeltaTable(tmp_path).generate()
    null = "__HIVE_DEFAULT_PARTITION__"
    assert set(manifests(tmp_path)) == {"p=a b/q=1", f"p={null}/q={null}", "p=x%2Fy/q=3"}
    DeltaTable(tmp_path).delete("q = 1")
    DeltaTable(tmp_path).generate()
    assert set(manifests(tmp_path)) == {f"p={null}/q={null}", "p=x%2Fy/q=3"}
    assert not (tmp_path / FOLDER / "p=a b").exists()
    assert sorted(line for lines in manifests(tmp_path).values() for line in lines) == live(tmp_path)


def test_the_property_keeps_manifests_up_to_date(tmp_path):
    data = pa.table({"id": [1, 2], "p": [1, 2]})
    write_deltalake(tmp_path, data, partition_by=["p"], configuration=ENABLED)
    before = (tmp_path / FOLDER / "p=2" / "manifest").stat().st_mtime_ns
    write_deltalake(tmp_path, pa.table({"id": [3], "p": [1]}), mode="append")
    assert len(manifests(tmp_path)["p=1"]) == 2
    assert (tmp_path / FOLDER / "p=2" / "manifest").stat().st_mtime_ns == before
    DeltaTable(tmp_path).delete("p = 1")
    assert set(manifests(tmp_path)) == {"p=2"}
    DeltaTable(tmp_path).update({"id": "id + 1"})
    DeltaTable(tmp_path).optimize.compact()
    assert manifests(tmp_path) == {"p=2": live(tmp_path)}


def test_the_property_writes_all_manifests_when_it_is_set(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": [1, 2], "p": [1, 2]}), partition_by=["p"])
    DeltaTable(tmp_path).alter.set_table_properties(ENABLED)
    assert set(manifests(tmp_path)) == {"p=1", "p=2"}


def test_a_new_empty_table_has_no_manifest(tmp_path):
    DeltaTable.create(tmp_path, pa.schema([("id", pa.int64())]), configuration=ENABLED)
    assert not (tmp_path / FOLDER).exists()
    write_deltalake(tmp_path, pa.table({"id": [1]}), mode="append")
    assert manifests(tmp_path) == {".": live(tmp_path)}


def test_a_conversion_writes_manifests(tmp_path):
    put(tmp_path, "p=1/a.parquet", {"id": [1]})
    convert_to_deltalake(tmp_path, configuration=ENABLED)
    assert manifests(tmp_path) == {"p=1": [f"file:{tmp_path}/p=1/a.parquet"]}


@pytest.mark.parametrize(
    ("configuration", "error"),
    [
        ({"delta.columnMapping.mode": "name"}, "MANIFEST_GENERATION_WITH_COLUMN_MAPPING"),
        ({"delta.enableDeletionVectors": "true"}, "GENERATE_WITH_DELETION_VECTORS"),
    ],
)
def test_a_table_that_manifests_would_show_wrongly_is_refused(tmp_path, configuration, error):
    write_deltalake(tmp_path, pa.table({"id": [1, 2, 3]}), configuration=configuration)
    DeltaTable(tmp_path).delete("id = 1")
    with pytest.raises(UnsupportedFeatureError, match=error):
        DeltaTable(tmp_path).generate()
    assert not (tmp_path / FOLDER).exists()


def test_manifests_and_deletion_vectors_exclude_each_other(tmp_path):
    vectors = {"delta.enableDeletionVectors": "true"}
    error = "DELTA_VIOLATE_TABLE_PROPERTY_VALIDATION_FAILED"
    with pytest.raises(InvalidTablePropertyError, match=error):
        write_deltalake(tmp_path, pa.table({"id": [1]}), configuration={**ENABLED, **vectors})
    write_deltalake(tmp_path, pa.table({"id": [1]}), configuration=ENABLED)
    with pytest.raises(InvalidTablePropertyError, match=error):
        DeltaTable(tmp_path).alter.set_table_properties(vectors)


def test_another_mode_is_refused(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": [1]}))
    with pytest.raises(ValueError, match="DELTA_MODE_NOT_SUPPORTED"):
        DeltaTable(tmp_path).generate("other")


def test_a_hook_that_fails_leaves_the_commit(tmp_path, caplog):
    write_deltalake(tmp_path, pa.table({"id": [1]}), configuration=ENABLED)
    DeltaTable(tmp_path).alter.set_table_properties({"delta.columnMapping.mode": "name"})
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        write_deltalake(tmp_path, pa.table({"id": [2]}), mode="append")
    assert "update_manifests failed" in caplog.text
    assert DeltaTable(tmp_path).count() == 2
