"""Iceberg metadata after each commit: the rows that pyiceberg reads, and what stops it."""

import datetime as dt
import itertools
import json
import shutil
import sys
import threading
import uuid
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from pyiceberg.manifest import ManifestEntryStatus
from pyiceberg.table import StaticTable

import deltaarrow as da
import deltaarrow.operations.commit.universal_format as universal_format
from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import (
    InvalidTablePropertyError,
    MissingDependencyError,
    StorageError,
    UnsupportedFeatureError,
)
from deltaarrow.iceberg import MetadataLimits, write_iceberg_metadata
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from deltaarrow.storage.local import LocalStore
from tests.support.examples import examples
from tests.support.iceberg import iceberg_rows, iceberg_table
from tests.support.rows import assert_same_rows

FORMATS = "delta.universalFormat.enabledFormats"
RULES = {"delta.enableIcebergCompatV2": "true"}
UNIFORM = RULES | {FORMATS: "iceberg"}


def rows(first, count=4):
    ids = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "s": [{"x": each, "l": [{"k": 1.5}]} for each in ids],
            "m": pa.array([[("a", each)] for each in ids], pa.map_(pa.string(), pa.int32())),
            "p": [f"p{each % 2}" for each in ids],
        }
    )


def made(path, configuration=UNIFORM, **options):
    write_deltalake(path, rows(0), partition_by=["p"], configuration=configuration, **options)
    return DeltaTable(path)


def append(path, first, count=4):
    write_deltalake(path, rows(first, count), mode="append")


def check(table):
    """Iceberg has the rows, files and statistics of the newest version; return its newest snapshot."""
    table = DeltaTable(table.table_uri)
    assert_same_rows(iceberg_rows(table), table.to_pyarrow_table())
    found = iceberg_table(table)
    assert sorted(task.file.file_path for task in found.scan().plan_files()) == sorted(table.file_uris())
    snapshot = found.current_snapshot()
    if snapshot is not None:
        assert snapshot.summary["total-records"] == str(table.to_pyarrow_table().num_rows)
        assert int(snapshot.summary["total-data-files"]) == len(table.file_uris())
    return snapshot


def operation(snapshot):
    return snapshot.summary.operation.value


# --- what commits do ----------------------------------------------------------------------------------


def test_each_kind_of_commit_is_read_as_iceberg(tmp_path):
    table = made(tmp_path)
    assert operation(check(table)) == "append"
    append(tmp_path, 4)
    snapshot = check(table)
    assert (operation(snapshot), snapshot.sequence_number) == ("append", 2)
    table.update_incremental()
    table.delete("id = 5")
    snapshot = check(table)
    assert (operation(snapshot), snapshot.summary["deleted-data-files"]) == ("overwrite", "1")
    table.delete("p = 'p0'")
    assert operation(check(table)) == "delete"
    table.update({"id": "id + 100"}, predicate="id = 1")
    assert operation(check(table)) == "overwrite"
    append(tmp_path, 10)
    table.update_incremental()
    table.optimize.compact()
    assert operation(check(table)) == "replace"
    write_deltalake(tmp_path, rows(20), mode="overwrite")
    assert operation(check(table)) == "overwrite"
    table.update_incremental()
    table.delete()
    assert operation(check(table)) == "delete"
    assert iceberg_table(table).metadata.table_uuid.hex == table.metadata().id.replace("-", "")


def test_metadata_tells_the_version_and_who_made_it(tmp_path):
    table = made(tmp_path)
    found = iceberg_table(table)
    assert found.properties["delta-version"] == "0"
    assert found.properties["delta-timestamp"] == str(table.snapshot.timestamp_ms)
    assert found.properties["converter"].startswith("deltaarrow/")
    assert found.metadata.location == table.table_uri
    assert found.format_version == 2
    assert (tmp_path / "metadata" / "version-hint.text").read_text() == "0"


def test_append_takes_over_the_manifests_there_are(tmp_path):
    table = made(tmp_path)
    before = iceberg_table(table)
    old = [each.manifest_path for each in before.current_snapshot().manifests(before.io)]
    append(tmp_path, 4)
    after = iceberg_table(table)
    listed = after.current_snapshot().manifests(after.io)
    assert [each.manifest_path for each in listed][: len(old)] == old
    assert len(listed) == len(old) + 1


