"""What delta-spark's documentation shows, with its `DeltaTable` and with that of `deltaarrow.spark.tables`.

Each example runs on two equal tables, once with each import. Rows, history, protocol and properties of the
two are the same afterwards, and so are the columns of what the example returns.
"""

import contextlib
import datetime
import json
import re
import shutil

import pytest

import deltaarrow as da
from tests.support.rows import assert_same_rows

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

EVENTS = """
    SELECT id AS eventId, date_add(date'2016-12-30', cast(id AS int)) AS date,
      if(id % 2 = 0, 'clck', 'it''s') AS eventType, named_struct('n', id * 10, 'm', id) AS data,
      id * 1.5D AS price, cast(id AS decimal(9, 2)) AS cost, array(cast(id AS int), 1) AS tags
    FROM range(0, 8, 1, 1)
"""
UPDATES = """
    SELECT id AS eventId, date'2020-02-02' AS date, 'new' AS eventType,
      named_struct('n', -id, 'm', id) AS data, id * 0.5D AS price, cast(1 AS decimal(9, 2)) AS cost,
      array(9) AS tags
    FROM range(6, 10, 1, 1)
"""

EXAMPLES = {}
"""Name -> what is done with the module, the session, the table and its folder."""


def example(function):
    EXAMPLES[function.__name__] = function
    return function


def updates(spark):
    return spark.sql(UPDATES)


@example
def delete_by_text(module, spark, table, path):
    table.delete("date < '2017-01-01'")


@example
def delete_by_column(module, spark, table, path):
    from pyspark.sql.functions import col

    table.delete(col("date") < "2017-01-01")


@example
def delete_all(module, spark, table, path):
    table.delete()


@example
def update_by_text(module, spark, table, path):
    table.update(condition="eventType = 'clck'", set={"eventType": "'click'", "data.n": "data.n + 1"})


@example
def update_by_column(module, spark, table, path):
    from pyspark.sql.functions import array, col, lit, transform, upper, when

    is_wanted = (col("eventType") == "it's") & ~col("eventId").isin(1, 2) & (col("price") > 1.5)
    table.update(
        condition=is_wanted | col("data")["m"].isNull(),
        set={
            "eventType": upper(col("eventType")),
            "price": when(col("price") > 6, col("price") / 2).otherwise(lit(None)),
            "date": lit(datetime.date(2026, 1, 31)),
            "cost": col("cost").cast("decimal(9,2)"),
            "tags": transform(array(col("eventId").cast("int"), lit(2)), lambda tag: tag + 1),
        },
    )


@example
def update_all(module, spark, table, path):
    table.update(set={"eventType": "'x'"})


@example
def merge_by_text(module, spark, table, path):
    merge = table.alias("events").merge(
        source=updates(spark).alias("updates"), condition="events.eventId = updates.eventId"
    )
    return (
        merge.whenMatchedUpdate(set={"eventType": "updates.eventType", "price": "events.price + 1"})
        .whenNotMatchedInsert(
            values={"date": "updates.date", "eventId": "updates.eventId", "eventType": "'inserted'"}
        )
        .execute()
    )


@example
def merge_by_column(module, spark, table, path):
    from pyspark.sql.functions import col, expr, lit

    return (
        table.alias("events")
        .merge(source=updates(spark).alias("updates"), condition=expr("events.eventId = updates.eventId"))
        .whenMatchedDelete(condition=col("events.eventId") == 7)
        .whenMatchedUpdate(
            condition=col("updates.price") > col("events.price") - 100.5,
            set={"eventType": col("updates.eventType"), "price": col("events.price") + 1},
        )
        .whenNotMatchedInsert(
            condition="updates.eventId < 9",
            values={"date": col("updates.date"), "eventId": col("eventId"), "eventType": lit("1")},
        )
        .whenNotMatchedBySourceUpdate(condition=col("eventId") < 2, set={"price": col("price") * 2})
        .whenNotMatchedBySourceDelete(condition="events.eventId = 3")
        .execute()
    )


@example
def upsert(module, spark, table, path):
    source = updates(spark).alias("s")
    merge = table.alias("t").merge(source, "s.eventId = t.eventId")
    return merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


