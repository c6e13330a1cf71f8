"""Selection of the log files that make a version: chapters "Checkpoints" and "Log Compaction Files".

Selection is pure: it looks at a listing and reads no file. Each rule has a test of its name:

1. The newest complete checkpoint that is not after the wanted version begins the segment.
2. A multi-part checkpoint counts only when all of its parts are listed.
3. Every version after the checkpoint is covered by its commit or by a log compaction, without gaps.
4. A log compaction replaces the commits it covers if its first and last version are in the wanted range.
5. A log without a checkpoint begins with the commit of version 0.
6. A known segment is extended by newer files as long as its own last commit is unchanged.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from deltaarrow.errors import CorruptLogError, TableNotFoundError, VersionNotFoundError
from deltaarrow.log.file_names import LogFile, LogFileKind

__all__ = [
    "LARGE_CHECKPOINT",
    "Checkpoint",
    "LogSegment",
    "complete_checkpoints",
    "extend_segment",
    "select_segment",
]


LARGE_CHECKPOINT = 1 << 20
"""A Parquet checkpoint of this many bytes describes tens of thousands of files and is queried with SQL;
evaluating the files of a smaller one one by one takes no noticeable time."""


class Checkpoint(NamedTuple):
    """A complete checkpoint: one file, or all the parts of a multi-part one in order."""

    version: int
    files: tuple[LogFile, ...]

    @property
    def kind(self) -> LogFileKind:
        """The kind of its files."""
        return self.files[0].kind


@dataclass(frozen=True, slots=True)
class LogSegment:
    """The files whose replay gives the table at `version`.

    `deltas` are commits and log compactions in ascending order; `last_commit` is the commit file of
    `version`, None in a log that consists of a checkpoint alone. `checksum` is the version checksum; it is
    written after its commit, so it does not count when segments are compared.
    """

    version: int
    checkpoint: Checkpoint | None
    deltas: tuple[LogFile, ...]
    last_commit: LogFile | None
    checksum: LogFile | None = field(default=None, compare=False)


_PREFERENCE = (
    LogFileKind.MULTI_PART_CHECKPOINT,
    LogFileKind.CLASSIC_CHECKPOINT,
    LogFileKind.UUID_CHECKPOINT,
)


def complete_checkpoints(files: Iterable[LogFile]) -> list[Checkpoint]:
    """Return every complete checkpoint of a listing, in ascending order of version.

    Among checkpoints of the same version the V2 one comes last, since it is the cheapest to read.
    """
    found: list[Checkpoint] = []
    parts: dict[tuple[int, int], dict[int, LogFile]] = {}
    for file in files:
        if file.kind is LogFileKind.MULTI_PART_CHECKPOINT:
            parts.setdefault((file.version, file.parts), {})[file.part] = file
        elif file.is_checkpoint:
            found.append(Checkpoint(file.version, (file,)))
    for (version, count), by_part in parts.items():
        if len(by_part) == count and min(by_part) == 1 and max(by_part) == count:
            found.append(Checkpoint(version, tuple(by_part[part] for part in range(1, count + 1))))
    return sorted(found, key=lambda c: (c.version, _PREFERENCE.index(c.kind), c.files[0].name))


def _cover(
    first: int, last: int, commits: dict[int, LogFile], compactions: Sequence[LogFile]
) -> tuple[LogFile, ...]:
    """Cover the versions `first` to `last` greedily with few files; raise at a gap."""
    longest: dict[int, LogFile] = {}
    for file in compactions:
        best = longest.get(file.start_version)
        if file.version <= last and (best is None or best.version < file.version):
            longest[file.start_version] = file
    chosen: list[LogFile] = []
    version = first
    while version <= last:
        covering = longest.get(version) or commits.get(version)
        if covering is None:
            raise CorruptLogError(
                f"the log has a gap: version {version} has no commit, and no checkpoint after it"
                f" leads to version {last}"
            )
        chosen.append(covering)
        version = covering.version + 1
    return tuple(chosen)


def _oldest_version(newest: int, commits: Collection[int], checkpoints: Sequence[Checkpoint]) -> int | None:
    """Return the oldest version from which every version up to `newest` can be read; None if none can."""
    first = newest + 1
    while first - 1 in commits:
        first -= 1
    bases = [c.version for c in checkpoints if c.version >= first - 1]
    return 0 if first == 0 else min(bases, default=None)


def _checksum(version: int, files: Iterable[LogFile]) -> LogFile | None:
    return next((f for f in files if f.kind is LogFileKind.VERSION_CHECKSUM and f.version == version), None)


def _lead_to(
    version: int, files: Sequence[LogFile], commits: dict[int, LogFile], checkpoints: Sequence[Checkpoint]
) -> LogSegment:
    """Return the segment of a version; `CorruptLogError` when files are missing."""
    compactions = [file for file in files if file.kind is LogFileKind.COMPACTION]
    checkpoint = next((c for c in reversed(checkpoints) if c.version <= version), None)
    if checkpoint is None and 0 not in commits:
        oldest = min([*(c.version for c in checkpoints), *commits])
        raise CorruptLogError(
            f"the log has a gap: it begins with version {oldest} and has no checkpoint before it"
        )
    first = 0 if checkpoint is None else checkpoint.version + 1
    deltas = _cover(first, version, commits, compactions)
    return LogSegment(version, checkpoint, deltas, commits.get(version), _checksum(version, files))


def select_segment(files: Sequence[LogFile], version: int | None = None) -> LogSegment:
    """Select the files that make `version`, or the newest version when it is None.

    `files` may begin at any version, as long as it includes what the wanted version needs.

    Raises `TableNotFoundError` when there is neither a commit nor a checkpoint, `VersionNotFoundError`,
    naming the oldest and the newest readable version, when the wanted version cannot be read, and
    `CorruptLogError` at a gap.
    """
    commits = {file.version: file for file in files if file.kind is LogFileKind.COMMIT}
    checkpoints = complete_checkpoints(files)
    if not commits and not checkpoints:
        raise TableNotFoundError("the Delta log holds neither a commit nor a complete checkpoint")
    newest = max([*commits, *(c.version for c in checkpoints)])
    if version is None:
        return _lead_to(newest, files, commits, checkpoints)
    oldest = _oldest_version(newest, commits, checkpoints)
    held = f"the log holds the versions {newest if oldest is None else oldest} to {newest}"
    if not 0 <= version <= newest:
        raise VersionNotFoundError(f"version {version} does not exist: {held}")
    try:
        return _lead_to(version, files, commits, checkpoints)
    except CorruptLogError:
        if oldest is None or version >= oldest:
            raise
        raise VersionNotFoundError(f"version {version} can no longer be read: {held}") from None


def extend_segment(segment: LogSegment, files: Sequence[LogFile]) -> LogSegment | None:
    """Extend a segment to the newest version, given a listing that begins with the segment's own version.

    Returns the segment itself when nothing is newer. Returns None when the log has to be listed from its
    beginning: the segment's last commit is not in the listing unchanged (the table was recreated, or the log
    consists of a checkpoint alone), or the newer files have a gap.
    """
    if segment.last_commit not in files:
        return None
    commits = {file.version: file for file in files if file.kind is LogFileKind.COMMIT}
    newest = max([*commits, *(c.version for c in complete_checkpoints(files))])
    if newest == segment.version:
        return segment
    compactions = [file for file in files if file.kind is LogFileKind.COMPACTION]
    try:
        newer = _cover(segment.version + 1, newest, commits, compactions)
    except CorruptLogError:
        return None
    deltas, checksum = segment.deltas + newer, _checksum(newest, files)
    return LogSegment(newest, segment.checkpoint, deltas, commits.get(newest), checksum)
