"""The commands of ``deltaarrow pipeline``: scripts of Spark SQL, on Spark or on one node."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn
from rich.text import Text

from deltaarrow.cli.result_rendering import print_json, print_rows, printable
from deltaarrow.cli.shared_options import new_commands, parse_options, progress_bar
from deltaarrow.pipeline import (
    Engine,
    ExecutorsEngine,
    OneNodeEngine,
    SparkEngine,
    StepReport,
    lines_of,
    render_run,
    run_scripts,
    start_spark,
)

__all__ = ["commands", "run"]

commands = new_commands("pipeline", "Run Spark SQL scripts on Spark or on one node.")


@commands.command()
def run(
    scripts: Annotated[
        str, typer.Argument(metavar="PATH", help="The scripts: a folder of .sql files, or one of them.")
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="The value of ${NAME} in the scripts; may be repeated."
        ),
    ] = None,
    engine: Annotated[
        Literal["spark", "duckdb"],
        typer.Option(help="The engine that runs the statements; duckdb does not need Spark."),
    ] = "spark",
    delta: Annotated[
        Literal["delta-spark", "ours"] | None,
        typer.Option(
            help="The engine that changes tables on Spark: delta-spark (default), or deltaarrow"
            " with its tasks on executors, without a jar."
        ),
    ] = None,
    first: Annotated[
        str | None,
        typer.Option("--from", metavar="NAME", help="The script to start with: its name or a prefix of it."),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            min=0.1, metavar="SECONDS", help="Repeat the run with this interval; default: run once."
        ),
    ] = None,
    master: Annotated[str, typer.Option(help="The Spark master.")] = "local[2]",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document per run.")] = False,
    page: Annotated[
        str | None, typer.Option("--report", metavar="FILE", help="Write an HTML page about the last run.")
    ] = None,
) -> None:
    """Run scripts of Spark SQL, one after the other, and report on the tables that they name."""
    if delta is not None and engine != "spark":
        raise typer.BadParameter("--delta is for --engine spark", param_hint="--delta")
    variables = parse_options(settings, "--set") or {}
    statements, name = _engine(engine, delta, master)

    def show(report: StepReport) -> None:
        if not as_json and (interval is None or not report.is_idle):
            _print_step(Console(), report)

    while True:
        reports = _run(statements, scripts, variables, first, show)
        if as_json:
            print_json([asdict(report) for report in reports])
        if page is not None:
            Path(page).write_text(render_run(reports, name), encoding="utf-8")
        if interval is None:
            return
        time.sleep(interval)


def _engine(engine: str, delta: str | None, master: str) -> tuple[Engine, str]:
    """Return what runs the statements, and its name for people."""
    if engine == "duckdb":
        return OneNodeEngine(), "one node"
    if delta == "ours":
        return ExecutorsEngine(start_spark(master, has_jar=False)), f"deltaarrow on Spark ({master})"
    return SparkEngine(start_spark(master)), f"Spark with delta-spark ({master})"


def _run(
    engine: Engine,
    scripts: str,
    variables: Mapping[str, str],
    first: str | None,
    show: Callable[[StepReport], None],
) -> list[StepReport]:
    """Run the scripts once, with a bar of progress, and show the report on each as it comes."""
    reports: list[StepReport] = []
    with progress_bar(MofNCompleteColumn()) as progress:
        task = progress.add_task("")
        steps = run_scripts(
            engine,
            scripts,
            variables,
            first=first,
            on_statement=lambda script, done, count: progress.update(
                task, description=script.name, completed=done, total=count
            ),
        )
        for report in steps:
            reports.append(report)
            show(report)
    return reports


def _print_step(console: Console, report: StepReport) -> None:
    console.print(Text(f"{report.name}: {report.title}", style="bold"))
    rows = [
        {"table": table, "rows": report.rows[table], "files": report.files[table]} for table in report.rows
    ]
    if rows:
        print_rows(console, rows, ["table", "rows", "files"])
    for line in lines_of(report):
        console.print(Text(printable(line)), soft_wrap=True)
    console.print(Text(f"{report.statements} statements, {report.seconds:.1f} s", style="dim"))
