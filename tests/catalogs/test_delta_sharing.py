"""Tables of a share: both formats, engines, hints, versions, refusals, and servers that are not trusted."""

import json
import pickle

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import DeltaTable, Schema, VariantType, connect, scan_delta, write_deltalake
from deltaarrow.catalogs import DeltaSharingCatalog, open_catalog
from deltaarrow.catalogs.sharing.hints import predicate_hints
from deltaarrow.errors import (
    DeltaError,
    StorageError,
    TableNotFoundError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)
from deltaarrow.expressions import And, Column, Compare, IsIn, IsNull, Literal, Not, Opaque, Or
from deltaarrow.schema import Field, PrimitiveType, StructType
from deltaarrow.snapshot import Snapshot
from tests.support.engines import ENGINES
from tests.support.many_features import changed_table
from tests.support.rows import assert_same_rows
from tests.support.sharing_contract import faults_of
from tests.support.sharing_server import SharedFolder, holds

NAME = "sales.shop.orders"
ROWS = pa.table({"id": [1, 2, 3, 4, 5, 6], "day": ["a", "a", "b", "b", None, None], "price": [1.5] * 6})


@pytest.fixture
def orders(sharing, tmp_path):
    """A shared table of three partitions, and its folder."""
    write_deltalake(tmp_path / "orders", ROWS, partition_by="day")
    sharing.tables[NAME] = shared = SharedFolder(tmp_path / "orders")
    return shared


@pytest.fixture
def catalog(sharing):
    """The catalog of the share ``sales``."""
    return DeltaSharingCatalog(
        sharing.profile(), "sales", clock=lambda: sharing.now_ms, retry_delay=0.001, timeout=10
    )


def ids(table):
    return sorted(table.to_pyarrow_table()["id"].to_pylist())


def opened(catalog):
    return DeltaTable("shop.orders", catalog=catalog)


# --- names ------------------------------------------------------------------------------------------


def test_names_are_listed_in_pages(sharing, orders, catalog):
    for name in ("sales.shop.a", "sales.shop.b", "sales.More Things.t", "sales.zz.t", "other.x.t"):
        sharing.tables[name] = orders
    assert catalog.shares() == ["other", "sales"]
    assert catalog.namespaces() == ["More Things", "shop", "zz"]
    assert catalog.namespace("SHOP").tables() == ["a", "b", "orders"]
    assert ids(DeltaTable("sales.SHOP.Orders", catalog=catalog)) == [1, 2, 3, 4, 5, 6]
    assert ids(DeltaTable("`More Things`.t", catalog=catalog)) == [1, 2, 3, 4, 5, 6]
    for name in ("shop.none", "none.orders"):
        with pytest.raises(TableNotFoundError, match="is not the name of a table"):
            DeltaTable(name, catalog=catalog)


