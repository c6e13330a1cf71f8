"""Mistakes of a first hour: the error says what is wrong, where, and what to do.

Each case is what a user of deltalake, delta-spark, Polars or pandas does by mistake. Its error scores two
points if the message tells all three, one if it only tells what is wrong, none if it misleads or is another
library's.
"""

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import deltaarrow as da
from deltaarrow import DeltaTable, Field, write_deltalake
from deltaarrow.errors import (
    ChangeDataNotRecordedError,
    ConcurrentDeleteReadException,
    ConstraintViolationError,
    CorruptDataFileError,
    DeltaError,
    FeatureDropError,
    InvalidPredicateError,
    InvalidTablePropertyError,
    MissingDependencyError,
    SchemaMismatchError,
    StorageError,
    TableNotFoundError,
    UnsupportedFeatureError,
    VacuumError,
    VersionExistsError,
    VersionNotFoundError,
)

ROWS = pa.table({"id": [1, 2, 3], "day": ["a", "b", "b"], "price": [1.0, 2.0, None]})
LEAST = 1.8
OF_OTHERS = re.compile(r"\x1b|sqlglot|<class|stored expression|Traceback|Errno")
"""What no message may have: colour codes, classes of parsers, words for insiders."""


@dataclass
class Lake:
    """Folders in which mistakes are made; no mistake changes a table."""

    root: Path
    s3: dict[str, str]

    @property
    def orders(self) -> DeltaTable:
        """A table with the columns id, day and price."""
        return DeltaTable(self.root / "lake" / "orders")

    def at(self, name: str) -> str:
        return str(self.root / name)

    def merge(self, predicate: str = "target.id = source.id", source: Any = ROWS) -> Any:
        return self.orders.merge(source, predicate, source_alias="source", target_alias="target")

    def append(self, data: Any, **options: Any) -> Any:
        return write_deltalake(self.at("lake/orders"), data, mode="append", **options)

    def on_s3(self, place: str, **options: str) -> DeltaTable:
        return DeltaTable(f"s3://{place}", storage_options={**self.s3, **options})


@pytest.fixture(scope="module")
def lake(tmp_path_factory, s3_options):
    made = Lake(tmp_path_factory.mktemp("mistakes"), s3_options)
    for name in ("lake/orders", "lake/people", "lost", "strange", "strict"):
        write_deltalake(made.at(name), ROWS)
    write_deltalake(made.at("days"), ROWS, partition_by="day")
    write_deltalake(made.at("appended"), ROWS, configuration={"delta.appendOnly": "true"})
    os.remove(DeltaTable(made.at("lost")).file_uris()[0])
    for name in ("empty", "plain", "hive/day=a", "iceberg/metadata"):
        (made.root / name).mkdir(parents=True)
    for name in ("plain/a.parquet", "hive/day=a/a.parquet"):
        pq.write_table(ROWS, made.root / name)
    (made.root / "iceberg/metadata/v1.metadata.json").write_text("{}")
    (made.root / "rows.csv").write_text("id\n1\n")
    strict = pa.schema([pa.field("id", pa.int64(), nullable=False), ("price", pa.float64())])
    DeltaTable.create(made.at("strict"), strict, mode="overwrite")
    DeltaTable(made.at("strict")).alter.add_constraint({"priced": "price > 0"})
    _rename_feature(made.root / "strange" / "_delta_log" / f"{0:020d}.json")
    write_deltalake(f"s3://{BUCKET}/lake/orders", ROWS, mode="overwrite", storage_options=s3_options)
    return made


BUCKET = "deltaarrow-tests"


def _rename_feature(commit: Path) -> None:
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    features = ["quantumRows"]
    new = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": features,
        "writerFeatures": features,
    }
    lines = [{"protocol": new} if "protocol" in action else action for action in actions]
    commit.write_text("\n".join(map(json.dumps, lines)))


def in_conflict(lake: Lake) -> None:
    """Delete the same row from two tables opened at one version."""
    place = lake.at("conflicts")
    write_deltalake(place, ROWS, mode="overwrite")
    first, second = DeltaTable(place), DeltaTable(place)
    first.delete("id = 1")
    second.delete("id = 1")


@dataclass
class Mistake:
    """What a user does, and what the error must tell: parts of the message."""

    name: str
    does: Callable[[Lake], Any]
    error: type[Exception]
    what: str
    where: str
    remedy: str
    score: int = 2


