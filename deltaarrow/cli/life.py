"""Commands that make a table of files, list its files, mend it and delete it."""

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn
from rich.text import Text

from deltaarrow.cli.arguments import AsJson, StorageOptions, TablePath, parse_options, progress_bar
from deltaarrow.cli.render import print_json, print_mapping, print_rows, printable
from deltaarrow.operations import drop_table, plan_drop
from deltaarrow.storage import open_store
from deltaarrow.table import DeltaTable, convert_to_deltalake

__all__ = ["convert", "drop", "generate", "life", "repair"]

life = typer.Typer()

DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing; print what would be done.")]


@life.command()
def convert(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The folder of the files, or its URI.")],
    partition: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=TYPE", help="A partition column; may be repeated; default: what the folders tell."
        ),
    ] = None,
    strategy: Annotated[
        str, typer.Option(metavar="hive|directory", help="Whether folders are named a=1 or 1.")
    ] = "hive",
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="parquet|iceberg", help="What PATH is; default: what it looks like."),
    ] = None,
    iceberg_metadata: Annotated[
        str | None, typer.Option(metavar="FILE", help="The newest metadata.json of the Iceberg table.")
    ] = None,
    set_property: Annotated[
        list[str] | None,
        typer.Option("--property", metavar="KEY=VALUE", help="A table property; may be repeated."),
    ] = None,
    statistics: Annotated[bool, typer.Option(help="Take statistics of columns from the footers.")] = True,
    ignore: Annotated[bool, typer.Option("--ignore", help="Do nothing if PATH is a table already.")] = False,
    dry_run: DryRun = False,
    storage_option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Make a table of Parquet files or of an Iceberg table, in place; only the footers of files are read."""
    with progress_bar(MofNCompleteColumn()) as bar:
        task = bar.add_task("footers read", total=None)
        plan = convert_to_deltalake(
            path,
            mode="ignore" if ignore else "error",
            partition_by=_pairs(partition, "--partition"),
            partition_strategy=strategy,
            configuration=_pairs(set_property, "--property"),
            storage_options=parse_options(storage_option),
            source_format=source,
            iceberg_metadata=iceberg_metadata,
            collect_stats=statistics,
            dry_run=dry_run,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
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
    if as_json:
        print_json(found)
    else:
        print_mapping(Console(), found)


@life.command()
def generate(path: TablePath, storage_option: StorageOptions = None) -> None:
    """Write symlink manifests, for engines that do not read the Delta log."""
    DeltaTable(path, storage_options=parse_options(storage_option)).generate()


@life.command()
def repair(
    path: TablePath, dry_run: DryRun = False, storage_option: StorageOptions = None, as_json: AsJson = False
) -> None:
    """Remove files from the log that are gone or damaged; their rows are lost."""
    found = DeltaTable(path, storage_options=parse_options(storage_option)).repair(dry_run)
    if as_json:
        print_json(found)
        return
    console = Console()
    rows = [{"file": name, "reason": reason} for name, reason in found["reasons"].items()]
    if rows:
        print_rows(console, rows, ["file", "reason"])
    console.print(Text(f"files that {'would be' if dry_run else 'were'} removed: {len(rows)}"))


@life.command()
def drop(
    path: TablePath,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    dry_run: DryRun = False,
    storage_option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Delete the table with all files in its folder, or go on with a drop that was killed."""
    store = open_store(path, parse_options(storage_option))
    plan = plan_drop(store)
    if not dry_run:
        asked = f"Delete the table {printable(store.uri)} and all {plan.num_files} files in its folder?"
        if not yes and not typer.confirm(asked, err=True):
            raise typer.Exit(1)
        with progress_bar(MofNCompleteColumn()) as bar:
            task = bar.add_task("files deleted", total=None)
            plan = drop_table(
                store, progress=lambda done, total: bar.update(task, completed=done, total=total)
            )
    found = {"dry_run": dry_run, "num_files": plan.num_files, "kept": list(plan.kept)}
    if as_json:
        print_json(found)
    else:
        print_mapping(Console(), found)


def _pairs(texts: list[str] | None, option: str) -> dict[str, str] | None:
    if not texts:
        return None
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise typer.BadParameter(f"{text!r} is not of the form {option} NAME=VALUE", param_hint=option)
        pairs[name] = value
    return pairs
