"""Names of the files in ``_delta_log``, chapter "File Types" of the protocol.

======================================================================  ===========================
name                                                                    kind
======================================================================  ===========================
``00000000000000000010.json``                                           `COMMIT`
``_staged_commits/00000000000000000010.3a0d65cd-4056-….json``           `COMMIT`, if ratified
``00000000000000000004.00000000000000000006.compacted.json``            `COMPACTION`
``00000000000000000010.checkpoint.parquet``                             `CLASSIC_CHECKPOINT`
``00000000000000000010.checkpoint.0000000001.0000000003.parquet``       `MULTI_PART_CHECKPOINT`
``00000000000000000010.checkpoint.80a083e8-7026-….parquet`` (``.json``)  `UUID_CHECKPOINT`
``00000000000000000010.crc``                                            `VERSION_CHECKSUM`
``_last_checkpoint``, ``_last_vacuum_info``, ``_sidecars/…``, ``.…crc``  not a log file: None
anything else                                                           not a log file: None
======================================================================  ===========================
"""

import re
from enum import Enum, auto
from typing import NamedTuple

from deltaarrow.storage import FileEntry

__all__ = [
    "LAST_CHECKPOINT",
    "LAST_VACUUM_INFO",
    "LOG_FOLDER",
    "SIDECAR_FOLDER",
    "STAGED_FOLDER",
    "LogFile",
    "LogFileKind",
    "checkpoint_name",
    "checksum_name",
    "commit_name",
    "compaction_name",
    "has_unique_name",
    "parse_log_file",
    "sidecar_name",
    "staged_name",
    "staged_version",
    "unique_checkpoint_name",
    "version_prefix",
]

LOG_FOLDER = "_delta_log"
SIDECAR_FOLDER = f"{LOG_FOLDER}/_sidecars"
STAGED_FOLDER = f"{LOG_FOLDER}/_staged_commits"
LAST_CHECKPOINT = f"{LOG_FOLDER}/_last_checkpoint"
LAST_VACUUM_INFO = f"{LOG_FOLDER}/_last_vacuum_info"


class LogFileKind(Enum):
    """The kind of a log file."""

    COMMIT = auto()
    COMPACTION = auto()
    CLASSIC_CHECKPOINT = auto()
    MULTI_PART_CHECKPOINT = auto()
    UUID_CHECKPOINT = auto()
    VERSION_CHECKSUM = auto()


_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_PATTERNS = {
    LogFileKind.COMPACTION: r"(?P<start>\d{20})\.(?P<version>\d{20})\.compacted\.json",
    LogFileKind.CLASSIC_CHECKPOINT: r"(?P<version>\d{20})\.checkpoint\.parquet",
    LogFileKind.MULTI_PART_CHECKPOINT: (
        r"(?P<version>\d{20})\.checkpoint\.(?P<part>\d{10})\.(?P<parts>\d{10})\.parquet"
    ),
    LogFileKind.UUID_CHECKPOINT: rf"(?P<version>\d{{20}})\.checkpoint\.(?P<uuid>{_UUID})\.(?:json|parquet)",
}
_COMPILED = {kind: re.compile(pattern) for kind, pattern in _PATTERNS.items()}
_OF_EVERY_VERSION = re.compile(r"(?P<version>\d{20})\.(?P<suffix>json|crc)")
_KINDS_OF_EVERY_VERSION = {"json": LogFileKind.COMMIT, "crc": LogFileKind.VERSION_CHECKSUM}
_STAGED = re.compile(rf"(?P<version>\d{{20}})\.{_UUID}\.json")


class LogFile(NamedTuple):
    """A file of the log; `version` is the newest version that it covers.

    `start_version` is the oldest version that it covers; it differs from `version` for a log compaction
    only. `part` and `parts` count from 1; both are 0 unless the file is a part of a multi-part checkpoint.
    """

    kind: LogFileKind
    version: int
    entry: FileEntry
    start_version: int
    part: int = 0
    parts: int = 0

    @property
    def name(self) -> str:
        """Return the store name, for instance ``_delta_log/00000000000000000010.json``."""
        return self.entry.name

    @property
    def is_checkpoint(self) -> bool:
        """Whether the file is a checkpoint or a part of one."""
        return self.kind in (
            LogFileKind.CLASSIC_CHECKPOINT,
            LogFileKind.MULTI_PART_CHECKPOINT,
            LogFileKind.UUID_CHECKPOINT,
        )


