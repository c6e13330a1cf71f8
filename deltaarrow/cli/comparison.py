"""The command ``deltaarrow diff``: the differences between two versions of a table."""

from dataclasses import asdict
from typing import Annotated, Any

import pyarrow.compute as pc
import typer

from deltaarrow.cli.printer import Printer
from deltaarrow.cli.shared_options import (
    OutputFormat,
    ResultCommand,
    StorageOptions,
    TablePath,
    new_commands,
    open_table,
    work_shown,
)
from deltaarrow.table.difference import VersionDifference

__all__ = ["commands", "diff"]

commands = new_commands()

_COLUMNS = ["part", "change", "name", "before", "after"]


@commands.command(cls=ResultCommand)
def diff(
    path: TablePath,
    first: Annotated[
        str, typer.Option("--from", metavar="VERSION", help="The older version, or a timestamp in ISO 8601.")
    ],
    last: Annotated[
        str | None,
        typer.Option("--to", metavar="VERSION", help="The newer version; default: the newest version."),
    ] = None,
    rows: Annotated[
        bool, typer.Option("--rows", help="Print the added and removed rows instead of their number.")
    ] = False,
    limit: Annotated[
        int, typer.Option(min=0, help="Maximum number of rows in a table; other formats print all rows.")
    ] = 100,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """The differences between two versions: columns, properties, protocol, files and rows."""
    older, newer = (
        open_table(path, each, storage_option, option).snapshot
        for each, option in ((first, "--from"), (last, "--to"))
    )
    if older.version > newer.version:
        raise typer.BadParameter(
            f"version {older.version} is after version {newer.version}", param_hint="--from"
        )
    difference = VersionDifference(older, newer)
    if rows:
        with difference.open_rows() as found:
            Printer(form).stream(found, limit)
        return
    changes = [{**asdict(change), "change": change.kind} for change in difference.changes]
    with work_shown("comparing rows"):
        counted = _counted(difference)
    shown = [
        {"part": part, "change": change, "name": part, "before": None, "after": number}
        for part, numbers in counted.items()
        for change, number in numbers.items()
    ]
    document = {"from": older.version, "to": newer.version, "changes": changes, **counted}
    Printer(form).rows([*changes, *shown], _COLUMNS, document=document)


def _counted(difference: VersionDifference) -> dict[str, dict[str, int]]:
    """How many files, bytes and rows came and went."""
    rows, files = difference.count_rows(), difference.files
    sides: dict[str, Any] = {"added": files.only_newer, "removed": files.only_older}
    return {
        "files": {change: table.num_rows for change, table in sides.items()},
        "bytes": {change: pc.sum(table.column("size")).as_py() or 0 for change, table in sides.items()},
        "rows": {"added": rows["insert"], "removed": rows["delete"]},
    }