def test_a_catalog_is_named_by_its_profile(sharing, orders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.share").write_text(json.dumps(sharing.profile()))
    for text in ("deltasharing://my.share", f"deltasharing://{tmp_path}/my.share#sales"):
        assert ids(DeltaTable("sales.shop.orders", catalog=open_catalog(text))) == [1, 2, 3, 4, 5, 6]
    sharing.tables["more.x.t"] = orders
    with pytest.raises(TableNotFoundError, match="may read the shares more, sales: give"):
        open_catalog("deltasharing://my.share").namespaces()
    with pytest.raises(ValueError, match="names no profile"):
        open_catalog("deltasharing://#sales")
    with pytest.raises(StorageError, match=r"there is no sharing profile at none\.share"):
        DeltaSharingCatalog("none.share", "sales").namespaces()
    with pytest.raises(StorageError, match="open it by name"):
        DeltaTable("deltasharing://host/sales/shop/orders")


# --- rows -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["delta", "parquet"])
def test_every_engine_reads_the_rows(sharing, orders, catalog, form):
    orders.formats = (form,)
    wanted = DeltaTable(orders.path).to_pyarrow_table()
    snapshot = opened(catalog).snapshot
    for read in ENGINES.values():
        assert_same_rows(read(snapshot, None, None), wanted)
        assert_same_rows(read(snapshot, ["id"], "id > 2"), wanted.filter(pc.field("id") > 2).select(["id"]))
    assert opened(catalog).to_pandas()["id"].sum() == 21
    assert opened(catalog).count() == 6
    assert sharing.violations == []


@pytest.mark.parametrize("way", ["arrow", "duckdb", "polars"])
def test_files_are_skipped_by_their_statistics(sharing, orders, catalog, way):
    table = opened(catalog)
    if way == "arrow":
        found = table.to_pyarrow_dataset().to_table(filter=pc.field("id") > 5)["id"].to_pylist()
    elif way == "polars":
        import polars as pl

        found = scan_delta(table).filter(pl.col("id") > 5).collect()["id"].to_list()
    else:
        with connect(catalog=catalog) as lake:
            found = [row[0] for row in lake.sql("SELECT id FROM shop.orders WHERE id > 5").fetchall()]
    assert found == [6]
    assert len({path for path, _ in sharing.downloads}) == 1


@pytest.mark.slow
def test_all_features_at_once_are_read_by_every_engine(sharing, tmp_path, catalog):
    """Column mapping, deletion vectors, type widening, variants, times without zone and row tracking."""
    local = changed_table(tmp_path / "t", {"delta.enableDeletionVectors": "true"})
    sharing.tables[NAME] = SharedFolder(tmp_path / "t")
    snapshot = opened(catalog).snapshot
    assert snapshot.protocol == local.snapshot.protocol
    for name, read in ENGINES.items():
        assert_same_rows(read(snapshot, None, None), read(local.snapshot, None, None)), name
    assert sharing.violations == []


def test_mapped_columns_deletion_vectors_and_new_types_are_read(sharing, tmp_path, catalog):
    configuration = {
        "delta.columnMapping.mode": "name",
        "delta.enableDeletionVectors": "true",
        "delta.enableTypeWidening": "true",
        "delta.feature.timestampNtz": "supported",
        "delta.feature.variantType": "supported",
    }
    path = tmp_path / "t"
    fields = [Field("id", PrimitiveType("short")), Field("at time", PrimitiveType("timestamp_ntz"))]
    DeltaTable.create(path, Schema([*fields, Field("what", VariantType())]), configuration=configuration)
    rows = pa.table({"id": pa.array(range(9), pa.int16()), "at time": pa.array(range(9), pa.timestamp("us"))})
    write_deltalake(path, rows.append_column("what", pa.array(['{"a": 1}'] * 9)), mode="append")
    local = DeltaTable(path)
    local.delete("id IN (2, 3)")
    with connect() as lake:
        lake.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN id TYPE integer")
    sharing.tables[NAME] = SharedFolder(path)
    table = opened(catalog)
    assert_same_rows(table.to_pyarrow_table(), DeltaTable(path).to_pyarrow_table())
    assert any(name.endswith(".bin") for name, _ in sharing.downloads)
    # A table with column mapping gets no hints, and nothing is lost.
    assert table.to_pyarrow_dataset().to_table(filter=pc.field("id") > 6).num_rows == 2
    assert sharing.violations == []


def test_features_that_are_not_read_are_not_announced(sharing, orders, catalog):
    opened(catalog)
    said = dict(each.split("=") for each in sharing.capabilities[0].split(";"))
    assert said["responseformat"] == "delta,parquet"
    features = said["readerfeatures"].split(",")
    assert {"deletionvectors", "columnmapping", "timestampntz", "typewidening", "varianttype"} <= {*features}
    assert not {"catalogmanaged", "geospatial", "timestampnanos", "rowtracking"} & {*features}


def test_a_server_without_capabilities_is_read(sharing, orders, catalog):
    sharing.is_modern, orders.formats = False, ("parquet",)
    assert ids(opened(catalog)) == [1, 2, 3, 4, 5, 6]
    assert all("includeRefreshToken" not in body for body in sharing.bodies)


def test_pages_of_files_are_all_read(sharing, orders, catalog):
    sharing.files_of_page = 1
    assert ids(opened(catalog)) == [1, 2, 3, 4, 5, 6]
    assert len(sharing.bodies) == 3


def test_sql_joins_tables_of_a_share(sharing, orders, catalog, tmp_path):
    write_deltalake(tmp_path / "days", pa.table({"day": ["a", "b"], "name": ["Monday", "Tuesday"]}))
    sharing.tables["sales.shop.days"] = SharedFolder(tmp_path / "days", ("parquet",))
    with connect(catalog=catalog) as lake:
        sql = "SELECT name, sum(id) FROM shop.orders JOIN sales.shop.days USING (day) GROUP BY ALL ORDER BY 1"
        assert lake.sql(sql).fetchall() == [("Monday", 3), ("Tuesday", 7)]
        write_deltalake(orders.path, ROWS, mode="append")
        assert lake.sql("SELECT count(*) FROM shop.orders").fetchall() == [(12,)]


# --- hints ------------------------------------------------------------------------------------------

PARTS = StructType(
    (
        Field("number", PrimitiveType("integer")),
        Field("name", PrimitiveType("string")),
        Field("day", PrimitiveType("date")),
        Field("value", PrimitiveType("double")),
    )
)
TEXTS = st.sampled_from(["a", "b", "é", "it's", "\\", "\U0001f600", "\uffee", "\ud7ff"])


def test_hints_go_along_and_bring_fewer_files(sharing, orders, catalog):
    table = opened(catalog)
    found = table.to_pyarrow_dataset().to_table(filter=(pc.field("day") == "b") & (pc.field("price") > 1))
    assert sorted(found["id"].to_pylist()) == [3, 4]
    (body,) = sharing.bodies
    assert body["predicateHints"] == ["day = 'b'"]
    assert json.loads(body["jsonPredicateHints"])["op"] == "equal"
    assert table.to_pyarrow_dataset().to_table(filter=pc.field("day").is_null())["id"].to_pylist() == [5, 6]
    assert sharing.bodies[-1]["predicateHints"] == ["day IS NULL"]
    assert ids(table) == [1, 2, 3, 4, 5, 6]
    assert sharing.violations == []


def test_a_limit_goes_along_and_brings_fewer_files(sharing, orders, catalog):
    heads = {
        "arrow": lambda table, rows: table.to_pyarrow_dataset().head(rows).num_rows,
        "polars": lambda table, rows: scan_delta(table).head(rows).collect().height,
    }
    for head in heads.values():
        table = opened(catalog)
        sharing.bodies.clear()
        assert head(table, 3) == 3
        assert [body.get("limitHint") for body in sharing.bodies] == [3]
        # The table has fewer rows, which only a question without a limit tells.
        assert head(opened(catalog), 100) == 6
        assert [body.get("limitHint") for body in sharing.bodies] == [3, 100, None]
    with_filter = opened(catalog).to_pyarrow_dataset().head(2, filter=pc.field("day") == "b")
    assert with_filter["id"].to_pylist() == [3, 4]
    assert "limitHint" not in sharing.bodies[-1]
    assert sharing.violations == []


HEADS = {
    "SELECT * FROM shop.orders LIMIT 3": (3, 3),
    "SELECT id, price AS cost FROM shop.orders LIMIT 2 OFFSET 1": (3, 2),
    "SELECT count(*) FROM (FROM shop.orders LIMIT 3)": (3, 1),
    "SELECT o.id FROM shop.orders AS o LIMIT ?": (2, 2),
    "SELECT * FROM shop.orders WHERE id > 0 LIMIT 3": (None, 3),
    "SELECT * FROM shop.orders ORDER BY id LIMIT 3": (None, 3),
    "SELECT DISTINCT day FROM shop.orders LIMIT 3": (None, 3),
    "SELECT count(*) FROM shop.orders LIMIT 3": (None, 1),
    "SELECT unnest([id]) FROM shop.orders LIMIT 3": (None, 3),
    "SELECT a.id FROM shop.orders a, shop.orders b LIMIT 3": (None, 3),
    "SELECT * FROM shop.orders USING SAMPLE 100% LIMIT 3": (None, 3),
    "SELECT * FROM shop.orders LIMIT 50%": (None, 3),
    "SELECT * FROM shop.orders LIMIT (SELECT 3)": (None, 3),
}
"""Query -> the number of rows that a server is told to be enough, and the number of rows of the answer."""


@pytest.mark.parametrize("query", HEADS)
def test_a_limit_in_sql_goes_along_if_any_rows_will_do(sharing, orders, catalog, query):
    sharing.bodies.clear()
    with connect(catalog=catalog) as lake:
        rows = lake.execute(query, [2] if "?" in query else None).fetchall()
    assert {body.get("limitHint") for body in sharing.bodies} == {HEADS[query][0]}
    assert len(rows) == HEADS[query][1]
    assert sharing.violations == []


def test_a_limit_in_spark_sql_goes_along(sharing, orders, catalog):
    sharing.bodies.clear()
    with connect(catalog=catalog, dialect="spark") as lake:
        assert len(lake.sql("SELECT id FROM shop.orders LIMIT 3").fetchall()) == 3
    assert [body.get("limitHint") for body in sharing.bodies] == [3]


def test_a_server_that_counts_deleted_rows_is_asked_for_all_files(sharing, orders, catalog, tmp_path):
    rows = pa.table({"id": range(10)})
    vectors = {"delta.enableDeletionVectors": "true"}
    for _ in range(2):
        write_deltalake(tmp_path / "deleted", rows, mode="append", configuration=vectors)
    DeltaTable(tmp_path / "deleted").delete("id = 5")
    sharing.tables["sales.shop.deleted"] = SharedFolder(tmp_path / "deleted")
    table = DeltaTable("shop.deleted", catalog=catalog)
    sharing.bodies.clear()
    assert table.to_pyarrow_dataset().head(10).num_rows == 10
    assert [body.get("limitHint") for body in sharing.bodies] == [10, None]


def _compares():
    number = st.builds(
        Compare,
        st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
        st.just(Column(("number",))),
        st.builds(Literal, st.integers(-2, 2) | st.sampled_from([1 << 40, 1.5, True])),
    )
    text = st.builds(
        Compare,
        st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
        st.just(Column(("name",))),
        st.builds(Literal, TEXTS),
    )
    others = st.sampled_from(
        [
            IsNull(Column(("name",))),
            Not(IsNull(Column(("number",)))),
            IsIn(Column(("number",)), (0, 2)),
            Compare("=", Column(("value",)), Literal(1.0)),
            Not(Compare("=", Column(("number",)), Literal(1))),
            Opaque("x"),
        ]
    )
    return number | text | others


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        _compares(),
        lambda inner: st.lists(inner, min_size=1, max_size=3).flatmap(
            lambda parts: st.sampled_from([And(tuple(parts)), Or(tuple(parts))])
        ),
        max_leaves=5,
    ),
    st.none() | st.integers(-2, 2),
    st.none() | TEXTS,
)
def test_no_hint_excludes_a_file_that_the_predicate_keeps(predicate, number, name):
    hints = predicate_hints(predicate, PARTS, ["number", "name", "day"])
    if not hints:
        return
    hint = json.loads(hints["jsonPredicateHints"])
    assert faults_of("hint", hint) == []
    values = {"number": None if number is None else str(number), "name": name, "day": None}
    if _may_be_true(predicate, {"number": number, "name": name}):
        assert holds(hint, values) is True
    for text in hints.get("predicateHints", []):
        assert "\\" not in text and text.count("'") % 2 == 0