PLACES = [
    Mistake("path_missing", lambda lake: DeltaTable(lake.at("nowhere/orders")), TableNotFoundError,
            "is not a Delta table: there is no such folder", "nowhere/orders", "of the path there is only"),
    Mistake("path_misspelt", lambda lake: DeltaTable(lake.at("lake/order")), TableNotFoundError,
            "there is no such folder", "lake/order", "did you mean orders?"),
    Mistake("path_new", lambda lake: DeltaTable(lake.at("lake/xyz")), TableNotFoundError,
            "there is no such folder", "lake/xyz", "write_deltalake and DeltaTable.create make a table"),
    Mistake("plain_parquet", lambda lake: DeltaTable(lake.at("plain")), TableNotFoundError,
            "it has Parquet files and no _delta_log", "/plain", "convert_to_deltalake('"),
    Mistake("plain_parquet_in_partitions", lambda lake: DeltaTable(lake.at("hive")), TableNotFoundError,
            "it has Parquet files and no _delta_log", "/hive", "convert_to_deltalake('"),
    Mistake("iceberg", lambda lake: DeltaTable(lake.at("iceberg")), TableNotFoundError,
            "it is an Iceberg table", "/iceberg", "convert_to_deltalake('"),
    Mistake("level_up", lambda lake: DeltaTable(lake.at("lake")), TableNotFoundError,
            "the tables are in its folders orders, people", "/lake", "such as "),
    Mistake("level_down", lambda lake: DeltaTable(lake.at("days/day=a")), TableNotFoundError,
            "it is inside the table", "/days", "open that with a filter on day"),
    Mistake("the_log", lambda lake: DeltaTable(lake.at("lake/orders/_delta_log")), TableNotFoundError,
            "it is inside the table", "/lake/orders", "open that"),
    Mistake("file_of_a_table", lambda lake: DeltaTable(lake.orders.file_uris()[0]), TableNotFoundError,
            "it is a file of the table", "lake/orders", "open that folder"),
    Mistake("file", lambda lake: DeltaTable(lake.at("plain/a.parquet")), TableNotFoundError,
            "it is a file, and a table is a folder", "a.parquet", "pyarrow.parquet.read_table"),
    Mistake("file_of_csv", lambda lake: DeltaTable(lake.at("rows.csv")), TableNotFoundError,
            "it is a file, and a table is a folder", "rows.csv", "pyarrow.csv.read_csv"),
    Mistake("folder_empty", lambda lake: DeltaTable(lake.at("empty")), TableNotFoundError,
            "the folder is empty", "/empty", "write_deltalake and DeltaTable.create make a table"),
    Mistake("polars_on_plain_parquet", lambda lake: da.scan_delta(lake.at("plain")), TableNotFoundError,
            "it has Parquet files", "/plain", "convert_to_deltalake('"),
    Mistake("sql_on_a_level_up", lambda lake: da.connect().sql(f"SELECT * FROM delta.'{lake.at('lake')}'"),
            TableNotFoundError, "the tables are in its folders", "/lake", "open one of them"),
    Mistake("frame_as_path", lambda lake: DeltaTable(ROWS), TypeError,
            "must be text or a path, not Table", "place of a table", "DeltaTable(path)"),
    Mistake("arguments_swapped", lambda lake: write_deltalake(ROWS, lake.at("new")), TypeError,
            "must be text or a path, not Table", "it comes first", "write_deltalake(path, data)"),
    Mistake("path_none", lambda lake: DeltaTable(None), TypeError,
            "must be text or a path, not NoneType", "place of a table", "DeltaTable(path)"),
]  # fmt: skip

