"""Winning commits, made by other writers during a transaction, in the form that conflict rules read."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from deltaarrow.deletion_vectors import DeletionVectorDescriptor
from deltaarrow.log import LogFileKind, commit_name, list_log, parse_commit, read_commits
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.storage import Store, decode_path

__all__ = ["ROW_TRACKING_BACKFILL", "WinningCommit", "WinningCommits"]

ROW_TRACKING_BACKFILL = "ROW TRACKING BACKFILL"
"""The operation that assigns row ids to files of a table: chapter "Row Tracking" of the protocol."""

JsonAction = Mapping[str, Any]
_Vector = DeletionVectorDescriptor | None


@dataclass(frozen=True)
class WinningCommit:
    """One version and the JSON actions of its commit."""

    version: int
    actions: Sequence[JsonAction]

    def bodies(self, key: str) -> list[Mapping[str, Any]]:
        """Return the contents of the actions of one kind, in commit order."""
        return [action[key] for action in self.actions if action.get(key) is not None]

    @cached_property
    def commit_info(self) -> Mapping[str, Any]:
        """The content of `commitInfo`; empty if the commit has none."""
        return next(iter(self.bodies("commitInfo")), {})

    @property
    def in_commit_timestamp(self) -> int | None:
        """The in-commit timestamp of the commit; None if it has none."""
        told = self.commit_info.get("inCommitTimestamp")
        return told if type(told) is int else None

    @property
    def is_blind_append(self) -> bool:
        """Whether the writer declares that it read nothing of the table; unless declared, it may have."""
        return self.commit_info.get("isBlindAppend") is True

    @cached_property
    def is_row_tracking_backfill(self) -> bool:
        """Whether the commit only assigns row ids to existing files."""
        return self.commit_info.get("operation") == ROW_TRACKING_BACKFILL and not any(
            add.get("dataChange", True) for add in self.bodies("add")
        )

    @cached_property
    def only_moves_rows(self) -> bool:
        """Whether the writer declares that the commit leaves the rows of the table as they were."""
        files = [*self.bodies("add"), *self.bodies("remove")]
        others = ("metaData", "protocol", "cdc")
        return all(body.get("dataChange") is False for body in files) and not any(map(self.bodies, others))

    @cached_property
    def added_paths(self) -> set[str]:
        """The canonical paths of the added files, with any deletion vector."""
        return {_path(body) for body in self.bodies("add")}

    @cached_property
    def removed_paths(self) -> set[str]:
        """The canonical paths of the removed files, with any deletion vector."""
        return {_path(body) for body in self.bodies("remove")}

    @cached_property
    def replaced_vectors(self) -> dict[str, tuple[_Vector, _Vector]]:
        """By canonical path, the old and new deletion vectors of files that are removed and added again."""
        before = {_path(body): _vector(body) for body in self.bodies("remove")}
        after = {_path(body): _vector(body) for body in self.bodies("add")}
        return {path: (before[path], after[path]) for path in before.keys() & after.keys()}

    def without_files(self, paths: Collection[str]) -> "WinningCommit":
        """Return the commit without its actions on the files of these canonical paths."""
        if not paths:
            return self
        kept = [
            action
            for action in self.actions
            if (body := action.get("add") or action.get("remove")) is None or _path(body) not in paths
        ]
        return replace(self, actions=kept)

    @property
    def domains(self) -> set[str]:
        """The domains whose metadata the commit sets or removes."""
        return {body["domain"] for body in self.bodies("domainMetadata")}

    @property
    def applications(self) -> set[str]:
        """The applications whose version the commit records."""
        return {body["appId"] for body in self.bodies("txn")}

    def __str__(self) -> str:
        operation = self.commit_info.get("operation")
        return f"version {self.version}" + (f" ({operation})" if operation else "")


def _path(body: Mapping[str, Any]) -> str:
    return decode_path(body["path"])


def _vector(body: Mapping[str, Any]) -> _Vector:
    vector = body.get("deletionVector")
    return None if vector is None else DeletionVectorDescriptor.from_json(vector)


@dataclass
class WinningCommits:
    """Reads winning commits, each once, for the conflict rules and for the new snapshot."""

    store: Store
    _known: dict[str, list[dict[str, Any]]] = field(default_factory=dict, init=False)

    def take(self, version: int, data: bytes) -> None:
        """Cache a commit whose file was read already."""
        name = commit_name(version)
        self._known[name] = parse_commit(data, name)

    def read(self, store: Store, names: Sequence[str]) -> list[list[dict[str, Any]]]:
        """Read commits, as `deltaarrow.log.read_commits` does."""
        news = [name for name in names if name not in self._known]
        self._known.update(zip(news, read_commits(store, news), strict=True))
        return [self._known[name] for name in names]

    def pop(self, after: int, until: int) -> list[WinningCommit]:
        """Return the commits of the versions above `after` up to `until`, ascending, and empty the cache.

        Commits that were cleaned up are missing.
        """
        names = {commit_name(version): version for version in range(after + 1, until + 1)}
        if not names.keys() <= self._known.keys():
            # A commit that its catalog holds has another name.
            commits = (each for each in list_log(self.store, after + 1) if each.kind is LogFileKind.COMMIT)
            names = {each.name: each.version for each in commits if each.version <= until}
        contents = self.read(self.store, list(names))
        self._known.clear()
        return [WinningCommit(*each) for each in zip(names.values(), contents, strict=True)]
