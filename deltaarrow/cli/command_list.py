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
            "files": "The data files that make the table, with their partition values and sizes.",
            "count": "The number of rows.",
            "query": 'Run a query over the table, e.g. "select count(*) from t".',
            "explain": "The files that a scan reads, and the parts of its condition that skip the others; no"
            " file is read.",
            "changes": "The rows that versions changed, from the change data feed.",
            "verify": "Errors in the table's log, files and statistics; exit code 1 if there are any.",
            "report": "A page in HTML on files, commits, how well columns skip, and what maintenance would"
            " do.",
        },
        "comparison": {
            "diff": "What differs between two versions: columns, properties, protocol, files and rows."
        },
        "properties": {"properties": "The properties of a table."},
        "upkeep": {
            "optimize": "Rewrite small files, and files with many deleted rows, as fewer and larger ones.",
            "vacuum": "Delete files that no version within the retention needs; lists them unless"
            " --no-dry-run is given.",
            "analyze": "Compute missing and loose statistics of files; no file is rewritten.",
            "checkpoint": "Write a checkpoint of the newest version, from which tables open faster.",
            "cleanup": "Delete log files that are older than the table keeps its log.",
            "repair": "Remove files from the log that are gone or damaged; their rows are lost.",
        },
        "life": {
            "convert": "Make a table of Parquet files or of an Iceberg table, in place; only the footers of"
            " files are read.",
            "generate": "Write symlink manifests, for engines that do not read the Delta log.",
            "restore": "Make an older version the newest one again; this can itself be undone.",
            "clone": "Make another table of the rows of this one, of the same files or of copies.",
            "drop-feature": "Take a table feature from a table, after removing what uses it.",
            "drop": "Delete the table with all files in its folder, or go on with a drop that was killed.",
        },
        "sql": {"sql": "Run SQL over Delta tables: of a file, of -e, of standard input, or of a shell."},
        "pipeline": {"pipeline": "Scripts of Spark SQL, on Spark or on one node."},
        "demonstration": {
            "demo": "Write a table, change its rows, travel in time and query it with DuckDB and Polars."
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
