"""Running scripts: their order, the starting point of a run, its output and report; without Spark."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.cli import pipeline as commands
from deltaarrow.cli.app import app
from deltaarrow.errors import ConcurrentAppendException, UnsupportedFeatureError
from deltaarrow.pipeline import (
    MaintenanceReport,
    MergeReport,
    SparkEngine,
    StepReport,
    render_run,
    run_scripts,
)

MERGED = ["source_rows", *(f"target_rows_{what}" for what in ("inserted", "updated", "deleted"))]
_SILVER = "APPEND delta.`${lake}/silver/orders`"
SCRIPTS = {
    "01_bronze": "-- Bronze: as it came. More.\nAPPEND delta.`${lake}/bronze/events` ${events};",
    "02_silver": f"-- Silver.\n{_SILVER} 3;\n{_SILVER} ${{batch}};",
    "03_gold": "-- Gold.\nSELECT 1;",
}


class Session:
    """Takes the place of a Spark session: ``APPEND delta.`path` n`` appends so many rows."""

    def __init__(self):
        self.statements = []
        self.failing = None
        self.conflicts = 0

    def sql(self, statement):
        self.statements.append(statement)
        if self.failing is not None and statement.endswith(self.failing):
            raise RuntimeError("no more")
        if self.conflicts:
            self.conflicts -= 1
            raise ConcurrentAppendException("someone else was first")
        if statement.startswith("APPEND"):
            _, path, number = statement.split()
            rows = pa.table({"id": pa.array(range(int(number)), pa.int64())})
            write_deltalake(path.removeprefix("delta.").strip("`"), rows, mode="append")
        return self

    def collect(self):
        return []


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "scripts"
    path.mkdir()
    for name, text in SCRIPTS.items():
        (path / f"{name}.sql").write_text(text)
    return path


def run(spark, folder, lake, **options):
    variables = {"lake": lake, "events": 9, "batch": 2}
    return run_scripts(SparkEngine(spark), folder, variables, **options)


def by_table(step):
    """What a step has written, rows and files by the last two names of a table."""
    assert set(step.rows) == set(step.files)
    return {"/".join(Path(path).parts[-2:]): (step.rows[path], step.files[path]) for path in step.rows}


def test_scripts_run_in_order_and_each_is_reported(folder, tmp_path):
    spark, said = Session(), []
    reports = list(
        run(
            spark,
            folder,
            tmp_path / "lake",
            on_statement=lambda script, done, count: said.append((script.name, done, count)),
        )
    )
    assert [(each.name, each.title, each.statements) for each in reports] == [
        ("01_bronze", "Bronze: as it came", 1),
        ("02_silver", "Silver", 2),
        ("03_gold", "Gold", 1),
    ]
    assert [by_table(each) for each in reports] == [
        {"bronze/events": (9, 1)},
        {"silver/orders": (3 + 2, 2)},
        {},
    ]
    assert [(each.merges, each.is_idle) for each in reports] == [([], False)] * 3
    assert all(each.seconds >= 0 for each in reports)
    assert said == [
        ("01_bronze", 0, 1),
        ("01_bronze", 1, 1),
        ("02_silver", 0, 2),
        ("02_silver", 1, 2),
        ("02_silver", 2, 2),
        ("03_gold", 0, 1),
        ("03_gold", 1, 1),
    ]


def test_run_that_fails_goes_on_from_the_script_that_it_was_at(folder, tmp_path):
    spark = Session()
    spark.failing = " 2"
    steps = run(spark, folder, tmp_path / "lake")
    assert next(steps).name == "01_bronze"
    with pytest.raises(RuntimeError, match="no more"):
        next(steps)
    assert DeltaTable(tmp_path / "lake/silver/orders").count() == 3
    spark.failing = None
    again = run(spark, folder, tmp_path / "lake", first="02")
    assert [each.name for each in again] == ["02_silver", "03_gold"]
    assert DeltaTable(tmp_path / "lake/bronze/events").count() == 9


def test_statement_that_others_were_quicker_than_is_run_again(folder, tmp_path):
    spark = Session()
    spark.conflicts = 3
    reports = list(run(spark, folder, tmp_path / "lake"))
    assert [by_table(each) for each in reports] == [
        {"bronze/events": (9, 1)},
        {"silver/orders": (3 + 2, 2)},
        {},
    ]
    assert len(spark.statements) == 4 + 3
    spark.conflicts = 100
    with pytest.raises(ConcurrentAppendException):
        next(run(spark, folder, tmp_path / "lake"))
    assert len(spark.statements) == 4 + 3 + 20


def test_command_prints_a_report_of_each_step(folder, tmp_path, monkeypatch):
    masters = []
    monkeypatch.setattr(commands, "start_spark", lambda master: masters.append(master) or Session())
    words = ["pipeline", "run", str(folder), "--set", f"lake={tmp_path / 'lake'}", "--set", "events=9"]
    done = CliRunner().invoke(app, [*words, "--set", "batch=0"])
    assert done.exit_code == 0, done.output
    assert "01_bronze: Bronze: as it came" in done.stdout
    assert "bronze/events" in done.stdout
    assert "2 statements, 0." in done.stdout
    words += ["--set", "batch=1", "--from", "02", "--json", "--master", "local[1]"]
    done = CliRunner().invoke(app, words)
    assert [step["name"] for step in json.loads(done.stdout)] == ["02_silver", "03_gold"]
    assert json.loads(done.stdout)[0]["rows"] == {str(tmp_path / "lake/silver/orders"): 4}
    assert masters == ["local[2]", "local[1]"]


def test_page_of_a_run_has_its_tables_and_spells_out_what_strangers_wrote(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "start_spark", lambda master: Session())
    (folder / "04_<b>.sql").write_text("-- <script>.\nSELECT 1;")
    page = tmp_path / "run.html"
    words = ["pipeline", "run", str(folder), "--set", f"lake={tmp_path / 'lake'}", "--set", "events=9"]
    done = CliRunner().invoke(app, [*words, "--set", "batch=0", "--report", str(page)])
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8")
    assert "Spark with delta-spark (local[2])" in text
    assert f"<td>01_bronze</td><td>9</td><td>1</td><td>{tmp_path / 'lake/bronze/events'}</td>" in text
    assert text.count("<svg") == 3
    assert "<title>01_bronze: 9</title>" in text
    assert "04_&lt;b&gt;" in text and "<script>" not in text
    assert "http" not in text.replace("http-equiv", "")


def test_page_tells_what_merges_and_maintenance_have_done():
    merge = MergeReport("/t", {}, {f"num_{name}": 3 for name in MERGED})
    vacuum = MaintenanceReport("/t", "VACUUM", {"numDeletedFiles": 7})
    step = StepReport("a", "A", 2, 1.5, {"/t": 3}, {"/t": 1}, [merge], [vacuum])
    page = render_run([step], "one node")
    assert "<td>into /t: 3 rows, 3 inserted, 3 updated, 3 deleted</td>" in page
    assert "<td>VACUUM /t: files deleted: 7</td>" in page
    assert "1 scripts, 2 statements, 1.5 s" in page


def test_who_changes_tables_is_a_question_for_spark_alone(folder):
    for delta in ("ours", "delta-spark"):
        words = ["pipeline", "run", str(folder), "--engine", "duckdb", "--delta", delta]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2
        assert "--delta is for --engine spark" in done.stderr


def test_script_that_is_not_there_is_named(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "start_spark", lambda master: Session())
    done = CliRunner().invoke(app, ["pipeline", "run", str(folder), "--from", "07"])
    assert done.exit_code == 1
    assert "no script is named 07" in done.stderr


def test_what_cannot_be_run_is_told_before_anything_is(folder, tmp_path):
    spark = Session()
    with pytest.raises(ValueError, match="variable batch has no value"):
        next(run_scripts(SparkEngine(spark), folder, {"lake": tmp_path, "events": 1}))
    with pytest.raises(
        ValueError, match=r"01_bronze names the table delta.`lake/bronze/events`.* no relative path"
    ):
        next(run(spark, folder, "lake"))
    (folder / "04_late.sql").write_text("SELECT 'a")
    with pytest.raises(UnsupportedFeatureError, match="' is not closed"):
        next(run(spark, folder, tmp_path / "lake"))
    assert spark.statements == []


def test_setting_without_a_value_is_refused(folder):
    for setting in ("lake", "=lake"):
        done = CliRunner().invoke(app, ["pipeline", "run", str(folder), "--set", setting])
        assert done.exit_code == 2
        assert "is not KEY=VALUE" in done.stderr
