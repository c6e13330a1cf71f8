"""The open files of one write, and the threads that fill them.

A file takes one row group at a time. A row group goes to an idle file of its partition. If all of them are
busy, a large row group begins another file. So a fast stream keeps every thread busy, and a slow or short one
makes few files. The thread that fills a file also closes it.
"""

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Generic, ParamSpec, TypeVar

from deltaarrow.write.new_file import NewFile, WrittenFile, sync_files
from deltaarrow.write.selected_rows import RowGroup

__all__ = ["FileSet"]

_MOST_UNSYNCED = 48
"""Closed files that may wait to be flushed together, and as many that are being flushed.

Each has an open descriptor, as open files have. Some systems allow a process 256.
"""

_Key = TypeVar("_Key")
_P = ParamSpec("_P")
_R = TypeVar("_R")


@dataclass(eq=False, slots=True)
class _Open(Generic[_Key]):
    number: int
    key: _Key
    file: NewFile
    busy: bool = field(default=False)


class _Immediately(Executor):
    """Runs each submitted call at once, in the calling thread."""

    def submit(self, fn: Callable[_P, _R], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_R]:
        done: Future[_R] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except BaseException as error:
            done.set_exception(error)
        return done


class FileSet(Generic[_Key]):
    """Files by partition key, written by an executor.

    Args:
        pool: runs the tasks; the caller should use it for nothing else.
        threads: how many row groups are encoded at once.
        begin: makes a file from a number and a key.
        target_file_size: bytes at which a file is full.
        worth_a_file: Arrow bytes from which a row group begins another file rather than wait.
        max_open: how many files may be open; beyond that the least recently used one is closed.
    """

    def __init__(
        self,
        pool: Executor,
        *,
        threads: int,
        begin: Callable[[int, _Key], NewFile],
        target_file_size: int,
        worth_a_file: int,
        max_open: int,
    ) -> None:
        self._pool = pool
        self._threads = threads
        self._begin = begin
        self._target_file_size = target_file_size
        self._worth_a_file = worth_a_file
        self._max_open = max_open
        self._begun: list[NewFile] = []
        self._written: dict[int, WrittenFile] = {}
        self._unsynced: list[NewFile] = []
        # While some files are flushed, others are encoded.
        self._flusher = ThreadPoolExecutor(1, thread_name_prefix="deltaarrow-flush")
        self._flushed: Future[None] | None = None
        # Ordered by last use.
        self._open: dict[_Open[_Key], None] = {}
        self._of_key: dict[_Key, list[_Open[_Key]]] = {}
        self._running: dict[Future[WrittenFile | None], _Open[_Key]] = {}

    @property
    def are_begun(self) -> bool:
        """Whether any file was begun, finished or not."""
        return bool(self._begun)

    def write_at_once(self) -> None:
        """Stop using threads: starting one takes longer than writing a small file."""
        self._pool = _Immediately()

    def write(self, key: _Key, row_group: RowGroup, *, is_last: bool = False) -> None:
        """Queue a row group of a partition; block while all threads are busy.

        A file that gets the last row group of its partition is closed at once, so few files are open.
        """
        waits = row_group.nbytes < self._worth_a_file
        while len(self._running) >= self._threads or (waits and self._is_busy(key)):
            self._reap()
        opened = next((each for each in self._of_key.get(key, ()) if not each.busy), None)
        if opened is None:
            self._make_room()
            opened = self._start(key)
        else:
            del self._open[opened]
            self._open[opened] = None
        self._submit(opened, self._write, opened.file, row_group, is_last)

    def finish(self) -> list[WrittenFile]:
        """Close all files and return the written files, in the order in which they were begun."""
        while self._open:
            for each in [each for each in self._open if not each.busy]:
                self._submit(each, each.file.close)
            self._reap()
        self._wait_for_flush()
        sync_files(self._unsynced)
        self._flusher.shutdown()
        return [self._written[number] for number in sorted(self._written)]

    def discard(self) -> None:
        """Wait for running tasks, then delete every file, finished or not."""
        wait(self._running)
        self._flusher.shutdown()
        for each in self._begun:
            each.discard()

    def _is_busy(self, key: _Key) -> bool:
        opened = self._of_key.get(key, [])
        return bool(opened) and all(each.busy for each in opened)

    def _start(self, key: _Key) -> _Open[_Key]:
        number = len(self._begun)
        opened = _Open(number, key, self._begin(number, key))
        self._begun.append(opened.file)
        self._open[opened] = None
        self._of_key.setdefault(key, []).append(opened)
        return opened

    def _make_room(self) -> None:
        while len(self._open) >= self._max_open:
            idle = next((each for each in self._open if not each.busy), None)
            if idle is not None:
                self._submit(idle, idle.file.close)
            self._reap()

    def _submit(
        self, opened: _Open[_Key], task: Callable[..., WrittenFile | None], *arguments: object
    ) -> None:
        opened.busy = True
        self._running[self._pool.submit(task, *arguments)] = opened

    def _reap(self) -> None:
        """Wait for at least one task and collect the finished ones; a failed task raises."""
        done, _ = wait(self._running, return_when=FIRST_COMPLETED)
        for future in done:
            opened = self._running.pop(future)
            opened.busy = False
            written = future.result()
            if written is not None:
                self._written[opened.number] = written
                self._unsynced.append(opened.file)
                del self._open[opened]
                self._of_key[opened.key].remove(opened)

        if len(self._unsynced) >= _MOST_UNSYNCED:
            self._wait_for_flush()
            self._flushed = self._flusher.submit(sync_files, self._unsynced)
            self._unsynced = []

    def _wait_for_flush(self) -> None:
        flushed, self._flushed = self._flushed, None
        if flushed is not None:
            flushed.result()

    def _write(self, file: NewFile, row_group: RowGroup, is_last: bool) -> WrittenFile | None:
        size = file.write(row_group.read(), is_last=is_last)
        return file.close() if is_last or size >= self._target_file_size else None
