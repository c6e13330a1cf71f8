"""The shell of ``deltaarrow sql``, typed into through a pipe."""

import contextlib
import errno
import io
import os
import pty
import select
import stat
import subprocess
import sys

import pyarrow as pa
import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console

import deltaarrow
from deltaarrow.cli.shell import Shell, ShellCompleter, is_complete
from deltaarrow.cli.statement_engine import open_one_node


@pytest.fixture
def runner(tmp_path):
    rows = pa.table({"id": [1, 2], "a-b": ["x", "y"]})
    deltaarrow.write_deltalake(tmp_path / "lake" / "orders", rows)
    found = open_one_node("duckdb", {"lake": str(tmp_path / "lake")}, None, None)
    yield found
    found.connection.close()


@pytest.fixture
def typed(runner, tmp_path):
    """Types keys into a shell, and returns what it has shown."""

    def type_in(keys):
        shown = io.StringIO()
        with create_pipe_input() as given:
            given.send_text(keys)
            Shell(
                runner,
                history=str(tmp_path / "state" / "history"),
                given=given,
                shown=DummyOutput(),
                console=Console(file=shown, width=120),
            ).run()
        return shown.getvalue()

    return type_in


END = ".quit\r"


def test_statement_over_several_lines_is_run_at_its_semicolon(typed):
    shown = typed("SELECT count(*) AS n,\r';' AS mark\rFROM lake.orders;\r" + END)
    assert "│ 2 │ ;" in shown
    assert " s\n" in shown


def test_several_statements_are_run_and_an_error_ends_neither_line_nor_shell(typed):
    shown = typed("SELECT 11 AS a; OPTIMIZE lake.orders nonsense; SELECT 12;\rSELECT 13 AS b;\r" + END)
    assert "11" in shown and "13" in shown and " 12 " not in shown
    assert "error: [PARSE_SYNTAX_ERROR]" in shown
    assert "\n" + " " * 23 + "^\n" in shown


def test_commands(typed):
    shown = typed(".help\r.tables\r.tables lake\r.schema lake.orders\r.timing off\rSELECT 1 AS x;\r" + END)
    assert ".dialect" in shown and "how statements are written" in shown
    assert shown.count("orders") == 2
    assert "a-b" in shown and "bigint" in shown
    assert "timing is off" in shown and " s\n" not in shown
    wrong = typed(".nothing\r.schema lake.nothing\r.timing maybe\r.dialect x\r.schema 1\r" + END)
    assert wrong.count("error:") == 5


def test_dialect_is_switched(typed, runner):
    shown = typed(".dialect\r.dialect spark\rSELECT id FROM lake.orders WHERE \"x\" = 'x' LIMIT 1;\r" + END)
    assert "the dialect is duckdb" in shown and "the dialect is spark" in shown
    assert runner.dialect == "spark"
    assert "│ " in shown


def test_input_that_ends_and_interrupts_leave_the_shell_in_order(typed):
    assert "│ 3 │" in typed("SELECT\x03SELECT 3 AS x;\r\x04")


def test_history_is_kept_for_its_owner_without_secrets(typed, tmp_path):
    secrets = "VACUUM delta.`https://ann:hunter2@localhost:1/t`;\rSET spark.fs.secret.key = hunter2;\r"
    typed(f"SELECT 1;\r{secrets}{END}")
    path = tmp_path / "state" / "history"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    text = path.read_text()
    assert "SELECT 1;" in text and "hunter2" not in text


COMPLETE = {
    "": True,
    "  ": True,
    ".help": True,
    "SELECT 1": False,
    "SELECT 1;": True,
    "SELECT ';": False,
    "SELECT ';'": False,
    "SELECT 1; -- done": True,
    "SELECT 1 -- ;": False,
    "SELECT 1 /* ;": False,
}


@pytest.mark.parametrize("text", COMPLETE)
def test_text_is_complete_at_a_semicolon_outside_of_quotes(runner, text):
    assert is_complete(text, runner) is COMPLETE[text]


def completions(runner, text):
    document = Document(text, len(text))
    return [each.text for each in ShellCompleter(runner).get_completions(document, CompleteEvent())]


def test_keywords_tables_and_columns_are_completed(runner):
    assert "SELECT" in completions(runner, "sel")
    assert {"OPTIMIZE", "OR", "ORDER"} <= set(completions(runner, "O"))
    assert completions(runner, "SELECT * FROM la") == ["lake"]
    assert completions(runner, "SELECT * FROM lake.o") == ["lake.orders"]
    assert completions(runner, "SELECT * FROM lake.orders WHERE i")[0] == "id"
    assert "`a-b`" in completions(runner, "SELECT * FROM lake.orders WHERE ")
    assert completions(runner, ".sc") == [".schema"]
    runner.connection.execute("CREATE TABLE own (price INT)")
    assert completions(runner, "FROM ow") == ["own"]
    assert completions(runner, "FROM own SELECT pr") == ["price"]
    assert "FROM" in completions(runner, "SELECT 'open FR")


