"""The commands of ``deltaarrow properties``."""

from difflib import get_close_matches
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from deltaarrow.cli.printer import Printer
from deltaarrow.cli.shared_options import (
    OutputFormat,
    ResultCommand,
    StorageOptions,
    TablePath,
    new_commands,
    open_table,
    parse_options,
)

__all__ = ["commands", "get_properties", "set_properties", "unset_properties"]


class _Verbs(TyperGroup):
    """The group; of a path where a command is due it tells what prints the properties of the table."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command."""
        name = args[0]
        if name not in self.commands and not get_close_matches(name, self.commands):
            raise typer.BadParameter(
                f"{name!r} is none of {', '.join(self.commands)}; `properties get {name}` prints the"
                " properties of a table",
                param_hint="COMMAND",
            )
        return super().resolve_command(ctx, args)


commands = new_commands("properties", "The properties of a table.", _Verbs)

Keys = Annotated[list[str], typer.Argument(metavar="KEY...", help="Names of properties.")]


@commands.command("get", cls=ResultCommand)
def get_properties(
    path: TablePath,
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY]...", help="Names of properties; default: all.")
    ] = None,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """Print properties; one that is not set has no value."""
    found = open_table(path, None, storage_option).metadata().configuration
    Printer(form).mapping({key: found.get(key) for key in keys} if keys else dict(sorted(found.items())))


@commands.command("set", cls=ResultCommand)
def set_properties(
    path: TablePath,
    pairs: Annotated[list[str], typer.Argument(metavar="KEY=VALUE...", help="Properties and their values.")],
    allow_unknown: Annotated[
        bool, typer.Option("--allow-unknown", help="Accept unknown properties in the delta. namespace.")
    ] = False,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """Set properties in one commit; print its version."""
    table = open_table(path, None, storage_option)
    table.alter.set_table_properties(parse_options(pairs, "KEY=VALUE") or {}, not allow_unknown)
    Printer(form).mapping({"version": table.version()})


@commands.command("unset", cls=ResultCommand)
def unset_properties(
    path: TablePath,
    keys: Keys,
    if_exists: Annotated[
        bool, typer.Option("--if-exists", help="Ignore properties that are not set.")
    ] = False,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """Take properties from the table in one commit; print its version."""
    table = open_table(path, None, storage_option)
    table.alter.unset_table_properties(keys, not if_exists)
    Printer(form).mapping({"version": table.version()})
