"""Dropping features: what is left of them, and the rows of every version, whoever is killed meanwhile."""

import json
import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from typer.testing import CliRunner

from deltaarrow import CommitProperties, DeltaTable, Field, Schema, Transaction, write_deltalake
from deltaarrow.cli.app import app
from deltaarrow.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    ConcurrentWriteException,
    FeatureDropError,
    InvalidTablePropertyError,
    SchemaMismatchError,
    StorageError,
    UnsupportedFeatureError,
)
from deltaarrow.features import FEATURES, Removal
from deltaarrow.operations.drop_feature import FeatureDrop, Work
from deltaarrow.operations.drop_feature.cleaning import CLEANINGS
from deltaarrow.operations.optimize import RewritingOptions
from deltaarrow.transaction import OptimisticTransaction
from tests.support.examples import examples
from tests.support.many_features import changed_table
from tests.support.rows import assert_same_rows
from tests.support.system_calls import Calls, Killed
from tests.support.vacuum import vacuum

PROPERTIES = {
    "deletionVectors": {"delta.enableDeletionVectors": "true"},
    "columnMapping": {"delta.columnMapping.mode": "name"},
    "v2Checkpoint": {"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "2"},
    "vacuumProtocolCheck": {"delta.feature.vacuumProtocolCheck": "supported"},
    "typeWidening": {"delta.enableTypeWidening": "true"},
    "rowTracking": {"delta.enableRowTracking": "true"},
    "domainMetadata": {"delta.feature.domainMetadata": "supported"},
    "inCommitTimestamp": {"delta.enableInCommitTimestamps": "true"},
    "materializePartitionColumns": {"delta.enableMaterializePartitionColumnsFeature": "true"},
    "checkConstraints": {"delta.feature.checkConstraints": "supported"},
}


def rows(*ids: int) -> pa.Table:
    negative = pa.array([-each for each in ids], pa.int64())
    return pa.table({"id": pa.array(ids, pa.int32()), "n": negative, "p": ["a"] * len(ids)})


def made(path: Path, *features: str) -> DeltaTable:
    """Two files in a partition; a row of each is deleted, and a column is wider than in one, if it may be."""
    configuration = {name: text for feature in features for name, text in PROPERTIES[feature].items()}
    write_deltalake(path, rows(1, 2, 3), partition_by=["p"], configuration=configuration)
    if "typeWidening" in features:
        wide = rows(4, 5, 6).cast(pa.schema([("id", pa.int64()), ("n", pa.int64()), ("p", pa.string())]))
        write_deltalake(path, wide, mode="append", schema_mode="merge")
    else:
        write_deltalake(path, rows(4, 5, 6), mode="append")
    table = DeltaTable(path)
    table.delete("id IN (2, 5)")
    if "domainMetadata" in features:
        table.alter.set_domain_metadata("mine", "text")
    return table


def versions(path: Path, until: int) -> list[pa.Table]:
    return [DeltaTable(path, version=version).to_pyarrow_table() for version in range(until + 1)]


def operations(path: Path, first: int) -> list[str]:
    table = DeltaTable(path)
    return [entry["operation"] for entry in reversed(table.history(table.version() - first + 1))]


def actions(path: Path, version: int) -> list[dict]:
    text = (path / "_delta_log" / f"{version:020}.json").read_text()
    return [json.loads(line) for line in text.splitlines()]


def refusal(path: Path, feature: str, truncate_history: bool = False) -> str:
    with pytest.raises(FeatureDropError) as caught:
        DeltaTable(path).alter.drop_feature(feature, truncate_history)
    assert caught.value.error_class in str(caught.value)
    return caught.value.error_class.removeprefix("DELTA_").removeprefix("FEATURE_DROP_")


def expire(path: Path, hours: float = 49) -> None:
    for file in (path / "_delta_log").iterdir():
        if file.is_file() and file.name[:20].isdigit():
            at = time.time() - hours * 3600 + int(file.name[:20])
            os.utime(file, (at, at))


def test_there_is_a_way_for_every_feature_that_is_dropped():
    ways = (Removal.AT_ONCE, Removal.GUARDS_HISTORY)
    droppable = {name for name, each in FEATURES.items() if each.removal in ways}
    assert set(CLEANINGS) == droppable
    assert set(PROPERTIES) == droppable - {"checkpointProtection"}


@pytest.mark.parametrize("feature", PROPERTIES)
def test_the_rows_of_every_version_stay(tmp_path, feature):
    before = made(tmp_path, feature)
    wanted = versions(tmp_path, before.version())
    table = DeltaTable(tmp_path)
    plan = table.alter.drop_feature(feature, dry_run=True)
    table.alter.drop_feature(feature)
    assert operations(tmp_path, before.version() + 1) == list(plan.operations)
    for version, old in enumerate(wanted):
        assert_same_rows(DeltaTable(tmp_path, version=version).to_pyarrow_table(), old)
    assert_same_rows(table.to_pyarrow_table(), wanted[-1])
    assert [str(each) for each in DeltaTable(tmp_path).verify(deep=True)] == []
    protocol = table.protocol()
    assert feature not in (protocol.writer_features or ())
    if FEATURES[feature].removal is Removal.GUARDS_HISTORY:
        assert protocol.writer_features == ["invariants", "appendOnly", "checkpointProtection"]
        protected = table.metadata().configuration["delta.requireCheckpointProtectionBeforeVersion"]
        assert protected == str(table.version())
        checkpoints = {
            int(name[:20]) for name in os.listdir(tmp_path / "_delta_log") if "checkpoint.p" in name
        }
        assert checkpoints >= {table.version() - step for step in range(4)}
    elif feature == "rowTracking":
        assert protocol.writer_features == ["domainMetadata", "invariants", "appendOnly"]
    else:
        assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)
    assert refusal(tmp_path, feature) == "FEATURE_NOT_PRESENT"
    write_deltalake(tmp_path, rows(9), mode="append", schema_mode="merge")
    table.update_incremental()
    table.delete("id = 9")
    assert_same_rows(table.to_pyarrow_table(), wanted[-1])


