"""The commands of the shell script: thin calls to `DeltaTable`, whose results `Printer` prints.

The module of a command is imported when the command is called, so that help is quick. Exit codes: 0 done, 1
the engine refuses (one line on standard error, or those that mark a place in SQL) or `verify` finds an error,
2 wrong usage.
"""

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from deltaarrow.cli.command_list import COMMANDS, LoadedCommands
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.version import VERSION

__all__ = ["app"]

_lazily = lazy_attributes(
    __name__, {"REFUSALS": "deltaarrow.cli.statement_engine", "error_text": "deltaarrow.cli.statement_engine"}
)


class _Commands(TyperGroup):
    """The command group; it turns the engine's errors into a message and exit code 1."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = LoadedCommands()  # type: ignore[assignment]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.summary) for name, place in COMMANDS.items()])

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # the reader closed the output; click ends the script quietly
        except Exception as error:
            if not isinstance(error, _lazily("REFUSALS")):
                raise
            text = _lazily("error_text")(error)
            is_marked = any(line.strip() == "^" for line in text.splitlines())
            print(f"error: {text if is_marked else ' '.join(text.split())}", file=sys.stderr)
            raise typer.Exit(1) from error


app = typer.Typer(
    name="deltaarrow",
    cls=_Commands,
    help="Delta Lake tables in the shell.",
    epilog="Exit codes: 0 done, 1 refused or an error that verify finds, 2 wrong usage.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_release(wanted: bool) -> None:
    if wanted:
        print(VERSION)
        raise typer.Exit


@app.callback()
def _root(
    release: Annotated[
        bool,
        typer.Option("--version", callback=_print_release, is_eager=True, help="Print the release and exit."),
    ] = False,
) -> None:
    """Delta Lake tables in the shell."""
