"""CLONE: shallow ones refer to the files of the source, deep ones copy what they do not have."""

import contextlib
import itertools
import json
import os
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import CommitProperties, DeltaTable, Field, Schema, VersionNotFoundError, write_deltalake
from deltaarrow.errors import (
    ConcurrentAppendException,
    DeltaProtocolError,
    InvalidTablePropertyError,
    MissingFilesError,
    StorageError,
    UnsupportedFeatureError,
    VersionExistsError,
)
from deltaarrow.scan.row_id_columns import ROW_ID
from tests.support.commits import commit
from tests.support.examples import examples
from tests.support.leftovers import files_on_disk
from tests.support.stores import s3_options  # noqa: F401  a fixture
from tests.support.system_calls import Calls, Killed
from tests.support.tables import TableBuilder

TRACKED = {
    "delta.enableRowTracking": "true",
    "delta.enableDeletionVectors": "true",
    "own": "1",
}
KINDS = pytest.mark.parametrize("shallow", [True, False], ids=["shallow", "deep"])


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "p": [f"a b%{number % 2}" for number in ids]})


def ids(path, **options) -> list[int]:
    return sorted(DeltaTable(path, **options).to_pyarrow_table().column("id").to_pylist())


@pytest.fixture
def source(tmp_path) -> str:
    """A partitioned table of a name with odd characters; its newest version has a deletion vector."""
    path = str(tmp_path / "the source%20é")
    write_deltalake(path, rows(1, 2, 3, 4), partition_by=["p"], configuration=TRACKED)
    write_deltalake(path, rows(5, 6), mode="append")
    DeltaTable(path).delete("id = 2")
    return path


@pytest.fixture
def target(tmp_path) -> str:
    return str(tmp_path / "clone")


def adds(path, version=0) -> list[dict]:
    return [action["add"] for action in commit(path, version) if "add" in action]


@KINDS
def test_a_clone_has_the_rows_and_a_life_of_its_own(source, target, shallow):
    metrics = DeltaTable(source).clone(target, shallow=shallow)
    assert ids(target) == [1, 3, 4, 5, 6]
    table = DeltaTable(target)
    assert (table.version(), table.verify(deep=True).ok) == (0, True)
    assert (metrics["sourceNumOfFiles"], metrics["numCopiedFiles"]) == (4, 0 if shallow else 4)
    table.delete("id = 5")
    write_deltalake(target, rows(7), mode="append")
    table.update({"id": "id + 100"}, predicate="id = 1")
    assert ids(target) == [3, 4, 6, 7, 101]
    assert ids(source) == [1, 3, 4, 5, 6]
    table.update_incremental()
    table.optimize.compact()
    assert ids(target) == [3, 4, 6, 7, 101]
    assert DeltaTable(target).verify(deep=True).ok


def test_a_shallow_clone_refers_to_the_files_of_the_source(source, target):
    before = files_on_disk(source)
    DeltaTable(source).clone(target)
    assert not files_on_disk(target)
    assert all(
        add["path"].startswith("file:/") and "the%20source%2520é/p=" in add["path"] for add in adds(target)
    )
    (vector,) = (add["deletionVector"] for add in adds(target) if "deletionVector" in add)
    assert vector["storageType"] == "p"
    assert vector["pathOrInlineDv"].startswith("file:/")
    assert {os.path.relpath(uri, source) for uri in DeltaTable(target).file_uris()} < before
    (info, *_) = commit(target, 0)
    told = info["commitInfo"]
    assert told["operation"] == "CLONE"
    assert told["operationParameters"] == {"source": f"delta.`file:{source}`", "sourceVersion": 2}
    assert told["isBlindAppend"] is False


def test_a_deep_clone_stands_when_the_source_is_gone(source, target):
    DeltaTable(source).clone(target, shallow=False)
    shutil.rmtree(source)
    assert ids(target) == [1, 3, 4, 5, 6]
    moved = shutil.move(target, f"{target} moved")
    assert ids(moved) == [1, 3, 4, 5, 6]


@KINDS
def test_a_version_is_cloned(source, target, shallow):
    DeltaTable(source).clone(target, version=0, shallow=shallow)
    assert ids(target) == [1, 2, 3, 4]
    assert commit(target, 0)[0]["commitInfo"]["operationParameters"]["sourceVersion"] == 0
    with pytest.raises(VersionNotFoundError):
        DeltaTable(source).clone(f"{target}2", version=9, shallow=shallow)


