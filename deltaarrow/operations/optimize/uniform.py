"""Spark's ``APPLY (UPGRADE UNIFORM)``: prepares the files of an existing table for Iceberg.

========  ===============================  =================================================================
commit    operation                        what it does
========  ===============================  =================================================================
first     ``REORG TABLE UPGRADE UNIFORM``  sets the properties: the rules of icebergCompatV2, column mapping
                                           by name, no deletion vectors
second    ``REORG``                        rewrites the files that are not under the rules: those without
                                           the tag of the version, with a deletion vector, or without a
                                           row count
third     ``SET TBLPROPERTIES``            sets ``delta.universalFormat.enabledFormats``, after which
                                           `deltaarrow.operations.commit.universal_format` follows each commit
========  ===============================  =================================================================

From the first commit on, all writers tag their files and write no deletion vectors. What is left to do is
therefore seen in any later version: a call goes on where another one stopped, and where nothing is left it
commits nothing. Chapter *Iceberg Compatibility V2* of the protocol.
"""

from dataclasses import replace

from deltaarrow.errors import MetadataChangedException, UnsupportedFeatureError
from deltaarrow.features import (
    ensure_writable,
    iceberg_compat_version,
    iceberg_file_tags,
    iceberg_upgrade,
    keeps_iceberg_metadata,
    properties,
)
from deltaarrow.operations.alter.metadata_changes import (
    Alteration,
    commit_alteration,
    ensure_alterable,
    set_properties,
)
from deltaarrow.operations.define.write_target import WriteTarget
from deltaarrow.operations.optimize.compaction import target_size_of
from deltaarrow.operations.optimize.partition_selection import Selection, plan_files
from deltaarrow.operations.optimize.plan import OptimizePlan
from deltaarrow.operations.optimize.rewriting import RewritingOptions
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.runtime.optional import require
from deltaarrow.snapshot import Snapshot
from deltaarrow.transaction import has_row_count

__all__ = ["enable_iceberg_metadata", "enable_iceberg_rules", "plan_iceberg_files", "plan_upgrade"]

_VERSION = 2
_TABLE_FEATURES = {
    properties.MIN_READER_VERSION.name: 3,
    properties.MIN_WRITER_VERSION.name: 7,
}


def plan_upgrade(snapshot: Snapshot, version: int) -> OptimizePlan:
    """Plan to rewrite the files of a table that may not be under the rules yet.

    Raises:
        UnsupportedFeatureError: another version than 2, or a feature that this release does not write.
        SchemaMismatchError: a column, or a partition column, that the rules do not allow.
        InvalidTablePropertyError: the table has column mapping by id, or is under version 3 of the rules.
        MissingDependencyError: ``pyiceberg``, which the third commit needs, is not installed.
    """
    _ensure_version(version)
    ensure_writable(snapshot.protocol, snapshot.metadata, "append")
    alteration = _alteration(snapshot)
    if alteration is not None:
        ensure_alterable(snapshot, alteration)
    require("pyiceberg")
    # Refuses what the second commit could not write, before there is a first one.
    WriteTarget.existing(snapshot).plan(snapshot.store)
    return _plan(snapshot)


def enable_iceberg_rules(snapshot: Snapshot, options: RewritingOptions, clock: Clock = system_clock) -> bool:
    """Commit the properties of the rules; return False, and commit nothing, if the table has them.

    Raises what `plan_upgrade` raises for the columns, properties and features of the table, and the
    exceptions of commits.
    """
    alteration = _alteration(snapshot)
    if alteration is None:
        return False
    commit_alteration(
        snapshot,
        alteration,
        commit_properties=options.commit_properties,
        hook_properties=options.hook_properties,
        clock=clock,
    )
    return True


def enable_iceberg_metadata(
    snapshot: Snapshot, options: RewritingOptions, clock: Clock = system_clock
) -> bool:
    """Commit the property that asks for Iceberg metadata; return False, and commit nothing, if it is set.

    Raises `MetadataChangedException` if the table is not, or no longer, under the rules, and the exceptions
    of commits.
    """
    if keeps_iceberg_metadata(snapshot.configuration):
        return False
    _ensure_under_the_rules(snapshot)
    commit_alteration(
        snapshot,
        set_properties(snapshot, {properties.UNIVERSAL_FORMAT_ENABLED_FORMATS.name: "iceberg"}),
        commit_properties=options.commit_properties,
        hook_properties=options.hook_properties,
        clock=clock,
    )
    return True


def plan_iceberg_files(snapshot: Snapshot) -> OptimizePlan:
    """Plan to rewrite the files that do not follow the rules of their table.

    Raises `MetadataChangedException` if the table is not, or no longer, under the rules.
    """
    _ensure_under_the_rules(snapshot)
    return _plan(snapshot)


def _ensure_under_the_rules(snapshot: Snapshot) -> None:
    if iceberg_compat_version(snapshot.configuration) != _VERSION:
        raise MetadataChangedException(
            f"another writer has switched icebergCompatV{_VERSION} off again in version {snapshot.version};"
            " start the upgrade again if the table should be read as Iceberg"
        )


def _ensure_version(version: int) -> None:
    if type(version) is int and version == 1:
        raise UnsupportedFeatureError(
            "an upgrade to icebergCompatV1 rewrites no file and is not done here: set"
            " delta.enableIcebergCompatV1 and delta.columnMapping.mode with"
            " table.alter.set_table_properties, or upgrade to version 2",
            feature="icebergCompatV1",
        )
    if type(version) is not int or version != _VERSION:
        raise UnsupportedFeatureError(
            f"IcebergCompatVersion = {version} is not supported by an upgrade, which takes version 2"
            " (Spark: DELTA_ICEBERG_COMPAT_VIOLATION.COMPAT_VERSION_NOT_SUPPORTED)",
            feature=f"icebergCompatV{version}",
        )


def _alteration(snapshot: Snapshot) -> Alteration | None:
    """The first commit; None if the table is under the rules."""
    if iceberg_compat_version(snapshot.configuration) == _VERSION:
        return None
    protocol = snapshot.protocol
    versions = (protocol.min_reader_version, protocol.min_writer_version)
    raised = {
        name: str(wanted)
        for (name, wanted), found in zip(_TABLE_FEATURES.items(), versions, strict=True)
        if found < wanted
    }
    alteration = set_properties(snapshot, iceberg_upgrade(snapshot.configuration, _VERSION) | raised)
    if alteration.metadata is None:
        raise AssertionError("a change of properties has metadata")
    marked = {properties.ICEBERG_ATOMIC_CONVERSION_SUPPORTED.name: "true"}
    configuration = {**alteration.metadata.configuration, **marked}
    return replace(
        alteration,
        operation="REORG TABLE UPGRADE UNIFORM",
        metadata=replace(alteration.metadata, configuration=configuration),
        rewrites_files=True,
    )


def _plan(snapshot: Snapshot) -> OptimizePlan:
    planned = plan_files(snapshot, Selection())
    ((key, tag),) = (iceberg_file_tags(iceberg_upgrade({}, _VERSION)) or {}).items()
    tags = planned.files.column("tags").to_pylist(maps_as_pydicts="strict")
    stats = planned.files.column("stats").to_pylist()
    are_stale = [
        (of_file or {}).get(key) != tag or task.deletion_vector is not None or not has_row_count(text)
        for task, of_file, text in zip(planned.tasks, tags, stats, strict=True)
    ]
    return OptimizePlan.of_stale(planned, target_size_of(snapshot, None), are_stale)
