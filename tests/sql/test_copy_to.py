"""COPY ... TO with the format delta."""

import duckdb
import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow import DeltaTable
from deltaarrow.errors import (
    CommitFailedError,
    SchemaMismatchError,
    TableNotFoundError,
    UnsupportedFeatureError,
)


@pytest.fixture
def con(tmp_path):
    deltaarrow.write_deltalake(tmp_path / "lake" / "orders", pa.table({"id": [1, 2], "p": ["a", "b"]}))
    with deltaarrow.connect(catalog=tmp_path / "catalog") as connection:
        yield connection.attach(tmp_path / "lake", "lake")


def rows(table):
    found = DeltaTable(table).to_pyarrow_table().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


@pytest.mark.parametrize(
    "target",
    [
        "'{lake}/new' (FORMAT delta)",
        "'{lake}/new' WITH (format 'DELTA')",
        "lake.new",
        "delta.'{lake}/new' (FORMAT delta)",
    ],
)
def test_new_table(con, tmp_path, target):
    lake = tmp_path / "lake"
    result = con.sql(f"COPY (FROM lake.orders WHERE id > 1) TO {target.format(lake=lake)}")
    assert result.to_pylist() == [{"num_affected_rows": 1, "num_inserted_rows": 1}]
    assert con.sql("FROM lake.new").fetchall() == [(2, "b")]


def test_options(con, tmp_path):
    place = tmp_path / "lake" / "new"
    con.sql(f"COPY lake.orders TO '{place}' (FORMAT delta, PARTITION_BY (p), MODE overwrite)")
    assert DeltaTable(place).metadata().partition_columns == ["p"]
    con.sql(f"COPY lake.orders (id) TO '{place}' (FORMAT delta, MODE 'append')")
    con.sql("COPY (SELECT 7 AS id, 'z' AS p, true AS ok) TO lake.new (MODE append, SCHEMA_MODE merge)")
    assert rows(place) == [
        (1, "a", None),
        (1, None, None),
        (2, "b", None),
        (2, None, None),
        (7, "z", True),
    ]
    con.sql(
        "COPY (SELECT ? AS id, ? AS p, NULL::BOOLEAN AS ok) TO lake.new (MODE overwrite)", params=[8, "'"]
    )
    assert rows(place) == [(8, "'", None)]
    assert con.sql("COPY lake.orders TO lake.new (MODE ignore)").to_pylist()[0]["num_affected_rows"] == 0


def test_table_of_a_catalog_gets_its_name(con, tmp_path):
    con.catalog.names.create_namespace("sales")
    con.sql("COPY lake.orders TO sales.copied")
    assert con.sql("SELECT count(*) FROM sales.copied").fetchall() == [(2,)]
    assert con.catalog.namespace("sales").tables() == ["copied"]


def test_other_formats_are_duckdbs(con, tmp_path):
    con.sql(f"COPY (FROM lake.orders) TO '{tmp_path}/delta.csv' (FORMAT csv, HEADER)")
    assert (tmp_path / "delta.csv").read_text().splitlines() == ["id,p", "1,a", "2,b"]
    con.sql("CREATE TABLE own (id BIGINT, p VARCHAR)")
    con.sql(f"COPY own FROM '{tmp_path}/delta.csv'")
    assert con.sql("SELECT count(*) FROM own").fetchall() == [(2,)]


@pytest.mark.parametrize(
    ("text", "error", "why"),
    [
        ("COPY lake.orders TO lake.orders", CommitFailedError, "mode"),
        ("COPY lake.orders TO lake.new (MODE replace)", UnsupportedFeatureError, "MODE is one of"),
        ("COPY lake.orders TO lake.new (HEADER true)", UnsupportedFeatureError, "HEADER is no option"),
        (
            "COPY lake.orders TO lake.new (MODE append, MODE append)",
            UnsupportedFeatureError,
            "another option",
        ),
        ("COPY lake.orders TO lake.new (PARTITION_BY (nope))", SchemaMismatchError, "nope"),
        ("COPY lake.orders TO nowhere.new", TableNotFoundError, "no place for a table"),
        ("COPY (SELECT nope FROM lake.orders) TO lake.new", duckdb.BinderException, "nope"),
        ("COPY (SELECT error('x') AS id FROM lake.orders) TO lake.new", deltaarrow.DeltaError, "x"),
    ],
)
def test_what_is_refused_makes_no_table(con, tmp_path, text, error, why):
    with pytest.raises(error, match=why):
        con.sql(text)
    assert not list((tmp_path / "lake").glob("new/_delta_log/*.json"))
    assert con.sql("SELECT 1").fetchall() == [(1,)]
