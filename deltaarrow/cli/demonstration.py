"""The command ``deltaarrow demo``."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn
from rich.text import Text

from deltaarrow.cli.demo import run_demo
from deltaarrow.cli.result_rendering import print_json, print_rows, printable
from deltaarrow.cli.shared_options import new_commands, progress_bar

__all__ = ["commands", "demo"]

commands = new_commands()


@commands.command()
def demo(
    path: Annotated[
        str | None, typer.Option(metavar="DIR", help="The folder of the table; default: a temporary folder.")
    ] = None,
    rows: Annotated[int, typer.Option(min=4, help="Orders to write.")] = 100_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")] = False,
) -> None:
    """Write and change a table, read older versions, and query it with DuckDB and Polars."""
    target = path or str(Path(tempfile.mkdtemp(prefix="deltaarrow-demo-")) / "orders")
    console = Console()
    steps = []
    with progress_bar(MofNCompleteColumn()) as progress:
        written = progress.add_task("rows written", total=rows)
        for step in run_demo(target, rows, lambda count: progress.advance(written, count)):
            result = [] if step.result is None else step.result.to_pylist()
            steps.append({"title": step.title, "code": step.code, "result": result, "note": step.note})
            if as_json:
                continue
            console.print(Text(f"\n{len(steps)}. {step.title}", style="bold"))
            console.print(Text(step.note or f"   {step.code}", style="dim"))
            if step.result is not None:
                print_rows(console, result, step.result.column_names)
    if as_json:
        print_json({"path": target, "steps": steps})
    else:
        console.print(Text(f"\nThe table is at {printable(target)}"), soft_wrap=True)
        console.print(Text(f"Try: deltaarrow history {printable(target)}"), soft_wrap=True)
