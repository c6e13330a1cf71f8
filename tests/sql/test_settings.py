"""SET, RESET and EXPLAIN, and statements that are refused by name.

``python -m tests.sql.test_settings`` rewrites the table of fixed settings in ``docs/sql.md``.
"""

import re

import duckdb
import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.spark_sql import parse_time_zone
from deltaarrow.sql.session_settings import (
    APPLICATION,
    APPLICATION_VERSION,
    APPLICATION_VERSION_RESETS,
    AUTO_COMPACT,
    AUTO_MERGE,
    MAX_FILE_SIZE,
    OVERWRITE_MODE,
    RETENTION_CHECK,
    SETTINGS,
    TIME_ZONE,
    Settings,
)
from deltaarrow.sql.spark_settings import FIXED
from tests.support.modules import ROOT

PAGE = ROOT / "docs" / "sql.md"
TABLE = re.compile(
    r"(?<=<!-- fixed settings: written by `python -m tests\.sql\.test_settings` -->\n).*?"
    r"(?=<!-- end of fixed settings -->)",
    re.DOTALL,
)
CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"


@pytest.fixture
def con():
    with deltaarrow.connect(dialect="spark") as connection:
        yield connection


def pairs(table):
    return [(row["key"], row["value"]) for row in table.to_pylist()]


@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
def test_setting_is_shown_set_and_reset(con, dialect):
    assert pairs(con.sql(f"SET {CHECK}", dialect=dialect)) == [(CHECK, "true")]
    assert pairs(con.sql(f"set {CHECK}=false;", dialect=dialect)) == [(CHECK, "false")]
    assert pairs(con.sql(f"SET {CHECK}", dialect=dialect)) == [(CHECK, "false")]
    assert con.sql(f"RESET {CHECK}", dialect=dialect).to_pylist() == []
    assert pairs(con.sql(f"SET {CHECK}", dialect=dialect)) == [(CHECK, "true")]


def test_settings_that_were_set_are_listed(con):
    assert pairs(con.sql("SET")) == []
    con.sql(f"SET `spark.sql.shuffle.partitions` = 8; SET {CHECK} = FALSE")
    assert pairs(con.sql("SET")) == [(CHECK, "FALSE"), ("spark.sql.shuffle.partitions", "8")]
    listed = con.sql("SET -v").to_pylist()
    assert [each["key"] for each in listed] == sorted(SETTINGS)
    assert all(each["meaning"].endswith(".") for each in listed)
    con.sql("RESET")
    assert pairs(con.sql("SET")) == []


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_default_is_what_its_text_means(name):
    settings = Settings()
    setting = SETTINGS[name]
    shown = settings.text(name)
    if shown == "<undefined>":
        assert settings[setting] is None
    else:
        settings.set(name, shown)
        assert settings[setting] == setting.default


@pytest.mark.parametrize(
    "name",
    [
        "spark.sql.adaptive.skewJoin.enabled",
        "spark.sql.optimizer.excludedRules",
        "spark.sql.files.maxPartitionBytes",
        "spark.sql.parquet.filterPushdown.date",
        "spark.databricks.delta.stats.skipping",
        "spark.databricks.delta.merge.materializeSource.maxAttempts",
        "spark.databricks.delta.streaming.schemaTracking.enabled",
        "spark.databricks.delta.incremental.commit.verify",
    ],
)
def test_setting_of_sparks_own_work_has_no_effect(con, name):
    assert pairs(con.sql(f"SET {name}")) == [(name, "<undefined>")]
    assert pairs(con.sql(f"SET {name} = true")) == [(name, "true")]
    con.sql(f"RESET {name}")


@pytest.mark.parametrize(
    "name",
    [
        "spark.sql.optimizer.decorrelateSubqueryLegacyIncorrectCountHandling.enabled",
        "spark.sql.files.maxRecords",
        "spark.sql.legacy.timeParserPolicy",
        "spark.databricks.delta.typeWidening.allowAutomaticWidening",
        "spark.databricks.delta.vacuum.logging.enabled",
        "spark.databricks.delta.merge.failIfSourceChanged",
    ],
)
def test_setting_that_may_change_an_answer_is_refused(con, name):
    with pytest.raises(UnsupportedFeatureError, match="means nothing here"):
        con.sql(f"SET {name} = true")