def test_columns_are_completed_after_the_name_or_the_alias_of_their_table(runner, tmp_path):
    deltaarrow.write_deltalake(tmp_path / "lake" / "items", pa.table({"item": [1], "price": [1.0]}))

    def complete(text, after=""):
        document = Document(text + after, len(text))
        return [each.text for each in ShellCompleter(runner).get_completions(document, CompleteEvent())]

    for dialect in ("duckdb", "spark"):
        runner.dialect = dialect
        assert complete("SELECT o.", " FROM lake.orders AS o") == ["o.id", "o.`a-b`"]
        assert complete("SELECT * FROM lake.orders o JOIN lake.items i ON o.id = i.") == ["i.item", "i.price"]
        assert complete("SELECT orders.i", " FROM lake.orders WHERE id = 1") == ["orders.id"]
        assert complete("SELECT lake.orders.i", " FROM lake.orders") == ["lake.orders.id"]
        assert complete("MERGE INTO lake.orders o USING lake.items AS s ON O.i") == ["O.id"]
        assert complete("SELECT it", " FROM lake.items long_name")[0] == "item"
        assert "long_name" in complete("SELECT l", " FROM lake.items long_name")
        assert complete("SELECT where.", " FROM lake.orders WHERE id = 1") == []


def test_arguments_of_commands_are_completed(runner):
    assert completions(runner, ".dialect s") == ["spark"]
    assert completions(runner, ".timing o") == ["on", "off"]
    assert completions(runner, ".schema la") == ["lake"]
    assert completions(runner, ".schema lake.") == ["lake.orders"]
    assert completions(runner, ".quit x") == []


def test_help_and_leaving_need_no_dot(typed):
    shown = typed("help\rHELP\rSELECT 5 AS x;\rquit\r")
    assert shown.count("this list") == 2 and "│ 5 │" in shown
    assert typed("exit\r").count("\n") == 1


def test_plan_is_shown_on_its_lines(typed):
    shown = typed("EXPLAIN DELETE FROM lake.orders WHERE id = 1;\r" + END)
    lines = [line.strip("│ ").split("│")[-1].strip() for line in shown.splitlines()]
    assert "reads 1 of 1 file" in shown and "\\n" not in shown
    assert any(line.startswith("id = 1  statistics: skips 0 files") for line in lines)


def test_rows_too_wide_for_the_terminal_are_shown_one_below_the_other(typed):
    shown = typed("DESCRIBE HISTORY lake.orders;\r" + END)
    assert "│ operation           │ WRITE" in shown and "│ version             │ 0" in shown


def test_unknown_names_are_shown_at_their_place(typed):
    shown = typed("SELECT id\rFROM lake.order;\rSELECT prise FROM lake.orders;\r" + END)
    assert "no table" not in shown and "did you mean `orders`? (in lake are orders)" in shown
    assert "  FROM lake.order\n       ^\n" in shown
    assert "  SELECT prise FROM lake.orders\n         ^\n" in shown
    shown = typed("DELETE FROM lake.orders\rWHERE prise = 1;\r" + END)
    assert "line 2 of the statement:\n  WHERE prise = 1\n        ^\n" in shown and "__" not in shown


def test_completion_survives_tables_that_cannot_be_opened(runner, tmp_path):
    (tmp_path / "lake" / "broken" / "_delta_log").mkdir(parents=True)
    (tmp_path / "lake" / "broken" / "_delta_log" / f"{0:020}.json").write_text("no json")
    assert "WHERE" in completions(runner, "SELECT * FROM lake.broken WH")


def test_terminal_without_a_file_gets_a_shell(tmp_path):
    """The whole program in a terminal of its own."""
    ours, its = pty.openpty()
    code = "from deltaarrow.cli.main import main; main()"
    words = [sys.executable, "-c", code, "sql", "--history", str(tmp_path / "history")]
    environment = os.environ | {"TERM": "xterm"}
    with subprocess.Popen(words, stdin=its, stdout=its, stderr=its, env=environment) as program:
        os.close(its)
        os.write(ours, b"SELECT 40 + 2 AS answer;\r.quit\r")
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
                if b"\x1b[6n" in piece:  # It asks where the cursor is.
                    os.write(ours, b"\x1b[1;1R")
        except OSError as error:  # The program has closed its end.
            assert error.errno == errno.EIO
        assert program.wait(60) == 0
    os.close(ours)
    assert b"42" in shown and b"answer" in shown


class Typed:
    """A shell in a process of its own that has a terminal, as a user has one."""

    def __init__(self, *words: str) -> None:
        self.child, self.terminal = pty.fork()
        if not self.child:
            os.execvp(sys.executable, [sys.executable, "-m", "deltaarrow", "sql", *words])
        self.shown = ""

    def type(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())

    def wait_for(self, text: str, *, again: str = "") -> None:
        """Read until a text is shown after what was waited for last; type keys again each half second."""
        while text not in self.shown:
            ready, _, _ = select.select([self.terminal], [], [], 0.5 if again else 120)
            if ready:
                self.shown += os.read(self.terminal, 4096).decode(errors="replace")
            else:
                assert again, self.shown
                self.type(again)
        self.shown = self.shown.partition(text)[2]

    def end(self) -> int:
        with contextlib.suppress(OSError):  # the terminal is gone with the shell
            while os.read(self.terminal, 4096):
                pass
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])


FOREVER = "SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000000) c;"


@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
def test_ctrl_c_ends_the_statement_and_the_shell_goes_on(tmp_path, dialect):
    shell = Typed("--dialect", dialect, "--history", str(tmp_path / "history"))
    shell.wait_for(f"{dialect}>")
    shell.type(FOREVER + "\r")
    shell.wait_for("interrupted", again="\x03")
    shell.type("SELECT 40 + 2 AS answer;\r")
    shell.wait_for("42")
    shell.type(".quit\r")
    assert shell.end() == 0
