"""Auto compaction: after which commits it runs, for which partitions, and what it leaves alone."""

import json
import logging
import shutil

import pyarrow as pa
import pytest

from deltaarrow import AutoCompaction, DeltaTable, PostCommitHookProperties, write_deltalake
from deltaarrow.errors import InvalidTablePropertyError
from deltaarrow.operations import parse_spark_options
from deltaarrow.operations.optimize import Rewriting
from deltaarrow.storage import open_store

VECTORS = {"delta.enableDeletionVectors": "true"}
ON = {"delta.autoOptimize.autoCompact": "true"}


def hooks(**rules):
    return PostCommitHookProperties(auto_compact=AutoCompaction(**rules))


def append(path, number, after=None, **columns):
    rows = pa.table({"id": range(number * 10, number * 10 + 10)} | columns)
    return write_deltalake(path, rows, mode="append", post_commithook_properties=after)


def operations(table):
    return [entry["operation"] for entry in table.history()]


def ids(table):
    return sorted(table.to_pyarrow_table().column("id").to_pylist())


def create(path, configuration=None, **more):
    schema = pa.schema([("id", pa.int64()), *((name, pa.string()) for name in more.get("partition_by", ()))])
    return DeltaTable.create(path, schema, configuration=configuration, **more)


@pytest.fixture(scope="module")
def many_files(tmp_path_factory):
    """A table with one file less than are compacted."""
    path = tmp_path_factory.mktemp("many") / "t"
    create(path)
    for number in range(49):
        append(path, number)
    return path


@pytest.mark.parametrize(
    ("configuration", "wanted", "happens"),
    [
        ({}, None, False),
        ({"delta.autoOptimize": "true"}, None, True),
        ({"delta.autoOptimize.autoCompact": "TRUE"}, None, True),
        ({"delta.autoOptimize.autoCompact": "false"}, None, False),
        ({"delta.autoOptimize": "false", **ON}, None, True),
        (ON, False, False),
        ({}, True, True),
        ({}, AutoCompaction(), True),
    ],
    ids=str,
)
def test_an_argument_goes_before_the_properties_of_the_table(
    tmp_path, many_files, configuration, wanted, happens
):
    shutil.copytree(many_files, tmp_path / "t")
    table = DeltaTable(tmp_path / "t")
    if configuration:
        table.alter.set_table_properties(configuration)
    after = None if wanted is None else PostCommitHookProperties(auto_compact=wanted)
    append(table, 49, after)
    assert operations(table)[0] == ("OPTIMIZE" if happens else "WRITE")
    assert len(table.file_uris()) == (1 if happens else 50)
    assert ids(table) == list(range(500))


def test_it_comes_with_the_last_of_so_many_small_files_whoever_wrote_them(tmp_path):
    create(tmp_path)
    for number in range(3):
        append(tmp_path, number)
    append(tmp_path, 3, hooks(min_num_files=5))
    assert "OPTIMIZE" not in operations(DeltaTable(tmp_path))
    result = append(tmp_path, 4, hooks(min_num_files=5))
    table = DeltaTable(tmp_path)
    assert (result.version, table.version(), len(table.file_uris())) == (5, 6, 1)
    append(tmp_path, 5, hooks(min_num_files=5))
    assert operations(DeltaTable(tmp_path))[0] == "WRITE"


def test_history_says_that_it_was_automatic(tmp_path):
    table = create(tmp_path)
    append(table, 0)
    append(table, 1, hooks(min_num_files=2))
    entry = table.history(1)[0]
    assert (entry["operation"], table.version()) == ("OPTIMIZE", 3)
    assert entry["operationParameters"] == {
        "predicate": "[]",
        "zOrderBy": "[]",
        "clusterBy": "[]",
        "auto": "true",
    }


def test_large_files_do_not_count(tmp_path):
    create(tmp_path)
    for number in range(4):
        append(tmp_path, number, hooks(min_num_files=2, max_file_size=1000, min_file_size=100))
    assert "OPTIMIZE" not in operations(DeltaTable(tmp_path))