STORES = [
    Mistake("bucket_missing", lambda lake: lake.on_s3("no-such-bucket/t"), TableNotFoundError,
            "bucket does not exist", "s3://no-such-bucket/t", "check the name of the bucket"),
    Mistake("path_misspelt_on_s3", lambda lake: lake.on_s3(f"{BUCKET}/lake/order"), TableNotFoundError,
            "there is no such folder", f"s3://{BUCKET}/lake", "did you mean orders?"),
    Mistake("level_up_on_s3", lambda lake: lake.on_s3(f"{BUCKET}/lake"), TableNotFoundError,
            "the tables are in its folders orders", f"s3://{BUCKET}/lake", "such as s3://"),
    Mistake("endpoint_wrong",
            lambda lake: lake.on_s3("b/t", AWS_ENDPOINT_URL="http://127.0.0.1:9", max_retries="0"),
            StorageError,
            "Could not connect to the endpoint", "'s3://b/t'", "check AWS_ENDPOINT_URL"),
    Mistake("profile_wrong", lambda lake: DeltaTable("s3://b/t", storage_options={"AWS_PROFILE": "nope"}),
            StorageError, "profile (nope) could not be found", "'s3://b/t'", "check AWS_PROFILE"),
    Mistake("option_misspelt", lambda lake: lake.on_s3("b/t", AWS_ACESS_KEY_ID="k"), StorageError,
            "unknown storage option", "'AWS_ACESS_KEY_ID'", "did you mean `AWS_ACCESS_KEY_ID`"),
    Mistake("client_option_misspelt", lambda lake: lake.on_s3("b/t", time_out="30s"), StorageError,
            "unknown storage option", "'time_out'", "did you mean `timeout`"),
    Mistake("time_without_unit", lambda lake: lake.on_s3("b/t", timeout="soon"), StorageError,
            "must be a time", "'timeout'", "such as '30s'"),
    Mistake("option_of_http2", lambda lake: lake.on_s3("b/t", http2_only="true"), StorageError,
            "cannot be followed", "'http2_only'", "HTTP/1.1 only"),
    Mistake("options_as_text", lambda lake: DeltaTable("s3://b/t", storage_options="region=x"), TypeError,
            "not str", "storage_options", "must be a dict of names and values"),
]  # fmt: skip

OTHER_STORES = [
    Mistake("scheme_misspelt", lambda lake: DeltaTable("s3s://bucket/t"), StorageError,
            "no store has the scheme s3s://", "'s3s://bucket/t'", "did you mean `s3`"),
    Mistake("scheme_of_opendal", lambda lake: DeltaTable("opendal+s3://bucket/t"), StorageError,
            "no store has the scheme opendal+s3://", "'opendal+s3://bucket/t'", "did you mean `s3`"),
    Mistake("library_missing", lambda lake: DeltaTable("oss://bucket/t"),
            MissingDependencyError, "needs a library that is not installed", "oss://", "nstall ossfs"),
    Mistake("option_of_another_store_misspelt",
            lambda lake: DeltaTable("local:///t", storage_options={"auto_mkdri": "true"}), StorageError,
            "unknown storage option", "'auto_mkdri' of local://", "did you mean `auto_mkdir`"),
]  # fmt: skip

COLUMNS = [
    Mistake("select", lambda lake: lake.orders.to_pyarrow_table(columns=["idd"]), SchemaMismatchError,
            "no column `idd`", "in the table", "did you mean `id`?"),
    Mistake("select_with_a_blank",
            lambda lake: lake.orders.to_pandas(columns=["price "]), SchemaMismatchError,
            "no column `price `", "in the table", "did you mean `price`?"),
    Mistake("filter_tuple", lambda lake: lake.orders.to_pyarrow_table(filters=[("pric", "=", 1)]),
            InvalidPredicateError, "no column `pric`", "(columns: id, day, price)", "did you mean `price`?"),
    Mistake("filter_text",
            lambda lake: lake.orders.to_pyarrow_table(filters="pric = 1"), InvalidPredicateError,
            "no column `pric`", "in the table", "did you mean `price`?"),
    Mistake("dataset", lambda lake: lake.orders.to_pyarrow_dataset().to_table(columns=["pric"]),
            SchemaMismatchError, "no column `pric`", "in the table", "did you mean `price`?"),
    Mistake("delete", lambda lake: lake.orders.delete("pric > 1"), SchemaMismatchError,
            "no column `pric`", "in the table", "did you mean `price`?"),
    Mistake("update_unknown", lambda lake: lake.orders.update({"pric": "1"}), SchemaMismatchError,
            "no column `pric`", "(columns: id, day, price)", "did you mean `price`?"),
    Mistake("update_by_unknown", lambda lake: lake.orders.update({"price": "pric + 1"}), SchemaMismatchError,
            "no column `pric`", "in the table", "did you mean `price`?"),
    Mistake("partition_by", lambda lake: write_deltalake(lake.at("new"), ROWS, partition_by=["dya"]),
            SchemaMismatchError, "no column `dya`", "(columns: id, day, price)", "did you mean `day`?"),
    Mistake("z_order", lambda lake: lake.orders.optimize.z_order(["dya"]), SchemaMismatchError,
            "no column `dya`", "(columns: id, day, price)", "did you mean `day`?"),
    Mistake("z_order_by_partition", lambda lake: DeltaTable(lake.at("days")).optimize.z_order(["day"]),
            SchemaMismatchError, "is a partition column", "'day'", "z-order by others"),
    Mistake("drop_column", lambda lake: lake.orders.alter.drop_columns(["pric"]), SchemaMismatchError,
            "no column `pric`", "(columns: id, day, price)", "did you mean `price`?"),
    Mistake("add_column_twice", lambda lake: lake.orders.alter.add_columns(Field("id", "long")),
            SchemaMismatchError, "exists already", "'id'", "choose another name"),
    Mistake("rename_without_mapping", lambda lake: lake.orders.alter.rename_column("price", "cost"),
            UnsupportedFeatureError, "columns can be renamed only", "column mapping",
            "delta.columnMapping.mode"),
    Mistake("type_of_arrow", lambda lake: Field("id", "int64"), UnsupportedFeatureError,
            "is not supported", "'int64'", "did you mean `long`?"),
    Mistake("compact_by_no_partition",
            lambda lake: lake.orders.optimize.compact(partition_filters=[("id", "=", "1")]),
            InvalidPredicateError,
            "not a partition column", "id: ", "filter other columns with"),
]  # fmt: skip

