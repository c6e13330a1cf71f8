"""The scripts of ``sql/``: read, run on an engine, compared with what they hold, and written anew.

``python -m tests.support.sql_scripts FILE...`` runs scripts on Spark and writes what it gives into them.
"""

import datetime
import decimal
import math
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

import deltaarrow
from deltaarrow.schema import ArrayType, DataType, Field, MapType, PrimitiveType, StructType
from tests.support.spark import drop_temporary_views, running_spark

__all__ = [
    "FOLDERS",
    "ROOT",
    "OnSpark",
    "OneNode",
    "Outcome",
    "Step",
    "error_class_in",
    "matches",
    "paths",
    "read_steps",
    "run_step",
    "spark_type",
]

ROOT = Path(__file__).parents[2] / "sql"
_UNTOLD = (
    *("DESCRIBE DETAIL", "DESCRIBE HISTORY", "DESCRIBE SCHEMA", "EXPLAIN"),
    *("CREATE TABLE", "CREATE OR REPLACE TABLE", "CONVERT", "OPTIMIZE", "REORG", "RESTORE", "VACUUM"),
)
"""How statements begin with results of which a script says nothing: times, sizes and the names of files."""
FOLDERS = ("statements", "functions", "errors", "extensions")


@dataclass(frozen=True)
class Step:
    """A statement of a script.

    Attributes:
        line: where it begins.
        text: the statement, with variables in it.
        rows: the lines of its result, the columns first; None if the script says nothing of it.
        error: the error class; None where it succeeds.
        one_node_differs: why one node gives something else; None if it does not.
        spark_refuses: why Spark does not run it; None if it does.
    """

    line: int
    text: str
    rows: tuple[str, ...] | None = None
    error: str | None = None
    one_node_differs: str | None = None
    spark_refuses: str | None = None

    @property
    def is_query(self) -> bool:
        return self.text.split()[0].upper() in ("SELECT", "VALUES", "WITH")

    @property
    def is_ordered(self) -> bool:
        return re.search(r"\bORDER BY\b", self.text, re.IGNORECASE) is not None


@dataclass(frozen=True)
class Outcome:
    """What an engine makes of a statement: the lines of its result, or the error."""

    rows: tuple[str, ...] | None = None
    error: Exception | None = None
    error_class: str | None = None


class ScriptEngine(Protocol):
    """Runs statements, one at a time."""

    def run(self, text: str) -> pa.Table: ...

    def error_class(self, error: Exception) -> str | None: ...


def paths(*folders: str) -> list[Path]:
    """The scripts of some folders."""
    return [path for folder in folders for path in sorted((ROOT / folder).glob("*.sql"))]


def read_steps(text: str) -> Iterator[Step]:
    """The statements of a script."""
    marks: dict[str, str] = {}
    lines: list[str] = []
    found: Step | None = None
    for number, line in enumerate(text.splitlines(), 1):
        kind = line[:3]
        if found is not None and kind in ("--|", "--!"):
            said = line[3:].strip()
            if kind == "--!":
                found = Step(**{**vars(found), "error": said})
            else:
                found = Step(**{**vars(found), "rows": (*(found.rows or ()), said)})
            continue
        if found is not None:
            yield found
            found = None
        if not lines and kind == "--?":
            marks["one_node_differs"] = line.removeprefix("--? one node: ")
        elif not lines and kind == "--+":
            marks["spark_refuses"] = line[3:].strip()
        elif lines or (line.strip() and not line.startswith("--")):
            lines.append(line)
            if line.rstrip().endswith(";"):
                statement = "\n".join(lines).rstrip().removesuffix(";")
                found = Step(number - len(lines) + 1, statement, **marks)
                lines, marks = [], {}
    assert not lines, f"the statement {lines[0]!r} has no semicolon at the end of a line"
    if found is not None:
        yield found


def error_class_in(error: Exception) -> str | None:
    """The error class in a message."""
    found = re.search(r"\[([A-Z][A-Z0-9_.]+)\]", str(error))
    return None if found is None else found[1]


def run_step(engine: ScriptEngine, step: Step, folder: Path) -> Outcome:
    """What an engine makes of a statement."""
    try:
        text = step.text.replace("${folder}", str(folder)).replace("${data}", str(ROOT / "data"))
        table = engine.run(text)
        return Outcome(rows=("",) if _is_untold(step.text) else shown(table, is_ordered=step.is_ordered))
    except Exception as error:
        return Outcome(error=error, error_class=engine.error_class(error))


def matches(outcome: Outcome, step: Step) -> bool:
    """Whether an outcome is what a script holds."""
    if step.error is not None:
        return outcome.error_class == step.error
    if outcome.error is not None:
        return False
    if step.rows is None:
        return True
    assert outcome.rows is not None
    rows = outcome.rows
    if not step.is_ordered:
        return rows[:1] == step.rows[:1] and sorted(rows[1:]) == sorted(step.rows[1:])
    return rows == step.rows


