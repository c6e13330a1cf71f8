"""`peek`: the files and folders at a path and around it, from a short listing, for error messages."""

import contextlib
import itertools
import os
from dataclasses import dataclass

from deltaarrow.errors import DeltaError
from deltaarrow.storage.registry import open_store
from deltaarrow.storage.store import Store

__all__ = ["Surroundings", "peek", "store_above"]

_MOST = 1000


@dataclass(frozen=True)
class Surroundings:
    """The first names at a place.

    `is_file` and `is_absent` tell of the place itself; `problem` is what the store says where the bucket or
    the container is not there.
    """

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    is_file: bool = False
    is_absent: bool = False
    problem: str = ""


def peek(store: Store, folder: str = "") -> Surroundings | None:
    """Return the first names in a folder of a store; None if the store cannot tell.

    One request at most, for at most 1,000 names: the folder may be large.
    """
    try:
        if store.is_local:
            return _peek_local(store.location(folder))
        with store.reaching():
            return _peek_remote(store, folder)
    except FileNotFoundError as error:
        return Surroundings(is_absent=True, problem=str(error) if _lacks_bucket(error) else "")
    except (DeltaError, OSError):
        return None


def store_above(store: Store) -> Store | None:
    """Return the store of the folder above a store's root; None at the top, and for HTTP."""
    above, _, last = store.uri.rpartition("/")
    if not last or above.endswith(":/") or store.uri.startswith(("http://", "https://")):
        return None
    with contextlib.suppress(DeltaError):
        return open_store(above or "/", store.storage_options)
    return None


def _peek_local(path: str) -> Surroundings:
    files: list[str] = []
    folders: list[str] = []
    try:
        with os.scandir(path) as entries:
            for entry in itertools.islice(entries, _MOST):
                (folders if entry.is_dir() else files).append(entry.name)
    except NotADirectoryError:
        is_there = os.path.lexists(path)  # or the path goes on behind a file
        return Surroundings(is_file=is_there, is_absent=not is_there)
    return Surroundings(tuple(sorted(files)), tuple(sorted(folders)))


def _peek_remote(store: Store, folder: str) -> Surroundings:
    filesystem, path = store.fsspec_filesystem(), store.arrow_path(folder).rstrip("/")
    if filesystem is None:
        return Surroundings()
    if "s3" in (protocol := filesystem.protocol) or protocol == "s3":
        bucket, key, _ = filesystem.split_path(path)
        prefix = f"{key}/" if key else ""
        request = {"Bucket": bucket, "Prefix": prefix, "Delimiter": "/", "MaxKeys": _MOST}
        page = filesystem.call_s3("list_objects_v2", **request, **filesystem.req_kw)
        files = [each["Key"].removeprefix(prefix) for each in page.get("Contents", ())]
        folders = [each["Prefix"].removeprefix(prefix) for each in page.get("CommonPrefixes", ())]
    else:
        found = filesystem.ls(path, detail=True)
        if [each["name"].rstrip("/") for each in found if each["type"] == "file"] == [path]:
            return Surroundings(is_file=True)
        files = [each["name"].rpartition("/")[2] for each in found if each["type"] == "file"]
        folders = [each["name"].rstrip("/").rpartition("/")[2] for each in found if each["type"] != "file"]
    names = sorted(each for each in files if each), sorted(each.rstrip("/") for each in folders)
    return Surroundings(tuple(names[0]), tuple(names[1]), is_absent=not (names[0] or names[1]))


def _lacks_bucket(error: FileNotFoundError) -> bool:
    return "bucket" in str(error).lower()
