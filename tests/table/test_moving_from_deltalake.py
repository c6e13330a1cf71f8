"""Calls that scripts written for deltalake make."""

import deltalake
import pyarrow as pa
import pyarrow.dataset as pads
import pytest

import deltaarrow as da
from deltaarrow.errors import (
    InvalidPredicateError,
    SchemaMismatchError,
    UnsupportedFeatureError,
    VersionExistsError,
)

SCHEMA = pa.schema([("id", pa.int64())])


def test_legacy_positional_arguments_are_taken_with_a_warning(tmp_path):
    commit = da.CommitProperties(custom_metadata={"who": "me"})
    with pytest.warns(DeprecationWarning, match="name them: commit_properties, post_commithook_properties"):
        table = da.DeltaTable.create(tmp_path, SCHEMA, "error", None, None, None, None, None, commit, None)
    assert table.history(1)[0]["who"] == "me"
    # In the order of deltalake, where the hooks come first.
    with pytest.warns(DeprecationWarning, match="name them: post_commithook_properties, commit_properties"):
        table.vacuum(0, False, False, None, commit)
    assert table.history(1)[0]["who"] == "me"


def test_an_argument_that_is_given_twice_is_refused(tmp_path):
    table = da.DeltaTable.create(tmp_path, SCHEMA)
    with pytest.raises(TypeError, match="multiple values for 'full'"):
        table.vacuum(None, True, True, None, None, True, full=True)
    with pytest.raises(TypeError, match="at most 4"):
        table.vacuum(None, True, True, None, None, True, [1], "more")


def test_create_does_not_append(tmp_path):
    da.DeltaTable.create(tmp_path, SCHEMA)
    with pytest.raises(VersionExistsError, match="write_deltalake"):
        da.DeltaTable.create(tmp_path, SCHEMA, mode="append")


def test_create_takes_hooks(tmp_path):
    hooks = da.PostCommitHookProperties(create_checkpoint=False)
    for mode in ("error", "overwrite"):
        table = da.DeltaTable.create(tmp_path, SCHEMA, mode, post_commithook_properties=hooks)
    assert table.version() == 1


@pytest.mark.parametrize(
    "option", [{"without_files": True}, {"skip_stats": True}, {"log_buffer_size": 1}], ids=str
)
def test_options_without_an_effect_warn(tmp_path, option):
    da.DeltaTable.create(tmp_path, SCHEMA)
    with pytest.warns(DeprecationWarning, match="ignored"):
        table = da.DeltaTable(tmp_path, **option)
    with pytest.warns(DeprecationWarning):
        config = table.table_config
    with pytest.warns(DeprecationWarning):
        assert config == deltalake.DeltaTable(tmp_path).table_config


def test_masks_of_deletion_vectors_are_those_of_deltalake(tmp_path):
    configuration = {"delta.enableDeletionVectors": "true"}
    da.write_deltalake(tmp_path, pa.table({"id": range(10)}), configuration=configuration)
    da.write_deltalake(tmp_path, pa.table({"id": [100]}), mode="append")
    table = da.DeltaTable(tmp_path)
    assert table.deletion_vectors().read_all().num_rows == 0
    table.delete("id IN (2, 5)")
    ours = table.deletion_vectors().read_all().to_pylist()
    assert ours == pa.table(deltalake.DeltaTable(tmp_path).deletion_vectors().read_all()).to_pylist()
    assert ours[0]["selection_vector"].count(False) == 2


def test_scan_streams_the_rows_that_match(tmp_path):
    da.write_deltalake(tmp_path, pa.table({"id": range(5), "name": list("abcde")}))
    table = da.DeltaTable(tmp_path)
    batches = list(table.scan(["name"], "id >= 3"))
    assert [name for batch in batches for name in batch["name"].to_pylist()] == ["d", "e"]
    assert table.scan().read_all() == table.to_pyarrow_table()
    with pytest.raises(InvalidPredicateError, match="nonexistent"):
        table.scan(predicate="nonexistent = 1")
    with pytest.raises(SchemaMismatchError, match="nonexistent"):
        table.scan(["nonexistent"])


def test_add_actions_list_boolean_columns_and_leaves_of_structs(tmp_path):
    data = pa.table({"b": [True], "s": [{"x": 1, "y": {"z": "a"}}], "i": [1]})
    da.write_deltalake(tmp_path, data)
    ours = da.DeltaTable(tmp_path).get_add_actions(flatten=True)
    theirs = pa.table(deltalake.DeltaTable(tmp_path).get_add_actions(flatten=True))
    assert ours.column_names == theirs.column_names
    assert ours.to_pylist() == theirs.to_pylist()
    assert ours.schema.field("max.b").type == pa.bool_()


@pytest.fixture
def partitioned(tmp_path):
    data = pa.table({"year": ["2020", "2021", "2022", None], "id": [1, 2, 3, 4]})
    da.write_deltalake(tmp_path, data, partition_by="year")
    return da.DeltaTable(tmp_path)


@pytest.mark.parametrize(
    ("condition", "years"),
    [
        ("year >= 2021", {"2021", "2022"}),
        ("NOT (year = 2020)", {"2021", "2022"}),
        ("year IN (2020, 2022) AND id > 0", {"2020", "2022"}),
        ("year > 3000", set()),
        ("coalesce(year, 0) = 0", {None}),
        ("year >= 2021 OR id = 1", {"2020", "2021", "2022", None}),
    ],
)
def test_texts_of_partitions_are_compared_with_numbers(partitioned, condition, years):
    found = partitioned.partitions(file_pruning_predicate=condition)
    assert {each["year"] for each in found} == years
    assert len(partitioned.to_pyarrow_dataset(file_pruning_predicate=condition).files) == len(years)
    rows = partitioned.to_pyarrow_table(filters=condition)["year"].to_pylist()
    assert set(rows) <= years


def test_a_partition_that_is_no_number_chooses_no_files(tmp_path):
    da.write_deltalake(tmp_path, pa.table({"p": ["1", "x"], "id": [1, 2]}), partition_by="p")
    assert len(da.DeltaTable(tmp_path).file_uris(file_pruning_predicate="p >= 1")) == 2


def test_read_options_that_change_rows_are_refused(partitioned):
    for unit in ("ms", "ns"):
        options = pads.ParquetReadOptions(coerce_int96_timestamp_unit=unit)
        assert partitioned.to_pyarrow_dataset(parquet_read_options=options).count_rows() == 4
    for options in ({"dictionary_columns": {"id"}}, {"coerce_int96_timestamp_unit": "s"}):
        with pytest.raises(UnsupportedFeatureError, match="cast"):
            partitioned.to_pyarrow_dataset(parquet_read_options=pads.ParquetReadOptions(**options))


def test_functions_of_native_code_say_what_they_do_here():
    assert da.rust_core_version() == da.__version__
    with pytest.warns(UserWarning, match="no effect"):
        da.init_tracing()
    with pytest.raises(UnsupportedFeatureError, match="microseconds"):
        da.enable_nanosecond_timestamps()