def test_the_target_of_the_table_is_that_of_the_compaction(tmp_path):
    with pytest.warns(UserWarning, match="targetFileSize"):
        create(tmp_path, {"delta.targetFileSize": "100"})
    for number in range(4):
        append(tmp_path, number, hooks(min_num_files=2))
    assert "OPTIMIZE" not in operations(DeltaTable(tmp_path)), "no file is smaller than half of 100 bytes"


def test_only_partitions_of_the_commit_are_compacted(tmp_path):
    create(tmp_path, partition_by=["p"])
    for number in range(3):
        append(tmp_path, number, p=["a"] * 5 + ["it's"] * 5)
        append(tmp_path, number, p=[None] * 10)
    append(tmp_path, 3, hooks(min_num_files=4), p=["it's"] * 9 + [None])
    table = DeltaTable(tmp_path)
    counts = {}
    for row in table.get_add_actions(flatten=True).to_pylist():
        counts[row["partition.p"]] = counts.get(row["partition.p"], 0) + 1
    assert counts == {"a": 3, "it's": 1, None: 1}
    parameters = table.history(1)[0]["operationParameters"]
    assert parameters["predicate"] == r"""["((p <=> 'it\\'s') OR (p <=> NULL))"]"""
    assert ids(table) == sorted([*range(30), *range(30), *range(30, 40)])


def test_a_file_with_many_deleted_rows_is_rewritten(tmp_path):
    table = create(tmp_path, VECTORS)
    append(table, 0)
    append(table, 1)
    table.delete("id = 0", post_commithook_properties=hooks())
    assert table.version() == 3
    table.delete("id = 1", post_commithook_properties=hooks())
    assert operations(table)[0] == "OPTIMIZE"
    assert len(table.file_uris()) == 1, "the other small file goes with it"
    assert ids(table) == list(range(2, 20))
    assert table.get_add_actions(flatten=True).column("num_records").to_pylist() == [18]


def test_update_and_merge_compact_too(tmp_path):
    table = create(tmp_path, ON | VECTORS)
    append(table, 0)
    table.update({"id": "id + 100"}, predicate="id < 5")
    assert operations(table)[:2] == ["OPTIMIZE", "UPDATE"]
    source = pa.table({"id": [5, 6, 7, 8]})
    table.merge(source, "s.id = t.id", "s", "t").when_matched_delete().execute()
    assert operations(table)[:2] == ["OPTIMIZE", "MERGE"]
    assert ids(table) == [9, 100, 101, 102, 103, 104]


def test_a_transaction_compacts_too(tmp_path):
    table = create(tmp_path)
    append(table, 0)
    with table.transaction("LOAD", post_commithook_properties=hooks(min_num_files=2)) as transaction:
        write_deltalake(transaction, pa.table({"id": [7]}), mode="append")
    assert operations(table)[:2] == ["OPTIMIZE", "WRITE"]
    assert table.version() == 3


def test_a_commit_without_rows_compacts_nothing(tmp_path):
    table = create(tmp_path, VECTORS)
    for number in range(3):
        append(table, number)
    table.alter.set_table_properties(ON)
    table.optimize.compact(min_file_size=1, post_commithook_properties=hooks(min_num_files=2))
    with table.transaction("NOTE", post_commithook_properties=hooks(min_num_files=2)) as transaction:
        transaction.set_application("etl", 1)
    assert "OPTIMIZE" not in operations(table)


def test_a_new_table_is_compacted_by_its_own_properties(tmp_path):
    rows = pa.table({"id": range(10)})
    write_deltalake(tmp_path, rows, configuration=ON)
    table = DeltaTable(tmp_path)
    assert operations(table) == ["WRITE"], "one file gains nothing"


