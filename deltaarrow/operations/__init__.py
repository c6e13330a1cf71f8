"""What changes a table: every operation plans, lets tasks write files, and commits once."""

from deltaarrow.operations.commit_properties import (
    CommitProperties,
    PostCommitHookProperties,
    Transaction,
)
from deltaarrow.operations.constraints import add_constraint, drop_constraint
from deltaarrow.operations.create import NewTable, create_table, is_table
from deltaarrow.operations.log_maintenance import cleanup_metadata, compact_logs, create_checkpoint
from deltaarrow.operations.transaction import begin_transaction
from deltaarrow.operations.write import WriteResult, stage_write, write_table
from deltaarrow.operations.write_options import WriteOptions, parse_spark_options

__all__ = [
    "CommitProperties",
    "NewTable",
    "PostCommitHookProperties",
    "Transaction",
    "WriteOptions",
    "WriteResult",
    "add_constraint",
    "begin_transaction",
    "cleanup_metadata",
    "compact_logs",
    "create_checkpoint",
    "create_table",
    "drop_constraint",
    "is_table",
    "parse_spark_options",
    "stage_write",
    "write_table",
]
