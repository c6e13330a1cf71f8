"""Managed tables of Unity Catalog: created, written, maintained and dropped through the catalog."""

import json
import pickle

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, connect, write_deltalake
from deltaarrow.catalogs import UnityCatalog
from deltaarrow.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    DeltaError,
    InvalidTablePropertyError,
    StorageError,
    TableNotFoundError,
    UnsupportedFeatureError,
    VersionExistsError,
)
from deltaarrow.storage import open_store
from tests.support.unity_server import REQUIRED_PROPERTIES, TOKEN

pytestmark = pytest.mark.feature("catalogManaged")

NAME = "shop.orders"
ORDERS = "/delta/v1/catalogs/main/schemas/shop/tables/orders"
ROWS = pa.table({"id": [1, 2, 3], "day": ["a", "a", "b"]})


@pytest.fixture
def unity(server, tmp_path):
    server.reset(tmp_path)
    yield server
    assert server.violations == []


@pytest.fixture
def catalog(unity):
    return UnityCatalog(unity.url, "main", TOKEN, retry_delay=0.001)


@pytest.fixture
def orders(unity, catalog):
    """``shop.orders`` with three rows at version 0."""
    assert write_deltalake(NAME, ROWS, catalog=catalog).version == 0
    return unity.hosted(NAME)


def ids(catalog, version=None, name=NAME):
    return sorted(DeltaTable(name, version, catalog=catalog).to_pyarrow_table().column("id").to_pylist())


def more(*numbers):
    return pa.table({"id": pa.array(numbers, pa.int64()), "day": ["c"] * len(numbers)})


def append(catalog, *numbers, name=NAME):
    return write_deltalake(name, more(*numbers), mode="append", catalog=catalog)


def log_of(table):
    return sorted(each.name for each in (table.path / "_delta_log").iterdir() if each.name.endswith(".json"))


def staged_of(table):
    folder = table.path / "_delta_log" / "_staged_commits"
    return sorted(each.name for each in folder.iterdir()) if folder.exists() else []


def actions_of(table, version):
    lines = (table.path / "_delta_log" / f"{version:020d}.json").read_text().splitlines()
    return {key: value for line in lines for key, value in json.loads(line).items()}


# --- creating --------------------------------------------------------------------------------------


def test_a_table_is_created_with_all_that_the_catalog_requires_at_once(unity, catalog):
    schema = pa.schema(
        [("id", pa.int64()), ("tags", pa.list_(pa.string())), ("of", pa.map_(pa.string(), pa.int64()))]
    )
    table = DeltaTable.create(NAME, schema, description="all orders", catalog=catalog)
    hosted = unity.hosted(NAME)
    found = actions_of(hosted, 0)
    required = {**REQUIRED_PROPERTIES, "io.unitycatalog.tableId": hosted.identity}
    assert required.items() <= found["metaData"]["configuration"].items()
    assert set(found["protocol"]["readerFeatures"]) == {
        "catalogManaged",
        "columnMapping",
        "deletionVectors",
        "v2Checkpoint",
        "vacuumProtocolCheck",
    }
    assert set(found["protocol"]["writerFeatures"]) >= {
        *found["protocol"]["readerFeatures"],
        "inCommitTimestamp",
        "rowTracking",
        "domainMetadata",
    }
    assert "fromTheFuture" not in str(found["protocol"])
    assert found["commitInfo"]["inCommitTimestamp"] == hosted.state["last-commit-timestamp-ms"]
    assert hosted.state["comment"] == "all orders"
    assert [each["name"] for each in hosted.state["columns"]["fields"]] == ["id", "tags", "of"]
    assert hosted.state["columns"]["fields"][1]["type"]["element-type"] == "string"
    assert (table.version(), unity.staged) == (0, {})
    with pytest.raises(VersionExistsError, match=r"shop\.orders"):
        DeltaTable.create(NAME, schema, catalog=catalog)
    assert DeltaTable.create(NAME, schema, mode="ignore", catalog=catalog).version() == 0


