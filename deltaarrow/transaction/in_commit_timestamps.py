"""In-commit timestamps of new commits: chapter "In-Commit Timestamps" of the protocol."""

from collections.abc import Sequence
from dataclasses import replace

from deltaarrow.actions import Action, CommitInfo, Metadata
from deltaarrow.features import properties
from deltaarrow.snapshot import Snapshot

__all__ = ["stamp"]


def stamp(
    commit_info: CommitInfo,
    actions: Sequence[Action],
    newest: Snapshot | None,
    now: int,
    told: int | None = None,
) -> tuple[CommitInfo, list[Action]]:
    """Return `commit_info` and `actions` with the timestamp of the version after `newest`.

    The timestamp is `now` (milliseconds since the epoch), or the previous version's timestamp plus one if
    that is later. The previous version's timestamp is its in-commit timestamp, or its file's modification
    time if this commit switches in-commit timestamps on. Such a commit also records in the metadata from
    which version they count. A table without in-commit timestamps gets its actions back unchanged. `told` is
    the in-commit timestamp of `newest`, if known.
    """
    staged = next((action for action in actions if isinstance(action, Metadata)), None)
    metadata = staged or (None if newest is None else newest.metadata)
    enabled = properties.ENABLE_IN_COMMIT_TIMESTAMPS
    if metadata is None or not enabled.parse(metadata.configuration):
        return commit_info, list(actions)
    timestamp = now
    if newest is not None:
        before = told if enabled.parse(newest.configuration) else None
        timestamp = max(now, (newest.timestamp_ms if before is None else before) + 1)
    commit_info = replace(commit_info, in_commit_timestamp=timestamp, timestamp=timestamp)
    if staged is None or newest is None or enabled.parse(newest.configuration):
        return commit_info, list(actions)
    since = {
        properties.IN_COMMIT_TIMESTAMP_ENABLEMENT_VERSION.name: str(newest.version + 1),
        properties.IN_COMMIT_TIMESTAMP_ENABLEMENT_TIMESTAMP.name: str(timestamp),
    }
    dated = replace(staged, configuration={**staged.configuration, **since})
    return commit_info, [dated if action is staged else action for action in actions]
