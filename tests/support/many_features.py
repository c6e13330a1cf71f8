"""One table with all features that can be combined, and statements that change its rows in every way."""

import datetime
import json
import os
from collections.abc import Iterable, Mapping
from decimal import Decimal

import pyarrow as pa

from deltaarrow import DeltaTable, Field, Schema, write_deltalake

__all__ = ["changed_table"]

_EVERYTHING = {
    "delta.enableChangeDataFeed": "true",
    "delta.enableRowTracking": "true",
    "delta.enableTypeWidening": "true",
    "delta.enableInCommitTimestamps": "true",
    "delta.enableVariantShredding": "true",
    "delta.columnMapping.mode": "name",
    "delta.checkpointPolicy": "v2",
    "delta.checkpointInterval": "2",
    "delta.randomizeFilePrefixes": "true",
    "delta.constraints.small": "id < 1000",
    "delta.feature.allowColumnDefaults": "supported",
    "delta.feature.timestampNtz": "supported",
}


def _rows(ids: Iterable[int]) -> pa.Table:
    ids = list(ids)
    return pa.table(
        {
            "id": ids,
            "variant": [json.dumps({"a": id, "b": [id]}) for id in ids],
            "day": [datetime.date(2020 + id % 3, 1, 1) for id in ids],
            "at": [datetime.datetime(2020, 1, 1, id % 24) for id in ids],
            "price": pa.array(map(Decimal, ids), pa.decimal128(5, 2)),
        }
    )


def changed_table(path: str | os.PathLike[str], configuration: Mapping[str, str]) -> DeltaTable:
    """Make the table at `path`, with these properties beside its own, and delete, update and merge."""
    numbered = {f"delta.identity.{key}": 1 for key in ("start", "step")}
    columns = [
        Field("id", "long", nullable=False),
        Field("variant", "variant"),
        Field("day", "date"),
        Field("year", "integer", metadata={"delta.generationExpression": "year(day)"}),
        Field("number", "long", metadata=numbered | {"delta.identity.allowExplicitInsert": False}),
        Field("at", "timestamp_ntz"),
        Field("note", "string", metadata={"CURRENT_DEFAULT": "'none'"}),
        Field("price", "decimal(5,2)"),
    ]
    DeltaTable.create(path, Schema(columns), partition_by="year", configuration=_EVERYTHING | configuration)
    write_deltalake(path, _rows(range(40)), mode="append")
    table = DeltaTable(path)
    table.delete("id % 7 = 0")
    table.update({"day": "add_months(day, 12)", "price": "price + 0.5"}, predicate="id between 10 and 20")
    (
        table.merge(_rows(range(30, 50)), "t.id = s.id", "s", "t")
        .when_matched_delete("t.id % 2 = 0")
        .when_matched_update_all(except_cols=["year", "number", "note"])
        .when_not_matched_insert_all(except_cols=["year", "number", "note"])
        .when_not_matched_by_source_update({"price": "-t.price", "note": "'old'"}, "t.id < 5")
        .execute()
    )
    table.delete("year = 2021")
    table.update({"variant": "NULL"}, predicate="id = 45")
    return table