@pytest.mark.parametrize("name", sorted(FIXED))
def test_fixed_setting_has_one_value(con, name):
    value = FIXED[name].value
    assert pairs(con.sql(f"SET {name}")) == [(name, value)]
    assert pairs(con.sql(f"SET {name} = {value.upper()}")) == [(name, value.upper())]
    with pytest.raises(UnsupportedFeatureError, match=re.escape(FIXED[name].reason)):
        con.sql(f"SET {name} = other")
    con.sql(f"RESET {name}")
    assert pairs(con.sql("SET")) == []


def fixed_settings():
    rows = [f"| `{name}` | `{each.value}` | {each.reason} |\n" for name, each in sorted(FIXED.items())]
    return "\n| Setting | Value | Reason |\n|---|---|---|\n" + "".join(rows) + "\n"


def test_page_lists_the_fixed_settings():
    [written] = TABLE.findall(PAGE.read_text("utf-8"))
    assert written == fixed_settings()


def test_values_have_their_types():
    settings = Settings()
    for setting, text, value in (
        (RETENTION_CHECK, "False", False),
        (AUTO_MERGE, "TRUE", True),
        (OVERWRITE_MODE, "Dynamic", "dynamic"),
        (APPLICATION, "my app", "my app"),
        (APPLICATION_VERSION, "7", 7),
        (MAX_FILE_SIZE, "1000", 1000),
        (TIME_ZONE, "'Europe/Berlin'", parse_time_zone("Europe/Berlin")),
    ):
        settings.set(setting.name, text)
        assert settings[setting] == value
        assert settings.text(setting.name) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (CHECK, "maybe"),
        (CHECK, "'true'"),
        ("spark.sql.sources.partitionOverwriteMode", "x"),
        ("spark.sql.session.timeZone", "Europe/Nowhere"),
        ("spark.sql.ansi.enabled", "false"),
        ("spark.sql.decimalOperations.allowPrecisionLoss", "false"),
        ("spark.databricks.delta.write.txnVersion", "-1"),
        ("spark.databricks.delta.write.txnAppId", ""),
        ("spark.databricks.delta.optimize.maxFileSize", "0"),
    ],
)
def test_text_that_is_no_value_is_refused(con, name, text):
    with pytest.raises(UnsupportedFeatureError, match=r"\[INVALID_CONF_VALUE\.[A-Z_]+\] .* must be "):
        con.sql(f"SET {name} = {text}")
    assert pairs(con.sql("SET")) == []


def test_unknown_setting_is_refused_with_near_ones(con):
    with pytest.raises(UnsupportedFeatureError, match=f"did you mean {CHECK} or "):
        con.sql("SET spark.databricks.delta.retentionDurationCheck.enable = false")
    with pytest.raises(UnsupportedFeatureError, match=r"a\.b means nothing here"):
        con.sql("RESET a.b")
    with pytest.raises(UnsupportedFeatureError, match=r"a\.b means nothing here"):
        con.sql("SET a.b")
    with pytest.raises(UnsupportedFeatureError, match="session variables"):
        con.sql("SET VAR x = 1")
    with pytest.raises(UnsupportedFeatureError, match="the name of a setting is expected"):
        con.sql("SET a b = 1")


def test_settings_of_duckdb_stay_duckdbs(con):
    con.sql("SET threads = 1", dialect="duckdb")
    assert con.sql("SELECT current_setting('threads')", dialect="duckdb").fetchall() == [(1,)]
    con.sql("RESET threads", dialect="duckdb")
    assert pairs(con.sql("SET")) == []


def test_time_zone_has_a_statement_of_its_own(con):
    assert pairs(con.sql("SET TIME ZONE 'UTC'")) == [("spark.sql.session.timeZone", "UTC")]
    assert pairs(con.sql("SET TIME ZONE INTERVAL -90 MINUTES")) == [("spark.sql.session.timeZone", "-01:30")]
    with pytest.raises(UnsupportedFeatureError, match="a zone in quotes, LOCAL or an INTERVAL is expected"):
        con.sql("SET TIME ZONE Europe/Berlin")


def test_the_local_time_zone_is_that_of_the_machine(con):
    ((machines,),) = duckdb.connect().execute("SELECT current_setting('TimeZone')").fetchall()
    assert pairs(con.sql("SET TIME ZONE LOCAL")) == [("spark.sql.session.timeZone", machines)]


