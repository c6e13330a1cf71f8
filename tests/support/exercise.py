"""Every question that a table can be asked; for tests with tables that may answer only with errors."""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from deltaarrow import DeltaTable
from deltaarrow.errors import DeltaError

__all__ = ["QUESTIONS", "refusals"]

QUESTIONS: dict[str, Callable[[DeltaTable], Any]] = {
    "read": lambda table: table.to_pyarrow_table(),
    "filter": lambda table: table.to_pyarrow_table(filters=[("id", ">", 3)]),
    "count": lambda table: table.count(),
    "partitions": lambda table: table.partitions(),
    "file_uris": lambda table: table.file_uris(),
    "add_actions": lambda table: table.get_add_actions(flatten=True),
    "detail": lambda table: table.detail(),
    "history": lambda table: table.history(),
    "tombstones": lambda table: table.snapshot.tombstones(),
    "times": lambda table: table.snapshot.commit_times().version_at(1 << 60),
}
"""Name -> a question; each has an answer, or a `DeltaError`."""


def refusals(path: Path, without: Collection[str] = ()) -> Iterator[tuple[str, DeltaError]]:
    """Open a table and ask all but the questions `without`: yield the refused ones, ``open`` among them.

    Any exception other than a `DeltaError` comes through.
    """
    try:
        table = DeltaTable(path)
    except DeltaError as error:
        yield "open", error
        return
    for name, ask in QUESTIONS.items():
        if name in without:
            continue
        try:
            ask(table)
        except DeltaError as error:
            yield name, error
