"""Sail, which is Spark SQL in Rust, beside this package: the scripts of ``sql/`` on both, counted.

``python -m tests.support.sail`` prints the counts as Markdown tables, and with ``--record`` keeps them in
`RECORD` and writes the tables into `PAGE`. It needs ``pysail`` and what PySpark needs for Spark Connect.
"""

import datetime
import importlib.metadata
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.support.sql_scripts import (
    ROOT,
    OneNode,
    Outcome,
    Step,
    error_class_in,
    paths,
    read_steps,
    run_step,
)

__all__ = ["PAGE", "RECORD", "OnSail", "read_record", "render_tables", "running_sail"]

RECORD = Path(__file__).with_name("scripts_on_sail.json")
"""The counts, with the versions and the day of the run."""

PAGE = ROOT.parent / "docs" / "reference" / "sql-scripts.md"

_ENGINES = {"statements": ("Spark", "deltaarrow", "Sail"), "functions": ("Spark", "deltaarrow", "Sail")} | {
    "extensions": ("deltaarrow", "Sail")
}
"""The folders that are counted, and the engines that run their scripts."""

_BETWEEN = re.compile(r"(?<=-->\n).*(?=<!-- end of scripts -->)", re.DOTALL)

Record = Mapping[str, Any]


@contextmanager
def running_sail(folder: Path) -> Iterator[Any]:
    """Start a server of Spark Connect in this process, with its tables in a folder; give a session of it."""
    from pysail.spark import SparkConnectServer
    from pyspark.sql.connect.session import SparkSession

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    address, port = server.listening_address
    builder = SparkSession.builder.remote(f"sc://{address}:{port}")
    session = builder.config("spark.sql.warehouse.dir", str(folder)).create()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.ansi.enabled", "true")
    try:
        yield session
    finally:
        session.stop()
        server.stop()


class OnSail:
    """A session of Sail, and a database of the script's own."""

    def __init__(self, session: Any, folder: Path) -> None:
        self._session = session
        self._name = f"script_{folder.name.replace('-', '_')}"
        session.sql(f"CREATE DATABASE {self._name} LOCATION '{folder / 'database'}'").collect()
        session.sql(f"USE DATABASE {self._name}").collect()

    def run(self, text: str) -> pa.Table:
        table: pa.Table = self._session.sql(text).toArrow()
        return table

    def error_class(self, error: Exception) -> str | None:
        return error_class_in(error)

    def close(self) -> None:
        self._session.sql("USE DATABASE default").collect()
        self._session.sql(f"DROP DATABASE {self._name} CASCADE").collect()


# --- counting ---


def count_statements(session: Any, folder: Path) -> dict[str, Any]:
    """How many statements of each script pass on each engine, and what the engines are."""
    versions = {name: importlib.metadata.version(name) for name in ("pyspark", "delta-spark", "pysail")}
    scripts: dict[str, dict[str, dict[str, int]]] = {}
    for path in paths(*_ENGINES):
        steps = list(read_steps(path.read_text("utf-8")))
        found = _passed(session, steps, _made(folder / path.parent.name / path.stem))
        for step, *here in zip(steps, found["deltaarrow"], found["Sail"], strict=True):
            if here == [False, True]:
                print(f"{path}:{step.line}: Sail alone runs {step.text}", file=sys.stderr)
        counts = {"statements": len(steps)} | {name: sum(found[name]) for name in _ENGINES[path.parent.name]}
        scripts.setdefault(path.parent.name, {})[path.stem] = counts
    return {
        "day": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}",
        "versions": versions,
        "scripts": scripts,
    }


def _passed(session: Any, steps: Sequence[Step], folder: Path) -> dict[str, list[bool]]:
    """Whether each statement of a script passes, by engine."""
    one_node = OneNode(_made(folder / "deltaarrow"))
    sail = OnSail(session, _made(folder / f"sail_{folder.parent.name}_{folder.name}"))
    return {
        "Spark": [step.spark_refuses is None for step in steps],
        "deltaarrow": _passing(one_node, steps, _made(folder / "of deltaarrow")),
        "Sail": _passing(sail, steps, _made(folder / "of sail")),
    }


def _passing(engine: OnSail | OneNode, steps: Sequence[Step], folder: Path) -> list[bool]:
    found = [_passes(run_step(engine, step, folder), step) for step in steps]
    engine.close()
    return found


def _passes(outcome: Outcome, step: Step) -> bool:
    """Names and types of columns, metrics of other statements than queries, and messages do not count."""
    if step.error is not None:
        return outcome.error is not None
    if outcome.rows is None:
        return False
    if step.rows is None or not step.is_query:
        return True
    rows, wanted = outcome.rows[1:], step.rows[1:]
    return rows == wanted if step.is_ordered else sorted(rows) == sorted(wanted)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


# --- the record and the page ---


def read_record() -> Record:
    """The counts of the last run that was recorded."""
    record: Record = json.loads(RECORD.read_text("utf-8"))
    return record


def render_tables(record: Record) -> str:
    """The counts as Markdown tables, one for each folder of scripts."""
    versions = "Spark {pyspark} with delta-spark {delta-spark}, Sail {pysail}".format_map(record["versions"])
    lines = [f"{versions}, {record['day']}."]
    for folder, engines in _ENGINES.items():
        names = ("statements", *engines)
        scripts = {name: Counter(counts) for name, counts in record["scripts"][folder].items()}
        scripts["all"] = sum(scripts.values(), Counter())
        lines += ["", f"| `sql/{folder}/` | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
        for script, counts in scripts.items():
            lines.append(f"| {script} | {' | '.join(str(counts[each]) for each in names)} |")
    return "\n".join(lines)


def _keep(record: Record) -> None:
    RECORD.write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    page = PAGE.read_text("utf-8")
    PAGE.write_text(_BETWEEN.sub(lambda _: f"{render_tables(record)}\n", page), "utf-8")


def main(*, is_recorded: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, running_sail(Path(folder) / "warehouse") as session:
        record = count_statements(session, Path(folder))
    print(render_tables(record))
    if is_recorded:
        _keep(record)


if __name__ == "__main__":
    main(is_recorded="--record" in sys.argv[1:])
