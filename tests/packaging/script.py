"""A user's script over the public names, which has to pass ``mypy --strict`` with the installed package.

``python script.py FOLDER`` makes a table in the folder and changes it in every way.
"""

import sys
from pathlib import Path
from typing import assert_type

import duckdb
import polars as pl

import deltaarrow as da
from deltaarrow import DeltaError, DeltaTable, Field, Schema, write_deltalake


def create(path: Path) -> DeltaTable:
    schema = Schema([Field("id", "long", nullable=False), Field("name", "string"), Field("price", "double")])
    table = DeltaTable.create(path, schema, configuration={"delta.enableChangeDataFeed": "true"})
    assert_type(table, DeltaTable)
    return table


def fill(table: DeltaTable) -> None:
    with duckdb.connect() as connection:
        rows = connection.sql("SELECT range AS id, 'a' AS name, 1.5::DOUBLE AS price FROM range(10)")
        write_deltalake(table, rows, mode="append")
    more = pl.DataFrame({"id": [10, 11], "name": ["b", None], "price": [2.5, 3.5]})
    write_deltalake(table, more, mode="append", commit_properties=da.CommitProperties({"by": "script"}))


def change(table: DeltaTable) -> dict[str, int]:
    deleted: int = table.delete("id = 3")["num_deleted_rows"]
    updated: int = table.update({"price": "price * 2"}, predicate="name = 'b'")["num_updated_rows"]
    source = pl.DataFrame({"id": [1, 50], "name": ["merged", "new"], "price": [0.5, 0.25]})
    merger = table.merge(source, "t.id = s.id", source_alias="s", target_alias="t")
    assert_type(merger, da.TableMerger)
    merged = merger.when_matched_update_all().when_not_matched_insert_all().execute()
    inserted: int = merged["num_target_rows_inserted"]
    with table.transaction() as transaction:
        write_deltalake(transaction, source.head(1), mode="append")
    table.alter.add_columns([Field("note", "string")])
    table.optimize.compact()
    return {"deleted": deleted, "updated": updated, "inserted": inserted}


def read(table: DeltaTable, path: Path) -> int:
    assert_type(table.version(), int)
    assert_type(table.file_uris(), list[str])
    assert_type(table.schema(), Schema)
    names = [field.name for field in table.schema().fields]
    assert_type(names, list[str])
    frame = da.scan_delta(path).filter(pl.col("id") < 5).select("id").collect()
    with da.connect() as connection:
        connection.register("t", table)
        [(rows,)] = connection.sql("SELECT count(*) FROM t").fetchall()
    assert rows == table.count()
    assert table.verify(deep=True).ok
    changed = table.load_cdf(starting_version=1).read_all().num_rows
    print(names, frame.height, changed, [commit["operation"] for commit in table.history(3)])
    return table.count()


def main(folder: str) -> None:
    path = Path(folder) / "table"
    table = create(path)
    fill(table)
    print(change(table), read(table, path))
    try:
        table.restore(99)
    except DeltaError as error:
        print(type(error).__name__)
    table.vacuum(dry_run=True)


if __name__ == "__main__":
    main(sys.argv[1])
