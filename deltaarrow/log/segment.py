"""Which files of the log make a version: chapters "Checkpoints" and "Log Compaction Files".

Selecting is pure: it looks at a listing and reads nothing. The rules, each with a test of its name:

1. The newest complete checkpoint that is not after the wanted version begins the segment.
2. A multi-part checkpoint counts only when every one of its parts is listed.
3. Every version after the checkpoint is covered by its commit or by a log compaction, without gaps.
4. A log compaction stands in for the commits it covers when it neither begins nor ends outside.
5. A log without a checkpoint begins with the commit of version 0.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deltaarrow.errors import CorruptLogError, TableNotFoundError, VersionNotFoundError
from deltaarrow.log.names import LogFile, LogFileKind

__all__ = ["Checkpoint", "LogSegment", "complete_checkpoints", "select_segment"]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A complete checkpoint: one file, or all the parts of a multi-part one in order."""

    version: int
    files: tuple[LogFile, ...]

    @property
    def kind(self) -> LogFileKind:
        """Return the kind of its files."""
        return self.files[0].kind


@dataclass(frozen=True, slots=True)
class LogSegment:
    """The files that, replayed, give the table at `version`.

    `deltas` are commits and log compactions in ascending order; `last_commit` is the commit file of
    `version`, absent in a log that consists of a checkpoint alone.
    """

    version: int
    checkpoint: Checkpoint | None
    deltas: tuple[LogFile, ...]
    last_commit: LogFile | None


_PREFERENCE = (
    LogFileKind.MULTI_PART_CHECKPOINT,
    LogFileKind.CLASSIC_CHECKPOINT,
    LogFileKind.UUID_CHECKPOINT,
)


def complete_checkpoints(files: Iterable[LogFile]) -> list[Checkpoint]:
    """Return every complete checkpoint of a listing, in ascending order of version.

    Among several of one version the V2 one comes last, since it needs the least work to read.
    """
    found: list[Checkpoint] = []
    parts: dict[tuple[int, int], dict[int, LogFile]] = {}
    for file in files:
        if file.kind is LogFileKind.MULTI_PART_CHECKPOINT:
            parts.setdefault((file.version, file.parts), {})[file.part] = file
        elif file.is_checkpoint:
            found.append(Checkpoint(file.version, (file,)))
    for (version, count), by_part in parts.items():
        if count > 0 and sorted(by_part) == list(range(1, count + 1)):
            found.append(Checkpoint(version, tuple(by_part[part] for part in range(1, count + 1))))
    return sorted(found, key=lambda c: (c.version, _PREFERENCE.index(c.kind), c.files[0].name))


def _cover(
    first: int, last: int, commits: dict[int, LogFile], compactions: Sequence[LogFile]
) -> tuple[LogFile, ...]:
    """Cover the versions `first` to `last` with as few files as greed finds; refuse a gap."""
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


def select_segment(files: Sequence[LogFile], version: int | None = None) -> LogSegment:
    """Choose the files that make `version`, or the newest version when it is None.

    `files` may begin anywhere, as long as what the version needs is among them.

    Raises `TableNotFoundError` when there is neither a commit nor a checkpoint,
    `VersionNotFoundError` when the version is not reachable and `CorruptLogError` at a gap.
    """
    commits = {file.version: file for file in files if file.kind is LogFileKind.COMMIT}
    compactions = [file for file in files if file.kind is LogFileKind.COMPACTION]
    checkpoints = complete_checkpoints(files)
    if not commits and not checkpoints:
        raise TableNotFoundError("the Delta log holds neither a commit nor a complete checkpoint")
    newest = max([*commits, *(c.version for c in checkpoints)])
    wanted = newest if version is None else version
    if wanted > newest or wanted < 0:
        raise VersionNotFoundError(
            f"version {wanted} does not exist: the newest version of the table is {newest}"
        )
    usable = [c for c in checkpoints if c.version <= wanted]
    if not usable:
        if 0 not in commits:
            oldest = min([*(c.version for c in checkpoints), *commits])
            if checkpoints and version is not None:
                raise VersionNotFoundError(
                    f"version {wanted} can no longer be read: the log reaches back to"
                    f" version {checkpoints[0].version} only"
                )
            raise CorruptLogError(
                f"the log has a gap: it begins with version {oldest} and has no checkpoint before it"
            )
        return LogSegment(wanted, None, _cover(0, wanted, commits, compactions), commits.get(wanted))
    checkpoint = usable[-1]
    deltas = _cover(checkpoint.version + 1, wanted, commits, compactions)
    return LogSegment(wanted, checkpoint, deltas, commits.get(wanted))
