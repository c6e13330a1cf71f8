"""The steps before each feature can be dropped: one record per feature.

The steps, their order and their history entries are those of delta-spark. Chapter "Table Features".
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from deltaarrow.actions import DomainMetadata
from deltaarrow.actions.domain_names import ROW_TRACKING_DOMAIN
from deltaarrow.errors import FeatureDropError
from deltaarrow.features import properties
from deltaarrow.operations.alter.metadata_changes import Alteration, set_properties, unset_properties
from deltaarrow.operations.drop_feature import deletion_vectors, row_tracking, type_widening
from deltaarrow.operations.drop_feature.step import Step, Work
from deltaarrow.operations.optimize import RewritingOptions, has_column_mapping, mapping_removal
from deltaarrow.schema.metadata_keys import COLUMN_MAPPING_PREFIX, CONSTRAINT_PREFIX, TYPE_CHANGES_KEY
from deltaarrow.snapshot import Snapshot

__all__ = ["CLEANINGS", "Cleaning", "unprotect_checkpoints"]

JsonObject = Mapping[str, Any]


def _never(key: str, body: JsonObject) -> bool:
    return False


@dataclass(frozen=True)
class Cleaning:
    """The way of one feature out of a table.

    Args:
        steps: the commits that remove its traces, each if it is needed.
        refuse: raises if a user has to remove something first.
        properties: the properties that leave the table together with the feature.
        domains: the metadata domains that do.
        shows: whether an action of an older commit, given by its key and body, needs the feature.
        writes_checkpoints_of_its_own: whether checkpoints of the table may need the feature.
    """

    steps: tuple[Step, ...] = ()
    refuse: Callable[[Snapshot], None] = lambda snapshot: None
    properties: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    shows: Callable[[str, JsonObject], bool] = _never
    writes_checkpoints_of_its_own: bool = False

    def needed(self, snapshot: Snapshot) -> Iterator[Step]:
        """Yield the steps that a version needs."""
        return (step for step in self.steps if step.is_needed(snapshot))

    def has_traces(self, snapshot: Snapshot) -> bool:
        """Whether the feature cannot leave this version."""
        return any(step.is_trace for step in self.needed(snapshot))


def _configuration(key: str, body: JsonObject) -> dict[str, str]:
    return dict(body.get("configuration") or {}) if key == "metaData" else {}


# --- CHECK constraints ---------------------------------------------------------------------------------


def _refuse_constraints(snapshot: Snapshot) -> None:
    names = [
        name[len(CONSTRAINT_PREFIX) :]
        for name in snapshot.configuration
        if name.lower().startswith(CONSTRAINT_PREFIX)
    ]
    if names:
        error_class = "DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE"
        raise FeatureDropError(
            f"the table feature checkConstraints cannot be dropped while {snapshot.store.uri} has the CHECK"
            f" constraints {', '.join(sorted(names))}; drop them first, with table.alter.drop_constraint"
            f" (Spark: {error_class})",
            error_class=error_class,
        )


# --- in-commit timestamps ------------------------------------------------------------------------------

_TIMESTAMPS = properties.ENABLE_IN_COMMIT_TIMESTAMPS
_SINCE = (
    properties.IN_COMMIT_TIMESTAMP_ENABLEMENT_TIMESTAMP.name,
    properties.IN_COMMIT_TIMESTAMP_ENABLEMENT_VERSION.name,
)


def _of_timestamps(snapshot: Snapshot) -> list[str]:
    enabled = [_TIMESTAMPS.name] if _TIMESTAMPS.parse(snapshot.configuration) else []
    return [*(name for name in _SINCE if name in snapshot.configuration), *enabled]


def _disable_timestamps(snapshot: Snapshot, work: Work) -> None:
    names = _of_timestamps(snapshot)
    kept = {name: text for name, text in snapshot.configuration.items() if name not in _SINCE}
    if _TIMESTAMPS.name in names:
        kept[_TIMESTAMPS.name] = "false"
    alteration = Alteration(
        operation="UNSET TBLPROPERTIES",
        parameters={"properties": orjson.dumps(names).decode(), "ifExists": True},
        metadata=replace(snapshot.metadata, configuration=kept),
    )
    work.alter(snapshot, alteration)


# --- checkpoints ---------------------------------------------------------------------------------------

_POLICY = properties.CHECKPOINT_POLICY
_PROTECTION = properties.REQUIRE_CHECKPOINT_PROTECTION_BEFORE_VERSION


def _writes_v2(snapshot: Snapshot) -> bool:
    return _POLICY.parse(snapshot.configuration) != _POLICY.default


def _write_classic(snapshot: Snapshot, work: Work) -> None:
    work.alter(snapshot, set_properties(snapshot, {_POLICY.name: _POLICY.default}))


def unprotect_checkpoints(snapshot: Snapshot, work: Work) -> None:
    """Commit that no older checkpoint is protected any more."""
    alteration = unset_properties(snapshot, [_PROTECTION.name], raise_if_not_exists=False)
    work.alter(snapshot, alteration)


# --- domains -------------------------------------------------------------------------------------------


def _clean_domains(snapshot: Snapshot, work: Work) -> None:
    transaction = work.begin(snapshot, "DOMAIN METADATA CLEANUP")
    transaction.parameters = {"domainMetadataRemovedCount": len(snapshot.domains)}
    removed: list[DomainMetadata] = [replace(each, removed=True) for each in snapshot.domains.values()]
    transaction.stage(removed)
    transaction.commit()


# --- column mapping ------------------------------------------------------------------------------------


def _remove_mapping(snapshot: Snapshot, work: Work) -> None:
    mapping_removal(snapshot, work.options, work.clock).run(work.progress)


def _shows_mapping(key: str, body: JsonObject) -> bool:
    mode = properties.COLUMN_MAPPING_MODE.parse(_configuration(key, body))
    return mode != "none" or (key == "metaData" and COLUMN_MAPPING_PREFIX in str(body.get("schemaString")))


def _shows_vectors(key: str, body: JsonObject) -> bool:
    is_enabled = properties.ENABLE_DELETION_VECTORS.parse(_configuration(key, body))
    return is_enabled or (key in ("add", "remove") and body.get("deletionVector") is not None)


def _shows_widening(key: str, body: JsonObject) -> bool:
    return key == "metaData" and TYPE_CHANGES_KEY in str(body.get("schemaString"))


def _shows_v2(key: str, body: JsonObject) -> bool:
    return _POLICY.parse(_configuration(key, body)) != _POLICY.default


CLEANINGS: Mapping[str, Cleaning] = {
    "checkConstraints": Cleaning(refuse=_refuse_constraints),
    "columnMapping": Cleaning(
        (
            Step(
                "REMOVE COLUMN MAPPING",
                has_column_mapping,
                _remove_mapping,
                lambda snapshot: mapping_removal(snapshot, RewritingOptions()).plan,
            ),
        ),
        shows=_shows_mapping,
    ),
    "deletionVectors": Cleaning(deletion_vectors.STEPS, shows=_shows_vectors),
    "v2Checkpoint": Cleaning(
        (Step("SET TBLPROPERTIES", _writes_v2, _write_classic),),
        shows=_shows_v2,
        writes_checkpoints_of_its_own=True,
    ),
    "vacuumProtocolCheck": Cleaning(),
    "typeWidening": Cleaning(type_widening.STEPS, shows=_shows_widening),
    "domainMetadata": Cleaning(
        (Step("DOMAIN METADATA CLEANUP", lambda snapshot: bool(snapshot.domains), _clean_domains),)
    ),
    "rowTracking": Cleaning(
        row_tracking.STEPS,
        properties=(
            properties.ENABLE_ROW_TRACKING.name,
            properties.ROW_TRACKING_SUSPENDED.name,
            properties.MATERIALIZED_ROW_ID_COLUMN_NAME.name,
            properties.MATERIALIZED_ROW_COMMIT_VERSION_COLUMN_NAME.name,
        ),
        domains=(ROW_TRACKING_DOMAIN,),
    ),
    "inCommitTimestamp": Cleaning(
        (
            Step(
                "UNSET TBLPROPERTIES",
                lambda snapshot: bool(_of_timestamps(snapshot)),
                _disable_timestamps,
            ),
        )
    ),
    "checkpointProtection": Cleaning(properties=(_PROTECTION.name,)),
    "materializePartitionColumns": Cleaning(
        properties=(properties.ENABLE_MATERIALIZE_PARTITION_COLUMNS.name,)
    ),
}
"""By the name of the feature: those that this release drops."""