@KINDS
def test_a_clone_of_a_clone_does_not_need_the_one_between(source, target, tmp_path, shallow):
    DeltaTable(source).clone(target)
    second = str(tmp_path / "second")
    DeltaTable(target).clone(second, shallow=shallow)
    shutil.rmtree(target)
    assert ids(second) == [1, 3, 4, 5, 6]
    if not shallow:
        shutil.rmtree(source)
        assert ids(second) == [1, 3, 4, 5, 6]
        assert {add["deletionVector"]["storageType"] for add in adds(second) if "deletionVector" in add} == {
            "u"
        }


@pytest.mark.feature("rowTracking")
@KINDS
def test_row_ids_are_given_anew(source, target, shallow):
    before = DeltaTable(source).snapshot.configuration
    DeltaTable(source).clone(target, shallow=shallow)
    counts = [json.loads(add["stats"])["numRecords"] for add in adds(target)]
    first = [0, *itertools.accumulate(counts)]
    assert [(add["baseRowId"], add["defaultRowCommitVersion"]) for add in adds(target)] == [
        (number, 0) for number in first[:-1]
    ]
    (domain,) = (a["domainMetadata"] for a in commit(target, 0) if "domainMetadata" in a)
    assert json.loads(domain["configuration"])["rowIdHighWaterMark"] == 5
    after = DeltaTable(target).snapshot.configuration
    hidden = "delta.rowTracking.materializedRowIdColumnName"
    assert before[hidden] != after[hidden]
    found = DeltaTable(target).to_pyarrow_table(columns=[ROW_ID]).column(ROW_ID).to_pylist()
    assert len(set(found)) == 5


def test_properties_are_copied_and_then_changed(source, target):
    properties = {"own": "2", "delta.logRetentionDuration": "interval 9 days"}
    DeltaTable(source).clone(target, properties=properties)
    found = DeltaTable(target).snapshot.configuration
    assert properties.items() <= found.items()
    assert found["delta.enableDeletionVectors"] == "true"
    assert DeltaTable(target).snapshot.metadata.id != DeltaTable(source).snapshot.metadata.id


@pytest.mark.parametrize(
    "properties",
    [
        {"delta.columnMapping.mode": "name"},
        {"delta.enableIcebergCompatV2": "true"},
        {"delta.nonsense": "1"},
        {"delta.constraints.c": "id > 0"},
    ],
)
def test_properties_that_a_clone_cannot_have_are_refused(tmp_path, target, properties):
    write_deltalake(tmp_path / "plain", rows(1))
    with pytest.raises((InvalidTablePropertyError, DeltaProtocolError)):
        DeltaTable(tmp_path / "plain").clone(target, properties=properties)
    assert not os.path.exists(target)


@pytest.mark.feature("clustering")
def test_clustering_columns_are_copied_and_domains_of_users_are_not(tmp_path, target):
    table = DeltaTable.create(tmp_path / "t", pa.schema([("id", pa.int64())]), cluster_by=["id"])
    table.alter.set_domain_metadata("mine", "1")
    table.clone(target)
    assert set(DeltaTable(target).snapshot.domains) == {"delta.clustering"}


@KINDS
def test_a_table_without_rows_becomes_the_clone_if_told(source, target, shallow):
    write_deltalake(target, rows(50), configuration=TRACKED)
    table = DeltaTable(source)
    with pytest.raises(VersionExistsError, match="DELTA_TABLE_ALREADY_EXISTS"):
        table.clone(target, shallow=shallow)
    with pytest.raises(VersionExistsError, match="DELTA_UNSUPPORTED_NON_EMPTY_CLONE"):
        table.clone(target, shallow=shallow, replace=True)
    DeltaTable(target).delete()
    before = DeltaTable(target).snapshot.metadata.id
    table.clone(target, shallow=shallow, replace=True)
    assert (ids(target), DeltaTable(target).version()) == ([1, 3, 4, 5, 6], 2)
    assert DeltaTable(target).snapshot.metadata.id == before
    assert min(add["baseRowId"] for add in adds(target, 2)) == 1
    assert DeltaTable(target).verify(deep=True).ok
    assert ids(target, version=0) == [50]


def test_a_dry_run_makes_nothing(source, target):
    plan = DeltaTable(source).clone(target, dry_run=True)
    assert (plan.num_files, plan.target, plan.protocol) == (4, None, DeltaTable(source).snapshot.protocol)
    assert repr(plan).startswith("ClonePlan(version=2, files=4, bytes=")
    assert not os.path.exists(target)


