"""Choice of the `Store` for the location of a table."""

import os
import re
from collections.abc import Mapping
from typing import Any

from deltaarrow.errors import StorageError
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.storage.local import LocalStore
from deltaarrow.storage.paths import decode_path, scheme_of
from deltaarrow.storage.store import Store

__all__ = ["open_store"]

_lazily = lazy_attributes(
    __name__,
    {
        "FsspecStore": "deltaarrow.storage.fsspec_store",
        "locked_store": "deltaarrow.storage.commit_lock.locked_store",
    },
)
"""What a local table does without."""

_ONE_SLASH = re.compile(r"([A-Za-z][A-Za-z0-9+.\-:]+):[/\\]")
_MAY_LOCK = ("s3", "s3a", "s3n")


def open_store(uri: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None) -> Store:
    """Return the store whose root is `uri`; nothing is read or created.

    `uri` is a local path (relative to the current folder, or to the home folder where a text begins with
    ``~/``), ``file:/p`` or ``file:///p`` (percent-encoded), or any URI of fsspec's: ``memory://x/t``,
    ``s3://bucket/t`` (also ``s3a://``). `storage_options` are passed to the fsspec file system; for S3 they
    may also be deltalake's, such as ``AWS_ACCESS_KEY_ID``.

    Raises `StorageError` for an invalid location, such as ``s3:/bucket/t``, and `MissingDependencyError` with
    the ``pip install`` command if a library is missing.

    >>> open_store("file:///data/my%20table").uri
    '/data/my table'
    >>> open_store("memory://x/t").can_put_if_absent
    True
    """
    text = os.fspath(uri) if isinstance(uri, str | os.PathLike) else None
    if isinstance(uri, os.PathLike) and scheme_of(str(uri)):
        text = str(uri)  # An object that names a URI; its fspath may be a local copy.
    if not isinstance(text, str):
        raise TypeError(
            f"the place of a table must be text or a path, not {type(uri).__name__}; it comes first, as in"
            " DeltaTable(path) and write_deltalake(path, data)"
        )
    if not isinstance(storage_options, Mapping | None):
        raise TypeError(
            f"storage_options must be a dict of names and values, not {type(storage_options).__name__}"
        )
    if text.startswith("file:/"):
        path = decode_path(text.replace("file://localhost/", "file:///", 1))
        if not path.startswith("/"):
            raise StorageError(f"{text!r} is on another machine; use file:///path, or mount the folder")
        return LocalStore(path, storage_options)
    if scheme_of(text) is None and (isinstance(uri, os.PathLike) or "::" not in text):
        _ensure_two_slashes(text)
        is_at_home = isinstance(uri, str) and text.startswith("~/")
        return LocalStore(_at_home(text) if is_at_home else text, storage_options)
    is_on_s3 = (scheme_of(text) or "").lower() in _MAY_LOCK
    store: Store | None = _lazily("locked_store")(text, storage_options) if is_on_s3 else None
    return store or _lazily("FsspecStore")(text, storage_options)


def _ensure_two_slashes(text: str) -> None:
    """Refuse ``s3:/bucket/t``, which would be a folder named ``s3:``; one letter is a drive of Windows."""
    match = _ONE_SLASH.match(text)
    if match is None:
        return
    scheme, rest = match[1], text[match.end() :].replace("\\", "/")
    other = f", or '/dbfs/{rest}' where Databricks mounts it" if scheme.lower() == "dbfs" else ""
    raise StorageError(
        f"the location has one slash after {scheme + ':'!r}; write {scheme + '://' + rest!r} as a string"
        f"{other}"
        " (pathlib.Path drops the second slash), or an absolute path for a local folder of that name"
    )


def _at_home(text: str) -> str:
    from pathlib import Path  # Few locations need it.

    return str(Path(text).expanduser())
