"""Rows in the formats of the commands, written batch by batch."""

import csv
import io
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Literal, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.text import Text

from deltaarrow.cli.result_rendering import cell_text, json_bytes, print_mapping, print_rows, rows_of
from deltaarrow.cli.statement_engine import Result

__all__ = ["BINARY", "Format", "show", "wide_console", "write", "write_rows"]

Format: TypeAlias = Literal["table", "tsv", "csv", "json", "jsonl", "ndjson", "parquet", "arrow"]

BINARY = ("parquet", "arrow")
"""Formats that no terminal shows."""

_NARROWEST = 10
"""How many characters of a line a column needs to be read."""

_WIDE = 1 << 16


def wide_console() -> Console:
    """Return standard output for tables, which are folded on a terminal alone."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDE)


def show(console: Console, result: Result, limit: int) -> int:
    """Print the first rows as a table for people; return how many there are, as far as they were read.

    Each row is a table of its own if the terminal is too narrow for the columns.
    """
    rows: list[dict[str, Any]] = []
    for batch in result.batches:
        rows += rows_of(pa.Table.from_batches([batch]).slice(0, limit + 1 - len(rows)))
        if len(rows) > limit:
            break
    names = result.schema.names
    if len(names) * _NARROWEST <= console.width:
        print_rows(console, rows[:limit], names)
    else:
        for row in rows[:limit]:
            print_mapping(console, row)
    if len(rows) > limit:
        console.print(Text(f"the first {limit} rows; --limit shows more"))
    return min(len(rows), limit)


def write(result: Result, form: Format, target: BinaryIO) -> None:
    """Write all rows in a format other than ``table``."""
    match form:
        case "arrow":
            with pa.ipc.new_stream(target, result.schema) as writer:
                for batch in result.batches:
                    writer.write_batch(batch)
        case "parquet":
            with pq.ParquetWriter(target, result.schema) as rows:
                for batch in result.batches:
                    rows.write_batch(batch)
        case _:
            write_rows(result.schema.names, _rows(result), form, target)
    target.flush()


def write_rows(
    names: Sequence[str], rows: Iterable[Mapping[str, Any]], form: Format, target: BinaryIO
) -> None:
    """Write rows, whose keys are the names, in a format of text other than ``table``."""
    match form:
        case "csv" | "tsv":
            _write_csv(names, rows, target, "," if form == "csv" else "\t")
        case "jsonl" | "ndjson":
            for row in rows:
                target.write(json_bytes(row) + b"\n")
        case "json":
            target.write(b"[")
            for place, row in enumerate(rows):
                target.write((b",\n " if place else b"\n ") + json_bytes(row))
            target.write(b"\n]\n")
        case _:
            raise ValueError(f"{form} is no format of text that is written")


def _write_csv(
    names: Sequence[str], rows: Iterable[Mapping[str, Any]], target: BinaryIO, separator: str
) -> None:
    text = io.TextIOWrapper(target, "utf-8", newline="", write_through=True)
    try:
        writer = csv.writer(text, delimiter=separator, lineterminator="\n")
        writer.writerow(names)
        for row in rows:
            values = (row.get(name) for name in names)
            writer.writerow([None if value is None else cell_text(value) for value in values])
    finally:
        text.detach()


def _rows(result: Result) -> Iterator[dict[str, Any]]:
    return itertools.chain.from_iterable(rows_of(pa.Table.from_batches([each])) for each in result.batches)
