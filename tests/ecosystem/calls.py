"""Calls of other libraries that read a table, each with what it gives: the rows of the table, or an error.

`SMALL` are calls of libraries that the tests' environment has; `tests/ecosystem/large_libraries.py` holds
those of the extra `ecosystem`. ``python -m tests.ecosystem.page`` makes the table of
`docs/reference/ecosystem.md`.
"""

import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.acero as acero
import pyarrow.compute as pc
import pyarrow.dataset as pads

import deltaarrow as da

__all__ = ["SMALL", "Call", "Given", "count", "ids"]

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Given:
    """A table, its dataset and a folder for what a call writes."""

    table: da.DeltaTable
    dataset: pads.Dataset
    folder: Path

    @property
    def fragments(self) -> list[Any]:
        return list(self.dataset.get_fragments())

    @property
    def other(self) -> pads.Dataset:
        """A dataset of pyarrow's own, with one row for a live row of the table and one for a deleted row."""
        return pads.dataset(pa.table({"id": pa.array([3, 5], pa.int64()), "x": ["deleted", "live"]}))

    def written(self, name: str = "written") -> Rows:
        """The rows of the Parquet files that a call has written."""
        return pads.dataset(self.folder / name, format="parquet").to_table().to_pylist()


def every_row(rows: Rows) -> Rows:
    return rows


def after_15(rows: Rows) -> Rows:
    return [row for row in rows if row["id"] > 15]


def joined(rows: Rows) -> Rows:
    """The rows that meet `Given.other`, with its column."""
    return [{**row, "x": "live"} for row in rows if row["id"] == 5]


def ids(rows: Rows) -> Rows:
    return [{"id": row["id"]} for row in rows]


def count(rows: Rows) -> Rows:
    return [{"id": len(rows)}]


@dataclass(frozen=True)
class Call:
    """One call: `run` returns rows, or raises `error` with a text that has `told`.

    `wanted` says which of the table's rows the call should return. With `nested` False, the library takes no
    structs or variants, and says so. `since` is the first
    major release of the library that has the call, if the package allows earlier ones.
    """

    library: str
    text: str
    run: Callable[[Given], Any]
    wanted: Callable[[Rows], Rows] = every_row
    error: type[Exception] | None = None
    told: str = ""
    nested: bool = True
    since: int = 0


# --- pyarrow ---------------------------------------------------------------------------------------

AFTER_15 = pc.field("id") > 15


def _write_dataset(given: Given) -> Rows:
    pads.write_dataset(given.dataset, given.folder / "written", format="parquet")
    return given.written()


def _write_scanner(given: Given) -> Rows:
    scanner = given.dataset.scanner(filter=AFTER_15)
    pads.write_dataset(scanner, given.folder / "written", format="parquet")
    return given.written()


def _write_partitioned(given: Given) -> Rows:
    """Hive's folders are the partitions of the copy."""
    pads.write_dataset(
        given.dataset,
        given.folder / "written",
        format="parquet",
        partitioning=["p"],
        partitioning_flavor="hive",
    )
    strings = pads.partitioning(pa.schema([("p", pa.string())]), flavor="hive")
    copy = pads.dataset(given.folder / "written", format="parquet", partitioning=strings)
    return copy.to_table(columns=given.dataset.schema.names).to_pylist()


def _acero_stream(given: Given) -> pa.Table:
    options = acero.RecordBatchReaderSourceNodeOptions(given.dataset.scanner().to_reader())
    return acero.Declaration("record_batch_reader_source", options).to_table()


def _join_asof(given: Given) -> pa.Table:
    """The rows below 10 are in one file, and sorted in it."""
    found = given.dataset.filter(pc.field("id") < 10).join_asof(given.other, "id", [], 0).to_table()
    return found.filter(pc.is_valid(found["x"]))