def test_a_table_is_created_with_rows(catalog, unity):
    assert write_deltalake("main.shop.orders", ROWS, partition_by="day", catalog=catalog).version == 0
    assert ids(catalog) == [1, 2, 3]
    assert unity.hosted(NAME).state["partition-columns"] == ["day"]
    assert write_deltalake(NAME, ROWS, mode="ignore", catalog=catalog).version is None
    with pytest.raises(VersionExistsError):
        write_deltalake(NAME, ROWS, catalog=catalog)


def test_what_the_catalog_suggests_gives_way_to_the_user(catalog, unity):
    write_deltalake(
        NAME, ROWS, configuration={"delta.enableRowTracking": "false", "owner": "me"}, catalog=catalog
    )
    properties = unity.hosted(NAME).state["properties"]
    assert (properties["delta.enableRowTracking"], properties["owner"]) == ("false", "me")
    assert properties["delta.columnMapping.mode"] == "name"


def test_what_contradicts_the_catalog_is_refused_and_nothing_is_registered(catalog, unity):
    with pytest.raises(InvalidTablePropertyError, match=r"delta\.checkpointPolicy to be 'v2'"):
        write_deltalake(NAME, ROWS, configuration={"delta.checkpointPolicy": "classic"}, catalog=catalog)
    assert unity.tables == {}


def test_the_feature_is_for_tables_that_a_catalog_creates(tmp_path):
    with pytest.raises(UnsupportedFeatureError, match="catalogManaged"):
        write_deltalake(tmp_path, ROWS, configuration={"delta.feature.catalogManaged": "supported"})


@pytest.mark.parametrize("was_made", [True, False])
def test_a_registration_whose_answer_is_lost_is_looked_for(catalog, unity, was_made):
    path = "/delta/v1/catalogs/main/schemas/shop/tables"
    losses = [(500, {}), None]
    lose = lambda asked, body=None: losses.pop(0) if asked == path and losses else None  # noqa: E731
    if was_made:
        unity.lost = lose
    else:
        unity.fault = lose
    assert write_deltalake(NAME, ROWS, catalog=catalog).version == 0
    assert ids(catalog) == [1, 2, 3]
    assert unity.paths.count(path) == (1 if was_made else 2)


def test_of_two_that_create_one_table_one_fails(catalog, unity):
    others = [UnityCatalog(unity.url, "main", TOKEN)]

    def overtake(path):
        if path == "/delta/v1/catalogs/main/schemas/shop/tables" and others:
            write_deltalake(NAME, more(7), catalog=others.pop())

    unity.fault = overtake
    with pytest.raises(VersionExistsError, match="another process has just created"):
        write_deltalake(NAME, ROWS, catalog=catalog)
    assert ids(catalog) == [7]


# --- writing ---------------------------------------------------------------------------------------


def test_a_commit_is_staged_ratified_and_published(orders, catalog, unity):
    assert append(catalog, 4).version == 1
    (name,) = staged_of(orders)
    staged = (orders.path / "_delta_log" / "_staged_commits" / name).read_bytes()
    assert (orders.path / "_delta_log" / f"{1:020d}.json").read_bytes() == staged
    assert (orders.latest, orders.published, orders.commits) == (1, 1, {})
    info = actions_of(orders, 1)["commitInfo"]
    assert info["inCommitTimestamp"] > actions_of(orders, 0)["commitInfo"]["inCommitTimestamp"]
    assert info["txnId"]
    assert ids(catalog) == [1, 2, 3, 4]
    assert orders.reports[-1]["num-files-added"] == 1
    assert ids(catalog, 0) == [1, 2, 3]
    assert [each["operation"] for each in DeltaTable(NAME, catalog=catalog).history()] == ["WRITE"] * 2