def _may_be_true(node, row):
    """Whether a predicate is TRUE on a row of which partition values are known, by the rules of its nodes."""
    match node:
        case And(operands=parts):
            return all(_may_be_true(each, row) for each in parts)
        case Or(operands=parts):
            return any(_may_be_true(each, row) for each in parts)
        case IsNull(operand=Column(path=(name,))):
            return row[name] is None
        case Not(operand=IsNull(operand=Column(path=(name,)))):
            return row[name] is not None
        case IsIn(column=Column(path=(name,)), values=values):
            return row[name] in values
        case Compare(op=op, left=Column(path=(name,)), right=Literal(value=value)) if name in row:
            left = row[name]
            if left is None:
                return False
            return {
                "=": left == value,
                "!=": left != value,
                "<": left < value,
                "<=": left <= value,
                ">": left > value,
                ">=": left >= value,
            }[op]
    return True


# --- versions ---------------------------------------------------------------------------------------


def test_older_versions_are_read_where_the_history_is_shared(sharing, orders, catalog):
    write_deltalake(orders.path, ROWS, mode="append")
    assert DeltaTable("shop.orders", 0, catalog=catalog).count() == 6
    table = opened(catalog)
    assert (table.version(), table.count()) == (1, 12)
    table.load_as_version("2100-01-01")
    assert table.version() == 1
    with connect(catalog=catalog, dialect="spark") as lake:
        assert lake.sql("SELECT count(*) FROM shop.orders VERSION AS OF 0").fetchall() == [(6,)]
    with pytest.raises(VersionNotFoundError, match="version 7 does not exist: the newest one"):
        DeltaTable("shop.orders", 7, catalog=catalog)
    with pytest.raises(VersionNotFoundError, match="no such version"):
        table.load_as_version("2001-01-01")
    assert sharing.violations == []


