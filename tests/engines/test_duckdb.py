"""DuckDB only: the view, its objects on the connection, its plans and its limits."""

import datetime as dt
import json
import os
import re

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow.engines import DeltaDataset, register
from deltaarrow.engines.duckdb.view import ShownFiles, query, shown_views
from deltaarrow.errors import CorruptDataFileError, UnsupportedFeatureError
from deltaarrow.scan import plan_scan
from deltaarrow.scan.sql.relation import relation_sql
from deltaarrow.scan.tasks import FILE_COLUMN, ROW_COLUMN
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from tests.support.engines import open_snapshot
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.int64())])


@pytest.fixture
def con():
    with duckdb.connect() as connection:
        yield connection


@pytest.fixture
def table(tmp_path):
    return TableBuilder(tmp_path / "t").features("deletionVectors", "timestampNtz").metadata(SCHEMA, ["p"])


def many_files(table, count=10, deleted=()):
    """`count` files of 1,000 rows, each with a partition of its own; `deleted` have a deletion vector."""
    adds = []
    for p in range(count):
        vector = table.deletion_vector(range(0, 1000, 3)) if p in deleted else None
        rows = pa.table({"id": range(1000 * p, 1000 * p + 1000)})
        adds.append(table.add_file(rows, {"p": str(p)}, deletion_vector=vector))
    table.commit(adds)
    return adds


def fetch(con, sql):
    return con.execute(sql).fetchall()


def temporary_objects(con):
    return {
        name
        for (name,) in fetch(
            con,
            "SELECT table_name FROM duckdb_tables() WHERE temporary UNION ALL"
            " SELECT view_name FROM duckdb_views() WHERE temporary AND NOT internal",
        )
    }


PROVEN = {"numRecords": 3, "nullCount": {"id": 0}, "minValues": {"id": 1}}
"""Statistics for which no footer is read."""


# --- the view --------------------------------------------------------------------------------------


def test_columns_have_the_names_order_and_types_of_the_table(con, table):
    arrow = pa.schema(
        [
            ("t", pa.timestamp("us", "UTC")),
            ("n", pa.timestamp("us")),
            ("s", pa.struct([("a b", pa.decimal128(9, 2)), ("l", pa.list_(pa.binary()))])),
            ("m", pa.map_(pa.string(), pa.date32())),
            ("i", pa.int8()),
            ("p", pa.float32()),
        ]
    )
    table.metadata(arrow, ["p"]).commit()
    register(con, "t", open_snapshot(table.path))
    assert [(name, kind) for name, kind, *_ in fetch(con, "DESCRIBE t")] == [
        ("t", "TIMESTAMP WITH TIME ZONE"),
        ("n", "TIMESTAMP"),
        ("s", 'STRUCT("a b" DECIMAL(9,2), l BLOB[])'),
        ("m", "MAP(VARCHAR, DATE)"),
        ("i", "TINYINT"),
        ("p", "FLOAT"),
    ]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kathmandu"])
@pytest.mark.parametrize("int96", [True, False])
def test_times_do_not_depend_on_the_zone_of_the_session(con, table, zone, int96):
    moment = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)
    naive = moment.replace(tzinfo=None)
    schema = pa.schema([("t", pa.timestamp("us", "UTC")), ("n", pa.timestamp("us")), ("p", SCHEMA.types[1])])
    rows = pa.table({"t": [moment], "n": [naive]}, schema=pa.schema(list(schema)[:2]))
    table.metadata(schema, ["p"])
    table.commit([table.add_file(rows, {"p": "1"}, parquet={"use_deprecated_int96_timestamps": int96})])
    register(con, "t", open_snapshot(table.path))
    con.execute(f"SET TimeZone = '{zone}'")
    micros = int(moment.timestamp() * 1_000_000)
    assert fetch(con, "SELECT epoch_us(t), epoch_us(n) FROM t") == [(micros, micros)]
    assert fetch(con, "SELECT count(*) FROM t WHERE n = TIMESTAMP '2026-07-01 12:00:00'") == [(1,)]
    assert fetch(con, "SELECT count(*) FROM t WHERE t = '2026-07-01 12:00:00+00'::TIMESTAMPTZ") == [(1,)]