def test_every_statement_commits_through_the_catalog(orders, catalog):
    with connect(catalog=catalog, dialect="spark") as lake:
        for number, statement in enumerate(
            (
                "INSERT INTO main.shop.orders VALUES (4, 'c')",
                "UPDATE shop.orders SET day = 'z' WHERE id = 1",
                "DELETE FROM shop.orders WHERE id = 2",
                "MERGE INTO shop.orders t USING (SELECT 3 AS id, 'm' AS day UNION ALL SELECT 9, 'n') s"
                " ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
                "INSERT OVERWRITE shop.orders SELECT * FROM shop.orders WHERE id <> 4",
                "TRUNCATE TABLE shop.orders",
                "RESTORE TABLE shop.orders TO VERSION AS OF 4",
            ),
            start=1,
        ):
            lake.sql(statement)
            assert (orders.latest, orders.published) == (number, number), statement
        found = lake.sql("SELECT id, day FROM main.shop.orders ORDER BY id").fetchall()
    assert found == [(1, "z"), (3, "m"), (4, "c"), (9, "n")]
    assert DeltaTable(NAME, catalog=catalog).verify(deep=True).ok


def test_changes_of_metadata_reach_the_catalog_with_their_commit(orders, catalog):
    with connect(catalog=catalog, dialect="spark") as lake:
        lake.sql("ALTER TABLE shop.orders ADD COLUMNS (price DOUBLE, lines ARRAY<STRUCT<n: INT>>)")
        assert [each["name"] for each in orders.state["columns"]["fields"]] == ["id", "day", "price", "lines"]
        lake.sql("ALTER TABLE shop.orders SET TBLPROPERTIES ('owner' = 'me', 'delta.appendOnly' = 'true')")
        assert orders.state["properties"]["owner"] == "me"
        assert "appendOnly" in orders.state["protocol"]["writer-features"]
        lake.sql("ALTER TABLE shop.orders UNSET TBLPROPERTIES ('owner', 'delta.appendOnly')")
        assert not {"owner", "delta.appendOnly"} & orders.state["properties"].keys()
        lake.sql("COMMENT ON TABLE shop.orders IS 'all of them'")
        assert orders.state["comment"] == "all of them"
        lake.sql("ALTER TABLE shop.orders CLUSTER BY (id)")
        assert len(orders.state["domain-metadata"]["delta.clustering"]["clusteringColumns"]) == 1
    append(catalog, 5)
    assert orders.state["domain-metadata"]["delta.rowTracking"]["rowIdHighWaterMark"] == 3
    assert orders.latest == orders.published == 6


def test_what_the_catalog_requires_cannot_be_taken_away(orders, catalog):
    with connect(catalog=catalog, dialect="spark") as lake:
        for statement in (
            "ALTER TABLE shop.orders SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')",
            "ALTER TABLE shop.orders SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'false')",
            "ALTER TABLE shop.orders UNSET TBLPROPERTIES ('delta.checkpointPolicy')",
            "ALTER TABLE shop.orders SET TBLPROPERTIES ('io.unitycatalog.tableId' = 'other')",
            "ALTER TABLE shop.orders DROP FEATURE deletionVectors TRUNCATE HISTORY",
            "ALTER TABLE shop.orders DROP FEATURE catalogManaged",
        ):
            with pytest.raises(DeltaError):
                lake.sql(statement)
    assert ids(catalog) == [1, 2, 3]
    assert staged_of(orders) == []


def test_a_replaced_table_stays_the_catalogs(orders, catalog):
    with connect(catalog=catalog, dialect="spark") as lake:
        lake.sql("CREATE OR REPLACE TABLE shop.orders (name STRING) TBLPROPERTIES ('owner' = 'me')")
        lake.sql("INSERT INTO shop.orders VALUES ('n')")
        assert lake.sql("SELECT * FROM shop.orders").fetchall() == [("n",)]
    assert orders.state["properties"]["io.unitycatalog.tableId"] == orders.identity
    assert [each["name"] for each in orders.state["columns"]["fields"]] == ["name"]
    assert ids(catalog, 0) == [1, 2, 3]