@example
def merge_without_an_alias_by_columns_of_the_frames(module, spark, table, path):
    source = updates(spark)
    merge = table.merge(source, table.toDF()["eventId"] == source["eventId"])
    return merge.whenMatchedUpdate(set={"price": source["price"]}).execute()


@example
def deduplicate(module, spark, table, path):
    source = updates(spark)
    merge = table.alias("logs").merge(source.alias("new"), "logs.eventId = new.eventId")
    return merge.whenNotMatchedInsertAll("new.date > current_date() - INTERVAL 7 DAYS").execute()


@example
def merge_with_schema_evolution(module, spark, table, path):
    source = updates(spark).withColumnRenamed("price", "paid").alias("s")
    merge = table.alias("t").merge(source, "t.eventId = s.eventId").withSchemaEvolution()
    return merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


@example
def compaction(module, spark, table, path):
    updates(spark).write.format("delta").mode("append").save(path)
    return table.optimize().executeCompaction()


@example
def z_order(module, spark, table, path):
    updates(spark).write.format("delta").mode("append").save(path)
    return table.optimize().executeZOrderBy("eventId", "price")


@example
def restore(module, spark, table, path):
    table.delete("eventId < 4")
    return table.restoreToVersion(0)


@example
def restore_of_a_time(module, spark, table, path):
    first = table.history().collect()[0]["timestamp"]
    table.delete("eventId < 4")
    return table.restoreToTimestamp(first.strftime("%Y-%m-%d %H:%M:%S.%f"))


@example
def vacuum(module, spark, table, path):
    table.delete("eventId < 4")
    return table.vacuum()


@example
def features(module, spark, table, path):
    table.upgradeTableProtocol(1, 3)
    table.addFeatureSupport("deletionVectors")
    table.delete("eventId = 1")


@example
def feature_dropped(module, spark, table, path):
    table.addFeatureSupport("checkConstraints")
    table.dropFeatureSupport("checkConstraints")


@example
def clone(module, spark, table, path):
    table.clone(f"{path}-clone", True, properties={"own": "yes"})
    module.DeltaTable.forPath(spark, f"{path}-clone").update(set={"price": "0"})


@example
def clone_at_version(module, spark, table, path):
    table.delete("eventId < 4")
    table.cloneAtVersion(0, f"{path}-clone", isShallow=True, replace=False)


@example
def manifests(module, spark, table, path):
    table.generate("symlink_format_manifest")


@example
def history(module, spark, table, path):
    table.delete("eventId < 4")
    return table.history(1)


@example
def detail(module, spark, table, path):
    return table.detail()


@example
def conversion(module, spark, table, path):
    folder = f"{path}-clone"
    rows = spark.sql("SELECT id, id % 2 AS part FROM range(0, 4, 1, 1)")
    rows.write.partitionBy("part").parquet(folder)
    module.DeltaTable.convertToDelta(spark, f"parquet.`{folder}`", "part int")


@example
def created(module, spark, table, path):
    from pyspark.sql.types import IntegerType, StringType

    builder = module.DeltaTable.create(spark).location(f"{path}-clone").comment("people")
    builder.addColumn("id", "BIGINT", generatedAlwaysAs=module.IdentityGenerator(5, 2))
    builder.addColumn("other", "BIGINT", generatedByDefaultAs=module.IdentityGenerator())
    builder.addColumn("firstName", "STRING", comment="the first")
    builder.addColumn("lastName", StringType(), nullable=False)
    builder.addColumn("age", IntegerType(), generatedAlwaysAs="length(firstName) + 1")
    return builder.partitionedBy("lastName").property("delta.appendOnly", "true").execute()


@example
def created_clustered(module, spark, table, path):
    builder = module.DeltaTable.createIfNotExists(spark).location(f"{path}-clone")
    builder.addColumns(spark.sql(EVENTS).schema).clusterBy(["eventId", "date"]).execute()
    module.DeltaTable.createIfNotExists(spark).location(f"{path}-clone").addColumn("x", "INT").execute()


