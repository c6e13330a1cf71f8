"""Commands that create, convert, restore, clone and drop tables, and drop features."""

import dataclasses
from typing import Annotated, Any

import typer
from rich.progress import DownloadColumn, MofNCompleteColumn

from deltaarrow.cli.printer import Printer
from deltaarrow.cli.result_rendering import printable
from deltaarrow.cli.shared_options import (
    AtVersion,
    DryRun,
    OutputFormat,
    ResultCommand,
    StorageOptions,
    TablePath,
    given_catalog,
    new_commands,
    open_table,
    parse_options,
    progress_shown,
    work_shown,
)
from deltaarrow.operations import drop_table, plan_drop
from deltaarrow.storage import open_store
from deltaarrow.table import convert_to_deltalake

__all__ = [
    "clone",
    "commands",
    "convert",
    "drop",
    "drop_feature",
    "generate",
    "restore",
]

commands = new_commands()


@commands.command(cls=ResultCommand)
def convert(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The folder of the files: a path or a URI.")],
    partition: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=TYPE",
            help="A partition column; may be repeated; default: inferred from the folder names.",
        ),
    ] = None,
    strategy: Annotated[
        str,
        typer.Option(
            metavar="hive|directory", help="How folders of partitions are named: a=1 (hive) or 1 (directory)."
        ),
    ] = "hive",
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="parquet|iceberg", help="The format of PATH; default: detected from its files."
        ),
    ] = None,
    iceberg_metadata: Annotated[
        str | None, typer.Option(metavar="FILE", help="The newest metadata.json of the Iceberg table.")
    ] = None,
    set_property: Annotated[
        list[str] | None,
        typer.Option("--property", metavar="KEY=VALUE", help="A table property; may be repeated."),
    ] = None,
    statistics: Annotated[bool, typer.Option(help="Collect column statistics from the footers.")] = True,
    ignore: Annotated[
        bool, typer.Option("--ignore", help="Do nothing if PATH is already a Delta table.")
    ] = False,
    dry_run: DryRun = False,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """Convert Parquet files or an Iceberg table in place; only the footers of files are read."""
    with progress_shown("footers read", MofNCompleteColumn()) as told:
        plan = convert_to_deltalake(
            path,
            mode="ignore" if ignore else "error",
            partition_by=parse_options(partition, "--partition"),
            partition_strategy=strategy,
            configuration=parse_options(set_property, "--property"),
            storage_options=parse_options(storage_option),
            source_format=source,
            iceberg_metadata=iceberg_metadata,
            collect_stats=statistics,
            dry_run=dry_run,
            progress=told,
        )
    found: dict[str, Any] = {"converted": plan is not None and not dry_run}
    if plan is not None:
        found |= {
            "files": plan.num_files,
            "bytes": plan.num_bytes,
            "rows": plan.num_rows,
            "columns": [field.name for field in plan.schema.fields],
            "partitionColumns": plan.partition_columns,
        }
    Printer(form).mapping(found)


@commands.command(cls=ResultCommand)
def generate(path: TablePath, storage_option: StorageOptions = None) -> None:
    """Write symlink manifests, for engines that do not read the Delta log."""
    table = open_table(path, None, storage_option)
    with work_shown("writing manifests"):
        table.generate()