def test_a_manifest_without_removed_files_stays(tmp_path):
    table = made(tmp_path)
    append(tmp_path, 4)
    before = iceberg_table(table)
    first, second = before.current_snapshot().manifests(before.io)
    table.update_incremental()
    table.delete("id = 5")
    after = iceberg_table(table)
    listed = after.current_snapshot().manifests(after.io)
    assert listed[0].manifest_path == first.manifest_path
    assert listed[1].manifest_path != second.manifest_path
    entries = listed[1].fetch_manifest_entry(after.io, discard_deleted=False)
    assert sorted(each.status for each in entries) == [
        ManifestEntryStatus.EXISTING,
        ManifestEntryStatus.DELETED,
    ]


def test_many_manifests_become_one(tmp_path):
    made(tmp_path, RULES)
    counts = []
    for number in range(1, 5):
        append(tmp_path, number * 10, 1)
        assert write_iceberg_metadata(DeltaTable(tmp_path).snapshot, MetadataLimits(manifests=2))
        found = iceberg_table(DeltaTable(tmp_path))
        counts.append(len(found.current_snapshot().manifests(found.io)))
        check(DeltaTable(tmp_path))
    assert counts == [1, 2, 3, 1]


def test_manifest_lists_no_more_files_than_it_may(tmp_path):
    table = made(tmp_path, RULES)
    append(tmp_path, 4)
    limits = MetadataLimits(files=3)
    assert write_iceberg_metadata(DeltaTable(tmp_path).snapshot, limits)
    found = iceberg_table(table)
    assert [each.added_files_count for each in found.current_snapshot().manifests(found.io)] == [3, 1]
    check(table)


def test_empty_table_has_metadata_without_a_snapshot(tmp_path):
    table = DeltaTable.create(tmp_path, rows(0).schema, configuration=UNIFORM)
    assert check(table) is None
    append(tmp_path, 0)
    assert operation(check(table)) == "append"


def test_commit_of_properties_makes_no_snapshot(tmp_path):
    table = made(tmp_path)
    before = check(table)
    table.alter.set_table_properties({"owner": "me"})
    assert check(table).snapshot_id == before.snapshot_id


def test_table_is_converted_when_the_property_is_set(tmp_path):
    table = made(tmp_path, RULES)
    append(tmp_path, 4)
    assert not (tmp_path / "metadata").exists()
    table.alter.set_table_properties({FORMATS: "iceberg"})
    assert operation(check(table)) == "append"


def test_rules_of_version_1_do_as_well(tmp_path):
    data = rows(0).select(["id", "p"])
    configuration = {"delta.enableIcebergCompatV1": "true", FORMATS: "iceberg"}
    write_deltalake(tmp_path, data, partition_by=["p"], configuration=configuration)
    table = DeltaTable(tmp_path)
    table.delete("id = 2")
    check(table)


# --- columns ------------------------------------------------------------------------------------------


def test_columns_change(tmp_path):
    table = made(tmp_path)
    table.alter.rename_column("id", "number")
    check(table)
    data = rows(4).rename_columns(["number", "s", "m", "p"])
    data = data.append_column("new", pa.array([1.5, None, 2.5, 3.5]))
    write_deltalake(tmp_path, data, mode="append", schema_mode="merge")
    check(table)
    table = DeltaTable(tmp_path)
    table.alter.drop_columns(["number"])
    check(table)
    assert [field.name for field in iceberg_table(table).schema().fields] == ["s", "m", "p", "new"]
    assert [field.field_id for field in iceberg_table(table).schema().fields] == [
        field.metadata["delta.columnMapping.id"] for field in table.schema().fields
    ]
    table.alter.rename_column("p", "q")
    check(table)
    table.delete("q = 'p1'")
    check(table)
    assert [field.name for field in iceberg_table(table).spec().fields] == ["q"]


def test_type_is_widened_with_its_bounds(tmp_path):
    data = pa.table({"i": pa.array([1, 2], pa.int32()), "f": pa.array([1, 2], pa.float32())})
    write_deltalake(tmp_path, data, configuration=UNIFORM | {"delta.enableTypeWidening": "true"})
    wide = pa.table({"i": [1 << 40], "f": [1e300]})
    write_deltalake(tmp_path, wide, mode="append", schema_mode="merge")
    table = DeltaTable(tmp_path)
    check(table)
    found = iceberg_table(table)
    assert str(found.schema().find_type("i")) == "long"
    assert found.scan("i = 2").to_arrow().num_rows == 1


