"""Damaged copies of small tables, read in this process: the working half of the byte fuzzer.

``python -m tests.support.fuzz FOLDER SEED COUNT ENGINE...`` damages the tables in FOLDER one byte (or one
cut) at a time, reads every copy with the engines in turn and prints a JSON object for each outcome that is
not a refusal. It prints the description of a copy before reading it, so that the caller knows which copy made
the process crash or hang. The same seed gives the same copies.
"""

import json
import random
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import polars as pl
import pyarrow as pa

from deltaarrow.errors import DeltaError
from deltaarrow.scan import plan_scan
from tests.support.engines import ENGINES, open_snapshot
from tests.support.rows import rows_of

__all__ = ["Damage", "damages", "outcome"]

ENGINE_ERRORS: dict[str, tuple[type[BaseException], ...]] = {
    "duckdb": (duckdb.Error,),
    "duckdb-dataset": (duckdb.Error,),
    "polars": (pl.exceptions.PolarsError, pl.exceptions.PanicException),
}
"""What the readers of DuckDB and Polars raise at a broken data file, once the files are in their hands."""


class Damage(NamedTuple):
    """What is done to a file: `kind` is ``flip`` a bit, ``set`` a byte, ``cut`` it or ``zero`` bytes."""

    file: str
    kind: str
    at: int
    value: int

    def apply(self, data: bytes) -> bytes:
        """The damaged content."""
        damaged = bytearray(data)
        match self.kind:
            case "flip":
                damaged[self.at] ^= 1 << self.value
            case "set":
                damaged[self.at] = self.value
            case "zero":
                end = min(len(damaged), self.at + self.value)
                damaged[self.at : end] = bytes(end - self.at)
            case "cut":
                del damaged[self.at :]
        return bytes(damaged)


def damages(table: Path, seed: int, count: int) -> Iterator[Damage]:
    """`count` damages of the files of a table, each file as likely as any other."""
    generator = random.Random(seed)
    files = sorted(str(file.relative_to(table)) for file in table.rglob("*") if file.is_file())
    for _ in range(count):
        file = generator.choice(files)
        size = (table / file).stat().st_size
        kind = generator.choices(["flip", "set", "zero", "cut"], [6, 3, 1, 1])[0]
        # The ends of a file, where footers and headers are, deserve more than their share.
        at = generator.choice(
            [
                generator.randrange(size),
                max(0, size - 1 - generator.randrange(600)),
                generator.randrange(min(64, size)),
            ]
        )
        value = {"flip": generator.randrange(8), "zero": generator.randrange(1, 64)}.get(
            kind, generator.choice([0, 1, 127, 128, 255, generator.randrange(256)])
        )
        yield Damage(file, kind, at, value)


def outcome(table: Path, engine: str) -> dict[str, Any]:
    """Read a table to the end: its ``rows``, or what was ``refused``, ``raised`` or ``raised by engine``."""
    try:
        snapshot = open_snapshot(table)
        plan_scan(snapshot).tasks  # noqa: B018 # what is wrong with the log is for us to tell
        try:
            read = ENGINES[engine](snapshot, None, None)
        except ENGINE_ERRORS.get(engine, ()) as error:
            return {"raised by engine": type(error).__name__, "message": str(error)}
    except DeltaError as error:
        return {"refused": type(error).__name__, "message": str(error)}
    except BaseException as error:
        return {"raised": type(error).__name__, "message": "".join(traceback.format_exception(error)[-4:])}
    try:
        return {"rows": rows_of(read)}
    except (UnicodeError, OverflowError):  # texts and times that Python does not know
        return {"rows": ["?"] * read.num_rows}


def main(folder: str, seed: str, count: str, *engines: str) -> None:
    """Run the fuzzer; see the docstring of the module."""
    tables = sorted(Path(folder).iterdir())
    expected = {table: outcome(table, "dataset")["rows"] for table in tables}
    with tempfile.TemporaryDirectory() as scratch:
        plans = [(table, damage) for table in tables for damage in damages(table, int(seed), int(count))]
        for number, (table, damage) in enumerate(plans):
            copy = Path(scratch) / f"{number}" / "t"  # another place, since footers are remembered by place
            shutil.copytree(table, copy)
            file = copy / damage.file
            file.write_bytes(damage.apply(file.read_bytes()))
            for engine in engines:
                what = {"table": table.name, "damage": damage, "engine": engine}
                print(json.dumps(what), flush=True)
                found = outcome(copy, engine)
                if "rows" in found:
                    found = {"same": found["rows"] == expected[table], "count": len(found["rows"])}
                print(json.dumps(what | found), flush=True)
            shutil.rmtree(copy.parent)


if __name__ == "__main__":
    pa.set_cpu_count(2)
    main(*sys.argv[1:])
