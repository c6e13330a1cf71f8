"""The commands of ``deltaarrow pipeline``: scripts of Spark SQL, on Spark or on one node."""

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn
from rich.text import Text

from deltaarrow.cli.arguments import new_commands, parse_options, progress_bar
from deltaarrow.cli.render import print_json, print_rows, printable
from deltaarrow.pipeline import (
    Engine,
    MaintenanceReport,
    MergeReport,
    OneNodeEngine,
    SparkEngine,
    StepReport,
    run_scripts,
    start_spark,
)

__all__ = ["commands", "run"]

commands = new_commands("pipeline", "Scripts of Spark SQL, on Spark or on one node.")


@commands.command()
def run(
    scripts: Annotated[
        str, typer.Argument(metavar="PATH", help="The scripts: a folder of .sql files, or one of them.")
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="What stands for ${NAME} in the scripts; may be repeated."
        ),
    ] = None,
    engine: Annotated[
        Literal["spark", "duckdb"],
        typer.Option(help="What runs the statements; duckdb needs no Spark."),
    ] = "spark",
    first: Annotated[
        str | None, typer.Option("--from", metavar="NAME", help="The script to begin with, or its beginning.")
    ] = None,
    interval: Annotated[
        float | None, typer.Option(min=0.1, metavar="SECONDS", help="Run again and again; once if not said.")
    ] = None,
    master: Annotated[str, typer.Option(help="Where Spark runs.")] = "local[2]",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of text: a document a run.")
    ] = False,
) -> None:
    """Run scripts of Spark SQL, one after the other, and report on the tables that they name."""
    variables = parse_options(settings, "--set") or {}
    statements: Engine = OneNodeEngine() if engine == "duckdb" else SparkEngine(start_spark(master))

    def show(report: StepReport) -> None:
        if not as_json and (interval is None or not report.is_idle):
            _print_step(Console(), report)

    while True:
        reports = _run(statements, scripts, variables, first, show)
        if as_json:
            print_json([asdict(report) for report in reports])
        if interval is None:
            return
        time.sleep(interval)


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
    said = [*map(_said_of_merge, report.merges), *itertools.chain(*map(_said, report.maintenance))]
    for line in said:
        console.print(Text(printable(line)), soft_wrap=True)
    console.print(Text(f"{report.statements} statements, {report.seconds:.1f} s", style="dim"))


def _said(report: MaintenanceReport) -> list[str]:
    metrics, begin = report.metrics, f"{report.operation} {report.table}"
    if "numFilesRemoved" in metrics:
        done = f"{begin}: files rewritten: {metrics['numFilesRemoved']}, new: {metrics['numFilesAdded']}"
        return [done]
    if "numFilesToDelete" in metrics:
        return [*report.files, f"{begin}: files that would be deleted: {metrics['numFilesToDelete']}"]
    return [f"{begin}: files deleted: {metrics['numDeletedFiles']}"]


def _said_of_merge(merge: MergeReport) -> str:
    if merge.metrics is None:
        return "; ".join(
            f"nothing new since version {last} of {path}" for path, (_, last) in merge.changes.items()
        )
    taken = "".join(f"versions {first} to {last} of {path} " for path, (first, last) in merge.changes.items())
    changed = ", ".join(
        f"{merge.metrics[f'num_target_rows_{what}']} {what}" for what in ("inserted", "updated", "deleted")
    )
    return f"{taken}into {merge.table}: {merge.metrics['num_source_rows']} rows, {changed}"
