"""Statements on one node: what a MERGE may say, which changes it reads, and what is refused by name."""

import duckdb
import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import DeltaError, TableNotFoundError, UnsupportedFeatureError
from deltaarrow.pipeline import OneNodeEngine
from deltaarrow.schema import Field

SET = "SET spark.databricks.delta.write.txnAppId = sums"


def numbers(*rows):
    return pa.table({"id": [id for id, _ in rows], "n": [n for _, n in rows]})


@pytest.fixture
def source(tmp_path):
    table = tmp_path / "source"
    feed = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"}
    write_deltalake(table, numbers((1, 10), (2, 20)), configuration=feed)
    return table


@pytest.fixture
def target(tmp_path):
    write_deltalake(tmp_path / "target", numbers((1, 1), (9, 9)))
    return tmp_path / "target"


def rows(table):
    return sorted(tuple(row.values()) for row in DeltaTable(table).to_pyarrow_table().to_pylist())


def merge(target, query, clauses, *, engine=None, on="t.id = s.id"):
    statement = f"MERGE INTO delta.`{target}` AS t USING ({query}) AS s ON {on} {clauses}"
    return (engine or OneNodeEngine()).run(statement)


ALL = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
CLAUSES = {
    ALL: [(1, 10), (2, 20), (9, 9)],
    "WHEN MATCHED THEN DELETE": [(9, 9)],
    "WHEN MATCHED AND s.n > 10 THEN DELETE WHEN NOT MATCHED BY TARGET AND s.n > 10 THEN INSERT *": [
        (1, 1),
        (2, 20),
        (9, 9),
    ],
    "WHEN MATCHED AND t.n < s.n THEN UPDATE SET t.n = CASE WHEN s.n = 10 THEN t.n + s.n END, id = 5": [
        (5, 11),
        (9, 9),
    ],
    "WHEN NOT MATCHED THEN INSERT (n, id) VALUES (greatest(s.n, 3), s.id)": [(1, 1), (2, 20), (9, 9)],
    "WHEN NOT MATCHED BY SOURCE AND t.n = 9 THEN DELETE": [(1, 1)],
    "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = -1": [(1, 1), (9, -1)],
    "when matched then update set n = /* of both */ s.n + t.n": [(1, 11), (9, 9)],
}


@pytest.mark.parametrize("clauses", CLAUSES)
def test_clauses_mean_what_they_do_in_spark(source, target, clauses):
    report = merge(target, f"SELECT * FROM delta.`{source}`", clauses)
    assert rows(target) == CLAUSES[clauses]
    assert (report.table, report.changes) == (str(target), {})
    assert report.metrics["num_source_rows"] == 2


def test_query_is_of_duckdb_and_reads_the_target_at_the_version_that_is_merged_into(source, target):
    joined = f"delta.`{source}` AS s JOIN delta.`{target}` AS t USING (id)"
    query = f"SELECT id, (s.n + t.n)::BIGINT AS n FROM {joined}"
    merge(target, query, ALL)
    assert rows(target) == [(1, 11), (9, 9)]


FEED = "SELECT id, n FROM table_changes_by_path('{}'{}) WHERE _change_type IN ('insert', 'update_postimage')"


@pytest.mark.parametrize(
    ("versions", "found"),
    [(", 0", [1, 2, 3, 4]), (", 1", [3, 4]), (", 1, 1", [3]), (", 0, 1", [1, 2, 3])],
)
def test_change_data_feed_of_versions(source, target, versions, found):
    for number in (3, 4):
        write_deltalake(source, numbers((number, number)), mode="append")
    report = merge(
        target, FEED.format(source, versions), "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"
    )
    assert report.metrics["num_source_rows"] == len(found)
    assert {id for id, _ in rows(target)} == {9, *found} - {1} | ({1} - {*found})
    assert DeltaTable(target).transaction_version("sums") is None


def test_changes_since_the_last_merge_begin_with_all_rows(source, target):
    columns = "_change_type AS change, _commit_version AS version, _commit_timestamp AS at"
    query = (
        f"SELECT id, n, {columns}, is_incremental() AS goes_on FROM table_changes_by_path('{source}') AS c"
    )
    clauses = "WHEN NOT MATCHED THEN INSERT *"
    log = target.with_name("log")
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("n", pa.int64()),
            ("change", pa.string()),
            ("version", pa.int64()),
            ("at", pa.timestamp("us", "UTC")),
            ("goes_on", pa.bool_()),
        ]
    )
    write_deltalake(log, schema.empty_table())
    write_deltalake(source, numbers((3, 30)), mode="append")
    engine = OneNodeEngine()
    assert engine.run(SET) is None
    first = merge(log, query, clauses, engine=engine, on="false")
    assert first.changes == {str(source): (0, 1)}
    DeltaTable(source).update({"n": "n + 1"}, predicate="id = 1")
    second = merge(log, query, clauses, engine=engine, on="false")
    assert second.changes == {str(source): (2, 2)}
    assert merge(log, query, clauses, engine=engine, on="false").metrics is None
    assert DeltaTable(log).transaction_version("sums") == 2
    found = DeltaTable(log).to_pyarrow_table().to_pylist()
    told = sorted((row["id"], row["n"], *list(row.values())[2:4], row["goes_on"]) for row in found)
    assert told == [
        (1, 10, "insert", 1, False),
        (1, 10, "update_preimage", 2, True),
        (1, 11, "update_postimage", 2, True),
        (2, 20, "insert", 1, False),
        (3, 30, "insert", 1, False),
    ]
    feed = DeltaTable(source).load_cdf(1).read_all().select(["_commit_version", "_commit_timestamp"])
    times = {row["_commit_version"]: row["_commit_timestamp"] for row in feed.to_pylist()}
    assert {row["version"]: row["at"].replace(tzinfo=None) for row in found} == {
        version: time.replace(tzinfo=None) for version, time in times.items()
    }


