"""Every operation of a table does to one that a catalog manages what it does to one by its path.

The two tables have the same properties and the same history. On the managed table each commit goes through
the catalog, or the operation is refused by name.
"""

import datetime

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, connect, scan_delta, write_deltalake
from deltaarrow.catalogs import UnityCatalog
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.schema import Field, PrimitiveType
from deltaarrow.table.inspector import TableInspector
from deltaarrow.table.optimizer import TableOptimizer
from tests.support.unity_server import TOKEN

pytestmark = pytest.mark.feature("catalogManaged")

NAME = "shop.orders"
ROWS = pa.table({"id": [1, 2, 3], "day": ["a", "a", "b"], "price": [1.0, 2.0, None]})
PROPERTIES = {
    "delta.checkpointPolicy": "v2",
    "delta.enableDeletionVectors": "true",
    "delta.enableInCommitTimestamps": "true",
    "delta.enableRowTracking": "true",
    "delta.enableChangeDataFeed": "true",
    "delta.columnMapping.mode": "name",
}


@pytest.fixture
def unity(server, tmp_path):
    server.reset(tmp_path / "catalog")
    yield server
    assert server.violations == []


@pytest.fixture
def catalog(unity):
    return UnityCatalog(unity.url, "main", TOKEN, retry_delay=0.001, allows_maintenance=True)


@pytest.fixture
def tables(unity, catalog, tmp_path):
    """The managed table and its twin by path, with three versions each."""
    path = str(tmp_path / "twin")
    for table, options in ((NAME, {"catalog": catalog}), (path, {})):
        write_deltalake(table, ROWS, configuration=PROPERTIES, **options)
        write_deltalake(table, ROWS.slice(0, 2), mode="append", **options)
        DeltaTable(table, **options).delete("id = 3")
    return DeltaTable(NAME, catalog=catalog), DeltaTable(path)


def rows_of(table):
    return table.to_pyarrow_table().sort_by([(name, "ascending") for name in ("id", "day")]).to_pylist()


# --- reading ----------------------------------------------------------------------------------------


def _in_sql(table):
    with connect() as lake:
        lake.register("t", table)
        return lake.sql("SELECT id, day FROM t ORDER BY ALL").fetchall()


def _at(table, version):
    table.load_as_version(version)
    return table.version(), rows_of(table)


def _moments(table):
    """The times of the versions from 0 on."""
    times = [each["timestamp"] for each in reversed(table.history())]
    return [datetime.datetime.fromtimestamp(time / 1000, datetime.UTC).isoformat() for time in times]


def _changes(found):
    names = ("id", "day", "_change_type", "_commit_version")
    return sorted(map(str, found.select(names).to_pylist()))


READS = {
    "to_pyarrow_table": rows_of,
    "to_pyarrow_dataset": lambda table: table.to_pyarrow_dataset().count_rows(),
    "to_pandas": lambda table: sorted(table.to_pandas()["id"].tolist()),
    "to_polars": lambda table: table.to_polars().collect()["id"].sort().to_list(),
    "scan": lambda table: sorted(table.scan(["id"]).read_all()["id"].to_pylist()),
    "scan_delta": lambda table: scan_delta(table).collect()["id"].sort().to_list(),
    "register": _in_sql,
    "count": lambda table: table.count(),
    "load_as_version": lambda table: [_at(table, version) for version in (0, 1, 2)],
    "load_as_version of a time": lambda table: _at(table, _moments(table)[1]),
    "restore of a dry run": lambda table: table.restore(0, dry_run=True).version,
    "load_cdf": lambda table: _changes(table.load_cdf(1).read_all()),
    "change_data_feed": lambda table: _changes(table.change_data_feed(1, 2).to_table()),
    "history": lambda table: [(each["version"], each["operation"]) for each in table.history()],
    "version": lambda table: table.version(),
    "metadata": lambda table: table.metadata().partition_columns,
    "schema": lambda table: [(field.name, str(field.type)) for field in table.schema().fields],
    "partitions": lambda table: table.partitions(),
    "explain": lambda table: table.explain("id > 2").files,
    "file_uris": lambda table: len(table.file_uris()),
    "get_add_actions": lambda table: sorted(pa.table(table.get_add_actions())["num_records"].to_pylist()),
    "deletion_vectors": lambda table: len(table.deletion_vectors().read_all()),
    "detail": lambda table: (table.detail()["numFiles"], table.detail()["format"]),
    "transaction_version": lambda table: table.transaction_version("app"),
    "inspect.files": lambda table: len(pa.table(table.inspect.files())),
    "inspect.columns": lambda table: len(pa.table(table.inspect.columns())),
    "inspect.history": lambda table: len(pa.table(table.inspect.history())),
    "inspect.partitions": lambda table: len(pa.table(table.inspect.partitions())),
    "inspect.deletion_vectors": lambda table: len(pa.table(table.inspect.deletion_vectors())),
    "inspect.tombstones": lambda table: len(pa.table(table.inspect.tombstones())),
    "report": lambda table: "<html" in table.report(),
    "vacuum_report": lambda table: type(table.vacuum_report()).__name__,
    "verify": lambda table: table.verify(deep=True).ok,
}


@pytest.mark.parametrize("operation", READS)
def test_a_read_gives_what_it_gives_of_the_twin(tables, operation):
    managed, twin = tables
    assert str(READS[operation](managed)) == str(READS[operation](twin))


