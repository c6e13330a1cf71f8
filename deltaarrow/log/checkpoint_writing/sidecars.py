"""Writing sidecars: chapter "Sidecar Files" of the protocol.

Sidecars are written in parallel. If an executor is in use that runs tasks elsewhere, and the older checkpoint
is large, each task reads some files of that checkpoint and writes their file actions as sidecars; this
process writes those of the commits. The rows of the checkpoint do not pass through this process then.

Each attempt names its sidecars anew. A sidecar of an attempt that was lost is in no checkpoint, and metadata
cleanup deletes it.
"""

import contextlib
import uuid
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import pyarrow as pa

from deltaarrow.actions import Sidecar
from deltaarrow.log.checkpoint_writing.content import CheckpointContent, Totals, parquet_writer
from deltaarrow.log.file_names import SIDECAR_FOLDER, sidecar_name
from deltaarrow.log.parts import divided
from deltaarrow.log.state import LogState
from deltaarrow.runtime.clock import Clock
from deltaarrow.runtime.executors import TaskLimits, executor_in_use
from deltaarrow.storage import Store

__all__ = ["SidecarWriter", "WrittenSidecars"]

_WRITERS = 2
"""Sidecars encoded at the same time; as many more wait in memory."""


@dataclass
class WrittenSidecars:
    """Sidecars, and what they hold together."""

    sidecars: list[Sidecar] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)

    def add(self, other: "WrittenSidecars") -> None:
        """Add the sidecars of another part of the checkpoint."""
        self.sidecars += other.sidecars
        self.totals.add(other.totals)

    def delete(self, store: Store) -> None:
        """Delete the sidecars, which no checkpoint will name."""
        for sidecar in self.sidecars:
            # The error that ended the checkpoint is the one to tell.
            with contextlib.suppress(Exception):
                store.delete(f"{SIDECAR_FOLDER}/{sidecar.path}")


@dataclass(frozen=True)
class SidecarWriter:
    """Writes the sidecars of a checkpoint; picklable.

    Args:
        content: what the checkpoint has.
        clock: the time of the sidecars.
    """

    content: CheckpointContent
    clock: Clock

    @property
    def schema(self) -> pa.Schema:
        """The columns of the sidecars."""
        return self.content.layout.sidecar_schema

    def write(self, state: LogState) -> WrittenSidecars:
        """Write all file actions of a version; after an error, no sidecar is left.

        Raises `CorruptLogError` if the version checksum counts other live files, or if a file action cannot
        be read.
        """
        done: list[WrittenSidecars] = []
        try:
            if parts := divided(state):
                done.append(self.write_here(state.part((), with_commits=True)))
                self._write_in_tasks(parts, done)
            else:
                done.append(self.write_here(state))
            written = WrittenSidecars()
            for each in done:
                written.add(each)
            written.totals.ensure_agree(state)
        except BaseException:
            for each in done:
                each.delete(state.store)
            raise
        return written

    def _write_in_tasks(self, parts: list[LogState], done: list[WrittenSidecars]) -> None:
        tasks = [_SidecarTask(self, part) for part in parts]
        limits = TaskLimits(len(tasks), "deltaarrow-checkpoint")
        store = parts[0].store
        executor = executor_in_use()
        with contextlib.closing(executor.run(tasks, limits, lambda each: each.delete(store))) as results:
            for _, written in results:
                done.append(written)

    def write_here(self, state: LogState) -> WrittenSidecars:
        """Write the file actions of a version, or of a part, by this process."""
        totals = Totals()
        tables = self.content.tables(state, self.schema, self.content.sizes.sidecar_rows)
        return WrittenSidecars(self._write_all(state, totals.counting(tables)), totals)

    def _write_all(self, state: LogState, tables: Iterator[tuple[str, pa.Table]]) -> list[Sidecar]:
        """Write a sidecar for every table."""
        writing: list[Future[Sidecar]] = []
        try:
            with ThreadPoolExecutor(_WRITERS) as pool:
                for _, rows in tables:
                    if len(writing) >= 2 * _WRITERS:
                        # Sidecars being written are in memory.
                        writing[-2 * _WRITERS].result()
                    writing.append(pool.submit(self._write_one, state, rows))
                return [each.result() for each in writing]
        except BaseException:
            WrittenSidecars([each.result() for each in writing if each.exception() is None]).delete(
                state.store
            )
            raise

    def _write_one(self, state: LogState, rows: pa.Table) -> Sidecar:
        name = sidecar_name(state.segment.version, str(uuid.uuid4()))
        with state.store.open_output(f"{SIDECAR_FOLDER}/{name}") as output:
            with parquet_writer(output, self.schema) as writer:
                writer.write_table(rows)
            size = output.tell()
        return Sidecar(path=name, size_in_bytes=size, modification_time=self.clock())


@dataclass(frozen=True)
class _SidecarTask:
    """Writes the sidecars of a part of a version; picklable."""

    writer: SidecarWriter
    part: LogState

    def __call__(self) -> WrittenSidecars:
        return self.writer.write_here(self.part)