PAST_THE_LOG = "reads data files past the Delta log"
PYARROW = [
    Call("pyarrow", "D.to_table()", lambda g: g.dataset.to_table()),
    Call("pyarrow", "D.to_batches()", lambda g: pa.Table.from_batches(g.dataset.to_batches())),
    Call("pyarrow", "D.scanner().to_reader()", lambda g: g.dataset.scanner().to_reader().read_all()),
    Call("pyarrow", "D.filter(...)", lambda g: g.dataset.filter(AFTER_15).to_table(), after_15),
    Call("pyarrow", "D.count_rows()", lambda g: [{"id": g.dataset.count_rows()}], count),
    Call("pyarrow", "D.head(n)", lambda g: g.dataset.head(1_000)),
    Call("pyarrow", "D.take(places)", lambda g: g.dataset.take(range(g.dataset.count_rows()))),
    Call("pyarrow", "D.sort_by(...)", lambda g: g.dataset.sort_by([("id", "descending")]).to_table()),
    Call(
        "pyarrow",
        "D.get_fragments(filter)",
        lambda g: pa.concat_tables(f.to_table(filter=AFTER_15) for f in g.dataset.get_fragments(AFTER_15)),
        after_15,
    ),
    Call(
        "pyarrow",
        "fragment.physical_schema",
        lambda g: pa.concat_tables(f.to_table(f.physical_schema) for f in g.fragments),
    ),
    Call("pyarrow", "fragment.head(n)", lambda g: pa.concat_tables(f.head(1_000) for f in g.fragments)),
    Call(
        "pyarrow",
        "fragment.take(places)",
        lambda g: pa.concat_tables(f.take(range(f.count_rows())) for f in g.fragments),
    ),
    Call("pyarrow", "pa.table(D)", lambda g: pa.table(g.dataset)),
    Call("pyarrow", "pa.table(fragment)", lambda g: pa.concat_tables(pa.table(f) for f in g.fragments)),
    Call(
        "pyarrow",
        "pa.RecordBatchReader.from_stream(D)",
        lambda g: pa.RecordBatchReader.from_stream(g.dataset).read_all(),
    ),
    Call("pyarrow", "pa.schema(D)", lambda g: g.dataset.to_table(columns=pa.schema(g.dataset).names)),
    Call(
        "pyarrow", "pickle.loads(pickle.dumps(D))", lambda g: pickle.loads(pickle.dumps(g.dataset)).to_table()
    ),
    Call("pyarrow", 'pads.write_dataset(D, folder, format="parquet")', _write_dataset),
    Call("pyarrow", "pads.write_dataset(D.scanner(...), ...)", _write_scanner, after_15),
    Call("pyarrow", "pads.write_dataset(D, ..., partitioning=...)", _write_partitioned),
    Call(
        "pyarrow", "pads.Scanner.from_batches(D)", lambda g: pads.Scanner.from_batches(g.dataset).to_table()
    ),
    Call("pyarrow", "pads.dataset(D.to_table())", lambda g: pads.dataset(g.dataset.to_table()).to_table()),
    Call(
        "pyarrow",
        "D.join(other)",
        lambda g: g.dataset.join(g.other, "id", join_type="inner").to_table(),
        joined,
        nested=False,
    ),
    Call("pyarrow", "D.join_asof(other, ...)", _join_asof, joined, nested=False),
    Call(
        "pyarrow",
        "other.join(pads.dataset(D.to_table()))",
        lambda g: g.other.join(pads.dataset(g.dataset.to_table()), "id", join_type="inner").to_table(),
        joined,
        nested=False,
    ),
    Call("pyarrow", 'acero "record_batch_reader_source" of D.scanner()', _acero_stream, since=26),
    Call(
        "pyarrow",
        "other.join(D)",
        lambda g: g.other.join(g.dataset, "id").to_table(),
        error=FileNotFoundError,
        told=PAST_THE_LOG,
        nested=False,
    ),
    Call(
        "pyarrow",
        "other.join_asof(D, ...)",
        lambda g: g.other.join_asof(g.dataset, "id", [], 0).to_table(),
        error=FileNotFoundError,
        told=PAST_THE_LOG,
        nested=False,
    ),
    Call(
        "pyarrow",
        "pads.Scanner.from_dataset(D)",
        lambda g: pads.Scanner.from_dataset(g.dataset).to_table(),
        error=FileNotFoundError,
        told=PAST_THE_LOG,
    ),
    Call(
        "pyarrow",
        "pads.Scanner.from_dataset(D).to_reader()",
        lambda g: pads.Scanner.from_dataset(g.dataset).to_reader().read_all(),
        error=FileNotFoundError,
        told=PAST_THE_LOG,
    ),
    Call(
        "pyarrow",
        "pads.Scanner.from_dataset(D).count_rows()",
        lambda g: pads.Scanner.from_dataset(g.dataset).count_rows(),
        error=FileNotFoundError,
        told=PAST_THE_LOG,
    ),
    Call(
        "pyarrow",
        "pads.Scanner.from_fragment(fragment)",
        lambda g: pads.Scanner.from_fragment(g.fragments[0]).to_table(),
        error=TypeError,
        told="got DeltaFragment",
    ),
    Call(
        "pyarrow",
        'acero "scan" of D',
        lambda g: acero.Declaration("scan", acero.ScanNodeOptions(g.dataset)).to_table(),
        error=FileNotFoundError,
        told=PAST_THE_LOG,
    ),
    Call(
        "pyarrow",
        "pads.dataset([D, D])",
        lambda g: pads.dataset([g.dataset, g.dataset]).to_table(),
        error=TypeError,
        told="replace_schema, which pyarrow.dataset.dataset",
    ),
    Call(
        "pyarrow",
        "pads.UnionDataset(schema, [D, D])",
        lambda g: pads.UnionDataset(g.dataset.schema, [g.dataset, g.dataset]).to_table(),
        error=FileNotFoundError,
        told=PAST_THE_LOG,
    ),
    Call(
        "pyarrow",
        "D.replace_schema(schema)",
        lambda g: g.dataset.replace_schema(g.dataset.schema),
        error=TypeError,
        told="comes from the Delta log",
    ),
    Call(
        "pyarrow",
        "pads.FileSystemDataset.from_paths(D.files, ..., D.filesystem)",
        lambda g: pads.FileSystemDataset.from_paths(
            g.dataset.files, g.dataset.schema, g.dataset.format, g.dataset.filesystem
        ).to_table(),
        error=TypeError,
        told="gives nobody a file system",
    ),
]

