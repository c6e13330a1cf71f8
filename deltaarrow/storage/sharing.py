"""Files of a shared table (Delta Sharing), read from signed addresses."""

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from deltaarrow.errors import StorageError
from deltaarrow.storage.service import Service

if TYPE_CHECKING:
    import fsspec

__all__ = ["SCHEME", "SharedFiles", "SharingService", "shared_filesystem"]

SCHEME = "deltasharing"


class SharedFiles(Protocol):
    """The files of a shared table by name; reading raises `StorageError`, or `FileNotFoundError`."""

    uri: str
    """The root: ``deltasharing://host/share/schema/table``."""

    def size(self, name: str) -> int:
        """Return the size of a file in bytes."""

    def read_range(self, name: str, begin: int, end: int | None) -> bytes:
        """Return the bytes from `begin` to `end`, or to the end of the file; fewer if the file is shorter."""


class SharingService(Service):
    """The requests for files of shared tables, which are only read."""

    schemes = (SCHEME,)
    reads_ranges = True

    def open(self, uri: str, storage_options: Mapping[str, Any]) -> "fsspec.AbstractFileSystem":
        """Refuse: the location does not contain the server that signs addresses."""
        raise StorageError(
            f"cannot open {uri!r} by location: open it by name with DeltaTable and a DeltaSharingCatalog"
        )


def shared_filesystem(files: SharedFiles) -> "fsspec.AbstractFileSystem":
    """Return an fsspec file system for the files of a shared table."""
    return _filesystem_class()(files)


@functools.cache
def _filesystem_class() -> Any:
    from fsspec import AbstractFileSystem

    class SharedFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
        protocol = SCHEME
        cachable = False

        def __init__(self, files: SharedFiles) -> None:
            super().__init__()
            self._files = files
            self._root = files.uri.partition("://")[2] + "/"

        def _name(self, path: str) -> str:
            inside = str(self._strip_protocol(path))
            if not inside.startswith(self._root):
                raise FileNotFoundError(path)
            return inside.removeprefix(self._root)

        def info(self, path: str, **_options: Any) -> dict[str, Any]:
            name = self._name(path)
            return {"name": path, "size": self._files.size(name), "type": "file", "etag": name}

        def ls(self, path: str, detail: bool = True, **_options: Any) -> list[Any]:
            info = self.info(path)
            return [info if detail else info["name"]]

        def cat_file(
            self, path: str, start: int | None = None, end: int | None = None, **_options: Any
        ) -> bytes:
            return self._files.read_range(self._name(path), start or 0, end)

        def _open(self, path: str, mode: str = "rb", **_options: Any) -> Any:
            import io

            return io.BytesIO(self.cat_file(path))

        def unstrip_protocol(self, name: str) -> str:
            """Return ``deltasharing://host/...``, as `Store.location` does."""
            return f"{SCHEME}://{self._strip_protocol(name)}"

        def __reduce__(self) -> tuple[Any, ...]:
            return shared_filesystem, (self._files,)

    return SharedFileSystem
