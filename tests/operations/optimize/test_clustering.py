"""Clustering: which files are laid out together, how they are marked, and what is left alone."""

import json

import numpy as np
import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import ConcurrentDeleteReadException, InvalidPredicateError, SchemaMismatchError
from deltaarrow.operations.optimize.layers import Box
from deltaarrow.scan import FileTask
from deltaarrow.scan.row_id_columns import ROW_COMMIT_VERSION, ROW_ID
from deltaarrow.spark_sql import parse_condition
from tests.support.rows import assert_same_rows

FEATURES = {
    "delta.enableDeletionVectors": "true",
    "delta.enableRowTracking": "true",
    "delta.enableChangeDataFeed": "true",
    "delta.columnMapping.mode": "name",
}


def rows(number, size=1000):
    random = np.random.default_rng(number)
    return pa.table(
        {
            "n": range(number * size, (number + 1) * size),
            "x": random.integers(0, 100_000, size),
            "y": [f"text {value:06}" for value in random.integers(0, 100_000, size)],
        }
    )


def made(path, files=4, columns=("x", "y"), configuration=FEATURES, size=1000):
    for number in range(files):
        create = {} if number else {"cluster_by": list(columns), "configuration": configuration}
        write_deltalake(path, rows(number, size), mode="append", **create)
    return DeltaTable(path)


def append(table, number=100, size=1000):
    write_deltalake(table, rows(number, size), mode="append")
    table.update_incremental()


def files_of(table):
    """What is said of the live files beside their names."""
    return {
        row["path"]: (row["clustering_provider"], row["tags"] or {})
        for row in table.snapshot.files().to_pylist(maps_as_pydicts="strict")
    }


def size_of(table):
    return sum(table.get_add_actions().column("size_bytes").to_pylist())


def parse(table, condition):
    return parse_condition(condition, table.snapshot.schema).predicate


def opened(table, condition):
    """How many files a query with a condition opens."""
    return table.snapshot.files(parse(table, condition)).num_rows


