"""The shell of ``deltaarrow sql``: statements over several lines, with history, completion and timing."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output
from rich.console import Console
from rich.text import Text

from deltaarrow.catalogs import fold
from deltaarrow.cli.output import show
from deltaarrow.cli.result_rendering import print_rows
from deltaarrow.cli.statement_engine import REFUSALS, OneNode, Runner, error_text, results
from deltaarrow.display.redaction import redacted
from deltaarrow.engines import Dialect
from deltaarrow.errors import DeltaError
from deltaarrow.spark_sql import TableName, Words
from deltaarrow.sql.registry import first_words

__all__ = ["Shell", "ShellCompleter", "is_complete"]

_HELP = {
    ".help": "this list",
    ".tables [NAMESPACE]": "the names of tables",
    ".schema TABLE": "the columns of a table and their types",
    ".dialect [duckdb|spark]": "how statements are written",
    ".timing [on|off]": "whether the seconds of a statement are shown",
    ".quit": "leave the shell; Ctrl-D does so too",
}
_BARE = ("help", "quit", "exit")
"""Commands that are understood without their dot."""

_QUITS = (".quit", ".exit", "quit", "exit")
_KEYWORDS = (
    "ALTER AND AS ASC BETWEEN BY CASE CAST COMMENT COPY CREATE CROSS DELETE DESC DESCRIBE DISTINCT DROP ELSE"
    " END EXCEPT EXISTS FALSE FROM FULL GROUP HAVING IN INNER INSERT INTERSECT INTO IS JOIN LEFT LIKE LIMIT"
    " MATCHED MERGE NOT NULL OFFSET ON OR ORDER OVER OVERWRITE PARTITION QUALIFY REPLACE RIGHT SELECT SET"
    " SHOW TABLE THEN TIMESTAMP TRUE TRUNCATE UNION UPDATE USE USING VALUES VERSION VIEW WHEN WHERE WITH"
)
_DIALECTS: dict[str, Dialect] = {"duckdb": "duckdb", "spark": "spark"}

_NO_ALIASES = (
    *_KEYWORDS.split(),
    *("ADD", "ANTI", "ASOF", "CLUSTER", "FOR", "LATERAL", "NATURAL", "PARTITIONED", "POSITIONAL", "RENAME"),
    *("RETAIN", "SEMI", "TABLESAMPLE", "TO", "WINDOW", "ZORDER"),
)
"""Words that may follow the name of a table and are no alias."""

_NAMED = ("FROM", "JOIN", "INTO", "UPDATE", "TABLE", "OPTIMIZE", "VACUUM", "DESCRIBE", "USING")
"""Words that the name of a table follows."""

_LAST_NAME = re.compile(r"[\w.]*\Z")
_PLAIN = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)


class Shell:
    """Reads statements and shows their results, until the user leaves.

    Args:
        runner: what runs them.
        history: the file that keeps what was typed; a usual place if None.
        limit: how many rows of a result are shown.
        variables: what stands for ``${name}``.
        given: where keys come from; the terminal if None.
        shown: where the prompt is shown; the terminal if None.
        console: where results are shown; standard output if None.
    """

    def __init__(
        self,
        runner: Runner,
        *,
        history: str | None = None,
        limit: int = 100,
        variables: Mapping[str, str] | None = None,
        given: Input | None = None,
        shown: Output | None = None,
        console: Console | None = None,
    ) -> None:
        self._runner = runner
        self._limit = limit
        self._variables = variables or {}
        self._console = console or Console()
        self._is_timed = True
        self._prompt: PromptSession[str] = PromptSession(
            multiline=Condition(lambda: not is_complete(self._prompt.default_buffer.text, runner)),
            key_bindings=_keys(runner),
            history=_History(str(_history_file(history))),
            auto_suggest=AutoSuggestFromHistory(),
            completer=ShellCompleter(runner),
            complete_while_typing=False,
            input=given,
            output=shown,
        )

    def run(self) -> None:
        """Read statements until ``.quit`` or the end of the input."""
        self._say("Statements end with a semicolon. .help lists what else there is.")
        while True:
            try:
                text = self._prompt.prompt(f"{self._runner.dialect}> ", prompt_continuation="   ...> ")
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            if text.strip().lower() in _QUITS:
                return
            try:
                self._take(text.strip())
            except KeyboardInterrupt:
                self._say("interrupted")
            except REFUSALS as error:
                self._console.print(Text(f"error: {error_text(error)}", style="red"), soft_wrap=True)
            except Exception as error:  # Spark's errors have many classes.
                if isinstance(self._runner, OneNode):
                    raise
                self._console.print(Text(f"error: {error_text(error)}", style="red"), soft_wrap=True)

    def _take(self, text: str) -> None:
        if text.lower() in _BARE:
            text = f".{text.lower()}"
        if text.startswith("."):
            self._command(*text.split(maxsplit=1))
            return
        for result, seconds, _ in results(self._runner, [text], self._variables):
            if result is not None:
                show(self._console, result, self._limit)
            if self._is_timed:
                self._say(f"{seconds:.3f} s")

    def _command(self, name: str, argument: str = "") -> None:
        match name:
            case ".help":
                rows = [{"command": command, "what it does": what} for command, what in _HELP.items()]
                print_rows(self._console, rows, ["command", "what it does"])
            case ".tables":
                found = self._runner.tables()
                rows = [
                    {"namespace": namespace, "table": table}
                    for namespace, tables in found.items()
                    for table in tables
                    if not argument or namespace.lower() == argument.lower()
                ]
                print_rows(self._console, rows, ["namespace", "table"])
            case ".schema":
                columns = self._runner.columns(Words(argument, self._runner.dialect).table_name().parts)
                if not columns:
                    raise ValueError(f"there is no table {argument}")
                listed = [{"column": column, "type": data_type} for column, data_type in columns.items()]
                print_rows(self._console, listed, ["column", "type"])
            case ".dialect":
                self._set_dialect(argument)
            case ".timing":
                if argument not in ("", "on", "off"):
                    raise ValueError(f".timing is on or off, not {argument}")
                self._is_timed = argument == "on" if argument else not self._is_timed
                self._say(f"timing is {'on' if self._is_timed else 'off'}")
            case _:
                raise ValueError(f"there is no command {name}; .help lists them")

    def _set_dialect(self, dialect: str) -> None:
        if dialect in _DIALECTS:
            if not isinstance(self._runner, OneNode) and dialect != self._runner.dialect:
                raise ValueError("Spark runs its own dialect alone")
            self._runner.dialect = _DIALECTS[dialect]
        elif dialect:
            raise ValueError(f"the dialect is duckdb or spark, not {dialect}")
        self._say(f"the dialect is {self._runner.dialect}")

    def _say(self, text: str) -> None:
        self._console.print(Text(text, style="dim"))


def is_complete(text: str, runner: Runner) -> bool:
    """Whether a text can be run: it is empty, a command of the shell, or ends with a semicolon.

    A semicolon in quotes or in a comment ends nothing.
    """
    stripped = text.strip()
    if not stripped or stripped.startswith(".") or stripped.lower() in _BARE:
        return True
    if ";" not in stripped:
        return False
    try:
        words = Words(stripped, runner.dialect)
    except DeltaError:  # A quote is not closed yet.
        return False
    return words.ends_with_semicolon


def _keys(runner: Runner) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def enter(event: KeyPressEvent) -> None:
        buffer: Buffer = event.current_buffer
        if is_complete(buffer.text, runner):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return keys


class _History(FileHistory):
    """What was typed, but for texts with a secret in them."""

    def store_string(self, string: str) -> None:
        if redacted(string) == string:
            super().store_string(string)


def _history_file(given: str | None) -> Path:
    """The file of the history, which nobody else may read."""
    if given is None:
        home = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
        path = Path(home) / "deltaarrow" / "history"
    else:
        path = Path(given)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    return path


class ShellCompleter(Completer):
    """Completes keywords, names of tables, and columns of the tables that a text names."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield what may stand at the cursor, by its beginning there."""
        before = document.text_before_cursor
        found = _LAST_NAME.search(before)
        begun = "" if found is None else found[0]
        command, space, _ = before.lstrip().partition(" ")
        if not command.startswith("."):
            known: Iterable[str] = self._known(begun, document.text)
        elif space:
            known = self._arguments(command, begun)
        else:
            known = (each.split()[0] for each in _HELP)
        for name in dict.fromkeys(known):
            if name.lower().startswith(begun.lower()) and name != begun:
                yield Completion(name, start_position=-len(begun))

    def _known(self, begun: str, text: str) -> Iterable[str]:
        named = self._tables_in(text)
        prefix, dot, _ = begun.rpartition(".")
        for name, alias in named:
            if not dot:
                yield from map(_quoted, self._runner.columns(name))
            elif fold(prefix) in (fold(alias), fold(".".join(name))):
                yield from (f"{prefix}.{_quoted(column)}" for column in self._runner.columns(name))
        if not dot:
            yield from (alias for name, alias in named if alias != name[-1])
        yield from self._names(begun)
        if not dot:
            yield from sorted({*_KEYWORDS.split(), *(word for word in first_words() if word.isalpha())})

    def _names(self, begun: str) -> Iterable[str]:
        """The names of namespaces and of tables."""
        try:
            tables = self._runner.tables()
        except REFUSALS:  # A folder that cannot be listed must not end the shell.
            tables = {}
        if "." in begun:
            for namespace, names in tables.items():
                yield from (f"{namespace}.{_quoted(name)}" for name in names if namespace)
            return
        yield from (name for name in tables if name)
        yield from map(_quoted, tables.get("", []))

    def _arguments(self, command: str, begun: str) -> Iterable[str]:
        """What may follow a command of the shell."""
        match command:
            case ".dialect":
                return _DIALECTS
            case ".timing":
                return ("on", "off")
            case ".schema" | ".tables":
                return self._names(begun)
        return ()

    def _tables_in(self, text: str) -> list[tuple[tuple[str, ...], str]]:
        """The tables in a text, which need not be complete: their names, and what expressions call them."""
        try:
            words = Words(text, self._runner.dialect)
        except DeltaError:
            return []
        found: list[tuple[tuple[str, ...], str]] = []
        while not words.is_done:
            if not any(words.take(word) for word in _NAMED):
                words.skip()
                continue
            here = words.here()
            try:
                name: TableName = words.table_name()
            except DeltaError:
                words.back_to(here)
            else:
                found.append((name.parts, _alias(words) or name.parts[-1]))
        return found


def _alias(words: Words) -> str | None:
    """The alias after the name of a table; None without one."""
    here = words.here()
    if not words.take("AS") and any(words.is_at(each) for each in _NO_ALIASES):
        return None
    try:
        return words.identifier("an alias")
    except DeltaError:
        words.back_to(here)
        return None


def _quoted(name: str) -> str:
    return name if _PLAIN.match(name) else "`{}`".format(name.replace("`", "``"))
