"""Running scripts on an engine, one after the other, with a report on each.

The runner knows the tables that the statements name by path (``delta.`/data/orders` ``), and no other. Where
scripts are idempotent, a run that was stopped goes on from the script that it was at.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltaarrow.errors import TableNotFoundError
from deltaarrow.pipeline.engine import Engine, MaintenanceReport, MergeReport, StatementReport
from deltaarrow.pipeline.script import Script, read_scripts
from deltaarrow.spark_sql import table_places
from deltaarrow.table import DeltaTable

__all__ = ["StepReport", "run_scripts"]

_MOST_TRIES = 20


@dataclass(frozen=True)
class StepReport:
    """What one script has done.

    Attributes:
        name: of the script.
        title: of the script.
        statements: how many it has.
        seconds: how long it took.
        rows: how many rows the commits of meanwhile, whoever made them, say that they wrote, by the path of
            a table.
        files: how many files, likewise.
        merges: what the engine says of each MERGE; Spark says nothing.
        maintenance: what the engine says of each OPTIMIZE, REORG and VACUUM; Spark says nothing.
    """

    name: str
    title: str
    statements: int
    seconds: float
    rows: Mapping[str, int]
    files: Mapping[str, int]
    merges: Sequence[MergeReport]
    maintenance: Sequence[MaintenanceReport]

    @property
    def is_idle(self) -> bool:
        """Whether the engine says of the statements that there was nothing to do for them."""
        reports: list[StatementReport] = [*self.merges, *self.maintenance]
        return bool(reports) and all(report.is_idle for report in reports)


def run_scripts(
    engine: Engine,
    scripts: str | Path,
    variables: Mapping[str, object],
    *,
    first: str | None = None,
    on_statement: Callable[[Script, int, int], Any] = lambda script, done, count: None,
) -> Iterator[StepReport]:
    """Run the scripts of a folder, or one, and yield a report after each.

    Args:
        engine: what the statements run on.
        scripts: the folder, or the file.
        variables: what stands for ``${name}`` in the scripts, by name.
        first: the name of the script to begin with, or its beginning; all of them if None.
        on_statement: is told the script, and how many of how many statements are done.

    A statement that conflicts with another writer of a table is run again.

    Raises, before anything is run, `ValueError` for a `first` that no script has, for a variable without a
    value, and for a table by a relative path; later what the engine raises.
    """
    steps = [(script, script.statements(variables)) for script in _from(read_scripts(scripts), first)]
    tables = [_tables(script, statements) for script, statements in steps]
    for (script, statements), paths in zip(steps, tables, strict=True):
        begun, before = time.perf_counter(), _versions(paths)
        told = []
        for done, statement in enumerate(statements):
            on_statement(script, done, len(statements))
            told.append(_run(engine, statement))
        on_statement(script, len(statements), len(statements))
        rows, files = _written(before)
        seconds = time.perf_counter() - begun
        merges = [report for report in told if isinstance(report, MergeReport)]
        maintenance = [report for report in told if isinstance(report, MaintenanceReport)]
        yield StepReport(
            script.name, script.title, len(statements), seconds, rows, files, merges, maintenance
        )


def _run(engine: Engine, statement: str) -> StatementReport | None:
    for left in reversed(range(_MOST_TRIES)):
        try:
            return engine.run(statement)
        except Exception as error:
            if not left or not engine.is_conflict(error):
                raise
    raise AssertionError("unreachable")


def _from(scripts: Sequence[Script], first: str | None) -> Sequence[Script]:
    if first is None:
        return scripts
    for place, script in enumerate(scripts):
        if script.name.startswith(first):
            return scripts[place:]
    raise ValueError(f"no script is named {first}; there are {[each.name for each in scripts]}")


def _tables(script: Script, statements: Sequence[str]) -> list[str]:
    """The paths of the tables in a script, each once."""
    found = [place.path for statement in statements for place in table_places(statement)]
    for path in found:
        if not Path(path).is_absolute() and ":" not in path:
            raise ValueError(
                f"{script.name} names the table delta.`{path}`: Spark takes no relative path,"
                " so give the variables in it the whole path of a folder"
            )
    return list(dict.fromkeys(found))


def _versions(paths: Sequence[str]) -> dict[str, int]:
    versions = {}
    for path in paths:
        try:
            versions[path] = DeltaTable(path).version()
        except TableNotFoundError:
            versions[path] = -1
    return versions


def _written(before: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    rows: dict[str, int] = {}
    files: dict[str, int] = {}
    for path, version in before.items():
        try:
            table = DeltaTable(path)
        except TableNotFoundError:
            continue
        if table.version() == version:
            continue
        for commit in table.history(table.version() - version):
            metrics = commit.get("operationMetrics") or {}
            rows[path] = rows.get(path, 0) + int(metrics.get("numOutputRows", 0))
            files[path] = files.get(path, 0) + _files(metrics)
    return rows, files


def _files(metrics: Mapping[str, str]) -> int:
    names = ("numFiles", "numAddedFiles", "numTargetFilesAdded")
    return next((int(metrics[name]) for name in names if name in metrics), 0)
