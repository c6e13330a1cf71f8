"""Columns of PySpark as SQL text: what has one, and what is refused by name."""

import datetime
import decimal

import pytest

import deltaarrow as da
from deltaarrow.errors import UnsupportedFeatureError

ROWS = """
    SELECT id, id * 0.5D AS x, cast(id AS decimal(9, 2)) AS c, 'it''s ' || id AS s, date'2026-01-01' AS d,
      timestamp'2026-01-01 00:00:00.25' AS at, named_struct('f g', id) AS st, array(id, 2L) AS a,
      map('k', id) AS m, id AS `a b`, id > 1 AS yes
    FROM range(4)
"""


def texts_of(spark, functions):
    col, lit = functions.col, functions.lit
    return {
        "(`s` = 'it\\'s \\\\')": col("s") == "it's \\",
        "(`x` > 1.5D)": col("x") > 1.5,
        "(`c` > 1.5BD)": col("c") > decimal.Decimal("1.5"),
        "(`d` = DATE '2026-01-31')": col("d") == datetime.date(2026, 1, 31),
        "(`at` < TIMESTAMP '2026-01-31 01:02:03.5')": col("at")
        < datetime.datetime(2026, 1, 31, 1, 2, 3, 500000),
        "((`id` IS NULL) OR (NOT ((`id` IN (1, 2)))))": col("id").isNull() | ~col("id").isin(1, 2),
        "`st`.`f g`": col("st")["f g"],
        "`a`[0]": col("a")[0],
        "`m`.`k`": col("m")["k"],
        "(`a b` + 1)": col("`a b`") + 1,
        "(CASE WHEN (`id` > 1) THEN `s` ELSE NULL END)": functions.when(col("id") > 1, col("s")).otherwise(
            lit(None)
        ),
        "TRY_CAST(`s` AS INT)": col("s").try_cast("int"),
        "(s LIKE 'a, (b%' AND yes)": functions.expr("s LIKE 'a, (b%' AND yes"),
        "((s = 'a') AND `yes`)": functions.expr("s = 'a'") & col("yes"),
        "(`id` = 1099511627776L)": col("id") == 1 << 40,
        "`id`": col("id").alias("other"),
        "(`id` <=> NULL)": col("id").eqNullSafe(None),
    }


def test_a_column_becomes_the_text_that_spark_says_means_the_same(spark):
    from pyspark.sql import functions

    from deltaarrow.spark.tables.column_sql import ColumnTexts

    frame = spark.sql(ROWS)
    texts = ColumnTexts([lambda: frame])
    for text, column in texts_of(spark, functions).items():
        assert texts.text(column) == text
        # What the engine here makes of the text is compared with Spark in tests/spark/test_spark_sql.py.
        frame.selectExpr(text)


def test_a_column_without_a_text_is_refused(spark):
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions

    from deltaarrow.spark.tables.column_sql import ColumnTexts

    frame = spark.sql(ROWS)
    texts = ColumnTexts([lambda: frame])
    for column in (
        functions.col("st").withField("n", functions.lit(1)),
        functions.lit(b"a"),
    ):
        with pytest.raises(
            UnsupportedFeatureError, match="no text in Spark SQL that certainly means the same"
        ):
            texts.text(column)
    with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN"):
        texts.text(functions.col("nothing") == 1)
    # A column of another frame is not the column of that name.
    with pytest.raises(AnalysisException):
        texts.text(spark.range(1)["id"] == 1)


