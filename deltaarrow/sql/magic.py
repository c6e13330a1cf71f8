"""The magics ``%delta`` and ``%%delta`` of IPython and Jupyter: SQL over Delta tables in a cell.

IPython gives the shell to `load_ipython_extension`; nothing of it is imported here.
"""

import argparse
import shlex
from typing import Any, NoReturn

import pyarrow as pa

from deltaarrow.engines import DeltaConnection, Dialect
from deltaarrow.sql.connection import connect

__all__ = ["DeltaMagic", "load_ipython_extension"]

_HELP = "options of %%delta: --dialect duckdb|spark, --attach NAME=FOLDER, --catalog FOLDER, --output NAME"

_DIALECT: Dialect = "duckdb"
"""The dialect of a line, and of a cell that does not say otherwise."""


class DeltaMagic:
    """Runs the statements of cells on one connection.

    Args:
        shell: IPython's, whose variables take results.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._connection: DeltaConnection | None = None

    @property
    def connection(self) -> DeltaConnection:
        """What the statements run on; it sees no variables of the notebook."""
        if self._connection is None:
            self._connection = self._opened(None, _DIALECT)
        return self._connection

    def _opened(self, catalog: str | None, dialect: Dialect) -> DeltaConnection:
        found = connect(catalog=catalog, dialect=dialect)
        found.connection.execute("SET TimeZone = 'UTC'; SET python_enable_replacements = false")
        return found

    def __call__(self, line: str, cell: str | None = None) -> Any:
        """Run a line, or a cell with the options in its first line; return the rows of the last statement.

        The options ``--dialect`` and ``--output`` hold for the cell; ``--attach`` and ``--catalog`` for the
        cells after it too.

        They are a relation of DuckDB, which shows itself as a table and has ``df()``, ``pl()`` and
        ``to_arrow_table()``. A line that is empty returns the connection.

        Raises `ValueError` for an option that there is not, and what the statements raise.
        """
        if cell is None:
            return self._run(line, _DIALECT) if line.strip() else self.connection
        options = _parser().parse_args(shlex.split(line))
        if options.catalog is not None:
            self._connection = self._opened(options.catalog, options.dialect)
        for text in options.attach:
            name, equals, folder = text.partition("=")
            if not (name and equals and folder):
                raise ValueError(f"--attach takes NAME=FOLDER, not {text!r}")
            self.connection.attach(folder, name)
        found = self._run(cell, options.dialect) if cell.strip() else None
        if options.output is None:
            return found
        self._shell.user_ns[options.output] = found
        return None

    def _run(self, text: str, dialect: Dialect) -> Any:
        found: Any = self.connection.run(text, dialect=dialect)
        if not isinstance(found, pa.Table):
            return found
        return self.connection.connection.from_arrow(found) if found.num_columns else None


class _Options(argparse.ArgumentParser):
    """Options whose errors end a cell and not the program."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} ({_HELP})")


def _parser() -> _Options:
    parser = _Options(prog="%%delta", add_help=False, allow_abbrev=False)
    parser.add_argument("--dialect", choices=("duckdb", "spark"), default=_DIALECT)
    parser.add_argument("--attach", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--catalog", metavar="FOLDER")
    parser.add_argument("-o", "--output", metavar="NAME")
    return parser


def load_ipython_extension(shell: Any) -> None:
    """Offer the magics ``%delta`` and ``%%delta``; IPython calls this at ``%load_ext deltaarrow``.

    Args:
        shell: IPython's.
    """
    shell.register_magic_function(DeltaMagic(shell), magic_kind="line_cell", magic_name="delta")