@commands.command(cls=ResultCommand)
def restore(
    path: TablePath,
    version: Annotated[
        int | None, typer.Option("--version", min=0, metavar="VERSION", help="The version to restore.")
    ] = None,
    timestamp: Annotated[
        str | None,
        typer.Option("--timestamp", metavar="TIME", help="Restore the version at this timestamp (ISO 8601)."),
    ] = None,
    ignore_missing_files: Annotated[
        bool,
        typer.Option(
            "--ignore-missing-files", help="Restore the version even if some of its files are missing."
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be restored.")] = False,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """Restore an older version in a new commit, so that the restore can be undone."""
    if (version is None) == (timestamp is None):
        raise typer.BadParameter("give one of --version and --timestamp", param_hint="--version")
    target: Any = timestamp if version is None else version
    table = open_table(path, None, storage_option)
    with work_shown("looking for files"):
        found: Any = table.restore(target, ignore_missing_files=ignore_missing_files, dry_run=dry_run)
    if dry_run:
        found = {"version": found.version, **found.metrics}
    Printer(form).mapping(found)


@commands.command(cls=ResultCommand)
def clone(
    path: TablePath,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The clone: a folder or a URI.")],
    deep: Annotated[
        bool,
        typer.Option(
            "--deep", help="Copy the data files; without it the clone refers to the files of the source."
        ),
    ] = False,
    version: AtVersion = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace an existing table that has no rows or is a deep clone.")
    ] = False,
    table_property: Annotated[
        list[str] | None,
        typer.Option(
            "--property", metavar="KEY=VALUE", help="A table property of the clone; may be repeated."
        ),
    ] = None,
    parallelism: Annotated[int, typer.Option(min=1, help="Number of threads that copy files.")] = 8,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be cloned.")] = False,
    storage_option: StorageOptions = None,
    target_storage_option: Annotated[
        list[str] | None,
        typer.Option(
            "--target-storage-option",
            metavar="KEY=VALUE",
            help="A storage option of the target; default: those of the source.",
        ),
    ] = None,
    form: OutputFormat = None,
) -> None:
    """Clone the table: the clone refers to the same files or has copies of them."""
    table = open_table(path, version, storage_option)
    with progress_shown("copied", DownloadColumn(), visible=deep and not dry_run) as told:
        found: Any = table.clone(
            target,
            shallow=not deep,
            replace=replace,
            properties=parse_options(table_property, "--property"),
            storage_options=parse_options(target_storage_option, "--target-storage-option"),
            parallelism=parallelism,
            progress=told,
            dry_run=dry_run,
        )
    if dry_run:
        found = {"version": found.source.version, "files": found.num_files, "bytes": found.num_bytes}
    Printer(form).mapping(found)


@commands.command(cls=ResultCommand)
def drop_feature(
    path: TablePath,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The table feature.")],
    truncate_history: Annotated[
        bool,
        typer.Option(
            "--truncate-history",
            help="Delete the older versions that need the feature, instead of protecting them.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be done.")] = False,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """Drop a table feature, after removing its traces from the table."""
    table = open_table(path, None, storage_option)
    if dry_run:
        plan = table.alter.drop_feature(name, truncate_history, dry_run=True)
        found: dict[str, Any] = {} if plan is None else dataclasses.asdict(plan)
    else:
        with progress_shown("rewritten", DownloadColumn()) as told:
            table.alter.drop_feature(
                name,
                truncate_history,
                progress=told,
            )
        left = table.protocol()
        found = {
            "version": table.version(),
            "minReaderVersion": left.min_reader_version,
            "minWriterVersion": left.min_writer_version,
            "features": left.writer_features or [],
        }
    Printer(form).mapping(found)


@commands.command(cls=ResultCommand)
def drop(
    path: TablePath,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    dry_run: DryRun = False,
    storage_option: StorageOptions = None,
    form: OutputFormat = None,
) -> None:
    """Delete the table with all files in its folder, or continue an interrupted drop."""
    if given_catalog() is not None:
        raise typer.BadParameter(
            f"a table of a catalog is dropped by its name: deltaarrow sql --catalog ... 'DROP TABLE {path}'",
            param_hint="--catalog",
        )
    store = open_store(path, parse_options(storage_option))
    plan = plan_drop(store)
    if not dry_run:
        asked = f"Delete the table {printable(store.uri)} and all {plan.num_files} files in its folder?"
        if not yes and not typer.confirm(asked, err=True):
            raise typer.Exit(1)
        with progress_shown("files deleted", MofNCompleteColumn()) as told:
            plan = drop_table(store, progress=told)
    found = {"dry_run": dry_run, "num_files": plan.num_files, "kept": list(plan.kept)}
    Printer(form).mapping(found)
