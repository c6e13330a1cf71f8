"""The example project in tests/dbt/shop/: the tables that it reads, dbt's run of it, and what is there then.

In an environment with dbt, ``python -m tests.dbt.shop FOLDER`` runs the project on two days, and prints the
statements that dbt has sent.
"""

import contextlib
import datetime
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pyarrow as pa

import deltaarrow as da

PROJECT = Path(__file__).parent / "shop"
FIRST_DAY = (("seed",), ("run",), ("snapshot",), ("test",))
SECOND_DAY = (("run",), ("snapshot",), ("test",))
SEED = pa.table(
    {"product": ["tea", "coffee"], "price": ["2.50", "3.20"], "since": ["2026-01-01", "2026-01-02"]}
)
"""The rows of the seed as the adapter shows them to statements."""
HISTORIES = {
    "days": ["CREATE OR REPLACE TABLE AS SELECT", "CHANGE COLUMN"] * 2,
    "latest": ["CREATE OR REPLACE TABLE AS SELECT", "MERGE"],
    "log": ["CREATE OR REPLACE TABLE AS SELECT", "WRITE"],
    "products": ["CREATE OR REPLACE TABLE AS SELECT"],
    "quantities": ["CREATE OR REPLACE TABLE AS SELECT", "MERGE"],
    "recent": ["CREATE OR REPLACE TABLE AS SELECT", "WRITE"],
    "replaced": ["CREATE OR REPLACE TABLE AS SELECT", "TRANSACTION"],
}
"""The operations of each table, from the first on."""
_DAY = datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)
ROWS = {
    "days": {(_DAY[0], 5.0), (_DAY[1], 6.4)},
    "latest": {(1, 2), (2, 2), (3, 5)},
    "log": {(1,), (2,), (3,)},
    "recent": {(1, _DAY[0], 2), (2, _DAY[1], 2), (3, _DAY[1], 5)},
    "replaced": {(1, _DAY[0], 2), (2, _DAY[1], 2), (3, _DAY[1], 5)},
    "quantities": {(1, "tea", 2), (2, "coffee", 1), (2, "coffee", 2), (3, "tea", 5)},
}
"""The rows of each table in its first columns."""


def make_sources(folder):
    """Make the tables that the project reads."""
    times = [datetime.datetime(2026, 1, day) for day in (1, 2, 2)]
    orders = pa.table(
        {
            "id": [1, 2, 3],
            "product": ["tea", "coffee", "tea"],
            "quantity": [2, 1, 5],
            "day": [_DAY[0], _DAY[1], _DAY[1]],
            "updated_at": times,
        }
    )
    da.write_deltalake(f"{folder}/raw/orders", orders)
    da.write_deltalake(f"{folder}/elsewhere/returns", pa.table({"id": [3]}))


def change_sources(folder):
    """Change an order, as on the second day."""
    values = {"quantity": "quantity + 1", "updated_at": "updated_at + interval 5 days"}
    da.DeltaTable(f"{folder}/raw/orders").update(values, predicate="id = 2")


def ensure_documented(folder):
    """Look up a table in what dbt's documentation knows of the project."""
    catalog = json.loads(Path(f"{folder}/project/target/catalog.json").read_text(encoding="utf-8"))
    days = catalog["nodes"]["model.shop.days"]
    assert days["metadata"]["comment"] == "Orders and revenue of a day."
    assert {name: each["type"] for name, each in days["columns"].items()} == {
        "day": "DATE",
        "revenue": "DOUBLE",
    }


def ensure_built(folder):
    """Compare the tables after the second day with what they are to be."""
    for name, operations in HISTORIES.items():
        table = da.DeltaTable(f"{folder}/lake/shop/{name}")
        assert [each["operation"] for each in reversed(table.history())] == operations, name
        if name in ROWS:
            width = len(next(iter(ROWS[name])))
            assert {tuple(row.values())[:width] for row in table.to_pyarrow_table().to_pylist()} == ROWS[
                name
            ], name
    days = da.DeltaTable(f"{folder}/lake/shop/days")
    assert days.metadata().description == "Orders and revenue of a day."
    assert days.metadata().configuration["delta.constraints.paid"] == "revenue >= 0"
    assert days.schema().field("day").metadata == {"comment": "The day in UTC."}
    assert not days.schema().field("day").nullable
    assert days.metadata().partition_columns == ["day"]


def run(folder):
    """Let dbt build the project on both days; return the statements of each."""
    from dbt.cli.main import dbtRunner

    os.environ["SHOP"] = str(folder)
    project = shutil.copytree(PROJECT, f"{folder}/project")
    make_sources(folder)
    sent = list[list[str]]()

    def record(event):
        if event.info.name == "SQLQuery":
            sent[-1].append(_settled(event.data.sql, folder))

    def invoke(*command):
        with contextlib.redirect_stdout(sys.stderr):
            result = dbtRunner(callbacks=[record]).invoke(
                [*command, "--project-dir", project, "--profiles-dir", project]
            )
        assert result.success, (command, result.exception)

    for commands in (FIRST_DAY, SECOND_DAY):
        sent.append([])
        for command in commands:
            invoke(*command)
        if commands == FIRST_DAY:
            change_sources(folder)
    sent.append([])  # dbt looks tables up in any order
    invoke("docs", "generate")
    return sent[:2]


def _settled(statement, folder):
    """A statement without dbt's comment, the folder, the name of the machine's moment, and loose blanks."""
    statement = re.sub(r"/\*.*?\*/", "", statement, flags=re.DOTALL).replace(str(folder), "${folder}")
    statement = re.sub(r"(__dbt_tmp)\d+", r"\1", statement)
    return "\n".join(line.strip() for line in statement.splitlines() if line.strip())


if __name__ == "__main__":
    days = run(sys.argv[1])
    ensure_built(sys.argv[1])
    ensure_documented(sys.argv[1])
    print("\n-- the second day\n".join("".join(f"{each}\n;;\n" for each in day) for day in days), end="")
