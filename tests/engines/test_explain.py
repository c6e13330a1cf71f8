"""`explain` shows for every engine which files a query reads and what skips the others."""

import datetime as dt
import json

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import deltaarrow
from deltaarrow.deletion_vectors import encode_z85
from deltaarrow.engines import DeltaDataset, register, scan_delta
from deltaarrow.engines.dataset import LogDataset
from deltaarrow.expressions import to_arrow
from deltaarrow.variant import variant_array
from tests.support.conditions import predicate_of
from tests.support.duckdb_session import duckdb_session
from tests.support.engines import open_snapshot
from tests.support.examples import examples
from tests.support.tables import TableBuilder

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("x", pa.float64()),
        ("ok", pa.bool_()),
        ("day", pa.date32()),
    ]
)
DAYS = [dt.date(2026, 1, day) for day in (1, 2, 3)]
MAPPED = {"id": "col-1", "name": "col-2", "x": "col-3", "ok": "col-4", "day": "col-5"}


def rows(number):
    """Ten rows: ids 10 * number and so on, one name."""
    ids = range(10 * number, 10 * number + 10)
    names = [f"n{number}"] * 10 if number != 5 else [None] * 10
    columns = {"id": ids, "name": names, "x": [i / 2 for i in ids], "ok": [True] * 10}
    return pa.table(columns, schema=SCHEMA.remove(4))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Six files of three days, two of them with a deletion vector; version 6 adds one more."""
    table = TableBuilder(tmp_path_factory.mktemp("explain")).features("deletionVectors")
    table.metadata(SCHEMA, ["day"])
    for number in range(7):
        vector = table.deletion_vector([1, 2]) if number in (1, 4) else None
        day = {"day": str(DAYS[number // 2 % 3])}
        table.commit([table.add_file(rows(number), day, deletion_vector=vector)])
    return table.path


def plan_files(plan):
    return sorted(task.path for task in plan.tasks)


def by_dataset(snapshot, where, columns=None):
    """The explanation, and the files of the scan."""
    condition = None if where is None else to_arrow(predicate_of(where, snapshot.schema))
    dataset = DeltaDataset(snapshot)
    scanned = dataset.scanner(columns, condition).plan
    return dataset.explain(columns=columns, filter=condition), len(plan_files(scanned))


def by_polars(snapshot, where, columns=None):
    frame = scan_delta(snapshot)
    frame = frame if where is None else frame.filter(pl.sql_expr(where))
    frame = frame if columns is None else frame.select(columns)
    (found,) = deltaarrow.explain(frame)
    with pytest.MonkeyPatch.context() as patch:
        given = []
        scan_parquet = pl.scan_parquet

        def noted(files, **options):
            given.extend(files)
            return scan_parquet(files, **options)

        patch.setattr(pl, "scan_parquet", noted)
        frame.collect()
    return found, len(given)


def by_duckdb_dataset(snapshot, where, columns=None):
    with duckdb_session() as connection, pytest.MonkeyPatch.context() as patch:
        plans = []
        own = LogDataset.scanner

        def noted(self, *arguments, **options):
            scanner = own(self, *arguments, **options)
            plans.append(scanner.plan)
            return scanner

        patch.setattr(LogDataset, "scanner", noted)
        register(connection, "t", snapshot, native=False)
        names = "*" if columns is None else ", ".join(columns)
        (found,) = deltaarrow.explain(
            connection, f"SELECT {names} FROM t" + ("" if where is None else f" WHERE {where}")
        )
    return found, len(plan_files(plans[-1])) if plans else 0


READERS = {"dataset": by_dataset, "polars": by_polars, "duckdb-dataset": by_duckdb_dataset}


@pytest.fixture(params=READERS)
def engine(request):
    return READERS[request.param]


CONDITIONS = {
    "day = DATE '2026-01-02'": ({"partition values"}, 2),
    "id > 35": ({"statistics"}, 3),
    "day = DATE '2026-01-01' AND id >= 15": ({"partition values", "statistics"}, 1),
    "id IN (3, 41)": ({"statistics"}, 2),
    "name LIKE 'n4%'": ({"statistics"}, 1),
    "name IS NULL": ({"statistics"}, 1),
    "day IS NULL": ({"partition values"}, 0),
}


@pytest.mark.parametrize("where", CONDITIONS)
def test_every_kind_of_condition(engine, path, where):
    found, read = engine(open_snapshot(path, 5), where)
    evidence, left = CONDITIONS[where]
    if "LIKE" in where and engine is not by_dataset and found.left_files == 6:
        # An engine may keep prefixes to itself.
        evidence, left = set(), 6
    assert {kind for part in found.parts for kind in part.evidence} == evidence
    assert (found.files, found.left_files, read) == (6, left, left)
    assert [part.left_files for part in found.parts][-1:] in ([left], [])
    assert found.bytes - found.left_bytes >= max((part.skipped_bytes for part in found.parts), default=0)


def test_parts_add_up(engine, path):
    found, _ = engine(open_snapshot(path), "day = DATE '2026-01-01' AND id >= 15")
    by_condition = {part.condition.partition(" ")[0]: part for part in found.parts}
    assert (by_condition["day"].skipped_files, by_condition["id"].skipped_files) == (4, 1)
    assert sorted(part.left_files for part in found.parts)[0] == found.left_files == 2
    assert found.left_bytes == found.parts[-1].left_bytes < found.bytes


def test_without_a_condition_every_file_is_read(engine, path):
    found, read = engine(open_snapshot(path), None, ["id"])
    assert (found.parts, found.left_files, read) == ((), 7, 7)
    assert found.columns == ("id",)
    assert (found.deletion_vectors, found.deleted_rows) == (2, 4)


def test_deletion_vectors_of_the_remaining_files(engine, path):
    found, _ = engine(open_snapshot(path), "id < 25", ["name"])
    assert (found.left_files, found.deletion_vectors, found.deleted_rows) == (3, 1, 2)
    assert sorted(found.columns) == ["id", "name"]


def test_time_travel(engine, path):
    for version in (0, 3):
        found, read = engine(open_snapshot(path, version), "id >= 10")
        assert (found.version, found.files, found.left_files) == (version, version + 1, version)
        assert read == version


def test_what_skips_nothing_says_why(engine, path):
    found, read = engine(open_snapshot(path, 5), "ok = false AND x > 1000")
    reasons = " ".join(part.reason or "" for part in found.parts)
    assert "ok is boolean, and its statistics have no bounds" in reasons
    if engine is not by_duckdb_dataset:  # which keeps filters on floating point columns to itself
        assert "NaN in x may match" in reasons
    assert (found.left_files, read) == (6, 6)


@pytest.mark.feature("columnMapping")
def test_mapped_columns(engine, tmp_path):
    fields = []
    for number, (name, kind) in enumerate([("id", "long"), ("day", "date")], 1):
        metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        fields.append({"name": name, "type": kind, "nullable": True, "metadata": metadata})
    table = TableBuilder(tmp_path).protocol(2, 5)
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    table.metadata({"type": "struct", "fields": fields}, ["day"], configuration)
    for number in range(4):
        file = pa.table({"col-1": [number, number + 1]})
        table.commit([table.add_file(file, {"col-2": str(DAYS[number % 2])})])
    found, read = engine(open_snapshot(tmp_path), "day = DATE '2026-01-02' AND id > 2")
    assert (found.left_files, read) == (1, 1)
    assert {part.condition.partition(" ")[0] for part in found.parts} == {"day", "id"}
    assert sum(part.skipped_files > 0 for part in found.parts) == 2


@settings(max_examples=examples(5), deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("name", READERS)
def test_the_remaining_files_are_those_of_the_scan(path, name, data):
    atoms = st.one_of(
        st.builds("id {} {}".format, st.sampled_from(["<", ">=", "=", "<>"]), st.integers(-5, 75)),
        st.builds("name {} 'n{}'".format, st.sampled_from(["<", ">", "="]), st.integers(0, 8)),
        st.builds("x {} {}".format, st.sampled_from(["<", ">", "="]), st.integers(0, 40)),
        st.builds("day {} DATE '{}'".format, st.sampled_from(["<", ">=", "="]), st.sampled_from(DAYS)),
        st.sampled_from(["name IS NULL", "day IS NOT NULL", "id IN (3, 41)", "ok"]),
    )
    either = st.lists(atoms, min_size=1, max_size=2).map(" OR ".join)
    where = " AND ".join(f"({each})" for each in data.draw(st.lists(either, min_size=1, max_size=3)))
    found, read = READERS[name](open_snapshot(path, data.draw(st.integers(0, 6))), where)
    assert found.left_files == read, where
    assert found.files - found.left_files >= max((part.skipped_files for part in found.parts), default=0)


# --- DuckDB's own reader ---------------------------------------------------------------------------


def opened(found):
    return int(found.notes[0].split()[2])


def native(connection, path, sql, version=None, **options):
    register(connection, "t", open_snapshot(path, version), native=True, **options)
    return deltaarrow.explain(connection, sql)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Forty files, one of each value of p, every fourth of them with a deletion vector."""
    table = TableBuilder(tmp_path_factory.mktemp("many")).features("deletionVectors")
    table.metadata(pa.schema([("id", pa.int64()), ("p", pa.int64())]), ["p"])
    adds = []
    for number in range(40):
        vector = table.deletion_vector(range(9)) if number % 4 == 0 else None
        rows = pa.table({"id": range(1000 * number, 1000 * number + 1000)})
        adds.append(table.add_file(rows, {"p": str(number)}, deletion_vector=vector))
    table.commit(adds)
    return table.path


