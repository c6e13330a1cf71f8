"""fsspec's in-memory file system, made safe for many readers and writers at once.

It is the process's one `fsspec.filesystem("memory")`, with two differences: every opened file has a
position of its own (fsspec hands the same object to all readers), and a file can be put if absent as one
event.
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
    """Create `path` with `data`; `FileExistsError` if it is there."""
    from fsspec.implementations.memory import MemoryFile

    file = MemoryFile(filesystem, path, data)
    # setdefault is one event for all threads; fsspec's mode="create" looks first and then writes.
    if filesystem.store.setdefault(path, file) is not file:
        raise FileExistsError(path)
