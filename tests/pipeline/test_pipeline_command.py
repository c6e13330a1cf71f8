"""``deltaarrow pipeline run`` on Spark and on one node as concurrent processes, one of them killed midway."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import duckdb
import pytest

from deltaarrow import DeltaTable
from tests.support.modules import ROOT
from tests.support.pipeline import FOLLOW, SCRIPTS

pytestmark = [pytest.mark.slow, pytest.mark.spark]

STEPS = ["01_bronze", "02_silver", "03_gold", "04_maintenance"]
EVENTS = 600
SECONDS = 500
RECOMPUTED = """
SELECT order_date, product, count(*), sum(quantity), sum(quantity * price)::DECIMAL(28, 2)
FROM silver GROUP BY ALL ORDER BY ALL
"""


@contextlib.contextmanager
def command(log, *arguments):
    """The command at work; killed with all that it has started where the block ends."""
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    with log.open("wb") as file, log.with_suffix(".err").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", "from deltaarrow.cli.main import main; main()", "pipeline", *arguments],
            stdout=file,
            stderr=errors,
            env=environment,
            cwd=ROOT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(condition):
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def is_in_step(lake):
    """Whether gold is what silver comes to."""
    silver, gold = (
        DeltaTable(lake / name).to_pyarrow_table() for name in ("silver/orders", "gold/daily_sales")
    )
    with duckdb.connect() as connection:
        connection.register("silver", silver)
        connection.register("gold", gold)
        return connection.sql(RECOMPUTED).fetchall() == connection.sql("FROM gold ORDER BY ALL").fetchall()


def test_run_is_killed_and_goes_on_while_the_other_half_follows(tmp_path):
    lake, log = tmp_path / "lake", tmp_path / "log.txt"
    silver, gold = lake / "silver/orders", lake / "gold/daily_sales"
    run = [
        "run",
        str(SCRIPTS),
        "--set",
        f"lake={lake}",
        "--set",
        f"events={EVENTS}",
        "--set",
        "batch=0",
        "--json",
    ]
    follow = [
        "run",
        str(FOLLOW),
        "--engine",
        "duckdb",
        "--set",
        f"lake={lake}",
        "--interval",
        "0.1",
        "--json",
    ]
    with command(log, *run):
        wait_for(lambda: DeltaTable.is_deltatable(str(silver)))
    assert log.read_text() == ""
    with command(log, *run, "--from", "02") as process:
        wait_for(lambda: DeltaTable.is_deltatable(str(gold)))
        followed = tmp_path / "follow.txt"
        with command(followed, *follow):
            assert process.wait(SECONDS) == 0, log.with_suffix(".err").read_text()[-3000:]
            wait_for(lambda: is_in_step(lake))
    steps = json.loads(log.read_text())
    assert [step["name"] for step in steps] == STEPS[1:]
    assert steps[0]["rows"][str(silver)] == DeltaTable(silver).count() > 100
    assert steps[0]["files"][str(silver)] > 0
    assert all(step["seconds"] > 0 for step in steps)
    assert '"metrics": {' in followed.read_text()
    assert DeltaTable(silver).verify(deep=True).ok