# --- writing ----------------------------------------------------------------------------------------


def _merge(table):
    source = pa.table({"id": [2, 9], "day": ["m", "n"], "price": [7.0, 8.0]})
    merge = table.merge(source, "s.id = t.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()


def _transaction(table):
    with table.transaction("MINE") as transaction:
        transaction.set_application("app", 7)


def _full(table):
    table.alter.cluster_by(["id"])
    table.optimize.full()


def _generated(table):
    table.generate()


def _in_spark_sql(statement):
    def run_it(table):
        with connect(dialect="spark") as lake:
            lake.register("t", table)
            lake.sql(statement)

    return run_it


WRITES = {
    "write_deltalake append": lambda table: write_deltalake(table, ROWS, mode="append"),
    "write_deltalake overwrite": lambda table: write_deltalake(table, ROWS, mode="overwrite"),
    "write_deltalake predicate": lambda table: write_deltalake(
        table, ROWS.slice(0, 2), mode="overwrite", predicate="day = 'a'"
    ),
    "write_deltalake schema": lambda table: write_deltalake(
        table, ROWS.append_column("note", [["x"] * 3]), mode="append", schema_mode="merge"
    ),
    "delete": lambda table: table.delete("id = 1"),
    "update": lambda table: table.update({"day": "'z'"}, predicate="id = 2"),
    "merge": _merge,
    "truncate": lambda table: table.truncate(),
    "restore": lambda table: table.restore(0),
    "transaction": _transaction,
    "optimize.compact": lambda table: table.optimize.compact(),
    "optimize.z_order": lambda table: table.optimize.z_order(["id"]),
    "optimize.full": _full,
    "optimize.purge": lambda table: table.optimize.purge(),
    "analyze": lambda table: table.analyze(full=True),
    "vacuum": lambda table: table.vacuum(
        retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True
    ),
    "cleanup_metadata": lambda table: table.cleanup_metadata(),
    "compact_logs": lambda table: table.compact_logs(0, 1),
    "create_checkpoint": lambda table: table.create_checkpoint(),
    "repair": lambda table: table.repair(),
    "alter.add_columns": lambda table: table.alter.add_columns(Field("note", PrimitiveType("string"))),
    "alter.rename_column": lambda table: table.alter.rename_column("price", "cost"),
    "alter.drop_columns": lambda table: table.alter.drop_columns(["price"]),
    "alter.add_constraint": lambda table: table.alter.add_constraint({"positive": "id > 0"}),
    "alter.set_table_properties": lambda table: table.alter.set_table_properties({"owner": "me"}),
    "alter.set_table_description": lambda table: table.alter.set_table_description("all"),
    "alter.set_table_name": lambda table: table.alter.set_table_name("orders"),
    "alter.cluster_by": lambda table: table.alter.cluster_by(["id"]),
    "alter.add_feature": lambda table: table.alter.add_feature(
        "typeWidening", allow_protocol_versions_increase=True
    ),
    "alter.set_domain_metadata": lambda table: table.alter.set_domain_metadata("mine", "{}"),
    "DELETE": _in_spark_sql("DELETE FROM t WHERE id = 1"),
    "OPTIMIZE": _in_spark_sql("OPTIMIZE t"),
}
REFUSED = {"generate": _generated, "delete_table": lambda table: table.delete_table()}


@pytest.mark.parametrize("operation", WRITES)
def test_a_change_is_that_of_the_twin_and_goes_through_the_catalog(tables, catalog, unity, operation):
    managed, twin = tables
    for table in tables:
        WRITES[operation](table)
    managed, twin = DeltaTable(NAME, catalog=catalog), DeltaTable(twin.table_uri)
    hosted = unity.hosted(NAME)
    assert hosted.latest == hosted.published == managed.version() == twin.version()
    assert rows_of(managed) == rows_of(twin)
    of = [[each["operation"] for each in table.history()] for table in (managed, twin)]
    assert of[0] == of[1]
    assert managed.verify(deep=True).ok
    assert rows_of(DeltaTable(NAME, 1, catalog=catalog)) == rows_of(DeltaTable(twin.table_uri, 1))


@pytest.mark.parametrize("operation", REFUSED)
def test_what_would_go_past_the_catalog_is_refused(tables, unity, operation):
    before = unity.hosted(NAME).latest
    with pytest.raises(UnsupportedFeatureError):
        REFUSED[operation](tables[0])
    assert unity.hosted(NAME).latest == before


NOT_OF_ROWS = {
    *("alter", "optimize", "inspect", "create", "create_write_transaction", "dialect", "follow_commit"),
    *("optimize.upgrade_uniform", "inspect.clustering"),
    *(
        "io_stats",
        "is_deltatable",
        "table_config",
        "protocol",
        "snapshot",
        "table_uri",
        "update_incremental",
        "clone",
    ),
}
"""What stands for others, needs no table, is refused for all, or has tests elsewhere (test_unity_writing)."""


def test_every_operation_is_here():
    asked = {name.partition(" ")[0] for name in (*READS, *WRITES, *REFUSED)}
    parts = {"": DeltaTable, "optimize.": TableOptimizer, "inspect.": TableInspector}
    names = {f"{part}{name}" for part, kind in parts.items() for name in dir(kind) if name[0] != "_"}
    assert names - asked == NOT_OF_ROWS