NATIVE = {
    "p = 5": (1, "p = 5"),
    "p IN (4, 6, 9) AND id > 4500": (3, "p"),
    "p::VARCHAR LIKE '%5'": (4, "suffix(CAST(p AS VARCHAR)"),
    "p > 35 AND p <> 38": (3, "p > 35"),
    "id BETWEEN 3000 AND 3010": (40, None),
}


@pytest.mark.parametrize("where", NATIVE)
def test_partition_values_spare_duckdb_files(many, where):
    with duckdb_session() as connection:
        (found,) = native(connection, many, f"SELECT sum(id) FROM t WHERE {where}")
    left, condition = NATIVE[where]
    by_values = [part for part in found.parts if part.evidence == ("partition values",)]
    assert (found.files, found.left_files) == (40, left)
    assert any(condition in part.condition for part in by_values) if condition else by_values == []
    assert opened(found) >= left


def test_files_that_are_all_alike(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["day"])
    table.commit([table.add_file(rows(number), {"day": str(day)}) for number, day in enumerate(DAYS)])
    with duckdb_session() as connection:
        (found,) = native(connection, tmp_path, "SELECT sum(id) FROM t WHERE day = '2026-01-03'")
        (two,) = native(connection, tmp_path, "SELECT sum(id) FROM t WHERE day <= '2026-01-02'")
    assert (found.left_files, two.left_files, found.columns) == (1, 2, ("id", "day"))