def test_the_view_stays_at_its_version_until_it_is_registered_again(con, table):
    many_files(table, 2, deleted=[0])
    register(con, "t", open_snapshot(table.path))
    before = temporary_objects(con)
    table.commit([table.add_file(pa.table({"id": [-1]}), {"p": "9"})])
    assert fetch(con, "SELECT count(*) FROM t") == [(1666,)]
    register(con, "t", open_snapshot(table.path))
    assert fetch(con, "SELECT count(*), min(id) FROM t") == [(1667, -1)]
    after = temporary_objects(con)
    assert len(after) == len(before) == 2
    assert before != after
    register(con, "t", open_snapshot(table.path), native=False)
    assert fetch(con, "SELECT count(*) FROM t") == [(1667,)]
    assert len(temporary_objects(con)) == 2
    register(con, "t", open_snapshot(table.path, 0))
    assert fetch(con, "SELECT count(*) FROM t") == [(1666,)]
    assert len(temporary_objects(con)) == 2


def test_helpers_of_another_name_are_left_alone(con, table):
    many_files(table, 3)
    for name in ("a", "a:b", 'quo"te', "a"):
        register(con, name, open_snapshot(table.path))
    assert len(temporary_objects(con)) == 6
    for name in ("a", "a:b", 'quo""te'):
        assert fetch(con, f'SELECT count(*) FROM "{name}"') == [(3000,)]


def test_a_refused_registration_leaves_the_view_and_nothing_else(con, table):
    many_files(table, 2)
    register(con, "t", open_snapshot(table.path))
    before = temporary_objects(con)
    table.commit([table.add_file(3, {"p": "0"}, name="gone.parquet", stats=False)])
    with pytest.raises(CorruptDataFileError, match=r"gone\.parquet"):
        register(con, "t", open_snapshot(table.path))
    assert temporary_objects(con) == before
    assert fetch(con, "SELECT count(*) FROM t") == [(2000,)]
    absent = [table.add_file(3, {"p": str(p)}, name=f"absent{p}.parquet", stats=PROVEN) for p in range(2)]
    alive = [table.remove({"add": add}) for add in table.live_files().values()]
    table.commit(alive + absent)
    with pytest.raises(CorruptDataFileError, match=r"absent\d\.parquet"):
        register(con, "t", open_snapshot(table.path))
    assert temporary_objects(con) == before


def test_an_absent_file_that_statistics_describe_fails_the_query(con, table):
    many_files(table, 2)
    table.commit([table.add_file(3, {"p": "9"}, name="absent.parquet", stats=PROVEN)])
    register(con, "t", open_snapshot(table.path))
    for sql in ("SELECT count(*) FROM t", "SELECT sum(id) FROM t"):
        with pytest.raises(duckdb.Error, match=r"absent\.parquet"):
            fetch(con, sql)


def test_only_temporary_objects_are_made_in_a_read_only_database(tmp_path, table):
    many_files(table, 2, deleted=[1])
    duckdb.connect(str(tmp_path / "db")).close()
    with duckdb.connect(str(tmp_path / "db"), read_only=True) as con:
        register(con, "t", open_snapshot(table.path))
        assert fetch(con, "SELECT count(*) FROM t") == [(1666,)]
        assert fetch(con, "SELECT count(*) FROM duckdb_tables() WHERE NOT temporary") == [(0,)]


def test_a_path_and_the_default_connection(table):
    many_files(table, 1)
    register(duckdb, "of_the_default_connection", table.path)
    assert duckdb.sql("SELECT count(*) FROM of_the_default_connection").fetchall() == [(1000,)]
    duckdb.sql("DROP VIEW of_the_default_connection")


def test_query_streams_rows(table):
    many_files(table, 3)
    reader = query(open_snapshot(table.path), "SELECT p, count(*) AS n FROM t GROUP BY p ORDER BY p")
    assert reader.read_all().to_pylist() == [{"p": p, "n": 1000} for p in range(3)]
    assert query(table.path, "SELECT sum(id) AS s FROM other", "other").schema.names == ["s"]
    with pytest.raises(duckdb.Error, match="nope"):
        query(table.path, "SELECT nope FROM t")