MERGES = [
    Mistake("predicate_column",
            lambda lake: lake.merge("target.idd = source.id").when_matched_delete().execute(),
            SchemaMismatchError, "no column `idd`", "in target", "did you mean `id`?"),
    Mistake("alias", lambda lake: lake.merge("t.id = source.id").when_matched_delete().execute(),
            SchemaMismatchError, "no table is called `t`", "`t.id`", "write target or source before the dot"),
    Mistake("set_column",
            lambda lake: lake.merge().when_matched_update({"pric": "source.price"}).execute(),
            SchemaMismatchError, "no column `pric`", "(columns: id, day, price)", "did you mean `price`?"),
    Mistake("value_column",
            lambda lake: lake.merge().when_matched_update({"price": "source.pric"}).execute(),
            SchemaMismatchError, "no column `pric`", "in source", "did you mean `price`?"),
    Mistake("ambiguous", lambda lake: lake.merge("id = source.id").when_matched_delete().execute(),
            SchemaMismatchError, "is a column of target and source", "'id'", "as in target.id"),
    Mistake("duplicate_keys",
            lambda lake: lake.merge(source=pa.concat_tables([ROWS, ROWS])).when_matched_update_all()
                .execute(),
            UnsupportedFeatureError, "several rows of the source match one row",
            "id = 1: 2 rows; id = 2: 2 rows", "remove duplicate keys"),
    Mistake("no_clause", lambda lake: lake.merge().execute(), ValueError,
            "has no clause", "the merge", "when_matched_update_all()"),
    Mistake("source_is_a_path", lambda lake: lake.merge(source="people").when_matched_delete().execute(),
            TypeError, "not understood as data", "str", "DeltaTable(path)"),
    Mistake("source_is_a_list_of_tuples",
            lambda lake: lake.merge(source=[(1,)]).when_matched_delete().execute(), TypeError,
            "not understood as a record batch", "tuple", "a list of dictionaries"),
    Mistake("source_lacks_columns",
            lambda lake: lake.merge(source=ROWS.select(["id"])).when_matched_update_all().execute(),
            SchemaMismatchError, "the source has no column", "'day', 'price'", "merge_schema=True"),
]  # fmt: skip

