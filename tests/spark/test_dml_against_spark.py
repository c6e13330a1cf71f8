"""DELETE, UPDATE and MERGE by us and by Spark, on two copies of one table, compared after every statement.

The comparison covers the rows, their ids and commit versions, the change data feed and `commitInfo`.
The next statement runs on the table that one side has left, in turns, so that each side continues the
other's work; Spark compacts files in between.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import deltaarrow as da
from deltaarrow.errors import DeltaError
from deltaarrow.scan.row_id_columns import ROW_COMMIT_VERSION, ROW_ID
from tests.support.commits import commit
from tests.support.dml import (
    COLUMNS,
    Clause,
    Delete,
    Insert,
    Merge,
    Optimize,
    Statement,
    StatementMaker,
    Update,
    describe,
    rows,
    run_here,
    run_in_spark,
)
from tests.support.engines import ENGINES, open_snapshot
from tests.support.rows import assert_same_rows, rows_of
from tests.support.spark import spark_rows, spark_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

FEED = {"delta.enableChangeDataFeed": "true"}
VECTORS = {"delta.enableDeletionVectors": "true"}
TRACKING = {"delta.enableRowTracking": "true"}
BY_NAME = {"delta.columnMapping.mode": "name"}


# --- one statement on both sides -------------------------------------------------------------------


class Rivals:
    """A table to which statements are done by both sides, each on its own copy."""

    def __init__(
        self, spark: Any, folder: Path, properties: dict[str, str], partition_by: Sequence[str] = ()
    ) -> None:
        self.spark = spark
        self.folder = folder
        self.path = folder / "0"
        self.count = 0
        da.DeltaTable.create(self.path, COLUMNS, partition_by=list(partition_by), configuration=properties)
        self.tracking = "delta.enableRowTracking" in properties
        self.feed = "delta.enableChangeDataFeed" in properties

    def insert(self, seed: int, ids: Sequence[int | None]) -> None:
        """Append rows, without comparing."""
        run_here(self.path, Insert(rows(seed, ids)))

    def optimize(self) -> None:
        """Let Spark compact the table."""
        run_in_spark(self.spark, self.path, Optimize())

    def run(self, statement: Statement) -> bool:
        """Do a statement on both sides and compare; return whether it was done, or both refused it."""
        self.count += 1
        ours, theirs = (self.folder / f"{self.count}-{side}" for side in ("ours", "spark"))
        for path in (ours, theirs):
            shutil.copytree(self.path, path)
        refused = _attempt(lambda: run_in_spark(self.spark, theirs, statement), Exception)
        found = _attempt(lambda: run_here(ours, statement), DeltaError)
        about = f"{describe(statement)}\non {rows_of(_read(self.path))}\nSpark: {refused}\nhere: {found}"
        if found is None or refused is not None or not _is_matched_in_part(statement):
            assert (found is None) == (refused is None), about
            assert_equal(_view(ours, self), _view(theirs, self), about)
        self.path = theirs if (found is None) != (refused is None) else (ours, theirs)[self.count % 2]
        return refused is None

    def finish(self) -> None:
        """Spark reads rows and feed as we do, and nothing is wrong with the table."""
        assert_same_rows(_read(self.path), spark_table(self.spark, self.path))
        assert [str(finding) for finding in da.DeltaTable(self.path).verify(deep=True)] == []
        if self.feed:
            reader = self.spark.read.format("delta").option("readChangeFeed", "true")
            frame = reader.option("startingVersion", 0).load(str(self.path))
            assert_same_rows(da.DeltaTable(self.path).load_cdf(0).read_all(), spark_rows(frame))


def _is_matched_in_part(statement: Statement) -> bool:
    """Whether Spark may not see that several rows of the source match one row of the table.

    If there are conditions and no other clauses it leaves out the files in which none of them holds, and
    with these perhaps the row.
    """
    return isinstance(statement, Merge) and all(
        clause.when == "MATCHED" and clause.condition is not None for clause in statement.clauses
    )


def _attempt(action: Callable[[], object], kind: type[Exception]) -> Exception | None:
    try:
        action()
    except kind as error:
        return error
    return None


def _read(path: Path) -> Any:
    return da.DeltaTable(path).to_pyarrow_table()


def _view(path: Path, rivals: Rivals) -> dict[str, Any]:
    """Everything about the table at `path`, and its newest commit, that both sides must have in common."""
    version = da.DeltaTable(path).version()
    before = da.DeltaTable(rivals.path).version()
    view: dict[str, Any] = {"version": version, "rows": Counter(rows_of(_read(path)))}
    if version > before and _is_idle(path, version):
        # Spark rewrites files for which it cannot rule out a change, and commits that.
        view["version"], version = before, before
    if rivals.tracking:
        known = {row_id for _, row_id, _ in _row_ids(rivals.path)}
        # The ids of new rows are for each side to choose.
        view["row ids"] = Counter(
            (row, row_id if row_id in known else "new", changed) for row, row_id, changed in _row_ids(path)
        )
    if version > before:
        view |= _commit_view(path, version)
        if rivals.feed:
            feed = da.DeltaTable(path).load_cdf(version, version).read_all()
            view["feed"] = Counter(rows_of(feed.drop_columns(["_commit_timestamp"])))
    return view


def _is_idle(path: Path, version: int) -> bool:
    """Whether a commit is that of a MERGE which has changed no row."""
    (info,) = (action["commitInfo"] for action in commit(path, version) if "commitInfo" in action)
    done = [f"numTargetRows{each}" for each in ("Inserted", "Updated", "Deleted")]
    return info["operation"] == "MERGE" and all(info["operationMetrics"][name] == "0" for name in done)


def _row_ids(path: Path) -> list[tuple[str, int, int]]:
    """Every row as text, with its id and the version that last changed it."""
    columns = [*COLUMNS.names, ROW_ID, ROW_COMMIT_VERSION]
    table = ENGINES["dataset"](open_snapshot(path), columns, None, row_tracking=True)
    texts = [repr(row) for row in table.select(COLUMNS.names).to_pylist()]
    found = zip(texts, table[ROW_ID].to_pylist(), table[ROW_COMMIT_VERSION].to_pylist(), strict=True)
    return list(found)


def _commit_view(path: Path, version: int) -> dict[str, Any]:
    """What a commit says, but for what depends on the files that are touched, like numbers of copied rows."""
    actions = commit(path, version)
    (info,) = (action["commitInfo"] for action in actions if "commitInfo" in action)
    metrics = info["operationMetrics"]
    counted = {name for name in metrics if "Rows" in name and "Copied" not in name and "Output" not in name}
    return {
        "operation": info["operation"],
        "parameters": sorted(info["operationParameters"]),
        "keys": sorted(info.keys() - {"tags"}),
        # How long Spark took to copy its source, which it does not always do, and we never.
        "metrics": sorted(metrics.keys() - {"materializeSourceTimeMs"}),
        "counts": {name: metrics[name] for name in counted},
        "blind append": info["isBlindAppend"],
        "isolation": info["isolationLevel"],
        "has change files": any("cdc" in action for action in actions),
    }


def assert_equal(found: dict[str, Any], wanted: dict[str, Any], about: str) -> None:
    """The same view, part by part, so that a failure names the part."""
    for name in wanted:
        assert found.get(name) == wanted[name], f"{name}: {found.get(name)}, Spark: {wanted[name]}\n{about}"
    assert found.keys() == wanted.keys(), about


# --- what is done ----------------------------------------------------------------------------------

ID = "t.id = s.id"
UPDATE, INSERT, DELETE = (
    Clause("MATCHED", "UPDATE"),
    Clause("NOT MATCHED", "INSERT"),
    Clause("MATCHED", "DELETE"),
)
BY_SOURCE = "NOT MATCHED BY SOURCE"

Steps = list[tuple[Statement, bool]]
"""Statements, and whether they are done or refused."""

COMMON: Steps = [
    # NULL, NaN and -0.0 decide which rows; struct, array and partition change.
    (Delete("NOT (s > 'a' OR x < 0D) AND id NOT IN (3, NULL)"), True),
    (Delete("x = 0D OR isnan(x) AND id < 12"), True),
    (Update({"s": "concat(s, '!')", "st.a": "id % 5", "xs": "NULL", "p": "'moved'"}, "id % 4 = 1"), True),
    (Update({"m": "m / 3", "x": "-x", "id": "i", "i": "i + 1"}, "i < 5 AND p <=> 'a'"), True),
    (Update({"i": "i + 2000000000"}), False),
    # The first clause that holds is the one; the rest of the rows stay.
    (
        Merge(
            rows(11, [1, 2, 3, 4, 5, 40, 41, 42, None]),
            ID,
            [
                Clause("MATCHED", "UPDATE", "s.id < 3", {"s": "concat(s.s, t.p)", "st": "s.st"}),
                Clause("MATCHED", "DELETE", "s.id < 4"),
                Clause("MATCHED", "UPDATE", "s.id < 5"),
                Clause("NOT MATCHED", "INSERT", "s.id = 40", {"id": "s.id", "p": "'b'"}),
                Clause("NOT MATCHED", "INSERT", "s.id <> 41"),
                Clause(BY_SOURCE, "DELETE", "t.id = 8"),
                Clause(BY_SOURCE, "UPDATE", "t.id < 10", {"x": "CAST('NaN' AS DOUBLE)", "p": "t.s"}),
            ],
        ),
        True,
    ),
    # NULL keys never match by =, and do by <=>.
    (Merge(rows(12, [None, 6]), ID, [UPDATE, INSERT]), True),
    (Merge(rows(13, [None]), "t.id <=> s.id", [Clause("MATCHED", "UPDATE", None, {"i": "s.i"})]), True),
    # A row that several rows of the source match is refused.
    (Merge(rows(14, [14, 14]), ID, [UPDATE]), False),
]
RARE: Steps = [
    # The rows of the source that match one row may be several if all of them delete it, or match none.
    (Merge(rows(14, [14, 14]), ID, [DELETE]), True),
    (Merge(rows(14, [50, 50]), ID, [UPDATE, INSERT]), True),
    # It is refused even if none of them would change the row.
    (Merge(None, ID, [Clause("MATCHED", "UPDATE", "t.id = 23", {"s": "'self'"})]), False),
    # Sources: of the table itself, empty, and conditions on the partition alone.
    (
        Merge(
            None,
            f"{ID} AND t.id BETWEEN 18 AND 30",
            [Clause("MATCHED", "UPDATE", "t.id = 23", {"s": "'self'"})],
        ),
        True,
    ),
    (
        Merge(rows(15, []), ID, [UPDATE, INSERT, Clause(BY_SOURCE, "UPDATE", "t.id = 17", {"s": "'gone'"})]),
        True,
    ),
    (Merge(rows(16, [60]), "t.p = s.p AND t.p = 'moved'", [INSERT]), True),
    (Delete("p = 'moved'"), True),
    # All rows, and a target without any.
    (Delete(), True),
    (Merge(rows(17, [1, 2]), ID, [UPDATE, INSERT, Clause(BY_SOURCE, "DELETE")]), True),
]


def in_turns(rivals: Rivals, steps: Steps) -> None:
    """Both sides do what is to be done, and refuse the rest."""
    rivals.insert(1, [*range(18), None])
    rivals.insert(2, [*range(10, 24)])
    assert [rivals.run(statement) for statement, _ in steps] == [is_done for _, is_done in steps]
    rivals.finish()


FEW: Steps = [COMMON[0], COMMON[2], COMMON[4], COMMON[5], COMMON[8]]
"""One of each kind."""


def test_statements_with_deletion_vectors(spark, tmp_path):
    in_turns(Rivals(spark, tmp_path, FEED | VECTORS | TRACKING | BY_NAME), FEW)


@pytest.mark.slow
def test_all_statements_on_partitions_with_deletion_vectors(spark, tmp_path):
    in_turns(Rivals(spark, tmp_path, FEED | VECTORS | TRACKING | BY_NAME, ["p"]), COMMON + RARE)


@pytest.mark.slow
def test_all_statements_by_rewriting_files(spark, tmp_path):
    in_turns(Rivals(spark, tmp_path, FEED | TRACKING), COMMON + RARE)


TABLES: dict[str, tuple[dict[str, str], list[str]]] = {
    "plain": ({}, []),
    "partitioned": (FEED, ["p"]),
    "vectors": (VECTORS, []),
    "vectors and feed": (VECTORS | FEED, ["p"]),
    "tracking": (TRACKING | BY_NAME, []),
    "everything": (FEED | VECTORS | TRACKING | BY_NAME, []),
}


def random_statements(spark: Any, folder: Path, table: str, seed: int, count: int) -> None:
    """Let both sides do `count` statements from the seed, with an OPTIMIZE after every fourth."""
    properties, partition_by = TABLES[table]
    rivals = Rivals(spark, folder, properties, partition_by)
    maker = StatementMaker(seed)
    for start in (0, 10, 20):
        rivals.insert(seed * 100 + start, [*range(start, start + 12), None])
    for number in range(count):
        rivals.run(maker.statement())
        if number % 4 == 3:
            rivals.optimize()
    rivals.finish()


@pytest.mark.slow
def test_random_statements(spark, tmp_path):
    random_statements(spark, tmp_path, "partitioned", seed=1, count=5)


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_more_random_statements(spark, tmp_path, table):
    random_statements(spark, tmp_path, table, seed=2 + list(TABLES).index(table), count=8)