@pytest.mark.slow
def test_all_features_of_a_table_go_one_after_the_other(tmp_path):
    table = changed_table(tmp_path, {"delta.enableDeletionVectors": "true"})
    wanted = table.to_pyarrow_table()
    table.alter.drop_constraint("small")
    for feature in (
        *("inCommitTimestamp", "typeWidening", "columnMapping", "deletionVectors", "v2Checkpoint"),
        *("rowTracking", "domainMetadata", "checkConstraints"),
    ):
        table.alter.drop_feature(feature)
    assert_same_rows(DeltaTable(tmp_path).to_pyarrow_table(), wanted)
    assert [str(each) for each in DeltaTable(tmp_path).verify(deep=True)] == []
    left = set(DeltaTable(tmp_path).protocol().writer_features)
    assert not left & set(PROPERTIES)


# --- killed -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mortal(Work):
    """Is killed before it begins a transaction, once it has begun so many."""

    begun: list[None] = field(default_factory=list)
    most: int = 0

    def begin(self, snapshot, operation):
        self.live_on()
        return super().begin(snapshot, operation)

    def alter(self, snapshot, alteration):
        self.live_on()
        super().alter(snapshot, alteration)

    def live_on(self):
        if len(self.begun) == self.most:
            raise Killed
        self.begun.append(None)


@pytest.mark.parametrize(
    "feature",
    [
        "deletionVectors",
        "rowTracking",
        pytest.param("typeWidening", marks=pytest.mark.slow),
        pytest.param("columnMapping", marks=pytest.mark.slow),
    ],
)
def test_a_second_call_goes_on_between_any_two_commits(tmp_path, feature):
    table = made(tmp_path / "t", feature)
    wanted, commits = versions(tmp_path / "t", table.version()), set()
    plan = table.alter.drop_feature(feature, dry_run=True)
    for most in range(len(plan.operations) + 1):
        path = tmp_path / str(most)
        shutil.copytree(tmp_path / "t", path)
        with suppress(Killed):
            FeatureDrop(DeltaTable(path).snapshot, feature).run(Mortal(RewritingOptions(), most=most))
        commits.add(DeltaTable(path).version() - table.version())
        assert_same_rows(DeltaTable(path).to_pyarrow_table(), wanted[-1])
        if feature in DeltaTable(path).protocol().writer_features:
            DeltaTable(path).alter.drop_feature(feature)
        assert feature not in DeltaTable(path).protocol().writer_features
        if most % 3 == 0:
            for version, old in enumerate(wanted):
                assert_same_rows(DeltaTable(path, version=version).to_pyarrow_table(), old)
            assert [str(each) for each in DeltaTable(path).verify(deep=True)] == []
    rewrites = {"REORG", "REMOVE COLUMN MAPPING"}
    assert len(commits) == len(plan.operations) + 1 - len(rewrites.intersection(plan.operations))


