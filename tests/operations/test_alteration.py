"""`table.alter`: properties, features, name, description and domains; a refusal commits nothing."""

import json

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import InvalidTablePropertyError
from deltaarrow.features import FEATURES
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string()), ("s", pa.struct([("x", pa.int32())]))])


@pytest.fixture
def table(tmp_path):
    return da.DeltaTable.create(tmp_path, SCHEMA, partition_by="p")


def protocol(table):
    found = table.snapshot.protocol
    return (
        found.min_reader_version,
        found.min_writer_version,
        None if found.reader_features is None else set(found.reader_features),
        None if found.writer_features is None else set(found.writer_features),
    )


def last_commit(table):
    path = f"{table.table_uri}/_delta_log/{table.version():020d}.json"
    with open(path, encoding="utf-8") as lines:
        return {kind: fields for line in lines for kind, fields in json.loads(line).items()}


def refused(table, error, match, change):
    """The change is refused, and nothing is committed."""
    before = table.version()
    with pytest.raises(error, match=match) as caught:
        change(table.alter)
    assert da.DeltaTable(table.table_uri).version() == before
    return caught.value


# --- properties ---------------------------------------------------------------------------------------


def test_properties_are_set_in_their_proper_spelling_and_unset(table):
    table.alter.set_table_properties({"delta.APPENDONLY": "true", "owner": "me"})
    assert table.version() == 1
    assert table.metadata().configuration == {"delta.appendOnly": "true", "owner": "me"}
    info = last_commit(table)["commitInfo"]
    assert info["operation"] == "SET TBLPROPERTIES"
    assert info["operationParameters"] == {"properties": '{"delta.appendOnly":"true","owner":"me"}'}
    assert info["isBlindAppend"] is True
    assert "protocol" not in last_commit(table)
    table.alter.unset_table_properties("delta.appendonly")
    assert table.metadata().configuration == {"owner": "me"}
    assert last_commit(table)["commitInfo"]["operationParameters"] == {
        "properties": '["delta.appendOnly"]',
        "ifExists": True,
    }


def test_the_comment_is_the_description(table):
    table.alter.set_table_properties({"comment": "orders"})
    assert (table.metadata().description, table.metadata().configuration) == ("orders", {})
    table.alter.set_table_description("sales")
    assert table.metadata().description == "sales"
    table.alter.unset_table_properties(["comment"])
    assert table.metadata().description is None


def test_a_name_is_given(table):
    table.alter.set_table_name("orders")
    assert table.metadata().name == "orders"
    refused(
        table, InvalidTablePropertyError, "at least one character", lambda alter: alter.set_table_name("")
    )


def test_unknown_names_are_kept_where_that_is_wished(table):
    refused(
        table,
        InvalidTablePropertyError,
        "no table property",
        lambda alter: alter.set_table_properties({"delta.nosuch": "1"}),
    )
    table.alter.set_table_properties({"delta.nosuch": "1"}, raise_if_not_exists=False)
    assert table.metadata().configuration == {"delta.nosuch": "1"}


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"delta.appendOnly": "maybe"}, "must be a boolean"),
        ({"delta.columnMapping.maxColumnId": "5"}, "set by the engine"),
        ({"delta.constraints.c": "id > 0"}, "add the constraint"),
        ({"delta.appendOnly": "true", "DELTA.appendonly": "false"}, "twice"),
        ({"delta.columnMapping.mode": "id"}, "from 'none' to 'id'"),
        ({"delta.logRetentionDuration": "interval 1 day"}, "at least delta.deletedFileRetentionDuration"),
        ({"delta.feature.appendOnly": "on"}, "must be 'supported'"),
        ({"delta.minReaderVersion": "4"}, "one of 1, 2, 3"),
    ],
)
def test_what_users_may_not_set(table, changes, match):
    refused(table, InvalidTablePropertyError, match, lambda alter: alter.set_table_properties(changes))