def test_a_condition_on_any_column_opens_few_files(tmp_path):
    table = made(tmp_path, size=4000)
    names = ["n", "x", "y", ROW_ID, ROW_COMMIT_VERSION]
    before, version = table.to_pyarrow_table(columns=names), table.version()
    metrics = table.optimize(target_size=size_of(table) // 16)
    assert metrics["numFilesAdded"] == 16
    assert opened(table, "x < 24000") == 4
    assert opened(table, "y >= 'text 076000'") == 4
    assert opened(table, "x < 24000 and y >= 'text 076000'") == 1
    assert_same_rows(table.to_pyarrow_table(columns=names), before)
    assert table.load_cdf(starting_version=version + 1).read_all().num_rows == 0
    assert list(table.verify(deep=True)) == []


def test_new_files_are_one_cube(tmp_path):
    table = made(tmp_path)
    table.optimize(target_size=size_of(table) // 3)
    found = list(files_of(table).values())
    assert len(found) == 3
    assert {provider for provider, _ in found} == {"liquid"}
    assert {tags["ZCUBE_ZORDER_BY"] for _, tags in found} == {'["x","y"]'}
    assert len({tags["ZCUBE_ID"] for _, tags in found}) == 1
    log = (tmp_path / "_delta_log" / f"{table.version():020d}.json").read_text().splitlines()
    actions = [json.loads(line) for line in log]
    assert {body["dataChange"] for each in actions for body in each.values() if "path" in body} == {False}


def test_history_says_what_spark_says(tmp_path):
    table = made(tmp_path, columns=["y"])
    table.optimize()
    (commit,) = table.history(1)
    assert (commit["operation"], commit["operationParameters"]) == (
        "OPTIMIZE",
        {"predicate": "[]", "zOrderBy": "[]", "clusterBy": '["y"]', "auto": "false", "isFull": "false"},
    )
    assert commit["operationMetrics"]["numRemovedFiles"] == "4"
    assert commit["tags"]["delta.rowTracking.preserved"] == "true"


def test_without_new_files_there_is_nothing_to_do(tmp_path):
    table = made(tmp_path)
    table.optimize()
    version = table.version()
    for again in (table.optimize, table.optimize.full):
        metrics = again()
        assert (table.version(), metrics["numFilesRemoved"], metrics["totalFilesSkipped"]) == (version, 0, 1)


def test_new_files_are_laid_out_with_small_cubes(tmp_path):
    table = made(tmp_path)
    table.optimize()
    append(table)
    assert table.optimize(dry_run=True).num_files == 2
    assert table.optimize()["numFilesRemoved"] == 2
    assert len({tags["ZCUBE_ID"] for _, tags in files_of(table).values()}) == 1


def test_what_new_files_do_not_overlap_stays(tmp_path):
    table = made(tmp_path, columns=["n", "x"])
    table.optimize(target_size=size_of(table) // 16)
    before = files_of(table)
    late = {row["path"] for row in table.snapshot.files(parse(table, "n >= 3000")).to_pylist()}
    assert 0 < len(late) < 8
    random = np.random.default_rng(9)
    new = {"n": range(3500, 4500), "x": random.integers(0, 100_000, 1000), "y": ["z"] * 1000}
    write_deltalake(table, pa.table(new), mode="append")
    table.update_incremental()
    rows, version = table.to_pyarrow_table(), table.version()
    plan = table.optimize(dry_run=True)
    (rewritten,) = plan.paths
    assert set(rewritten) - late == set(table.snapshot.files().column("path").to_pylist()) - set(before)
    table.optimize(target_size=size_of(table) // 16)
    assert set(before) - set(files_of(table)) == set(rewritten) & set(before)
    # To Spark it is one cube, with nothing to do.
    assert len({tags["ZCUBE_ID"] for _, tags in files_of(table).values()}) == 1
    assert_same_rows(table.to_pyarrow_table(), rows)
    assert table.optimize()["numFilesRemoved"] == 0
    assert table.version() == version + 1


def test_many_small_appends_write_few_bytes(tmp_path):
    """Each append is 1 % of the table and overlaps all of it."""
    table = made(tmp_path, files=1, size=20_000)
    target = size_of(table) // 16
    table.optimize(target_size=target)
    written = by_spark = 0
    for number in range(20):
        append(table, 100 + number, 200)
        by_spark += size_of(table)
        written += table.optimize(target_size=target, dry_run=True).num_bytes
        table.optimize(target_size=target)
        assert table.optimize(target_size=target, dry_run=True).num_files == 0
        assert opened(table, "x < 24000 and y >= 'text 076000'") <= 4
    assert written < 0.3 * by_spark
    assert table.to_pyarrow_table().num_rows == 24_000
    assert len({tags["ZCUBE_ID"] for _, tags in files_of(table).values()}) == 1
    assert list(table.verify(deep=True)) == []


def test_full_makes_one_layer_of_all(tmp_path):
    table = made(tmp_path, files=1, size=20_000)
    table.optimize()
    append(table, size=100)
    assert table.optimize()["numFilesRemoved"] == 1
    assert len(files_of(table)) == 2
    assert table.optimize.full()["numFilesRemoved"] == 2
    assert table.optimize.full()["numFilesRemoved"] == 0


def test_files_without_statistics_count_as_everywhere():
    paths = [("a",), ("s", "b")]
    statistics = '{"minValues":{"a":1,"s":{"b":"x"}},"maxValues":{"a":5,"s":{"b":"y"}}}'
    known = Box.of(FileTask("f", 1, {}, statistics), paths)
    assert known == Box(((1, 5), ("x", "y")))
    for text in (None, "", "{", "[]", '{"minValues":{"a":1}}', '{"minValues":3,"maxValues":{}}'):
        unknown = Box.of(FileTask("f", 1, {}, text), paths)
        assert unknown == Box((None, None))
        assert known.overlaps(unknown)
        assert known.joined(unknown) == unknown
    assert known.overlaps(Box(((5, 6), ("a", "x"))))
    assert not known.overlaps(Box(((6, 7), ("a", "x"))))
    assert not known.overlaps(Box((None, ("a", "b"))))
    # The type of a column may have changed.
    assert known.overlaps(Box((("6", "7"), ("a", "x"))))
    assert known.joined(Box(((0, 2), ("z", "z")))) == Box(((0, 5), ("x", "z")))


def test_large_cubes_are_left_alone(tmp_path):
    table = made(tmp_path)
    table.optimize()
    large = set(files_of(table))
    append(table)
    table.optimize(min_cube_size=size_of(table) // 2)
    assert large < set(files_of(table))
    assert len({tags["ZCUBE_ID"] for _, tags in files_of(table).values()}) == 2
    # Two small cubes are one afterwards.
    assert table.optimize()["numFilesRemoved"] == 2
    assert len({tags["ZCUBE_ID"] for _, tags in files_of(table).values()}) == 1


def test_cubes_are_not_much_larger_than_wanted(tmp_path):
    table = made(tmp_path, files=8)
    table.optimize(min_cube_size=size_of(table) // 4 + 1000)
    cubes = {}
    for path, (_, tags) in files_of(table).items():
        cubes.setdefault(tags["ZCUBE_ID"], []).append(path)
    assert len(cubes) == 3
    assert table.optimize(min_cube_size=1, dry_run=True).num_files == 0


def test_other_columns(tmp_path):
    table = made(tmp_path)
    table.optimize()
    (old,) = files_of(table)
    table.alter.cluster_by(["y"])
    assert table.optimize(dry_run=True).num_files == 0
    append(table)
    table.optimize()
    assert old in files_of(table)
    assert sorted(tags["ZCUBE_ZORDER_BY"] for _, tags in files_of(table).values()) == ['["x","y"]', '["y"]']
    metrics = table.optimize.full()
    assert metrics["numFilesRemoved"] == 2
    (commit,) = table.history(1)
    assert commit["operationParameters"]["isFull"] == "true"
    assert [tags["ZCUBE_ZORDER_BY"] for _, tags in files_of(table).values()] == ['["y"]']


def test_no_columns_any_more(tmp_path):
    table = made(tmp_path)
    table.optimize()
    append(table)
    table.alter.cluster_by([])
    with pytest.raises(SchemaMismatchError, match="no clustering columns"):
        table.optimize.full()
    assert table.optimize(dry_run=True).num_files == 2
    table.optimize()
    assert list(files_of(table).values()) == [(None, {})]
    assert table.history(1)[0]["operationParameters"]["clusterBy"] == "[]"


def test_other_tables_are_compacted(tmp_path):
    for day in (1, 1, 2, 2):
        write_deltalake(tmp_path, pa.table({"day": [day], "x": [1]}), partition_by="day", mode="append")
    table = DeltaTable(tmp_path)
    assert table.optimize(predicate="day = 1", dry_run=True).num_files == 2
    assert table.optimize(predicate="day = 1")["numFilesRemoved"] == 2
    assert table.optimize()["preserveInsertionOrder"] is True
    assert len(files_of(table)) == 2


def test_fields_of_structs(tmp_path):
    data = pa.table({"s": [{"a": 1, "b.c": "x"}, {"a": 2, "b.c": None}, None]})
    write_deltalake(tmp_path, data, cluster_by=["s.a", "s.`b.c`"])
    table = DeltaTable(tmp_path)
    table.optimize()
    ((_, tags),) = files_of(table).values()
    assert tags["ZCUBE_ZORDER_BY"] == '["s.a","s.`b.c`"]'
    assert_same_rows(table.to_pyarrow_table(), data)


def test_deleted_rows_go_with_the_next_files(tmp_path):
    table = made(tmp_path, files=1)
    table.optimize()
    table.delete("n < 500")
    assert table.optimize(dry_run=True).num_files == 0
    append(table)
    assert table.optimize()["numDeletionVectorsRemoved"] == 1
    assert table.to_pyarrow_table().num_rows == 1500


def test_a_predicate_is_refused(tmp_path):
    table = made(tmp_path)
    with pytest.raises(InvalidPredicateError, match="clustered"):
        table.optimize(predicate="x = 1")
    for arguments in ({"min_cube_size": 0}, {"target_size": -1}, {"max_spill_size": 0}):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            table.optimize(**arguments)
    assert table.version() == 3


def test_full_is_for_clustered_tables(tmp_path):
    write_deltalake(tmp_path, pa.table({"x": [1]}))
    with pytest.raises(SchemaMismatchError, match="cluster_by"):
        DeltaTable(tmp_path).optimize.full()


def test_a_deletion_meanwhile_is_a_conflict(tmp_path):
    table = made(tmp_path)
    with pytest.raises(ConcurrentDeleteReadException):
        table.optimize(progress=lambda *_: DeltaTable(tmp_path).delete("n = 7"))
    assert DeltaTable(tmp_path).to_pyarrow_table().num_rows == 3999
    assert {provider for provider, _ in files_of(DeltaTable(tmp_path)).values()} == {None}