@pytest.mark.slow
@pytest.mark.parametrize("feature", ["deletionVectors", "columnMapping", "typeWidening", "rowTracking"])
def test_a_second_call_goes_on_after_any_call_of_the_system(tmp_path, monkeypatch, feature):
    table = made(tmp_path / "t", feature)
    wanted, number = versions(tmp_path / "t", table.version()), 0
    while True:
        path = tmp_path / str(number)
        shutil.copytree(tmp_path / "t", path)
        with monkeypatch.context() as patch:
            calls = Calls(patch, number, Killed(), is_last=True)
            with suppress(Killed, StorageError, CommitStateUnknownError):
                FeatureDrop(DeltaTable(path).snapshot, feature).run(Work(RewritingOptions()))
        assert_same_rows(DeltaTable(path).to_pyarrow_table(), wanted[-1])
        with suppress(FeatureDropError):
            DeltaTable(path).alter.drop_feature(feature)
        assert feature not in DeltaTable(path).protocol().writer_features
        for version, old in enumerate(wanted):
            assert_same_rows(DeltaTable(path, version=version).to_pyarrow_table(), old)
        shutil.rmtree(path)
        if calls.left >= 0:
            break
        number += 1
    assert number > 20


# --- history ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("feature", ["deletionVectors", "columnMapping", "typeWidening", "v2Checkpoint"])
def test_truncated_history_needs_two_calls_and_time(tmp_path, feature):
    before = made(tmp_path, feature)
    wanted = before.to_pyarrow_table()
    assert refusal(tmp_path, feature, truncate_history=True) == "WAIT_FOR_RETENTION_PERIOD"
    assert refusal(tmp_path, feature, truncate_history=True) == "HISTORICAL_VERSIONS_EXIST"
    assert DeltaTable(tmp_path).version() > before.version() + 2
    for _ in range(2):
        expire(tmp_path)
        with suppress(FeatureDropError):
            DeltaTable(tmp_path).alter.drop_feature(feature, truncate_history=True)
            break
    table = DeltaTable(tmp_path)
    assert (table.protocol().min_reader_version, table.protocol().min_writer_version) == (1, 2)
    assert "delta.requireCheckpointProtectionBeforeVersion" not in table.metadata().configuration
    assert_same_rows(table.to_pyarrow_table(), wanted)
    log = "".join(path.read_text() for path in (tmp_path / "_delta_log").glob("*.json"))
    for trace in ("deletionVector", "columnMapping.id", "typeChanges", '"v2"'):
        assert f"{trace}" not in log.replace('"featureName":"deletionVectors"', "")


def test_nothing_is_waited_for_where_no_version_needs_the_feature(tmp_path):
    made(tmp_path, "vacuumProtocolCheck")
    DeltaTable(tmp_path).alter.drop_feature("vacuumProtocolCheck", truncate_history=True)
    assert operations(tmp_path, 3) == ["Empty Commit", "DROP FEATURE"]


def test_protection_goes_with_the_versions_that_it_guards(tmp_path):
    made(tmp_path, "deletionVectors").alter.drop_feature("deletionVectors")
    name = "checkpointProtection"
    assert refusal(tmp_path, name) == "FEATURE_CAN_ONLY_DROP_CHECKPOINT_PROTECTION_WITH_HISTORY_TRUNCATION"
    waits = "CHECKPOINT_PROTECTION_WAIT_FOR_RETENTION_PERIOD"
    assert refusal(tmp_path, name, truncate_history=True) == waits
    expire(tmp_path)
    DeltaTable(tmp_path).alter.drop_feature(name, truncate_history=True)
    assert operations(tmp_path, DeltaTable(tmp_path).version() - 1) == ["UNSET TBLPROPERTIES", "DROP FEATURE"]
    assert DeltaTable(tmp_path).protocol().min_writer_version == 2