@pytest.mark.feature("typeWidening")
@pytest.mark.parametrize("native", [True, False])
def test_filters_on_dates_that_became_timestamps(con, tmp_path, native):
    table = TableBuilder(tmp_path).features("timestampNtz", "typeWidening")
    table.metadata(pa.schema([("d", pa.timestamp("us"))]))
    dates = pa.table({"d": [dt.date(2025, 1, 1), dt.date(2026, 1, 1)]})
    times = pa.table({"d": pa.array([dt.datetime(2026, 1, 1, 12)], pa.timestamp("us"))})
    table.commit([table.add_file(rows, parquet={"row_group_size": 1}) for rows in (dates, times)])
    register(con, "t", open_snapshot(tmp_path), native=native)
    for condition, count in {
        "d < '2026-01-01 06:00'": 2,
        "d = '2026-01-01 12:00'": 1,
        "d > '2026-01-01'": 1,
    }.items():
        assert fetch(con, f"SELECT count(*) FROM t WHERE {condition}") == [(count,)]


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("arrow_type", [pa.float32(), pa.float64()], ids=str)
@pytest.mark.parametrize("where", ["x > 5", "x = 'nan'", "isnan(x)", "x >= 1e30", "x <> 1"])
def test_nan_is_greater_than_every_number(con, tmp_path, native, arrow_type, where):
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("x", pa.float64())]))
    rows = pa.table({"x": pa.array([1.0, float("nan"), 2.0, 3.0], arrow_type)})
    table.commit([table.add_file(rows, parquet={"row_group_size": 2})])
    register(con, "t", open_snapshot(tmp_path), native=native)
    assert fetch(con, f"SELECT count(*) FROM t WHERE {where} AND isnan(x)") == [(1,)]
    assert "nan" in map(str, (x for (x,) in fetch(con, f"SELECT x FROM t WHERE {where}")))
    assert fetch(con, "SELECT isnan(max(x)), min(x) FROM t") == [(True, 1.0)]


# --- plans -----------------------------------------------------------------------------------------


def files_read(con, sql):
    """How many data files a query opens."""
    analyzed = fetch(con, f"EXPLAIN ANALYZE {sql}")[0][1]
    return sum(map(int, re.findall(r"Total Files Read: (\d+)", analyzed)))


def scans_by_side(con, sql):
    """The operators below the first join of a plan: probe side, build side."""
    plan = json.loads(fetch(con, f"EXPLAIN (FORMAT json) {sql}")[0][1])
    pending = list(plan)
    while pending:
        node = pending.pop(0)
        if node["name"].strip() in ("HASH_JOIN", "JOIN", "Hash Join"):
            return [_leaf_names(child) for child in node["children"]]
        pending += node["children"]
    raise AssertionError(f"no join in {plan}")


def _leaf_names(node):
    found = [node["name"].strip() + str(node.get("extra_info", {}).get("Function", ""))]
    return found + [name for child in node["children"] for name in _leaf_names(child)]


def test_files_are_the_probe_side(con, table):
    many_files(table, 20, deleted=range(10))
    register(con, "t", open_snapshot(table.path))
    for sql in ("SELECT sum(id), sum(p) FROM t", "SELECT id FROM t WHERE p > 3 AND p < 9"):
        probe, build = scans_by_side(con, sql)
        assert any("PARQUET" in name.upper() for name in probe), (probe, build)
        assert not any("PARQUET" in name.upper() for name in build), (probe, build)


def test_no_more_files_are_opened_than_needed_and_one_a_branch(con, table):
    many_files(table, 50)
    register(con, "t", open_snapshot(table.path))
    assert files_read(con, "SELECT sum(id) FROM t WHERE p = 40") <= 2
    assert files_read(con, "SELECT sum(id) FROM t WHERE p IN (3, 17)") <= 3
    assert files_read(con, "SELECT sum(id) FROM t JOIN (SELECT 7 AS p) USING (p)") <= 2
    assert files_read(con, "SELECT sum(id) FROM t") == 50
    assert fetch(con, "SELECT sum(id) FROM t WHERE p = 40") == [(sum(range(40_000, 41_000)),)]


def test_a_broken_file_that_is_not_needed_is_not_opened(con, table):
    adds = many_files(table, 6, deleted=[1, 4])
    broken = table.path / adds[5]["add"]["path"]
    broken.write_bytes(b"x" * broken.stat().st_size)
    register(con, "t", open_snapshot(table.path))
    assert fetch(con, "SELECT count(*) FROM t WHERE p <= 4") == [(2 * 666 + 3 * 1000,)]
    with pytest.raises(duckdb.Error):
        fetch(con, "SELECT count(*) FROM t")


