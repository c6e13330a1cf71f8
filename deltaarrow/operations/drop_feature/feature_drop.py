"""`FeatureDrop`: drops a feature from a table, with the same commits as delta-spark.

=====================  ===============================================================================
commits                what they do
=====================  ===============================================================================
those of the steps     remove what uses the feature: see `deltaarrow.operations.drop_feature.cleaning`
``Empty Commit``       a version without the feature in use, and a checkpoint of it
``DROP FEATURE``       the protocol without the feature
=====================  ===============================================================================

Older versions may still need the feature. Where readers must know it, a reader that does not must never have
to go through an older version to make a newer one. There are two ways:

- By default three empty commits, each with a checkpoint, stand between the two. The last commit adds the
  feature ``checkpointProtection``, by which writers leave the checkpoints alone, and gets a checkpoint too.
- With TRUNCATE HISTORY there is one empty commit, and the older versions have to be gone from the log. A
  call that had traces to remove ends after it; a call after the retention deletes the versions and goes on.

A call that was interrupted is simply repeated. Chapters "Protocol Evolution" and "Checkpoint Protection".
"""

from dataclasses import dataclass, field, replace

from deltaarrow.display.near_names import did_you_mean
from deltaarrow.errors import ConcurrentWriteException, FeatureDropError, UnsupportedFeatureError
from deltaarrow.features import (
    FEATURES,
    PROPERTIES,
    FeatureKind,
    Removal,
    TableFeature,
    downgraded_protocol,
    ensure_writable,
    find_feature,
    properties,
    supported_features,
)
from deltaarrow.operations.commit.log_maintenance import create_checkpoint
from deltaarrow.operations.drop_feature.cleaning import CLEANINGS, Cleaning, unprotect_checkpoints
from deltaarrow.operations.drop_feature.feature_history import expire_log, history_needs, oldest_version
from deltaarrow.operations.drop_feature.step import Work
from deltaarrow.snapshot import Snapshot

__all__ = ["DropFeaturePlan", "FeatureDrop"]

_BARRIERS = 3
_MOST_TRIES = 15
_EMPTY, _DROP = "Empty Commit", "DROP FEATURE"
_PROTECTION = "checkpointProtection"
_PROTECTED_BEFORE = properties.REQUIRE_CHECKPOINT_PROTECTION_BEFORE_VERSION


@dataclass(frozen=True)
class DropFeaturePlan:
    """What dropping a feature is going to do, if nobody else commits meanwhile.

    `operations` are those of the commits, in order. With TRUNCATE HISTORY, a call that has to remove traces
    ends before the last commit, or earlier versions of the log may still prevent it. `num_files` and
    `num_bytes` are of the data files to rewrite.
    """

    feature: str
    truncate_history: bool
    operations: tuple[str, ...]
    num_files: int
    num_bytes: int


