"""The command ``deltaarrow sql``: statements, formats, options, and errors."""

import csv
import io
import json
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import deltaarrow
from deltaarrow.cli.app import app


@pytest.fixture
def lake(tmp_path):
    for number in range(2):
        rows = pa.table({"id": [number * 2, number * 2 + 1], "name": ["a", "x,\n'\"\x1b[31m"]})
        deltaarrow.write_deltalake(tmp_path / "lake" / "t", rows, mode="append")
    return tmp_path / "lake"


def run(lake, *words, **options):
    return CliRunner().invoke(app, ["sql", "--attach", f"lake={lake}", *words], **options)


def test_results_of_all_statements_are_shown(lake):
    done = run(lake, "-e", "SELECT count(*) AS n FROM lake.t; OPTIMIZE lake.t", "-e", "SELECT 7 AS seven")
    assert done.exit_code == 0, done.output
    first, second, third = done.stdout.split("\n\n")
    assert (first, second.partition("\n")[0], third) == ("n\n4", "path\tmetrics", "seven\n7\n")
    as_tables = run(lake, "-e", "SELECT 7 AS seven; FROM lake.t", "--format", "table").stdout
    assert "seven" in as_tables and "\x1b[31m" not in as_tables


def test_file_and_standard_input_are_read(lake, tmp_path):
    (tmp_path / "a.sql").write_text("-- what there is: ${not_used}\nSELECT sum(id) AS s FROM ${schema}.t;\n")
    words = ["--set", "schema=lake", "--format", "jsonl", "--dialect", "spark"]
    assert run(lake, str(tmp_path / "a.sql"), *words).stdout == '{"s":6}\n'
    assert run(lake, "-", *words, input="SELECT 1 AS a").stdout == '{"a":1}\n'
    assert run(lake, *words, input="SELECT 2 AS a").stdout == '{"a":2}\n'


def test_several_statements_over_several_tables_come_from_standard_input(lake):
    deltaarrow.write_deltalake(lake / "u", pa.table({"id": [1, 3], "price": [2.5, 3.5]}))
    text = (
        "-- two tables\nSELECT t.id, u.price FROM lake.t AS t JOIN lake.u AS u ON t.id = u.id ORDER BY 1;\n"
        "DELETE FROM lake.u WHERE id IN (SELECT id FROM lake.t WHERE id < 2);\n"
        "SELECT count(*) AS n FROM lake.u\n"
    )
    done = run(lake, "--dialect", "spark", input=text)
    assert done.exit_code == 0, done.output
    assert done.stdout == "id\tprice\n1\t2.5\n3\t3.5\n\nnum_affected_rows\n1\n\nn\n1\n"


ROWS = [{"id": 0, "name": "a"}, {"id": 1, "name": "x,\n'\"\x1b[31m"}]
QUERY = "SELECT 1 AS other; SELECT id, name FROM lake.t WHERE id < 2 ORDER BY id"


def test_formats_have_all_rows_of_the_last_result(lake, tmp_path):
    assert json.loads(run(lake, "-e", QUERY, "--format", "json").stdout) == ROWS
    lines = run(lake, "-e", QUERY, "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == ROWS
    for form, separator in (("csv", ","), ("tsv", "\t")):
        text = run(lake, "-e", QUERY.partition(";")[2] if form == "tsv" else QUERY, "--format", form).stdout
        found = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=separator))
        assert found == [{"id": str(row["id"]), "name": row["name"]} for row in ROWS]
    for form in ("arrow", "parquet"):
        written = run(lake, "-e", QUERY, "--format", form).stdout_bytes
        path = tmp_path / f"rows.{form}"
        assert run(lake, "-e", QUERY, "--format", form, "-o", str(path)).stdout == ""
        for data in (written, path.read_bytes()):
            buffer = pa.BufferReader(data)
            read = pq.read_table(buffer) if form == "parquet" else pa.ipc.open_stream(buffer).read_all()
            assert read.to_pylist() == ROWS


def test_odd_values_have_a_text(lake):
    text = (
        "SELECT 'nan'::DOUBLE AS d, [1, NULL] AS l, {'a': DATE '2026-01-01'} AS s, NULL AS n,"
        " '\\xC3'::BLOB AS b"
    )
    assert json.loads(run(lake, "-e", text, "--format", "jsonl").stdout) == {
        "d": "NaN",
        "l": [1, None],
        "s": {"a": "2026-01-01"},
        "n": None,
        "b": "ww==",
    }
    assert run(lake, "-e", text, "--format", "csv").stdout.splitlines()[1] == (
        'nan,"[1,null]","{""a"":""2026-01-01""}",,c3'
    )
    assert run(lake, "-e", "SELECT 1 AS x, 2 AS x", "--format", "jsonl").stdout == '{"x":1,"x_1":2}\n'
    assert run(lake, "-e", "SELECT 1 AS a WHERE FALSE", "--format", "json").stdout == "[\n]\n"
    assert run(lake, "-e", "SELECT 1 AS a WHERE FALSE", "--format", "csv").stdout == "a\n"