def test_without_history_the_newest_version_alone_is_read(sharing, orders, catalog):
    orders.has_history = False
    table = opened(catalog)
    assert ids(table) == [1, 2, 3, 4, 5, 6]
    stale = opened(catalog)
    write_deltalake(orders.path, ROWS, mode="append")
    with pytest.raises(VersionNotFoundError, match=r"history is not shared.*open the table again"):
        ids(stale)
    stale.update_incremental()
    assert (stale.version(), stale.count()) == (1, 12)
    # What is known is still read: its files are still there.
    assert ids(table) == [1, 2, 3, 4, 5, 6]
    with pytest.raises(VersionNotFoundError, match="newest version alone"):
        DeltaTable("shop.orders", 0, catalog=catalog)


def test_an_unchanged_table_is_not_read_again(sharing, orders, catalog):
    table = opened(catalog)
    ids(table)
    before = table.snapshot
    table.update_incremental()
    assert table.snapshot is before
    assert sharing.paths[-1].endswith("/version")


# --- refusals ---------------------------------------------------------------------------------------


def test_all_but_reading_is_refused_by_name(sharing, orders, catalog):
    table = opened(catalog)
    calls = {
        "write": lambda: write_deltalake("shop.orders", ROWS, mode="append", catalog=catalog),
        "delete": lambda: table.delete("id = 1"),
        "update": lambda: table.update({"id": "1"}),
        "history": lambda: table.history(),
        "vacuum": lambda: table.vacuum(),
        "optimize": lambda: table.optimize.compact(),
        "restore": lambda: table.restore(0),
        "changes": lambda: table.load_cdf(0).read_all(),
        "create": lambda: DeltaTable.create("shop.new", ROWS.schema, catalog=catalog),
        "namespace": lambda: catalog.create_namespace("x"),
        "drop": lambda: catalog.namespace("shop").remove("orders"),
        "table options": lambda: table.alter.set_table_properties({"owner": "me"}),
    }
    for what, call in calls.items():
        with pytest.raises(UnsupportedFeatureError) as caught:
            call()
        assert caught.value.feature == "Delta Sharing", what
    with connect(catalog=catalog) as lake:
        for statement in ("INSERT INTO shop.orders VALUES (1, 'a', 1.0)", "DROP TABLE shop.orders"):
            with pytest.raises(DeltaError, match="shar"):
                lake.sql(statement)


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "/etc/passwd", "s3://bucket/key", "ftp://host/f", "data:,abc", ""]
)
def test_only_web_servers_are_asked_for_files(sharing, orders, catalog, address, monkeypatch):
    monkeypatch.setattr(sharing, "_signed", lambda path, expires: address)
    with pytest.raises(UnsupportedFeatureError, match="only http and https are read"):
        ids(opened(catalog))