@pytest.mark.parametrize(
    ("names", "match"),
    [
        ("nosuch", "no property 'nosuch'"),
        ("delta.feature.appendOnly", "stands for the protocol"),
        ("delta.minWriterVersion", "stands for the protocol"),
    ],
)
def test_what_users_may_not_unset(table, names, match):
    refused(table, InvalidTablePropertyError, match, lambda alter: alter.unset_table_properties(names))
    if names == "nosuch":
        table.alter.unset_table_properties(names, raise_if_not_exists=False)
        assert table.version() == 1


def test_columns_that_contradict_a_property(tmp_path):
    table = da.DeltaTable.create(tmp_path, pa.schema([("id", pa.int64()), ("_change_type", pa.string())]))
    refused(
        table,
        da.SchemaMismatchError,
        "'_change_type' is reserved",
        lambda alter: alter.set_table_properties({"delta.enableChangeDataFeed": "true"}),
    )
    refused(
        table,
        da.SchemaMismatchError,
        "names an unknown column",
        lambda alter: alter.set_table_properties({"delta.dataSkippingStatsColumns": "nosuch"}),
    )


@pytest.mark.parametrize(
    ("name", "feature"),
    [
        ("delta.universalFormat.enabledFormats", "universalFormat"),
        ("delta.coordinatedCommits.commitCoordinator-preview", "coordinatedCommits"),
        ("delta.redirectWriterOnly-preview", "redirectWriterOnly"),
    ],
)
def test_what_is_refused_by_name(table, name, feature):
    text = "hudi" if "Format" in name else "true"
    error = refused(
        table, da.UnsupportedFeatureError, feature, lambda alter: alter.set_table_properties({name: text})
    )
    assert feature.lower() in error.feature.lower()


# --- features -----------------------------------------------------------------------------------------


def test_a_property_adds_its_feature_and_lists_all_that_the_versions_implied(table):
    table.alter.set_table_properties({"delta.enableDeletionVectors": "true"})
    listed = {"deletionVectors", "appendOnly", "invariants"}
    assert protocol(table) == (3, 7, {"deletionVectors"}, listed)
    table.alter.set_table_properties({"delta.enableTypeWidening": "true", "delta.checkpointPolicy": "v2"})
    more = {"typeWidening", "v2Checkpoint"}
    assert protocol(table) == (3, 7, {"deletionVectors"} | more, listed | more)
    table.alter.unset_table_properties("delta.enableDeletionVectors")
    assert protocol(table) == (3, 7, {"deletionVectors"} | more, listed | more)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ((1, 1), {"deletionVectors"}),
        ((1, 3), {"deletionVectors", "appendOnly", "invariants", "checkConstraints"}),
        (
            (2, 5),
            {
                "deletionVectors",
                "appendOnly",
                "invariants",
                "checkConstraints",
                "changeDataFeed",
                "generatedColumns",
                "columnMapping",
            },
        ),
    ],
)
def test_upgrading_an_old_version_lists_its_features(tmp_path, old, new):
    TableBuilder(tmp_path).protocol(*old).metadata(SCHEMA).commit()
    table = da.DeltaTable(tmp_path)
    table.alter.add_feature(da.TableFeatures.DeletionVectors, allow_protocol_versions_increase=True)
    assert protocol(table)[3] == new


def test_versions_are_raised_and_never_lowered(table):
    table.alter.set_table_properties({"delta.minWriterVersion": "7"})
    assert protocol(table) == (1, 2, None, None)
    table.alter.set_table_properties({"delta.enableDeletionVectors": "true"})
    refused(
        table,
        da.DeltaProtocolError,
        "reader version 3 needs writer version 7",
        lambda alter: alter.set_table_properties({"delta.minWriterVersion": "2"}),
    )
    table.alter.set_table_properties({"delta.minReaderVersion": "1", "delta.minWriterVersion": "2"})
    assert protocol(table)[:2] == (3, 7)
    assert "delta.minWriterVersion" not in table.metadata().configuration