def test_functions_of_the_caller(many):
    with duckdb.connect() as connection:
        connection.create_function("odd", lambda n: n % 2 == 1, ["BIGINT"], "BOOLEAN")
        (found,) = native(connection, many, "SELECT sum(id) FROM t WHERE odd(p) AND p < 10")
    reasons = [part.reason or "" for part in found.parts if "odd" in part.condition]
    # DuckDB moved the filter to the table of files before release 2.0.1.
    assert len(reasons) == 1 and ("does not tell" in reasons[0] or "for the rows" in reasons[0])
    assert found.left_files == 10


def test_conditions_that_may_fail_are_computed_for_rows(many):
    with duckdb_session() as connection:
        (found,) = native(connection, many, "SELECT sum(id) FROM t WHERE id // (p + 1) > 700 AND p < 10")
    assert [part.reason for part in found.parts if "//" in part.condition] == [
        "DuckDB computes it for the rows that it has read"
    ]
    assert found.left_files == 10


def test_a_value_that_no_file_has(many):
    with duckdb_session() as connection:
        (found,) = native(connection, many, "SELECT id FROM t WHERE p = 99")
        (never,) = native(connection, many, "SELECT id FROM t WHERE id < 0 AND id > 0")
    assert (found.left_files, found.parts[0].skipped_files) == (0, 40)
    assert (never.left_files, never.parts[0].evidence) == (0, ("never true",))