def test_statistics_spare_the_footers(con, table, monkeypatch):
    many_files(table, 3)

    def refuse(*_):
        raise AssertionError("a footer is read")

    monkeypatch.setattr(
        "deltaarrow.scan.file_schemas.footers._read_schemas", lambda store, tasks: tasks and refuse()
    )
    register(con, "t", open_snapshot(table.path))
    assert fetch(con, "SELECT count(*) FROM t") == [(3000,)]


def test_footers_are_read_once(con, table, monkeypatch):
    table.commit([table.add_file(pa.table({"id": [i]}), {"p": "1"}, stats=False) for i in range(3)])
    register(con, "t", open_snapshot(table.path))
    monkeypatch.setattr("deltaarrow.scan.file_schemas.footers._ask", None)
    register(con, "t", open_snapshot(table.path))
    assert fetch(con, "SELECT count(*) FROM t") == [(3,)]


# --- limits ----------------------------------------------------------------------------------------


def test_a_column_named_as_one_of_duckdbs_own(con, tmp_path):
    schema = pa.schema([("File_Index", pa.int64()), ("filename", pa.string()), ("p", pa.int64())])
    table = TableBuilder(tmp_path).protocol().metadata(schema, ["p"])
    rows = pa.table({"File_Index": [7], "filename": ["x"]})
    table.commit([table.add_file(rows, {"p": "1"})])
    register(con, "t", open_snapshot(tmp_path), native=True)
    assert fetch(con, "FROM t") == [(7, "x", 1)]
    table.commit([table.add_file(rows, {"p": "2"})])
    with pytest.raises(UnsupportedFeatureError, match=r"file_index|filename"):
        register(con, "t", open_snapshot(tmp_path), native=True)
    register(con, "t", open_snapshot(tmp_path))
    assert sorted(fetch(con, "FROM t")) == [(7, "x", 1), (7, "x", 2)]


def test_columns_named_as_those_of_the_table_of_files(con, tmp_path):
    names = ["branch", "file_index", "file", "keep", "value_0"]
    schema = pa.schema([("id", pa.int64()), *((name, pa.int64()) for name in names)])
    table = TableBuilder(tmp_path).features("deletionVectors").metadata(schema, names)
    for number in range(2):
        values = {name: str(10 * number + i) for i, name in enumerate(names)}
        vector = table.deletion_vector([0])
        table.commit([table.add_file(pa.table({"id": [1, 2]}), values, deletion_vector=vector)])
    register(con, "t", open_snapshot(tmp_path), native=True)
    assert sorted(fetch(con, "FROM t")) == [(2, 0, 1, 2, 3, 4), (2, 10, 11, 12, 13, 14)]


def test_names_that_differ_in_case_alone_are_left_to_the_dataset(con, tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("a", pa.int64())]))
    table.commit([table.add_file(pa.table({"A": [1], "a": [2]}), stats=False)])
    with pytest.raises(UnsupportedFeatureError, match="case"):
        register(con, "t", open_snapshot(tmp_path), native=True)
    register(con, "t", open_snapshot(tmp_path))
    assert fetch(con, "FROM t") == [(2,)]


def test_without_access_to_files_the_dataset_is_shown(table):
    many_files(table, 2, deleted=[0])
    with duckdb.connect(config={"enable_external_access": "false"}) as con:
        with pytest.raises(UnsupportedFeatureError, match="enable_external_access"):
            register(con, "t", open_snapshot(table.path), native=True)
        register(con, "t", open_snapshot(table.path))
        assert fetch(con, "SELECT count(*) FROM t") == [(1666,)]


def test_very_many_files_are_left_to_the_dataset(con, table):
    many_files(table, 3)
    table.commit([table.add_file(1, {"p": "9"}, stats=False) for _ in range(9_998)])
    with pytest.raises(UnsupportedFeatureError, match="10001 files"):
        register(con, "t", open_snapshot(table.path), native=True)
    register(con, "t", open_snapshot(table.path))
    assert fetch(con, "SELECT count(*) FROM t WHERE p = 1") == [(1000,)]


