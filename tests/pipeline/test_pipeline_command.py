"""``deltaarrow pipeline run`` in processes of its own, killed midway and continued."""

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
from deltaarrow.pipeline import OneNodeEngine, run_scripts
from tests.support.leftovers import files_of_version, files_on_disk
from tests.support.modules import ROOT
from tests.support.pipeline import FOLLOW, SCRIPTS
from tests.support.rows import assert_same_rows

pytestmark = [pytest.mark.slow, pytest.mark.spark]

STEPS = ["01_bronze", "02_silver", "03_gold", "04_maintenance"]
EVENTS = 600
SECONDS = 500
RECOMPUTED = """
SELECT order_date, product, count(*), sum(quantity), sum(quantity * price)::DECIMAL(28, 2)
FROM silver GROUP BY ALL ORDER BY ALL
"""


TABLES = ("bronze/events", "silver/orders", "gold/daily_sales")
DYING = """
import os, signal
from deltaarrow.actions import CommitInfo
from deltaarrow.transaction import FileSystemCommitter

commit = FileSystemCommitter.commit


def dying(self, version, actions, lines=()):
    if IS_MADE:
        commit(self, version, actions, lines)
    [operation] = [each.operation for each in actions if isinstance(each, CommitInfo)]
    with open(MARK, "w") as mark:
        mark.write(f"{operation}\\n{self.store.uri}")
    os.killpg(0, signal.SIGKILL)


FileSystemCommitter.commit = dying
"""
"""Ends the command, and all that it has started, before its first commit or after it."""


@contextlib.contextmanager
def command(log, *arguments, before=""):
    """The command at work, after some code; killed with all that it has started where the block ends."""
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    with log.open("wb") as file, log.with_suffix(".err").open("wb") as errors:
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                f"{before}\nfrom deltaarrow.cli.main import main; main()",
                "pipeline",
                *arguments,
            ],
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


def test_run_on_executors_is_killed_inside_statements_and_after_scripts_and_goes_on(tmp_path):
    whole, lake, log = tmp_path / "whole", tmp_path / "lake", tmp_path / "log.txt"
    for folder, batches in ((whole, (0, 1)), (lake, (0,))):
        for batch in batches:
            variables = {"lake": folder, "events": EVENTS, "batch": batch}
            assert len(list(run_scripts(OneNodeEngine(), SCRIPTS, variables))) == len(STEPS)
    run = ["run", str(SCRIPTS), "--engine", "spark", "--delta", "ours", "--json"]
    for setting in (f"lake={lake}", f"events={EVENTS}", "batch=1"):
        run += ["--set", setting]
    writes = zip(STEPS, ("WRITE", "MERGE", "MERGE"), TABLES, strict=False)
    kills = [(*write, is_made) for write in writes for is_made in (False, True)]
    for step, operation, table, is_made in [*kills, (STEPS[3], "OPTIMIZE", "", False)]:
        mark = tmp_path / f"{step} {is_made}"
        before = f"IS_MADE, MARK = {is_made}, {str(mark)!r}\n{DYING}"
        with command(log, *run, "--from", step, before=before) as process:
            ended = process.wait(SECONDS)
        assert ended == -signal.SIGKILL, log.with_suffix(".err").read_text()[-3000:]
        assert mark.read_text().startswith(f"{operation}\n{lake / table}")
    with command(log, *run, "--from", STEPS[3]) as process:
        assert process.wait(SECONDS) == 0, log.with_suffix(".err").read_text()[-3000:]
    for name in TABLES:
        table, wanted = DeltaTable(lake / name), DeltaTable(whole / name).to_pyarrow_table()
        assert table.verify(deep=True).ok
        assert_same_rows(table.to_pyarrow_table(), wanted)
        table.vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
        assert files_on_disk(lake / name) == files_of_version(table)
        assert_same_rows(table.to_pyarrow_table(), wanted)
    assert is_in_step(lake)