def test_wrong_arguments_are_refused_as_delta_spark_does(spark, tmp_path):
    from deltaarrow.spark.tables import DeltaTable, IdentityGenerator

    da.write_deltalake(tmp_path, da.connect(dialect="spark").sql("SELECT 1 AS id").to_arrow_table())
    table = DeltaTable.forPath(spark, str(tmp_path))
    source = spark.range(1)
    merge = table.merge(source, "true")
    builder = DeltaTable.create(spark)
    for error, message, call in (
        (TypeError, "Column or a string", lambda: table.delete(1)),
        (ValueError, "'set' cannot be None", lambda: table.update("id = 1")),
        (TypeError, "must be a dict", lambda: table.update(set=[])),
        (TypeError, "only strings", lambda: table.update(set={1: "1"})),
        (TypeError, "Values of dict", lambda: table.update(set={"id": 1})),
        (ValueError, "'source' in merge cannot be None", lambda: table.merge(None, "true")),
        (TypeError, "must be DataFrame", lambda: table.merge("x", "true")),
        (ValueError, "'condition' in merge cannot be None", lambda: table.merge(source, None)),
        (TypeError, "Column or a string", lambda: table.merge(source, 1)),
        (ValueError, "'values' in whenNotMatchedInsert", lambda: merge.whenNotMatchedInsert("true")),
        (
            ValueError,
            "version needs to be an int but got '<class 'str'>'",
            lambda: table.restoreToVersion("1"),
        ),
        (ValueError, "timestamp needs to be a string", lambda: table.restoreToTimestamp(1)),
        (ValueError, "isShallow needs to be a boolean", lambda: table.clone("/x", "yes")),
        (ValueError, "All property values", lambda: table.clone("/x", properties={"a": 1})),
        (ValueError, "needs to be an integer", lambda: table.upgradeTableProtocol("1", 2)),
        (ValueError, "featureName needs to be a string", lambda: table.addFeatureSupport(1)),
        (ValueError, "truncateHistory", lambda: table.dropFeatureSupport("a", 1)),
        (TypeError, "Z-order column must be str", lambda: table.optimize().executeZOrderBy(1)),
        (TypeError, "Clustering column must be str", lambda: builder.clusterBy(1)),
        (TypeError, "Partitioning column must be str", lambda: builder.partitionedBy(["a", 1])),
        (TypeError, "Identifier must be str", lambda: builder.tableName(1)),
        (TypeError, "StructField", lambda: builder.addColumns([1])),
        (TypeError, "Column data type", lambda: builder.addColumn("a", 1)),
        (ValueError, "cannot both be set", lambda: _twice(builder, IdentityGenerator())),
        (ValueError, "non-zero", lambda: builder.addColumn("a", "BIGINT", True, IdentityGenerator(1, 0))),
        (ValueError, "a name or a folder", lambda: DeltaTable.create(spark).execute()),
        (
            UnsupportedFeatureError,
            "Hadoop",
            lambda: DeltaTable.forPath(spark, "/x", {"fs.s3a.access.key": "k"}),
        ),
    ):
        with pytest.raises(error, match=message):
            call()
    assert da.DeltaTable(tmp_path).version() == 0


def _twice(builder, generator):
    builder.addColumn("a", "BIGINT", generatedAlwaysAs=generator, generatedByDefaultAs=generator)


def test_rows_are_not_computed_without_ansi_mode(spark, tmp_path):
    from deltaarrow.spark.tables import DeltaTable

    da.write_deltalake(tmp_path, da.connect(dialect="spark").sql("SELECT 1 AS id").to_arrow_table())
    table = DeltaTable.forPath(spark, str(tmp_path))
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        with pytest.raises(UnsupportedFeatureError, match=r"spark\.sql\.ansi\.enabled"):
            table.delete("id = 1")
        assert table.history().count() == 1
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_names_are_kept_in_the_file_catalog_and_found_in_that_of_spark(spark, tmp_path):
    from deltaarrow.errors import TableNotFoundError, VersionExistsError
    from deltaarrow.spark.tables import DeltaTable

    spark.conf.set("spark.deltaarrow.catalog", str(tmp_path / "catalog"))
    spark.sql(f"CREATE TABLE known_to_spark (id INT) USING delta LOCATION '{tmp_path / 'known'}'")
    try:
        made = DeltaTable.create(spark).tableName("orders").addColumn("id", "INT").execute()
        made.clone("copied", isShallow=True)
        assert da.DeltaTable(tmp_path / "catalog/default/orders").schema().names == ["id"]
        DeltaTable.forName(spark, "default.copied").update(set={"copied.id": "copied.id + 1"})
        DeltaTable.forName(spark, "Known_to_Spark").update(set={"id": "1"})
        assert da.DeltaTable(tmp_path / "known").table_uri == str(tmp_path / "known")
        for name in ("orders", "known_to_spark"):
            with pytest.raises(VersionExistsError, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
                DeltaTable.create(spark).tableName(name).addColumn("id", "INT").execute()
        with pytest.raises(TableNotFoundError, match="nothing"):
            DeltaTable.forName(spark, "nothing")
        spark.createDataFrame([], "id INT").createOrReplaceTempView("a_view")
        with pytest.raises(TableNotFoundError, match="a_view"):
            DeltaTable.forName(spark, "a_view")
    finally:
        spark.sql("DROP TABLE known_to_spark")
        spark.conf.unset("spark.deltaarrow.catalog")