def test_clustered_tables_are_clustered(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": range(10)}), cluster_by=["id"])
    append(tmp_path, 1, hooks(min_num_files=3))
    assert "OPTIMIZE" not in operations(DeltaTable(tmp_path))
    append(tmp_path, 2, hooks(min_num_files=3))
    table = DeltaTable(tmp_path)
    entry = table.history(1)[0]
    assert json.loads(entry["operationParameters"]["clusterBy"]) == ["id"]
    assert entry["operationParameters"]["auto"] == "true"
    append(tmp_path, 3, hooks(min_num_files=3))
    assert operations(DeltaTable(tmp_path))[0] == "WRITE"
    assert ids(DeltaTable(tmp_path)) == list(range(40))


def test_a_compaction_that_fails_leaves_the_commit(tmp_path, monkeypatch, caplog):
    def fail(self, progress=None):
        raise OSError("no space left on the device")

    table = create(tmp_path)
    append(table, 0)
    monkeypatch.setattr(Rewriting, "run", fail)
    with caplog.at_level(logging.WARNING):
        assert append(table, 1, hooks(min_num_files=2)).version == 2
    assert "auto_compaction failed after version 2" in caplog.text
    assert ids(DeltaTable(tmp_path)) == list(range(20))


def test_a_writer_that_comes_between_is_not_disturbed(tmp_path, monkeypatch):
    run = Rewriting.run

    def deleted_before(self):
        DeltaTable(tmp_path).delete("id = 3")
        return run(self)

    table = create(tmp_path, VECTORS)
    append(table, 0)
    monkeypatch.setattr(Rewriting, "run", deleted_before)
    append(table, 1, hooks(min_num_files=2))
    assert operations(DeltaTable(tmp_path))[:3] == ["OPTIMIZE", "DELETE", "WRITE"]
    assert ids(DeltaTable(tmp_path)) == [each for each in range(20) if each != 3]


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_num_files": 0},
        {"min_num_files": None},
        {"max_file_size": 0},
        {"min_file_size": 1.5},
        {"max_deleted_rows_ratio": 1.1},
    ],
    ids=str,
)
def test_numbers_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        AutoCompaction(**wrong)


def test_a_word_that_spark_refuses_is_refused(tmp_path):
    with pytest.raises(InvalidTablePropertyError, match="autoCompact"):
        create(tmp_path, {"delta.autoOptimize.autoCompact": "auto"})


def test_no_stale_file_is_left(tmp_path):
    create(tmp_path)
    for number in range(4):
        append(tmp_path, number, hooks(min_num_files=4))
    table = DeltaTable(tmp_path)
    stored = {each.name for each in open_store(tmp_path).list_recursive() if each.name.endswith(".parquet")}
    assert len(stored) == 5
    assert len(table.vacuum(0, enforce_retention_duration=False)) == 4


SETTING = "spark.databricks.delta.autoCompact."


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"enabled": "true"}, AutoCompaction()),
        ({"enabled": False}, AutoCompaction(enabled=False)),
        ({"minNumFiles": "7"}, AutoCompaction(enabled=None, min_num_files=7)),
        (
            {"enabled": True, "maxFileSize": "64mb", "minFileSize": 1000},
            AutoCompaction(max_file_size=64 << 20, min_file_size=1000),
        ),
    ],
    ids=str,
)
def test_settings_of_spark_are_options(options, wanted):
    given = {SETTING + name: value for name, value in options.items()}
    assert parse_spark_options(given) == {"auto_compact": wanted}


@pytest.mark.parametrize(
    "options", [{"enabled": "auto"}, {"minNumFiles": "many"}, {"maxFileSize": "0"}], ids=str
)
def test_settings_without_meaning_are_refused(options):
    with pytest.raises(ValueError, match=r"enabled|minNumFiles|max_file_size"):
        parse_spark_options({SETTING + name: value for name, value in options.items()})


def test_a_setting_of_spark_turns_it_on_for_a_write(tmp_path):
    create(tmp_path)
    for number in range(2):
        rows = pa.table({"id": [number]})
        options = {f"{SETTING}enabled": "true", f"{SETTING}minNumFiles": "2"}
        write_deltalake(tmp_path, rows, mode="append", options=options)
    assert operations(DeltaTable(tmp_path))[0] == "OPTIMIZE"
