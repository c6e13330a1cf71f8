"""The magic ``%%delta`` in IPython."""

import pyarrow as pa
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import deltaarrow
from deltaarrow.errors import UnsupportedFeatureError


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.enable_html_pager = False
    made = InteractiveShell(config=config, user_ns={"secret": pa.table({"x": [1]})})
    made.run_line_magic("load_ext", "deltaarrow")
    return made


@pytest.fixture
def lake(tmp_path):
    deltaarrow.write_deltalake(tmp_path / "my lake" / "t", pa.table({"id": [1, 2]}))
    return tmp_path / "my lake"


def test_cell_runs_statements_and_returns_the_last_rows(shell, lake):
    cell = "SELECT 1;\nSELECT count(*) AS n FROM lake.t"
    found = shell.run_cell_magic("delta", f"--attach 'lake={lake}'", cell)
    assert found.fetchall() == [(2,)]
    assert "n" in repr(found)
    assert shell.run_line_magic("delta", "SELECT max(id) FROM lake.t").fetchall() == [(2,)]


def test_dialect_and_output(shell, lake):
    options = f"--dialect spark --attach 'lake={lake}' -o moved"
    assert shell.run_cell_magic("delta", options, "OPTIMIZE lake.t") is None
    assert shell.user_ns["moved"].columns == ["path", "metrics"]
    assert shell.run_cell_magic("delta", "--dialect spark", 'SELECT "a" AS x').fetchall() == [("a",)]
    assert shell.run_cell_magic("delta", "--dialect duckdb", "SELECT 3 // 2").fetchall() == [(1,)]
    manifest = "GENERATE symlink_format_manifest FOR TABLE lake.t"
    assert shell.run_cell_magic("delta", "--dialect spark", manifest) is None


def test_dialect_holds_for_its_cell(shell, lake):
    options = f"--dialect spark --attach 'lake={lake}'"
    assert shell.run_cell_magic("delta", options, 'SELECT "a" AS x').fetchall() == [("a",)]
    assert shell.run_cell_magic("delta", "", "SELECT 3 // 2").fetchall() == [(1,)]
    assert shell.run_line_magic("delta", "SELECT 3 // 2").fetchall() == [(1,)]


def test_catalog_holds_for_later_cells(shell, tmp_path):
    options = f"--dialect spark --catalog {tmp_path / 'names'}"
    shell.run_cell_magic("delta", options, "CREATE TABLE t AS SELECT 1 AS id")
    assert shell.run_cell_magic("delta", "", "SELECT id FROM t").fetchall() == [(1,)]


def test_connection_is_returned_by_an_empty_line(shell):
    shell.run_line_magic("delta", "CREATE TABLE own AS SELECT 5 AS five")
    assert shell.run_line_magic("delta", "").sql("FROM own").fetchall() == [(5,)]


def test_variables_of_the_notebook_are_no_tables(shell):
    with pytest.raises(Exception, match="secret"):
        shell.run_line_magic("delta", "SELECT * FROM secret")


def test_what_is_not_understood_is_refused(shell):
    for options, why in (
        ("--nothing", "options of %%delta"),
        ("--attach x", "NAME=FOLDER"),
        ("--dialect x", "x"),
    ):
        with pytest.raises(ValueError, match=why):
            shell.run_cell_magic("delta", options, "SELECT 1")
    with pytest.raises(UnsupportedFeatureError, match="PARSE_SYNTAX_ERROR"):
        shell.run_cell_magic("delta", "--dialect spark", "FOO")