def _lines(*lines, version="0", form="delta", more=""):
    head = {"delta-sharing-capabilities": f"responseformat={form}{more}", "Delta-Table-Version": version}
    return 200, head, "\n".join(map(json.dumps, lines)).encode()


PROTOCOL = {"protocol": {"deltaProtocol": {"minReaderVersion": 1, "minWriterVersion": 2}}}
METADATA = {
    "metaData": {
        "deltaMetadata": {
            "id": "x",
            "format": {"provider": "parquet"},
            "schemaString": '{"type":"struct","fields":[]}',
            "partitionColumns": [],
        }
    }
}
ODD = {
    "no version": (_lines(PROTOCOL, METADATA, version=""), "has no version"),
    "no metadata": (_lines(PROTOCOL), "no protocol, or no metaData"),
    "cut short": (_lines(PROTOCOL, METADATA, more=";includeendstreamaction=true"), "was cut off"),
    "two in a line": (_lines({**PROTOCOL, **METADATA}), "has a line with protocol, metaData"),
    "a new line": (_lines(PROTOCOL, METADATA, {"news": {}}), "has a line with news"),
    "no JSON": ((200, {"Delta-Table-Version": "0"}, b"<html>"), "is not JSON"),
    "a new format": (_lines(PROTOCOL, METADATA, form="iceberg"), "in the format 'iceberg'"),
    "another format": (_lines(PROTOCOL, METADATA, form="parquet"), "version None of the sharing protocol"),
    "a newer protocol": (
        _lines({"protocol": {"minReaderVersion": 2}}, form="parquet"),
        "version 2 of the sharing protocol",
    ),
    "an unknown feature": (
        _lines(
            {
                "protocol": {
                    "deltaProtocol": {
                        "minReaderVersion": 3,
                        "minWriterVersion": 7,
                        "readerFeatures": ["new"],
                        "writerFeatures": ["new"],
                    }
                }
            },
            METADATA,
        ),
        "new",
    ),
    "a schema that is none": (
        _lines(
            PROTOCOL,
            {"metaData": {"deltaMetadata": {**METADATA["metaData"]["deltaMetadata"], "schemaString": "{"}}},
        ),
        "schema",
    ),
    "an end with an error": (
        _lines(PROTOCOL, METADATA, {"endStreamAction": {"errorMessage": "sorry"}}),
        "stops in its answer.*sorry",
    ),
    "a redirection": ((302, {"Location": "http://127.0.0.1:1/"}, b""), "redirections are not followed"),
    "forbidden": ((403, {}, b'{"errorCode": "X", "message": "not you"}'), r"answers 403 \(X: not you\)"),
}