def test_a_table_is_dropped_by_its_name(orders, catalog, unity):
    table = DeltaTable(NAME, catalog=catalog)
    with pytest.raises(UnsupportedFeatureError, match="DROP TABLE"):
        table.delete_table()
    with connect(catalog=catalog, dialect="spark") as lake:
        lake.sql("DROP TABLE main.shop.orders")
        lake.sql("DROP TABLE IF EXISTS shop.orders")
    assert unity.tables == {}
    with pytest.raises(TableNotFoundError):
        table.update_incremental()


# --- two writers, and answers that are lost ---------------------------------------------------------


def test_a_lost_race_is_rebased(orders, catalog, unity):
    other = UnityCatalog(unity.url, "main", TOKEN)
    first, second = DeltaTable(NAME, catalog=catalog), DeltaTable(NAME, catalog=other)
    write_deltalake(first, more(4), mode="append")
    write_deltalake(second, more(5), mode="append")
    assert ids(catalog) == [1, 2, 3, 4, 5]
    assert orders.latest == 2


def test_a_race_in_the_middle_of_a_commit_is_rebased_and_leaves_no_file(orders, catalog, unity):
    """The other commit is ratified after this one was staged, and stays unpublished."""
    table = DeltaTable(NAME, catalog=catalog)
    others = [UnityCatalog(unity.url, "main", TOKEN)]

    def overtake(path):
        if path == ORDERS and others and staged_of(orders):
            other = others.pop()
            unity.lost = lambda path, body: (500, {}) if "set-latest" in str(body) else None
            append(other, 9)
            unity.lost = lambda path, body: None
        return

    unity.fault = overtake
    write_deltalake(table, more(4), mode="append")
    assert ids(catalog) == [1, 2, 3, 4, 9]
    assert orders.latest == orders.published == 2
    assert len(staged_of(orders)) == 2


def test_a_conflict_is_told_as_in_any_table(orders, catalog):
    stale = DeltaTable(NAME, catalog=catalog)
    DeltaTable(NAME, catalog=catalog).delete("id = 1")
    with pytest.raises(CommitFailedError):
        stale.delete("id = 1")
    assert ids(catalog) == [2, 3]


def test_too_many_unpublished_commits_are_published_first(orders, catalog, unity):
    unity.most_unpublished = 1
    published = orders.path / "_delta_log" / f"{1:020d}.json"
    unity.fault = lambda path: None
    append(catalog, 4)
    orders.commits = {1: kept} if (kept := commit_again(orders, 1)) else {}
    orders.published = 0
    published.unlink()
    append(catalog, 5)
    assert published.exists()
    assert (orders.latest, orders.published) == (2, 2)
    assert ids(catalog) == [1, 2, 3, 4, 5]


def commit_again(table, version):
    """The catalog's record of a commit that was published, as it was before."""
    (name,) = [each for each in staged_of(table) if each.startswith(f"{version:020d}")]
    size = (table.path / "_delta_log" / "_staged_commits" / name).stat().st_size
    timestamp = actions_of(table, version)["commitInfo"]["inCommitTimestamp"]
    return {
        "version": version,
        "timestamp": timestamp,
        "file-name": name,
        "file-size": size,
        "file-modification-timestamp": 1,
    }


def of_commits(loss):
    return lambda path, body: loss if "add-commit" in str(body) else None


@pytest.mark.parametrize("loss", [(500, {}), (503, {}), (0, {}), (200, {})])
def test_a_commit_whose_answer_is_lost_is_found_and_not_made_twice(orders, catalog, unity, loss):
    losses = [loss]
    unity.lost = lambda path, body: losses.pop() if "add-commit" in str(body) and losses else None
    assert append(catalog, 4).version == 1
    assert ids(catalog) == [1, 2, 3, 4]
    assert (orders.latest, orders.published) == (1, 1)


def test_a_commit_that_did_not_arrive_is_proposed_again(orders, catalog, unity):
    faults = [(500, {"error": {"type": "CommitStateUnknownException", "code": 500, "message": "?"}})]

    def refuse(path):
        return faults.pop() if path == ORDERS and faults and staged_of(orders) else None

    unity.fault = refuse
    assert append(catalog, 4).version == 1
    assert ids(catalog) == [1, 2, 3, 4]
    assert len(staged_of(orders)) == 1