@KINDS
def test_an_empty_table_is_cloned(tmp_path, target, shallow):
    schema = Schema([Field("id", "long")])
    DeltaTable.create(tmp_path / "t", schema).clone(
        target, shallow=shallow, commit_properties=CommitProperties(custom_metadata={"userMetadata": "x"})
    )
    assert (DeltaTable(target).schema(), DeltaTable(target).count()) == (schema, 0)
    assert DeltaTable(target).history()[0]["userMetadata"] == "x"


def test_names_that_are_not_encoded_are_spelled_anew(tmp_path, target):
    table = TableBuilder(tmp_path / "t").protocol().metadata(pa.schema([("id", pa.int64())]))
    body = table.add_file(pa.table({"id": [1]}), name="one file.parquet")["add"]
    for name in ("two%.parquet", "three.parquet"):
        shutil.copy(tmp_path / "t" / "one file.parquet", tmp_path / "t" / name)
    named = ("one file.parquet", "two%.parquet", "x/../three.parquet")
    table.commit([{"add": body | {"path": path}} for path in named])
    assert DeltaTable(tmp_path / "t").count() == 3
    DeltaTable(tmp_path / "t").clone(target)
    assert {add["path"].rpartition("/")[2] for add in adds(target)} == {
        "one%20file.parquet",
        "two%25.parquet",
        "three.parquet",
    }
    assert ids(target) == [1, 1, 1]


def test_row_tracking_needs_row_counts(tmp_path, target):
    table = TableBuilder(tmp_path / "t").features(writer_only=["rowTracking", "domainMetadata"])
    table.metadata(pa.schema([("id", pa.int64())]))
    table.commit([table.add_file(pa.table({"id": [1]}), stats=False)])
    with pytest.raises(DeltaProtocolError, match="numRecords"):
        DeltaTable(tmp_path / "t").clone(target)


@pytest.mark.feature("inCommitTimestamp")
@KINDS
def test_timestamps_in_commits_begin_with_the_clone(tmp_path, target, shallow):
    write_deltalake(tmp_path / "t", rows(1))
    table = DeltaTable(tmp_path / "t")
    table.alter.set_table_properties({"delta.enableInCommitTimestamps": "true"})
    table.clone(target, shallow=shallow)
    assert "delta.inCommitTimestampEnablementVersion" not in DeltaTable(target).snapshot.configuration
    assert commit(target, 0)[0]["commitInfo"]["inCommitTimestamp"]
    write_deltalake(tmp_path / "old", rows(2))
    DeltaTable(tmp_path / "old").delete()
    table.clone(tmp_path / "old", shallow=shallow, replace=True)
    found = DeltaTable(tmp_path / "old").snapshot.configuration
    assert found["delta.inCommitTimestampEnablementVersion"] == "2"
    assert DeltaTable(tmp_path / "old").verify().ok


@KINDS
def test_a_table_that_others_make_or_fill_meanwhile_stays(source, target, tmp_path, monkeypatch, shallow):
    from deltaarrow.operations.clone import clone as module

    empty = str(tmp_path / "empty")
    write_deltalake(empty, rows(1))
    DeltaTable(empty).delete()
    begin = module._begin

    def begin_late(plan, store, *more):
        found = begin(plan, store, *more)
        write_deltalake(store.uri, rows(77), mode="append")
        return found

    monkeypatch.setattr(module, "_begin", begin_late)
    for path, error in ((target, VersionExistsError), (empty, ConcurrentAppendException)):
        with pytest.raises(error):
            DeltaTable(source).clone(path, shallow=shallow, replace=True)
        assert ids(path) == [77]


STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "delete", "compact", "overwrite", "clone"]), st.integers(0, 9)),
    max_size=4,
)


@settings(max_examples=examples(3), deadline=None)
@given(STEPS)
def test_clones_of_random_histories_have_the_rows_of_their_versions(steps):
    with tempfile.TemporaryDirectory() as folder:
        path, deep = f"{folder}/t", f"{folder}/deep"
        write_deltalake(path, rows(*range(5)), configuration=TRACKED | {"delta.checkpointInterval": "2"})
        for number, (step, given_id) in enumerate([*steps, ("clone", 0), ("delete", 3), ("clone", 1)]):
            table = DeltaTable(path)
            if step in ("append", "overwrite"):
                write_deltalake(path, rows(given_id + 10 * number), mode=step)
            elif step == "delete":
                table.delete(f"id % 10 = {given_id}")
            elif step == "compact":
                table.optimize.compact()
            else:
                version = max(0, table.version() - given_id)
                table.clone(f"{folder}/shallow{number}", version=version)
                assert ids(f"{folder}/shallow{number}") == ids(path, version=version)
                table.clone(deep, shallow=False)
                assert ids(deep) == ids(path)
                assert DeltaTable(deep).verify(deep=True).ok


