"""`SourceFiles`: the files of a folder for COPY INTO, and the record of copied files in a table.

A table remembers a file by a transaction identifier (`txn`) whose application is named after the file. It is
committed with the rows, so a file is copied once, whatever stops when; of two statements that copy one file
at the same time, one is refused. Every reader knows `txn` actions, and checkpoints keep them. They expire
if the table sets ``delta.setTransactionRetentionDuration``.
"""

import hashlib
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deltaarrow.display.redaction import redacted
from deltaarrow.errors import StorageError, UnsupportedFeatureError
from deltaarrow.log import LOG_FOLDER
from deltaarrow.operations.convert import is_hidden
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store, open_store
from deltaarrow.transaction import OptimisticTransaction

__all__ = ["SourceFiles", "name_pattern"]

_APPLICATION = "copyInto:"
_RECURSIVE = "recursivefilelookup"


@dataclass(frozen=True)
class SourceFiles:
    """Files of a store, by their names."""

    store: Store
    names: Sequence[str]

    @classmethod
    def find(
        cls,
        source: str,
        storage_options: Mapping[str, Any] | None,
        *,
        files: Sequence[str] | None = None,
        pattern: str | None = None,
        is_recursive: bool = False,
    ) -> "SourceFiles":
        """List a folder, or one file.

        Hidden files are left out, whose names begin as for `is_hidden`.

        Args:
            source: the path or URI.
            storage_options: what reaches the place.
            files: names relative to the folder; None for all.
            pattern: what names relative to the folder have to match, as for `name_pattern`.
            is_recursive: whether files in folders below are meant that neither `files` nor `pattern` name.

        Raises `StorageError` for a place or a name without a file, and `UnsupportedFeatureError` for a folder
        that is a Delta table or is divided into partitions.
        """
        store = open_store(source, storage_options)
        listed = sorted(entry.name for entry in store.list_recursive())
        if not listed:
            folder, slash, base = source.rstrip("/").rpartition("/")
            store = open_store(folder or slash or ".", storage_options)
            if not store.exists(base):
                raise _not_found(f"there are no files in {redacted(source)}, or it does not exist")
            return cls(store, [base])
        names = [name for name in listed if not any(map(is_hidden, name.split("/")))]
        if any(name.startswith(f"{LOG_FOLDER}/") for name in listed):
            raise UnsupportedFeatureError(
                f"{redacted(source)} is a Delta table, whose log decides which of its"
                " files count: use INSERT INTO ... SELECT * FROM delta.`path`",
                feature="COPY INTO from a Delta table",
            )
        if files is not None:
            if missing := [name for name in files if name not in set(names)]:
                raise _not_found(f"{missing[0]!r} is no file in {redacted(source)}")
            return cls(store, list(dict.fromkeys(files)))
        if pattern is not None:
            matches = name_pattern(pattern).fullmatch
            return cls(store, [name for name in names if matches(name)])
        if is_recursive:
            return cls(store, names)
        _ensure_no_partitions(source, names)
        return cls(store, [name for name in names if "/" not in name])

    def only(self, names: Sequence[str]) -> "SourceFiles":
        """Return some of the files."""
        return SourceFiles(self.store, names)

    def new_to(self, table: Snapshot) -> "SourceFiles":
        """Return the files that have not been copied into a table."""
        known = table.transactions
        return self.only([name for name in self.names if self._application(name) not in known])

    def remember(self, transaction: OptimisticTransaction) -> None:
        """Record in a transaction that it copies the files, in the number of times that each is copied."""
        for name in self.names:
            application = self._application(name)
            before = transaction.application_version(application)
            transaction.set_application(application, 0 if before is None else before + 1)

    @property
    def locations(self) -> list[str]:
        """The absolute names of the files."""
        return [self.store.location(name) for name in self.names]

    def _application(self, name: str) -> str:
        # A digest, because a location may be long and is nobody's business who can read the table.
        return _APPLICATION + hashlib.sha256(self.store.location(name).encode()).hexdigest()[:32]


def name_pattern(pattern: str) -> re.Pattern[str]:
    r"""Return the regular expression of a pattern as Hadoop has them.

    ``*`` and ``?`` stand for characters other than a slash, ``[a-c]`` and ``[^a]`` for one of a set,
    ``{a,b}`` for one of several texts, and a backslash takes the meaning from the next character.

    Raises `UnsupportedFeatureError` for brackets that are not closed.

    >>> matches = name_pattern("day=*/f_[a-c]{1,2}.csv").fullmatch
    >>> [matches(each) is not None for each in ("day=1/f_b2.csv", "day=1/x/f_b2.csv", "f_b2.csv")]
    [True, False, False]
    """
    found, depth, place = "", 0, 0
    while place < len(pattern):
        character, place = pattern[place], place + 1
        if character == "*":
            found += "[^/]*"
        elif character == "?":
            found += "[^/]"
        elif character == "{":
            found, depth = f"{found}(?:", depth + 1
        elif character == "}" and depth:
            found, depth = f"{found})", depth - 1
        elif character == "," and depth:
            found += "|"
        elif character == "[" and (end := pattern.find("]", place + 1)) > 0:
            inside = pattern[place:end]
            sign = "^/" if inside[0] in "^!" else ""
            found += f"[{sign}{re.escape(inside[bool(sign) :]).replace(chr(92) + '-', '-')}]"
            place = end + 1
        elif character == "[" or (character == "\\" and place == len(pattern)):
            raise _no_pattern(pattern)
        elif character == "\\":
            found, place = found + re.escape(pattern[place]), place + 1
        else:
            found += re.escape(character)
    if depth:
        raise _no_pattern(pattern)
    try:
        return re.compile(found, re.DOTALL)
    except re.error as error:
        raise _no_pattern(pattern) from error


def _no_pattern(pattern: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"{pattern!r} is no pattern of file names: close its brackets, or put a backslash before them",
        feature="PATTERN",
    )


def _not_found(why: str) -> StorageError:
    return StorageError(f"[PATH_NOT_FOUND] {why}")


def _ensure_no_partitions(source: str, names: Sequence[str]) -> None:
    for name in names:
        folder = posixpath.dirname(name)
        if "=" in folder:
            raise UnsupportedFeatureError(
                f"{redacted(source)} is divided into partitions ({folder}), and values in names of folders"
                " are not read: copy one folder, or say recursiveFileLookup if the files have all columns",
                feature="COPY INTO from partitions",
            )
