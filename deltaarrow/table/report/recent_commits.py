"""Bytes of data files that the newest commits wrote and removed, from their actions."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from deltaarrow.log import read_commits
from deltaarrow.snapshot import Snapshot

__all__ = ["CommitBytes", "read_commit_bytes"]

_MOST_COMMITS = 60
_MOST_BYTES = 64 << 20
"""Of commits in the log that are read; a commit may be of any size."""
_WINDOW = 16


class CommitBytes(NamedTuple):
    """What a version wrote and removed, in bytes of data files."""

    version: int
    written: int
    removed: int


def read_commit_bytes(snapshot: Snapshot) -> list[CommitBytes]:
    """Return the newest versions, oldest first, as far as their commits are there and not too large.

    Files that a commit only adds again, for deleted rows, row ids or statistics, count neither way.
    """
    commits = [each for each in snapshot.commit_times().commits if each.version <= snapshot.version]
    chosen, left = [], _MOST_BYTES
    for commit in reversed(commits[-_MOST_COMMITS:]):
        left -= commit.entry.size
        if left < 0:
            break
        chosen.append(commit)
    chosen.reverse()
    found = []
    for start in range(0, len(chosen), _WINDOW):
        window = chosen[start : start + _WINDOW]
        for commit, actions in zip(
            window, read_commits(snapshot.store, [each.name for each in window]), strict=True
        ):
            found.append(CommitBytes(commit.version, *_bytes(actions)))
    return found


def _bytes(actions: Iterable[Mapping[str, Any]]) -> tuple[int, int]:
    sizes: dict[str, dict[str, int]] = {"add": {}, "remove": {}}
    only_again = True
    for action in actions:
        for kind, files in sizes.items():
            body = action.get(kind)
            if isinstance(body, Mapping):
                files[str(body.get("path"))] = _size(body.get("size"))
                only_again &= kind == "add" and body.get("dataChange") is False
    added, removed = sizes["add"], sizes["remove"]
    if only_again:
        return 0, 0
    return (
        sum(size for path, size in added.items() if path not in removed),
        sum(size for path, size in removed.items() if path not in added),
    )


def _size(value: object) -> int:
    is_size = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63
    return value if is_size else 0  # type: ignore[return-value]