@dataclass(frozen=True)
class FeatureDrop:
    """The statement ``ALTER TABLE ... DROP FEATURE name [TRUNCATE HISTORY]`` on a table.

    Args:
        snapshot: the table.
        name: the feature, in any case.
        truncate_history: whether older versions are deleted instead of guarded.

    Raises:
        FeatureDropError: the feature is unknown, cannot be dropped, is not there, is needed by another
            feature, has no traces in history, or a user has to remove something first.
        UnsupportedFeatureError: this release does not write such tables, or does not drop the feature.
    """

    snapshot: Snapshot
    name: str
    truncate_history: bool = False
    feature: TableFeature = field(init=False)
    listed: str = field(init=False)

    def __post_init__(self) -> None:
        feature = _droppable(self.name)
        listed = _listed_name(self.snapshot, self.name, feature)
        object.__setattr__(self, "feature", feature)
        object.__setattr__(self, "listed", listed)
        self._ensure_possible()

    def _ensure_possible(self) -> None:
        protects = self.feature.name == _PROTECTION
        if self.truncate_history and self.feature.kind is FeatureKind.WRITER and not protects:
            raise _refusal(
                "HISTORY_TRUNCATION_NOT_ALLOWED",
                f"{self.listed} does not concern readers, so no older version prevents dropping it; drop it"
                " without truncate_history",
            )
        if protects and not self.truncate_history:
            error_class = "DELTA_FEATURE_CAN_ONLY_DROP_CHECKPOINT_PROTECTION_WITH_HISTORY_TRUNCATION"
            raise FeatureDropError(
                f"{self.listed} guards older versions, and can only be dropped together with them; pass"
                f" truncate_history=True (Spark: {error_class})",
                error_class=error_class,
            )
        dependents = [
            name
            for name in supported_features(self.snapshot.protocol)
            if (other := find_feature(name)) is not None and self.feature.name in other.requires
        ]
        if dependents:
            raise _refusal(
                "DEPENDENT_FEATURE",
                f"{self.listed} cannot be dropped, because {', '.join(dependents)} in the table depends on"
                " it; drop that first",
            )
        if self.feature.removal is Removal.NOT_HERE:
            raise UnsupportedFeatureError(
                f"{self.listed} is not dropped by this release; drop it with the engine that added it",
                feature=self.feature.name,
            )
        ensure_writable(self.snapshot.protocol, self.snapshot.metadata, "append")
        self._cleaning.refuse(self.snapshot)

    @property
    def _cleaning(self) -> Cleaning:
        return CLEANINGS[self.feature.name]

    @property
    def _guards_history(self) -> bool:
        return self.feature.removal is Removal.GUARDS_HISTORY

    # --- plan -------------------------------------------------------------------------------------

    def plan(self) -> DropFeaturePlan:
        """Return what `run` is going to do. Footers of data files may be read for it."""
        steps = list(self._cleaning.needed(self.snapshot))
        rewritten = [step.plan(self.snapshot) for step in steps if step.plan is not None]
        barriers = 0
        if self._guards_history:
            barriers = 1 if self.truncate_history else _BARRIERS
        operations = [*(step.operation for step in steps), *[_EMPTY] * barriers]
        if self.feature.name == _PROTECTION:
            operations += ["UNSET TBLPROPERTIES"] if self._is_truncated(self.snapshot) else [_EMPTY]
        return DropFeaturePlan(
            self.listed,
            self.truncate_history,
            (*operations, _DROP),
            sum(each.num_files for each in rewritten),
            sum(each.num_bytes for each in rewritten),
        )

    # --- work -------------------------------------------------------------------------------------

    def run(self, work: Work) -> int:
        """Drop the feature and return the version of the last commit.

        Raises:
            FeatureDropError: the traces are gone, but older versions that need the feature are still in the
                log: wait and call again. Or another writer has begun to use the feature again.
            CommitFailedError: another writer was first at every attempt, or a commit conflicts with its.
        """
        before = work.without_applications()
        snapshot, had_traces = self._cleaned(before)
        if self.feature.name == _PROTECTION:
            snapshot = self._unprotected(snapshot, before)
        elif self._guards_history:
            snapshot = self._past_barriers(snapshot, before, had_traces)
        return self._dropped(snapshot, work)

    def _cleaned(self, work: Work) -> tuple[Snapshot, bool]:
        """Return the version after the steps, and whether readers of older ones need the feature."""
        snapshot, had_traces = self.snapshot, False
        for step in self._cleaning.steps:
            if step.is_needed(snapshot):
                step.commit(snapshot, work)
                had_traces = had_traces or step.in_history
                snapshot = snapshot.update()
        return snapshot, had_traces

    def _past_barriers(self, snapshot: Snapshot, work: Work, had_traces: bool) -> Snapshot:
        for _ in range(1 if self.truncate_history else _BARRIERS):
            snapshot = _with_barrier(snapshot, work)
        if not self.truncate_history:
            return snapshot
        retention = properties.DROP_FEATURE_RETENTION.parse(snapshot.configuration)
        if had_traces:
            raise _refusal(
                "WAIT_FOR_RETENTION_PERIOD",
                f"{self.listed} is no longer used in version {snapshot.version} of {snapshot.store.uri}, but"
                f" older versions need it: wait {retention} until they have expired, and drop it again with"
                " TRUNCATE HISTORY",
            )
        expire_log(snapshot, work.clock)
        if history_needs(self._cleaning, snapshot):
            raise _refusal(
                "HISTORICAL_VERSIONS_EXIST",
                f"{self.listed} cannot be dropped yet, because the log of {snapshot.store.uri} holds versions"
                f" that need it; drop it again once they are older than {retention}, or without TRUNCATE"
                " HISTORY",
            )
        return snapshot

    def _is_truncated(self, snapshot: Snapshot) -> bool:
        return oldest_version(snapshot) >= _PROTECTED_BEFORE.parse(snapshot.configuration)

    def _unprotected(self, snapshot: Snapshot, work: Work) -> Snapshot:
        """Return the version in which no checkpoint is protected: the older versions are gone."""
        if not self._is_truncated(snapshot):
            snapshot = _with_barrier(snapshot, work)
            expire_log(snapshot, work.clock)
            if not self._is_truncated(snapshot):
                error_class = "DELTA_FEATURE_DROP_CHECKPOINT_PROTECTION_WAIT_FOR_RETENTION_PERIOD"
                retention = properties.DROP_FEATURE_RETENTION.parse(snapshot.configuration)
                raise FeatureDropError(
                    f"{self.listed} cannot be dropped yet, because the log of {snapshot.store.uri} holds"
                    f" versions before {_PROTECTED_BEFORE.parse(snapshot.configuration)}, which need features"
                    f" that were dropped; try again once they are older than {retention}"
                    f" (Spark: {error_class})",
                    error_class=error_class,
                )
        unprotect_checkpoints(snapshot, work)
        return snapshot.update()

    def _dropped(self, snapshot: Snapshot, work: Work) -> int:
        """Commit the protocol without the feature, right after a version that has no trace of it."""
        for attempt in range(_MOST_TRIES):
            if self._cleaning.has_traces(snapshot):
                raise _refusal(
                    "CONFLICT_REVALIDATION_FAIL",
                    f"another writer has begun to use {self.listed} again, in version {snapshot.version} or"
                    " before; drop it again",
                )
            try:
                return self._commit(snapshot, work)
            except ConcurrentWriteException:
                if attempt == _MOST_TRIES - 1:
                    raise
                snapshot = snapshot.update()
        raise AssertionError("the last attempt returns or raises")

    def _commit(self, snapshot: Snapshot, work: Work) -> int:
        protects = self._guards_history and not self.truncate_history
        gone = self._cleaning.properties
        kept = {name: text for name, text in snapshot.configuration.items() if name not in gone}
        if protects:
            kept[_PROTECTED_BEFORE.name] = str(snapshot.version + 1)
        metadata = replace(snapshot.metadata, configuration=kept)
        added = [FEATURES[_PROTECTION]] if protects else []
        protocol = downgraded_protocol(snapshot.protocol, self.feature, added)
        ensure_writable(protocol, metadata, "append")
        transaction = work.begin(snapshot, _DROP)
        transaction.read_whole_version()
        transaction.parameters = {"featureName": self.listed, "truncateHistory": self.truncate_history}
        transaction.set_metadata(metadata)
        transaction.set_protocol(protocol)
        for domain in self._cleaning.domains:
            if (present := snapshot.domains.get(domain)) is not None:
                transaction.stage([replace(present, removed=True)])
        version = transaction.commit()
        if protects:
            create_checkpoint(snapshot.store, version, known=snapshot, clock=work.clock)
        return version