def test_conditions_on_data_are_left_to_duckdb(path):
    with duckdb_session() as connection:
        (found,) = native(connection, path, "SELECT name FROM t WHERE id > 35 AND day > '2026-01-01'")
    assert "row groups" in next(part.reason for part in found.parts if not part.evidence)
    assert set(found.columns) == {"id", "name", "day"}


@pytest.mark.feature("columnMapping")
def test_names_of_mapped_columns_and_quoted_ones_are_those_of_the_table(tmp_path):
    """Physical names have hyphens, and a profile of DuckDB's has no quotes."""
    rows = pa.table({"id": [1, 2], "its name": ["a", "b"], "order": [1, 2], "p": [3, 4]})
    mapping = {"delta.columnMapping.mode": "name"}
    deltaarrow.write_deltalake(tmp_path, rows, partition_by=["p"], configuration=mapping)
    where = 'p > 3 AND "its name" > \'order\' AND "order" = 2'
    with duckdb_session() as connection:
        (found,) = native(connection, tmp_path, f"SELECT sum(id) FROM t WHERE {where}")
    assert found.columns == ("id", "its name", "order", "p")
    assert {part.condition for part in found.parts} == {"p > 3", "its name > 'order'", "order = 2"}
    assert found.left_files == 1


def test_the_default_connection(path):
    register(duckdb, "of_explain", open_snapshot(path))
    try:
        (found,) = deltaarrow.explain(duckdb, "SELECT id FROM of_explain WHERE id > 35")
    finally:
        duckdb.sql("DROP VIEW of_explain")
    assert (found.version, found.files) == (6, 7)


def test_views_are_told_apart(path):
    with duckdb_session() as connection:
        register(connection, "earlier", open_snapshot(path, 2))
        sql = "SELECT id FROM t WHERE day = '2026-01-02' EXCEPT SELECT id FROM earlier WHERE id > 3"
        found = native(connection, path, sql)
        both = native(connection, path, "SELECT count(*) FROM t AS a JOIN t AS b USING (id)")
        nothing = deltaarrow.explain(connection, "SELECT 1")
    assert sorted((each.version, each.files) for each in found) == [(2, 3), (6, 7)]
    assert [each.left_files for each in both] == [7, 7]
    assert nothing == []


@pytest.mark.parametrize("sql", ["SELECT 1; SELECT 2", "CREATE TABLE a AS SELECT 1", "EXPLAIN SELECT 1"])
def test_only_a_select_is_run(sql):
    with duckdb.connect() as connection:
        with pytest.raises(ValueError, match="one SELECT"):
            deltaarrow.explain(connection, sql)
        assert connection.execute("SHOW TABLES").fetchall() == []


# --- Polars ----------------------------------------------------------------------------------------


def test_what_polars_decides_by_itself(path):
    frame = scan_delta(path)
    (found,) = deltaarrow.explain(frame.filter(pl.col("day").dt.day() == 2))
    assert [(part.evidence, part.left_files) for part in found.parts] == [(("partition values",), 2)]
    (found,) = deltaarrow.explain(frame.head(12))
    assert [(part.condition, part.skipped_files) for part in found.parts] == [("LIMIT 12", 5)]
    (found,) = deltaarrow.explain(frame.filter(pl.col("name").str.contains("a")))
    assert found.parts[0].reason == "neither partition values nor statistics can decide it"


