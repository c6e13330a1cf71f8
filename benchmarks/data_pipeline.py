"""The tables of ``sql/pipeline`` as a batch leaves them at silver: gold has not seen it yet.

Silver has orders of many days, a file each, and then a change of every so many of them: deletion vectors,
the changed rows in files of their own, and the change feed. Gold is what silver came to before.
"""

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CHANGED_EVERY", "write_lake"]

CHANGED_EVERY = 10
"""One order in so many is changed."""

_DAYS = 60
_FIRST_DAY = datetime.date(2026, 5, 1)
_PRODUCTS = 40
_FOLLOWER = "deltaarrow.pipeline.follow"


def write_lake(folder: Path, orders: int) -> None:
    """Write ``silver/orders`` and ``gold/daily_sales`` below a folder."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from tests.support.tables import TableBuilder

    silver, gold = TableBuilder(folder / "silver/orders"), TableBuilder(folder / "gold/daily_sales")
    schema = _orders(0, 0).schema.append(pa.field("order_date", pa.date32()))
    features = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}
    silver.features("deletionVectors", writer_only=["changeDataFeed"])
    silver.metadata(schema, ["order_date"], features)
    added, changed, sums = [], [], []
    for number in range(_DAYS):
        rows = _orders(number, orders // _DAYS)
        day = {"order_date": str(_FIRST_DAY + datetime.timedelta(days=number))}
        name = f"order_date={day['order_date']}/part"
        added.append(silver.add_file(rows, day, name=f"{name}-0.parquet"))
        sums.append(_sums(rows, number))
        places = np.arange(0, rows.num_rows, CHANGED_EVERY)
        before = rows.take(pa.array(places))
        after = before.set_column(2, "quantity", pc.add(before["quantity"], pa.scalar(1, pa.int32())))
        vector = silver.deletion_vector(places.astype(np.uint64))
        changed += silver.with_deletion_vector(added[-1], vector)
        changed.append(silver.add_file(after, day, name=f"{name}-1.parquet"))
        pairs = zip((before, after), ("update_preimage", "update_postimage"), strict=True)
        images = [
            each.append_column("_change_type", pa.repeat(pa.scalar(kind), each.num_rows))
            for each, kind in pairs
        ]
        changed.append(silver.cdc(pa.concat_tables(images), day))
    silver.commit(added).commit(changed)
    gold.features("deletionVectors")
    gold.metadata(sums[0].schema, configuration={"delta.enableDeletionVectors": "true"})
    gold.commit([gold.add_file(pa.concat_tables(sums)), gold.txn(_FOLLOWER, 0)])


def _orders(day: int, rows: int) -> "pa.Table":
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(day)
    products = pa.array([f"product {number:02d}" for number in range(_PRODUCTS)])
    statuses = pa.array(["placed", "paid"])
    moment = (_FIRST_DAY + datetime.timedelta(days=day)).isoformat()
    seconds = random.integers(0, 86_400, rows).astype("timedelta64[s]")
    ids = np.arange(day * rows, (day + 1) * rows)
    cents = np.zeros((rows, 2), np.int64)
    cents[:, 0] = random.integers(100, 10_100, rows)
    price = pa.Array.from_buffers(pa.decimal128(8, 2), rows, [None, pa.py_buffer(cents)])
    return pa.table(
        {
            "order_id": pa.array(ids),
            "product": products.take(pa.array(random.integers(0, _PRODUCTS, rows))),
            "quantity": pa.array(random.integers(1, 10, rows, dtype=np.int32)),
            "price": price,
            "status": statuses.take(pa.array(random.integers(0, 2, rows))),
            "ordered_at": pa.array((np.datetime64(moment, "us") + seconds).astype("datetime64[us]")).cast(
                pa.timestamp("us", "UTC")
            ),
            "event_id": pa.array(ids * 3),
        }
    )


def _sums(rows: "pa.Table", day: int) -> "pa.Table":
    """What gold has of the orders of a day."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = (
        rows.append_column("revenue", pc.multiply(rows["quantity"].cast(pa.decimal128(10, 0)), rows["price"]))
        .group_by("product", use_threads=False)
        .aggregate([("order_id", "count"), ("quantity", "sum"), ("revenue", "sum")])
    )
    date = pa.scalar(_FIRST_DAY + datetime.timedelta(days=day), pa.date32())
    columns = {
        "order_date": pa.repeat(date, found.num_rows),
        "product": found["product"],
        "orders": found["order_id_count"],
        "quantity": found["quantity_sum"],
        "revenue": found["revenue_sum"].cast(pa.decimal128(28, 2)),
    }
    return pa.table(columns)
