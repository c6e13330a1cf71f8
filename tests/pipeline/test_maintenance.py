"""OPTIMIZE, REORG and VACUUM on one node: what each clause does, the reports, and what is refused."""

import json
import os
import time

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.cli.app import app
from deltaarrow.errors import (
    ConcurrentAppendException,
    DeltaError,
    InvalidPredicateError,
    SchemaMismatchError,
    TableNotFoundError,
    UnsupportedFeatureError,
    VacuumError,
)
from deltaarrow.pipeline import MaintenanceReport, OneNodeEngine, run_scripts
from deltaarrow.table.optimizer import TableOptimizer
from tests.support.pipeline import SCRIPTS

VECTORS = {"delta.enableDeletionVectors": "true"}
NO_CHECK = "SET spark.databricks.delta.retentionDurationCheck.enabled = false"
LONG_AGO = time.time() - 30 * 24 * 3600


def made(path, files=3, **options):
    """A table of so many files in each of two partitions."""
    for number in range(files):
        data = pa.table({"id": range(number * 10, number * 10 + 10), "p": ["a", "b"] * 5})
        write_deltalake(path, data, mode="append", partition_by=["p"], **(options if number == 0 else {}))
    return DeltaTable(path)


def run(statement, *settings):
    engine = OneNodeEngine()
    for setting in settings:
        assert engine.run(setting) is None
    return engine.run(statement)


def names(table):
    """The data files that are there, in the table or not."""
    root = table.table_uri.removeprefix("file://")
    return {
        os.path.relpath(os.path.join(folder, name), root)
        for folder, _, files in os.walk(root)
        for name in files
        if name.endswith(".parquet") and "_delta_log" not in folder
    }


def test_optimize_compacts_each_partition(tmp_path):
    table = made(tmp_path)
    report = run(f"OPTIMIZE delta.`{tmp_path}`")
    assert (report.table, report.operation, report.is_idle) == (str(tmp_path), "OPTIMIZE", False)
    assert (report.metrics["numFilesRemoved"], report.metrics["numFilesAdded"]) == (6, 2)
    table.update_incremental()
    assert table.history(1)[0]["operation"] == "OPTIMIZE"
    assert run(f"OPTIMIZE delta.`{tmp_path}`").is_idle
    assert DeltaTable(tmp_path).version() == table.version()


def test_optimize_takes_a_condition_on_partitions(tmp_path):
    made(tmp_path)
    assert run(f"OPTIMIZE delta.`{tmp_path}` WHERE p = 'a'").metrics["numFilesRemoved"] == 3
    (commit,) = DeltaTable(tmp_path).history(1)
    assert commit["operationParameters"]["predicate"] == "[\"(p = 'a')\"]"
    with pytest.raises(InvalidPredicateError, match="id"):
        run(f"OPTIMIZE delta.`{tmp_path}` WHERE id = 1")


def test_optimize_z_orders_by_columns(tmp_path):
    made(tmp_path)
    report = run(f"OPTIMIZE delta.`{tmp_path}` WHERE p > 'a' ZORDER BY (ID)")
    assert report.metrics["numFilesRemoved"] == 3
    (commit,) = DeltaTable(tmp_path).history(1)
    assert commit["operationParameters"]["zOrderBy"] == '["ID"]'
    with pytest.raises(SchemaMismatchError, match="'p' is a partition column"):
        run(f"OPTIMIZE delta.`{tmp_path}` ZORDER BY p")


def test_optimize_full_clusters_by_the_columns_of_today(tmp_path):
    rows = pa.table({"id": range(50), "n": range(50)})
    write_deltalake(tmp_path, rows, cluster_by=["id"])
    assert run(f"OPTIMIZE delta.`{tmp_path}`").metrics["numFilesRemoved"] == 1
    DeltaTable(tmp_path).alter.cluster_by(["n"])
    assert run(f"OPTIMIZE delta.`{tmp_path}`").is_idle
    assert run(f"OPTIMIZE delta.`{tmp_path}` FULL").metrics["numFilesRemoved"] == 1
    with pytest.raises(InvalidPredicateError, match="clustered"):
        run(f"OPTIMIZE delta.`{tmp_path}` WHERE id = 1")
    with pytest.raises(SchemaMismatchError, match="clustered"):
        run(f"OPTIMIZE delta.`{tmp_path}` ZORDER BY id")