# --- deep clones ------------------------------------------------------------------------------------


def test_a_repeated_deep_clone_copies_what_is_new_and_removes_what_is_gone(source, target):
    table = DeltaTable(source)
    table.clone(target, shallow=False)
    before = {name: os.stat(f"{target}/{name}").st_mtime_ns for name in files_on_disk(target)}
    tracked = row_ids(target)
    table.delete("id = 6")  # the only row of its file
    table.delete("id = 4")
    write_deltalake(source, rows(8), mode="append")
    table.update_incremental()
    metrics = table.clone(target, shallow=False)
    assert ids(target) == ids(source) == [1, 3, 5, 8]
    assert (metrics["numCopiedFiles"], metrics["numRemovedFiles"]) == (1, 2)
    after = {name: os.stat(f"{target}/{name}").st_mtime_ns for name in files_on_disk(target)}
    assert before.items() <= after.items()
    assert {key: tracked[key] for key in (1, 3, 5)}.items() <= row_ids(target).items()
    assert DeltaTable(target).verify(deep=True).ok
    assert ids(target, version=0) == [1, 3, 4, 5, 6]


def row_ids(path) -> dict[int, int]:
    found = DeltaTable(path).to_pyarrow_table(columns=["id", ROW_ID]).to_pylist()
    return {row["id"]: row[ROW_ID] for row in found}


def test_a_deep_clone_that_was_written_to_is_brought_back_only_if_told(source, target):
    table = DeltaTable(source)
    table.clone(target, shallow=False)
    write_deltalake(target, rows(99), mode="append")
    with pytest.raises(VersionExistsError, match="has been written to"):
        table.clone(target, shallow=False)
    table.clone(target, shallow=False, replace=True)
    assert ids(target) == [1, 3, 4, 5, 6]


def test_a_deep_clone_of_another_table_is_not_taken_over(source, target, tmp_path):
    write_deltalake(tmp_path / "other", rows(1))
    DeltaTable(tmp_path / "other").clone(target, shallow=False)
    with pytest.raises(VersionExistsError):
        DeltaTable(source).clone(target, shallow=False)
    with pytest.raises(VersionExistsError, match="NON_EMPTY"):
        DeltaTable(source).clone(target, shallow=False, replace=True)


def test_files_that_are_gone_are_named_before_anything_is_copied(source, target):
    gone = DeltaTable(source).file_uris()[0]
    os.remove(gone)
    with pytest.raises(MissingFilesError, match=os.path.basename(gone)):
        DeltaTable(source).clone(target, shallow=False)
    assert not os.path.exists(target)


def test_files_of_others_are_not_taken_for_copies(source, target):
    name = os.path.relpath(DeltaTable(source).file_uris()[0], source)
    (Path(target) / name).parent.mkdir(parents=True)
    (Path(target) / name).write_bytes(b"mine")
    with pytest.raises(StorageError, match="no copies"):
        DeltaTable(source).clone(target, shallow=False)
    assert files_on_disk(target) == {name}


@pytest.mark.parametrize(
    "name", ["_delta_log/7.parquet", "x/../_delta_log/7.parquet", "./_delta_log/7.parquet"]
)
def test_no_file_comes_into_the_log_of_a_deep_clone(tmp_path, target, name):
    table = TableBuilder(tmp_path / "t").protocol().metadata(pa.schema([("id", pa.int64())]))
    body = table.add_file(pa.table({"id": [1]}), name="a.parquet")["add"]
    table.commit([{"add": body | {"path": name}}])
    with pytest.raises(DeltaProtocolError, match="log folder"):
        DeltaTable(tmp_path / "t").clone(target, shallow=False)
    assert not os.path.exists(target)


@pytest.mark.parametrize("name", ["../a.parquet", "s3://bucket/a.parquet"])
@KINDS
def test_files_outside_of_the_source_are_refused(tmp_path, target, name, shallow):
    table = TableBuilder(tmp_path / "t").protocol().metadata(pa.schema([("id", pa.int64())]))
    body = table.add_file(pa.table({"id": [1]}), name="a.parquet")["add"]
    table.commit([{"add": body | {"path": name}}])
    with pytest.raises(StorageError):
        DeltaTable(tmp_path / "t").clone(target, shallow=shallow)
    assert not os.path.exists(target)


