"""Histories of one table with steps on threads, on executors of Spark and by delta-spark, in any order."""

import itertools
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import deltaarrow as da
import deltaarrow.spark
from tests.support.distributed import COPYING, EVERYTHING
from tests.support.histories import (
    CONDITIONS,
    PLACES,
    REWRITES,
    UPDATES,
    AlterColumns,
    Append,
    Delete,
    History,
    Merge,
    Restore,
    Rewrite,
    Update,
    VacuumDryRun,
)


@pytest.mark.parametrize("configuration", [EVERYTHING, COPYING], ids=["vectors", "copies"])
def test_tasks_and_threads_go_on_from_what_the_other_has_left(tmp_path, configuration):
    layout = {"partition_by": ["p"]}
    history = History(None, tmp_path / "table", configuration, layout, files=4, numbers=(9, -2))
    merge = Merge(first=0, count=8, step=5, deletes_others=True)
    updates = (Update(setting, condition) for setting, condition in zip(UPDATES, CONDITIONS, strict=False))
    rewrites = map(Rewrite, REWRITES)
    steps = [Delete("id % 3 = 1"), *updates, merge, *rewrites, Append(5), Restore(5), VacuumDryRun(), merge]
    steps += [AlterColumns("rename"), replace(merge, brings_e=True), AlterColumns("drop")]
    for place, step in zip(itertools.cycle(["tasks", "threads", "tasks"]), steps, strict=False):
        history.do(place, step)
    assert da.DeltaTable(history.path).verify(deep=True).ok


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    configuration=st.sampled_from([EVERYTHING, COPYING]),
    layout=st.sampled_from([{}, {"partition_by": ["p"]}, {"cluster_by": ["n"]}]),
    numbers=st.sampled_from([(1, 1), (5, -3), None]),
    steps=st.lists(
        st.tuples(
            st.sampled_from(PLACES),
            st.one_of(
                st.builds(Append, st.integers(1, 9), st.booleans()),
                st.builds(AlterColumns, st.sampled_from(["add", "drop", "rename"])),
                st.builds(Delete, st.sampled_from([*CONDITIONS])),
                st.builds(Update, st.sampled_from([*UPDATES]), st.sampled_from([*CONDITIONS])),
                st.builds(
                    Merge,
                    st.integers(0, 20),
                    st.integers(0, 30),
                    st.integers(1, 5),
                    st.booleans(),
                    st.booleans(),
                ),
                st.builds(Rewrite, st.sampled_from(REWRITES)),
                st.builds(Restore, st.integers(1, 6)),
                st.builds(VacuumDryRun),
            ),
        ),
        min_size=3,
        max_size=10,
    ),
)
def test_any_place_can_go_on_from_what_the_others_have_left(spark, configuration, layout, numbers, steps):
    with tempfile.TemporaryDirectory() as folder:
        deltaarrow.spark.register(spark)
        history = History(spark, Path(folder, "table"), configuration, layout, numbers=numbers)
        for place, step in steps:
            history.do(place, step)
        assert da.DeltaTable(history.path).verify(deep=True).ok