CONDITIONS = [
    Mistake("operator_twice", lambda lake: lake.orders.delete("id = = 3"), UnsupportedFeatureError,
            "an operand is missing", "at character 6", "\n  id = = 3\n       ^"),
    Mistake("and_of_java", lambda lake: lake.orders.delete("id > 1 && price < 2"), UnsupportedFeatureError,
            "`&&` is not expected here", "at character 8", "write AND"),
    Mistake("unclosed", lambda lake: lake.orders.delete("id > (1"), UnsupportedFeatureError,
            "a ) is missing", "at character 7", "\n  id > (1\n        ^"),
    Mistake("quote_unclosed", lambda lake: lake.orders.delete("day = 'a"), UnsupportedFeatureError,
            "a ' is not closed", "at character 7", "\n  day = 'a\n        ^"),
    Mistake("operand_missing", lambda lake: lake.orders.to_pyarrow_table(filters="id >"), DeltaError,
            "an operand is missing", "at character 4", "\n  id >\n     ^"),
    Mistake("where", lambda lake: lake.orders.delete("WHERE id = 1"), UnsupportedFeatureError,
            "`WHERE` is not expected here", "at character 1", "give the condition alone"),
    Mistake("function_misspelt", lambda lake: lake.orders.delete("lenght(day) > 1"), UnsupportedFeatureError,
            "the function LENGHT is not supported", "at character 1", "did you mean `length`"),
    Mistake("no_condition", lambda lake: lake.orders.delete("id"), InvalidPredicateError,
            "is not a condition", "'id'", "long, not boolean"),
    Mistake("column_in_double_quotes", lambda lake: lake.orders.delete('"day" = "a"'), InvalidPredicateError,
            "is a text to Spark SQL, not the column", '"day"', "write `day` in backticks"),
    Mistake("list_of_conditions", lambda lake: lake.orders.delete(["id = 1"]), TypeError,
            "not list", "a condition", "is SQL text"),
    Mistake("one_tuple",
            lambda lake: lake.orders.to_pyarrow_table(filters=("id", "=", 1)), InvalidPredicateError,
            "a filter must be (column, operator, value)", "not 'id'", "such as [('id', '=', 1)"),
    Mistake("tuple_of_two",
            lambda lake: lake.orders.to_pyarrow_table(filters=[("id", 1)]), InvalidPredicateError,
            "a filter must be (column, operator, value)", "not ('id', 1)", "such as [('id', '=', 1)"),
    Mistake("operator_unknown", lambda lake: lake.orders.to_pyarrow_table(filters=[("id", "=>", 1)]),
            InvalidPredicateError, "unknown operator", "'=>'", "use one of"),
    Mistake("number_as_text", lambda lake: lake.orders.to_pyarrow_table(filters=[("id", "=", "x")]),
            InvalidPredicateError, "cannot be compared with 'x'", "column 'id'", "is long"),
    Mistake("condition_as_expression", lambda lake: lake.orders.delete(pc.field("id") == 1), TypeError,
            "a condition is SQL text", "not Expression", 'such as "id > 1"'),
    Mistake("update_as_text", lambda lake: lake.orders.update("price = 1"), TypeError,
            "an update takes a dict", "'price = 1'", "such as {'price': 'price + 1'}"),
    Mistake("text_without_quotes", lambda lake: lake.orders.update({"day": "monday"}), SchemaMismatchError,
            "no column `monday`", "in the table", "in single quotes"),
    Mistake("columns_as_text", lambda lake: lake.orders.to_pyarrow_table(columns="id"), TypeError,
            "is a list of names, not str", "columns", "write columns=['id']"),
    Mistake("z_order_as_text", lambda lake: lake.orders.optimize.z_order("id"), ValueError,
            "a list of columns, not a text", "'id'", "write ['id']"),
]  # fmt: skip

CALLS = [
    Mistake("number_as_value", lambda lake: lake.orders.update({"price": 5}), TypeError,
            "a value is SQL text, not int", "such as '5'", "new_values"),
    Mistake("constraint_without_name", lambda lake: lake.orders.alter.add_constraint("id > 0"), TypeError,
            "a constraint has a name", "'id > 0'", "write {'name': 'id > 0'}"),
    Mistake("column_as_text", lambda lake: lake.orders.alter.add_columns(["tax"]), TypeError,
            "must be a Field", "'tax'", "such as Field('price', 'double')"),
    Mistake("history_of_text", lambda lake: lake.orders.history("ten"), TypeError,
            "must be a number of commits", "limit", "not 'ten'"),
    Mistake("frame_as_table", lambda lake: da.scan_delta(pd.DataFrame()), TypeError,
            "not pandas", "a table", "must be a path, a URI or a DeltaTable"),
    Mistake("name_in_sql", lambda lake: da.connect().sql("SELECT * FROM orders"), Exception,
            "Table with name orders does not exist", "^",
            "Name a table by its path, as delta.'/path/of/orders'"),
    Mistake("path_in_sql", lambda lake: da.connect().sql("SELECT * FROM 'lake/orders'"), Exception,
            "Table with name lake/orders does not exist", "^", "as delta.'lake/orders'"),
]  # fmt: skip

