"""The commands of ``deltaarrow pipeline``: scripts on Spark, and what follows them on one node."""

import time
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from deltaarrow.cli.render import print_json, print_rows
from deltaarrow.pipeline import FollowReport, StepReport, follow_once, run_scripts, start_spark

__all__ = ["follow", "pipeline", "run"]

pipeline = typer.Typer(
    name="pipeline",
    help="An ETL pipeline in Spark SQL, and its single-node half.",
    no_args_is_help=True,
)

Lake = Annotated[str, typer.Option(metavar="DIR", help="The folder that the tables are in.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


@pipeline.command()
def run(
    scripts: Annotated[str, typer.Argument(metavar="FOLDER", help="The scripts: .sql files.")],
    lake: Lake,
    events: Annotated[int, typer.Option(min=1, help="Events of a batch.")] = 1_000_000,
    batch: Annotated[int, typer.Option(min=0, help="Number of the batch.")] = 0,
    first: Annotated[
        str | None, typer.Option("--from", metavar="NAME", help="The script to begin with, or its beginning.")
    ] = None,
    master: Annotated[str, typer.Option(help="Where Spark runs.")] = "local[2]",
    as_json: AsJson = False,
) -> None:
    """Run scripts on Spark, one after the other; a batch may be run again, also from where it stopped."""
    spark = start_spark(master)
    reports: list[StepReport] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    screen = Console(stderr=True)
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task("")
        steps = run_scripts(
            spark,
            scripts,
            lake,
            events=events,
            batch=batch,
            first=first,
            on_statement=lambda script, done, count: progress.update(
                task, description=script.name, completed=done, total=count
            ),
        )
        for report in steps:
            reports.append(report)
            if not as_json:
                _print_step(Console(), report)
    if as_json:
        print_json([asdict(report) for report in reports])


def _print_step(console: Console, report: StepReport) -> None:
    console.print(Text(f"{report.name}: {report.title}", style="bold"))
    rows = [
        {"table": table, "rows": report.rows[table], "files": report.files[table]} for table in report.rows
    ]
    if rows:
        print_rows(console, rows, ["table", "rows", "files"])
    console.print(Text(f"{report.statements} statements, {report.seconds:.1f} s", style="dim"))


@pipeline.command()
def follow(
    lake: Lake,
    interval: Annotated[
        float | None, typer.Option(min=0.1, metavar="SECONDS", help="Look again and again; once if not said.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Bring gold in step with what is new in silver, on one node; Spark may go on writing."""
    while True:
        report = follow_once(lake)
        if as_json:
            print_json(asdict(report))
        elif report.metrics is not None or interval is None:
            Console().print(Text(_said(report)))
        if interval is None:
            return
        time.sleep(interval)


def _said(report: FollowReport) -> str:
    if report.metrics is None:
        return f"nothing new since version {report.last_version} of silver"
    changed = ", ".join(
        f"{report.metrics[f'num_target_rows_{what}']} {what}" for what in ("inserted", "updated", "deleted")
    )
    return (
        f"versions {report.first_version} to {report.last_version} of silver: {report.groups} groups,"
        f" {changed}"
    )
