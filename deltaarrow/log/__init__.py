"""The Delta log: its files, replaying them into a version, and writing them.

Chapters "Delta Log Entries", "Checkpoints" and "Action Reconciliation" of the protocol.
"""

from typing import TYPE_CHECKING

from deltaarrow.log.state import LogState as LogState, replay as replay
from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.log.catalog_managed import (
        Catalog as Catalog,
        CatalogStore as CatalogStore,
        CommittingCatalog as CommittingCatalog,
        ProposedCommit as ProposedCommit,
        RatifiedCommit as RatifiedCommit,
        RatifiedCommits as RatifiedCommits,
        Refusal as Refusal,
        is_catalog_store as is_catalog_store,
    )
    from deltaarrow.log.checkpoint_writing.writer import (
        ManifestFormat as ManifestFormat,
        write_checkpoint as write_checkpoint,
    )
    from deltaarrow.log.checksum_writer import (
        count_checksum as count_checksum,
        next_checksum as next_checksum,
        render_version_checksum as render_version_checksum,
    )
    from deltaarrow.log.checksums import (
        VersionChecksum as VersionChecksum,
        find_contradiction as find_contradiction,
        read_version_checksum as read_version_checksum,
    )
    from deltaarrow.log.cleanup import clean_up_log as clean_up_log
    from deltaarrow.log.commits import (
        ReadCommits as ReadCommits,
        parse_commit as parse_commit,
        read_commits as read_commits,
    )
    from deltaarrow.log.file_changes import (
        CommitChanges as CommitChanges,
        FileChange as FileChange,
        read_additions as read_additions,
        read_changes as read_changes,
    )
    from deltaarrow.log.file_names import (
        LOG_FOLDER as LOG_FOLDER,
        LogFile as LogFile,
        LogFileKind as LogFileKind,
        checksum_name as checksum_name,
        commit_name as commit_name,
    )
    from deltaarrow.log.history import (
        CommitTimes as CommitTimes,
        read_commit_infos as read_commit_infos,
        read_in_commit_timestamp as read_in_commit_timestamp,
    )
    from deltaarrow.log.listing import (
        has_versions as has_versions,
        list_log as list_log,
        list_newer as list_newer,
        list_segment as list_segment,
    )
    from deltaarrow.log.log_compaction import compact_logs as compact_logs
    from deltaarrow.log.new_table_store import (
        Demands as Demands,
        NewTableStore as NewTableStore,
        is_managed_by_catalog as is_managed_by_catalog,
    )
    from deltaarrow.log.segment import LogSegment as LogSegment, select_segment as select_segment
    from deltaarrow.log.served_log import (
        ServedLog as ServedLog,
        is_served as is_served,
        served_state as served_state,
    )

__getattr__ = lazy_package(__name__)
