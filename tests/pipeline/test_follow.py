"""Gold followed on one node, without Spark: each change of silver counts once, whatever is interrupted."""

import datetime
import json
import threading
from decimal import Decimal
from types import SimpleNamespace

import duckdb
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.cli import pipeline as commands
from deltaarrow.cli.app import app
from deltaarrow.errors import CommitFailedError, ConcurrentTransactionException
from deltaarrow.operations import CommitProperties, Transaction
from deltaarrow.table.merger import TableMerger
from tests.support.pipeline import FOLLOW, follow

DAY = datetime.date(2026, 5, 1)
ORDERS = pa.schema(
    [
        ("order_id", pa.int64()),
        ("product", pa.string()),
        ("quantity", pa.int32()),
        ("price", pa.decimal128(8, 2)),
        ("order_date", pa.date32()),
    ]
)
SALES = pa.schema(
    [
        ("order_date", pa.date32()),
        ("product", pa.string()),
        ("orders", pa.int64()),
        ("quantity", pa.int64()),
        ("revenue", pa.decimal128(28, 2)),
    ]
)
RECOMPUTED = """
SELECT order_date, product, count(*), sum(quantity), sum(quantity * price)::DECIMAL(28, 2)
FROM silver GROUP BY ALL ORDER BY ALL
"""


def orders(*ids):
    """An order has one of three products and one of two days."""
    rows = [
        {
            "order_id": number,
            "product": "abc"[number % 3],
            "quantity": 1 + number,
            "price": Decimal("1.50"),
            "order_date": DAY + datetime.timedelta(days=number % 2),
        }
        for number in ids
    ]
    return pa.Table.from_pylist(rows, schema=ORDERS)


@pytest.fixture
def lake(tmp_path):
    settings = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}
    write_deltalake(tmp_path / "silver/orders", orders(*range(12)), configuration=settings)
    write_deltalake(tmp_path / "gold/daily_sales", SALES.empty_table())
    return tmp_path


def taken_in(merge, lake):
    """The versions of silver that a merge took in."""
    assert merge.table == str(lake / "gold/daily_sales")
    return merge.changes[str(lake / "silver/orders")]


def silver(lake):
    return DeltaTable(lake / "silver/orders")


def gold(lake):
    return DeltaTable(lake / "gold/daily_sales")


def assert_in_step(lake):
    with duckdb.connect() as connection:
        connection.register("silver", silver(lake).to_pyarrow_table())
        wanted = connection.sql(RECOMPUTED).fetchall()
    found = gold(lake).to_pyarrow_table().sort_by([("order_date", "ascending"), ("product", "ascending")])
    assert [tuple(row.values()) for row in found.to_pylist()] == wanted


def change(lake):
    """Rows are updated, moved to other groups, deleted with the whole of their group, and added."""
    silver(lake).update({"quantity": "quantity + 1"}, predicate="order_id = 3")
    silver(lake).update({"product": "'d'"}, predicate="order_id = 5")
    silver(lake).delete("product = 'c' AND order_id % 2 = 0")
    write_deltalake(lake / "silver/orders", orders(21), mode="append")


def test_groups_that_changed_are_merged_and_nothing_else(lake):
    first = follow(lake)
    assert (taken_in(first, lake), first.metrics["num_source_rows"]) == ((0, 0), 6)
    assert_in_step(lake)
    change(lake)
    report = follow(lake)
    assert taken_in(report, lake) == (1, 4)
    told = {what: report.metrics[f"num_target_rows_{what}"] for what in ("inserted", "updated", "deleted")}
    assert told == {"inserted": 1, "updated": 2, "deleted": 1}
    assert_in_step(lake)


def test_what_was_taken_in_before_is_not_again(lake):
    follow(lake)
    version = gold(lake).version()
    again = follow(lake)
    assert (taken_in(again, lake), again.metrics) == ((1, 0), None)
    assert gold(lake).version() == version


