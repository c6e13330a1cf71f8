"""Random statements by Spark and by `deltaarrow.connect`, on copies of one table.

After each statement, both copies have the same rows, columns, properties and history, or both engines have
refused it. The next statement runs on the copy that one of them has left, in turns.
"""

import contextlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow import DeltaTable
from deltaarrow.errors import DeltaError
from tests.support.commits import commit
from tests.support.dml import COLUMNS
from tests.support.random_statements import RandomStatement, RandomStatements
from tests.support.rows import assert_same_rows, rows_of
from tests.support.spark import delta_table, spark_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

VECTORS = {"delta.enableDeletionVectors": "true"}
FEED = {"delta.enableChangeDataFeed": "true"}
MAPPING = {"delta.columnMapping.mode": "name"}
TRACKING = {"delta.enableRowTracking": "true"}
TABLES: dict[str, tuple[dict[str, str], list[str]]] = {
    "plain": ({}, []),
    "partitioned": (FEED, ["p"]),
    "vectors": (VECTORS | MAPPING, []),
    "everything": (VECTORS | FEED | MAPPING | TRACKING, ["p"]),
    "declared": (VECTORS | {"delta.feature.allowColumnDefaults": "supported"}, []),
}
DECLARED = (
    "ALTER TABLE {t} ADD CONSTRAINT declared CHECK (i < 2100000000 OR i IS NULL)",
    "ALTER TABLE {t} ALTER COLUMN s SET DEFAULT 'of the table'",
    "ALTER TABLE {t} ALTER COLUMN m SET DEFAULT 1.5",
    "ALTER TABLE {t} CLUSTER BY (id, p)",
)
"""What Spark declares of the table of that name."""

GENERATED = ("delta.columnMapping.", "delta.rowTracking.materialized", "delta.identity.")
"""How keys of columns and properties begin whose values a writer makes up."""

UNRESOLVED = "DELTA_MERGE_UNRESOLVED_EXPRESSION"
"""How Spark fails where a MERGE inserts rows without a column that a generated one is computed from."""

CONDITIONS = ("predicate", "matchedPredicates", "notMatchedPredicates", "notMatchedBySourcePredicates")
"""Parameters with conditions, which Spark writes as it has understood them."""


class Copies:
    """A table, and its copies on which both engines run a statement."""

    def __init__(self, spark: Any, folder: Path, table: str) -> None:
        self.spark, self.folder, self.path, self.count = spark, folder, folder / "0", 0
        properties, partition_by = TABLES[table]
        if table != "declared":
            DeltaTable.create(self.path, COLUMNS, partition_by=partition_by, configuration=properties)
            return
        year = pa.field("year", pa.int32(), metadata={"delta.generationExpression": "year(day)"})
        DeltaTable.create(self.path, COLUMNS.append(year), configuration=properties)
        for text in DECLARED:
            spark.sql(text.format(t=delta_table(self.path)))

    def run(self, statement: RandomStatement) -> str:
        """Run a statement on both copies; return whether both have done it, or who has refused it."""
        self.count += 1
        ours, theirs = (self.folder / f"{self.count}-{side}" for side in ("ours", "spark"))
        for path in (ours, theirs):
            shutil.copytree(self.path, path)
        source = self.folder / f"{self.count}-source"
        if statement.source is not None:
            deltaarrow.write_deltalake(source, statement.source)
        refused = found = None
        try:
            with settings_of(self.spark, statement):
                self.spark.sql(statement.text.format(t=delta_table(theirs), s=delta_table(source))).collect()
        except Exception as error:
            refused = error
        with deltaarrow.connect(dialect="spark") as con:
            for name, value in statement.settings.items():
                con.sql(f"SET {name} = {value}")
            try:
                con.sql(statement.text.format(t=delta_table(ours), s=delta_table(source)))
            except DeltaError as error:
                found = error
        rows = None if statement.source is None else statement.source.to_pylist()
        about = f"{statement.settings} {statement.text}\nwith {rows}\non {self.path}"
        about += f"\nSpark: {refused}\nhere: {found}"
        if found is not None and refused is None:
            self.path = theirs
            assert "not supported" in str(found), about
            return "refused here"
        if found is None and UNRESOLVED in str(refused):
            self.path = ours
            return "refused by Spark"
        assert (found is None) == (refused is None), about
        one, other = view(ours, self.path), view(theirs, self.path)
        if statement.source is not None and not len(statement.source):
            # Spark counts nothing of a write without rows.
            for each in (one, other):
                each.pop("metrics", None)
                each.pop("counts", None)
        for name in other:
            assert one.get(name) == other[name], f"{name}: {one.get(name)}\nSpark: {other[name]}\n{about}"
        assert one.keys() == other.keys(), about
        self.path = (ours, theirs)[self.count % 2]
        return "done" if found is None else "refused"


