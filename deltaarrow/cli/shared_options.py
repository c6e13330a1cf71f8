"""Arguments and options that several commands share, and the progress bar."""

import contextlib
import datetime
import functools
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Annotated, Any, TypeAlias

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from typer.core import TyperCommand, TyperGroup

from deltaarrow.cli.output import Format
from deltaarrow.table import DeltaTable

__all__ = [
    "CATALOG_HELP",
    "AtVersion",
    "DryRun",
    "OutputFormat",
    "Progressed",
    "ResultCommand",
    "StorageOptions",
    "TablePath",
    "given_catalog",
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

_TABLE = "The table: a folder or a URI."
TablePath = Annotated[str, typer.Argument(metavar="PATH", help=_TABLE)]
OutputFormat = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="Output format; default: table on a terminal, else tsv; --json is short for --format json.",
    ),
]
StorageOptions = Annotated[
    list[str] | None,
    typer.Option("--storage-option", metavar="KEY=VALUE", help="A storage option; may be repeated."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing; print what would be done.")]
AtVersion = Annotated[
    str | None,
    typer.Option("--version", metavar="VERSION", help="A version number, or a timestamp in ISO 8601."),
]


def new_commands(
    name: str | None = None, summary: str | None = None, group: type[TyperGroup] = TyperGroup
) -> typer.Typer:
    """Return an application for the commands of a module: a group of them if it has a name."""
    return typer.Typer(name=name, cls=group, help=summary, no_args_is_help=True, rich_markup_mode=None)


CATALOG_HELP = (
    "The catalog of table names: https://host/main for the catalog main of a Unity Catalog server, glue://"
    " and a region for AWS Glue, thrift://host:9083 for a Hive metastore, deltasharing://PROFILE#SHARE for"
    " a share, or the folder of a file catalog."
)
_GIVEN = f"{__name__}.catalog"
_catalog: ContextVar[str | None] = ContextVar("catalog", default=None)


@functools.cache
def _catalog_option() -> Any:
    """The option that every command with a `TablePath` takes."""

    def command(
        catalog: Annotated[
            str | None,
            typer.Option(metavar="URL", help=f"{CATALOG_HELP} PATH is then the name of the table."),
        ] = None,
    ) -> None: ...

    commands = new_commands()
    commands.command()(command)
    (option,) = (each for each in typer.main.get_command(commands).params if each.name == "catalog")
    option.expose_value = False
    option.callback = lambda context, parameter, text: context.meta.update({_GIVEN: text})
    return option


def given_catalog() -> str | None:
    """Return what the command that runs was given as ``--catalog``; None if nothing."""
    return _catalog.get()


class ResultCommand(TyperCommand):
    """A command with ``--format``, which takes ``--json`` for ``--format json``.

    If it takes a table (`TablePath`), it takes ``--catalog`` as well, and the table by its name there.
    """

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        if any(getattr(each, "help", None) == _TABLE for each in self.params):
            self.params.append(_catalog_option())

    def invoke(self, ctx: Any) -> Any:
        """Run the command; `given_catalog` tells its catalog meanwhile."""
        before = _catalog.set(ctx.meta.get(_GIVEN))
        try:
            return super().invoke(ctx)
        finally:
            _catalog.reset(before)

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
    if (catalog := given_catalog()) is not None:
        return DeltaTable(path, version=wanted, storage_options=options, catalog=catalog, dialect="spark")
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