def test_duckdb_shows_times_in_the_session_time_zone(con):
    def zone():
        return con.sql("SELECT current_setting('TimeZone')", dialect="duckdb").fetchall()[0][0]

    before = zone()
    con.sql("RESET")
    assert zone() == before
    for name, shown in (("Europe/Berlin", "Europe/Berlin"), ("-03:00", "Etc/GMT+3"), ("+05:30", "UTC")):
        con.sql(f"SET TIME ZONE '{name}'")
        assert zone() == shown
    con.sql("SET TIME ZONE 'Europe/Berlin'")
    con.sql("RESET spark.sql.session.timeZone")
    assert zone() == "UTC"


def test_cursor_has_settings_of_its_own(con):
    con.sql(f"SET {CHECK} = false")
    assert pairs(con.cursor().sql("SET")) == []


def test_settings_say_what_goes_into_a_commit(con):
    settings = Settings()
    assert (settings.commit_properties(), settings.hook_properties()) == (None, None)
    settings.set("spark.databricks.delta.commitInfo.userMetadata", "why")
    settings.set("spark.databricks.delta.write.txnAppId", "app")
    with pytest.raises(UnsupportedFeatureError, match=r"DELTA_INVALID_IDEMPOTENT.*txnVersion is not"):
        settings.commit_properties()
    settings.set("spark.databricks.delta.write.txnVersion", "3")
    found = settings.commit_properties()
    assert found.custom_metadata == {"userMetadata": "why"}
    assert [(each.app_id, each.version) for each in found.app_transactions] == [("app", 3)]
    assert settings.commit_properties(is_write=False).app_transactions is None
    settings.set(AUTO_COMPACT.name, "false")
    assert settings.hook_properties().auto_compact is False


@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
def test_statement_of_an_application_changes_rows_once(con, tmp_path, dialect):
    deltaarrow.write_deltalake(tmp_path / "t", pa.table({"id": [1, 2, 3], "v": [0, 0, 0]}))
    table = f"delta.`{tmp_path / 't'}`"
    con.sql(f"SET {APPLICATION.name} = app")
    source = "(SELECT 3 AS id, 100 AS v) s ON t.id = s.id"
    statements = [
        f"UPDATE {table} SET v = v + 1 WHERE id = 1",
        f"UPDATE {table} SET v = v + 1 WHERE id IN (SELECT 1)",
        f"DELETE FROM {table} WHERE id = 2",
        f"INSERT INTO {table} VALUES (4, 4)",
        f"MERGE INTO {table} AS t USING {source} WHEN MATCHED THEN UPDATE SET v = t.v + s.v",
    ]
    for version, statement in enumerate(statements):
        con.sql(f"SET {APPLICATION_VERSION.name} = {version}")
        con.sql(statement, dialect=dialect)
        con.sql(statement, dialect=dialect)
    found = con.sql(f"SELECT id, v FROM {table} ORDER BY id").fetchall()
    assert found == [(1, 2), (3, 100), (4, 4)]


def test_version_of_an_application_is_for_one_write_if_it_is_reset(con, tmp_path):
    deltaarrow.write_deltalake(tmp_path / "t", pa.table({"id": [1]}))
    insert = f"INSERT INTO delta.`{tmp_path / 't'}` VALUES (2)"
    con.sql(f"SET {APPLICATION.name} = app; SET {APPLICATION_VERSION.name} = 1")
    con.sql(f"SET {APPLICATION_VERSION_RESETS.name} = true; {insert}")
    assert pairs(con.sql(f"SET {APPLICATION_VERSION.name}")) == [(APPLICATION_VERSION.name, "<undefined>")]
    with pytest.raises(UnsupportedFeatureError, match="DELTA_INVALID_IDEMPOTENT"):
        con.sql(insert)
    assert deltaarrow.DeltaTable(tmp_path / "t").version() == 1


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("CACHE TABLE t", "CACHE TABLE"),
        ("CACHE LAZY TABLE t AS SELECT 1", "CACHE TABLE"),
        ("UNCACHE TABLE t", "UNCACHE TABLE"),
        ("CLEAR CACHE", "CLEAR CACHE"),
        ("REFRESH TABLE t", "REFRESH"),
        ("MSCK REPAIR TABLE t", "MSCK REPAIR TABLE"),
        ("DROP HISTORY t", "DROP HISTORY"),
        ("TRUNCATE HISTORY", "TRUNCATE HISTORY"),
        ("LOAD DATA INPATH '/etc/passwd' INTO TABLE t", "LOAD DATA"),
        ("ADD JAR '/x.jar'", "ADD JAR"),
        ("EXECUTE IMMEDIATE 'SELECT 1'", "EXECUTE IMMEDIATE"),
    ],
)
def test_statement_without_a_place_is_refused_by_name(con, text, what):
    with pytest.raises(UnsupportedFeatureError, match=f"{what} is not supported here: ") as refused:
        con.sql(text)
    assert refused.value.feature == what


