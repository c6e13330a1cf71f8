"""fsspec's in-memory file system, made safe for concurrent readers and writers.

It is the process's one `fsspec.filesystem("memory")`, with two differences: every opened file has its
own position (fsspec hands the same object to all readers), and put-if-absent is atomic.
"""

import functools
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import fsspec

__all__ = ["memory_filesystem", "put_in_memory"]


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


def put_in_memory(filesystem: "fsspec.AbstractFileSystem", path: str, data: bytes) -> None:
    """Create `path` with `data`; `FileExistsError` if it exists."""
    from fsspec.implementations.memory import MemoryFile

    file = MemoryFile(filesystem, path, data)
    # setdefault is atomic between threads; fsspec's mode="create" checks first and then writes.
    if filesystem.store.setdefault(path, file) is not file:
        raise FileExistsError(path)