def test_a_file_of_two_names_is_not_copied_twice(tmp_path, target):
    table = TableBuilder(tmp_path / "t").protocol().metadata(pa.schema([("id", pa.int64())]))
    body = table.add_file(pa.table({"id": [1]}), name="a.parquet")["add"]
    table.commit([{"add": body}, {"add": body | {"path": "x/../a.parquet"}}])
    with pytest.raises(DeltaProtocolError, match="twice"):
        DeltaTable(tmp_path / "t").clone(target, shallow=False)


@pytest.mark.parametrize("shallow", [True, False])
def test_a_clone_needs_another_folder(source, shallow):
    DeltaTable(source).delete()
    with pytest.raises(StorageError, match="another folder"):
        DeltaTable(source).clone(source, version=1, shallow=shallow, replace=True)


@KINDS
def test_a_clone_that_is_killed_goes_on(source, tmp_path, monkeypatch, shallow):
    made = set()
    for number in itertools.count(0, 1 if shallow else 4):
        target = str(tmp_path / f"clone{number}")
        table = DeltaTable(source)
        with monkeypatch.context() as patch:
            calls = Calls(patch, number, Killed(), is_last=True)
            with contextlib.suppress(Killed, StorageError):
                table.clone(target, shallow=shallow, parallelism=1)
        is_made = DeltaTable.is_deltatable(target)
        made.add(is_made)
        if not is_made:
            copied = {name: os.stat(f"{target}/{name}").st_mtime_ns for name in files_on_disk(target)}
            table.clone(target, shallow=shallow)
            after = {name: os.stat(f"{target}/{name}").st_mtime_ns for name in files_on_disk(target)}
            assert copied.items() <= after.items()
        assert ids(target) == [1, 3, 4, 5, 6]
        assert DeltaTable(target).verify().ok
        if calls.left >= 0:
            break
    assert made == {True, False}


def test_progress_is_told_in_bytes(source, target):
    told: list[tuple[int, int]] = []
    DeltaTable(source).clone(target, shallow=False, progress=lambda done, total: told.append((done, total)))
    assert len(told) == 5  # four data files and one of vectors
    assert told[-1][0] == told[-1][1] == sum(os.stat(f"{target}/{n}").st_size for n in files_on_disk(target))


def test_a_table_goes_to_s3_and_back(source, tmp_path, s3_options):  # noqa: F811
    there = f"s3://deltaarrow-tests/{tmp_path.name}/clone"
    with pytest.raises(StorageError, match="deep clone"):
        DeltaTable(source).clone(there, storage_options=s3_options)
    DeltaTable(source).clone(there, shallow=False, storage_options=s3_options)
    assert ids(there, storage_options=s3_options) == [1, 3, 4, 5, 6]
    back = str(tmp_path / "back")
    DeltaTable(there, storage_options=s3_options).clone(back, shallow=False)
    assert ids(back) == [1, 3, 4, 5, 6]
    write_deltalake(source, rows(9), mode="append")
    metrics = DeltaTable(source).clone(there, shallow=False, storage_options=s3_options)
    assert metrics["numCopiedFiles"] == 1
    second = f"{there}-2"
    DeltaTable(there, storage_options=s3_options).clone(second)
    assert ids(second, storage_options=s3_options) == [1, 3, 4, 5, 6, 9]


@pytest.mark.parametrize("parallelism", [0, -1, True, 1.5])
def test_a_number_of_threads_that_means_nothing_is_refused(source, target, parallelism):
    with pytest.raises(ValueError, match="parallelism"):
        DeltaTable(source).clone(target, shallow=False, parallelism=parallelism)


@pytest.mark.feature("catalogManaged")
def test_a_table_of_a_catalog_does_not_become_a_clone(source, tmp_path):
    folder = tmp_path / "managed"
    table = TableBuilder(folder).features("catalogManaged", writer_only=["inCommitTimestamp"])
    table.metadata(pa.schema([("id", pa.int64())]), configuration={"delta.enableInCommitTimestamps": "true"})
    table.commit([])
    with pytest.raises(UnsupportedFeatureError, match="catalog"):
        DeltaTable(source).clone(folder, replace=True)
