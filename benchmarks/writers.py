"""A writer of one table in its own process: ``python -m benchmarks.writers`` with a `Writer` as JSON.

It prints ``ready``, repeats its statement from the first line of its input on until the second, and prints
number of its commits. Each statement of a writer changes or adds rows that no other writer touches.
"""

import contextlib
import importlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["STATEMENTS", "Writer", "writing"]

ROWS_OF_A_WRITER = 1_000
"""A writer has the ids from this many times its number on, a file of its own at first."""
_ADDED = 10
_FIRST_ADDED_ID = 1_000_000_000


@dataclass(frozen=True)
class Writer:
    """One writer: the library, the folder of the table, the statement and the number of the writer."""

    library: str
    folder: str
    statement: str
    number: int

    def write(self, turn: int) -> None:
        """Carry out the statement on the newest version; `turn` counts the statements of this writer."""
        library = importlib.import_module(self.library)
        STATEMENTS[self.statement](library, library.DeltaTable(self.folder), self.number, turn)


def _append(library: Any, table: Any, number: int, turn: int) -> None:
    from benchmarks.data import orders

    first = _FIRST_ADDED_ID * (number + 1) + turn * _ADDED
    library.write_deltalake(table, orders(_ADDED, first), mode="append")


def _update(_: Any, table: Any, number: int, turn: int) -> None:
    own = number * ROWS_OF_A_WRITER + turn % ROWS_OF_A_WRITER
    table.update(updates={"quantity": "quantity + 1"}, predicate=f"id = {own}")


def _delete(_: Any, table: Any, number: int, turn: int) -> None:
    own = number * ROWS_OF_A_WRITER + turn % ROWS_OF_A_WRITER
    table.delete(f"id = {own}")


def _merge(_: Any, table: Any, number: int, turn: int) -> None:
    from benchmarks.data import orders

    source = orders(_ADDED, number * ROWS_OF_A_WRITER + turn % (ROWS_OF_A_WRITER - _ADDED))
    merge = table.merge(source, "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update({"quantity": "t.quantity + 1"}).execute()


STATEMENTS: dict[str, Callable[[Any, Any, int, int], None]] = {
    "append": _append,
    "update": _update,
    "merge": _merge,
    "delete": _delete,
}


class _Running:
    """Writers at work; `commits` are their numbers of commits once they have ended."""

    def __init__(self, processes: Sequence["subprocess.Popen[str]"]) -> None:
        self._processes = processes
        self.commits: list[int] = []

    def say(self, what: str) -> None:
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(f"{what}\n")
            process.stdin.flush()

    def listen(self) -> list[str]:
        lines = [process.stdout.readline().strip() for process in self._processes if process.stdout]
        if "" in lines:
            raise RuntimeError("a writer has failed; see the standard error")
        return lines


@contextlib.contextmanager
def writing(writers: Sequence[Writer]) -> Iterator[_Running]:
    """Let writers write, all from the same moment on, until the block ends."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.writers", json.dumps(asdict(writer))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent,
        )
        for writer in writers
    ]
    try:
        running = _Running(processes)
        running.listen()
        running.say("begin")
        yield running
        running.say("end")
        running.commits = [int(line) for line in running.listen()]
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def main(text: str) -> None:
    """Write until told to end."""
    writer = Writer(**json.loads(text))
    exceptions = importlib.import_module(f"{writer.library}.exceptions")
    turn = commits = 0

    def write() -> None:
        nonlocal turn, commits
        turn += 1
        # A writer that lost too often, or is refused for a conflict, begins its next statement.
        with contextlib.suppress(exceptions.CommitFailedError):
            writer.write(turn)
            commits += 1

    write()
    print("ready", flush=True)
    sys.stdin.readline()
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), ended.set()), daemon=True).start()
    while not ended.is_set():
        write()
    print(commits, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
