"""Sail, which is Spark SQL in Rust, beside this package: the scripts of ``sql/`` on both, counted.

``python -m tests.support.sail`` prints the counts as a Markdown table. It needs ``pysail`` and
what PySpark needs for Spark Connect.
"""

import datetime
import importlib.metadata
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from deltaarrow.pipeline import read_scripts
from tests.support.sql_scripts import (
    FOLDERS,
    ROOT,
    OneNode,
    Outcome,
    Step,
    error_class_in,
    paths,
    read_steps,
    run_step,
)

__all__ = ["OnSail", "render_table", "running_sail"]

_PIPELINE = {"events": 100, "batch": 0, "lake": "${folder}"}
_PASSES, _DIFFERS, _REFUSES = "passes", "differs", "refuses"


@contextmanager
def running_sail(folder: Path) -> Iterator[Any]:
    """Start a server of Spark Connect in this process, with its tables in a folder; give a session of it."""
    from pysail.spark import SparkConnectServer
    from pyspark.sql import SparkSession

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    address, port = server.listening_address
    builder = SparkSession.builder.remote(f"sc://{address}:{port}")
    session = builder.config("spark.sql.warehouse.dir", str(folder)).getOrCreate()
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


def render_table(session: Any, folder: Path) -> str:
    """How many statements of each script succeed on Spark, on this package and on Sail, as Markdown."""
    versions = {name: importlib.metadata.version(name) for name in ("pyspark", "delta-spark", "pysail")}
    lines = [
        "Spark {pyspark} with delta-spark {delta-spark}, Sail {pysail};".format_map(versions)
        + f" {datetime.datetime.now(datetime.UTC):%Y-%m-%d}.",
        "",
        "| script | statements | Spark | deltaarrow | Sail | of the rest, Sail refuses |",
        "|---|---|---|---|---|---|",
    ]
    total: Counter[str] = Counter()
    for number, (name, steps) in enumerate(_scripts()):
        place = folder / f"script{number}"
        ours = _outcomes(OneNode(_made(place / "ours")), steps, _made(place / "of ours"))
        theirs = _outcomes(OnSail(session, _made(place / f"sail{number}")), steps, _made(place / "of sail"))
        counts = Counter(
            {
                "statements": len(steps),
                "Spark": sum(step.spark_refuses is None for step in steps),
                "ours": ours.count(_PASSES),
                "Sail": theirs.count(_PASSES),
                "refused": theirs.count(_REFUSES),
            }
        )
        for step, one, other in zip(steps, ours, theirs, strict=True):
            if other == _PASSES != one:
                print(f"{name}:{step.line}: Sail alone runs {step.text}", file=sys.stderr)
        total += counts
        lines.append(_row(name, counts))
    return "\n".join([*lines, _row("all", total)])


def _row(name: str, counts: Counter[str]) -> str:
    shown = (str(counts[each]) for each in ("statements", "Spark", "ours", "Sail", "refused"))
    return f"| `{name}` | {' | '.join(shown)} |"


def _scripts() -> Iterator[tuple[str, list[Step]]]:
    for path in paths(*FOLDERS):
        yield f"{path.parent.name}/{path.stem}", list(read_steps(path.read_text("utf-8")))
    texts = [text for script in read_scripts(ROOT / "pipeline") for text in script.statements(_PIPELINE)]
    yield "pipeline", [Step(0, text) for text in texts]


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _outcomes(engine: OnSail | OneNode, steps: Sequence[Step], folder: Path) -> list[str]:
    found = [_outcome(run_step(engine, step, folder), step) for step in steps]
    engine.close()
    return found


def _outcome(outcome: Outcome, step: Step) -> str:
    """Names and types of columns, and the metrics of other statements than queries, are not compared."""
    if step.error is not None:
        return _PASSES if outcome.error_class == step.error else _DIFFERS
    if outcome.rows is None:
        return _REFUSES
    if step.rows is None or not step.is_query:
        return _PASSES
    rows, wanted = outcome.rows[1:], step.rows[1:]
    is_equal = rows == wanted if step.is_ordered else sorted(rows) == sorted(wanted)
    return _PASSES if is_equal else _DIFFERS


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, running_sail(Path(folder) / "warehouse") as session:
        print(render_table(session, Path(folder)))


if __name__ == "__main__":
    main()