def test_names_that_avro_does_not_have(tmp_path):
    data = pa.table({"a b": [1, 2], "é.x": ["u", "v"], "1=2": ["s", "t"]})
    write_deltalake(tmp_path, data, partition_by=["é.x", "1=2"], configuration=UNIFORM)
    table = DeltaTable(tmp_path)
    table.delete("`a b` = 1")
    check(table)


def test_table_with_row_ids(tmp_path):
    table = made(tmp_path, UNIFORM | {"delta.enableRowTracking": "true"})
    table.update({"m": "null"}, predicate="id = 1")
    table.alter.drop_columns(["m"])
    check(table)


WHEN = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)
PARTITIONS = {
    "string": pa.array(["a b/ü", "", None]),
    "long": pa.array([-(2**63), 2**63 - 1, None]),
    "integer": pa.array([-(2**31), 7, None], pa.int32()),
    "short": pa.array([-(2**15), 7, None], pa.int16()),
    "byte": pa.array([-128, 7, None], pa.int8()),
    "float": pa.array([1.5, float("nan"), None], pa.float32()),
    "double": pa.array([-0.0, float("inf"), None]),
    "boolean": pa.array([True, False, None]),
    "binary": pa.array([b"ab", b"\xc3\xbc", None]),
    "date": pa.array([dt.date(1, 1, 1), dt.date(2026, 1, 1), None]),
    "timestamp": pa.array([WHEN, dt.datetime(9999, 1, 1), None], pa.timestamp("us", "UTC")),
    "timestamp_ntz": pa.array([WHEN, dt.datetime(1, 1, 1), None], pa.timestamp("us")),
}


@pytest.mark.parametrize("name", PARTITIONS)
def test_partitions_of_every_type(tmp_path, name):
    data = pa.table({"id": [1, 2, 3], "p": PARTITIONS[name]})
    write_deltalake(tmp_path, data, partition_by=["p"], configuration=UNIFORM)
    table = DeltaTable(tmp_path)
    check(table)
    table.delete("p IS NULL")
    check(table)


def test_decimal_partition_under_version_1(tmp_path):
    data = pa.table({"id": [1, 2], "p": pa.array([Decimal("-1.50"), None], pa.decimal128(20, 2))})
    configuration = {"delta.enableIcebergCompatV1": "true", FORMATS: "iceberg"}
    write_deltalake(tmp_path, data, partition_by=["p"], configuration=configuration)
    check(DeltaTable(tmp_path))


# --- statistics ---------------------------------------------------------------------------------------

