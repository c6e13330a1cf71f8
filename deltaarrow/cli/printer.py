"""`Printer`: the result of a command in the format that was asked for."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
from rich.console import Console
from rich.text import Text

from deltaarrow.cli.output import BINARY, Format, show, wide_console, write, write_rows
from deltaarrow.cli.result_rendering import cell_text, print_json, print_mapping, print_rows, rows_of
from deltaarrow.cli.statement_engine import Result

__all__ = ["Printer", "default_format"]


def default_format() -> Format:
    """The format that nobody asked for: a table on a terminal, and lines for programs elsewhere."""
    return "table" if sys.stdout.isatty() else "tsv"


class Printer:
    """Prints results to standard output or into a file.

    Args:
        form: the format; None for `default_format`.
        output: the file for the rows of `result`; None for standard output.
    """

    def __init__(self, form: Format | None, output: str | None = None) -> None:
        self._form = form or default_format()
        self._file = output
        self._console = wide_console()

    @property
    def is_for_people(self) -> bool:
        """Whether results are shown to people, who also want to be told what they see."""
        return self._form == "table"

    @property
    def takes_several(self) -> bool:
        """Whether a second result may follow the first."""
        return self._form == "table" or (self._form == "tsv" and self._file is None)

    def rows(
        self,
        rows: Sequence[Mapping[str, Any]],
        columns: Sequence[str],
        *,
        shown: Sequence[Mapping[str, Any]] | None = None,
        document: Any = None,
        limit: int | None = None,
    ) -> None:
        """Print rows.

        Args:
            rows: the rows.
            columns: the columns that people and lines of text show; JSON has all.
            shown: the rows as people are shown them, if in another way.
            document: what JSON shows, if not the rows.
            limit: how many rows people are shown.
        """
        if self._form == "table":
            total = None if limit is None else len(rows)
            print_rows(self._console, (rows if shown is None else shown)[:limit], columns, total=total)
        elif self._form == "json":
            print_json(rows if document is None else document)
        elif self._form in BINARY:
            plain = [{name: _plain(row.get(name)) for name in columns} for row in rows]
            found = pa.Table.from_pylist(plain) if plain else pa.table({name: [] for name in columns})
            self.stream(found.to_reader(), 0)
        else:
            write_rows(columns, rows, self._form, _output())
            _output().flush()

    def mapping(self, values: Mapping[str, Any], shown: Mapping[str, Any] | None = None) -> None:
        """Print values by name, a line each; JSON has one object. `shown` are the values for people."""
        if self._form == "table":
            print_mapping(self._console, values if shown is None else shown)
            return
        rows = [{"name": name, "value": value} for name, value in values.items()]
        self.rows(rows, ["name", "value"], document=values)

    def table(self, found: pa.Table, columns: Sequence[str] | None = None, **others: Any) -> None:
        """Print the rows of a table, whose columns have different names, as `rows` does."""
        if self._form in BINARY:
            self.stream(found.to_reader(), 0)
        else:
            self.rows(rows_of(found), columns or found.column_names, **others)

    def stream(self, found: pa.RecordBatchReader, limit: int) -> None:
        """Print rows as they come; people are shown as many as the limit says."""
        self.result(Result.of(found.schema, found), limit)

    def result(self, result: Result, limit: int) -> None:
        """Print the rows of a statement; people are shown as many as the limit says."""
        if self.is_for_people:
            show(self._console, result, limit)
        elif self._file is None:
            write(result, self._form, _output())
        else:
            with Path(self._file).open("wb") as file:
                write(result, self._form, file)

    def separate(self) -> None:
        """Let the next result begin after an empty line, but for people, whose tables have frames."""
        if not self.is_for_people:
            _output().write(b"\n")

    def said(self, text: str) -> None:
        """Tell people about what they see, and beside what programs read."""
        console = self._console if self.is_for_people else Console(stderr=True)
        console.print(Text(text), soft_wrap=True)


def _output() -> BinaryIO:
    sys.stdout.flush()
    return sys.stdout.buffer


def _plain(value: Any) -> Any:
    return cell_text(value) if isinstance(value, dict | list | tuple) else value
