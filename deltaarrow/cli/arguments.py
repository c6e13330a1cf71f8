"""Arguments and options that several commands have, the table they name, and the bar of their progress."""

import datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn

from deltaarrow.table import DeltaTable

__all__ = [
    "AsJson",
    "AtVersion",
    "StorageOptions",
    "TablePath",
    "open_table",
    "parse_options",
    "progress_bar",
]

TablePath = Annotated[str, typer.Argument(metavar="PATH", help="The table: a folder or a URI.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]
StorageOptions = Annotated[
    list[str] | None,
    typer.Option("--storage-option", metavar="KEY=VALUE", help="For the file system; may be repeated."),
]
AtVersion = Annotated[
    str | None,
    typer.Option("--version", metavar="VERSION", help="A version number, or a time in ISO-8601."),
]


def parse_options(texts: list[str] | None, name: str = "--storage-option") -> dict[str, str] | None:
    """Return the pairs that the option `name` of a command was given; None without any."""
    options = {}
    for text in texts or []:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise typer.BadParameter(f"{text!r} is not KEY=VALUE", param_hint=name)
        options[key] = value
    return options or None


def open_table(path: str, version: str | None, storage_options: list[str] | None) -> DeltaTable:
    """Return the table that a command was given, at a version or time, with the pairs of its options."""
    return DeltaTable(path, version=_version(version), storage_options=parse_options(storage_options))


def _version(text: str | None) -> int | datetime.datetime | None:
    try:
        if text is None or text.removeprefix("-").isdecimal():
            return None if text is None else int(text)
        return datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r} is neither a version number nor a time in ISO-8601", param_hint="--version"
        ) from error


def progress_bar(count: ProgressColumn) -> Progress:
    """A bar on the terminal that is gone when the work is done; none where the output goes elsewhere."""
    columns = (TextColumn("{task.description}"), BarColumn(), count, TimeElapsedColumn())
    screen = Console(stderr=True)
    return Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)