@pytest.mark.parametrize("what", ODD)
def test_odd_answers_are_refused(sharing, orders, catalog, what):
    answer, told = ODD[what]
    sharing.fault = lambda path: answer if path.endswith("/metadata") else None
    with pytest.raises(DeltaError, match=told):
        opened(catalog)


def test_answers_that_contradict_each_other_are_refused(sharing, orders, catalog):
    table = opened(catalog)
    sharing.fault = lambda path: _lines(PROTOCOL, METADATA) if path.endswith("/query") else None
    with pytest.raises(StorageError, match=r"describes version 0 of .* in two ways"):
        ids(table)


def test_one_id_for_two_files_is_refused(sharing, orders, catalog, monkeypatch):
    monkeypatch.setattr("tests.support.sharing_server._identity", lambda path: "same")
    with pytest.raises(DeltaError, match=r"twice|one id for several files"):
        ids(opened(catalog))


def test_a_busy_server_is_asked_again(sharing, orders, catalog):
    answers = [(503, {}, b""), (429, {"Retry-After": "0"}, b""), None, (502, {}, b"")]
    sharing.fault = lambda path: answers.pop() if answers else None
    assert ids(opened(catalog)) == [1, 2, 3, 4, 5, 6]
    assert answers == []
    sharing.fault = lambda path: (503, {}, b"")
    with pytest.raises(StorageError, match="answers 503"):
        opened(catalog)


def test_a_snapshot_is_pickled_as_its_version(sharing, orders, tmp_path):
    (tmp_path / "p.share").write_text(json.dumps(sharing.profile()))
    table = opened(DeltaSharingCatalog(tmp_path / "p.share", "sales"))
    snapshot = pickle.loads(pickle.dumps(table.snapshot))
    assert isinstance(snapshot, Snapshot)
    assert_same_rows(ENGINES["dataset"](snapshot, None, None), ROWS)
    # A task gets the store and the names of files alone.
    store = pickle.loads(pickle.dumps(table.snapshot.store))
    (path, *_) = table.snapshot.files()["path"].to_pylist()
    assert store.read(path)[:4] == b"PAR1"
    with pytest.raises(FileNotFoundError):
        store.read("files/i-none")