VERSIONS = [
    Mistake("future", lambda lake: DeltaTable(lake.at("lake/orders"), version=9), VersionNotFoundError,
            "does not exist", "version 9", "the log holds the versions 0 to 0"),
    Mistake("negative", lambda lake: DeltaTable(lake.at("lake/orders"), version=-1), VersionNotFoundError,
            "does not exist", "version -1", "the log holds the versions 0 to 0"),
    Mistake("text", lambda lake: DeltaTable(lake.at("lake/orders"), version="1"), ValueError,
            "is not a time in ISO 8601", "'1'", "the number of a version is an int: 1"),
    Mistake("time_of_another_form", lambda lake: DeltaTable(lake.at("lake/orders"), version="01/02/2024"),
            ValueError, "is not a time in ISO 8601", "'01/02/2024'", "such as '2026-01-31'"),
    Mistake("float", lambda lake: DeltaTable(lake.at("lake/orders"), version=1.0), TypeError,
            "not float", "a version", "must be an int, an ISO 8601 text, a datetime or a date"),
    Mistake("too_early", lambda lake: DeltaTable(lake.at("lake/orders"), version="2001-01-01"),
            VersionNotFoundError, "no version is as old", "2001-01-01", "choose a later time"),
    Mistake("restore", lambda lake: lake.orders.restore(5), VersionNotFoundError,
            "cannot restore", "to version 5", "choose that or an older one"),
    Mistake("change_feed_off", lambda lake: lake.orders.load_cdf(starting_version=0).read_all(),
            ChangeDataNotRecordedError, "the change data feed was off", "in version 0", "begin with a later"),
    Mistake("change_feed_of_the_future", lambda lake: lake.orders.load_cdf(starting_version=7),
            VersionNotFoundError, "does not exist", "version 7", "allow_out_of_range=True"),
    Mistake("files_gone", lambda lake: DeltaTable(lake.at("lost")).to_pyarrow_table(), CorruptDataFileError,
            "VACUUM or another program has deleted it", "the data file part-", "repair()"),
    Mistake("files_gone_for_sql",
            lambda lake: da.connect().sql(f"SELECT sum(id) FROM delta.'{lake.at('lost')}'").fetchall(),
            CorruptDataFileError, "VACUUM or another program has deleted it", "the data file part-",
            "repair()"),
    Mistake("vacuum_too_short", lambda lake: lake.orders.vacuum(retention_hours=1), VacuumError,
            "is less than", "delta.deletedFileRetentionDuration", "enforce_retention_duration=False"),
    Mistake("conflict", in_conflict, ConcurrentDeleteReadException,
            "were removed by version", "(DELETE)", "repeat the operation"),
]  # fmt: skip

WRITES = [
    Mistake("type", lambda lake: lake.append(pa.table({"id": ["x"]})), SchemaMismatchError,
            "has Arrow type string, which does not fit int64", "column 'id'", "cast the data first"),
    Mistake("column_misspelt", lambda lake: lake.append(pa.table({"id": [1], "dya": ["a"]})),
            SchemaMismatchError, "the table has no column", "'dya'", "did you mean `day`?"),
    Mistake("column_new", lambda lake: lake.append(pa.table({"id": [1], "tax": [1]})), SchemaMismatchError,
            "the table has no column", "'tax'", "schema_mode='merge' adds"),
    Mistake("overwrite_of_another_schema",
            lambda lake: write_deltalake(lake.at("lake/orders"), pa.table({"z": ["x"]}), mode="overwrite"),
            SchemaMismatchError, "the table has no column", "'z'", "schema_mode='overwrite' replaces"),
    Mistake("exists", lambda lake: write_deltalake(lake.at("lake/orders"), ROWS), VersionExistsError,
            "is a Delta table already", "lake/orders", "use mode 'append', 'overwrite' or 'ignore'"),
    Mistake("mode", lambda lake: write_deltalake(lake.at("new"), ROWS, mode="overwite"), ValueError,
            "not 'overwite'", "mode", "one of append, overwrite, error, ignore"),
    Mistake("option", lambda lake: lake.append(ROWS, options={"mergeSchem": "true"}), ValueError,
            "unknown option", "'mergeSchem'", "did you mean `mergeSchema`"),
    Mistake("predicate_on_append", lambda lake: lake.append(ROWS, predicate="id = 1"), ValueError,
            "not mode='append'", "predicate", "needs mode='overwrite'"),
    Mistake("rows_beside_the_predicate",
            lambda lake: write_deltalake(lake.at("lake/orders"), ROWS, mode="overwrite", predicate="id = 1"),
            ConstraintViolationError, "2 rows of the data do not fulfil", "id = 1",
            "change the predicate or the data"),
    Mistake("other_partitions",
            lambda lake: write_deltalake(lake.at("days"), ROWS, mode="append", partition_by="id"),
            SchemaMismatchError, "is partitioned by ['day']", "not by ['id']", "schema_mode='overwrite'"),
    Mistake("commit_properties_as_dict", lambda lake: lake.append(ROWS, commit_properties={"reason": "x"}),
            TypeError, "must be CommitProperties, not dict", "commit_properties",
            "CommitProperties(custom_metadata="),
    Mistake("null",
            lambda lake: write_deltalake(lake.at("strict"), pa.table({"id": [1, None]}), mode="append"),
            ConstraintViolationError, "holds NULL", "'id'", "drop_column_not_null"),
    Mistake("required_column_missing",
            lambda lake: write_deltalake(lake.at("strict"), pa.table({"price": [1.0]}), mode="append"),
            ConstraintViolationError, "is missing in the data", "'id'", "add it, or make it nullable"),
    Mistake("check",
            lambda lake: write_deltalake(
                lake.at("strict"), pa.table({"id": [1], "price": [-7.0]}), mode="append"),
            ConstraintViolationError, "CHECK constraint priced", "(price > 0)", "price : -7.0"),
    Mistake("append_only",
            lambda lake: DeltaTable(lake.at("appended")).delete("id = 1"), UnsupportedFeatureError,
            "cannot change rows", "delta.appendOnly", "set delta.appendOnly to false"),
    Mistake("nanoseconds",
            lambda lake: write_deltalake(lake.at("new"), pa.table({"at": pa.array([1], pa.timestamp("ns"))})),
            SchemaMismatchError, "would lose data", "column 'at'", "cast with safe=False"),
    Mistake("time_of_day",
            lambda lake: write_deltalake(lake.at("new"), pa.table({"at": pa.array([1], pa.time64("us"))})),
            UnsupportedFeatureError, "Delta has no type for", "column 'at'", "to text by .cast('string')"),
    Mistake("nulls_only", lambda lake: write_deltalake(lake.at("new"), pa.table({"id": [None]})),
            SchemaMismatchError, "no column", "all columns of the table are void",
            "give a column of NULLs a type"),
    Mistake("two_columns_of_a_name",
            lambda lake: write_deltalake(lake.at("new"), pa.table([[1], [2]], names=["id", "ID"])),
            SchemaMismatchError, "have the same name up to case", "'ID' and 'id'", "rename one"),
    Mistake("dict", lambda lake: write_deltalake(lake.at("new"), {"id": [1]}), TypeError,
            "not understood as data", "dict", "pyarrow.table(...)"),
    Mistake("list_of_tuples", lambda lake: write_deltalake(lake.at("new"), [(1,)]), TypeError,
            "not understood as a record batch", "tuple", "a list of dictionaries"),
    Mistake("path_of_a_file", lambda lake: write_deltalake(lake.at("new"), "rows.parquet"), TypeError,
            "not understood as data", "str", "pyarrow.parquet.read_table(path)"),
    Mistake("series", lambda lake: write_deltalake(lake.at("new"), pd.Series([1])), TypeError,
            "not understood as data", "Series, one array", "give Arrow data"),
    Mistake("array", lambda lake: write_deltalake(lake.at("new"), pd.Series([1]).to_numpy()), TypeError,
            "not understood as data", "numpy.ndarray, one array", "give Arrow data"),
]  # fmt: skip