@pytest.mark.parametrize(
    ("count", "size", "native", "is_dataset"),
    [
        (1_001, 1_000, "auto", True),
        (1_000, 1_000, "auto", False),
        (1_001, 40_000, "auto", False),
        (1_001, 1_000, True, False),
    ],
)
def test_many_small_files_are_left_to_the_dataset(con, table, count, size, native, is_dataset):
    many_files(table, 2)
    small = table.add_file(pa.table({"id": [0]}), {"p": "9"}, name="2.parquet")
    for number in range(3, count):
        os.link(table.path / "2.parquet", table.path / f"{number}.parquet")
    table.commit(
        {"add": small["add"] | {"path": f"{number}.parquet", "size": size}} for number in range(2, count)
    )
    register(con, "t", open_snapshot(table.path), native=native)
    assert isinstance(shown_views(con)["t"], ShownFiles) is not is_dataset
    assert fetch(con, "SELECT count(*) FROM t WHERE p = 1") == [(1000,)]


def test_a_table_without_columns_is_refused(con, tmp_path):
    TableBuilder(tmp_path).protocol().metadata(pa.schema([])).commit()
    with pytest.raises(UnsupportedFeatureError, match="has no columns"):
        register(con, "t", open_snapshot(tmp_path))


def test_native_is_one_of_three(con, table):
    table.commit()
    with pytest.raises(ValueError, match="'auto', True or False"):
        register(con, "t", open_snapshot(table.path), native="maybe")


# --- other stores ----------------------------------------------------------------------------------


def in_memory(table, name):
    """Copy a table to ``memory://``."""
    store = open_store(f"memory://{name}")
    for file in table.path.rglob("*"):
        if file.is_file():
            store.write(file.relative_to(table.path).as_posix(), file.read_bytes())
    return Snapshot.load(open_store(f"memory://{name}"))


def test_a_table_in_memory_is_read_natively(con, table, tmp_path):
    many_files(table, 3, deleted=[0])
    snapshot = in_memory(table, tmp_path.name)
    for _ in range(2):
        register(con, "t", snapshot, native=True)
        assert fetch(con, "SELECT count(*) FROM t") == [(2666,)]


def test_another_file_system_of_the_protocol_is_not_replaced(con, table, tmp_path):
    many_files(table, 2)
    snapshot = in_memory(table, tmp_path.name)
    con.register_filesystem(snapshot.store.fsspec_filesystem())
    with pytest.raises(UnsupportedFeatureError, match="another file system"):
        register(con, "t", snapshot, native=True)
    register(con, "t", snapshot)
    assert fetch(con, "SELECT count(*) FROM t") == [(2000,)]


# --- variants --------------------------------------------------------------------------------------

VARIANT_SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in {"id": "long", "v": "variant"}.items()
    ],
}


def variant_table(con, folder, *, annotated, shredded=False):
    """A table of one file with variants, which the file declares to be ones or not."""
    table = TableBuilder(folder).features("variantType", "variantShredding").metadata(VARIANT_SCHEMA)
    add = table.add_file(pa.table({"id": [1]}), name="v.parquet", stats=False)
    shredding = "STRUCT(a BIGINT)" if shredded else "VARIANT"
    rows = """SELECT 1::BIGINT AS id, '{"a": 1}'::JSON::VARIANT AS v"""
    con.execute(f"COPY ({rows}) TO '{folder}/v.parquet' (SHREDDING {{v: '{shredding}'}})")
    if not annotated:
        pq.write_table(pq.read_table(folder / "v.parquet"), folder / "v.parquet")
    table.commit([add])
    return open_snapshot(folder)


@pytest.mark.feature("variantType")
@pytest.mark.feature("variantShredding")
@pytest.mark.parametrize("kind", ["annotated", "shredded", "plain"])
def test_variants_are_variants(con, tmp_path, kind):
    snapshot = variant_table(con, tmp_path, annotated=kind != "plain", shredded=kind == "shredded")
    register(con, "t", snapshot)
    assert [kind for _, kind, *_ in fetch(con, "DESCRIBE t")] == ["BIGINT", "VARIANT"]
    assert fetch(con, "SELECT id, v.a::INTEGER FROM t") == [(1, 1)]
    if kind == "plain":
        with pytest.raises(UnsupportedFeatureError, match="does not annotate"):
            register(con, "t", snapshot, native=True)