def test_optimize_full_of_a_table_without_clustering_columns_is_refused(tmp_path):
    made(tmp_path)
    with pytest.raises(SchemaMismatchError, match="no clustering columns"):
        run(f"OPTIMIZE delta.`{tmp_path}` FULL")


def test_reorg_purges_what_was_deleted(tmp_path):
    table = made(tmp_path, configuration=VECTORS)
    table.delete("id IN (1, 2)")
    report = run(f"REORG TABLE delta.`{tmp_path}` WHERE p = 'a' APPLY (PURGE)")
    assert (report.operation, report.metrics["numDeletionVectorsRemoved"]) == ("REORG", 1)
    assert run(f"REORG TABLE delta.`{tmp_path}` APPLY (PURGE)").metrics["numDeletionVectorsRemoved"] == 1
    assert run(f"REORG TABLE delta.`{tmp_path}` APPLY (PURGE)").is_idle
    assert DeltaTable(tmp_path).history(1)[0]["operationParameters"]["applyPurge"] == "true"


def test_reorg_upgrades_to_the_rules_of_iceberg(tmp_path):
    made(tmp_path)
    upgrade = f"REORG TABLE delta.`{tmp_path}` APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = {{}}))"
    report = run(upgrade.format(2))
    assert (report.operation, report.metrics["numFilesRemoved"]) == ("REORG", 6)
    configuration = DeltaTable(tmp_path).metadata().configuration
    assert configuration["delta.enableIcebergCompatV2"] == "true"
    assert configuration["delta.universalFormat.enabledFormats"] == "iceberg"
    assert run(upgrade.format(2)).is_idle
    with pytest.raises(UnsupportedFeatureError, match="IcebergCompatVersion = 3 is not supported"):
        run(upgrade.format(3))


def aged(path):
    """A table of which two files were removed by an OPTIMIZE long ago, with a stray file, as old as that."""
    table = made(path, 2, configuration={"delta.deletedFileRetentionDuration": "interval 7 days"})
    before = names(table)
    table.optimize.compact(predicate="p = 'a'")
    (path / "stray.parquet").write_bytes(b"")
    os.utime(path / "stray.parquet", (LONG_AGO, LONG_AGO))
    removed = before - names_of(table)
    assert len(removed) == 2
    return table, removed


def names_of(table):
    return set(table.snapshot.files(columns=["path"]).column("path").to_pylist())


def test_vacuum_is_full_unless_it_says_lite(tmp_path):
    table, _ = aged(tmp_path)
    dry = run(f"VACUUM delta.`{tmp_path}` DRY RUN")
    assert (dry.metrics, dry.files) == ({"numFilesToDelete": 1}, ["stray.parquet"])
    assert run(f"VACUUM delta.`{tmp_path}` LITE DRY RUN").files == []
    assert DeltaTable(tmp_path).version() == table.version()
    report = run(f"VACUUM delta.`{tmp_path}`")
    assert report == MaintenanceReport(str(tmp_path), "VACUUM", {"numDeletedFiles": 1})
    assert "stray.parquet" not in names(table)
    assert [commit["operation"] for commit in table.history(2)] != ["VACUUM END", "VACUUM START"]
    assert [commit["operation"] for commit in DeltaTable(tmp_path).history(2)] == [
        "VACUUM END",
        "VACUUM START",
    ]
    assert run(f"VACUUM delta.`{tmp_path}`").is_idle