def test_a_commit_that_was_lost_and_then_published_by_another_is_found(orders, catalog, unity):
    """The catalog forgets published commits, so the log tells whose the version is."""

    def publish(path, body):
        if "add-commit" not in str(body):
            return None
        unity.lost = lambda path, body: None
        name = body["updates"][-1]["commit"]["file-name"]
        log = orders.path / "_delta_log"
        (log / f"{1:020d}.json").write_bytes((log / "_staged_commits" / name).read_bytes())
        orders.commits, orders.published = {}, 1
        return 500, {}

    unity.lost = publish
    assert append(catalog, 4).version == 1
    assert ids(catalog) == [1, 2, 3, 4]


def test_a_commit_that_nobody_can_tell_of_is_an_error_that_keeps_its_files(orders, catalog, unity):
    table = DeltaTable(NAME, catalog=catalog)

    def vanish(path, body):
        unity.fault = lambda path: (0, {}) if path == ORDERS else None
        return 0, {}

    unity.lost = vanish
    with pytest.raises(CommitStateUnknownError, match=r"version 1.*txnId") as caught:
        write_deltalake(table, more(4), mode="append")
    unity.fault, unity.lost = lambda path: None, lambda path, body: None
    assert ids(catalog) == [1, 2, 3, 4]
    assert DeltaTable(NAME, catalog=catalog).history(1)[0]["txnId"] == caught.value.transaction_id


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_commit_that_is_refused_leaves_nothing(orders, catalog, unity, status):
    table = DeltaTable(NAME, catalog=catalog)
    before = {each.name for each in orders.path.rglob("*.parquet")}
    answers = (status, {"error": {"type": "X", "code": status, "message": "no"}})
    unity.fault = lambda path: answers if path == ORDERS and staged_of(orders) else None
    with pytest.raises(StorageError, match=str(status)):
        write_deltalake(table, more(4), mode="append")
    unity.fault = lambda path: None
    assert {each.name for each in orders.path.rglob("*.parquet")} == before
    assert staged_of(orders) == []
    assert ids(catalog) == [1, 2, 3]


def test_a_table_that_took_the_name_is_not_written(orders, catalog, unity):
    table = DeltaTable(NAME, catalog=catalog)
    del unity.tables[NAME]
    write_deltalake(NAME, more(8), catalog=UnityCatalog(unity.url, "main", TOKEN))
    with pytest.raises(CommitFailedError, match="nothing was committed"):
        write_deltalake(table, more(4), mode="append")
    assert ids(UnityCatalog(unity.url, "main", TOKEN)) == [8]


# --- maintenance -----------------------------------------------------------------------------------


def test_checkpoints_are_of_published_versions(orders, catalog):
    append(catalog, 4)
    orders.commits, orders.published = {1: commit_again(orders, 1)}, 0
    (orders.path / "_delta_log" / f"{1:020d}.json").unlink()
    DeltaTable(NAME, catalog=catalog).create_checkpoint()
    assert (orders.path / "_delta_log" / f"{1:020d}.json").exists()
    assert orders.published == 1
    assert list((orders.path / "_delta_log").glob(f"{1:020d}.checkpoint.*"))
    assert ids(catalog) == [1, 2, 3, 4]


def test_maintenance_is_the_catalogs_unless_its_operators_leave_it(orders, catalog, unity):
    append(catalog, 4)
    table = DeltaTable(NAME, catalog=catalog)
    for maintain in (
        table.optimize.compact,
        table.vacuum,
        table.cleanup_metadata,
        table.optimize.purge if hasattr(table.optimize, "purge") else table.optimize.compact,
    ):
        with pytest.raises(
            UnsupportedFeatureError, match="DELTA_UNSUPPORTED_CATALOG_MANAGED_TABLE_OPERATION"
        ):
            maintain()
    allowed = UnityCatalog(unity.url, "main", TOKEN, allows_maintenance=True)
    maintained = DeltaTable(NAME, catalog=allowed)
    assert maintained.optimize.compact()["numFilesRemoved"] == 2
    assert (orders.latest, orders.published) == (2, 2)
    maintained.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    maintained.cleanup_metadata()
    assert ids(catalog) == [1, 2, 3, 4]


