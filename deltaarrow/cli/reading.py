"""Commands that read a table: its commits, files, columns, rows and faults."""

import datetime
import itertools
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from deltaarrow.cli.printer import Printer
from deltaarrow.cli.result_rendering import rows_of
from deltaarrow.cli.shared_options import (
    AtVersion,
    OutputFormat,
    ResultCommand,
    StorageOptions,
    TablePath,
    new_commands,
    open_table,
    parse_version,
    work_shown,
)
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.spark_sql import type_name

__all__ = [
    "changes",
    "commands",
    "count",
    "detail",
    "explain",
    "files",
    "history",
    "query",
    "report",
    "schema",
    "verify",
]

commands = new_commands()

_lazily = lazy_attributes(
    __name__, {"connect": "duckdb", "register": "deltaarrow.engines", "QueryErrors": "deltaarrow.engines"}
)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@commands.command(cls=ResultCommand)
def history(
    path: TablePath,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of commits to show, from the newest.")
    ] = None,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """The commits of the table, newest first: who, when and how."""
    commits = open_table(path, None, storage_option).history(limit)
    wanted = ("version", "timestamp", "operation", "operationParameters", "operationMetrics", "engineInfo")
    columns = [name for name in wanted if any(commit.get(name) is not None for commit in commits)]
    shown = [commit | {"timestamp": _time(commit.get("timestamp"))} for commit in commits]
    Printer(form).rows(commits, columns, shown=shown)


@commands.command(cls=ResultCommand)
def detail(
    path: TablePath,
    version: AtVersion = None,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """The table's location, size, partitioning, properties and protocol."""
    found = open_table(path, version, storage_option).detail()
    times = {name: _time(found[name]) for name in ("createdAt", "lastModified")}
    Printer(form).mapping(found, shown=found | times)


@commands.command(cls=ResultCommand)
def schema(
    path: TablePath,
    version: AtVersion = None,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """The columns of the table: their types and comments, and whether they may be NULL."""
    table = open_table(path, version, storage_option)
    partitions = set(table.metadata().partition_columns)
    rows = [
        {
            "column": field.name,
            "type": type_name(field.type),
            "nullable": field.nullable,
            "partition": field.name in partitions,
            "comment": field.metadata.get("comment"),
        }
        for field in table.schema().fields
    ]
    Printer(form).rows(rows, ["column", "type", "nullable", "partition", "comment"])


@commands.command(cls=ResultCommand)
def files(
    path: TablePath,
    version: AtVersion = None,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """The data files of the table, with their partition values and sizes."""
    found = open_table(path, version, storage_option).get_add_actions(flatten=True)
    columns = ["path", *(name for name in found.column_names if name.startswith("partition."))]
    columns += [
        name for name in ("num_records", "size_bytes", "modification_time") if name in found.column_names
    ]
    times = "modification_time"
    shown = [row | {times: _time(row[times])} for row in rows_of(found)]
    Printer(form).table(found, columns, shown=shown)


@commands.command(cls=ResultCommand)
def count(
    path: TablePath,
    where: Annotated[
        str | None, typer.Option(metavar="CONDITION", help="A condition on rows, in Spark SQL.")
    ] = None,
    version: AtVersion = None,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """The number of rows."""
    table = open_table(path, version, storage_option)
    rows = table.count() if where is None else table.to_pyarrow_table(columns=[], filters=where).num_rows
    Printer(form).rows([{"rows": rows}], ["rows"], document=rows)


@commands.command(cls=ResultCommand)
def query(
    path: TablePath,
    sql: Annotated[str, typer.Argument(metavar="SQL", help="A query in DuckDB SQL; the table is named t.")],
    version: AtVersion = None,
    limit: Annotated[
        int, typer.Option(min=0, help="Maximum number of rows in a table; other formats print all rows.")
    ] = 100,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """Run a query over the table, e.g. "select count(*) from t"."""
    with _lazily("connect")() as connection:
        connection.execute("SET TimeZone = 'UTC'; SET python_enable_replacements = false")
        _lazily("register")(connection, "t", open_table(path, version, storage_option))
        with _lazily("QueryErrors")(statement=sql, table="t").named():
            relation = connection.sql(sql)
            if relation is None:
                raise typer.BadParameter("the statement returns no rows", param_hint="SQL")
            found = _with_unique_names(relation.to_arrow_table())
    Printer(form).table(found, limit=limit)


@commands.command(cls=ResultCommand)
def explain(
    path: TablePath,
    where: Annotated[
        str | None, typer.Option(metavar="CONDITION", help="A condition on rows, in Spark SQL.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A column to read; may be repeated.")
    ] = None,
    version: AtVersion = None,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """The files that a scan reads, and the parts of its condition that skip the others; no file is read."""
    found = open_table(path, version, storage_option).explain(where, column)
    if form is None:
        print(found)
    else:
        Printer(form).mapping(found.to_dict())


@commands.command(cls=ResultCommand)
def changes(
    path: TablePath,
    first: Annotated[
        str, typer.Option("--from", metavar="VERSION", help="The first version, or a timestamp in ISO 8601.")
    ],
    last: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="VERSION", help="The last version, or a timestamp; default: the newest version."
        ),
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="CONDITION", help="A condition on rows, in Spark SQL.")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=0, help="Maximum number of rows in a table; other formats print all rows.")
    ] = 100,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """The rows that a range of versions changed, from the change data feed."""
    bounds: dict[str, Any] = {"starting_version": None}
    for side, text in (("starting", first), ("ending", last)):
        bound = parse_version(text, "--from" if side == "starting" else "--to")
        if bound is not None:
            bounds[f"{side}_{'version' if isinstance(bound, int) else 'timestamp'}"] = bound
    feed = open_table(path, None, storage_option).load_cdf(**bounds, predicate=where)
    Printer(form).stream(feed, limit=limit)


@commands.command(cls=ResultCommand)
def verify(
    path: TablePath,
    version: AtVersion = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Read every row and every checkpoint, not only footers.")
    ] = False,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """Errors in the table's log, files and statistics; exit code 1 if there are any."""
    table = open_table(path, version, storage_option)
    with work_shown("verifying"):
        report = table.verify(deep=deep)
    printer, document = Printer(form), report.to_dict()
    if report.findings or not printer.is_for_people:
        printer.rows(document["findings"], ["severity", "check", "where", "what"], document=document)
    counts = ", ".join(f"{check} {count}" for check, count in report.checked.items())
    verdict = "no error" if report.ok else f"errors: {len(report.errors)}"
    printer.said(f"version {report.version}: {verdict}; checked: {counts or 'nothing'}")
    if not report.ok:
        raise typer.Exit(1)


@commands.command(cls=ResultCommand)
def report(
    path: TablePath,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The file of the page; default: standard output."
        ),
    ] = None,
    version: AtVersion = None,
    storage_option: StorageOptions = None,
) -> None:
    """An HTML page on files, commits, data skipping by column, and what maintenance would do."""
    table = open_table(path, version, storage_option)
    with work_shown("looking at files"):
        page = table.report()
    if output is None:
        print(page, end="")
    else:
        Path(output).write_text(page, encoding="utf-8")


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