def test_short_retention_needs_the_check_off(tmp_path):
    table, removed = aged(tmp_path)
    for hours in ("0", "167.9"):
        with pytest.raises(VacuumError, match="DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT"):
            run(f"VACUUM delta.`{tmp_path}` RETAIN {hours} HOURS")
    on_again = NO_CHECK.replace("false", "TRUE")
    with pytest.raises(VacuumError):
        run(f"VACUUM delta.`{tmp_path}` RETAIN 0 HOURS", NO_CHECK, on_again)
    assert DeltaTable(tmp_path).version() == table.version()
    assert run(f"VACUUM delta.`{tmp_path}` RETAIN 1 HOURS DRY RUN", NO_CHECK).files == ["stray.parquet"]
    report = run(f"VACUUM delta.`{tmp_path}` RETAIN 0 HOURS", NO_CHECK)
    assert report.metrics["numDeletedFiles"] == 1 + len(removed)
    assert names(table) == names_of(table)


def test_long_retention_keeps_more(tmp_path):
    aged(tmp_path)
    assert run(f"VACUUM delta.`{tmp_path}` RETAIN 10000 HOURS").is_idle
    assert (tmp_path / "stray.parquet").exists()


def test_lite_deletes_what_the_log_tells(tmp_path):
    table, removed = aged(tmp_path)
    report = run(f"VACUUM delta.`{tmp_path}` LITE RETAIN 0 HOURS", NO_CHECK)
    assert report.metrics["numDeletedFiles"] == len(removed)
    assert names(table) == names_of(table) | {"stray.parquet"}


OTHER_FOLDERS = [
    "{lake}/../outside",
    "{lake}/t'; DROP TABLE t; --",
    "{lake}/`",
    "{lake}",
    "{lake}/t/_delta_log",
    "{lake}/t/p=a",
]


@pytest.mark.parametrize("statement", ["OPTIMIZE {}", "REORG TABLE {} APPLY (PURGE)", "VACUUM {}"])
@pytest.mark.parametrize("path", OTHER_FOLDERS)
def test_folder_that_is_no_table_is_left_as_it_is(tmp_path, statement, path):
    lake = tmp_path / "lake"
    table = made(lake / "t", 1)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "f.parquet").write_bytes(b"")
    os.utime(tmp_path / "outside" / "f.parquet", (LONG_AGO, LONG_AGO))
    before = names(table)
    name = path.format(lake=lake).replace("`", "``")
    with pytest.raises(TableNotFoundError):
        run(statement.format(f"delta.`{name}`"), NO_CHECK)
    assert names(table) == before
    assert (tmp_path / "outside" / "f.parquet").exists()


def test_name_with_quotes_is_a_name(tmp_path):
    path = tmp_path / 'it\'s `a` -- "b" ;'
    made(path)
    report = run("OPTIMIZE delta.`{}`".format(str(path).replace("`", "``")))
    assert (report.table, report.metrics["numFilesRemoved"]) == (str(path), 6)


REFUSED = {
    "PURGE delta.`{t}`": r"write REORG TABLE \.\.\. APPLY",
    "VACUUM delta.`{t}` LITE USING INVENTORY (SELECT 1)": "which is not for LITE",
    "OPTIMIZE delta.`{t}` WHERE p = 'a' FULL": "ALIAS is not supported",
    "OPTIMIZE delta.`{t}` WHERE (p = 'a' ZORDER BY (id)": "cannot parse",
    "OPTIMIZE delta.`{t}` WHERE nowhere = 1": "nowhere",
    NO_CHECK.replace("false", "0"): "it must be true or false",
    NO_CHECK + " no more": "'false no more' is no value",
    "SET spark.databricks.delta.vacuum.nothing = true": "means nothing here",
}


@pytest.mark.parametrize("statement", REFUSED)
def test_what_is_not_supported_is_refused_and_nothing_is_done(tmp_path, statement):
    table = made(tmp_path)
    with pytest.raises(DeltaError, match=REFUSED[statement]):
        run(statement.format(t=tmp_path))
    assert DeltaTable(tmp_path).version() == table.version()


