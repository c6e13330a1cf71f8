"""The files of a deep clone: their new names, and the tasks that copy them.

A file that the source names relatively has the same name in the clone. One that it names absolutely, as a
shallow clone does, gets a name that follows from the absolute one. So a clone that is repeated, or goes on
after it was killed, finds the files that it has copied before and copies only the others. A note in the log
folder says whose files they are, so that files of another table are never taken for copies.
"""

import contextlib
import hashlib
import posixpath
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
import pyarrow as pa

from deltaarrow.actions.arrow_tables import DELETION_VECTOR_TYPE, build_array
from deltaarrow.deletion_vectors import DeletionVectorDescriptor
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import DeltaProtocolError, MissingFilesError, StorageError
from deltaarrow.log import LOG_FOLDER
from deltaarrow.operations.clone.options import Progress
from deltaarrow.runtime.executors import TaskLimits, executor_in_use
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store, decode_path, encode_path
from deltaarrow.storage.failures import expecting_file
from deltaarrow.storage.paths import ensure_inside, scheme_of

__all__ = ["Copies", "is_noted", "note_source"]

_NOTE = f"{LOG_FOLDER}/_deltaarrow_clone"
_BYTES_AT_ONCE = 8 << 20
_MOST_NAMED = 100


@dataclass
class Copies:
    """The files to copy for a clone, found while its list of files is made.

    Args:
        source: the storage of the source.
        target: that of the clone.
        names: by its name in the clone, the name of each file in the source.
    """

    source: Store
    target: Store
    names: dict[str, str] = field(default_factory=dict)

    def spelled(self, files: pa.Table) -> pa.Table:
        """Return live files of the source as the clone names them, and note them to be copied."""
        texts, vectors = [], []
        columns = (files.column(name).to_pylist() for name in ("path", "log_path", "deletion_vector"))
        for path, text, vector in zip(*columns, strict=True):
            name = self._name_of(path)
            if name in self.names:
                raise DeltaProtocolError(
                    f"{self.source.uri} names one file twice: {path} and {self.names[name]}"
                )
            self._note(name, path)
            texts.append(text if name == path else encode_path(name))
            vectors.append(None if vector is None else self._vector_of(vector))
        for column, array in (
            ("path", build_array(list(map(decode_path, texts)), pa.string())),
            ("log_path", build_array(texts, pa.string())),
            ("deletion_vector", build_array(vectors, DELETION_VECTOR_TYPE)),
        ):
            files = files.set_column(files.schema.get_field_index(column), column, array)
        return files

    def _name_of(self, path: str) -> str:
        if not _is_absolute(path):
            return ensure_inside(path)
        base = path.rpartition("/")[2]
        return f"{hashlib.sha256(path.encode()).hexdigest()[:16]}-{base}"

    def _vector_of(self, vector: Mapping[str, Any]) -> dict[str, Any]:
        descriptor = DeletionVectorDescriptor(**vector)
        path = descriptor.file_name()
        if path is not None and _is_absolute(path):
            own = uuid.uuid5(uuid.NAMESPACE_URL, path)
            named = DeletionVectorDescriptor.of_uuid(own, offset=0, size_in_bytes=0, cardinality=0)
            descriptor = replace(descriptor, storage_type="u", path_or_inline_dv=named.path_or_inline_dv)
        name = descriptor.file_name()
        if path is not None and name is not None:
            self._note(name, path)
        return descriptor.to_json()

    def _note(self, name: str, path: str) -> None:
        """Note a file to be copied, but none that would come into the log of the clone."""
        if posixpath.normpath(name).partition("/")[0] == LOG_FOLDER:
            raise DeltaProtocolError(
                f"{self.source.uri} names a file in its log folder as one with rows: {path}"
            )
        self.names[name] = path

    def carry_out(
        self, known: bool, begin: Callable[[], None], threads: int, progress: Progress | None
    ) -> None:
        """Copy the files that the clone does not have, several at a time.

        `known` says that files of these names in the clone are copies; otherwise there must be none. `begin`
        is called before the first file is copied.

        Raises `MissingFilesError` for files that the source does not have any more, and `StorageError` for
        files that are in the way; nothing is copied then.
        """
        names = list(self.names)
        before = self.source.statuses([self.names[name] for name in names])
        gone = [self.names[name] for name, status in zip(names, before, strict=True) if status is None]
        if gone:
            raise MissingFilesError(
                f"{redacted(self.source.uri)} cannot be cloned: files of it are gone:"
                f" {', '.join(gone[:_MOST_NAMED])}; clone another version",
                files=gone,
            )
        present = self.target.statuses(names)
        others = [name for name, status in zip(names, present, strict=True) if status is not None]
        if others and not known:
            raise StorageError(
                f"{redacted(self.target.uri)} has files already that are no copies of this source, among them"
                f" {others[0]}; clone into another folder"
            )
        sizes = {name: status.size for name, status in zip(names, before, strict=True) if status is not None}
        missing = [
            name
            for name, status in zip(names, present, strict=True)
            if status is None or status.size != sizes[name]
        ]
        if not known:
            begin()
        self._copy(missing, sizes, threads, progress)

    def _copy(
        self, names: Sequence[str], sizes: Mapping[str, int], threads: int, progress: Progress | None
    ) -> None:
        done, total = 0, sum(sizes[name] for name in names)
        calls = [_Copy(self.source, self.target, self.names[name], name, sizes[name]).run for name in names]
        limits = TaskLimits(threads, "deltaarrow-clone", [sizes[name] for name in names])
        with contextlib.closing(executor_in_use().run(calls, limits)) as results:
            for _, size in results:
                done += size
                if progress is not None:
                    progress(done, total)


@dataclass(frozen=True)
class _Copy:
    """Copies one file; picklable.

    Args:
        source: the storage of the source.
        target: that of the clone.
        path: the name of the file in the source.
        name: its name in the clone. There was no such file before.
        size: its size in bytes.
    """

    source: Store
    target: Store
    path: str
    name: str
    size: int

    def run(self) -> int:
        """Copy the file, and return its size. The copy appears when it is complete."""
        try:
            self._copy()
        except FileExistsError:
            # Another attempt of the same task was quicker.
            if self.target.size(self.name) != self.size:
                raise
        return self.size

    def _copy(self) -> None:
        copied = 0
        filesystem = self.source.arrow_filesystem()
        with (
            expecting_file(self.path, self.source.uri),
            self.source.reaching(),
            filesystem.open_input_stream(self.source.arrow_path(self.path)) as given,
            self.target.open_output(self.name) as output,
        ):
            while data := given.read_buffer(_BYTES_AT_ONCE):
                output.write(data)
                copied += len(data)
            if copied != self.size:
                raise StorageError(
                    f"{self.path} has changed while it was copied: {copied} bytes, not {self.size}"
                )


def _is_absolute(name: str) -> bool:
    return name.startswith("/") or scheme_of(name) is not None


# --- the note ---------------------------------------------------------------------------------------


def is_noted(target: Store, source: Snapshot) -> bool:
    """Whether files of the source that are in the folder of the clone are copies of them."""
    try:
        return bool(orjson.loads(target.read(_NOTE)) == _note(source))
    except (FileNotFoundError, ValueError):
        return False


def note_source(target: Store, source: Snapshot) -> None:
    """Note whose files will be copied."""
    target.write(_NOTE, orjson.dumps(_note(source)) + b"\n")


def _note(source: Snapshot) -> dict[str, str]:
    return {"source": redacted(source.store.uri), "tableId": source.metadata.id}
