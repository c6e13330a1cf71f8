"""What changes a table: every operation plans, lets tasks write files, and commits once."""

from deltaarrow.operations.checkpoint import create_checkpoint
from deltaarrow.operations.commit_properties import (
    CommitProperties,
    PostCommitHookProperties,
    Transaction,
)
from deltaarrow.operations.create import NewTable, create_table
from deltaarrow.operations.write import write_table

__all__ = [
    "CommitProperties",
    "NewTable",
    "PostCommitHookProperties",
    "Transaction",
    "create_checkpoint",
    "create_table",
    "write_table",
]
