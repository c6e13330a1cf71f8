"""The Delta log: which files make a version, what they say, and what is written to them.

Chapters "Delta Log Entries", "Checkpoints" and "Action Reconciliation" of the protocol.
"""

from typing import TYPE_CHECKING

from deltaarrow.log.replay import LogState, replay
from deltaarrow.runtime.lazy import lazy_attributes

if TYPE_CHECKING:
    from deltaarrow.log.catalog import (
        Catalog,
        CatalogStore,
        RatifiedCommit,
        RatifiedCommits,
        is_catalog_store,
    )
    from deltaarrow.log.changes import CommitChanges, FileChange, read_additions, read_changes
    from deltaarrow.log.checkpoint_writer import ManifestFormat, write_checkpoint
    from deltaarrow.log.checksum_writer import count_checksum, next_checksum, render_version_checksum
    from deltaarrow.log.checksums import VersionChecksum, find_contradiction, read_version_checksum
    from deltaarrow.log.cleanup import clean_up_log
    from deltaarrow.log.commits import ReadCommits, parse_commit, read_commits
    from deltaarrow.log.compaction import compact_logs
    from deltaarrow.log.history import CommitTimes, read_commit_infos, read_in_commit_timestamp
    from deltaarrow.log.listing import list_log, list_newer, list_segment
    from deltaarrow.log.names import LOG_FOLDER, LogFile, LogFileKind, checksum_name, commit_name
    from deltaarrow.log.segment import LogSegment, select_segment

__all__ = [
    "LOG_FOLDER",
    "Catalog",
    "CatalogStore",
    "CommitChanges",
    "CommitTimes",
    "FileChange",
    "LogFile",
    "LogFileKind",
    "LogSegment",
    "LogState",
    "ManifestFormat",
    "RatifiedCommit",
    "RatifiedCommits",
    "ReadCommits",
    "VersionChecksum",
    "checksum_name",
    "clean_up_log",
    "commit_name",
    "compact_logs",
    "count_checksum",
    "find_contradiction",
    "is_catalog_store",
    "list_log",
    "list_newer",
    "list_segment",
    "next_checksum",
    "parse_commit",
    "read_additions",
    "read_changes",
    "read_commit_infos",
    "read_commits",
    "read_in_commit_timestamp",
    "read_version_checksum",
    "render_version_checksum",
    "replay",
    "select_segment",
    "write_checkpoint",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "LOG_FOLDER": "deltaarrow.log.names",
        "Catalog": "deltaarrow.log.catalog",
        "CatalogStore": "deltaarrow.log.catalog",
        "CommitChanges": "deltaarrow.log.changes",
        "CommitTimes": "deltaarrow.log.history",
        "FileChange": "deltaarrow.log.changes",
        "LogFile": "deltaarrow.log.names",
        "LogFileKind": "deltaarrow.log.names",
        "LogSegment": "deltaarrow.log.segment",
        "ManifestFormat": "deltaarrow.log.checkpoint_writer",
        "RatifiedCommit": "deltaarrow.log.catalog",
        "RatifiedCommits": "deltaarrow.log.catalog",
        "ReadCommits": "deltaarrow.log.commits",
        "VersionChecksum": "deltaarrow.log.checksums",
        "checksum_name": "deltaarrow.log.names",
        "clean_up_log": "deltaarrow.log.cleanup",
        "commit_name": "deltaarrow.log.names",
        "compact_logs": "deltaarrow.log.compaction",
        "count_checksum": "deltaarrow.log.checksum_writer",
        "find_contradiction": "deltaarrow.log.checksums",
        "is_catalog_store": "deltaarrow.log.catalog",
        "list_log": "deltaarrow.log.listing",
        "list_newer": "deltaarrow.log.listing",
        "list_segment": "deltaarrow.log.listing",
        "next_checksum": "deltaarrow.log.checksum_writer",
        "parse_commit": "deltaarrow.log.commits",
        "read_additions": "deltaarrow.log.changes",
        "read_changes": "deltaarrow.log.changes",
        "read_commit_infos": "deltaarrow.log.history",
        "read_commits": "deltaarrow.log.commits",
        "read_in_commit_timestamp": "deltaarrow.log.history",
        "read_version_checksum": "deltaarrow.log.checksums",
        "render_version_checksum": "deltaarrow.log.checksum_writer",
        "select_segment": "deltaarrow.log.segment",
        "write_checkpoint": "deltaarrow.log.checkpoint_writer",
    },
)
