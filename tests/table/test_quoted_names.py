"""Double quotes: strings in Spark SQL, columns in scripts for deltalake, characters in strings and names."""

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, connect, write_deltalake
from deltaarrow.errors import ConstraintViolationError, InvalidPredicateError
from deltaarrow.operations.commit.transaction_start import begin_transaction
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


QUOTED = pa.table({"doc": ['{"a": 1}', '{"a": 2}', 'it"s'], 'q"t': ["x", '"', "z"]})
FIRST_ROW = [
    """doc = '{"a": 1}'""",
    """`q"t` = 'x'""",
    r'''doc = "{\"a\": 1}"''',
    """doc = r'{"a": 1}'""",
    """doc LIKE '%"a": 1%'""",
    """doc IN ('{"a": 1}', '"')""",
    """/* "one" */ doc LIKE '%1%'""",
]
"""Conditions that choose the first row alone."""


@pytest.fixture
def quoted(tmp_path):
    for row in range(3):
        write_deltalake(tmp_path, QUOTED.slice(row, 1), mode="append", partition_by=["doc"])
    return DeltaTable(tmp_path)


def rows(table):
    return sorted(DeltaTable(table.table_uri).to_pyarrow_table()['q"t'].to_pylist())


def run(table, statement):
    with connect(dialect="spark") as connection:
        found = connection.sql(statement.replace("@orders", f"delta.`{table.table_uri}`"))
        return found.fetchall() if statement.startswith("SELECT") else None


def merge(table, on, value=None):
    merger = table.merge(pa.table({"one": [1]}), on, "s", "t")
    (merger.when_matched_update({'`q"t`': value}) if value else merger.when_matched_delete()).execute()


def check(table, text, add):
    add(f"`q\"t` = 'z' OR `q\"t` = '\"' OR {text}")
    with pytest.raises(ConstraintViolationError, match="rule"):
        write_deltalake(table, pa.table({"doc": ["b"], 'q"t': ["y"]}), mode="append")


DOORS_TO_ROWS = {
    "delete": lambda table, text: table.delete(f"NOT ({text})"),
    "update": lambda table, text: table.update({'`q"t`': "''"}, predicate=f"NOT ({text})"),
    "value": lambda table, text: table.update({'`q"t`': f"IF({text}, `q\"t`, '')"}),
    "merge": lambda table, text: merge(table, f"one = 1 AND NOT ({text})"),
    "merge value": lambda table, text: merge(table, "one = 1", f"IF({text}, `q\"t`, '')"),
    "merge clause": lambda table, text: (
        table.merge(pa.table({"one": [1]}), "one = 1", "s", "t").when_matched_delete(f"NOT {text}").execute()
    ),
    "overwrite": lambda table, text: write_deltalake(
        table, QUOTED.slice(1, 0), mode="overwrite", predicate=f"NOT ({text})"
    ),
    "DELETE": lambda table, text: run(table, f"DELETE FROM @orders WHERE NOT ({text})"),
    "UPDATE": lambda table, text: run(table, f"UPDATE @orders SET `q\"t` = '' WHERE NOT ({text})"),
    "UPDATE value": lambda table, text: run(table, f"UPDATE @orders SET `q\"t` = IF({text}, `q\"t`, '')"),
    "MERGE": lambda table, text: run(
        table, f"MERGE INTO @orders t USING (SELECT 1) s ON NOT ({text}) WHEN MATCHED THEN DELETE"
    ),
    "MERGE clause": lambda table, text: run(
        table, f"MERGE INTO @orders t USING (SELECT 1) s ON true WHEN MATCHED AND NOT ({text}) THEN DELETE"
    ),
    "REPLACE WHERE": lambda table, text: run(
        table, f"INSERT INTO @orders REPLACE WHERE NOT ({text}) SELECT * FROM @orders WHERE false"
    ),
}
"""Doors that delete the rows that a condition leaves, or empty a column of theirs."""


@pytest.mark.parametrize("door", DOORS_TO_ROWS)
@pytest.mark.parametrize("text", FIRST_ROW[:2])
def test_changes_of_rows_take_double_quotes_in_strings_and_names(quoted, door, text):
    DOORS_TO_ROWS[door](quoted, text)
    assert [each for each in rows(quoted) if each] == ["x"]


@pytest.mark.parametrize("text", FIRST_ROW)
def test_reads_take_double_quotes_in_strings_and_names(quoted, text):
    assert quoted.to_pyarrow_table(filters=text)['q"t'].to_pylist() == ["x"]
    assert quoted.scan(["doc"], text).read_all()["doc"].to_pylist() == ['{"a": 1}']
    assert quoted.explain(text).left_files == (3 if "LIKE" in text else 1)
    assert len(quoted.file_uris(file_pruning_predicate=text)) == 1
    assert len(run(quoted, f"SELECT * FROM @orders WHERE {text}")) == 1
    assert run(quoted, f"SELECT sum(IF({text}, 1, 0)) FROM @orders") == [(1,)]


@pytest.mark.parametrize("text", FIRST_ROW[:2])
def test_checks_take_double_quotes_in_strings_and_names(quoted, text):
    check(quoted, text, lambda rule: quoted.alter.add_constraint({"rule": rule}))
    check(quoted, text, lambda rule: run(quoted, f"ALTER TABLE @orders ADD CONSTRAINT rule_2 CHECK ({rule})"))


@pytest.mark.parametrize(
    "optimize",
    [
        lambda table, text: table.optimize.compact(predicate=text),
        lambda table, text: table.optimize.z_order(['q"t'], predicate=text),
        lambda table, text: run(table, f"OPTIMIZE @orders WHERE {text}"),
    ],
)
def test_maintenance_of_partitions_takes_double_quotes_in_strings(quoted, optimize):
    write_deltalake(quoted, QUOTED, mode="append")
    optimize(quoted, FIRST_ROW[0])
    assert len(DeltaTable(quoted.table_uri).file_uris()) == 5