def parse_log_file(entry: FileEntry) -> LogFile | None:
    """Parse the name of a listed file; None when the file is not part of the log.

    >>> file = parse_log_file(FileEntry("_delta_log/00000000000000000010.checkpoint.parquet", 1, 0))
    >>> file.kind.name, file.version
    ('CLASSIC_CHECKPOINT', 10)
    >>> parse_log_file(FileEntry("_delta_log/_last_checkpoint", 1, 0)) is None
    True
    """
    folder, _, base = entry.name.rpartition("/")
    if folder == STAGED_FOLDER:
        version = staged_version(base)
        return None if version is None else LogFile(LogFileKind.COMMIT, version, entry, version)
    if match := _OF_EVERY_VERSION.fullmatch(base):
        version = int(match["version"])
        return LogFile(_KINDS_OF_EVERY_VERSION[match["suffix"]], version, entry, version)
    for kind, pattern in _COMPILED.items():
        if match := pattern.fullmatch(base):
            groups = match.groupdict()
            version = int(groups["version"])
            return LogFile(
                kind=kind,
                version=version,
                entry=entry,
                start_version=int(groups.get("start") or version),
                part=int(groups.get("part") or 0),
                parts=int(groups.get("parts") or 0),
            )
    return None


def staged_version(base_name: str) -> int | None:
    """Return the version of a file in ``_staged_commits``; None for any other name.

    >>> staged_version("00000000000000000010.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json")
    10
    """
    match = _STAGED.fullmatch(base_name)
    return None if match is None else int(match["version"])


def staged_name(version: int, unique: str) -> str:
    """Return the store name of a staged commit; `unique` is a UUID.

    >>> staged_name(10, "3a0d65cd-4056-49b8-937b-95f9e3ee90e5")
    '_delta_log/_staged_commits/00000000000000000010.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json'
    """
    return f"{STAGED_FOLDER}/{version_prefix(version)}.{unique}.json"


def version_prefix(version: int) -> str:
    """Return the first 20 characters of every log file of `version`.

    >>> version_prefix(12)
    '00000000000000000012'
    """
    return f"{version:020d}"


def has_unique_name(name: str) -> bool:
    """Whether a file of this name is written only once: a sidecar or a checkpoint with a UUID in its name.

    >>> has_unique_name("_delta_log/00000000000000000010.checkpoint.parquet")
    False
    """
    folder, _, base = name.rpartition("/")
    return folder == SIDECAR_FOLDER or _COMPILED[LogFileKind.UUID_CHECKPOINT].fullmatch(base) is not None


def commit_name(version: int) -> str:
    """Return the store name of a commit.

    >>> commit_name(3)
    '_delta_log/00000000000000000003.json'
    """
    return f"{LOG_FOLDER}/{version_prefix(version)}.json"


def checkpoint_name(version: int) -> str:
    """Return the store name of a classic checkpoint."""
    return f"{LOG_FOLDER}/{version_prefix(version)}.checkpoint.parquet"


def unique_checkpoint_name(version: int, unique: str, suffix: str) -> str:
    """Return the store name of a V2 checkpoint; `unique` is a UUID, `suffix` ``parquet`` or ``json``."""
    return f"{LOG_FOLDER}/{version_prefix(version)}.checkpoint.{unique}.{suffix}"


def sidecar_name(version: int, unique: str) -> str:
    """Return the name of a sidecar within `SIDECAR_FOLDER`."""
    return f"{version_prefix(version)}.checkpoint.{unique}.parquet"


def compaction_name(first: int, last: int) -> str:
    """Return the store name of a log compaction.

    >>> compaction_name(4, 6)
    '_delta_log/00000000000000000004.00000000000000000006.compacted.json'
    """
    return f"{LOG_FOLDER}/{version_prefix(first)}.{version_prefix(last)}.compacted.json"


def checksum_name(version: int) -> str:
    """Return the store name of a version checksum."""
    return f"{LOG_FOLDER}/{version_prefix(version)}.crc"
