"""Executors: which is in use, what a run yields, and what becomes of results after an error."""

import threading

import pytest

from deltaarrow.runtime.executors import TaskLimits, Threads, executor_in_use, using

LIMITS = TaskLimits(2, "test")


def test_an_executor_is_in_use_inside_its_block_and_in_its_thread():
    own, found = Threads(), []
    outside = executor_in_use()
    with using(own):
        assert executor_in_use() is own
        with using(Threads()) as _:
            assert executor_in_use() is not own
        assert executor_in_use() is own
        thread = threading.Thread(target=lambda: found.append(executor_in_use()))
        thread.start()
        thread.join()
    assert found == [outside]
    assert executor_in_use() is outside


def test_results_that_nobody_took_are_discarded_after_an_error():
    begun, discarded = threading.Event(), []

    def fails():
        begun.wait(10)
        raise ValueError("broken")

    def succeeds():
        begun.set()
        return "made"

    with pytest.raises(ValueError, match="broken"):
        taken = list(Threads().run([fails, succeeds, *[lambda: "more"] * 50], LIMITS, discarded.append))
        assert taken is None
    assert set(discarded) <= {"made", "more"}


def test_results_of_a_run_that_is_closed_are_discarded():
    discarded = []
    results = Threads().run([lambda: 1, lambda: 1, lambda: 1], LIMITS, discarded.append)
    assert next(results)[1] == 1
    results.close()
    assert set(discarded) <= {1}
    assert len(discarded) <= 2
