"""Spark writes and optimizes beside a writer and two maintainers: each confirmed change is there once."""

import itertools

import pytest

from tests.support.ledger import KINDS, Change, Ledger, Team, check_ledgers, create, plan, table_of
from tests.support.spark import delta_table

TOLD = "spark.databricks.delta.commitInfo.userMetadata"
MAINTENANCE = ("OPTIMIZE {}", "REORG TABLE {} APPLY (PURGE)", "OPTIMIZE {} ZORDER BY (id, seen)")


def changes_in(spark, path: str, change: Change) -> bool:
    """Do what `Change.run` does, in Spark."""
    table = delta_table(path)
    spark.conf.set(TOLD, change.told)
    try:
        match change.kind:
            case "append":
                rows = spark.createDataFrame(table_of(change.news)).coalesce(1)
                rows.write.format("delta").mode("append").save(path)
            case "merge":
                rows = spark.createDataFrame(table_of(change.rows)).coalesce(1)
                rows.createOrReplaceTempView("given")
                spark.sql(
                    f"MERGE INTO {table} AS t USING given AS s ON t.worker = s.worker AND t.id = s.id"
                    " WHEN MATCHED THEN UPDATE SET seen = t.seen + s.seen WHEN NOT MATCHED THEN INSERT *"
                )
            case "delete":
                done = spark.sql(f"DELETE FROM {table} WHERE {change.condition}").first()
                return done["num_affected_rows"] > 0
            case _:
                done = spark.sql(f"UPDATE {table} SET seen = seen + 1 WHERE {change.condition}").first()
                return done["num_affected_rows"] > 0
    finally:
        spark.conf.unset(TOLD)
    return True


def is_conflict(error: Exception) -> bool:
    return "Concurrent" in f"{type(error).__name__} {error}"


@pytest.mark.spark
@pytest.mark.slow
def test_nothing_is_lost_doubled_or_shown_again_beside_spark(spark, tmp_path):
    path, hours = str(tmp_path), 60 / 3600
    create(path, is_clustered=False)
    team, ledger = Team(path, [plan(0, 500)], hours), Ledger()
    for number, change in enumerate(plan(1, 100_000)):
        if number == len(KINDS):  # the first of each kind takes Spark long
            team.start()
        if number > len(KINDS) and not team.is_writing():
            break
        tries = itertools.count()

        def run(change=change, tries=tries) -> bool:
            if next(tries) == 2:  # each statement takes the others less time
                team.go.clear()
            return changes_in(spark, path, change)

        ledger.carry_out(change, run, is_conflict)
        team.go.set()
        if number % 4 == 0:
            try:
                spark.sql(MAINTENANCE[number // 4 % 3].format(delta_table(path))).collect()
            except Exception as error:
                assert is_conflict(error), error
    ledgers, _ = team.ledgers()
    assert len(ledger.told) > len(KINDS)
    check_ledgers(path, [*ledgers, ledger], hours)