BOUNDS = {
    "long": (pa.array([1, 5, None]), (1, 5, 1)),
    "byte": (pa.array([-1, 5, None], pa.int8()), (-1, 5, 1)),
    "string": (pa.array(["a", "b", None]), ("a", "b", 1)),
    "date": (pa.array([dt.date(1969, 1, 1), dt.date(2026, 1, 1), None]), (-365, 20454, 1)),
    "decimal": (pa.array([Decimal("-1.50"), Decimal("2.25"), None]), (Decimal("-1.50"), Decimal("2.25"), 1)),
    "double": (pa.array([0.0, 2.5, None]), (-0.0, None, 1)),
    "NaN": (pa.array([1.5, float("nan"), None]), (1.5, None, 1)),
    "boolean": (pa.array([True, False, None]), (None, None, 1)),
    "nulls": (pa.array([None, None, None], pa.int64()), (None, None, 3)),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_statistics_are_those_of_the_table(tmp_path, name):
    from pyiceberg.conversions import from_bytes

    values, (least, most, nulls) = BOUNDS[name]
    data = pa.table({"s": pa.StructArray.from_arrays([values], ["v"])})
    write_deltalake(tmp_path, data, configuration=UNIFORM)
    found = iceberg_table(DeltaTable(tmp_path))
    (manifest,) = found.current_snapshot().manifests(found.io)
    (entry,) = manifest.fetch_manifest_entry(found.io)
    file, field = entry.data_file, found.schema().find_field("s.v")

    def bound(bounds):
        return from_bytes(field.field_type, bounds[field.field_id]) if bounds else None

    assert str((bound(file.lower_bounds), bound(file.upper_bounds))) == str((least, most))
    assert file.null_value_counts == {field.field_id: nulls}
    assert file.record_count == 3


def test_time_that_statistics_cut_is_found(tmp_path):
    at = dt.datetime(2026, 1, 1, 0, 0, 0, 999_999)
    data = pa.table({"at": pa.array([at], pa.timestamp("us"))})
    write_deltalake(tmp_path, data, configuration=UNIFORM)
    found = iceberg_table(DeltaTable(tmp_path))
    assert found.scan(f"at >= '{at.isoformat()}'").to_arrow().num_rows == 1


def test_statistics_that_are_no_values_are_left_out(tmp_path):
    table = made(tmp_path)
    (name, *_) = sorted((tmp_path / "_delta_log").glob("*0.json"))
    lines = [json.loads(line) for line in name.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            stats = json.loads(line["add"]["stats"])
            stats["minValues"] = dict.fromkeys(stats["minValues"], "odd")
            stats["maxValues"] = dict.fromkeys(stats["maxValues"], 1e99)
            line["add"]["stats"] = json.dumps(stats)
    name.write_text("\n".join(map(json.dumps, lines)))
    for each in (tmp_path / "metadata").iterdir():
        each.unlink()
    assert write_iceberg_metadata(Snapshot.load(open_store(tmp_path)))
    check(table)


# --- places -------------------------------------------------------------------------------------------


def test_path_with_special_characters(tmp_path):
    path = tmp_path / "a b#c?d%20e"
    table = made(path)
    append(path, 4)
    check(table)


def test_table_in_an_object_store_has_its_uris():
    """The store takes its own locations, by which manifests are read again."""
    uri = f"memory://{uuid.uuid4()}/t"
    write_deltalake(uri, rows(0), configuration=UNIFORM)
    write_deltalake(uri, rows(4), mode="append")
    DeltaTable(uri).delete("id = 5")
    store = open_store(uri)
    assert store.read("metadata/version-hint.text") == b"2"
    metadata = json.loads(store.read("metadata/v2.metadata.json"))
    assert metadata["location"] == uri
    newest = metadata["snapshots"][-1]
    assert newest["manifest-list"].startswith(f"{uri}/metadata/snap-")
    assert newest["summary"]["total-records"] == "7"
    assert newest["summary"]["operation"] == "overwrite"


def test_partitions_that_an_overwrite_brings(tmp_path):
    write_deltalake(tmp_path, rows(0), configuration=UNIFORM)
    write_deltalake(tmp_path, rows(4), mode="overwrite", schema_mode="overwrite", partition_by=["p"])
    table = DeltaTable(tmp_path)
    assert table.metadata().partition_columns == ["p"]
    snapshot = check(table)
    assert snapshot.sequence_number == 2
    append(tmp_path, 10)
    check(table)


def test_transaction_of_a_caller_is_followed_too(tmp_path):
    table = made(tmp_path)
    with table.transaction("LOAD") as transaction:
        transaction.set_application("etl", 7)
    check(table)


# --- what is refused ----------------------------------------------------------------------------------


def refused(path, error, match, configuration, data=None):
    with pytest.raises(error, match=match):
        write_deltalake(path / "new", rows(0) if data is None else data, configuration=configuration)
    assert not (path / "new" / "_delta_log").exists()


def test_table_without_the_rules_is_refused(tmp_path):
    wanted = "needs a table whose files can be read as Iceberg.*DELTA_UNIVERSAL_FORMAT_VIOLATION"
    refused(tmp_path, InvalidTablePropertyError, wanted, {FORMATS: "iceberg"})
    write_deltalake(tmp_path / "old", rows(0))
    with pytest.raises(InvalidTablePropertyError, match=wanted):
        DeltaTable(tmp_path / "old").alter.set_table_properties({FORMATS: "iceberg"})
    assert DeltaTable(tmp_path / "old").version() == 0


def test_deletion_vectors_are_refused_for_the_format_that_pyiceberg_does_not_write(tmp_path):
    """Deletion vectors come with version 3 of the rules; they need version 3 of Iceberg's format."""
    configuration = {"delta.enableIcebergCompatV3": "true", FORMATS: "iceberg"}
    refused(tmp_path, UnsupportedFeatureError, "deletion vectors.*pyiceberg does not write", configuration)


@pytest.mark.parametrize("call", ["manifest", "manifest list", "metadata"])
def test_pyiceberg_does_not_write_version_3_yet(call):
    """Once it does, tables under version 3 of the rules can be kept as Iceberg too."""
    from pyiceberg.manifest import write_manifest, write_manifest_list
    from pyiceberg.table.metadata import TableMetadataV3

    with pytest.raises((ValueError, NotImplementedError), match=r"(?i)cannot write|not yet supported"):
        if call == "manifest":
            write_manifest(3, None, None, None, 1, "gzip")
        elif call == "manifest list":
            write_manifest_list(3, None, 1, None, 1, "gzip")
        else:
            TableMetadataV3.model_construct().model_dump_json()


@pytest.mark.parametrize("formats", ["hudi", "iceberg,hudi"])
def test_hudi_is_refused(tmp_path, formats):
    refused(tmp_path, UnsupportedFeatureError, "keeps no metadata of hudi", RULES | {FORMATS: formats})


def test_variant_is_refused(tmp_path):
    schema = da.Schema([da.Field("id", "long"), da.Field("v", "variant")])
    configuration = {"delta.enableIcebergCompatV1": "true", FORMATS: "iceberg"}
    with pytest.raises(UnsupportedFeatureError, match="variant column 'v'"):
        DeltaTable.create(tmp_path, schema, configuration=configuration)


def test_missing_pyiceberg_is_told_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyiceberg", None)
    wanted = r"run: pip install 'deltaarrow\[iceberg\]'"
    refused(tmp_path, MissingDependencyError, wanted, UNIFORM | {"other": "text"})


def test_metadata_is_given_up_with_the_rules(tmp_path):
    """As in Spark, a table that leaves the rules has no Iceberg metadata either."""
    table = made(tmp_path)
    table.alter.set_table_properties({"delta.enableIcebergCompatV2": "false"})
    assert FORMATS not in table.metadata().configuration
    append(tmp_path, 4)
    assert not (tmp_path / "metadata" / "v2.metadata.json").exists()


def test_metadata_is_taken_up_again(tmp_path):
    table = made(tmp_path)
    table.alter.unset_table_properties([FORMATS])
    append(tmp_path, 4)
    table.update_incremental()
    table.delete("id = 1")
    table.alter.set_table_properties({FORMATS: "iceberg"})
    check(table)


# --- what stops it, and other writers -----------------------------------------------------------------


def test_failure_is_a_warning_and_the_next_commit_takes_it_up(tmp_path, monkeypatch, caplog):
    table = made(tmp_path)

    def fail(snapshot):
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(universal_format.iceberg, "write_iceberg_metadata", fail)
        append(tmp_path, 4)
        table.update_incremental()
        table.delete("id = 1")
    assert DeltaTable(tmp_path).version() == 2
    assert "write_universal_format failed after version 2" in caplog.text
    assert (tmp_path / "metadata" / "version-hint.text").read_text() == "0"
    append(tmp_path, 10)
    assert operation(check(table)) == "overwrite"
    assert not (tmp_path / "metadata" / "v1.metadata.json").exists()


def test_changes_of_many_commits_are_not_read(tmp_path):
    table = made(tmp_path, RULES)
    assert write_iceberg_metadata(table.snapshot)
    for number in range(1, 4):
        append(tmp_path, number * 10)
    assert write_iceberg_metadata(DeltaTable(tmp_path).snapshot, MetadataLimits(commits=2))
    snapshot = check(table)
    assert (operation(snapshot), snapshot.summary["deleted-data-files"]) == ("overwrite", "2")


def test_log_that_was_cleaned_up_is_read_anew(tmp_path, monkeypatch):
    table = made(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(universal_format.iceberg, "write_iceberg_metadata", lambda snapshot: True)
        append(tmp_path, 4)
        append(tmp_path, 8)
    table = DeltaTable(tmp_path)
    table.create_checkpoint()
    (tmp_path / "_delta_log" / f"{1:020d}.json").unlink()
    append(tmp_path, 12)
    check(table)


def interrupted(path, monkeypatch, call):
    """Append, and stop at a call that the hook makes to the storage; return whether there was such a call."""
    calls = 0

    def counting(kept):
        def counted(self, name, *arguments, **options):
            nonlocal calls
            if str(name).rpartition("/")[0].endswith("metadata"):
                calls += 1
                if calls == call:
                    raise KeyboardInterrupt
            return kept(self, name, *arguments, **options)

        return counted

    with monkeypatch.context() as patched:
        for method in ("write", "put_if_absent", "delete_all"):
            patched.setattr(LocalStore, method, counting(getattr(LocalStore, method)))
        try:
            append(path, 4)
        except KeyboardInterrupt:
            return True
    return False


def test_metadata_that_was_stopped_anywhere_is_whole(tmp_path, monkeypatch):
    for call in itertools.count(1):
        path = tmp_path / str(call)
        table = made(path)
        if not interrupted(path, monkeypatch, call):
            break
        assert DeltaTable(path).version() == 1
        found = StaticTable.from_metadata(str(path))
        assert found.scan().to_arrow().num_rows == (8 if found.properties["delta-version"] == "1" else 4)
        append(path, 10)
        check(table)
    assert call > 3


def test_older_version_is_not_written_after_a_newer_one(tmp_path):
    table = made(tmp_path)
    append(tmp_path, 4)
    append(tmp_path, 8)
    (tmp_path / "metadata" / "v1.metadata.json").unlink()
    (tmp_path / "metadata" / "version-hint.text").write_text("1")
    assert not write_iceberg_metadata(Snapshot.load(open_store(tmp_path), 1))
    assert not (tmp_path / "metadata" / "v1.metadata.json").exists()
    check(table)


def test_hint_follows_a_writer_that_was_first(tmp_path, monkeypatch):
    """The hint of version 1 is written after that of version 2, by a writer that was slow."""
    table = made(tmp_path)
    kept = LocalStore.write

    def slow(self, name, data, **options):
        if name.endswith("version-hint.text") and data == b"1":
            monkeypatch.setattr(LocalStore, "write", kept)
            append(tmp_path, 8)
            assert (tmp_path / "metadata" / "version-hint.text").read_text() == "2"
        kept(self, name, data, **options)

    monkeypatch.setattr(LocalStore, "write", slow)
    append(tmp_path, 4)
    assert (tmp_path / "metadata" / "version-hint.text").read_text() == "2"
    check(table)


def test_writer_of_the_same_version_that_is_second_leaves_nothing(tmp_path, monkeypatch):
    table = made(tmp_path, RULES)
    kept = LocalStore.put_if_absent

    def overtaken(self, name, data):
        monkeypatch.setattr(LocalStore, "put_if_absent", kept)
        assert write_iceberg_metadata(table.snapshot)
        kept(self, name, data)

    monkeypatch.setattr(LocalStore, "put_if_absent", overtaken)
    assert not write_iceberg_metadata(table.snapshot)
    assert len(list((tmp_path / "metadata").iterdir())) == 4
    check(table)


def test_writers_side_by_side(tmp_path):
    table = made(tmp_path)
    writers = [
        threading.Thread(target=lambda n=n: [append(tmp_path, n * 10 + i, 1) for i in range(4)])
        for n in (1, 2, 3)
    ]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert DeltaTable(tmp_path).version() == 12
    check(table)


# --- hostile and old metadata -------------------------------------------------------------------------


def test_metadata_of_a_table_that_was_there_before_is_not_built_upon(tmp_path, caplog):
    made(tmp_path)
    append(tmp_path, 4)
    shutil.rmtree(tmp_path / "_delta_log")
    table = made(tmp_path, UNIFORM)
    assert "has Iceberg metadata of version 1 of another table" in caplog.text
    with pytest.raises(StorageError, match="delete the folder metadata"):
        write_iceberg_metadata(table.snapshot)
    shutil.rmtree(tmp_path / "metadata")
    append(tmp_path, 4)
    check(table)


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff", b'{"format-version": 2}'])
def test_metadata_that_cannot_be_read_is_written_anew(tmp_path, content):
    table = made(tmp_path)
    (tmp_path / "metadata" / "v0.metadata.json").write_bytes(content)
    append(tmp_path, 4)
    check(table)


@pytest.mark.parametrize("what", ["lists", "manifests"])
def test_files_of_another_folder_are_not_followed(tmp_path, what):
    """A copy of a table names the manifest lists of the first; or has its own, which name its manifests."""
    first, copy = tmp_path / "first", tmp_path / "copy"
    made(first)
    shutil.copytree(first, copy)
    if what == "manifests":
        path = copy / "metadata" / "v0.metadata.json"
        path.write_text(path.read_text().replace(f"{first}/", f"{copy}/"))
    append(copy, 4)
    table = DeltaTable(copy)
    check(table)
    found = iceberg_table(table)
    assert all(
        each.manifest_path.startswith(f"{copy}/") for each in found.current_snapshot().manifests(found.io)
    )
    assert all(each.manifest_list.startswith(f"{copy}/") for each in found.metadata.snapshots)


def test_manifest_that_is_gone_is_written_anew(tmp_path):
    table = made(tmp_path)
    for each in (tmp_path / "metadata").glob("*-m1.avro"):
        each.unlink()
    table.delete("id = 1")
    check(table)


def test_summary_that_is_wrong_is_not_believed(tmp_path):
    table = made(tmp_path)
    path = tmp_path / "metadata" / "v0.metadata.json"
    path.write_text(path.read_text().replace('"total-data-files":"2"', '"total-data-files":"3"'))
    append(tmp_path, 4)
    check(table)
    path = tmp_path / "metadata" / "v1.metadata.json"
    path.write_text(path.read_text().replace('"total-records":"8"', '"total-records":"odd"'))
    table.update_incremental()
    table.delete()
    snapshot = check(table)
    assert (operation(snapshot), snapshot.summary["total-data-files"]) == ("overwrite", "0")


def test_old_metadata_is_deleted_and_nothing_else(tmp_path):
    table, limits = made(tmp_path, RULES), MetadataLimits(versions=2)
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "mine.txt").write_text("stays")
    for number in range(1, 7):
        assert write_iceberg_metadata(DeltaTable(tmp_path).snapshot, limits)
        append(tmp_path, number * 10)
        if number == 5:
            DeltaTable(tmp_path).delete("id = 11")
    assert write_iceberg_metadata(DeltaTable(tmp_path).snapshot, limits)
    check(table)
    names = sorted(each.name for each in (tmp_path / "metadata").iterdir())
    assert [each for each in names if each.startswith("v")] == [
        "v4.metadata.json",
        "v6.metadata.json",
        "v7.metadata.json",
        "version-hint.text",
    ]
    assert "mine.txt" in names
    found = iceberg_table(table)
    for snapshot in found.metadata.snapshots:
        assert found.scan(snapshot_id=snapshot.snapshot_id).to_arrow().num_rows > 0
    listed = {each.manifest_path for old in found.metadata.snapshots for each in old.manifests(found.io)}
    there = {str(each) for each in (tmp_path / "metadata").glob("*-m*.avro")}
    assert there == listed


def test_vacuum_keeps_the_metadata(tmp_path):
    table = made(tmp_path)
    table.delete("id = 1")
    before = sorted((tmp_path / "metadata").iterdir())
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert set(before) <= set((tmp_path / "metadata").iterdir())
    check(table)


# --- histories ----------------------------------------------------------------------------------------

STEPS = st.sampled_from(
    ["append", "delete", "update", "compact", "overwrite", "rename", "add", "lost", "drop"]
)


@settings(max_examples=examples(4), deadline=None, derandomize=True)
@given(st.lists(STEPS, min_size=1, max_size=6))
def test_histories(tmp_path_factory, steps):
    check_history(tmp_path_factory.mktemp("t"), steps)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=12))