# --- relations for changes -------------------------------------------------------------------------


def test_rows_can_be_located(con, table):
    many_files(table, 4, deleted=[2])
    plan = plan_scan(open_snapshot(table.path), columns=["id"])
    relation = relation_sql(plan, "parts of it", locate=True)
    con.register("arrow", relation.parts)
    con.execute(relation.create_parts("arrow"))
    found = con.sql(relation.select).to_arrow_table()
    assert found.column_names == ["id", FILE_COLUMN, ROW_COLUMN]
    assert found.num_rows == 3666
    firsts = {task.path: DeltaDataset(open_snapshot(table.path)) for task in plan.tasks}
    assert len(firsts) == 4
    by_file = {add["path"]: int(add["partitionValues"]["p"]) for add in _adds(table)}
    for row in found.to_pylist():
        assert row["id"] == 1000 * by_file[plan.tasks[row[FILE_COLUMN]].path] + row[ROW_COLUMN]


def _adds(table):
    return [line["add"] for line in table.commits[0] if "add" in line]


def test_rows_with_variants_are_not_located(con, tmp_path):
    snapshot = variant_table(con, tmp_path, annotated=True)
    with pytest.raises(UnsupportedFeatureError, match="variants"):
        relation_sql(plan_scan(snapshot), "parts", locate=True)
    assert relation_sql(plan_scan(snapshot, columns=["id"]), "parts", locate=True).parts.num_rows == 1


def nested(*names, **members):
    """The type of a struct of integers and other members."""
    return pa.struct([*((name, pa.int64()) for name in names), *members.items()])


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize(
    ("stored", "value"),
    [
        (nested("a"), {"a": 2}),
        (nested("a", d=nested("a")), {"a": 2, "d": {"a": 2}}),
        (nested("other"), {"other": 2}),
    ],
)
def test_a_struct_that_a_file_lacks_in_a_struct_is_taken_apart(con, tmp_path, stored, value, statistics):
    """One that DuckDB's reader makes up cannot be: the query fails, and all later ones on the database."""
    full = nested("a", c=nested("x", "y"), d=nested("a", e=nested("z")))
    whole = {"a": 1, "c": {"x": 1, "y": 1}, "d": {"a": 1, "e": {"z": 1}}}
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("s", full)]))
    files = [pa.array([whole, None], full), pa.array([value, None], stored)]
    table.commit([table.add_file(pa.table({"s": rows}), stats=statistics) for rows in files])
    snapshot = open_snapshot(tmp_path)
    register(con, "t", snapshot, native=True)
    expected = DeltaDataset(snapshot).to_table()["s"].to_pylist()
    assert sorted(fetch(con, "FROM t"), key=repr) == sorted(((each,) for each in expected), key=repr)
    for part in ("s.c.y", "s.d.e.z"):
        assert fetch(con, f"SELECT s.a FROM t WHERE {part} = 1") == [(1,)]
        assert fetch(con, f"SELECT count(*) FROM t WHERE {part} IS NULL") == [(3,)]
        assert sorted(fetch(con, f"SELECT {part} FROM t"), key=str) == [(1,), (None,), (None,), (None,)]
    assert fetch(con, "SELECT count(s), count(s.c), sum(s.d.a) FROM t") == [
        (2, sum(each is not None and each["c"] is not None for each in expected), 3 if "d" in value else 1)
    ]


@pytest.mark.parametrize("kind", ["list", "struct"])
def test_structs_inside_columns_that_have_nothing_in_common_come_through_arrow(con, tmp_path, kind):
    def column(name):
        return pa.list_(nested(name)) if kind == "list" else nested("x", s=nested(name))

    values = [[{"other": 1}, None], None] if kind == "list" else [{"x": 1, "s": None}, None]
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("c", column("a"))]))
    table.commit([table.add_file(pa.table({"c": pa.array(values, column("other"))}))])
    with pytest.raises(UnsupportedFeatureError, match="none of the table"):
        register(con, "t", open_snapshot(tmp_path), native=True)
    register(con, "t", open_snapshot(tmp_path))
    shown = [{"a": None}, None] if kind == "list" else {"x": 1, "s": None}
    assert fetch(con, "FROM t") == [(shown,), (None,)]
