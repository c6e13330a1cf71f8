"""Operations that change a table: every operation plans, lets tasks write files, and commits once."""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.operations.alter.cluster_by import cluster_by as cluster_by
    from deltaarrow.operations.alter.column_changes import (
        ColumnChange as ColumnChange,
        change_columns as change_columns,
        drop_not_null as drop_not_null,
        set_column_metadata as set_column_metadata,
    )
    from deltaarrow.operations.alter.column_paths import parse_path as parse_path
    from deltaarrow.operations.alter.column_replacement import replace_columns as replace_columns
    from deltaarrow.operations.alter.columns import (
        add_columns as add_columns,
        drop_columns as drop_columns,
        rename_column as rename_column,
    )
    from deltaarrow.operations.alter.constraints import (
        add_constraints as add_constraints,
        drop_constraint as drop_constraint,
    )
    from deltaarrow.operations.alter.metadata_changes import (
        Alteration as Alteration,
        add_features as add_features,
        commit_alteration as commit_alteration,
        set_description as set_description,
        set_domain as set_domain,
        set_name as set_name,
        set_properties as set_properties,
        unset_properties as unset_properties,
    )
    from deltaarrow.operations.analysis import (
        AnalysisPlan as AnalysisPlan,
        analyze_files as analyze_files,
        plan_analysis as plan_analysis,
    )
    from deltaarrow.operations.auto_compaction import auto_compaction_hook as auto_compaction_hook
    from deltaarrow.operations.clone import (
        CloneOptions as CloneOptions,
        ClonePlan as ClonePlan,
        clone_table as clone_table,
        plan_clone as plan_clone,
    )
    from deltaarrow.operations.commit.log_maintenance import (
        cleanup_metadata as cleanup_metadata,
        compact_logs as compact_logs,
        create_checkpoint as create_checkpoint,
    )
    from deltaarrow.operations.commit.symlink_manifests import (
        generate_manifests as generate_manifests,
        update_manifests as update_manifests,
    )
    from deltaarrow.operations.commit.transaction_start import begin_transaction as begin_transaction
    from deltaarrow.operations.define.clustering_domain import clustering_columns as clustering_columns
    from deltaarrow.operations.define.create import (
        NewTable as NewTable,
        create_table as create_table,
        is_table as is_table,
    )
    from deltaarrow.operations.define.drop_table import drop_table as drop_table, plan_drop as plan_drop
    from deltaarrow.operations.define.write_evolution import evolve_for_values as evolve_for_values
    from deltaarrow.operations.define.write_options import (
        SPARK_OPTIONS as SPARK_OPTIONS,
        StreamEpoch as StreamEpoch,
        WriteOptions as WriteOptions,
        parse_spark_options as parse_spark_options,
    )
    from deltaarrow.operations.dml import (
        RowOperation as RowOperation,
        change_found_rows as change_found_rows,
        delete_rows as delete_rows,
        explain_merge as explain_merge,
        merge_rows as merge_rows,
        replace_rows as replace_rows,
        update_rows as update_rows,
    )
    from deltaarrow.operations.repair import repair_table as repair_table
    from deltaarrow.operations.restore import (
        RestorePlan as RestorePlan,
        plan_restore as plan_restore,
        restore_table as restore_table,
    )
    from deltaarrow.operations.rows.high_water_marks import sync_identity as sync_identity
    from deltaarrow.operations.vacuum import VacuumOptions as VacuumOptions, vacuum_files as vacuum_files
    from deltaarrow.operations.write.definition import (
        Definition as Definition,
        define_table as define_table,
        like_table as like_table,
        make_table as make_table,
    )
    from deltaarrow.operations.write.distributed_write import DistributedWrite as DistributedWrite
    from deltaarrow.operations.write.file_commit import commit_files as commit_files
    from deltaarrow.operations.write.place import Place as Place
    from deltaarrow.operations.write.planned_write import WriteResult as WriteResult
    from deltaarrow.operations.write.query_columns import (
        assigned_rows as assigned_rows,
        cast_rows as cast_rows,
    )
    from deltaarrow.operations.write.truncate import truncate_table as truncate_table
    from deltaarrow.operations.write.write import (
        completed_rows as completed_rows,
        find_table as find_table,
        stage_write as stage_write,
        write_table as write_table,
    )
    from deltaarrow.operations.write.write_task import WriteTask as WriteTask, WrittenRows as WrittenRows
    from deltaarrow.transaction import (
        AutoCompaction as AutoCompaction,
        CommitProperties as CommitProperties,
        PostCommitHookProperties as PostCommitHookProperties,
        Transaction as Transaction,
        given_properties as given_properties,
    )

__getattr__ = lazy_package(__name__)
