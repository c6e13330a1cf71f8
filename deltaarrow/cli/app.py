"""The commands of the shell script: thin calls to `DeltaTable`, printed for people or as JSON.

Exit codes: 0 done, 1 the engine refuses (one line on standard error) or `verify` finds an error, 2 wrong
usage.
"""

import datetime
import itertools
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import duckdb
import pyarrow as pa
import typer
from rich.console import Console
from rich.progress import DownloadColumn, MofNCompleteColumn
from rich.text import Text
from typer.core import TyperGroup

from deltaarrow.cli.arguments import AsJson, AtVersion, StorageOptions, TablePath, open_table, progress_bar
from deltaarrow.cli.demo import run_demo
from deltaarrow.cli.life import life
from deltaarrow.cli.pipeline import pipeline
from deltaarrow.cli.render import print_json, print_mapping, print_rows, printable, rows_of
from deltaarrow.cli.sql import statements
from deltaarrow.cli.statements import REFUSALS
from deltaarrow.engines import register
from deltaarrow.version import VERSION

__all__ = [
    "app",
    "demo",
    "detail",
    "explain",
    "files",
    "history",
    "optimize",
    "query",
    "vacuum",
    "verify",
]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class _Commands(TyperGroup):
    """The command group; it turns the engine's errors into one line and exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # the reader closed the output; click ends the script quietly
        except REFUSALS as error:
            text = " ".join(str(error).split()) or type(error).__name__
            print(f"error: {printable(text)}", file=sys.stderr)
            raise typer.Exit(1) from error


app = typer.Typer(
    name="deltaarrow",
    cls=_Commands,
    help="Delta Lake tables in the shell.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(pipeline)
app.add_typer(life)
app.add_typer(statements)


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


@app.command()
def history(
    path: TablePath,
    limit: Annotated[int | None, typer.Option(min=1, help="How many of the newest commits to show.")] = None,
    storage_option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """The commits of the table, newest first: who, when and how."""
    commits = open_table(path, None, storage_option).history(limit)
    if as_json:
        print_json(commits)
        return
    wanted = ("version", "timestamp", "operation", "operationParameters", "operationMetrics", "engineInfo")
    columns = [name for name in wanted if any(commit.get(name) is not None for commit in commits)]
    rows = [commit | {"timestamp": _time(commit.get("timestamp"))} for commit in commits]
    print_rows(Console(), rows, columns)


@app.command()
def detail(
    path: TablePath,
    version: AtVersion = None,
    storage_option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """The table's location, size, partitioning, properties and protocol."""
    found = open_table(path, version, storage_option).detail()
    if as_json:
        print_json(found)
    else:
        print_mapping(Console(), found | {name: _time(found[name]) for name in ("createdAt", "lastModified")})