# --- pandas, Polars, DuckDB, deltalake ---------------------------------------------------------------


def _from_pandas(frame: Any) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False)


def _pandas(given: Given) -> pa.Table:
    import pandas as pd

    return _from_pandas(given.table.to_pandas(types_mapper=pd.ArrowDtype))


def _pandas_from_arrow(given: Given) -> pa.Table:
    import pandas as pd

    return _from_pandas(pd.DataFrame.from_arrow(given.dataset))


def _polars(call: Callable[[Any, Given], Any]) -> Callable[[Given], Any]:
    def run(given: Given) -> Any:
        import polars as pl

        return call(pl, given).to_arrow()

    return run


def _sink_delta(given: Given) -> pa.Table:
    copy = given.folder / "written"
    da.sink_delta(given.table.to_polars(), copy, delta_write_options={"configuration": MAPPED})
    return da.DeltaTable(copy).to_pyarrow_table()


def _write_delta(pl: Any, given: Given) -> Any:
    return pl.DataFrame({"id": [1]}).write_delta(given.table, mode="append")


def _duckdb(statement: str, name: str = "o") -> Callable[[Given], Any]:
    def run(given: Given) -> Any:
        import duckdb

        with duckdb.connect() as connection:
            connection.register(name, given.dataset)
            return connection.sql(statement).to_arrow_table()

    return run


def _duckdb_variable(given: Given) -> Any:
    import duckdb

    dataset = given.dataset  # noqa: F841 # DuckDB finds the variable
    with duckdb.connect() as connection:
        return connection.sql("FROM dataset").to_arrow_table()


def _da_register(given: Given) -> Any:
    import duckdb

    with duckdb.connect() as connection:
        da.register(connection, "o", given.table)
        return connection.sql("SELECT id FROM o").to_arrow_table()


MAPPED = {"delta.columnMapping.mode": "name"}


def _write_deltalake(given: Given) -> pa.Table:
    da.write_deltalake(given.folder / "written", given.dataset, configuration=MAPPED)
    return da.DeltaTable(given.folder / "written").to_pyarrow_table()


def _deltalake(given: Given) -> pa.Table:
    """Through Polars, because deltalake does not write the metadata that mapped columns have in Arrow."""
    import deltalake
    import polars as pl

    deltalake.write_deltalake(given.folder / "written", pl.DataFrame(given.dataset))
    return da.DeltaTable(given.folder / "written").to_pyarrow_table()


