"""What to use instead of a name that `DeltaTable` and its helpers do not have: `TellingNames`.

Scripts that move over from delta-spark, older releases of ``deltalake`` or data frame libraries look for the
names that they know there.
"""

import re
from typing import TYPE_CHECKING, Any

from deltaarrow.display.near_names import did_you_mean

__all__ = ["TellingNames"]

_USE = {
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
    "get_earliest_version": "history()[-1]['version']",
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
"""Names that users know from elsewhere -> what does the same here."""

_HUMPS = re.compile(r"(?<!^)(?=[A-Z])")


class _TellingClass(type):
    """A class whose error for an absent name says what to use."""

    if not TYPE_CHECKING:  # type checkers shall find absent names themselves

        def __getattr__(cls, name: str) -> Any:
            raise _absent(cls, name)


class TellingNames(metaclass=_TellingClass):
    """The base of classes whose error for an absent name says what to use.

    >>> from deltaarrow import DeltaTable
    >>> DeltaTable.forPath
    Traceback (most recent call last):
    AttributeError: DeltaTable has no attribute 'forPath'; use DeltaTable(path)
    """

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if any(name in vars(each) for each in type(self).__mro__):
                # A property has failed: let its own error be seen.
                return object.__getattribute__(self, name)
            raise _absent(type(self), name)


def _absent(owner: type, name: str) -> AttributeError:
    says = ""
    if not name.startswith("_"):
        own = [each for each in dir(owner) if not each.startswith("_")]
        snake = _HUMPS.sub("_", name).lower()
        if name in _USE:
            says = f"; use {_USE[name]}"
        elif snake in own:
            says = f"; use {snake}"
        else:
            says = did_you_mean(name, own)
    return AttributeError(f"{owner.__name__} has no attribute {name!r}{says}")