@example
def replaced(module, spark, table, path):
    module.DeltaTable.replace(spark).location(path).addColumns(spark.range(1).schema).execute()
    module.DeltaTable.createOrReplace(spark).location(f"{path}-clone").addColumn("k", "STRING").execute()


EVERYDAY = ("merge_by_column", "created")
RESULT_IS_SAME = ("merge_by_text", "merge_by_column", "upsert", "deduplicate")
FIGURES = re.compile(r"Time|Bytes|bytes|[Ss]ize|Ms$")


@pytest.mark.parametrize("name", EVERYDAY)
def test_an_example_does_the_same_with_both_imports(spark, tmp_path, name):
    check(spark, tmp_path, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [each for each in EXAMPLES if each not in EVERYDAY])
def test_an_example_does_the_same_with_both_imports_at_length(spark, tmp_path, name):
    check(spark, tmp_path, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["update_by_column", "delete_by_text", "compaction"])
def test_an_example_does_the_same_on_executors(spark, tmp_path, name):
    check(spark, tmp_path, name, on_executors=True)


def check(spark, tmp_path, name, on_executors=False):
    import delta.tables

    import deltaarrow.spark.tables

    modules = {"delta-spark": delta.tables, "deltaarrow": deltaarrow.spark.tables}
    frames = {}
    first = tmp_path / "first"
    spark.sql(EVENTS).write.format("delta").save(str(first))
    for package, module in modules.items():
        path = str(tmp_path / package)
        shutil.copytree(first, path)
        table = module.DeltaTable.forPath(spark, path)
        is_there = on_executors and package == "deltaarrow"
        with deltaarrow.spark.on_executors(spark) if is_there else contextlib.nullcontext():
            frames[package] = EXAMPLES[name](module, spark, table, path)
    theirs, ours = frames.values()
    if hasattr(theirs, "schema"):
        # What a result never leaves empty, Spark says so of in some results.
        assert ours.schema.simpleString() == theirs.schema.simpleString()
        if name in RESULT_IS_SAME:
            assert ours.collect() == theirs.collect()
        else:
            assert len(ours.collect()) == len(theirs.collect())
    for ending in ("", "-clone"):
        paths = [tmp_path / f"{each}{ending}" for each in modules]
        if paths[0].exists():
            same_tables(*paths)


def same_tables(theirs, ours):
    """Two tables have the same rows, history, protocol, columns and properties."""
    tables = [da.DeltaTable(each) for each in (theirs, ours)]
    assert_same_rows(*(each.to_pyarrow_table() for each in tables))
    # delta-spark commits a VACUUM that deletes nothing.
    first, second = (
        [commit_of(entry) for entry in each.history() if not entry["operation"].startswith("VACUUM")]
        for each in tables
    )
    assert second == first
    first, second = (each.protocol() for each in tables)
    assert (second.min_reader_version, second.min_writer_version) == first[:2]
    assert set(second.writer_features or ()) == set(first.writer_features or ())
    first, second = (json.loads(each.schema().to_json()) for each in tables)
    assert second == first
    assert tables[1].metadata().configuration == tables[0].metadata().configuration
    assert tables[1].metadata().description == tables[0].metadata().description
    assert tables[1].verify().ok


def commit_of(entry):
    """What the two have to tell alike of a commit: all but the words of conditions, and figures of files."""
    told = {key: told_of(key, text) for key, text in (entry.get("operationParameters") or {}).items()}
    metrics = {
        key: text
        for key, text in (entry.get("operationMetrics") or {}).items()
        if not FIGURES.search(key) and not key.startswith("numTargetChange")
    }
    return entry["operation"], told, metrics


def told_of(key, text):
    if not key.lower().endswith(("predicate", "predicates")):
        # delta-spark spells a feature in small letters in some commits.
        text = re.sub(r"delta\.feature\.\w+", lambda found: found[0].lower(), str(text))
        return re.sub(r"delta\.`[^`]*`|file:[^\"]*", "", text)
    clauses = json.loads(text)
    return [each == "true" if isinstance(each, str) else kind_of(each) for each in clauses]


def kind_of(clause):
    return clause.get("actionType"), "predicate" in clause