TABLES = [
    Mistake("property_misspelt",
            lambda lake: lake.orders.alter.set_table_properties({"delta.appendonli": "true"}),
            InvalidTablePropertyError, "there is no table property", "'delta.appendonli'",
            "did you mean `delta.appendOnly`"),
    Mistake("property_of_a_new_table",
            lambda lake: DeltaTable.create(
                lake.at("new"), ROWS.schema, configuration={"delta.enableChangeDataFed": "true"}),
            InvalidTablePropertyError, "there is no table property", "'delta.enableChangeDataFed'",
            "did you mean `delta.enableChangeDataFeed`"),
    Mistake("property_value",
            lambda lake: lake.orders.alter.set_table_properties({"delta.appendOnly": "yes"}),
            InvalidTablePropertyError, "not 'yes'", "delta.appendOnly", "must be a boolean, true or false"),
    Mistake("property_is_no_text",
            lambda lake: lake.orders.alter.set_table_properties({"delta.appendOnly": True}),
            InvalidTablePropertyError, "must be text, not True", "delta.appendOnly", "write 'true'"),
    Mistake("interval",
            lambda lake: lake.orders.alter.set_table_properties({"delta.logRetentionDuration": "30 dayz"}),
            InvalidTablePropertyError, "not '30 dayz'", "delta.logRetentionDuration", "such as '2 weeks'"),
    Mistake("properties_as_text",
            lambda lake: lake.orders.alter.set_table_properties("delta.appendOnly=true"),
            TypeError, "takes a dict of names and texts", "set_table_properties",
            "such as {'delta.appendOnly': 'true'}"),
    Mistake("constraint_unknown",
            lambda lake: DeltaTable(lake.at("strict")).alter.drop_constraint("pricd"),
            InvalidTablePropertyError,
            "has no constraint", "'pricd'", "did you mean `priced`?"),
    Mistake("constraint_is_not_met", lambda lake: lake.orders.alter.add_constraint({"later": "id > 1"}),
            ConstraintViolationError, "1 row of", "lake/orders", "correct or delete these rows first"),
    Mistake("feature_misspelt",
            lambda lake: lake.orders.alter.drop_feature("deletionVector"), FeatureDropError,
            "knows no table feature", "'deletionVector'", "did you mean `deletionVectors`"),
    Mistake("feature_unknown", lambda lake: DeltaTable(lake.at("strange")).to_pyarrow_table(),
            UnsupportedFeatureError, "which this release does not read", "quantumRows",
            "use an engine that does"),
    Mistake("schema_as_dict", lambda lake: DeltaTable.create(lake.at("new"), {"id": "long"}), TypeError,
            "not understood as a schema", "dict", "pyarrow.schema("),
    Mistake("convert_nothing", lambda lake: da.convert_to_deltalake(lake.at("empty")), SchemaMismatchError,
            "has no files to convert", "/empty", "(nothing)", 1),
    Mistake("convert_a_table",
            lambda lake: da.convert_to_deltalake(lake.at("lake/orders")), VersionExistsError,
            "is a Delta table already", "lake/orders", "mode='ignore' leaves it unchanged"),
]  # fmt: skip

