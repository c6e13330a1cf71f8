"""Products of decimals of ``lineitem`` in Spark's dialect, beside DuckDB's arithmetic over the bare files.

The type of each product has more than 38 digits, so Spark adjusts it. The charges of TPC-H's first query keep
their scale: they are computed in 128 bits, as the types demand. DuckDB computes them in 64 bits, and raises
where they do not fit. The scale of the squares is cut, so functions over Arrow compute them in Python's
integers, each in about a microsecond; DuckDB squares the same prices in 64 bits.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, Case, Dataset, Engine, Scale, Target
from benchmarks.data_tpch import write_tpch
from benchmarks.queries import DUCKDB_FILES, files_in_duckdb, texts_of_rows

__all__ = ["cases"]

_FILES = {"lineitem": "lineitem/*.parquet"}
_CHARGES = "sum(l_extendedprice * (1 - l_discount) * (1 + l_tax))"
_SHORT = "sum(CAST(l_extendedprice * l_extendedprice AS DECIMAL(38,6)))"
_FORMS = {
    "charges_that_keep_their_scale": (_CHARGES, _CHARGES, 1.7),
    "squares_of_short_values": (_square := "sum(CAST({0} AS {1}) * CAST({0} AS {1}))", _SHORT, 25),
    "squares_of_long_values": (_square, _SHORT, 35),
}
_TYPES = {"squares_of_short_values": "DECIMAL(38,6)", "squares_of_long_values": "DECIMAL(38,18)"}
"""A price of this scale has up to 13 digits, or 25, of which a square has twice as many."""


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    name = f"tpch_sf{scale.tpch:g}".replace(".", "_")
    dataset = Dataset(name, partial(write_tpch, scale_factor=scale.tpch))
    return [_case(dataset, form) for form in _FORMS]


def _case(dataset: Dataset, form: str) -> Case:
    ours, theirs, times = _FORMS[form]
    ours = ours.format("l_extendedprice", _TYPES.get(form))
    query = "SELECT l_returnflag, {} AS total FROM lineitem GROUP BY l_returnflag ORDER BY l_returnflag"
    engines: dict[str, Engine] = {
        OURS: partial(_in_spark_dialect, query=query.format(ours)),
        DUCKDB_FILES: files_in_duckdb(query.format(theirs), _FILES),
    }
    # The front end takes this long to compile a query.
    targets = (Target(DUCKDB_FILES, times, plus=0.05),)
    return Case(f"{dataset.name}_{form}", dataset, engines, texts_of_rows, targets=targets)


def _in_spark_dialect(data: Path, _: Path, *, query: str) -> Iterator[Any]:
    import duckdb  # noqa: F401
    import sqlglot  # noqa: F401

    from deltaarrow import DeltaTable, connect

    yield
    con = connect(dialect="spark")
    con.register("lineitem", DeltaTable(data / "lineitem"))
    while True:
        yield con.sql(query).fetchall()