def test_files_of_deletion_vectors_stay_for_older_versions(tmp_path):
    before = made(tmp_path, "deletionVectors")
    vectors = {path.name for path in tmp_path.rglob("deletion_vector_*.bin")}
    wanted = before.to_pyarrow_table()
    before.alter.drop_feature("deletionVectors")
    [version] = [
        entry["version"]
        for entry in DeltaTable(tmp_path).history()
        if entry["operation"] == "Deletion Vector Tombstones"
    ]
    removes = [each["remove"] for each in actions(tmp_path, version) if "remove" in each]
    assert {each["path"] for each in removes} == vectors
    assert {frozenset(each) for each in removes} == {frozenset(("path", "deletionTimestamp", "dataChange"))}
    assert not any(name.endswith(".bin") for name in vacuum(tmp_path, full=True, dry_run=False))
    assert_same_rows(DeltaTable(tmp_path, version=2).to_pyarrow_table(), wanted)
    gone = vacuum(tmp_path, 0, full=True, dry_run=False, later_ms=60_000)
    assert {Path(name).name for name in gone} >= vectors


# --- beside others ------------------------------------------------------------------------------------


def test_a_commit_in_between_is_followed(tmp_path, monkeypatch):
    made(tmp_path, "inCommitTimestamp")
    table, commit = DeltaTable(tmp_path), OptimisticTransaction.commit

    def beaten(self):
        if self.operation == "DROP FEATURE":
            monkeypatch.setattr(OptimisticTransaction, "commit", commit)
            write_deltalake(tmp_path, rows(7), mode="append")
        return commit(self)

    monkeypatch.setattr(OptimisticTransaction, "commit", beaten)
    table.alter.drop_feature("inCommitTimestamp")
    assert operations(tmp_path, 3) == ["UNSET TBLPROPERTIES", "WRITE", "DROP FEATURE"]
    assert sorted(table.to_pyarrow_table().column("id").to_pylist()) == [1, 3, 4, 6, 7]


def test_who_begins_to_use_the_feature_again_wins(tmp_path, monkeypatch):
    made(tmp_path, "deletionVectors")
    table, commit = DeltaTable(tmp_path), OptimisticTransaction.commit

    def beaten(self):
        if self.operation == "DROP FEATURE":
            monkeypatch.setattr(OptimisticTransaction, "commit", commit)
            DeltaTable(tmp_path).alter.set_table_properties({"delta.enableDeletionVectors": "true"})
            DeltaTable(tmp_path).delete("id = 1")
        return commit(self)

    monkeypatch.setattr(OptimisticTransaction, "commit", beaten)
    with pytest.raises(FeatureDropError, match="CONFLICT_REVALIDATION_FAIL"):
        table.alter.drop_feature("deletionVectors")
    assert "deletionVectors" in DeltaTable(tmp_path).protocol().reader_features
    DeltaTable(tmp_path).alter.drop_feature("deletionVectors")
    assert sorted(DeltaTable(tmp_path).to_pyarrow_table().column("id").to_pylist()) == [3, 4, 6]


def test_a_transaction_that_relies_on_the_whole_version_follows_no_other(tmp_path):
    table = made(tmp_path)
    transaction = OptimisticTransaction(table.snapshot.store, table.snapshot)
    transaction.read_whole_version()
    write_deltalake(tmp_path, rows(7), mode="append")
    with pytest.raises(ConcurrentWriteException, match="after version 2, which this"):
        transaction.commit()


def test_files_added_while_column_mapping_ends_are_a_conflict(tmp_path, monkeypatch):
    made(tmp_path, "columnMapping")
    commit = OptimisticTransaction.commit

    def beaten(self):
        if self.operation == "REMOVE COLUMN MAPPING":
            monkeypatch.setattr(OptimisticTransaction, "commit", commit)
            write_deltalake(tmp_path, rows(7), mode="append")
        return commit(self)

    monkeypatch.setattr(OptimisticTransaction, "commit", beaten)
    with pytest.raises(CommitFailedError):
        DeltaTable(tmp_path).alter.drop_feature("columnMapping")
    DeltaTable(tmp_path).alter.drop_feature("columnMapping")
    assert sorted(DeltaTable(tmp_path).to_pyarrow_table().column("id").to_pylist()) == [1, 3, 4, 6, 7]