def test_a_query_that_has_run_is_explained_all_the_same(path):
    query = scan_delta(path).filter(pl.col("id") > 35)
    query.collect()
    assert deltaarrow.explain(query) == deltaarrow.explain(query) != []


def test_every_scan_of_a_query_is_explained(path):
    frame = scan_delta(path)
    both = pl.concat([frame.filter(pl.col("id") < 5), frame.filter(pl.col("id") > 55)])
    assert sorted(found.left_files for found in deltaarrow.explain(both)) == [1, 2]
    assert deltaarrow.explain(pl.LazyFrame({"a": [1]})) == []


# --- forms -----------------------------------------------------------------------------------------


def test_forms(path):
    found = deltaarrow.DeltaTable(path).explain("id > 35 AND day = '2026-01-03'", ["name"])
    assert json.loads(found.to_json()) == found.to_dict()
    assert found.to_dict()["parts"][0]["evidence"] == ["statistics"]
    lines = str(found).splitlines()
    assert lines[0].endswith("version 6")
    assert lines[1].startswith("reads 2 of 7 files, ")
    assert lines[2] == "  id > 35             statistics: skips 3 files, 4 left"
    assert lines[3] == "  day = '2026-01-03'  partition values: skips 5 files, 2 left"
    assert "id &gt; 35" in found._repr_html_()


def test_nothing_of_a_table_reaches_the_terminal(tmp_path):
    name = "a\x1b[31m<b>"
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([(name, pa.int64())]))
    table.commit([table.add_file(pa.table({name: [1]}))])
    found = deltaarrow.DeltaTable(tmp_path).explain([(name, ">", 3)])
    assert found.left_files == 0
    assert "\x1b" not in str(found)
    assert "<b>" not in found._repr_html_()


def test_arguments_are_those_of_a_scan(path):
    table = deltaarrow.DeltaTable(path)
    assert table.explain([("id", ">", 35)], partitions=[("day", "=", "2026-01-03")]).left_files == 2
    pruned = table.to_pyarrow_dataset(file_pruning_predicate="id > 35 AND day = '2026-01-03'")
    assert pruned.explain().left_files == 2
    with pytest.raises(deltaarrow.DeltaError, match="nowhere"):
        table.explain("nowhere = 1")


@pytest.mark.parametrize("query", [1, "SELECT 1", None])
def test_what_is_no_query(query):
    with pytest.raises(TypeError):
        deltaarrow.explain(query)


@pytest.mark.feature("variantType")
def test_parts_of_variants(tmp_path):
    def bound(number):
        (variant,) = variant_array([{"$['a']": number}]).to_pylist()
        return encode_z85(variant["metadata"] + variant["value"])

    table = TableBuilder(tmp_path).features("variantType", "variantShredding")
    column = {"name": "v", "type": "variant", "nullable": True, "metadata": {}}
    table.metadata({"type": "struct", "fields": [column]})
    for low, high in ((1, 9), (20, 30)):
        bounds = {"minValues": {"v": bound(low)}, "maxValues": {"v": bound(high)}}
        table.commit([table.add_file(10, {}, {"numRecords": 10, "nullCount": {"v": 0}} | bounds)])
    where = "variant_get(v, '$.a', 'int') > 15"
    dataset = deltaarrow.DeltaTable(tmp_path).to_pyarrow_dataset(file_pruning_predicate=where)
    (part,) = dataset.explain().parts
    assert (part.condition, part.evidence) == (
        "variant_get(v, '$.a', 'integer') > 15",
        ("statistics",),
    )
    assert part.left_files == len(plan_files(dataset.plan())) == 1
