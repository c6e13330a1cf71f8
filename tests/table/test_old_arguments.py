"""Arguments and names that older releases of deltalake had: the error says what to use."""

import inspect
import re

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.engines import DeltaConnection

REMOVED = {
    ("write_deltalake", "engine"): "leave it out",
    ("write_deltalake", "large_dtypes"): "leave it out",
    ("write_deltalake", "overwrite_schema"): "schema_mode='overwrite'",
    ("write_deltalake", "partition_filters"): "use predicate",
    ("write_deltalake", "schema"): "cast the data",
    ("write_deltalake", "filesystem"): "use storage_options",
    ("write_deltalake", "file_options"): "use writer_properties",
    ("write_deltalake", "max_partitions"): "leave it out",
    ("write_deltalake", "max_open_files"): "leave it out",
    ("write_deltalake", "max_rows_per_file"): "use target_file_size",
    ("write_deltalake", "min_rows_per_group"): "max_row_group_size",
    ("write_deltalake", "max_rows_per_group"): "max_row_group_size",
    ("write_deltalake", "custom_metadata"): "use commit_properties",
    ("convert_to_deltalake", "custom_metadata"): "use commit_properties",
    ("DeltaTable.create", "custom_metadata"): "use commit_properties",
    ("DeltaTable.delete", "custom_metadata"): "use commit_properties",
    ("DeltaTable.update", "custom_metadata"): "use commit_properties",
    ("DeltaTable.merge", "custom_metadata"): "use commit_properties",
    ("DeltaTable.merge", "large_dtypes"): "leave it out",
    ("DeltaTable.merge", "arrow_schema_conversion_mode"): "leave it out",
    ("DeltaTable.restore", "custom_metadata"): "use commit_properties",
    ("DeltaTable.repair", "custom_metadata"): "use commit_properties",
    ("DeltaTable.vacuum", "custom_metadata"): "use commit_properties",
    ("TableOptimizer.compact", "custom_metadata"): "use commit_properties",
    ("TableOptimizer.z_order", "custom_metadata"): "use commit_properties",
    ("TableAlterer.add_columns", "custom_metadata"): "use commit_properties",
    ("TableAlterer.add_constraint", "custom_metadata"): "use commit_properties",
    ("TableAlterer.drop_constraint", "custom_metadata"): "use commit_properties",
    ("TableAlterer.add_feature", "custom_metadata"): "use commit_properties",
    ("TableAlterer.set_table_properties", "custom_metadata"): "use commit_properties",
}


def find(name):
    owner, _, method = name.rpartition(".")
    return getattr(getattr(da.table, owner) if owner else da, method)


@pytest.mark.parametrize(("name", "argument"), REMOVED, ids=".".join)
def test_an_argument_of_older_releases_says_what_to_use(name, argument):
    function = find(name)
    with pytest.raises(TypeError) as refusal:
        function(**{argument: None})
    message = str(refusal.value)
    assert message.startswith(f"{function.__name__}() takes no argument {argument!r}; ")
    assert REMOVED[name, argument] in message
    assert argument not in inspect.signature(function).parameters


def test_the_argument_that_the_error_names_does_the_same(tmp_path):
    day = pa.array(["a", "b"])
    da.write_deltalake(tmp_path, pa.table({"day": day, "n": [1, 2]}), partition_by="day")
    new = pa.table({"day": ["a"], "n": [3]})
    with pytest.raises(TypeError, match="use predicate, a condition"):
        da.write_deltalake(tmp_path, new, mode="overwrite", partition_filters=[("day", "=", "a")])
    assert da.DeltaTable(tmp_path).version() == 0
    da.write_deltalake(tmp_path, new, mode="overwrite", predicate="day = 'a'")
    found = da.DeltaTable(tmp_path).to_pyarrow_table().sort_by("n")
    assert found.to_pydict() == {"day": ["b", "a"], "n": [2, 3]}


def test_arguments_of_other_writers_and_misspelt_ones():
    with pytest.raises(TypeError, match="use partition_by"):
        da.write_deltalake("t", pa.table({}), partitionBy="day")
    with pytest.raises(TypeError, match="did you mean `schema_mode`"):
        da.write_deltalake("t", pa.table({}), schema_mod="merge")
    # Where nothing takes its place, nothing is advised.
    with pytest.raises(TypeError, match=r"vacuum\(\) takes no argument 'partition_filters'$"):
        da.DeltaTable.vacuum(None, partition_filters=[])


NAMES = {
    "file_paths": "file_uris()",
    "files": "file_uris()",
    "load_with_datetime": "load_as_version(time)",
    "pyarrow_schema": "schema().to_arrow()",
    "get_stats_columns": "metadata().configuration",
    "transaction_versions": "transaction_version(app_id)",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_older_releases_says_what_to_use(name, tmp_path):
    table = da.DeltaTable.create(tmp_path, pa.schema([("id", pa.int64())]))
    for owner in (da.DeltaTable, table):
        with pytest.raises(AttributeError, match=re.escape(f"{name!r}; use {NAMES[name]}")):
            getattr(owner, name)


def test_what_the_errors_name_is_there():
    places = (da, da.DeltaTable, da.table.TableAlterer, da.table.TableOptimizer, da.table.TableMerger)
    places += (da.Schema, da.DeltaDataset, DeltaConnection, dict)
    calls = {call for says in da.DeltaTable._instead_of.values() for call in re.findall(r"(\w+)\(", says)}
    assert len(calls) > 20
    assert [call for call in calls if not any(hasattr(each, call) for each in places)] == []
