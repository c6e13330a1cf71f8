"""`FeatureDropper`: the methods of ``table.alter`` that drop a feature and rewrite its files.

Chapters *Protocol Evolution* and *Column Mapping* of the protocol.
"""

from deltaarrow.operations import CommitProperties, PostCommitHookProperties
from deltaarrow.operations.drop_feature import DropFeaturePlan, FeatureDrop, Work
from deltaarrow.operations.optimize import Progress, RewritingOptions, mapping_removal
from deltaarrow.table.statement_target import StatementTarget

__all__ = ["FeatureDropper"]


class FeatureDropper:
    """Drops features of one table, which moves to the version of each commit.

    Args:
        table: the table.
    """

    def __init__(self, table: StatementTarget) -> None:
        self.table = table

    def drop_feature(
        self,
        feature: str,
        truncate_history: bool = False,
        *,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
        progress: Progress | None = None,
        dry_run: bool = False,
    ) -> DropFeaturePlan | None:
        """Drop a table feature, like Spark's ``ALTER TABLE ... DROP FEATURE``.

        First, commits remove what uses the feature: files with deletion vectors are rewritten, for example.
        The last commit takes the feature from the protocol, which falls back to the lowest versions that
        are left. If readers must know the feature, older versions still need it. They are then guarded by
        checkpoints and by the feature ``checkpointProtection``, or, with `truncate_history`, deleted.
        A call that was interrupted can be repeated.

        Args:
            feature: the name of the feature, as a string or as one of `TableFeatures`.
            truncate_history: whether the older versions are deleted, as ``TRUNCATE HISTORY`` does. A call
                that finds the feature in use removes it and raises; a call after
                ``delta.dropFeatureTruncateHistory.retentionDuration`` (24 hours) then drops it.
            commit_properties: metadata and options of the commits.
            post_commithook_properties: hooks that run after each commit.
            progress: is called with the bytes that are rewritten and those to rewrite in all.
            dry_run: whether to return what would be done, and do nothing.

        Returns:
            a `DropFeaturePlan` with `dry_run`, None otherwise.

        Raises:
            FeatureDropError: the feature cannot be dropped, or not yet; its `error_class` is Spark's.
            UnsupportedFeatureError: this release does not drop the feature.
            SchemaMismatchError: without column mapping, the name of a column would not be allowed.
            CommitFailedError: another writer was first at every attempt, or the commits conflict.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable
        >>> schema, vectors = pa.schema([("id", pa.int64())]), {"delta.enableDeletionVectors": "true"}
        >>> table = DeltaTable.create(tempfile.mkdtemp(), schema, configuration=vectors)
        >>> table.alter.drop_feature("deletionVectors")
        >>> table.protocol().writer_features
        ['invariants', 'appendOnly', 'checkpointProtection']
        """
        drop = FeatureDrop(self.table.snapshot, str(feature), truncate_history)
        if dry_run:
            return drop.plan()
        options = RewritingOptions(
            commit_properties=commit_properties, hook_properties=post_commithook_properties
        )
        try:
            drop.run(Work(options, progress=progress or (lambda done, total: None)))
        finally:
            # Commits before the one that failed stay.
            self.table.follow_commit()
        return None

    def _remove_mapping(
        self,
        commit_properties: CommitProperties | None,
        hook_properties: PostCommitHookProperties | None,
        *,
        keep_mode: bool,
        is_last: bool,
    ) -> None:
        """End column mapping; unless the commit is the last one, it records no progress of applications."""
        options = RewritingOptions(commit_properties=commit_properties, hook_properties=hook_properties)
        given = options if is_last else options.after_a_commit()
        mapping_removal(self.table.snapshot, given, keep_mode=keep_mode).run()
        self.table.follow_commit()