def _with_barrier(snapshot: Snapshot, work: Work) -> Snapshot:
    """Return the version of an empty commit that has a checkpoint."""
    version = work.begin(snapshot, _EMPTY).commit()
    create_checkpoint(snapshot.store, version, known=snapshot, clock=work.clock)
    return snapshot.update()


def _droppable(name: str) -> TableFeature:
    if name.lower() in PROPERTIES:
        raise _refusal(
            "FEATURE_IS_DELTA_PROPERTY",
            f"{name} is a table property, not a table feature; unset it with"
            " table.alter.unset_table_properties, or name the feature",
        )
    feature = find_feature(name)
    if feature is None:
        meant = did_you_mean(name, FEATURES)
        raise _refusal("UNSUPPORTED_CLIENT_FEATURE", f"this release knows no table feature {name!r}{meant}")
    if feature.removal is Removal.NO:
        raise _refusal("NONREMOVABLE_FEATURE", f"the table feature {feature.name} cannot be dropped")
    return feature


def _listed_name(snapshot: Snapshot, name: str, feature: TableFeature) -> str:
    """Return the name by which the protocol lists, or implies, the feature."""
    names = [each for each in supported_features(snapshot.protocol) if find_feature(each) == feature]
    if not names:
        raise _refusal(
            "FEATURE_NOT_PRESENT", f"{snapshot.store.uri} does not have the table feature {feature.name}"
        )
    return next((each for each in names if each.lower() == name.lower()), names[0])


def _refusal(reason: str, message: str) -> FeatureDropError:
    error_class = f"DELTA_FEATURE_DROP_{reason}"
    return FeatureDropError(f"{message} (Spark: {error_class})", error_class=error_class)
