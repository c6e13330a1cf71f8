"""Arguments and options that several commands have, and the bar that shows their progress."""

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn

__all__ = ["AsJson", "StorageOptions", "TablePath", "parse_options", "progress_bar"]

TablePath = Annotated[str, typer.Argument(metavar="PATH", help="The table: a folder or a URI.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]
StorageOptions = Annotated[
    list[str] | None,
    typer.Option("--storage-option", metavar="KEY=VALUE", help="For the file system; may be repeated."),
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


def progress_bar(count: ProgressColumn) -> Progress:
    """A bar on the terminal that is gone when the work is done; none where the output goes elsewhere."""
    columns = (TextColumn("{task.description}"), BarColumn(), count, TimeElapsedColumn())
    screen = Console(stderr=True)
    return Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)
