"""Values that UPDATE and MERGE assign to columns of every type, by us and by Spark."""

import shutil

import pytest

from deltaarrow import DeltaTable
from deltaarrow.errors import DeltaError
from tests.support.assignments import COLUMNS, REFUSED, ROWS, TAKEN
from tests.support.rows import assert_same_rows
from tests.support.spark import create_table, spark_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def make(spark, path, assignments):
    """A table with a column for each assignment, all NULL at first; return the assignments by column."""
    targets = {f"c{place}": each for place, each in enumerate(assignments)}
    columns = ", ".join(f"{name} {each.type}" for name, each in targets.items())
    table = create_table(spark, path, f"{COLUMNS}, {columns}")
    spark.sql(f"INSERT INTO {table} ({', '.join(each.split()[0] for each in names())}) VALUES {ROWS}")
    return {name: each.text for name, each in targets.items()}


def names():
    return ["id", "x", "s", "at", "day", "xs", "m", "st", "many", "times"]


def test_values_are_those_of_spark(spark, tmp_path):
    updates = make(spark, tmp_path / "ours", TAKEN)
    shutil.copytree(tmp_path / "ours", tmp_path / "theirs")
    DeltaTable(tmp_path / "ours").update(updates)
    assigned = ", ".join(f"{name} = {text}" for name, text in updates.items())
    spark.sql(f"UPDATE delta.`{tmp_path / 'theirs'}` SET {assigned}")
    ours = DeltaTable(tmp_path / "ours").to_pyarrow_table()
    theirs = spark_table(spark, tmp_path / "theirs")
    for name, text in updates.items():
        found, wanted = (table.sort_by("id").column(name).to_pylist() for table in (ours, theirs))
        assert repr(found) == repr(wanted), text
    assert_same_rows(spark_table(spark, tmp_path / "ours"), theirs)


@pytest.mark.parametrize(
    "asks_spark", [pytest.param(False, id="ours"), pytest.param(True, id="both", marks=pytest.mark.slow)]
)
def test_refusals_are_those_of_spark(spark, tmp_path, asks_spark):
    updates = make(spark, tmp_path / "t", REFUSED)
    for name, text in updates.items():
        with pytest.raises(DeltaError):
            DeltaTable(tmp_path / "t").update({name: text})
        if asks_spark:
            with pytest.raises(Exception, match=r"\w"):
                spark.sql(f"UPDATE delta.`{tmp_path / 't'}` SET {name} = {text}").collect()
    assert DeltaTable(tmp_path / "t").version() == 1


STRUCT = "STRUCT<a: INT, b: STRING>"
SOURCE = (
    "named_struct('a', 5) AS less, named_struct('a', 5, 'c', 6) AS more,"
    " named_struct('b', 'n', 'a', 5) AS turned, CAST(NULL AS STRUCT<a: INT>) AS none,"
    " array(named_struct('a', 7)) AS many,"
    " named_struct('p', named_struct('a', 8)) AS deep"
)


@pytest.mark.parametrize("assigns", [pytest.param("all", marks=pytest.mark.slow), "each"])
def test_members_that_a_source_does_not_have(spark, tmp_path, assigns):
    columns = [*(f"{name} {STRUCT}" for name in ("less", "more", "turned", "none"))]
    columns += [f"many ARRAY<{STRUCT}>", f"deep STRUCT<p: {STRUCT}, q: INT>"]
    table = create_table(spark, tmp_path / "ours", f"id INT, {', '.join(columns)}")
    pair = "named_struct('a', 1, 'b', 'x')"
    values = f"{', '.join([pair] * 4)}, array({pair}), named_struct('p', {pair}, 'q', 3)"
    spark.sql(f"INSERT INTO {table} VALUES (1, {values}), (2, {', '.join(['NULL'] * 6)}), (4, {values})")
    shutil.copytree(tmp_path / "ours", tmp_path / "theirs")
    frame = spark.sql(f"SELECT explode(array(1, 2, 3)) AS id, {SOURCE}")
    listed = {name: f"s.{name}" for name in frame.columns}
    merge = DeltaTable(tmp_path / "ours").merge(frame.toArrow(), "t.id = s.id", "s", "t", merge_schema=True)
    frame.createOrReplaceTempView("members")
    head = f"MERGE WITH SCHEMA EVOLUTION INTO delta.`{tmp_path / 'theirs'}` t USING members s ON t.id = s.id"
    if assigns == "all":
        merge.when_matched_update_all().when_not_matched_insert_all().execute()
        spark.sql(f"{head} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    else:
        merge.when_matched_update(listed).when_not_matched_insert(listed).execute()
        said = ", ".join(f"{name} = {text}" for name, text in listed.items())
        inserted = f"({', '.join(listed)}) VALUES ({', '.join(listed.values())})"
        spark.sql(f"{head} WHEN MATCHED THEN UPDATE SET {said} WHEN NOT MATCHED THEN INSERT {inserted}")
    wanted = spark_table(spark, tmp_path / "theirs")
    assert_same_rows(spark_table(spark, tmp_path / "ours"), wanted)
    assert_same_rows(DeltaTable(tmp_path / "ours").to_pyarrow_table(), wanted)
    for clause in (merge.when_matched_update_all, merge.when_not_matched_insert_all):
        again = DeltaTable(tmp_path / "ours").merge(frame.toArrow(), "t.id = s.id", "s", "t")
        with pytest.raises(DeltaError, match="field"):
            getattr(again, clause.__name__)().execute()