def test_times_are_shown_in_the_session_time_zone(lake):
    text = (
        "SET TIME ZONE 'Europe/Berlin'; SELECT TIMESTAMP '2024-07-01 12:00:00' AS a,"
        " TIMESTAMP_NTZ '2024-07-01 12:00:00' AS n, TIMESTAMP '0050-01-01' AS old,"
        " TIMESTAMP '9999-12-31 23:59:59 UTC' AS last"
    )
    words = ["-e", text, "--dialect", "spark", "--format"]
    # Before release 25 pyarrow made zones of pytz, whose offsets are whole minutes: the same moment.
    in_minutes = int(pa.__version__.partition(".")[0]) < 25
    old = "0049-12-31T23:59:32+00:53" if in_minutes else "0050-01-01T00:00:00+00:53:28"
    assert json.loads(run(lake, *words, "jsonl").stdout) == {
        "a": "2024-07-01T12:00:00+02:00",
        "n": "2024-07-01T12:00:00",
        "old": old,
        "last": "9999-12-31 23:59:59Z",
    }
    assert run(lake, *words, "csv").stdout.splitlines()[1] == (
        f"2024-07-01 12:00:00+02:00,2024-07-01 12:00:00,{old.replace('T', ' ')},9999-12-31 23:59:59Z"
    )


def test_rows_that_are_not_shown_hinder_no_statement(lake):
    text = "SELECT range AS r FROM range(1000000); SELECT 7 AS seven"
    assert "seven" in run(lake, "-e", text, "--limit", "1").stdout
    assert run(lake, "-e", text, "--format", "jsonl").stdout == '{"seven":7}\n'
    assert run(lake, "-e", "SELECT 1; SET threads = 1", "--format", "jsonl").stdout == ""


def test_table_shows_the_first_rows(lake):
    words = ["-e", "SELECT id FROM lake.t ORDER BY id", "--format", "table"]
    assert "the first 3 rows" in run(lake, *words, "--limit", "3").stdout
    assert "the first" not in run(lake, *words, "--limit", "4").stdout


def test_error_keeps_its_lines_and_the_rest_is_not_run(lake):
    text = "SELECT 1 AS one; OPTIMIZE lake.t nonsense; SELECT 2 AS two"
    done = run(lake, "-e", text, "--dialect", "spark")
    assert done.exit_code == 1
    assert "one" in done.stdout and "two" not in done.stdout
    assert done.stderr.startswith("error: [PARSE_SYNTAX_ERROR] ZORDER BY or the end is expected")
    *_, statement, caret, note = done.stderr.splitlines()
    assert (statement, caret) == ("  OPTIMIZE lake.t nonsense", "                  ^")
    assert note == "This is statement 2 of 3, in line 1 of the text; the one before it was carried out."


def test_errors_show_neither_secrets_nor_control_characters(lake):
    done = run(lake, "-e", "OPTIMIZE delta.`https://ann:hunter2@h/t` \x1b[31m", "--dialect", "spark")
    assert done.exit_code == 1
    assert "hunter2" not in done.stderr and "\x1b" not in done.stderr


def test_names_are_never_variables_of_the_program(lake):
    for name in ("lake", "runner", "statement", "pa"):
        assert run(lake, "-e", f"SELECT * FROM {name}").exit_code == 1


def test_statements_change_tables_of_a_catalog(tmp_path):
    deltaarrow.write_deltalake(tmp_path / "c" / "default" / "t", pa.table({"id": [1]}))
    from deltaarrow.catalogs import FileCatalog

    default = FileCatalog(tmp_path / "c").namespace("default")
    default.add("t", default.place_for("t"))
    words = ["sql", "--catalog", str(tmp_path / "c"), "--dialect", "spark", "--format", "jsonl"]
    done = CliRunner().invoke(
        app, [*words, "-e", "DELETE FROM default.t; SELECT count(*) AS n FROM default.t"]
    )
    assert done.stdout == '{"n":0}\n', done.output


REFUSED = {
    ("-e", "SELECT 1", "f.sql"): "a file or -e",
    ("-e", "SELECT 1", "--format", "table", "-o", "x.csv"): "choose another format",
    ("-e", "SELECT 1", "-o", "x"): "does not tell the format",
    ("-e", "SELECT 1", "--format", "xml"): "xml",
    ("-e", "SELECT 1", "--set", "a"): "KEY=VALUE",
    ("-e", "SELECT 1", "--engine", "spark"): "Spark has its own catalog",
    ("-e", "SELECT 1", "--engine", "spark", "--dialect", "duckdb"): "its own dialect alone",
}


@pytest.mark.parametrize("words", REFUSED)
def test_wrong_usage_is_refused(lake, words):
    done = run(lake, *words)
    assert done.exit_code == 2
    assert REFUSED[words] in " ".join(done.stderr.replace("│", " ").split())


def test_what_is_not_there_is_refused(lake, tmp_path):
    assert (
        "${x}" in run(lake, "-e", "SELECT '${x}'").stderr
        or "the variable x" in run(lake, "-e", "SELECT '${x}'").stderr
    )
    for given in (str(tmp_path / "nothing.sql"), str(lake), "SELECT 1"):
        done = run(lake, given)
        assert (done.exit_code, "is no file of statements; statements" in done.stderr) == (2, True)
    assert run(lake, "--attach", f"lake={tmp_path}", "-e", "SELECT 1").exit_code in (0, 1)


FOREVER = "SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000000) c"


@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
def test_ctrl_c_ends_a_statement_of_the_command_line(dialect):
    words = [sys.executable, "-m", "deltaarrow", "sql", "--dialect", dialect, "-e", f"SELECT 1; {FOREVER}"]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "1\n"
    child.send_signal(signal.SIGINT)
    _, error = child.communicate(timeout=120)
    assert (child.returncode, error) == (130, "")