FRAMES = [
    Call("pandas", "table.to_pandas(types_mapper=pd.ArrowDtype)", _pandas),
    Call("pandas", "pd.DataFrame.from_arrow(D)", _pandas_from_arrow, since=3),
    Call("polars", "da.scan_delta(table)", _polars(lambda pl, g: da.scan_delta(g.table).collect())),
    Call(
        "polars",
        "pl.scan_pyarrow_dataset(D)",
        _polars(lambda pl, g: pl.scan_pyarrow_dataset(g.dataset).filter(pl.col("id") > 15).collect()),
        after_15,
    ),
    Call("polars", "pl.DataFrame(D)", _polars(lambda pl, g: pl.DataFrame(g.dataset))),
    Call("polars", "da.sink_delta(lf, table)", _sink_delta),
    Call(
        "polars",
        "pl.from_arrow(D)",
        _polars(lambda pl, g: pl.from_arrow(g.dataset)),
        error=TypeError,
        told="expected PyArrow Table",
    ),
    Call(
        "polars",
        "pl.scan_delta(table)",
        _polars(lambda pl, g: pl.scan_delta(g.table).collect()),
        error=FileNotFoundError,
        told="DeltaTable",
    ),
    Call(
        "polars",
        "df.write_delta(table)",
        _polars(_write_delta),
        error=ValueError,
        told="must be a str, Path or DeltaTable",
    ),
    Call("duckdb", "FROM a variable that is D", _duckdb_variable),
    Call("duckdb", 'con.register("o", D)', _duckdb("FROM o WHERE id > 15"), after_15),
    Call("duckdb", 'da.register(con, "o", table)', _da_register, ids),
    Call("deltaarrow", "da.write_deltalake(folder, D)", _write_deltalake),
    Call("deltalake", "deltalake.write_deltalake(folder, pl.DataFrame(D))", _deltalake),
]

# --- DataFusion, Ibis, Dask --------------------------------------------------------------------------


def _datafusion(register: Callable[[Any, Given], Any], rest: str = "") -> Callable[[Given], Any]:
    def run(given: Given) -> Any:
        import datafusion

        context = datafusion.SessionContext()
        register(context, given)
        return context.sql(f"SELECT * FROM o {rest}").to_arrow_table()

    return run


def _ibis(call: Callable[[Any, Given], Any]) -> Callable[[Given], Any]:
    def run(given: Given) -> Any:
        import ibis

        return call(ibis, given)

    return run


def _of_connection(ibis: Any, given: Given) -> Any:
    with da.connect() as lake:
        lake.register("o", given.table)
        t = ibis.duckdb.from_connection(lake).table("o")
        return t.filter(t.id > 15).select("id").to_pyarrow()


def _of_attached(ibis: Any, given: Given) -> Any:
    with da.connect() as lake:
        lake.attach(os.path.dirname(given.table.table_uri), "lake")
        return ibis.duckdb.from_connection(lake).table("t", database="lake").select("id").to_pyarrow()


def _of_polars(ibis: Any, given: Given) -> Any:
    return ibis.polars.connect({"o": given.table.to_polars()}).table("o").select("id").to_pyarrow()


def _read_fragment(fragment: Any, columns: Any = None) -> Any:
    import pandas as pd

    return fragment.to_table(columns=columns).to_pandas(types_mapper=pd.ArrowDtype)


def _dask(given: Given) -> pa.Table:
    import dask
    import dask.dataframe as dd
    import pandas as pd

    meta = given.dataset.schema.empty_table().to_pandas(types_mapper=pd.ArrowDtype)
    frame = dd.from_map(_read_fragment, given.fragments, meta=meta)
    with dask.config.set(scheduler="synchronous"):
        return _from_pandas(frame[["id"]].compute())


QUERIES = [
    Call(
        "datafusion",
        'context.register_dataset("o", D)',
        _datafusion(lambda context, g: context.register_dataset("o", g.dataset), "WHERE id > 15"),
        after_15,
    ),
    Call(
        "datafusion",
        'context.register_table("o", D)',
        _datafusion(lambda context, g: context.register_table("o", g.dataset)),
    ),
    Call(
        "datafusion",
        "context.from_arrow(D)",
        _datafusion(lambda context, g: context.from_arrow(g.dataset, name="o")),
    ),
    Call(
        "datafusion",
        'context.register_table("o", table)',
        _datafusion(lambda context, g: context.register_table("o", g.table)),
        error=ValueError,
        told="must be a pyarrow.dataset.Dataset",
    ),
    Call(
        "ibis", "ibis.duckdb.from_connection(da.connect())", _ibis(_of_connection), lambda r: ids(after_15(r))
    ),
    Call("ibis", "the same, of an attached folder", _ibis(_of_attached), ids),
    Call("ibis", "ibis.polars.connect({name: table.to_polars()})", _ibis(_of_polars), ids),
    Call(
        "ibis",
        "ibis.memtable(D)",
        _ibis(lambda ibis, g: ibis.memtable(g.dataset).select("id").to_pyarrow()),
        ids,
    ),
    Call(
        "ibis",
        "ibis.datafusion.connect()",
        _ibis(lambda ibis, g: ibis.datafusion.connect()),
        error=TypeError,
        told="input_types",
    ),
    Call("dask", "dd.from_map(read, fragments)", _dask, ids),
]

SMALL = [*PYARROW, *FRAMES, *QUERIES]
"""The calls of libraries that the tests' environment has."""