def test_the_progress_of_an_application_is_in_the_last_commit(tmp_path):
    table = made(tmp_path, "deletionVectors")
    given = CommitProperties(
        custom_metadata={"userMetadata": "why"}, app_transactions=[Transaction("app", 7)]
    )
    told: list[tuple[int, int]] = []
    table.alter.drop_feature(
        "deletionVectors", commit_properties=given, progress=lambda done, of: told.append((done, of))
    )
    assert table.transaction_version("app") == 7
    new = range(3, table.version() + 1)
    assert [any("txn" in each for each in actions(tmp_path, version)) for version in new] == [
        *[False] * (len(new) - 1),
        True,
    ]
    assert {entry["userMetadata"] for entry in table.history(len(new))} == {"why"}
    assert told and told[-1][0] == told[-1][1] > 0


# --- refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("features", "name", "truncate_history", "reason"),
    [
        ((), "nope", False, "UNSUPPORTED_CLIENT_FEATURE"),
        ((), "appendOnly", False, "NONREMOVABLE_FEATURE"),
        ((), "delta.enableRowTracking", False, "FEATURE_IS_DELTA_PROPERTY"),
        ((), "deletionVectors", False, "FEATURE_NOT_PRESENT"),
        (("rowTracking",), "domainMetadata", False, "DEPENDENT_FEATURE"),
        (("rowTracking",), "rowTracking", True, "HISTORY_TRUNCATION_NOT_ALLOWED"),
    ],
)
def test_a_refusal_has_the_name_that_spark_gives_it(tmp_path, features, name, truncate_history, reason):
    before = made(tmp_path, *features).version()
    assert refusal(tmp_path, name, truncate_history) == reason
    assert DeltaTable(tmp_path).version() == before


@pytest.mark.parametrize(
    "name",
    [name for name, each in FEATURES.items() if each.removal is Removal.NOT_HERE and each.read != "no"],
)
def test_what_is_not_dropped_here_is_refused_by_name(tmp_path, name):
    made(tmp_path, "vacuumProtocolCheck")
    first = tmp_path / "_delta_log" / f"{0:020}.json"
    first.write_text(first.read_text().replace("vacuumProtocolCheck", name))
    for checksum in first.parent.glob("*.crc"):
        checksum.unlink()
    with pytest.raises(UnsupportedFeatureError, match="the engine that added it") as caught:
        DeltaTable(tmp_path).alter.drop_feature(name)
    assert caught.value.feature == name
    assert DeltaTable(tmp_path).version() == 2


def test_constraints_have_to_go_first(tmp_path):
    table = made(tmp_path)
    table.alter.add_constraint({"positive": "id > 0"})
    assert refusal(tmp_path, "checkConstraints") == "CANNOT_DROP_CHECK_CONSTRAINT_FEATURE"
    table.alter.drop_constraint("positive")
    table.alter.drop_feature("CHECKCONSTRAINTS")
    assert table.protocol().min_writer_version == 2


def test_a_name_that_needs_column_mapping_is_refused_before_a_commit(tmp_path):
    schema = Schema([Field("id", "integer"), Field("a b", "string")])
    table = DeltaTable.create(tmp_path, schema, configuration=PROPERTIES["columnMapping"])
    with pytest.raises(SchemaMismatchError, match="'a b' contains one of the characters"):
        table.alter.drop_feature("columnMapping")
    with pytest.raises(SchemaMismatchError, match="'a b' contains one of the characters"):
        table.alter.set_table_properties({"delta.columnMapping.mode": "none"})
    assert DeltaTable(tmp_path).version() == 0


# --- column mapping that ends -------------------------------------------------------------------------


def test_column_mapping_ends_by_a_property(tmp_path):
    table = made(tmp_path, "columnMapping")
    wanted = table.to_pyarrow_table()
    with pytest.raises(InvalidTablePropertyError, match="no table property"):
        table.alter.set_table_properties({"delta.columnMapping.mode": "none", "delta.nope": "1"})
    assert table.version() == 2
    table.alter.set_table_properties({"delta.columnMapping.mode": "none", "delta.appendOnly": "true"})
    assert operations(tmp_path, 3) == ["REMOVE COLUMN MAPPING", "SET TBLPROPERTIES"]
    assert table.metadata().configuration == {"delta.columnMapping.mode": "none", "delta.appendOnly": "true"}
    assert_same_rows(table.to_pyarrow_table(), wanted)
    names = {name for add in actions(tmp_path, 3) if "add" in add for name in add["add"]["partitionValues"]}
    assert names == {"p"}