@app.command()
def files(
    path: TablePath,
    version: AtVersion = None,
    storage_option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """The data files that make the table, with their partition values and sizes."""
    found = open_table(path, version, storage_option).get_add_actions(flatten=True)
    rows = rows_of(found)
    if as_json:
        print_json(rows)
        return
    columns = ["path", *(name for name in found.column_names if name.startswith("partition."))]
    columns += [
        name for name in ("num_records", "size_bytes", "modification_time") if name in found.column_names
    ]
    rows = [row | {"modification_time": _time(row["modification_time"])} for row in rows]
    print_rows(Console(), rows, columns)


@app.command()
def query(
    path: TablePath,
    sql: Annotated[str, typer.Argument(metavar="SQL", help="A query in DuckDB's SQL; the table is named t.")],
    version: AtVersion = None,
    limit: Annotated[int, typer.Option(min=0, help="Rows to show; --json prints all of them.")] = 100,
    storage_option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Run a query over the table, e.g. "select count(*) from t"."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        register(connection, "t", open_table(path, version, storage_option))
        relation = connection.sql(sql)
        if relation is None:
            raise typer.BadParameter("the statement returns no rows", param_hint="SQL")
        found = _with_unique_names(relation.to_arrow_table())
    if as_json:
        print_json(rows_of(found))
    else:
        print_rows(Console(), rows_of(found.slice(0, limit)), found.column_names, total=found.num_rows)


@app.command()
def explain(
    path: TablePath,
    where: Annotated[
        str | None, typer.Option(metavar="CONDITION", help="The condition on rows, in Spark's SQL.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A column to read; may be repeated.")
    ] = None,
    version: AtVersion = None,
    storage_option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """The files that a scan reads, and the parts of its condition that skip the others; no file is read."""
    found = open_table(path, version, storage_option).explain(where, column)
    if as_json:
        print_json(found.to_dict())
    else:
        print(found)


@app.command()
def verify(
    path: TablePath,
    version: AtVersion = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Read every row and every checkpoint, not only footers.")
    ] = False,
    storage_option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Errors in the table's log, files and statistics; exit code 1 if there are any."""
    report = open_table(path, version, storage_option).verify(deep=deep)
    if as_json:
        print_json(report.to_dict())
    else:
        console = Console()
        if report.findings:
            columns = ["severity", "check", "where", "what"]
            print_rows(console, report.to_dict()["findings"], columns)
        counts = ", ".join(f"{check} {count}" for check, count in report.checked.items())
        verdict = "no error" if report.ok else f"errors: {len(report.errors)}"
        console.print(Text(f"version {report.version}: {verdict}; checked: {counts or 'nothing'}"))
    if not report.ok:
        raise typer.Exit(1)


@app.command()
def optimize(
    path: TablePath,
    where: Annotated[
        str | None, typer.Option(metavar="SQL", help="A condition on partition columns; default: all files.")
    ] = None,
    target_size: Annotated[
        int | None,
        typer.Option(metavar="BYTES", help="Of the new files, about; default: as in Spark, 1 GiB."),
    ] = None,
    purge: Annotated[
        bool, typer.Option("--purge", help="Rewrite files with deleted rows or dropped columns instead.")
    ] = False,
    upgrade_uniform: Annotated[
        bool,
        typer.Option(
            "--upgrade-uniform",
            help="Bring all files under the rules of Iceberg, version 2, and keep metadata.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be rewritten.")] = False,
    storage_option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Rewrite small files, and files with many deleted rows, as fewer and larger ones."""
    if purge and upgrade_uniform:
        raise typer.BadParameter("choose one of --purge and --upgrade-uniform", param_hint="--purge")
    if (purge or upgrade_uniform) and target_size is not None:
        raise typer.BadParameter("the table's own size of files is kept", param_hint="--target-size")
    if upgrade_uniform and where is not None:
        raise typer.BadParameter("--upgrade-uniform is for the whole table", param_hint="--where")
    optimizer = open_table(path, None, storage_option).optimize
    run: Any = optimizer.compact
    given: dict[str, Any] = {"predicate": where, "target_size": target_size}
    if purge:
        run, given = optimizer.purge, {"predicate": where}
    elif upgrade_uniform:
        run, given = optimizer.upgrade_uniform, {}
    if dry_run:
        plan = run(**given, dry_run=True)
        found = {"files": plan.num_files, "bytes": plan.num_bytes, "newFiles": len(plan.bins)}
    else:
        with progress_bar(DownloadColumn()) as bar:
            rewritten = bar.add_task("rewritten", total=None)
            found = run(
                **given, progress=lambda done, total: bar.update(rewritten, completed=done, total=total)
            )
    if as_json:
        print_json(found)
    else:
        print_mapping(Console(), found)


@app.command()
def vacuum(
    path: TablePath,
    retention_hours: Annotated[
        float | None,
        typer.Option(min=0, help="How long removed files stay; what the table says if not given."),
    ] = None,
    dry_run: Annotated[bool, typer.Option(help="Only list what would be deleted.")] = True,
    full: Annotated[bool, typer.Option("--full", help="List the storage, not only the log.")] = False,
    lite: Annotated[
        bool, typer.Option("--lite", help="Go by the log, and refuse if it does not tell all.")
    ] = False,
    keep_version: Annotated[
        list[int] | None, typer.Option(min=0, metavar="VERSION", help="Keep its files; may be repeated.")
    ] = None,
    enforce_retention: Annotated[
        bool, typer.Option(help="Refuse a retention that is shorter than the table's.")
    ] = True,
    parallelism: Annotated[int | None, typer.Option(min=1, help="Threads that delete.")] = None,
    report: Annotated[bool, typer.Option("--report", help="Print why each file goes or stays.")] = False,
    storage_option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Delete files that no version within the retention needs; lists them unless --no-dry-run is given."""
    table = open_table(path, None, storage_option)
    options: dict[str, Any] = {"full": full, "lite": lite, "keep_versions": keep_version}
    if report:
        _print_report(table.vacuum_report(retention_hours, dry_run, enforce_retention, **options), as_json)
        return
    with progress_bar(MofNCompleteColumn()) as progress:
        task = progress.add_task("files deleted", total=None, visible=not dry_run)
        gone = table.vacuum(
            retention_hours,
            dry_run,
            enforce_retention,
            **options,
            parallelism=parallelism,
            progress=lambda deleted, of: progress.update(task, completed=deleted, total=of),
        )
    if as_json:
        print_json({"dry_run": dry_run, "files": gone})
        return
    console = Console()
    for name in gone if dry_run else ():
        console.print(Text(printable(name)), soft_wrap=True)
    console.print(Text(f"files that {'would be' if dry_run else 'were'} deleted: {len(gone)}"))


def _print_report(found: pa.Table, as_json: bool) -> None:
    rows = rows_of(found)
    if as_json:
        print_json(rows)
        return
    columns = ["path", "size", "modification_time", "is_deleted", "reason"]
    print_rows(Console(), rows, [*columns, "error"] if any(row["error"] for row in rows) else columns)


@app.command()
def demo(
    path: Annotated[
        str | None, typer.Option(metavar="DIR", help="The folder of the table; default: a temporary folder.")
    ] = None,
    rows: Annotated[int, typer.Option(min=4, help="Orders to write.")] = 100_000,
    as_json: AsJson = False,
) -> None:
    """Write a table, change its rows, travel in time and query it with DuckDB and Polars."""
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


def _time(value: Any) -> Any:
    """A log time in milliseconds as readable text; a number if beyond Python's calendar."""
    if not isinstance(value, int):
        return value
    try:
        return _EPOCH + datetime.timedelta(milliseconds=value)
    except OverflowError:
        return value


def _with_unique_names(table: pa.Table) -> pa.Table:
    """The table with a second ``id`` renamed to ``id_1`` and so on: names in a JSON object are unique."""
    names: list[str] = []
    for name in table.column_names:
        tries = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(1)))
        names.append(next(spelling for spelling in tries if spelling not in names))
    return table.rename_columns(names)
