"""DELETE: which rows it deletes, and by what means."""

import json
import math
from decimal import Decimal

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, Field, Schema, StructType, UnsupportedFeatureError, write_deltalake
from deltaarrow.errors import ConstraintViolationError, SchemaMismatchError

VECTORS = {"delta.enableDeletionVectors": "true"}


def make(path, rows, configuration=None, **options):
    write_deltalake(str(path), rows, configuration=configuration, **options)
    return DeltaTable(str(path))


def ids(table):
    return sorted(table.to_pyarrow_table().column("id").to_pylist())


@pytest.mark.parametrize("configuration", [VECTORS, None], ids=["vectors", "rewriting"])
def test_rows_for_which_the_condition_is_true_go_and_null_is_not_true(tmp_path, configuration):
    rows = pa.table({"id": [1, 2, 3, 4, 5], "a": [1, None, 3, None, 5]})
    table = make(tmp_path, rows, configuration)
    metrics = table.delete("a >= 3")
    assert metrics["num_deleted_rows"] == 2
    assert metrics["num_copied_rows"] == (0 if configuration else 3)
    assert ids(table) == [1, 2, 4]
    assert table.delete("not (a >= 3)")["num_deleted_rows"] == 1
    assert ids(table) == [2, 4]
    assert table.verify(deep=True).ok


def test_deletion_vectors_keep_the_file_and_grow(tmp_path):
    table = make(tmp_path, pa.table({"id": list(range(100))}), VECTORS)
    (path,) = table.file_uris()
    table.delete("id < 10")
    assert table.history(1)[0]["operationMetrics"]["numDeletionVectorsAdded"] == "1"
    table.delete("id in (10, 11)")
    assert table.history(1)[0]["operationMetrics"]["numDeletionVectorsUpdated"] == "1"
    assert table.file_uris() == [path]
    (add,) = table.snapshot.files().to_pylist()
    assert add["deletion_vector"]["cardinality"] == 12
    assert '"tightBounds":false' in add["stats"]
    assert ids(table) == list(range(12, 100))


def test_a_file_without_a_row_left_is_removed(tmp_path):
    table = make(tmp_path, pa.table({"id": [1, 2]}), VECTORS)
    write_deltalake(table, pa.table({"id": [3, 4]}), mode="append")
    table.delete("id = 1")
    metrics = table.delete("id between 2 and 3")
    assert (metrics["num_removed_files"], metrics["num_deleted_rows"]) == (1, 2)
    assert table.history(1)[0]["operationMetrics"]["numDeletionVectorsRemoved"] == "1"
    assert ids(table) == [4]


def test_a_file_most_of_whose_rows_go_is_written_anew(tmp_path):
    table = make(tmp_path, pa.table({"id": list(range(100))}), VECTORS)
    metrics = table.delete("id >= 20")
    assert (metrics["num_added_files"], metrics["num_copied_rows"]) == (1, 20)
    assert table.snapshot.files().column("deletion_vector").null_count == 1
    assert ids(table) == list(range(20))


def test_partitions_go_without_a_file_being_read(tmp_path):
    rows = pa.table({"id": [1, 2, 3, 4], "day": ["a", "a", "b", None]})
    table = make(tmp_path, rows, VECTORS, partition_by=["day"])
    for uri in table.file_uris():
        with open(uri, "wb") as file:
            file.write(b"not Parquet")
    assert table.delete("day = 'a' or day is null")["num_deleted_rows"] == 3
    assert table.count() == 1
    assert table.delete()["num_deleted_rows"] == 1
    assert table.count() == 0
    assert table.history(1)[0]["operationParameters"] == {"predicate": "[]"}


def test_nothing_is_committed_where_no_row_is_found(tmp_path):
    table = make(tmp_path, pa.table({"id": [1, 2]}), VECTORS)
    assert table.delete("id > 5")["num_deleted_rows"] == 0
    assert table.version() == 0


def test_conditions_beyond_comparisons(tmp_path):
    rows = pa.table(
        {
            "id": [1, 2, 3, 4],
            "name": ["ann", "bob", None, "ANNA"],
            "price": [Decimal("1.10"), Decimal("2.20"), None, Decimal("4.40")],
            "ratio": [1.0, math.nan, -0.0, None],
            "at": pa.array([0, 10**15, None, -1], pa.timestamp("us", "UTC")),
            "s": [{"a": 1}, {"a": None}, None, {"a": 4}],
        }
    )
    for condition, left in [
        ("upper(name) like 'ANN%'", [2, 3]),
        ("price * 2 > 4", [1, 3]),
        ("isnan(ratio)", [1, 3, 4]),
        ("ratio = 0", [1, 2, 4]),
        ("year(at) = 2001", [1, 3, 4]),
        ("s.a + id = 2", [2, 3, 4]),
        ("s is null", [1, 2, 4]),
        ("length(name) % 2 = 1 or id = 4", [3]),
        ("target.id = 1", [2, 3, 4]),
        ("id = 1 and null", [1, 2, 3, 4]),
    ]:
        table = make(
            tmp_path, rows, None if (tmp_path / "_delta_log").exists() else VECTORS, mode="overwrite"
        )
        table.delete(condition)
        assert ids(table) == left, condition


