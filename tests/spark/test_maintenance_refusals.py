"""OPTIMIZE, REORG and VACUUM of what Spark refuses: we refuse it too, name the same and write nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import (
    DeltaError,
    InvalidPredicateError,
    InvalidTablePropertyError,
    SchemaMismatchError,
    TableNotFoundError,
    VacuumError,
)
from tests.support.spark import delta_table

ROWS = pa.table(
    {"id": [1, 2], "s": [{"x": 1}, {"x": 2}], "m": pa.array([[(1, 1)]] * 2, pa.map_("int32", "int32"))}
).append_column("p", pa.array([1, 2], pa.int32()))

LAYOUTS = {
    "partitioned": {"partition_by": ["p"]},
    "clustered": {"cluster_by": ["id"]},
    "plain": {"configuration": {"delta.dataSkippingNumIndexedCols": "1"}},
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> Path:
    """A folder with a table of each layout, and none that is called `missing`."""
    folder = tmp_path_factory.mktemp("refusals")
    for name, layout in LAYOUTS.items():
        write_deltalake(folder / name, ROWS, **layout)
        write_deltalake(folder / name, ROWS, mode="append")
    return folder


class Refusal(NamedTuple):
    """What Spark is asked, and its error class; what we are asked, our exception, and what it names."""

    table: str
    spark: str
    error_class: str
    ours: Callable[[DeltaTable], object]
    exception: type[Exception]
    names: str


OTHER, WHERE = "DELTA_NON_PARTITION_COLUMN_REFERENCE", InvalidPredicateError
FULL, CLUSTERED = "DELTA_OPTIMIZE_FULL_NOT_SUPPORTED", "DELTA_CLUSTERING_WITH_PARTITION_PREDICATE"
ON_PARTITION, NO_COLUMN = "DELTA_ZORDERING_ON_PARTITION_COLUMN", "DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST"
TOO_SHORT, MISSING = "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT", "DELTA_MISSING_DELTA_TABLE"


def where(table: str, condition: str, error_class: str, names: str) -> Refusal:
    return Refusal(
        table,
        f"OPTIMIZE {{}} WHERE {condition}",
        error_class,
        lambda opened: opened.optimize(predicate=condition),
        WHERE,
        names,
    )


def z_order(table: str, columns: list[str], error_class: str, names: str) -> Refusal:
    return Refusal(
        table,
        f"OPTIMIZE {{}} ZORDER BY ({', '.join(columns)})",
        error_class,
        lambda opened: opened.optimize.z_order(columns),
        SchemaMismatchError,
        names,
    )


def full(table: str) -> Refusal:
    return Refusal(
        table,
        "OPTIMIZE {} FULL",
        FULL,
        lambda opened: opened.optimize.full(),
        SchemaMismatchError,
        "no clustering columns",
    )


def vacuum(options: str, **ours) -> Refusal:
    return Refusal(
        "plain",
        f"VACUUM {{}} {options}",
        TOO_SHORT,
        lambda opened: opened.vacuum(**ours),
        VacuumError,
        f"168 hours.*{TOO_SHORT}",
    )


REFUSALS = [
    where("partitioned", "id = 1", OTHER, r"\bid\b.*\['p'\]"),
    where("partitioned", "p = 1 AND id = 1", OTHER, r"\bid\b.*\['p'\]"),
    where("partitioned", "nope = 1", OTHER, "`nope`"),
    where("partitioned", "s.x = 1", OTHER, r"\bs\b.*\['p'\]"),
    where("partitioned", "p", "FILTER_NOT_BOOLEAN", "'p' is not a condition.*not boolean"),
    where("partitioned", "p =", "DELTA_FAILED_RECOGNIZE_PREDICATE", "p ="),
    where("plain", "p = 1", OTHER, r"\bp\b.*\[\]"),
    where("clustered", "id = 1", CLUSTERED, "clustered.*'id = 1'"),
    Refusal(
        "partitioned",
        "REORG TABLE {} WHERE id = 1 APPLY (PURGE)",
        OTHER,
        lambda opened: opened.optimize.purge(predicate="id = 1"),
        WHERE,
        r"\bid\b.*\['p'\]",
    ),
    Refusal(
        "partitioned",
        "OPTIMIZE {} WHERE id = 1 ZORDER BY (id)",
        OTHER,
        lambda opened: opened.optimize.z_order(["id"], predicate="id = 1"),
        WHERE,
        r"\bid\b.*\['p'\]",
    ),
    z_order("partitioned", ["p"], ON_PARTITION, "'p' is a partition column"),
    z_order("partitioned", ["id", "P"], ON_PARTITION, "'p' is a partition column"),
    z_order("partitioned", ["nope"], NO_COLUMN, "`nope`"),
    z_order("partitioned", ["s.nope"], "FIELD_NOT_FOUND", "`nope` in `s`.*x"),
    z_order("partitioned", ["m"], "SparkException", "'m': values of type map<"),
    z_order("plain", ["s.x"], "DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS", "'s.x'.*no statistics"),
    z_order("clustered", ["id"], "DELTA_CLUSTERING_WITH_ZORDER_BY", "clustered by id"),
    full("plain"),
    full("partitioned"),
    vacuum("RETAIN 0 HOURS", retention_hours=0),
    vacuum("LITE RETAIN 0 HOURS DRY RUN", retention_hours=0, lite=True),
    vacuum("FULL RETAIN 0 HOURS", retention_hours=0, full=True, dry_run=False),
    Refusal(
        "plain",
        "ALTER TABLE {} SET TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval -1 days')",
        "deletedFileRetentionDuration",
        lambda opened: opened.alter.set_table_properties(
            {"delta.deletedFileRetentionDuration": "interval -1 days"}
        ),
        InvalidTablePropertyError,
        "delta.deletedFileRetentionDuration",
    ),
    Refusal(
        "plain",
        "ALTER TABLE {} SET TBLPROPERTIES ('delta.targetFileSize' = '-1')",
        "targetFileSize",
        lambda opened: opened.alter.set_table_properties({"delta.targetFileSize": "-1"}),
        InvalidTablePropertyError,
        "delta.targetFileSize",
    ),
]


def state(folder: Path) -> set[tuple[str, int]]:
    """All files but those that Spark writes beside them, and when they were changed."""
    files = (file for file in folder.rglob("*") if file.is_file() and file.suffix != ".crc")
    return {(str(file), file.stat().st_mtime_ns) for file in files}


def test_what_spark_refuses_we_refuse_and_nothing_is_written(tables):
    before = state(tables)
    for refusal in REFUSALS:
        with pytest.raises(refusal.exception, match=f"(?s){refusal.names}"):
            refusal.ours(DeltaTable(tables / refusal.table))
        assert state(tables) == before, refusal


@pytest.mark.slow
@pytest.mark.spark
def test_spark_refuses_it(spark, tables):
    for refusal in REFUSALS:
        with pytest.raises(Exception, match=refusal.error_class):
            spark.sql(refusal.spark.format(delta_table(tables / refusal.table))).collect()


@pytest.mark.spark
@pytest.mark.parametrize("statement", ["OPTIMIZE", pytest.param("VACUUM", marks=pytest.mark.slow)])
def test_a_table_that_is_missing(spark, tmp_path, statement):
    with pytest.raises(Exception, match=MISSING):
        spark.sql(f"{statement} {delta_table(tmp_path / 'missing')}").collect()
    with pytest.raises(TableNotFoundError, match="missing"):
        DeltaTable(tmp_path / "missing")
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize(
    ("ours", "message"),
    [
        (lambda table: table.optimize.compact(target_size=-1), "target_size.*-1"),
        (lambda table: table.optimize.compact(target_size=0), "target_size.*0"),
        (lambda table: table.optimize.compact(min_file_size=-1), "min_file_size.*-1"),
        (lambda table: table.optimize.compact(max_deleted_rows_ratio=-0.1), "max_deleted_rows_ratio.*-0.1"),
        (lambda table: table.optimize.compact(min_commit_interval=-1), "min_commit_interval.*-1"),
        (lambda table: table.optimize.compact(max_concurrent_tasks=0), "max_concurrent_tasks.*0"),
        (lambda table: table.optimize.z_order(["id"], target_size=-1), "target_size.*-1"),
        (lambda table: table.optimize.z_order([]), "at least one column"),
        (lambda table: table.optimize.z_order(["id", "ID"]), "'id' is given twice"),
        (lambda table: table.vacuum(-1), "retention_hours.*-1"),
        (lambda table: table.vacuum(float("nan")), "retention_hours.*nan"),
        (lambda table: table.vacuum(full=True, parallelism=0), "parallelism.*0"),
        (lambda table: table.vacuum(full=True, lite=True), "full and lite"),
        (lambda table: table.vacuum(keep_versions=[-1]), "keep_versions.*-1"),
    ],
)
def test_numbers_that_mean_nothing(tables, ours, message):
    before = state(tables)
    with pytest.raises((ValueError, DeltaError), match=message):
        ours(DeltaTable(tables / "partitioned"))
    assert state(tables) == before
