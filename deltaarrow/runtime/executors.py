"""Executors: what carries out the tasks of operations, by default threads of this process.

An operation plans, hands tasks to the executor in use, and commits their results. A task is a call without
arguments. It is picklable, because another executor may run it in another process, and more than once; so a
task names the files that it writes anew each time. Only files in results that came back become part of a
table.
"""

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, TypeVar

from deltaarrow.runtime.futures import finished_after_all
from deltaarrow.runtime.interrupts import Stop, interruptible, same_for_threads

__all__ = ["Executor", "TaskLimits", "Threads", "executor_in_use", "run_all", "using"]

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class TaskLimits:
    """How tasks are run.

    Args:
        threads: how many tasks threads of this process run at once.
        name: the beginning of the names of these threads.
        sizes: the bytes that each task reads, about, for executors that give several small tasks to one
            process; None if all tasks are large.
    """

    threads: int
    name: str
    sizes: Sequence[int] | None = None


class Executor(Protocol):
    """Carries out tasks."""

    def run(
        self,
        tasks: Sequence[Callable[[], _Result]],
        limits: TaskLimits,
        discard: Callable[[_Result], object] = lambda result: None,
    ) -> Generator[tuple[int, _Result], None, None]:
        """Yield the place and the result of each task, once, in the order in which they are done.

        Raises what a task raises. Then, or when the generator is closed, `discard` is called with every
        result that came back and was not yielded.
        """

    def parts(self, sizes: Sequence[int]) -> list[list[int]] | None:
        """Return which files one task reads together, by their places; None if one task reads all files.

        Args:
            sizes: the bytes of each file.
        """

    def tasks_at_once(self) -> int:
        """Return how many tasks run at the same time, about."""

    def threads_of_task(self, threads: int, at_once: int) -> int:
        """Return how many threads a task may use, if this process had so many and ran so many tasks."""


class Threads:
    """Runs tasks by threads of this process.

    >>> tasks = [lambda: "a", lambda: "b"]
    >>> sorted(Threads().run(tasks, TaskLimits(2, "example")))
    [(0, 'a'), (1, 'b')]
    """

    def run(
        self,
        tasks: Sequence[Callable[[], _Result]],
        limits: TaskLimits,
        discard: Callable[[_Result], object] = lambda result: None,
    ) -> Generator[tuple[int, _Result], None, None]:
        """Run tasks: see `Executor.run`. After an error, tasks that have begun end at their next batch."""
        threads, stop = max(1, min(limits.threads, len(tasks))), Stop()
        with (
            interruptible(lambda: None),  # Ctrl-C interrupts what the threads wait for
            ThreadPoolExecutor(threads, limits.name, initializer=same_for_threads(stop)) as pool,
        ):
            running = {pool.submit(task): place for place, task in enumerate(tasks)}
            try:
                for future in as_completed(running):
                    result = future.result()
                    yield running.pop(future), result
            except BaseException:
                stop.is_set = True
                for result in finished_after_all(running):
                    discard(result)
                raise

    def parts(self, sizes: Sequence[int]) -> list[list[int]] | None:
        """Let one task read all files, by the threads of its engine."""
        return None

    def tasks_at_once(self) -> int:
        """Return the number of processors; an operation may allow fewer threads."""
        return os.cpu_count() or 1

    def threads_of_task(self, threads: int, at_once: int) -> int:
        """Divide the threads among the tasks."""
        return max(1, threads // at_once)


_IN_USE: ContextVar[Executor | None] = ContextVar("deltaarrow_executor", default=None)
_THREADS = Threads()


def executor_in_use() -> Executor:
    """Return the executor of the innermost `using` around the caller; threads without one."""
    return _IN_USE.get() or _THREADS


def run_all(
    tasks: Sequence[Callable[[], _Result]],
    limits: TaskLimits,
    discard: Callable[[_Result], object] = lambda result: None,
) -> list[_Result]:
    """Run tasks by the executor in use and return all results, in the order of the tasks.

    Raises what a task raises, after `discard` was called with every result that came back.
    """
    done: dict[int, _Result] = {}
    try:
        with closing(executor_in_use().run(tasks, limits, discard)) as results:
            done.update(results)
    except BaseException:
        for result in done.values():
            discard(result)
        raise
    return [done[place] for place in range(len(tasks))]


@contextmanager
def using(executor: Executor) -> Iterator[None]:
    """Let operations that begin inside a ``with`` block, in this thread, use an executor."""
    token = _IN_USE.set(executor)
    try:
        yield
    finally:
        _IN_USE.reset(token)