def test_follower_that_has_lost_its_place_finds_what_gold_should_not_have(lake):
    stray = {"order_date": DAY, "product": "z", "orders": 9, "quantity": 9, "revenue": Decimal(9)}
    write_deltalake(lake / "gold/daily_sales", pa.Table.from_pylist([stray], schema=SALES), mode="append")
    assert follow(lake).metrics["num_target_rows_deleted"] == 1
    assert_in_step(lake)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_follower_stopped_around_its_commit_goes_on(lake, monkeypatch, after):
    follow(lake)
    change(lake)
    execute = TableMerger.execute

    def stopped(merger):
        if after:
            execute(merger)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(TableMerger, "execute", stopped)
        with pytest.raises(KeyboardInterrupt):
            follow(lake)
    report = follow(lake)
    assert (report.metrics is None) == after
    assert_in_step(lake)


def test_followers_at_the_same_time_take_each_version_once(lake):
    follow(lake)
    change(lake)
    together = threading.Barrier(3)
    reports, errors = [], []

    def follow_together():
        together.wait()
        try:
            reports.append(follow(lake))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=follow_together) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [report.metrics is not None for report in reports].count(True) == 1
    assert gold(lake).version() == 2
    assert_in_step(lake)


def test_others_that_are_first_each_time_are_told_in_the_end(lake, monkeypatch):
    tries = []

    def refused(merger):
        tries.append(merger)
        raise ConcurrentTransactionException("someone else was first")

    monkeypatch.setattr(TableMerger, "execute", refused)
    with pytest.raises(CommitFailedError, match="someone else was first"):
        follow(lake)
    assert len(tries) == 20


def test_versions_that_an_earlier_release_took_in_are_not_taken_in_again(lake):
    """The application that it recorded in the log of gold is that of the script."""
    done = CommitProperties(app_transactions=[Transaction("deltaarrow.pipeline.follow", 0)])
    write_deltalake(lake / "gold/daily_sales", SALES.empty_table(), mode="append", commit_properties=done)
    assert follow(lake).metrics is None
    change(lake)
    assert taken_in(follow(lake), lake) == (1, 4)


def test_command_says_what_was_done(lake):
    def run(*arguments):
        words = ["pipeline", "run", str(FOLLOW), "--engine", "duckdb", "--set", f"lake={lake}", *arguments]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        return done.stdout

    source, target = lake / "silver/orders", lake / "gold/daily_sales"
    said = run()
    assert "daily_sales: Gold in step with silver, on one node" in said
    assert f"versions 0 to 0 of {source} into {target}: 6 rows, 6 inserted, 0 updated, 0 deleted\n" in said
    assert "2 statements, " in said
    assert f"nothing new since version 0 of {source}\n" in run()
    change(lake)
    ((told,),) = (step["merges"] for step in json.loads(run("--json")))
    assert (told["table"], told["changes"]) == (str(target), {str(source): [1, 4]})
    assert told["metrics"]["num_target_rows_updated"] == 2
    assert json.loads(run("--json"))[0]["merges"][0]["metrics"] is None
    assert_in_step(lake)


def test_command_that_runs_again_and_again_prints_what_is_new_alone(lake, monkeypatch):
    waits = []

    def wait(seconds):
        waits.append(seconds)
        if len(waits) == 2:
            change(lake)
        if len(waits) == 3:
            raise KeyboardInterrupt

    # The clock of this module alone: threads of Spark sleep too.
    monkeypatch.setattr(commands, "time", SimpleNamespace(sleep=wait))
    words = ["pipeline", "run", str(FOLLOW), "--engine", "duckdb", "--set", f"lake={lake}", "--interval", "2"]
    said = CliRunner().invoke(app, words).stdout
    assert [line.partition(" of ")[0] for line in said.splitlines() if line.startswith("versions")] == [
        "versions 0 to 0",
        "versions 1 to 4",
    ]
    assert "nothing new" not in said
    assert waits == [2, 2, 2]
    assert_in_step(lake)