def lake_of_the_scripts(lake):
    for name in ("bronze/events", "silver/orders", "gold/daily_sales"):
        made(lake / name, 2)
    return lake


def test_script_of_the_pipeline_runs_and_is_idle_the_second_time(tmp_path):
    lake = lake_of_the_scripts(tmp_path)
    first, second = (
        next(run_scripts(OneNodeEngine(), SCRIPTS, {"lake": lake, "events": 1, "batch": 0}, first="04"))
        for _ in range(2)
    )
    assert (first.name, first.statements, first.merges) == ("04_maintenance", 6, [])
    assert [report.operation for report in first.maintenance] == ["OPTIMIZE"] * 3 + ["VACUUM"] * 3
    assert [report.metrics["numFilesRemoved"] for report in first.maintenance[:3]] == [4, 4, 4]
    assert set(first.files.values()) == {2}
    assert (first.is_idle, second.is_idle) == (False, True)


def test_statement_that_others_were_quicker_than_is_run_again(tmp_path, monkeypatch):
    made(tmp_path / "t")
    (tmp_path / "s.sql").write_text(f"OPTIMIZE delta.`{tmp_path}/t`")
    compact, tries = TableOptimizer.compact, []

    def beaten(self, *arguments, **options):
        tries.append(self)
        if len(tries) < 3:
            raise ConcurrentAppendException("someone else was first")
        return compact(self, *arguments, **options)

    monkeypatch.setattr(TableOptimizer, "compact", beaten)
    (report,) = run_scripts(OneNodeEngine(), tmp_path / "s.sql", {})
    assert len(tries) == 3
    assert report.maintenance[0].metrics["numFilesRemoved"] == 6


def test_command_says_what_was_done(tmp_path):
    lake = lake_of_the_scripts(tmp_path)
    script = str(SCRIPTS / "04_maintenance.sql")
    words = ["pipeline", "run", script, "--engine", "duckdb", "--set", f"lake={lake}"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "04_maintenance: Maintenance: small files become large ones" in done.stdout
    assert f"OPTIMIZE {lake}/bronze/events: files rewritten: 4, new: 2\n" in done.stdout
    assert f"VACUUM {lake}/gold/daily_sales: files deleted: 0\n" in done.stdout
    (step,) = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert [told["operation"] for told in step["maintenance"]] == ["OPTIMIZE"] * 3 + ["VACUUM"] * 3
    assert step["maintenance"][0]["metrics"]["numFilesRemoved"] == 0
    (lake / "dry.sql").write_text("VACUUM delta.`${lake}/bronze/events` DRY RUN")
    (lake / "bronze/events/stray.parquet").write_bytes(b"")
    os.utime(lake / "bronze/events/stray.parquet", (LONG_AGO, LONG_AGO))
    words[2] = str(lake / "dry.sql")
    said = CliRunner().invoke(app, words).stdout
    assert f"stray.parquet\nVACUUM {lake}/bronze/events: files that would be deleted: 1\n" in said


def test_command_upgrades_to_the_rules_of_iceberg(tmp_path):
    made(tmp_path / "t", 1)
    text = "REORG TABLE delta.`${lake}/t` APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = 2))"
    (tmp_path / "s.sql").write_text(text)
    words = ["pipeline", "run", str(tmp_path / "s.sql"), "--engine", "duckdb", "--set", f"lake={tmp_path}"]
    done = f"REORG {tmp_path}/t: files rewritten: 2, new: 2\n"
    assert done in CliRunner().invoke(app, words).stdout


def test_command_refuses_what_one_node_does_not_run(tmp_path):
    (tmp_path / "s.sql").write_text("CALL something()")
    done = CliRunner().invoke(app, ["pipeline", "run", str(tmp_path / "s.sql"), "--engine", "duckdb"])
    assert done.exit_code == 1
    assert "a statement or a query is expected" in done.stderr
    with pytest.raises(UnsupportedFeatureError):
        next(run_scripts(OneNodeEngine(), tmp_path / "s.sql", {}))