def test_many_histories(tmp_path_factory, steps):
    check_history(tmp_path_factory.mktemp("t"), steps)


def check_history(path, steps):
    """Do each step; "lost" loses the metadata of all commits until the next other step."""
    table = made(path)
    for number, step in enumerate(steps, start=1):
        table = DeltaTable(path)
        names = table.schema().to_arrow().names
        data = table.to_pyarrow_table().slice(0, 3)
        if step == "append":
            write_deltalake(path, data, mode="append")
        elif step == "delete":
            table.delete("p = 'p1'" if number % 2 else f"{names[0]} IS NOT NULL")
        elif step == "update":
            table.update({"p": "'p7'"}, predicate="p = 'p0'")
        elif step == "compact":
            table.optimize.compact()
        elif step == "overwrite":
            write_deltalake(path, data, mode="overwrite")
        elif step == "rename":
            table.alter.rename_column(names[0], f"n{number}")
        elif step == "add":
            wide = data.append_column(f"c{number}", pa.array([number] * data.num_rows, pa.int64()))
            write_deltalake(path, wide, mode="append", schema_mode="merge")
        elif step == "drop" and len(names) > 2:
            table.alter.drop_columns([names[-1] if names[-1] != "p" else names[0]])
        elif step == "lost":
            shutil.rmtree(path / "metadata")
            table.alter.set_table_properties({"step": str(number)})
        check(table)
