"""``lineitem`` written to a new table with a CHECK constraint and a generated column.

The peer that shows the cost is the same engine on a table without rules, which gets the column as data.
"""

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, Case, Dataset, Engine, Scale, short
from benchmarks.data_lineitem import write_lineitem_file

__all__ = ["cases"]

_CHECK = "l_quantity > 0 AND l_shipdate < l_receiptdate"
_GENERATED, _EXPRESSION = "l_bucket", "l_orderkey % 100"


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    rows = scale.written_rows
    dataset = Dataset(f"lineitem_{short(rows)}", partial(write_lineitem_file, rows=rows))
    engines: dict[str, Engine] = {
        OURS: _engine(_ours, has_rules=True),
        "deltaarrow, no rules": _engine(_ours, has_rules=False),
        "deltalake": _engine(_deltalake, has_rules=True),
        "deltalake, no rules": _engine(_deltalake, has_rules=False),
    }
    return [Case(f"lineitem_rows_{short(rows)}_one_check_one_generated", dataset, engines, _describe_rows)]


# --- engines ---------------------------------------------------------------------------------------

Make = Callable[[Path, Any, bool], None]
"""Creates an empty table for rows of a schema, with rules or without."""

Append = Callable[[Path, Any], object]


def _engine(load: Callable[[], tuple[Make, Append]], *, has_rules: bool) -> Engine:
    def run(data: Path, scratch: Path) -> Iterator[Path]:
        import pyarrow as pa

        make, append = load()
        given = pa.ipc.open_stream(pa.OSFile(str(data / "lineitem.arrows"))).read_all()
        buckets = given["l_orderkey"].to_numpy() % 100
        complete = given.append_column(_GENERATED, pa.array(buckets))
        rows = given if has_rules else complete
        yield scratch
        for number in itertools.count():
            folder = scratch / str(number)
            make(folder, complete.schema, has_rules)
            append(folder, rows)
            yield folder

    return run


def _ours() -> tuple[Make, Append]:
    import deltaarrow
    from deltaarrow.schema import Field, Schema

    def make(folder: Path, schema: Any, has_rules: bool) -> None:
        fields = Schema.from_arrow(schema).fields
        if has_rules:
            made = Field(_GENERATED, "long", metadata={"delta.generationExpression": _EXPRESSION})
            fields = (*fields[:-1], made)
        configuration = {"delta.constraints.sound": _CHECK} if has_rules else {}
        deltaarrow.DeltaTable.create(folder, Schema(fields), configuration=configuration)

    return make, lambda folder, rows: deltaarrow.write_deltalake(folder, rows, mode="append")


def _deltalake() -> tuple[Make, Append]:
    import deltalake
    import pyarrow as pa

    def make(folder: Path, schema: Any, has_rules: bool) -> None:
        if has_rules:
            made = pa.field(_GENERATED, pa.int64(), metadata={"delta.generationExpression": _EXPRESSION})
            schema = schema.set(len(schema) - 1, made)
        table = deltalake.DeltaTable.create(folder, schema)
        if has_rules:
            table.alter.add_constraint({"sound": _CHECK})

    return make, lambda folder, rows: deltalake.write_deltalake(folder, rows, mode="append")


# --- answers ---------------------------------------------------------------------------------------


def _describe_rows(folder: Path) -> dict[str, Any]:
    from deltalake import DeltaTable

    table = DeltaTable(folder).to_pyarrow_table(columns=["l_orderkey", _GENERATED])
    buckets = table[_GENERATED].value_counts().to_pylist()
    return {"rows": table.num_rows, "buckets": sorted([each["values"], each["counts"]] for each in buckets)}
