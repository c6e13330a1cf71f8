"""What changes a table: every operation plans, lets tasks write files, and commits once."""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_attributes

if TYPE_CHECKING:
    from deltaarrow.operations.alteration import (
        Alteration,
        add_features,
        commit_alteration,
        set_description,
        set_domain,
        set_name,
        set_properties,
        unset_properties,
    )
    from deltaarrow.operations.clustering import cluster_by
    from deltaarrow.operations.clustering_domain import clustering_columns
    from deltaarrow.operations.columns import (
        add_columns,
        drop_columns,
        drop_not_null,
        rename_column,
        set_column_metadata,
    )
    from deltaarrow.operations.commit_properties import (
        CommitProperties,
        PostCommitHookProperties,
        Transaction,
    )
    from deltaarrow.operations.constraints import add_constraint, drop_constraint
    from deltaarrow.operations.create import NewTable, create_table, is_table
    from deltaarrow.operations.distributed_write import DistributedWrite
    from deltaarrow.operations.dml import (
        RowOperation,
        delete_rows,
        explain_merge,
        merge_rows,
        update_rows,
    )
    from deltaarrow.operations.identity import sync_identity
    from deltaarrow.operations.log_maintenance import cleanup_metadata, compact_logs, create_checkpoint
    from deltaarrow.operations.planned_write import WriteResult
    from deltaarrow.operations.transaction import begin_transaction
    from deltaarrow.operations.write import find_table, stage_write, write_table
    from deltaarrow.operations.write_options import SPARK_OPTIONS, WriteOptions, parse_spark_options
    from deltaarrow.operations.write_task import WriteTask, WrittenRows

__all__ = [
    "SPARK_OPTIONS",
    "Alteration",
    "CommitProperties",
    "DistributedWrite",
    "NewTable",
    "PostCommitHookProperties",
    "RowOperation",
    "Transaction",
    "WriteOptions",
    "WriteResult",
    "WriteTask",
    "WrittenRows",
    "add_columns",
    "add_constraint",
    "add_features",
    "begin_transaction",
    "cleanup_metadata",
    "cluster_by",
    "clustering_columns",
    "commit_alteration",
    "compact_logs",
    "create_checkpoint",
    "create_table",
    "delete_rows",
    "drop_columns",
    "drop_constraint",
    "drop_not_null",
    "explain_merge",
    "find_table",
    "is_table",
    "merge_rows",
    "parse_spark_options",
    "rename_column",
    "set_column_metadata",
    "set_description",
    "set_domain",
    "set_name",
    "set_properties",
    "stage_write",
    "sync_identity",
    "unset_properties",
    "update_rows",
    "write_table",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "Alteration": "deltaarrow.operations.alteration",
        "CommitProperties": "deltaarrow.operations.commit_properties",
        "DistributedWrite": "deltaarrow.operations.distributed_write",
        "NewTable": "deltaarrow.operations.create",
        "PostCommitHookProperties": "deltaarrow.operations.commit_properties",
        "RowOperation": "deltaarrow.operations.dml",
        "SPARK_OPTIONS": "deltaarrow.operations.write_options",
        "Transaction": "deltaarrow.operations.commit_properties",
        "WriteOptions": "deltaarrow.operations.write_options",
        "WriteResult": "deltaarrow.operations.planned_write",
        "WriteTask": "deltaarrow.operations.write_task",
        "WrittenRows": "deltaarrow.operations.write_task",
        "add_columns": "deltaarrow.operations.columns",
        "add_constraint": "deltaarrow.operations.constraints",
        "add_features": "deltaarrow.operations.alteration",
        "begin_transaction": "deltaarrow.operations.transaction",
        "cleanup_metadata": "deltaarrow.operations.log_maintenance",
        "cluster_by": "deltaarrow.operations.clustering",
        "clustering_columns": "deltaarrow.operations.clustering_domain",
        "commit_alteration": "deltaarrow.operations.alteration",
        "compact_logs": "deltaarrow.operations.log_maintenance",
        "create_checkpoint": "deltaarrow.operations.log_maintenance",
        "create_table": "deltaarrow.operations.create",
        "delete_rows": "deltaarrow.operations.dml",
        "drop_columns": "deltaarrow.operations.columns",
        "drop_constraint": "deltaarrow.operations.constraints",
        "drop_not_null": "deltaarrow.operations.columns",
        "explain_merge": "deltaarrow.operations.dml",
        "find_table": "deltaarrow.operations.write",
        "is_table": "deltaarrow.operations.create",
        "merge_rows": "deltaarrow.operations.dml",
        "parse_spark_options": "deltaarrow.operations.write_options",
        "rename_column": "deltaarrow.operations.columns",
        "set_column_metadata": "deltaarrow.operations.columns",
        "set_description": "deltaarrow.operations.alteration",
        "set_domain": "deltaarrow.operations.alteration",
        "set_name": "deltaarrow.operations.alteration",
        "set_properties": "deltaarrow.operations.alteration",
        "stage_write": "deltaarrow.operations.write",
        "sync_identity": "deltaarrow.operations.identity",
        "unset_properties": "deltaarrow.operations.alteration",
        "update_rows": "deltaarrow.operations.dml",
        "write_table": "deltaarrow.operations.write",
    },
)