INTO = "MERGE INTO delta.`{t}` t "
MATCHED = " s ON t.id = s.id WHEN MATCHED THEN "
NOT_MATCHED = " s ON t.id = s.id WHEN NOT MATCHED THEN "
REFUSED = {
    "SELECT * FROM delta.`{t}`": "a statement that one node runs, such as MERGE or OPTIMIZE, is expected",
    "SET spark.sql.shuffle = 8": "spark.sql.shuffle means nothing here; did you mean spark.sql.shuffle",
    f"MERGE INTO orders USING (SELECT 1 AS id){MATCHED}DELETE": "name the table by its path",
    "MERGE WITH SCHEMA EVOLUTION INTO delta.`{t}` AS t": "USING is expected",
    f"{INTO}USING (SELECT 1 AS id) s ON t.id = s.id": "WHEN is expected, and there is the end",
    f"{INTO}USING (SELECT 1 AS id){MATCHED}INSERT *": "UPDATE is expected, and there is 'INSERT'",
    f"{INTO}USING (SELECT 1 AS id){NOT_MATCHED}DELETE": "INSERT is expected",
    f"{INTO}USING (SELECT 1 AS id){MATCHED}DELETE t": "WHEN is expected",
    f"{INTO}USING (SELECT 1 AS id){MATCHED}UPDATE SET n": "= is expected",
    f"{INTO}USING (SELECT 1 AS id){MATCHED}UPDATE SET n = ": "an expression is expected",
    f"{INTO}USING (SELECT 1 AS id){MATCHED}UPDATE SET n = 1, n = 2": "none twice",
    f"{INTO}USING (SELECT 1 AS id) s ON TRUE WHEN NOT MATCHED BY SOURCE THEN UPDATE SET *": "= is expected",
    f"{INTO}USING (SELECT 1 AS id){NOT_MATCHED}INSERT (id, n) VALUES (1)": "as many values as columns",
    INTO + "USING (FROM table_changes_by_path('{s}'))" + MATCHED + "DELETE": "put SET spark.*txnAppId = name",
    INTO + "USING (FROM table_changes_by_path('{s}', 1 + 1))" + MATCHED + "DELETE": ", is expected",
    INTO + "USING (FROM table_changes_by_path('{s}', n))" + MATCHED + "DELETE": "a text or a whole number",
    INTO + "USING (FROM table_changes_by_path('{s}', 1, 2, 3))" + MATCHED + "DELETE": "takes the path",
    INTO + "USING (SELECT 1 AS id WHERE is_incremental())" + MATCHED + "DELETE": "the query does not read",
    INTO
    + "USING (FROM table_changes_by_path('{s}'), table_changes_by_path('{t}'))"
    + MATCHED
    + "DELETE": "the changes of one table, and not of 2",
}


@pytest.mark.parametrize("statement", REFUSED)
def test_what_is_not_supported_is_refused_by_name(source, target, statement):
    before = DeltaTable(target).version()
    with pytest.raises(UnsupportedFeatureError, match=REFUSED[statement]):
        OneNodeEngine().run(statement.format(s=source, t=target))
    assert DeltaTable(target).version() == before


def test_source_is_a_table_and_evolves_the_schema(source, target):
    DeltaTable(source).alter.add_columns([Field("more", "string")])
    engine = OneNodeEngine()
    into = f"INTO delta.`{target}` t USING delta.`{source}` s ON t.id = s.id"
    engine.run(f"MERGE {into} WHEN MATCHED THEN DELETE")
    assert rows(target) == [(9, 9)]
    engine.run(f"MERGE WITH SCHEMA EVOLUTION {into} WHEN NOT MATCHED THEN INSERT *")
    assert rows(target) == [(1, 10, None), (2, 20, None), (9, 9, None)]


def test_tables_and_columns_that_are_not_there(source, target):
    with pytest.raises(TableNotFoundError):
        merge(target.with_name("nothing"), "SELECT 1 AS id", ALL)
    with pytest.raises(TableNotFoundError):
        merge(target, f"SELECT * FROM delta.`{source}s`", ALL)
    with pytest.raises(DeltaError, match="nowhere"):
        merge(target, f"SELECT * FROM delta.`{source}`", "WHEN MATCHED AND nowhere = 1 THEN DELETE")


def test_query_reads_no_variable_of_python(source, target):
    numbers_of_python = numbers((1, 2))
    with pytest.raises(duckdb.CatalogException, match="numbers_of_python"):
        merge(target, "SELECT * FROM numbers_of_python", ALL)
    assert numbers_of_python.num_rows == 1
