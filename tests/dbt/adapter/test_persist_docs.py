"""Descriptions of tables and columns."""

from dbt.tests.adapter.persist_docs.test_persist_docs import (
    BasePersistDocs,
    BasePersistDocsAllColumnsMissing as TestPersistDocsAllColumnsMissing,
    BasePersistDocsColumnMissing as TestPersistDocsColumnMissing,
    BasePersistDocsCommentOnQuotedColumn as TestPersistDocsCommentOnQuotedColumn,
    BasePersistDocsQuotedColumnCaseSensitive as TestPersistDocsQuotedColumnCaseSensitive,
    BasePersistDocsQuotedDescriptionNotAppliedOnMismatch as TestPersistDocsQuotedDescription,
)


class TestPersistDocs(BasePersistDocs):
    def _assert_has_view_comments(self, view_node, has_node_comments=True, has_column_comments=True):
        """A view of the catalog has no comments."""
        super()._assert_has_view_comments(view_node, has_node_comments=False, has_column_comments=False)
