"""The command ``deltaarrow sql``: statements of a file, of the command line or of a shell."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer
from rich.console import Console
from rich.progress import Progress, TextColumn
from rich.text import Text

from deltaarrow.cli.output import BINARY, Format
from deltaarrow.cli.printer import Printer, default_format
from deltaarrow.cli.shared_options import (
    CATALOG_HELP,
    ResultCommand,
    StorageOptions,
    new_commands,
    parse_options,
    progress_bar,
)
from deltaarrow.cli.statement_engine import (
    REFUSALS,
    Result,
    Runner,
    Spark,
    error_text,
    open_one_node,
    open_spark,
    results,
)
from deltaarrow.engines import Dialect
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.runtime.optional import require

__all__ = ["commands", "sql"]

commands = new_commands()

_lazily = lazy_attributes(__name__, {"Shell": "deltaarrow.cli.shell"})


@commands.command(cls=ResultCommand)
def sql(
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="A file of SQL statements; - is standard input.")
    ] = None,
    texts: Annotated[
        list[str] | None,
        typer.Option("-e", "--execute", metavar="TEXT", help="SQL statements; may be repeated."),
    ] = None,
    form: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="Output format; default: that of the extension of --output, else table on a terminal"
            " and tsv elsewhere. All formats but table and tsv print only the rows of the last statement.",
        ),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the rows to this file.")
    ] = None,
    dialect: Annotated[
        Literal["duckdb", "spark"] | None,
        typer.Option(help="The SQL dialect of the statements; default: the dialect of the engine."),
    ] = None,
    engine: Annotated[
        Literal["duckdb", "spark"],
        typer.Option(help="The engine that runs the statements: duckdb in this process, or spark."),
    ] = "duckdb",
    master: Annotated[str, typer.Option(help="The Spark master.")] = "local[2]",
    attach: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FOLDER", help="Attach the tables of FOLDER as NAME.table; may be repeated."
        ),
    ] = None,
    catalog: Annotated[
        str | None,
        typer.Option(metavar="URL", help=CATALOG_HELP),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="The value of ${NAME} in statements; may be repeated."
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="Maximum number of rows to show.")] = 100,
    history: Annotated[
        str | None, typer.Option(metavar="FILE", help="The file of the shell's history.")
    ] = None,
    storage_option: StorageOptions = None,
) -> None:
    """Run SQL on Delta tables, from a file, -e, standard input or an interactive shell."""
    if file is not None and texts:
        raise typer.BadParameter("give a file or -e, not both", param_hint="-e")
    form = form or (default_format() if output is None else _format_of(output))
    if form == "table" and output is not None:
        raise typer.BadParameter("a table is for people; choose another format", param_hint="--format")
    if form in BINARY and output is None and sys.stdout.isatty():
        raise typer.BadParameter(f"{form} is not for a terminal; give --output", param_hint="--format")
    variables = parse_options(settings, "--set") or {}
    attached = parse_options(attach, "--attach") or {}
    is_shell = file is None and not texts and sys.stdin.isatty()
    if is_shell:
        require("prompt_toolkit")
    with progress_bar(TextColumn("{task.completed} of {task.total}")) as bar:
        runner: Runner
        if engine == "spark":
            runner = _spark(dialect, attached, catalog, master)
        else:
            runner = open_one_node(
                dialect or "duckdb", attached, catalog, parse_options(storage_option), _told(bar)
            )
        if not is_shell:
            found = results(runner, texts or [_read(file)], variables)
            _run(found, Printer(form, output), limit, bar)
            return
    _lazily("Shell")(runner, history=history, limit=limit, variables=variables).run()


def _spark(dialect: Dialect | None, attached: object, catalog: str | None, master: str) -> Spark:
    if dialect == "duckdb":
        raise typer.BadParameter("Spark runs its own dialect alone", param_hint="--dialect")
    if attached or catalog is not None:
        raise typer.BadParameter(
            "Spark has its own catalog: name tables by their paths, as delta.`/data/orders`",
            param_hint="--attach" if attached else "--catalog",
        )
    return open_spark(master)


def _format_of(output: str) -> Format:
    """The format that the name of a file tells."""
    suffix = Path(output).suffix.removeprefix(".").lower()
    for form in get_args(Format):
        if form == suffix and form != "table":
            found: Format = form
            return found
    raise typer.BadParameter(f"{output} does not tell the format; give --format", param_hint="--output")


def _read(file: str | None) -> str:
    if file is None or file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text("utf-8")
    except (FileNotFoundError, IsADirectoryError) as error:
        raise typer.BadParameter(
            f"{file!r} is no file of statements; statements themselves follow -e", param_hint="FILE"
        ) from error


def _told(bar: Progress) -> Callable[[int, int], None]:
    """What shows the progress of a statement in a bar, which is gone when the statement is done."""
    task = bar.add_task("statement", visible=False)

    def told(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total, visible=done < total)

    return told


def _run(
    found: Iterator[tuple[Result | None, float, bool]], printer: Printer, limit: int, bar: Progress
) -> None:
    """Print the rows of each statement, or of the last one in a format that holds one result."""
    shown = 0
    try:
        for result, _, is_last in found:
            if result is not None and (is_last or printer.takes_several):
                if shown:
                    printer.separate()
                printer.result(result, limit)
                shown += 1
    except BrokenPipeError:
        raise  # the reader closed the output
    except REFUSALS as error:
        bar.stop()
        Console(stderr=True).print(Text(f"error: {error_text(error)}"), soft_wrap=True)
        raise typer.Exit(1) from error