# --- processes -------------------------------------------------------------------------------------


def test_a_pickled_store_writes_files_and_no_commit(orders, catalog):
    store = pickle.loads(pickle.dumps(DeltaTable(NAME, catalog=catalog).snapshot.store))
    store.write("file.bin", b"1")
    assert open_store(orders.path).read("file.bin") == b"1"
    with pytest.raises(UnsupportedFeatureError, match="ratifies"):
        store.put_if_absent(f"_delta_log/{1:020d}.json", b"{}")
    with pytest.raises(UnsupportedFeatureError, match="takes none"):
        write_deltalake(
            DeltaTable._of(type(DeltaTable(NAME, catalog=catalog).snapshot).load(store)),
            more(4),
            mode="append",
        )


# --- further statements ----------------------------------------------------------------------------


def test_duckdbs_statements_create_and_write_tables_of_the_catalog(unity, catalog):
    with connect(catalog=catalog) as lake:
        asked = len(unity.staged)
        lake.sql("EXPLAIN COPY (SELECT 1::BIGINT AS id) TO shop.orders (FORMAT delta)")
        assert len(unity.staged) == asked
        lake.execute("COPY (SELECT 1::BIGINT AS id) TO shop.orders (FORMAT delta)")
        lake.execute("COPY (SELECT 2::BIGINT AS id) TO main.shop.orders (FORMAT delta, MODE append)")
        assert lake.sql("SELECT sum(id) FROM main.shop.orders").fetchall() == [(3,)]
        lake.execute("CREATE TABLE shop.more AS SELECT id + 1 AS id FROM shop.orders")
    assert ids(catalog, name="shop.more") == [2, 3]
    assert unity.hosted(NAME).latest == 1


def test_a_clone_and_a_copy_of_a_table(orders, catalog, unity, tmp_path):
    with connect(catalog=catalog, dialect="spark") as lake:
        with pytest.raises(UnsupportedFeatureError, match="cannot become a clone"):
            lake.sql("CREATE TABLE shop.copy SHALLOW CLONE shop.orders")
        lake.sql("CREATE TABLE shop.like_it LIKE shop.orders")
        lake.sql("INSERT INTO shop.like_it SELECT * FROM shop.orders")
    assert ids(catalog, name="shop.like_it") == [1, 2, 3]
    assert unity.hosted("shop.like_it").identity != orders.identity
    DeltaTable(NAME, catalog=catalog).clone(tmp_path / "clone")
    cloned = DeltaTable(tmp_path / "clone")
    assert cloned.count() == 3
    assert "io.unitycatalog.tableId" not in cloned.metadata().configuration


def test_a_table_is_renamed_by_the_catalog_and_keeps_its_id(orders, unity):
    unity.tables["home.other"] = orders
    catalog = UnityCatalog(unity.url, "main", TOKEN)
    with connect(catalog=catalog, dialect="spark") as lake:
        with pytest.raises(UnsupportedFeatureError, match="inside of a schema"):
            lake.sql("ALTER TABLE shop.orders RENAME TO home.orders")
        with pytest.raises(VersionExistsError):
            lake.sql("ALTER TABLE shop.orders RENAME TO shop.orders")
        lake.sql("ALTER TABLE main.shop.orders RENAME TO shop.bought")
    assert unity.tables.keys() == {"shop.bought", "home.other"}
    assert ids(catalog, name="shop.bought") == [1, 2, 3]
    append(catalog, 4, name="shop.bought")
    assert orders.latest == orders.published == 1
    shop = catalog.namespace("shop")
    with pytest.raises(ValueError, match="rename it there"):
        shop.add("twice", shop.find("bought"))