def test_features_are_added_by_name_with_what_they_require(table):
    error = refused(
        table, da.DeltaProtocolError, "allow_protocol", lambda alter: alter.add_feature("vacuumProtocolCheck")
    )
    assert "reader version 3 and writer version 7" in str(error)
    table.alter.add_feature(["vacuumProtocolCheck", "timestampNtz"], True)
    features = {"vacuumProtocolCheck", "timestampNtz"}
    assert protocol(table) == (3, 7, features, features | {"appendOnly", "invariants"})
    assert last_commit(table)["commitInfo"]["operation"] == "ADD FEATURE"
    # There is a list for it now.
    table.alter.add_feature("domainMetadata")
    assert "domainMetadata" in protocol(table)[3]
    table.alter.add_feature("vacuumProtocolCheck")
    assert "protocol" not in last_commit(table)


@pytest.mark.parametrize("feature", ["nosuch", "catalogManaged", "clustering", "icebergWriterCompatV1"])
def test_features_that_are_not_added(table, feature):
    error = refused(
        table, da.UnsupportedFeatureError, feature, lambda alter: alter.add_feature(feature, True)
    )
    assert feature.lower() in error.feature.lower()


def test_every_feature_of_the_enumeration_is_one_of_the_registry():
    assert {feature.value for feature in da.TableFeatures} <= FEATURES.keys()


@pytest.mark.feature("inCommitTimestamp")
def test_in_commit_timestamps_say_since_when(table):
    da.write_deltalake(table.table_uri, pa.table({"id": [1], "p": ["a"]}), mode="append")
    table.update_incremental()
    table.alter.set_table_properties({"delta.enableInCommitTimestamps": "true"})
    commit = last_commit(table)
    stamp = str(commit["commitInfo"]["inCommitTimestamp"])
    assert commit["metaData"]["configuration"] == {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": "2",
        "delta.inCommitTimestampEnablementTimestamp": stamp,
    }
    assert protocol(table) == (1, 7, None, {"inCommitTimestamp", "appendOnly", "invariants"})


@pytest.mark.feature("columnMapping")
def test_column_mapping_keeps_the_names_that_files_have(table):
    rows = pa.table({"id": [1, 2], "p": ["a", "b"], "s": [{"x": 1}, None]}, SCHEMA)
    da.write_deltalake(table.table_uri, rows, mode="append")
    table.update_incremental()
    table.alter.set_table_properties({"delta.columnMapping.mode": "name"})
    assert protocol(table) == (2, 7, None, {"columnMapping", "appendOnly", "invariants"})
    assert table.metadata().configuration["delta.columnMapping.maxColumnId"] == "4"
    keys = ("delta.columnMapping.id", "delta.columnMapping.physicalName")
    schema = table.schema()
    fields = [*schema.fields, *schema.field("s").type.fields]
    assert [(f.metadata[keys[0]], f.metadata[keys[1]]) for f in fields] == [
        (1, "id"),
        (2, "p"),
        (3, "s"),
        (4, "x"),
    ]
    da.write_deltalake(table.table_uri, rows.slice(0, 1), mode="append")
    table.update_incremental()
    table.alter.rename_column("id", "key")
    assert sorted(table.to_pyarrow_table()["key"].to_pylist()) == [1, 1, 2]
    refused(
        table,
        InvalidTablePropertyError,
        "from 'name' to 'id'",
        lambda alter: alter.set_table_properties({"delta.columnMapping.mode": "id"}),
    )


@pytest.mark.feature("checkConstraints")
def test_constraints_are_added_together_or_not_at_all(table):
    da.write_deltalake(table.table_uri, pa.table({"id": [1], "p": ["a"]}), mode="append")
    table.update_incremental()
    refused(table, ValueError, "no constraint to add", lambda alter: alter.add_constraint({}))
    both = {"low": "id > 0", "high": "id > 1"}
    refused(table, da.ConstraintViolationError, "high", lambda alter: alter.add_constraint(both))
    twice = {"low": "id > 0", "LOW": "id > -1"}
    refused(table, InvalidTablePropertyError, "already has", lambda alter: alter.add_constraint(twice))
    before = table.version()
    table.alter.add_constraint({"low": "id > 0", "high": "id < 9"})
    assert table.version() == before + 1
    assert table.metadata().configuration == {
        "delta.constraints.low": "id > 0",
        "delta.constraints.high": "id < 9",
    }
    (commit,) = table.history(1)
    assert commit["operationParameters"] == {"name": '["low","high"]', "expr": '["id > 0","id < 9"]'}
    for wrong in (0, 9):
        with pytest.raises(da.ConstraintViolationError):
            da.write_deltalake(table, pa.table({"id": [wrong], "p": ["a"]}), mode="append")


