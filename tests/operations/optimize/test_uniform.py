"""The upgrade to Iceberg compatibility: what it writes, what it refuses, and how it goes on when stopped."""

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaarrow as da
import deltaarrow.table.reorganizer as reorganizer
from deltaarrow import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltaarrow.errors import (
    ConcurrentDeleteReadException,
    CorruptDataFileError,
    InvalidTablePropertyError,
    MetadataChangedException,
    MissingDependencyError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from deltaarrow.operations.optimize import Rewriting
from tests.support.iceberg import iceberg_rows
from tests.support.many_features import changed_table
from tests.support.rows import assert_same_rows
from tests.support.tables import TableBuilder

pytestmark = pytest.mark.feature("icebergCompatV2")

VECTORS = {"delta.enableDeletionVectors": "true"}
MAPPED = {"delta.columnMapping.mode": "name"}
FORMATS = "delta.universalFormat.enabledFormats"
TAGS = {"ICEBERG_COMPAT_VERSION": "2"}


def made(path, files=2, configuration=None):
    for number in range(files):
        ids = range(number * 10, number * 10 + 10)
        data = pa.table({"id": ids, "l": [[each] for each in ids], "p": ["a", "b"] * 5})
        write_deltalake(
            path,
            data,
            mode="append",
            partition_by=["p"],
            configuration=None if number else configuration,
        )
    return DeltaTable(path)


def tags(table):
    return table.snapshot.files(columns=["tags"]).column("tags").to_pylist(maps_as_pydicts="strict")


def operations(path, count):
    return [commit["operation"] for commit in DeltaTable(path).history(count)][::-1]


def check_upgraded(table, wanted):
    """All files are under the rules, and read as Iceberg, with the rows as they were."""
    assert_same_rows(iceberg_rows(table), wanted)
    assert_same_rows(table.to_pyarrow_table(), wanted)
    assert all(each == TAGS for each in tags(table))
    files = table.snapshot.files(columns=["deletion_vector"]).column("deletion_vector")
    assert files.null_count == len(files)
    assert [str(finding) for finding in table.verify(deep=True)] == []
    version = table.version()
    assert table.optimize.upgrade_uniform()["numFilesRemoved"] == 0
    assert table.optimize.upgrade_uniform(dry_run=True).num_files == 0
    assert DeltaTable(table.table_uri).version() == version


def test_properties_come_first_and_the_files_after_them(tmp_path):
    table = made(tmp_path, configuration=VECTORS)
    table.delete("id = 3")
    before, version = table.to_pyarrow_table(), table.version()
    metrics = table.optimize.upgrade_uniform()
    assert (metrics["numFilesRemoved"], metrics["numFilesAdded"]) == (4, 2)
    assert metrics["numDeletionVectorsRemoved"] == 1
    rules, rewrite, formats = table.history(3)[::-1]
    assert (rules["version"], rules["operation"]) == (version + 1, "REORG TABLE UPGRADE UNIFORM")
    assert json.loads(rules["operationParameters"]["properties"]) == {
        "delta.enableIcebergCompatV2": "true",
        "delta.enableDeletionVectors": "false",
        "delta.columnMapping.mode": "name",
    }
    assert rewrite["operation"] == "REORG"
    assert rewrite["operationParameters"] == {"predicate": "[]", "applyPurge": "true"}
    assert formats["operation"] == "SET TBLPROPERTIES"
    assert json.loads(formats["operationParameters"]["properties"]) == {FORMATS: "iceberg"}
    assert table.metadata().configuration == {
        "delta.enableIcebergCompatV2": "true",
        "delta.enableDeletionVectors": "false",
        "delta.columnMapping.mode": "name",
        "delta.columnMapping.maxColumnId": "4",
        "delta.universalFormat.iceberg.atomicConversion.supported": "true",
        FORMATS: "iceberg",
    }
    assert {"icebergCompatV2", "columnMapping", "deletionVectors"} < set(table.protocol().writer_features)
    for uri in table.file_uris():
        schema = pq.ParquetFile(uri).schema
        assert [schema.column(place).path for place in range(3)] == ["id", "l.list.element", "p"]
        assert "field_id=4" in str(schema)
    check_upgraded(table, before)


def test_changes_of_rows_are_none_for_the_change_feed(tmp_path):
    table = made(tmp_path, configuration={"delta.enableChangeDataFeed": "true"})
    table.optimize.upgrade_uniform()
    assert table.load_cdf(2).read_all().num_rows == 0


def test_table_with_many_features_is_upgraded(tmp_path):
    data = pa.table({"id": range(20), "s": [{"x": 1, "y": "a"}] * 20, "n": range(20)})
    properties = VECTORS | {
        "delta.enableRowTracking": "true",
        "delta.enableInCommitTimestamps": "true",
        "delta.enableChangeDataFeed": "true",
        "delta.checkpointPolicy": "v2",
        "delta.appendOnly": "false",
    }
    write_deltalake(tmp_path, data, configuration=properties)
    table = DeltaTable(tmp_path)
    table.delete("id = 3")
    table.update({"n": "n + 1"}, predicate="id = 4")
    columns = ["id", "n", "_metadata.row_id", "_metadata.row_commit_version"]
    before = table.to_pyarrow_table(columns=columns)
    table.optimize.upgrade_uniform()
    assert_same_rows(table.to_pyarrow_table(columns=columns), before)
    check_upgraded(table, table.to_pyarrow_table())


def test_column_that_the_rules_do_not_know_is_refused_in_a_table_of_many(tmp_path):
    table = changed_table(tmp_path, VECTORS)
    version = table.version()
    with pytest.raises(SchemaMismatchError, match="icebergCompatV2 does not allow the type"):
        table.optimize.upgrade_uniform()
    assert DeltaTable(tmp_path).version() == version


def test_old_protocol_is_raised_no_further_than_needed(tmp_path):
    table = made(tmp_path)
    table.optimize.upgrade_uniform()
    rules = table.history(3)[2]
    assert json.loads(rules["operationParameters"]["properties"]) == {
        "delta.enableIcebergCompatV2": "true",
        "delta.enableDeletionVectors": "false",
        "delta.columnMapping.mode": "name",
        "delta.minReaderVersion": "3",
        "delta.minWriterVersion": "7",
    }
    assert (table.protocol().min_reader_version, table.protocol().min_writer_version) == (2, 7)


def test_empty_table_gets_the_rules_alone(tmp_path):
    table = DeltaTable.create(tmp_path, pa.schema([("id", pa.int64())]))
    assert table.optimize.upgrade_uniform()["numFilesAdded"] == 0
    assert operations(tmp_path, 3) == ["CREATE TABLE", "REORG TABLE UPGRADE UNIFORM", "SET TBLPROPERTIES"]


def test_table_under_version_1_goes_over_to_version_2(tmp_path):
    write_deltalake(
        tmp_path, pa.table({"id": range(3)}), configuration={"delta.enableIcebergCompatV1": "true"}
    )
    table = DeltaTable(tmp_path)
    before = table.to_pyarrow_table()
    table.optimize.upgrade_uniform()
    assert table.metadata().configuration["delta.enableIcebergCompatV1"] == "false"
    check_upgraded(table, before)


def test_rules_that_are_set_are_not_set_again(tmp_path):
    table = made(tmp_path, configuration=MAPPED)
    table.alter.set_table_properties({"delta.enableIcebergCompatV2": "true"})
    write_deltalake(tmp_path, table.to_pyarrow_table().slice(0, 1), mode="append")
    table.update_incremental()
    before = table.to_pyarrow_table()
    assert table.optimize.upgrade_uniform()["numFilesRemoved"] == 4
    assert operations(tmp_path, 3) == ["WRITE", "REORG", "SET TBLPROPERTIES"]
    check_upgraded(table, before)


def test_table_that_was_made_with_the_rules_is_as_it_should_be(tmp_path):
    table = made(tmp_path, configuration={"delta.enableIcebergCompatV2": "true", FORMATS: "iceberg"})
    check_upgraded(table, table.to_pyarrow_table())


def test_table_that_was_made_with_the_rules_gets_the_metadata_alone(tmp_path):
    table = made(tmp_path, configuration={"delta.enableIcebergCompatV2": "true"})
    given = CommitProperties(app_transactions=[Transaction("app", 5)])
    assert table.optimize.upgrade_uniform(commit_properties=given)["numFilesRemoved"] == 0
    assert operations(tmp_path, 2) == ["WRITE", "SET TBLPROPERTIES"]
    assert table.transaction_version("app") == 5
    check_upgraded(table, table.to_pyarrow_table())


def test_file_without_a_row_count_is_rewritten(tmp_path):
    builder = TableBuilder(tmp_path).protocol(1, 2)
    builder.metadata(da.Schema([da.Field("id", "long")]).to_json())
    add = builder.add_file(pa.table({"id": [1, 2]}))
    add["add"]["tags"] = TAGS
    del add["add"]["stats"]
    builder.commit([add])
    table = DeltaTable(tmp_path)
    before = table.to_pyarrow_table()
    assert table.optimize.upgrade_uniform()["numFilesRemoved"] == 1
    check_upgraded(table, before)


def test_dry_run_does_nothing(tmp_path):
    table = made(tmp_path)
    version = table.version()
    plan = table.optimize.upgrade_uniform(dry_run=True)
    assert (plan.num_files, len(plan.bins)) == (4, 2)
    assert DeltaTable(tmp_path).version() == version


def test_metadata_of_the_caller_is_in_all_commits_and_an_application_in_the_first(tmp_path):
    table = made(tmp_path)
    given = CommitProperties(custom_metadata={"by": "me"}, app_transactions=[Transaction("app", 5)])
    table.optimize.upgrade_uniform(commit_properties=given)
    assert [commit["by"] for commit in table.history(3)] == ["me", "me", "me"]
    assert table.transaction_version("app") == 5
    for version, count in ((2, 1), (3, 0), (4, 0)):
        text = (tmp_path / "_delta_log" / f"{version:020d}.json").read_text()
        assert text.count('"txn"') == count


# --- what is refused, with nothing written ------------------------------------------------------------


def refused(table, error, match, **arguments):
    path = Path(table.table_uri)
    before, version = sorted(path.rglob("*")), table.version()
    for dry_run in (True, False):
        with pytest.raises(error, match=match):
            table.optimize.upgrade_uniform(**arguments, dry_run=dry_run)
    assert DeltaTable(path).version() == version
    assert sorted(path.rglob("*")) == before


@pytest.mark.parametrize(
    ("version", "match"),
    [
        (3, "IcebergCompatVersion = 3 is not supported .*COMPAT_VERSION_NOT_SUPPORTED"),
        (0, "IcebergCompatVersion = 0 is not supported"),
        (1, "set delta.enableIcebergCompatV1 and delta.columnMapping.mode"),
        (2.0, "IcebergCompatVersion = 2.0 is not supported"),
        ("2", "IcebergCompatVersion = 2 is not supported"),
        (True, "IcebergCompatVersion = True is not supported"),
    ],
)
def test_other_versions_are_refused(tmp_path, version, match):
    refused(made(tmp_path), UnsupportedFeatureError, match, iceberg_compat_version=version)


SCHEMAS = {
    "type void of column 'v'": pa.schema([("id", pa.int64()), ("v", pa.null())]),
    "type variant of column 'v'": da.Schema([da.Field("id", "long"), da.Field("v", "variant")]),
    "decimal partition column 'p'": pa.schema([("id", pa.int64()), ("p", pa.decimal128(4, 2))]),
}


@pytest.mark.parametrize("match", SCHEMAS)
def test_columns_that_the_rules_do_not_know_are_refused(tmp_path, match):
    partitions = ["p"] if "partition" in match else None
    table = DeltaTable.create(tmp_path, SCHEMAS[match], partition_by=partitions)
    refused(table, SchemaMismatchError, match)


def test_widening_that_iceberg_does_not_know_is_refused(tmp_path):
    builder = TableBuilder(tmp_path).protocol(3, 7, ["typeWidening"], ["typeWidening"])
    changes = {"delta.typeChanges": [{"fromType": "integer", "toType": "double"}]}
    builder.metadata(da.Schema([da.Field("c", "double", metadata=changes)]).to_json())
    builder.commit()
    refused(DeltaTable(tmp_path), SchemaMismatchError, "the change of column 'c' from integer to double")


def test_columns_that_are_mapped_by_id_are_refused(tmp_path):
    table = made(tmp_path, configuration={"delta.columnMapping.mode": "id"})
    refused(table, InvalidTablePropertyError, "cannot be changed from 'id' to 'name'")


def test_table_under_version_3_is_refused(tmp_path):
    table = made(tmp_path, configuration={"delta.enableIcebergCompatV3": "true"})
    refused(table, InvalidTablePropertyError, "delta.enableIcebergCompatV3 cannot be switched off")


def test_constraint_that_is_not_understood_is_refused_before_the_properties_are_set(tmp_path):
    builder = TableBuilder(tmp_path).protocol(1, 3)
    builder.metadata(
        da.Schema([da.Field("id", "long")]).to_json(),
        configuration={"delta.constraints.odd": "nobody_knows(id)"},
    )
    builder.commit([builder.add_file(pa.table({"id": [1]}))])
    refused(DeltaTable(tmp_path), UnsupportedFeatureError, "(?i)nobody_knows")


def test_missing_pyiceberg_is_told_before_anything_is_written(tmp_path, monkeypatch):
    table = made(tmp_path)
    monkeypatch.setitem(sys.modules, "pyiceberg", None)
    refused(table, MissingDependencyError, r"pip install 'deltaarrow\[iceberg\]'")


# --- what stops it, and other writers -----------------------------------------------------------------


STEPS = {
    "rules": (reorganizer.optimize, "enable_iceberg_rules"),
    "files": (Rewriting, "run"),
    "metadata": (reorganizer.optimize, "enable_iceberg_metadata"),
}


def stop(monkeypatch, place, after):
    """Stop the upgrade before or after one of its commits."""
    kept = getattr(*place)

    def stopped(*arguments, **options):
        if after:
            kept(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(*place, stopped)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", ["rules", "files", "metadata"])
def test_upgrade_stopped_around_a_commit_goes_on(tmp_path, monkeypatch, step, after):
    table = made(tmp_path, configuration=VECTORS)
    table.delete("id = 3")
    before, version = table.to_pyarrow_table(), table.version()
    place = STEPS[step]
    with monkeypatch.context() as patched:
        stop(patched, place, after)
        with pytest.raises(KeyboardInterrupt):
            table.optimize.upgrade_uniform()
    done = list(STEPS).index(step) + after
    stopped = DeltaTable(tmp_path)
    assert stopped.version() == version + done
    assert_same_rows(stopped.to_pyarrow_table(), before)
    stopped.optimize.upgrade_uniform()
    assert operations(tmp_path, 3) == ["REORG TABLE UPGRADE UNIFORM", "REORG", "SET TBLPROPERTIES"]
    check_upgraded(stopped, before)


def test_table_between_the_commits_can_be_written_to(tmp_path, monkeypatch):
    table = made(tmp_path, configuration=VECTORS)
    table.delete("id = 3")
    with monkeypatch.context() as patched:
        stop(patched, (Rewriting, "run"), after=False)
        with pytest.raises(KeyboardInterrupt):
            table.optimize.upgrade_uniform()
    write_deltalake(tmp_path, pa.table({"id": [50], "l": [[1]], "p": ["c"]}), mode="append")
    table = DeltaTable(tmp_path)
    table.delete("id = 5")
    before = table.to_pyarrow_table()
    assert table.optimize.upgrade_uniform()["numFilesRemoved"] < 5
    check_upgraded(table, before)


def test_file_that_is_gone_is_told_and_the_rules_stay(tmp_path):
    table = made(tmp_path)
    before = table.to_pyarrow_table()
    lost = Path(table.file_uris()[0])
    content = lost.read_bytes()
    lost.write_bytes(content[:100])
    with pytest.raises(CorruptDataFileError):
        table.optimize.upgrade_uniform()
    assert operations(tmp_path, 1) == ["REORG TABLE UPGRADE UNIFORM"]
    lost.write_bytes(content)
    table.optimize.upgrade_uniform()
    check_upgraded(table, before)


def test_deletion_meanwhile_is_a_conflict_and_the_next_call_goes_on(tmp_path):
    table = made(tmp_path, configuration=VECTORS)

    def act(done, total):
        if DeltaTable(tmp_path).history(1)[0]["operation"] != "DELETE":
            DeltaTable(tmp_path).delete("id = 4")

    with pytest.raises(ConcurrentDeleteReadException):
        table.optimize.upgrade_uniform(progress=act)
    table = DeltaTable(tmp_path)
    before = table.to_pyarrow_table()
    assert before.num_rows == 19
    table.optimize.upgrade_uniform()
    check_upgraded(table, before)


def test_rules_that_are_switched_off_meanwhile_are_told(tmp_path, monkeypatch):
    table = made(tmp_path)
    enable = reorganizer.optimize.enable_iceberg_rules

    def enabled(*arguments):
        is_new = enable(*arguments)
        DeltaTable(tmp_path).alter.set_table_properties({"delta.enableIcebergCompatV2": "false"})
        return is_new

    monkeypatch.setattr(reorganizer.optimize, "enable_iceberg_rules", enabled)
    with pytest.raises(MetadataChangedException, match="has switched icebergCompatV2 off again in version 3"):
        table.optimize.upgrade_uniform()