def test_texts_beside_numbers_are_cast_and_quotes_are_those_of_spark(tmp_path):
    rows = pa.table({"id": [7, 8, 9], "text": ["7", "9", "x"]})
    table = make(tmp_path, rows, VECTORS)
    for condition in ("text > id", "'id' = 7", "id = 7 or 'id' = 1"):
        with pytest.raises(ConstraintViolationError, match="is not a valid BIGINT"):
            table.delete(condition)
    assert table.version() == 0
    table.delete('text = "x"')
    table.delete("text > `id`")
    assert ids(table) == [7]


def test_a_row_far_behind_for_which_the_condition_cannot_be_computed(tmp_path):
    table = make(tmp_path, pa.table({"id": range(200_000)}), VECTORS)
    with pytest.raises(ConstraintViolationError, match="division by zero"):
        table.delete("id % 2 = 0 and 10 div (id - 199998) < 0")
    assert table.version() == 0


def test_columns_that_map_to_others(tmp_path):
    configuration = VECTORS | {"delta.columnMapping.mode": "name"}
    table = make(tmp_path, pa.table({"id": [1, 2], "a b": [3, 4]}), configuration)
    table.alter.rename_column("id", "key")
    assert table.delete("`a b` = 3")["num_deleted_rows"] == 1
    assert table.to_pyarrow_table().to_pylist() == [{"key": 2, "a b": 4}]


def test_what_is_not_understood_is_refused_and_nothing_is_committed(tmp_path):
    table = make(tmp_path, pa.table({"id": [1, 2]}), VECTORS)
    for condition, error in [
        ("id in (select 1)", UnsupportedFeatureError),
        ("reflect('java.lang.System', 'exit', 1) = 1", UnsupportedFeatureError),
        ("nothing = 1", SchemaMismatchError),
        ("id", Exception),
    ]:
        with pytest.raises(error):
            table.delete(condition)
    assert table.version() == 0
    table.alter.set_table_properties({"delta.appendOnly": "true"})
    with pytest.raises(UnsupportedFeatureError, match="appendOnly"):
        table.delete("id = 1")


def test_conditions_on_char_strings_find_what_queries_find(tmp_path):
    def column(name, declared, data_type="string"):
        return Field(name, data_type, metadata={"__CHAR_VARCHAR_TYPE_STRING": declared})

    inside = column("s", "struct<c:char(3)>", StructType([Field("c", "string")]))
    schema = Schema([column("c", "char(3)"), inside, column("v", "varchar(3)"), column("k", "char(2)")])
    table = DeltaTable.create(str(tmp_path), schema, configuration=VECTORS, partition_by=["k"])
    rows = [{"c": each, "s": {"c": each}, "v": each, "k": each} for each in "abde"]
    write_deltalake(table, pa.Table.from_pylist(rows, schema.to_arrow()), mode="append")
    for condition, deleted in (("v = 'a '", 0), ("s.c = 'a'", 0), ("s.c = 'a  '", 1), ("c in ('b', 'x')", 1)):
        assert table.delete(condition)["num_deleted_rows"] == deleted
    assert table.delete("k = 'd'")["num_deleted_rows"] == 1
    assert table.to_pyarrow_table()["k"].to_pylist() == ["e "]


def test_rewritten_files_keep_char_strings_as_they_are_stored(tmp_path):
    declared = {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}
    schema = Schema([Field("id", "long"), *(Field(name, "string", metadata=declared) for name in "ck")])
    table = DeltaTable.create(str(tmp_path), schema, partition_by=["k"])
    data = pa.table({"id": [1, 2], "c": ["a", "b"], "k": ["x", "x"]})
    write_deltalake(table, data, mode="append")
    table.delete("id = 1")
    write_deltalake(table, data, mode="append")
    assert table.optimize.compact(predicate="k = 'x'")["numFilesRemoved"] == 2
    (add,) = table.snapshot.files().to_pylist()
    assert add["partition_values"] == [("k", "x")]
    assert '"minValues":{"id":1,"c":"a"}' in add["stats"]
    assert table.to_pyarrow_table(filters="c = 'b'")["k"].to_pylist() == ["x  ", "x  "]


def test_a_file_whose_rows_the_log_does_not_count(tmp_path):
    table = make(tmp_path, pa.table({"id": [1, 2, 3]}), VECTORS)
    commit = tmp_path / "_delta_log" / f"{0:020}.json"
    lines = commit.read_text().splitlines()
    commit.write_text(
        "\n".join(line if '"stats"' not in line else _without_stats(line) for line in lines) + "\n"
    )
    table = DeltaTable(str(tmp_path))
    assert table.snapshot.files().column("stats").null_count == 1
    table.delete("id = 2")
    (add,) = table.snapshot.files().to_pylist()
    assert '"numRecords":3' in add["stats"]
    assert ids(table) == [1, 3]


def _without_stats(line):
    action = json.loads(line)
    del action["add"]["stats"]
    return json.dumps(action)


@pytest.mark.parametrize("condition", ["m IN (-{0}, 7)", "m = -{0}", "m + 0.0 = -{0}", "id > 0 AND -{0} = m"])
def test_a_negative_number_has_all_of_its_digits(tmp_path, condition):
    digits = "1234567890123456789012345678.12"
    values = pa.array([Decimal(f"-{digits}"), Decimal(digits), None], pa.decimal128(37, 2))
    table = make(tmp_path, pa.table({"id": [1, 2, 3], "m": values}))
    sql = condition.format(digits)
    assert DeltaTable(str(tmp_path)).to_pyarrow_table(filters="m = -" + digits).num_rows == 1
    assert table.delete(sql)["num_deleted_rows"] == 1
    assert ids(table) == [2, 3]