def test_constraints_are_added_and_dropped(table):
    da.write_deltalake(table.table_uri, pa.table({"id": [1], "p": ["a"]}), mode="append")
    table.update_incremental()
    refused(table, da.ConstraintViolationError, "1 row", lambda alter: alter.add_constraint({"a": "id > 1"}))
    table.alter.add_constraint({"a": "id > 0"})
    assert protocol(table) == (1, 3, None, None)
    table.alter.drop_constraint("A")
    assert table.metadata().configuration == {}
    table.alter.drop_constraint("a", raise_if_not_exists=False)
    refused(table, InvalidTablePropertyError, "no constraint", lambda alter: alter.drop_constraint("a"))


# --- domains ------------------------------------------------------------------------------------------


@pytest.mark.feature("domainMetadata")
def test_domains_of_users_are_set_and_removed_and_others_survive(table):
    error = refused(
        table, da.UnsupportedFeatureError, "domainMetadata", lambda alter: alter.set_domain_metadata("a", "1")
    )
    assert error.feature == "domainMetadata"
    table.alter.add_feature("domainMetadata", True)
    table.alter.set_domain_metadata("a", '{"n":1}')
    table.alter.set_domain_metadata("b", "2")
    table.alter.set_table_properties({"owner": "me"})
    table.alter.remove_domain_metadata("a")
    removal = last_commit(table)["domainMetadata"]
    assert removal == {"domain": "a", "configuration": '{"n":1}', "removed": True}
    assert {name: each.configuration for name, each in table.snapshot.domains.items()} == {"b": "2"}
    refused(
        table,
        InvalidTablePropertyError,
        "cannot remove the domain 'a'",
        lambda alter: alter.remove_domain_metadata("a"),
    )


@pytest.mark.feature("domainMetadata")
@pytest.mark.parametrize("domain", ["delta.clustering", "DELTA.mine", ""])
def test_the_domains_of_engines_are_protected(table, domain):
    table.alter.add_feature("domainMetadata", True)
    for change in (
        lambda alter: alter.set_domain_metadata(domain, "{}"),
        lambda alter: alter.remove_domain_metadata(domain),
    ):
        refused(table, InvalidTablePropertyError, "not a user's", change)
    with pytest.raises(InvalidTablePropertyError, match="not a user's"), table.transaction() as transaction:
        transaction.set_domain(domain, "{}")


# --- commits ------------------------------------------------------------------------------------------


def test_what_goes_with_the_commit(table):
    properties = da.CommitProperties(custom_metadata={"by": "me"})
    table.alter.set_table_properties({"owner": "me"}, commit_properties=properties)
    assert table.history(1)[0]["by"] == "me"


def test_an_append_meanwhile_is_no_conflict_and_another_alteration_is(table):
    other = da.DeltaTable(table.table_uri)
    da.write_deltalake(table.table_uri, pa.table({"id": [1], "p": ["a"]}), mode="append")
    table.alter.set_table_properties({"owner": "me"})
    assert table.version() == 2
    with pytest.raises(da.MetadataChangedException):
        other.alter.set_table_properties({"owner": "you"})
    assert table.metadata().configuration == {"owner": "me"}


def test_a_table_that_is_not_written_to_is_not_altered(tmp_path):
    builder = TableBuilder(tmp_path).features(writer_only=["redirectWriterOnly-preview"])
    builder.metadata(SCHEMA).commit()
    table = da.DeltaTable(tmp_path)
    refused(
        table,
        da.UnsupportedFeatureError,
        "redirectWriterOnly",
        lambda alter: alter.set_table_properties({"owner": "me"}),
    )


@pytest.mark.parametrize("name", ["location", "Provider"])
def test_names_of_the_catalog_are_no_properties(table, name):
    refused(
        table,
        InvalidTablePropertyError,
        "choose another name",
        lambda alter: alter.set_table_properties({name: "x"}),
    )