def test_explain_without_a_query_is_refused(con):
    with pytest.raises(UnsupportedFeatureError, match="a statement is expected, and there is the end"):
        con.sql("EXPLAIN FORMATTED")


def test_explain_tells_which_files_are_skipped(con, tmp_path):
    for number in range(2):
        data = pa.table({"id": [number], "p": [number]})
        deltaarrow.write_deltalake(tmp_path / "t", data, mode="append", partition_by=["p"])
    text = f"SELECT id FROM delta.`{tmp_path}/t` WHERE p = 1"
    for mode in ("", "EXTENDED ", "FORMATTED "):
        [row] = con.sql(f"EXPLAIN {mode}{text};").to_pylist()
        assert "1 left" in row["plan"]
    assert con.sql("EXPLAIN SELECT 1").to_pylist() == [{"plan": "no Delta table is read"}]


def test_explain_of_duckdb_tells_them_after_the_plan(con, tmp_path):
    for number in range(2):
        deltaarrow.write_deltalake(tmp_path / "t", pa.table({"id": [number]}), mode="append")
    text = f"SELECT id FROM delta.'{tmp_path}/t' WHERE id = 1"
    for mode, plan in (("", "physical_plan"), ("ANALYZE ", "analyzed_plan")):
        found = con.sql(f"EXPLAIN {mode}{text}", dialect="duckdb").fetchall()
        assert [key for key, _ in found] == [plan, "delta_files"]
        assert "reads 1 of 2 files" in found[1][1]
        assert "id = 1  statistics: skips 1 file, 1 left" in found[1][1]


@pytest.mark.parametrize("mode", ["(FORMAT json) SELECT id FROM {t} WHERE id = 1", "SELECT 1"])
def test_explain_of_duckdb_with_options_and_of_its_own_tables_is_left_to_it(con, tmp_path, mode):
    deltaarrow.write_deltalake(tmp_path / "t", pa.table({"id": [1]}))
    found = con.sql("EXPLAIN " + mode.format(t=f"delta.'{tmp_path}/t'"), dialect="duckdb")
    assert [key for key, _ in found.fetchall()] == ["physical_plan"]


def test_explain_of_duckdb_takes_parameters(con, tmp_path):
    deltaarrow.write_deltalake(tmp_path / "t", pa.table({"id": [1]}))
    text = f"EXPLAIN SELECT id FROM delta.'{tmp_path}/t' WHERE id = ?"
    assert con.execute(text, [1], dialect="duckdb").fetchall()[0][0] == "physical_plan"


@pytest.mark.parametrize("name", ["apendOnly", "appendonly", "feature.nothing"])
def test_default_of_an_unknown_property_is_refused(con, name):
    setting = f"spark.databricks.delta.properties.defaults.{name}"
    with pytest.raises(UnsupportedFeatureError, match=r"nothing here; did you mean .*defaults[.]append"):
        con.sql(f"SET {setting} = true")


def test_default_properties_are_those_of_new_tables_alone(con, tmp_path):
    con.sql("SET spark.databricks.delta.properties.defaults.appendOnly = true")
    deltaarrow.write_deltalake(tmp_path / "there", pa.table({"id": [1]}))
    con.sql(f"CREATE TABLE IF NOT EXISTS delta.`{tmp_path / 'there'}` (id BIGINT)")
    con.sql(f"CREATE TABLE delta.'{tmp_path / 'new'}' AS SELECT 1 AS id", dialect="duckdb")
    con.sql(f"CREATE TABLE delta.`{tmp_path / 'like'}` LIKE delta.`{tmp_path / 'there'}`")
    found = {
        name: deltaarrow.DeltaTable(tmp_path / name).metadata().configuration
        for name in ("there", "new", "like")
    }
    appended = {"delta.appendOnly": "true"}
    assert found == {"there": {}, "new": appended, "like": appended}


if __name__ == "__main__":
    PAGE.write_text(TABLE.sub(lambda _: fixed_settings(), PAGE.read_text("utf-8")), "utf-8")
