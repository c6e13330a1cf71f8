"""Column names in double quotes: a text in Spark SQL, and a column in scripts for deltalake."""

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import InvalidPredicateError
from deltaarrow.operations.transaction import begin_transaction
from deltaarrow.spark.options import ReadOptions
from deltaarrow.spark.table_scan import TableScan

ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "Status": ["open", "done"], "note": [None, "x"]})

CONDITION_PLACES = {
    "delete": lambda table, text: table.delete(text),
    "update": lambda table, text: table.update({"id": "0"}, predicate=text),
    "merge": lambda table, text: table.merge(ROWS, text, "s", "t").when_matched_delete().execute(),
    "merge clause": lambda table, text: (
        table.merge(ROWS, "s.id = t.id", "s", "t").when_matched_delete(text).execute()
    ),
    "filters": lambda table, text: table.to_pyarrow_table(filters=text),
    "file_pruning_predicate": lambda table, text: table.file_uris(file_pruning_predicate=text),
    "change feed": lambda table, text: table.load_cdf(predicate=text).read_all(),
    "constraint": lambda table, text: table.alter.add_constraint({"rule": text}),
    "constraint of a new table": lambda table, text: write_deltalake(
        table.table_uri + "/new", ROWS, configuration={"delta.constraints.rule": text}
    ),
    "replaceWhere": lambda table, text: write_deltalake(
        table.table_uri, ROWS.slice(1, 0), mode="overwrite", predicate=text
    ),
    "transaction": lambda table, text: begin_transaction(table.snapshot, "TEST").read_files(text),
    "Spark source": lambda table, text: TableScan.open(
        ReadOptions.parse({"path": table.table_uri, "filter": text})
    ).splits(),
}


@pytest.fixture
def table(tmp_path):
    write_deltalake(tmp_path, ROWS, configuration={"delta.enableChangeDataFeed": "true"})
    return DeltaTable(tmp_path)


@pytest.mark.parametrize("place", CONDITION_PLACES)
def test_a_condition_over_a_text_that_names_a_column_is_refused(table, place):
    with pytest.raises(InvalidPredicateError, match=r"`Status` in backticks .* 'Status' in single quotes"):
        CONDITION_PLACES[place](table, "\"Status\" != 'open'")
    assert DeltaTable(table.table_uri).version() == 0


@pytest.mark.parametrize(
    "text",
    [
        "\"status\" != 'open'",
        "'open' <> \"Status\"",
        "\"Status\" IN ('open', 'done')",
        "\"Status\" NOT LIKE 'o%'",
        "\"Status\" RLIKE 'o'",
        "\"Status\" BETWEEN 'a' AND 'z'",
        '"note" IS NULL',
        '"note" IS NOT NULL',
        "\"Status\" <=> 'open'",
        "upper(\"Status\") = 'OPEN'",
        "startswith(\"Status\", 'o')",
        "id > 0 AND (id < 9 OR NOT \"Status\" = 'open')",
        "CASE WHEN \"Status\" = 'open' THEN id ELSE 0 END = 1",
        "CASE \"Status\" WHEN 'open' THEN id ELSE 0 END = 1",
        '"t"."Status" = \'open\'',
        "t.\"Status\" = 'open'",
    ],
)
def test_every_comparison_is_looked_at(table, text):
    for place in ("delete", "merge clause"):
        with pytest.raises(InvalidPredicateError, match="in backticks for the column"):
            CONDITION_PLACES[place](table, text)
    assert DeltaTable(table.table_uri).version() == 0


@pytest.mark.parametrize(
    "value", ['"Status"', 'upper("status")', "\"note\" || '!'", "IF(\"id\" = '1', 'x', 'y')"]
)
def test_a_value_that_is_made_of_such_a_text_alone_is_refused(table, value):
    with pytest.raises(InvalidPredicateError, match="in backticks for the column"):
        table.update({"Status": value})
    merger = table.merge(ROWS, "s.id = t.id", "s", "t")
    with pytest.raises(InvalidPredicateError, match="in backticks for the column"):
        merger.when_matched_update({"Status": value}).execute()
    assert DeltaTable(table.table_uri).version() == 0


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Status != 'open'", [1]),
        ("`status` != 'open'", [1]),
        ('Status != "open"', [1]),
        ("'Status' != 'open'", []),
        ('Status != "Status"', []),
        ('`Note` = "x"', [1]),
        ("'x' = \"y\"", [1, 2]),
    ],
)
def test_other_texts_are_what_they_are_to_spark(table, text, left):
    table.delete(text)
    assert table.to_pyarrow_table()["id"].to_pylist() == left


def test_a_constraint_that_a_table_has_is_spark_s(table):
    rule = {"delta.constraints.rule": '\'Status\' != "open" AND Status != "Status"'}
    write_deltalake(table.table_uri + "/new", ROWS, configuration=rule)
    write_deltalake(table.table_uri + "/new", ROWS, mode="append")
    assert DeltaTable(table.table_uri + "/new").to_pyarrow_table().num_rows == 4
