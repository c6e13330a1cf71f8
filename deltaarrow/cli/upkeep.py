"""Commands that maintain a table: its files, its log and its statistics."""

from typing import Annotated, Any

import typer
from rich.progress import DownloadColumn, MofNCompleteColumn

from deltaarrow.cli.printer import Printer
from deltaarrow.cli.shared_options import (
    DryRun,
    OutputFormat,
    ResultCommand,
    StorageOptions,
    TablePath,
    new_commands,
    open_table,
    progress_shown,
    work_shown,
)

__all__ = ["analyze", "checkpoint", "cleanup", "commands", "optimize", "repair", "vacuum"]

commands = new_commands()


@commands.command(cls=ResultCommand)
def optimize(
    path: TablePath,
    where: Annotated[
        str | None, typer.Option(metavar="SQL", help="A condition on partition columns; default: all files.")
    ] = None,
    target_size: Annotated[
        int | None,
        typer.Option(metavar="BYTES", help="Target size of the new files; default: 1 GiB, as in Spark."),
    ] = None,
    z_order: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A column to Z-order by; may be repeated."),
    ] = None,
    purge: Annotated[
        bool,
        typer.Option(
            "--purge", help="Instead, rewrite the files that contain deleted rows or dropped columns."
        ),
    ] = False,
    upgrade_uniform: Annotated[
        bool,
        typer.Option(
            "--upgrade-uniform",
            help="Make all files compatible with Iceberg (version 2), and write Iceberg metadata afterwards.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be rewritten.")] = False,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """Rewrite small files, and files with many deleted rows, as fewer and larger ones."""
    if purge + upgrade_uniform + (z_order is not None) > 1:
        raise typer.BadParameter(
            "choose one of --z-order, --purge and --upgrade-uniform", param_hint="--purge"
        )
    if (purge or upgrade_uniform) and target_size is not None:
        raise typer.BadParameter("the table's own size of files is kept", param_hint="--target-size")
    if upgrade_uniform and where is not None:
        raise typer.BadParameter("--upgrade-uniform is for the whole table", param_hint="--where")
    optimizer = open_table(path, None, storage_option).optimize
    run: Any = optimizer.compact
    given: dict[str, Any] = {"predicate": where, "target_size": target_size}
    if z_order is not None:
        run, given = optimizer.z_order, {"columns": z_order, **given}
    elif purge:
        run, given = optimizer.purge, {"predicate": where}
    elif upgrade_uniform:
        run, given = optimizer.upgrade_uniform, {}
    if dry_run:
        plan = run(**given, dry_run=True)
        found = {"files": plan.num_files, "bytes": plan.num_bytes, "newFiles": len(plan.bins)}
    else:
        with progress_shown("rewritten", DownloadColumn()) as told:
            found = run(**given, progress=told)
    Printer(form).mapping(found)


@commands.command(cls=ResultCommand)
def vacuum(
    path: TablePath,
    retention_hours: Annotated[
        float | None,
        typer.Option(
            min=0, help="Retention of removed files, in hours; default: the retention of the table."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option(help="Only list what would be deleted.")] = True,
    full: Annotated[
        bool, typer.Option("--full", help="List the files of the storage, not only those of the log.")
    ] = False,
    lite: Annotated[
        bool,
        typer.Option("--lite", help="Use only the log; fail if the log does not list all removed files."),
    ] = False,
    keep_version: Annotated[
        list[int] | None,
        typer.Option(min=0, metavar="VERSION", help="A version whose files are retained; may be repeated."),
    ] = None,
    enforce_retention: Annotated[
        bool, typer.Option(help="Fail if the retention is shorter than that of the table.")
    ] = True,
    parallelism: Annotated[
        int | None, typer.Option(min=1, help="Number of threads that delete files.")
    ] = None,
    report: Annotated[
        bool, typer.Option("--report", help="Print why each file is deleted or retained.")
    ] = False,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """Delete files that no version within the retention needs; lists them unless --no-dry-run is given."""
    table = open_table(path, None, storage_option)
    options: dict[str, Any] = {"full": full, "lite": lite, "keep_versions": keep_version}
    if report:
        with work_shown("looking at files"):
            found = table.vacuum_report(retention_hours, dry_run, enforce_retention, **options)
        columns = ["path", "size", "modification_time", "is_deleted", "reason"]
        failed = found.num_rows > found["error"].null_count
        Printer(form).table(found, [*columns, "error"] if failed else columns)
        return
    with progress_shown("files deleted", MofNCompleteColumn(), visible=not dry_run) as told:
        gone = table.vacuum(
            retention_hours,
            dry_run,
            enforce_retention,
            **options,
            parallelism=parallelism,
            progress=told,
        )
    printer = Printer(form)
    if dry_run or not printer.is_for_people:
        document = {"dry_run": dry_run, "files": gone}
        printer.rows([{"path": name} for name in gone], ["path"], document=document)
    printer.said(f"files that {'would be' if dry_run else 'were'} deleted: {len(gone)}")


@commands.command(cls=ResultCommand)
def analyze(
    path: TablePath,
    column: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this column; may be repeated.")
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="SQL", help="A condition on partition columns; default: all files.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Also examine files whose statistics look complete.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be examined.")] = False,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """Compute statistics of files that are missing or not exact; no file is rewritten."""
    table = open_table(path, None, storage_option)
    if dry_run:
        plan = table.analyze(column, predicate=where, full=full, dry_run=True)
        found = {"files": plan.num_files, "bytes": plan.num_bytes}
    else:
        with progress_shown("examined", DownloadColumn()) as told:
            found = table.analyze(
                column,
                predicate=where,
                full=full,
                progress=told,
            )
    Printer(form).mapping(found)


@commands.command(cls=ResultCommand)
def repair(
    path: TablePath, dry_run: DryRun = False, storage_option: StorageOptions = None, form: OutputFormat = None
) -> None:
    """Remove missing and damaged files from the log; their rows are lost."""
    table = open_table(path, None, storage_option)
    with work_shown("looking for files"):
        found = table.repair(dry_run)
    rows = [{"file": name, "reason": reason} for name, reason in found["reasons"].items()]
    printer = Printer(form)
    if rows or not printer.is_for_people:
        printer.rows(rows, ["file", "reason"], document=found)
    printer.said(f"files that {'would be' if dry_run else 'were'} removed: {len(rows)}")


@commands.command(cls=ResultCommand)
def checkpoint(path: TablePath, storage_option: StorageOptions = None, form: OutputFormat = None) -> None:
    """Write a checkpoint of the newest version, so that the table opens faster."""
    table = open_table(path, None, storage_option)
    with work_shown("writing"):
        table.create_checkpoint()
    Printer(form).mapping({"version": table.version()})


@commands.command(cls=ResultCommand)
def cleanup(path: TablePath, storage_option: StorageOptions = None, form: OutputFormat = None) -> None:
    """Delete log files that are older than the log retention of the table."""
    table = open_table(path, None, storage_option)
    with work_shown("deleting"):
        table.cleanup_metadata()
