"""fsspec's in-memory file system, made safe for concurrent readers and writers.

It is the process's one `fsspec.filesystem("memory")`, with two differences: every opened file has its
own position (fsspec hands the same object to all readers), and put-if-absent is atomic.
"""

import functools
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deltaarrow.storage.service import OutputStore, Service
from deltaarrow.storage.store import Output

if TYPE_CHECKING:
    import fsspec

__all__ = ["MemoryService", "memory_filesystem"]


class MemoryService(Service):
    """The memory of the process, by fsspec."""

    schemes = ("memory",)
    is_safe = True

    def normalised(self, uri: str, storage_options: Mapping[str, Any]) -> str:
        """Return ``memory://x/t``."""
        return f"memory://{uri.partition('://')[2].strip('/')}"

    def authority(self, uri: str) -> str:
        """Return nothing: there is one memory."""
        return ""

    def open(self, uri: str, storage_options: Mapping[str, Any]) -> "fsspec.AbstractFileSystem":
        """Return the one file system; options have no effect."""
        return memory_filesystem()

    def find(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> Iterator[Mapping[str, Any]]:
        """Yield all files below a folder, from one listing."""
        yield from filesystem.find(path, detail=True).values()

    def put_if_absent(self, filesystem: "fsspec.AbstractFileSystem", path: str, data: bytes) -> None:
        """Create the file, or raise `FileExistsError`."""
        _put(filesystem, path, data)

    def delete_all(self, filesystem: "fsspec.AbstractFileSystem", paths: Sequence[str]) -> dict[str, str]:
        """Delete files."""
        for path in paths:
            if filesystem.exists(path):
                filesystem.rm_file(path)
        return {}

    def open_output(self, filesystem: "fsspec.AbstractFileSystem", path: str, store: OutputStore) -> Output:
        """Return a stream that becomes a new file."""
        return _MemoryOutput(filesystem, path)


class _MemoryOutput(Output):
    """Bytes that are put under their name when the output ends."""

    def __init__(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> None:
        self._buffer = io.BytesIO()
        self._filesystem, self._path = filesystem, path
        super().__init__(self._buffer)

    def _publish(self) -> None:
        _put(self._filesystem, self._path, self._buffer.getvalue())

    def _abandon(self) -> None:
        self._buffer.close()


@functools.cache
def memory_filesystem() -> "fsspec.AbstractFileSystem":
    """Return the file system behind ``memory://``."""
    from fsspec.implementations.memory import MemoryFileSystem

    class SharedMemoryFileSystem(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
        def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
            if mode != "rb":
                return super()._open(path, mode, **options)
            file = self.store.get(self._strip_protocol(path))
            if file is None:
                raise FileNotFoundError(path)
            return io.BytesIO(file.getvalue())  # shares the bytes, not the position

        def unstrip_protocol(self, name: str) -> str:
            """Return ``memory://x/f``, as `Store.location` does."""
            return "memory://" + str(self._strip_protocol(name)).lstrip("/")

        def __reduce__(self) -> tuple[Any, ...]:
            return memory_filesystem, ()

    return SharedMemoryFileSystem()


def _put(filesystem: "fsspec.AbstractFileSystem", path: str, data: bytes) -> None:
    """Create `path` with `data`; `FileExistsError` if it exists."""
    from fsspec.implementations.memory import MemoryFile

    file = MemoryFile(filesystem, path, data)
    # setdefault is atomic between threads; fsspec's mode="create" checks first and then writes.
    if filesystem.store.setdefault(path, file) is not file:
        raise FileExistsError(path)
