"""Arguments and options that several commands have, the table they name, and the bar of their progress."""

import contextlib
import datetime
from collections.abc import Callable, Iterator
from typing import Annotated, Any, TypeAlias

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from typer.core import TyperCommand, TyperGroup

from deltaarrow.cli.output import Format
from deltaarrow.table import DeltaTable

__all__ = [
    "AtVersion",
    "DryRun",
    "OutputFormat",
    "Progressed",
    "ResultCommand",
    "StorageOptions",
    "TablePath",
    "new_commands",
    "open_table",
    "parse_options",
    "parse_version",
    "progress_bar",
    "progress_shown",
    "work_shown",
]

Progressed: TypeAlias = Callable[[int, int], None]
"""Is told how much of some work is done, and of how much."""

TablePath = Annotated[str, typer.Argument(metavar="PATH", help="The table: a folder or a URI.")]
OutputFormat = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="How the result is printed: as a table on a terminal, elsewhere as tsv, if not given; --json is"
        " short for --format json.",
    ),
]
StorageOptions = Annotated[
    list[str] | None,
    typer.Option("--storage-option", metavar="KEY=VALUE", help="For the file system; may be repeated."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing; print what would be done.")]
AtVersion = Annotated[
    str | None,
    typer.Option("--version", metavar="VERSION", help="A version number, or a time in ISO-8601."),
]


def new_commands(
    name: str | None = None, summary: str | None = None, group: type[TyperGroup] = TyperGroup
) -> typer.Typer:
    """Return an application for the commands of a module: a group of them if it has a name."""
    return typer.Typer(name=name, cls=group, help=summary, no_args_is_help=True, rich_markup_mode=None)


class ResultCommand(TyperCommand):
    """A command with ``--format``, which takes ``--json`` for ``--format json``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        return super().parse_args(ctx, ["--format=json" if each == "--json" else each for each in args])


def parse_options(texts: list[str] | None, name: str = "--storage-option") -> dict[str, str] | None:
    """Return the pairs that the option `name` of a command was given; None without any."""
    options = {}
    for text in texts or []:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise typer.BadParameter(f"{text!r} is not KEY=VALUE", param_hint=name)
        options[key] = value
    return options or None


def open_table(
    path: str, version: str | None, storage_options: list[str] | None, name: str = "--version"
) -> DeltaTable:
    """Return the table that a command was given, with the pairs of its options.

    It is at the version or time that the option `name` says.
    """
    wanted = parse_version(version, name)
    options = parse_options(storage_options)
    return DeltaTable(path, version=wanted, storage_options=options, dialect="spark")


def parse_version(text: str | None, name: str = "--version") -> int | datetime.datetime | None:
    """Return the version or the time that the option `name` of a command was given."""
    try:
        if text is None or text.removeprefix("-").isdecimal():
            return None if text is None else int(text)
        return datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r} is neither a version number nor a time in ISO-8601", param_hint=name
        ) from error


def progress_bar(count: ProgressColumn) -> Progress:
    """A bar on the terminal that is gone when the work is done; none where the output goes elsewhere."""
    columns = (TextColumn("{task.description}"), BarColumn(), count, TimeElapsedColumn())
    screen = Console(stderr=True)
    return Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)


@contextlib.contextmanager
def progress_shown(what: str, count: ProgressColumn, *, visible: bool = True) -> Iterator[Progressed]:
    """Show a `progress_bar` inside a ``with`` block, and give the function that is told the progress.

    Args:
        what: stands beside the bar.
        count: shows the numbers that the function is told.
        visible: whether there is work to show.
    """
    with progress_bar(count) as bar:
        task = bar.add_task(what, total=None, visible=visible)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextlib.contextmanager
def work_shown(what: str) -> Iterator[None]:
    """Show that work goes on inside a ``with`` block that does not tell how much of it is done."""
    with progress_bar(TextColumn("")) as bar:
        bar.add_task(what, total=None)
        yield