def test_column_mapping_ends_when_its_mode_is_unset(tmp_path):
    table = made(tmp_path, "columnMapping")
    table.alter.set_table_properties({"delta.appendOnly": "false"})
    table.alter.unset_table_properties(["delta.columnmapping.mode", "delta.appendOnly"])
    assert operations(tmp_path, 4) == ["REMOVE COLUMN MAPPING", "UNSET TBLPROPERTIES"]
    assert table.metadata().configuration == {}


def test_clustering_columns_keep_their_meaning(tmp_path):
    write_deltalake(tmp_path, rows(1, 2, 3), cluster_by=["id"], configuration=PROPERTIES["columnMapping"])
    table = DeltaTable(tmp_path)
    table.alter.drop_feature("columnMapping")
    assert table.detail()["clusteringColumns"] == ["id"]


# --- the shell ----------------------------------------------------------------------------------------


def test_the_command_drops_a_feature(tmp_path):
    made(tmp_path, "deletionVectors")
    arguments = ["drop-feature", str(tmp_path), "deletionVectors"]
    plan = json.loads(CliRunner().invoke(app, [*arguments, "--dry-run", "--json"]).stdout)
    assert plan["operations"][0] == "UNSET TBLPROPERTIES" and plan["num_files"] == 2
    done = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert done["version"] == 9 and "deletionVectors" not in done["features"]
    again = CliRunner().invoke(app, [*arguments, "--truncate-history"])
    assert again.exit_code == 1 and "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT" in again.stderr


# --- random histories ---------------------------------------------------------------------------------

STATEMENTS = st.lists(
    st.sampled_from(["append", "delete", "update", "widen", "compact", "checkpoint", "rename"]), max_size=6
)


def histories_with(tmp_path_factory, features: set[str], statements: list[str], order: list[str]) -> None:
    path = tmp_path_factory.mktemp("history")
    made(path, *features)
    table, next_id = DeltaTable(path), 10
    for statement in statements:
        match statement:
            case "append" | "widen":
                kind = pa.int64() if statement == "widen" and "typeWidening" in features else None
                new = rows(next_id, next_id + 1)
                new = new if kind is None else new.set_column(0, "id", new.column("id").cast(kind))
                if "c" not in table.schema().names:
                    write_deltalake(path, new, mode="append", schema_mode="merge")
                next_id += 2
            case "delete":
                table.delete(f"id % 3 = {next_id % 3}")
            case "update":
                table.update({"p": "'b'"}, predicate="id % 2 = 0")
            case "compact":
                table.optimize.compact()
            case "checkpoint":
                table.create_checkpoint()
            case "rename" if "columnMapping" in features and "c" not in table.schema().names:
                table.alter.rename_column("n", "c")
        table.update_incremental()
    until = table.version()
    wanted = versions(path, until)
    for feature in order:
        if feature in features and not (feature == "domainMetadata" and "rowTracking" in features):
            table.alter.drop_feature(feature)
            assert_same_rows(table.to_pyarrow_table(), wanted[-1])
    for version, old in enumerate(wanted):
        assert_same_rows(DeltaTable(path, version=version).to_pyarrow_table(), old)
    assert [str(each) for each in DeltaTable(path).verify(deep=True)] == []
    shutil.rmtree(path)


@settings(max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sets(st.sampled_from(list(PROPERTIES)), min_size=1, max_size=2),
    STATEMENTS,
    st.permutations(list(PROPERTIES)),
)
def test_rows_stay_in_random_histories(tmp_path_factory, features, statements, order):
    histories_with(tmp_path_factory, features, statements, order)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sets(st.sampled_from(list(PROPERTIES)), min_size=1), STATEMENTS, st.permutations(list(PROPERTIES)))
def test_rows_stay_in_many_random_histories(tmp_path_factory, features, statements, order):
    histories_with(tmp_path_factory, features, statements, order)
