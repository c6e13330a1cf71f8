"""Random queries through `deltaarrow.connect` return the same as DuckDB over the same rows in memory."""

import datetime
import decimal
import re
from typing import Any

import deltalake
import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import deltaarrow
from tests.support.examples import examples
from tests.support.random_queries import queries

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
HOURS = datetime.timedelta(hours=1)


def _orders(first: int, day: int) -> pa.Table:
    ids = [*range(first, first + 6)]
    columns = {
        "p": pa.array([None if first == 6 else first // 6 % 3] * 6, pa.int32()),
        "d": pa.array([datetime.date(2026, 1, day)] * 6),
        "id": pa.array(ids, pa.int64()),
        "x": pa.array([None if n % 4 == 0 else float("nan") if n == 15 else n / 2 for n in ids]),
        "s": pa.array([None if n % 3 == 1 else f"a{n}" if n % 2 else "b" for n in ids]),
        "t": pa.array([START + n * 2 * HOURS for n in ids], pa.timestamp("us", "UTC")),
        "n": pa.array([decimal.Decimal(n) * 5 / 4 for n in ids], pa.decimal128(6, 2)),
        "f": pa.array([0.1, 0.5, 2, None, float(first), 7], pa.float32()),
        "flag": pa.array([None if n % 3 == 1 else n > 10 for n in ids]),
        "st": pa.array([None if n % 3 == 1 else {"a": n // 6, "b": "bcd"[n % 3]} for n in ids]),
    }
    return pa.table(columns)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two tables: one partitioned and with all types, one with mapped columns and deletion vectors."""
    root = tmp_path_factory.mktemp("lake")
    for number, first in enumerate(range(0, 30, 6)):
        # deltalake writes the least and the greatest boolean, too.
        write = deltalake.write_deltalake if number % 2 else deltaarrow.write_deltalake
        write(root / "orders", _orders(first, 1 + number % 3), mode="append", partition_by=["p", "d"])
    mapped = {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true"}
    for first in range(0, 20, 5):
        ids = [*range(first, first + 5)]
        rows = pa.table({"id": ids, "w": [n // 2 for n in ids], "p": [n % 2 for n in ids], "late": [7] * 5})
        deltaarrow.write_deltalake(root / "items", rows, mode="append", configuration=mapped)
    deltaarrow.DeltaTable(root / "items").delete("id IN (2, 3, 11)")
    return root


@pytest.fixture(scope="module")
def connections(folder):
    """Ours, and DuckDB with the rows in memory."""
    ours, wanted = deltaarrow.connect(), duckdb.connect()
    for con in (ours, wanted):
        con.execute("SET TimeZone = 'Europe/Berlin'")
    for name in ("orders", "items"):
        ours.register(name, folder / name)
        wanted.register("arrow", deltaarrow.DeltaTable(folder / name).to_pyarrow_table())
        wanted.execute(f"CREATE TABLE {name} AS FROM arrow")
    ours.attach(folder, "lake")
    return ours, wanted


def _answer(con: Any, query: str) -> list[str] | str:
    try:
        return sorted(map(repr, con.execute(query).fetchall()))
    except duckdb.Error as error:
        return type(error).__name__


SPELLINGS = ["{table}", "lake.{table}", "delta.'{folder}/{table}'"]


@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(query=queries(), spelling=st.integers(0, 2))
def test_random_queries_return_what_they_do_in_memory(connections, folder, query, spelling):
    ours, wanted = connections
    if "WITH orders" in query or "WITH ITEMS" in query:
        spelling = 0  # Other spellings are not hidden by what WITH defines.
    expected = _answer(wanted, query.format(orders="orders", items="items"))
    if spelling == 2:  # Without an alias such a table is known by its path.
        query = re.sub(r"\{(\w+)\}(?! AS )", r"{\1} AS \1", query)
    names = {name: SPELLINGS[spelling].format(table=name, folder=folder) for name in ("orders", "items")}
    query = query.format(**names)
    found = _answer(ours, query)
    # Whether a cast fails may depend on which condition DuckDB looks at first.
    if "ConversionException" not in (found, expected):
        assert found == expected, query
