"""Row ids for the rows of a commit: chapter "Row Tracking" of the protocol, its writer requirements.

A new file gets the ids after the table's highest one, one per row with deleted rows included, and the version
of its commit. The metadata of the domain ``delta.rowTracking`` records the new highest id. Both depend on the
version that the commit follows, so each attempt assigns ids anew. A file that is already in the table and is
added again with another deletion vector keeps its ids.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import orjson

from deltaarrow.actions import Action, AddFile, DomainMetadata, Metadata, Protocol, RemoveFile
from deltaarrow.actions.domain_names import ROW_TRACKING_DOMAIN
from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import texts
from deltaarrow.errors import CorruptLogError, DeltaProtocolError
from deltaarrow.features import assigns_row_ids, is_supported
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import decode_path

__all__ = ["assign_row_ids", "high_water_mark", "with_recorded_row_ids"]

_NO_ROW_ID = -1
_MARK_KEYS = ("rowIdHighWaterMark", "highWaterMark")
"""The key that delta-spark writes, and the key in the text of the protocol."""
_GREATEST_ROW_ID = 2**63 - 1
_FileIds: TypeAlias = tuple[int | None, int | None]


def high_water_mark(snapshot: Snapshot | None) -> int:
    """Return the highest row id that a table has assigned, -1 for none.

    Raises `CorruptLogError` if the row tracking domain does not hold a valid one.
    """
    domain = None if snapshot is None else snapshot.domains.get(ROW_TRACKING_DOMAIN)
    if domain is None:
        return _NO_ROW_ID
    try:
        content = orjson.loads(domain.configuration)
        mark = next((content[key] for key in _MARK_KEYS if key in content), None)
    except (orjson.JSONDecodeError, TypeError) as error:
        raise CorruptLogError(
            f"the domain {ROW_TRACKING_DOMAIN} is not a JSON object: {domain.configuration!r}"
        ) from error
    if type(mark) is not int or not _NO_ROW_ID <= mark <= _GREATEST_ROW_ID:
        raise CorruptLogError(
            f"the domain {ROW_TRACKING_DOMAIN} has no valid {_MARK_KEYS[0]}: {domain.configuration!r}"
        )
    return mark


def assign_row_ids(actions: Sequence[Action], newest: Snapshot | None, *, taken: int = 0) -> list[Action]:
    """Return the actions of a commit that follows `newest`, with row ids if the table assigns them.

    The first `taken` ids go to files that are not among the actions.

    Raises `DeltaProtocolError` for a file without a row count, and for a commit that sets the row tracking
    domain itself.
    """
    protocol, metadata = _table(actions, newest)
    if not assigns_row_ids(protocol, metadata.configuration):
        return list(actions)
    version = 0 if newest is None else newest.version + 1
    before = high_water_mark(newest)
    mark = max([before + taken, *_kept_row_ids(actions)])
    assigned: list[Action] = []
    for action in actions:
        if isinstance(action, DomainMetadata) and action.domain == ROW_TRACKING_DOMAIN:
            raise DeltaProtocolError(
                f"the commit must not set the domain {ROW_TRACKING_DOMAIN}: row ids are assigned on commit"
            )
        if isinstance(action, AddFile):
            base, since = action.base_row_id, action.default_row_commit_version
            if base is None:
                base = mark + 1
                mark += _num_records(action)
            action = replace(
                action, base_row_id=base, default_row_commit_version=version if since is None else since
            )
        assigned.append(action)
    if mark > _GREATEST_ROW_ID:
        raise CorruptLogError(f"the table has used up its row ids: the highest one is {before}")
    return assigned if mark == before else [*assigned, _domain(mark, protocol)]


def _kept_row_ids(actions: Iterable[Action]) -> Iterator[int]:
    """The last row id of each file that keeps its ids.

    It is above the mark if a restored file is from a time before row tracking was dropped with its domain.
    """
    for action in actions:
        if isinstance(action, AddFile) and action.base_row_id is not None:
            yield action.base_row_id + max(_count(action) or 1, 1) - 1


def _table(actions: Iterable[Action], newest: Snapshot | None) -> tuple[Protocol, Metadata]:
    protocol = None if newest is None else newest.protocol
    metadata = None if newest is None else newest.metadata
    for action in actions:
        if isinstance(action, Protocol):
            protocol = action
        elif isinstance(action, Metadata):
            metadata = action
    assert protocol is not None
    assert metadata is not None
    return protocol, metadata


def _count(add: AddFile) -> int | None:
    count = None if add.stats is None else orjson.loads(add.stats).get("numRecords")
    return count if type(count) is int and count >= 0 else None


def _num_records(add: AddFile) -> int:
    count = _count(add)
    if count is None:
        raise DeltaProtocolError(f"{add.path} has no numRecords in its statistics, which row tracking needs")
    return count


def _domain(mark: int, protocol: Protocol) -> DomainMetadata:
    if not is_supported(protocol, "domainMetadata"):
        raise DeltaProtocolError("rowTracking needs the table feature domainMetadata; add it to the protocol")
    content = {_MARK_KEYS[0]: mark, "domainName": ROW_TRACKING_DOMAIN}
    return DomainMetadata(
        domain=ROW_TRACKING_DOMAIN, configuration=orjson.dumps(content).decode(), removed=False
    )


def with_recorded_row_ids(
    actions: Sequence[Action], newest: Snapshot, known: Collection[str]
) -> list[Action]:
    """Return the actions with the row ids that their files have in `newest`.

    A commit that follows a later version than the one read needs this: a commit in between may have assigned
    ids to files that had none, see `deltaarrow.operations.rows.row_id_assignment.backfill_row_ids`. `known`
    are the names of files whose actions are right already, such as new files. A table whose row tracking is
    suspended loses its ids.
    """
    if not assigns_row_ids(newest.protocol, newest.configuration):
        return list(actions)
    lacking = {
        path
        for action in actions
        if isinstance(action, AddFile | RemoveFile)
        and action.base_row_id is None
        and (path := decode_path(action.path)) not in known
    }
    if not lacking:
        return list(actions)
    files = newest.files(columns=["path", "base_row_id", "default_row_commit_version"])
    files = files.filter(pc.is_in(files.column("path"), texts(sorted(lacking))))
    recorded: dict[str, _FileIds] = {
        row["path"]: (row["base_row_id"], row["default_row_commit_version"]) for row in files.to_pylist()
    }
    return [_with_ids(action, recorded) for action in actions]


def _with_ids(action: Action, recorded: dict[str, _FileIds]) -> Action:
    if not isinstance(action, AddFile | RemoveFile) or action.base_row_id is not None:
        return action
    base, since = recorded.get(decode_path(action.path), (None, None))
    return replace(action, base_row_id=base, default_row_commit_version=since)
