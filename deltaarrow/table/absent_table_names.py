"""`TellingTableNames`: the replacement of each name that `DeltaTable` and its helpers do not have.

Scripts that move over from delta-spark, older releases of ``deltalake`` or data frame libraries look for the
names that they know there.
"""

from collections.abc import Mapping
from typing import ClassVar

from deltaarrow.display.absent_names import TellingNames

__all__ = ["TellingTableNames"]


class TellingTableNames(TellingNames):
    """The base of the classes of a table whose error for an absent name says what to use.

    >>> from deltaarrow import DeltaTable
    >>> DeltaTable.forPath
    Traceback (most recent call last):
    AttributeError: DeltaTable has no attribute 'forPath'; use DeltaTable(path)
    """

    _instead_of: ClassVar[Mapping[str, str]] = {
        # delta-spark
        "forPath": "DeltaTable(path)",
        "forName": "DeltaTable(path), or deltaarrow.connect() for names of tables",
        "isDeltaTable": "DeltaTable.is_deltatable(path)",
        "convertToDelta": "convert_to_deltalake(path)",
        "createIfNotExists": "DeltaTable.create(path, schema, mode='ignore')",
        "createOrReplace": "DeltaTable.create(path, schema, mode='overwrite')",
        "replace": "DeltaTable.create(path, schema, mode='overwrite')",
        "toDF": "to_pandas(), to_polars() or to_pyarrow_table()",
        "alias": "the arguments source_alias and target_alias of merge()",
        "restoreToVersion": "restore(version)",
        "restoreToTimestamp": "restore(time)",
        "cloneAtVersion": "DeltaTable(path, version=version).clone(target)",
        "cloneAtTimestamp": "DeltaTable(path, version=time).clone(target)",
        "upgradeTableProtocol": "alter.add_feature(feature)",
        "addFeatureSupport": "alter.add_feature(feature)",
        "dropFeatureSupport": "alter.drop_feature(feature)",
        "withSchemaEvolution": "merge(..., merge_schema=True)",
        "executeCompaction": "optimize.compact()",
        "executeZOrderBy": "optimize.z_order([column, ...])",
        # older releases of deltalake
        "files": "file_uris()",
        "files_by_partitions": "file_uris(file_pruning_predicate=filters)",
        "load_version": "load_as_version(version)",
        "load_with_datetime": "load_as_version(time)",
        "pyarrow_schema": "schema().to_arrow()",
        "from_data_catalog": "DeltaTable(path)",
        "file_paths": "file_uris()",
        "get_earliest_version": "history()[-1]['version']",
        "get_latest_version": "DeltaTable(path).version()",
        "get_num_index_cols": "metadata().configuration.get('delta.dataSkippingNumIndexedCols')",
        "get_stats_columns": "metadata().configuration.get('delta.dataSkippingStatsColumns')",
        "transaction_versions": "transaction_version(app_id)",
        # data frame libraries
        "append": "write_deltalake(table, data, mode='append')",
        "insert": "write_deltalake(table, data, mode='append')",
        "upsert": "merge(data, predicate).when_matched_update_all().when_not_matched_insert_all().execute()",
        "write": "write_deltalake(table, data, mode='append')",
        "overwrite": "write_deltalake(table, data, mode='overwrite')",
        "columns": "schema().names",
        "dtypes": "schema().fields",
        "num_rows": "count()",
        "path": "table_uri",
        "uri": "table_uri",
        "read": "to_pyarrow_table()",
        "collect": "to_pyarrow_table()",
        "head": "to_pyarrow_dataset().head(rows)",
        "filter": "to_pyarrow_table(filters=condition)",
        "where": "to_pyarrow_table(filters=condition)",
        "select": "to_pyarrow_table(columns=names)",
        "show": "to_pandas() or to_pyarrow_table()",
        "describe": "detail()",
        "as_of": "load_as_version(version)",
        "to_duckdb": "deltaarrow.register(connection, name, table)",
        "to_arrow": "to_pyarrow_table()",
        "to_df": "to_pandas() or to_polars()",
        "to_lazy": "deltaarrow.scan_delta(path)",
        "query": "deltaarrow.connect().sql(query)",
        "sql": "deltaarrow.connect().sql(query)",
        "rename_column": "alter.rename_column(old, new)",
        "add_column": "alter.add_columns(fields)",
        "add_columns": "alter.add_columns(fields)",
        "drop_column": "alter.drop_columns(names)",
        "drop_columns": "alter.drop_columns(names)",
        "add_constraint": "alter.add_constraint({name: condition})",
        "set_table_properties": "alter.set_table_properties({name: value})",
        "compact": "optimize.compact()",
        "z_order": "optimize.z_order([column, ...])",
    }
