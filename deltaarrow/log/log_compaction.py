"""Log compactions: chapter "Log Compaction Files" of the protocol.

A compaction replaces the commits of a range of versions by their reconciled actions, including removed files
and removed domains, which hide older ones. `commitInfo` and change files are only in the commits, so a commit
stays after it is compacted.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from deltaarrow.actions import Action, render_action
from deltaarrow.errors import UnsupportedFeatureError, VersionNotFoundError
from deltaarrow.log.commits import read_commits
from deltaarrow.log.file_names import LogFile, LogFileKind, compaction_name
from deltaarrow.log.listing import list_log
from deltaarrow.log.tail import LogTail
from deltaarrow.storage import Store

__all__ = ["compact_logs"]

_RECONCILED = frozenset({"add", "remove", "txn", "domainMetadata", "protocol", "metaData"})
_LEFT_OUT = frozenset({"commitInfo", "cdc"})


def compact_logs(store: Store, first: int, last: int) -> str:
    """Write the compaction of the versions `first` to `last`, both included; return its store name.

    An existing compaction of these versions has the same content and is kept.

    Raises `ValueError` for fewer than two versions, `VersionNotFoundError` when the log lacks the commit of
    one, and `UnsupportedFeatureError` for an action that this release does not know.
    """
    if not 0 <= first < last:
        raise ValueError(f"a log compaction needs two versions or more, not {first} to {last}")
    name = compaction_name(first, last)
    data = _render(_reconcile(store, _commits(store, first, last)))
    with contextlib.suppress(FileExistsError):
        store.put_if_absent(name, data)
    return name


def _commits(store: Store, first: int, last: int) -> Sequence[LogFile]:
    commits = {f.version: f for f in list_log(store, first) if f.kind is LogFileKind.COMMIT}
    missing = next((version for version in range(first, last + 1) if version not in commits), None)
    if missing is not None:
        raise VersionNotFoundError(
            f"the log of {store.uri} has no commit of version {missing}, so it cannot be compacted"
        )
    return [commits[version] for version in range(first, last + 1)]


def _reconcile(store: Store, commits: Sequence[LogFile]) -> LogTail:
    tail = LogTail()
    contents = read_commits(store, [commit.name for commit in commits])
    for commit, actions in zip(reversed(commits), reversed(contents), strict=True):
        unknown = {key for action in actions for key in action} - _RECONCILED - _LEFT_OUT
        if unknown:
            names = ", ".join(sorted(unknown))
            raise UnsupportedFeatureError(
                f"{commit.name} cannot be compacted: this release does not know the action {names}",
                feature=names,
            )
        tail.take_older(commit.name, actions[::-1])
    return tail


def _render(tail: LogTail) -> bytes:
    return b"".join(orjson.dumps(action) + b"\n" for action in _actions(tail))


def _actions(tail: LogTail) -> Iterator[Mapping[str, Any]]:
    head: list[Action | None] = [tail.protocol, tail.metadata]
    head += [*tail.transactions.values(), *tail.domains.values()]
    yield from (render_action(action) for action in head if action is not None)
    # As in the commits, with the fields that this release does not know.
    yield from ({"remove": remove} for remove in tail.removes.values())
    yield from ({"add": add} for add in reversed(tail.adds.values()))