@contextlib.contextmanager
def settings_of(spark: Any, statement: RandomStatement) -> Iterator[None]:
    """Let Spark's session have the settings of a statement."""
    for name, value in statement.settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in statement.settings:
            spark.conf.unset(name)


def view(path: Path, before: Path) -> dict[str, Any]:
    """What both engines have to agree on after a statement."""
    table, old = DeltaTable(path), DeltaTable(before).version()
    found = {
        "rows": Counter(rows_of(table.to_pyarrow_table())),
        "columns": [_column(field) for field in json.loads(table.schema().to_json())["fields"]],
        "partition columns": table.metadata().partition_columns,
        "properties": _own(table.metadata().configuration),
    }
    if table.version() == old:
        return found
    actions = commit(path, table.version())
    [info] = [each["commitInfo"] for each in actions if "commitInfo" in each]
    metrics = info.get("operationMetrics", {})
    if info["operation"] == "MERGE" and not any(
        metrics[f"numTargetRows{each}"] != "0" for each in ("Inserted", "Updated", "Deleted")
    ):
        return found  # Spark rewrites files for which it cannot rule out a change, and commits that.
    # Spark may count the rows of a source twice, because it reads the source twice.
    uncounted = ("Copied", "Output", "numSource")
    counts = {name for name in metrics if "Rows" in name and not any(each in name for each in uncounted)}
    found |= {
        "versions": table.version() - old,
        "operation": info["operation"],
        "parameters": {name: _parameter(name, text) for name, text in info["operationParameters"].items()},
        "metrics": sorted(metrics.keys() - {"materializeSourceTimeMs"}),
        "counts": {name: metrics[name] for name in counts},
        "blind append": info["isBlindAppend"],
        "isolation": info["isolationLevel"],
        "features": [_features(each["protocol"]) for each in actions if "protocol" in each],
    }
    if "delta.enableChangeDataFeed" in table.metadata().configuration:
        feed = table.load_cdf(table.version(), table.version()).read_all()
        found["feed"] = Counter(rows_of(feed.drop_columns(["_commit_timestamp"])))
    return found


def _own(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if not name.startswith(GENERATED)}


def _column(field: Any) -> Any:
    """A column without what its writer has made up."""
    if isinstance(field, list):
        return [_column(each) for each in field]
    if not isinstance(field, dict):
        return field
    return {name: _own(each) if name == "metadata" else _column(each) for name, each in field.items()}


def _parameter(name: str, value: Any) -> Any:
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        parsed = value
    if name not in CONDITIONS:
        return _column(parsed)
    if not isinstance(parsed, list):
        return "a condition"
    return [each.get("actionType") if isinstance(each, dict) else "a condition" for each in parsed]


def _features(protocol: dict[str, Any]) -> dict[str, Any]:
    return {name: sorted(each) if isinstance(each, list) else each for name, each in protocol.items()}


def run_random_statements(spark: Any, folder: Path, table: str, seed: int, count: int) -> Counter[str]:
    """Let both engines run `count` statements from the seed, and say how many were done."""
    copies, made = Copies(spark, folder, table), RandomStatements(seed * len(TABLES) + [*TABLES].index(table))
    for start in (0, 12):
        rows = made.rows([*range(start, start + 12), None])
        deltaarrow.write_deltalake(copies.path, rows, mode="append")
    outcomes = Counter(copies.run(made.statement(DeltaTable(copies.path).version())) for _ in range(count))
    assert_same_rows(DeltaTable(copies.path).to_pyarrow_table(), spark_table(spark, copies.path))
    assert [str(each) for each in DeltaTable(copies.path).verify(deep=True)] == []
    return outcomes


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("table", TABLES)
def test_random_statements_leave_what_spark_leaves(spark, tmp_path, table, seed):
    outcomes = run_random_statements(spark, tmp_path, table, seed, 25)
    assert outcomes["done"] > 5
