"""String partition columns compared with numbers: SQL casts the text, and tuples compare texts."""

import datetime as dt

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import ConstraintViolationError, InvalidPredicateError
from deltaarrow.spark.options import ReadOptions
from deltaarrow.spark.table_scan import TableScan

ROWS = pa.table({"id": [1, 2, 3, 4], "p": ["1", "2", "01", None]})


def deleted(table, condition):
    table.delete(condition)
    return [each for each in ROWS["id"].to_pylist() if each not in ids(table.to_pyarrow_table())]


def updated(table, condition):
    table.update({"id": "id * 10"}, predicate=condition)
    return [each // 10 for each in ids(table.to_pyarrow_table()) if each >= 10]


def merged(table, condition):
    merger = table.merge(pa.table({"key": [1]}), condition, "s", "t")
    merger.when_matched_update({"id": "t.id * 10"}).execute()
    return [each // 10 for each in ids(table.to_pyarrow_table()) if each >= 10]


def ids(rows):
    return sorted((rows.to_pyarrow_table() if isinstance(rows, DeltaTable) else rows)["id"].to_pylist())


WAYS = {"delete": deleted, "update": updated, "merge": merged}


@pytest.fixture
def table(tmp_path):
    write_deltalake(tmp_path, ROWS, partition_by=["p"])
    return DeltaTable(tmp_path)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("p = 1", [1, 3]),
        ("1 = p", [1, 3]),
        ("p > 1", [2]),
        ("p IN (1, 5)", [1, 3]),
        ("p <=> 1", [1, 3]),
        ("NOT p <=> 1", [2, 4]),
        ("p BETWEEN 1 AND 1L", [1, 3]),
        ("p = 1.0D", [1, 3]),
        ("p = '1'", [1]),
    ],
)
def test_a_text_beside_a_number_is_cast_as_by_spark(table, way, condition, found):
    assert WAYS[way](table, condition) == found


@pytest.mark.parametrize("way", WAYS)
def test_a_text_that_is_no_number_is_an_error_as_in_spark(tmp_path, way):
    rows = pa.table({"id": [1, 2], "p": ["1", "x"]})
    write_deltalake(tmp_path, rows, partition_by=["p"])
    with pytest.raises(ConstraintViolationError, match="the text x is not a valid BIGINT"):
        WAYS[way](DeltaTable(tmp_path), "p = 1")
    assert DeltaTable(tmp_path).version() == 0


READS = {
    "filters": lambda table: table.to_pyarrow_table(filters="p = 1"),
    "change feed": lambda table: table.load_cdf(predicate="p = 1").read_all(),
    "Spark source": lambda table: read_by_spark(table.table_uri, "p = 1"),
}


def read_by_spark(path, condition):
    scan = TableScan.open(ReadOptions.parse({"path": path, "filter": condition}))
    return pa.Table.from_batches(batch for tasks in scan.splits() for batch in scan.split_scan.read(tasks))


@pytest.mark.parametrize("way", READS)
def test_what_is_read_goes_by_the_same_casts(tmp_path, way):
    feed = {"delta.enableChangeDataFeed": "true"}
    write_deltalake(tmp_path, ROWS, partition_by=["p"], configuration=feed)
    assert ids(READS[way](DeltaTable(tmp_path))) == [1, 3]


def test_files_go_by_the_same_casts(table):
    assert len(table.file_uris(file_pruning_predicate="p = 1")) >= 2
    write_deltalake(table.table_uri, ROWS.slice(0, 1), mode="overwrite", predicate="p = 1")
    assert ids(DeltaTable(table.table_uri)) == [1, 2, 4]


@pytest.mark.parametrize(
    ("filters", "texts"),
    [
        ([("p", "=", 1)], ["1"]),
        ([("P", "=", 1)], ["1"]),
        ([("p", "!=", 1)], ["01", "2"]),
        ([("p", "in", [1, 2, True])], ["1", "2"]),
        ([("p", "not in", [1])], ["01", "2", None]),
        ([("p", ">", 1)], ["2"]),
        ([("p", "=", 1.0)], []),
        ([("p", "=", "")], [None]),
    ],
)
def test_tuples_compare_texts(table, filters, texts):
    wanted = sorted(texts, key=str)
    with pytest.warns(DeprecationWarning):
        assert sorted(table.to_pyarrow_table(partitions=filters)["p"].to_pylist(), key=str) == wanted
    with pytest.warns(DeprecationWarning):
        assert len(table.file_uris(filters)) == len(wanted)
    assert len(table.file_uris(file_pruning_predicate=filters)) == len(wanted)
    assert sorted(table.to_pyarrow_table(filters=filters)["p"].to_pylist(), key=str) == wanted


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (-7, "-7"),
        (1.5, "1.5"),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.datetime(2026, 1, 2, 3, 4, 5), "2026-01-02 03:04:05"),
    ],
)
def test_values_in_tuples_have_the_text_that_deltalake_gives_them(tmp_path, value, text):
    write_deltalake(tmp_path, pa.table({"id": [1, 2], "p": [text, "other"]}), partition_by=["p"])
    assert ids(DeltaTable(tmp_path).to_pyarrow_table(filters=[("p", "=", value)])) == [1]
    with pytest.raises(InvalidPredicateError, match="string"):
        DeltaTable(tmp_path).to_pyarrow_table(filters=[("p", "=", b"x")])
