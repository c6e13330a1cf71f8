"""The list of commands: the module and the help line of each, so that help imports no module."""

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from typer.main import get_group

__all__ = ["COMMANDS", "CommandPlace", "LoadedCommands"]


class CommandPlace(NamedTuple):
    """The module of a command, whose ``commands`` have it, and the first line of its help."""

    module: str
    summary: str

    def load(self, name: str) -> Any:
        """Import the module, and return the command of this name or the group of commands."""
        found: Any = get_group(importlib.import_module(f"deltaarrow.cli.{self.module}").commands)
        return found if found.name == name else found.commands[name]


COMMANDS = {
    name: CommandPlace(module, summary)
    for module, commands in {
        "reading": {
            "history": "The commits of the table, newest first: who, when and how.",
            "detail": "The table's location, size, partitioning, properties and protocol.",
            "schema": "The columns of the table: their types and comments, and whether they may be NULL.",
            "files": "The data files of the table, with their partition values and sizes.",
            "count": "The number of rows.",
            "query": 'Run a query over the table, e.g. "select count(*) from t".',
            "explain": "The files that a scan reads, and the parts of its condition that skip the others; no"
            " file is read.",
            "changes": "The rows that a range of versions changed, from the change data feed.",
            "verify": "Errors in the table's log, files and statistics; exit code 1 if there are any.",
            "report": "An HTML page on files, commits, data skipping by column, and what maintenance would"
            " do.",
        },
        "comparison": {
            "diff": "The differences between two versions: columns, properties, protocol, files and rows."
        },
        "properties": {"properties": "The properties of a table."},
        "upkeep": {
            "optimize": "Rewrite small files, and files with many deleted rows, as fewer and larger ones.",
            "vacuum": "Delete files that no version within the retention needs; lists them unless"
            " --no-dry-run is given.",
            "analyze": "Compute statistics of files that are missing or not exact; no file is rewritten.",
            "checkpoint": "Write a checkpoint of the newest version, so that the table opens faster.",
            "cleanup": "Delete log files that are older than the log retention of the table.",
            "repair": "Remove missing and damaged files from the log; their rows are lost.",
        },
        "life": {
            "convert": "Convert Parquet files or an Iceberg table in place; only the footers of"
            " files are read.",
            "generate": "Write symlink manifests, for engines that do not read the Delta log.",
            "restore": "Restore an older version in a new commit, so that the restore can be undone.",
            "clone": "Clone the table: the clone refers to the same files or has copies of them.",
            "drop-feature": "Drop a table feature, after removing its traces from the table.",
            "drop": "Delete the table with all files in its folder, or continue an interrupted drop.",
        },
        "sql": {"sql": "Run SQL on Delta tables, from a file, -e, standard input or an interactive shell."},
        "pipeline": {"pipeline": "Run Spark SQL scripts on Spark or on one node."},
        "demonstration": {
            "demo": "Write and change a table, read older versions, and query it with DuckDB and Polars."
        },
    }.items()
    for name, summary in commands.items()
}


class LoadedCommands(Mapping[str, Any]):
    """The commands by name; one is loaded when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        return COMMANDS[name].load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)