NAMES = [
    Mistake("for_path", lambda lake: DeltaTable.forPath, AttributeError,
            "has no attribute 'forPath'", "DeltaTable", "use DeltaTable(path)"),
    Mistake("to_df", lambda lake: lake.orders.toDF, AttributeError,
            "has no attribute 'toDF'", "DeltaTable", "use to_pandas()"),
    Mistake("when_matched", lambda lake: lake.merge().whenMatchedUpdateAll, AttributeError,
            "has no attribute 'whenMatchedUpdateAll'", "TableMerger", "use when_matched_update_all"),
    Mistake("execute_compaction", lambda lake: lake.orders.optimize.executeCompaction, AttributeError,
            "has no attribute 'executeCompaction'", "TableOptimizer", "use optimize.compact()"),
    Mistake("files", lambda lake: lake.orders.files, AttributeError,
            "has no attribute 'files'", "DeltaTable", "use file_uris()"),
    Mistake("load_with_datetime", lambda lake: lake.orders.load_with_datetime, AttributeError,
            "has no attribute 'load_with_datetime'", "DeltaTable", "use load_as_version(time)"),
    Mistake("misspelt", lambda lake: lake.orders.to_panda, AttributeError,
            "has no attribute 'to_panda'", "DeltaTable", "did you mean `to_pandas`?"),
    Mistake("of_frames", lambda lake: lake.orders.filter("id = 1"), AttributeError,
            "has no attribute 'filter'", "DeltaTable", "use to_pyarrow_table(filters=condition)"),
    Mistake("of_duckdb", lambda lake: lake.orders.to_duckdb(), AttributeError,
            "has no attribute 'to_duckdb'", "DeltaTable", "use deltaarrow.register(connection, name, table)"),
    Mistake("of_polars", lambda lake: da.read_delta, AttributeError,
            "has no attribute 'read_delta'", "deltaarrow", "use DeltaTable(path).to_pandas()"),
    Mistake("of_the_package", lambda lake: da.writedeltalake, AttributeError,
            "has no attribute 'writedeltalake'", "module 'deltaarrow'", "did you mean `write_deltalake`?"),
]  # fmt: skip

ALL = {
    f"{chapter}_{each.name}": each
    for chapter, mistakes in {
        "place": PLACES, "store": STORES, "other_store": OTHER_STORES, "column": COLUMNS, "merge": MERGES,
        "condition": CONDITIONS, "call": CALLS,
        "version": VERSIONS, "write": WRITES, "table": TABLES, "name": NAMES,
    }.items()
    for each in mistakes
}  # fmt: skip


def score(message: str, mistake: Mistake) -> int:
    """Two points for what is wrong, where and what to do; one for what is wrong."""
    if OF_OTHERS.search(message) or mistake.what not in message:
        return 0
    return 2 if mistake.where in message and mistake.remedy in message else 1


@pytest.mark.parametrize("mistake", [pytest.param(each, id=name) for name, each in ALL.items()])
def test_the_error_says_what_where_and_what_to_do(lake, mistake):
    with pytest.raises(mistake.error) as raised:
        mistake.does(lake)
    message = str(raised.value)
    assert score(message, mistake) == mistake.score, message


def test_the_mistakes_score_enough():
    """A message without a remedy is worth one point."""
    assert len(ALL) >= 60
    assert sum(each.score for each in ALL.values()) / len(ALL) >= LEAST