def _is_untold(text: str) -> bool:
    return text.upper().startswith(_UNTOLD)


class OneNode:
    """This package, with a catalog in a folder."""

    def __init__(self, folder: Path) -> None:
        self._connection = deltaarrow.connect(catalog=folder / "catalog", dialect="spark")
        self._connection.catalog.current = "default"

    def run(self, text: str) -> pa.Table:
        result = self._connection.run(text)
        return result if isinstance(result, pa.Table) else result.to_arrow_table()

    def error_class(self, error: Exception) -> str | None:
        return error_class_in(error)

    def close(self) -> None:
        self._connection.close()


class OnSpark:
    """A Spark session with delta-spark, and a database of the script's own."""

    def __init__(self, session: Any, folder: Path) -> None:
        self._session = session
        drop_temporary_views(session)
        self._name = f"script_{folder.name.replace('-', '_')}"
        session.sql(f"CREATE DATABASE {self._name} LOCATION '{folder / 'database'}'")
        session.sql(f"USE {self._name}")

    def run(self, text: str) -> pa.Table:
        frame = self._session.sql(text)
        if _is_untold(text):
            frame.collect()
            return pa.table({})
        table: pa.Table = frame.toArrow()
        return table

    def error_class(self, error: Exception) -> str | None:
        named = getattr(error, "getCondition", lambda: None)()
        # What a task raises has no condition; the text names it.
        return error_class_in(error) if named is None else str(named)

    def close(self) -> None:
        self._session.sql("USE default")
        self._session.sql(f"DROP DATABASE {self._name} CASCADE")


# --- results as text ---


def shown(table: pa.Table, *, is_ordered: bool) -> tuple[str, ...]:
    """The lines of a result: its columns, then its rows."""
    columns = ", ".join(f"{field.name} {_type(field)}" for field in table.schema)
    rows = [", ".join(map(_value, row.values())) for row in _rows(table)]
    return (columns, *(rows if is_ordered else sorted(rows)))


def _type(field: pa.Field) -> str:
    # Arrow does not tell the units of an interval.
    return "interval" if pa.types.is_duration(field.type) else spark_type(Field.from_arrow(field).type)


def _rows(table: pa.Table) -> Iterator[dict[int, Any]]:
    columns = [column.to_pylist() for column in table.columns]
    for row in zip(*columns, strict=True):
        yield dict(enumerate(row))


_SPARK_NAMES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}


def spark_type(data_type: DataType) -> str:
    """The type as Spark writes it."""
    match data_type:
        case ArrayType():
            return f"array<{spark_type(data_type.element_type)}>"
        case MapType():
            return f"map<{spark_type(data_type.key_type)},{spark_type(data_type.value_type)}>"
        case StructType():
            return (
                f"struct<{','.join(f'{field.name}:{spark_type(field.type)}' for field in data_type.fields)}>"
            )
        case PrimitiveType():
            return _SPARK_NAMES.get(data_type.type, data_type.type)


def _value(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case str():
            return "'{}'".format(value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n"))
        case float() if math.isnan(value):
            return "NaN"
        case bytes():
            return f"X'{value.hex().upper()}'"
        case decimal.Decimal():
            return format(value, "f")
        case datetime.datetime() if value.tzinfo is not None:
            return _value(value.astimezone(datetime.UTC).replace(tzinfo=None))
        case datetime.datetime():
            return value.isoformat(" ")
        case dict():
            return "{{{}}}".format(", ".join(f"{name}: {_value(each)}" for name, each in value.items()))
        case list() if value and all(isinstance(each, tuple) for each in value):
            return "map({})".format(", ".join(f"{_value(key)}: {_value(each)}" for key, each in value))
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case _:
            return str(value)


# --- writing results ---


def rewritten(text: str, outcome: Callable[[Step], Outcome]) -> str:
    """The script with the results that an engine gives, for each statement that has any."""
    lines = text.splitlines()
    kept = [line for line in lines if line[:3] not in ("--|", "--!")]
    result: list[str] = []
    steps = list(read_steps("\n".join(kept)))
    ends = {step.line + step.text.count("\n"): step for step in steps}
    for number, line in enumerate(kept, 1):
        result.append(line)
        if number in ends and ends[number].spark_refuses is None:
            found = outcome(ends[number])
            if found.error is not None:
                assert found.error_class is not None, found.error
                result.append(f"--! {found.error_class}")
            elif found.rows is not None and found.rows[0]:
                result += [f"--| {row}" for row in found.rows]
    return "\n".join(result) + "\n"


def main(files: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, running_spark(Path(folder)) as session:
        for file in files:
            _write(Path(file), session)


def _write(path: Path, session: Any) -> None:
    folder = Path(tempfile.mkdtemp())
    engine = OnSpark(session, folder)
    work = folder / "folder"
    work.mkdir()
    text = rewritten(path.read_text("utf-8"), lambda step: run_step(engine, step, work))
    path.write_text(text, "utf-8")
    engine.close()


if __name__ == "__main__":
    main(sys.argv[1:])
